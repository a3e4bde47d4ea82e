"""Wrong uses of attention, recurrent layers, positions and resampling: each error names the layer,
what came, and the user's line.
"""

import numpy as np
import pytest
from row_names import row_name

from weft import layers as tl
from weft.layers.research import (
    rel_attention,
    resampling,
    rotary_positional_embedding as rotary,
    sparse_dense,
)

X = np.ones((2, 6, 8), np.float32)
ROW = np.ones((2, 8), np.float32)
TOKENS = np.ones((2, 6), np.int32)
MASK = np.ones((2, 1, 1, 6), bool)
KEY = np.array([1, 2], np.uint32)
BIASES = rel_attention.get_rel_att_inputs(8, 2)


def run(layer, *inputs):
    """Initializes a layer and calls it."""
    x = inputs if len(inputs) > 1 else inputs[0]
    layer.init(x)
    return layer(x)


def upsampling(**options):
    arguments = {
        "shorten_factor": 2, "d_model": 8, "is_upsampling": False, "d_ff": 4, "n_heads": 2,
        "dropout": 0.0, "dropout_shared_axes": None, "mode": "eval", "ff_activation": tl.Relu,
        "context_bias_layer": BIASES[0], "location_bias_layer": BIASES[1], "total_pooling": 1,
        "resampling_fn": resampling.AveragePooling, **options,
    }  # fmt: skip
    return tl.Serial(resampling.AttentionResampling(**arguments))


# (what is done, error, what its message has)
WHEN_MADE = [
    (
        lambda: tl.Attention(8, n_heads=3),
        ValueError,
        "d_feature must be a multiple of n_heads; got 8 and 3",
    ),
    (lambda: tl.Attention(8, n_heads=0), ValueError, "n_heads must be at least 1; got 0"),
    (lambda: tl.Attention(-8), ValueError, "d_feature must be at least 1; got -8"),
    (lambda: tl.Attention(8.0), TypeError, "d_feature must be an int"),
    (lambda: tl.Attention(8, dropout=1.0), ValueError, "dropout must be less than 1"),
    (lambda: tl.Attention(8, dropout=-0.1), ValueError, "dropout must be at least 0"),
    (
        lambda: tl.Attention(8, mode="test"),
        ValueError,
        "mode must be 'train' or 'eval' or 'predict' or 'viz'; got 'test'",
    ),
    (lambda: tl.AttentionQKV(8, q_sparsity="all"), TypeError, "AttentionQKV: q_sparsity"),
    (
        lambda: tl.AttentionQKV(8, result_sparsity=3),
        ValueError,
        "d_feature must be a multiple of result_sparsity; got 8 and 3",
    ),
    (lambda: tl.AttentionQKV(8, result_sparsity=0), ValueError, "AttentionQKV: result_sparsity"),
    (
        lambda: tl.PureAttention(n_heads=-1),
        ValueError,
        "PureAttention: n_heads must be at least 1; got -1",
    ),
    (lambda: tl.PureAttention(dropout="0.1"), TypeError, "PureAttention: dropout must be a number"),
    (lambda: tl.PureAttention(mode=None), ValueError, "PureAttention: mode"),
    (lambda: tl.DotProductAttention(dropout=2), ValueError, "DotProductAttention: dropout"),
    (lambda: tl.DotProductAttention(mode="Train"), ValueError, "DotProductAttention: mode"),
    (
        lambda: tl.DotProductCausalAttention(max_inference_length=0),
        ValueError,
        "max_inference_length must be at least 1",
    ),
    (
        lambda: tl.DotProductCausalAttention(dropout=float("nan")),
        ValueError,
        "DotProductCausalAttention: dropout",
    ),
    (
        lambda: tl.CausalAttention(8, n_heads=5),
        ValueError,
        "CausalAttention: d_feature must be a multiple",
    ),
    (
        lambda: tl.CausalAttention(8, use_dconv=True, mode="predict"),
        ValueError,
        "use_dconv keeps no history",
    ),
    (lambda: tl.CausalAttention(8, mode="decode"), ValueError, "mode must be"),
    (lambda: tl.SplitIntoHeads(0), ValueError, "SplitIntoHeads: n_heads"),
    (lambda: tl.MergeHeads("two"), TypeError, "MergeHeads: n_heads must be an int"),
    (
        lambda: tl.ConfigurableAttention(
            *[tl.Dense(8)] * 4, tl.DotProductCausalAttention(), n_heads=0
        ),
        ValueError,
        "ConfigurableAttention: n_heads",
    ),
    (lambda: tl.ConfigurableAttention(8, 8, 8, 8, tl.DotProductCausalAttention()), ValueError, "8"),
    (lambda: tl.ShiftRight(-1), ValueError, "ShiftRight: n_positions must be at least 0; got -1"),
    (lambda: tl.ShiftRight(mode="shift"), ValueError, "ShiftRight: mode"),
    (lambda: tl.PositionalEncoding(max_len=0), ValueError, "PositionalEncoding: max_len"),
    (lambda: tl.PositionalEncoding(dropout=1.0), ValueError, "PositionalEncoding: dropout"),
    (
        lambda: tl.PositionalEncoding(dropout=1.0, mode="eval"),
        ValueError,
        "PositionalEncoding: dropout",
    ),
    (
        lambda: tl.PositionalEncoding(start_from_zero_prob=1.5),
        ValueError,
        "start_from_zero_prob must be",
    ),
    (
        lambda: tl.PositionalEncoding(max_offset_to_add=-1),
        ValueError,
        "max_offset_to_add must be at least 0",
    ),
    (lambda: tl.PositionalEncoding(d_feature=0), ValueError, "PositionalEncoding: d_feature"),
    (lambda: tl.PositionalEncoding(mode="infer"), ValueError, "PositionalEncoding: mode"),
    (lambda: tl.LSTMCell(0), ValueError, "LSTMCell: n_units must be at least 1; got 0"),
    (lambda: tl.GRUCell(2.5), TypeError, "GRUCell: n_units must be an int"),
    (lambda: tl.LSTM(-4), ValueError, "LSTM: n_units"),
    (lambda: tl.LSTM(4, mode="scan"), ValueError, "LSTM: mode"),
    (lambda: tl.GRU("4"), TypeError, "GRU: n_units"),
    (lambda: tl.GRU(4, mode=""), ValueError, "GRU: mode"),
    (lambda: tl.SRU(None), TypeError, "SRU: n_units"),
    (lambda: tl.SRU(4, activation="tanh"), ValueError, "tanh"),
    (lambda: tl.SRU(4, mode="x"), ValueError, "SRU: mode"),
    (
        lambda: tl.ScanSRUCell("train", monkey_patched_mask=object()),
        ValueError,
        "monkey_patched_mask is for mode 'predict'",
    ),
    (lambda: tl.MakeZeroState(0), ValueError, "MakeZeroState: depth_multiplier"),
    (
        lambda: tl.ConvGRUCell(4, kernel_size=3),
        TypeError,
        "ConvGRUCell: kernel_size must be a tuple",
    ),
    (lambda: tl.ConvGRUCell(0), ValueError, "ConvGRUCell: n_units"),
    (
        lambda: tl.GeneralGRUCell(lambda: tl.Dense(4), dropout_rate_c=1.0),
        ValueError,
        "GeneralGRUCell: dropout_rate_c",
    ),
    (
        lambda: tl.GeneralGRUCell(tl.Dense(4)),
        TypeError,
        "GeneralGRUCell: candidate_transform must make layers",
    ),
    (
        lambda: tl.AxialPositionalEncoding(shape=(2, 3), d_embs=(8,)),
        ValueError,
        "AxialPositionalEncoding: shape and d_embs",
    ),
    (
        lambda: tl.AxialPositionalEncoding(shape=6, d_embs=8),
        TypeError,
        "AxialPositionalEncoding: shape must be a tuple",
    ),
    (
        lambda: tl.AxialPositionalEncoding(shape=(0, 3), d_embs=(4, 4)),
        ValueError,
        r"shape\[0\] must be at least 1",
    ),
    (
        lambda: tl.AxialPositionalEncoding(dropout=1.0),
        ValueError,
        "AxialPositionalEncoding: dropout",
    ),
    (
        lambda: tl.SinCosPositionalEncoding(add_offset=0),
        ValueError,
        "SinCosPositionalEncoding: add_offset",
    ),
    (
        lambda: tl.SinCosPositionalEncoding(dropout=1.2),
        ValueError,
        "SinCosPositionalEncoding: dropout",
    ),
    (
        lambda: tl.SinCosPositionalEncoding(start_from_zero_one_in=0),
        ValueError,
        "start_from_zero_one_in",
    ),
    (lambda: tl.FixedBasePositionalEncoding(bases=[]), ValueError, "at least one base"),
    (
        lambda: tl.FixedBasePositionalEncoding(bases=[1]),
        ValueError,
        r"bases\[0\] must be at least 2",
    ),
    (lambda: tl.FixedBasePositionalEncoding(n_digits=20), ValueError, "below 2"),
    (
        lambda: tl.FixedBasePositionalEncoding(base_dropout_one_in=0),
        ValueError,
        "base_dropout_one_in",
    ),
    (
        lambda: tl.InfinitePositionalEncoding(transform="all"),
        ValueError,
        "transform must be 'any' or 'diag' or 'none'; got 'all'",
    ),
    (
        lambda: tl.InfinitePositionalEncoding(drift=0.0),
        ValueError,
        "InfinitePositionalEncoding: drift",
    ),
    (lambda: tl.InfinitePositionalEncoding(time_bin_length=0), ValueError, "time_bin_length"),
    (
        lambda: tl.TimeBinPositionalEncoding(0),
        ValueError,
        "TimeBinPositionalEncoding: time_bin_length",
    ),
    (
        lambda: tl.TimeBinPositionalEncoding(3, mode="any"),
        ValueError,
        "TimeBinPositionalEncoding: mode",
    ),
    (lambda: tl.threefry_2x32_prange(KEY, 3, 2), ValueError, "expected 0 <= lo <= hi"),
    (lambda: tl.threefry_2x32_prange(KEY, -1, 2), ValueError, "got lo -1, hi 2"),
    (lambda: tl.threefry_2x32_prange(KEY.astype("int32")), ValueError, "the key must be uint32"),
    (lambda: tl.threefry_2x32_prf(KEY[:1], KEY), TypeError, "threefry_2x32_prf: the key"),
    (
        lambda: tl.threefry_2x32_prf(KEY, np.zeros((2, 3), np.uint32)),
        TypeError,
        "x must be pairs of words",
    ),
    (lambda: tl.threefry_2x32_prf(KEY, np.zeros(2, np.float32)), TypeError, "got float32"),
    (
        lambda: rel_attention.get_rel_att_inputs(8, 3),
        ValueError,
        "d_model must be a multiple of n_heads",
    ),
    (lambda: rel_attention.get_rel_att_inputs(9, 3), ValueError, "get_rel_att_inputs: d_model"),
    (
        lambda: rel_attention.RelativeAttentionWrapper(8),
        TypeError,
        "context_bias_layer must be a layer; got None",
    ),
    (lambda: rel_attention.RelativeAttentionLMLayer(8, *BIASES, 0), ValueError, "total_kv_pooling"),
    (
        lambda: rel_attention.RelativeAttentionLMLayer(8, *BIASES, 1, separate_cls=True),
        ValueError,
        "separate_cls",
    ),
    (
        lambda: rel_attention.RelativeAttention(False, n_heads=0),
        ValueError,
        "RelativeAttention: n_heads",
    ),
    (
        lambda: rel_attention.PositionalEmbeddings(7, False, 1),
        ValueError,
        "PositionalEmbeddings: d_feature",
    ),
    (lambda: rel_attention.calc_funnel_ratio(6, 4), ValueError, "got 6 keys and 4 queries"),
    (lambda: rotary.Rotate(mode="turn"), ValueError, "Rotate: mode"),
    (lambda: rotary.rotate(X[..., :5]), ValueError, "rotate: expected .* an even number"),
    (
        lambda: tl.GeneralGRUCell("dense"),
        TypeError,
        "GeneralGRUCell: candidate_transform must be a function",
    ),
    (lambda: resampling.AveragePooling(0), ValueError, "AveragePooling: shorten_factor"),
    (lambda: resampling.LinearPooling(1.5, 8), TypeError, "LinearPooling: shorten_factor"),
    (lambda: resampling.LinearUpsampling(2, 0), ValueError, "LinearUpsampling: d_model"),
    (lambda: resampling.NaiveUpsampling(-2, 8), ValueError, "NaiveUpsampling: shorten_factor"),
    (lambda: resampling.NoUpsampling(0, 8), ValueError, "NoUpsampling: shorten_factor"),
    (lambda: upsampling(mode="up"), ValueError, "AttentionResampling: mode"),
    (lambda: upsampling(n_heads=3), ValueError, "must be a multiple of n_heads"),
    (
        lambda: sparse_dense.FactoredDense(3, 8, 8),
        ValueError,
        "FactoredDense: d_out must be a multiple of n_modules",
    ),
    (
        lambda: sparse_dense.LocallyConvDense(2, 4, "eval", kernel_size=2),
        ValueError,
        "kernel_size must be odd; got 2",
    ),
    (lambda: sparse_dense.SplitLastAxis(0), ValueError, "SplitLastAxis: num_splits"),
]

# (the layer, its inputs, what the message has)
WHEN_RUN = [
    (lambda: tl.Attention(8), (X, MASK[:, 0]), "AssertShape Error"),
    (lambda: tl.Attention(8), (X[0], MASK), "AssertShape Error"),
    (lambda: tl.Attention(8), (X, MASK[:1]), "AssertShape Error"),
    (lambda: tl.Attention(4), (X, MASK), "AssertShape Error"),
    (lambda: tl.AttentionQKV(8), (X, X, X[:, :4], MASK), "AssertShape Error"),
    (lambda: tl.PureAttention(n_heads=3), (X, X, X, MASK), "do not divide into 3 heads"),
    (lambda: tl.PureAttention(), (X, X[..., :4], X, MASK), "AssertShape Error"),
    (lambda: tl.PureAttention(), (X, X, X), "AssertShape Error"),
    (lambda: tl.DotProductAttention(), (X, X[..., :4], X, MASK[:, 0]), "8"),
    (lambda: tl.DotProductCausalAttention(), (X, X, X[:, :4]), "AssertShape Error"),
    (
        lambda: tl.DotProductCausalAttention(max_inference_length=4, mode="predict"),
        (X, X, X),
        "6 positions do not fit the max_inference_length of 4",
    ),
    (lambda: tl.CausalAttention(8), (X[0],), "AssertShape Error"),
    (lambda: tl.CausalAttention(4), (X,), "AssertShape Error"),
    (lambda: tl.SplitIntoHeads(3), (X,), "do not divide into 3 heads"),
    (lambda: tl.MergeHeads(4), (X,), "must hold 4 heads"),
    (
        lambda: tl.MergeHeads(4, merged_batch_and_head=False),
        (X[None],),
        r"expected \[batch, 4, length",
    ),
    (lambda: tl.ShiftRight(), (X[0, 0],), r"expected \[batch, length"),
    (lambda: tl.PaddingMask(), (X,), "AssertShape Error"),
    (lambda: tl.EncoderDecoderMask(), (TOKENS, MASK), "expected the decoder's vectors"),
    (lambda: tl.PositionalEncoding(max_len=4), (X,), "6 positions do not fit the table of 4"),
    (
        lambda: tl.PositionalEncoding(max_len=8, start_from_zero_prob=0.5, max_offset_to_add=5),
        (X,),
        "10 positions do not fit the table of 8",
    ),
    (lambda: tl.PositionalEncoding(), (X[..., :7],), "even number of features; got 7"),
    (lambda: tl.PositionalEncoding(), (ROW,), r"expected vectors \[batch, length, features\]"),
    (
        lambda: tl.PositionalEncoding(dropout=0.5, dropout_broadcast_dims=(5,)),
        (X,),
        "no axis 5 in shape",
    ),
    (lambda: tl.LSTMCell(4), (ROW, ROW[:, :4]), "LSTMCell: expected a state of 8 features"),
    (lambda: tl.GRUCell(4), (ROW, ROW), "GRUCell: expected a state of 4 features"),
    (lambda: tl.GRUCell(4), (ROW,), "GRUCell"),
    (lambda: tl.LSTM(4), (ROW,), r"expected a sequence \[batch, length, features\]"),
    (lambda: tl.GRU(4), (X[None],), r"expected a sequence \[batch, length, features\]"),
    (lambda: tl.SRU(4), (X,), "SRU"),
    (lambda: tl.SRU(8), (ROW,), "SRU"),
    (lambda: tl.MakeZeroState(), (ROW,), "expected a sequence"),
    (lambda: tl.AxialPositionalEncoding((2, 3), (4, 3)), (X,), "must add up to the 8 features"),
    (lambda: tl.AxialPositionalEncoding((2, 4), (4, 4)), (X,), "has 8 positions"),
    (lambda: tl.AxialPositionalEncoding((2, 2), (4, 4), mode="predict"), (X,), "has 4 positions"),
    (lambda: tl.SinCosPositionalEncoding(), (X[..., :5],), "must be even; got 5"),
    (lambda: tl.FixedBasePositionalEncoding(n_digits=3), (X,), "multiple of n_digits, 3"),
    (
        lambda: tl.FixedBasePositionalEncoding([2], n_digits=2),
        (X,),
        "6 positions do not fit 2 digits",
    ),
    (lambda: tl.SinCosPositionalEncoding(), (ROW,), r"expected vectors \[batch, length"),
    (lambda: tl.FixedBasePositionalEncoding([3], 4), (ROW,), r"expected vectors \[batch, length"),
    (lambda: tl.InfinitePositionalEncoding(), (ROW,), r"expected vectors \[batch, length"),
    (lambda: tl.TimeBinPositionalEncoding(2), (ROW,), r"expected vectors \[batch, length"),
    (lambda: tl.InfinitePositionalEncoding(mode="predict"), (X,), "a call takes one position"),
    (lambda: tl.TimeBinPositionalEncoding(3, mode="predict"), (X,), "a call takes one position"),
    (
        lambda: tl.InfinitePositionalEncoding(time_bin_length=2),
        (X[..., :2],),
        "the three features of bins",
    ),
    (
        lambda: rel_attention.RelativeAttentionLMLayer(8, *BIASES, 1, n_heads=2),
        (X, X[:, :4], X[:, :4]),
        "got 4 keys and 6 queries",
    ),
    (lambda: resampling.LinearPooling(4, 8), (X,), "multiple of shorten_factor, 4"),
    (lambda: rotary.Rotate(), (X[..., :5],), "rotate: expected"),
    (lambda: sparse_dense.SplitLastAxis(3), (X,), "must be a multiple of 3"),
    (lambda: sparse_dense.LocallyConvDense(2, 4, "eval", 3), (ROW,), "expected vectors"),
]


@pytest.mark.parametrize("case", WHEN_MADE, ids=row_name)
def test_a_wrong_option_is_refused_where_it_is_given(case):
    make, kind, message = case
    with pytest.raises(kind, match=message) as caught:
        make()
    notes = getattr(caught.value, "__notes__", [])
    assert any("test_sequences.py" in note for note in notes), notes


@pytest.mark.parametrize("case", WHEN_RUN, ids=row_name)
def test_a_wrong_input_is_refused_by_the_layer(case):
    make, inputs, message = case
    with pytest.raises(tl.LayerError, match=message) as caught:
        run(make(), *inputs)
    assert "made at [...]/layers/wrong/test_sequences.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: tl.CausalAttention(8), X),
        (lambda: tl.CausalAttention(8, mode="predict"), X),
        (lambda: tl.Attention(8), (X, MASK)),
        (lambda: tl.PositionalEncoding(), X),
        (lambda: tl.GRU(8), X),
        (lambda: tl.LSTMCell(8), (ROW, np.ones((2, 16), np.float32))),
        (lambda: tl.SRU(8), X),
        (lambda: tl.AxialPositionalEncoding((2, 3), (4, 4)), X),
    ],
)
def test_layers_without_weights_say_so(make, x):
    with pytest.raises(tl.LayerError, match=r"in layer .* made at"):
        make()(x)
