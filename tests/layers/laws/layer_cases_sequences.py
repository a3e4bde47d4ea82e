"""Rows of attention, recurrent layers, positions and resampling."""

import numpy as np
from layer_cases import LayerCase, ids

from weft import layers as tl

SEQUENCE, ROW = (2, 4, 6), (2, 6)
MASK = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], bool)[:, None, None]
HEADS = ((2, 2, 4, 3),) * 3
INTEGER = {"derivative": "integers", "remat": "integers", "bfloat16": "integers"}
RANDOM = {"backends": "random streams differ"}


def wide(*row):
    """A row of a layer that computes in float32 at least."""
    return LayerCase(*row, gives="float32")


def biased(make):
    """A layer of relative attention, with its two biases."""
    return lambda: make(*tl.get_rel_att_inputs(6, 2))


CASES = [
    # attention
    wide("Attention", lambda: tl.Attention(6, 2, mode="eval"), (SEQUENCE, MASK)),
    wide("Attention, dropout", lambda: tl.Attention(6, 2, dropout=0.3), (SEQUENCE, MASK), RANDOM),
    wide("AttentionQKV", lambda: tl.AttentionQKV(6, 3), ((2, 5, 6), SEQUENCE, SEQUENCE, MASK)),
    wide(
        "AttentionQKV, modules",
        lambda: tl.AttentionQKV(6, q_sparsity=2, result_sparsity=3),
        ((2, 5, 6), SEQUENCE, SEQUENCE, MASK),
    ),
    wide("PureAttention", lambda: tl.PureAttention(2), (SEQUENCE,) * 3 + (MASK,)),
    wide("DotProductAttention", lambda: tl.DotProductAttention(), (*HEADS, MASK)),
    wide("DotProductCausalAttention", lambda: tl.DotProductCausalAttention(), (SEQUENCE,) * 3),
    LayerCase("SplitIntoHeads", lambda: tl.SplitIntoHeads(2), (SEQUENCE,)),
    LayerCase("SplitIntoHeads, apart", lambda: tl.SplitIntoHeads(2, False), (SEQUENCE,)),
    LayerCase("MergeHeads", lambda: tl.MergeHeads(2), (SEQUENCE,)),
    LayerCase("MergeHeads, apart", lambda: tl.MergeHeads(2, False), ((2, 2, 4, 3),)),
    wide(
        "ConfigurableAttention",
        lambda: tl.ConfigurableAttention(
            tl.Dense(6),
            tl.Dense(6),
            tl.Dense(6),
            tl.Dense(5),
            tl.DotProductCausalAttention(),
            n_heads=3,
        ),
        ((2, 4, 5),),
    ),
    wide("CausalAttention", lambda: tl.CausalAttention(6, 2), (SEQUENCE,)),
    wide("CausalAttention, dconv", lambda: tl.CausalAttention(6, 2, use_dconv=True), (SEQUENCE,)),
    wide(
        "CausalAttention, predict",
        lambda: tl.CausalAttention(6, 2, max_inference_length=8, mode="predict"),
        (SEQUENCE,),
    ),
    LayerCase("ShiftRight", lambda: tl.ShiftRight(2), (SEQUENCE,)),
    LayerCase("PaddingMask", lambda: tl.PaddingMask(), (ids(2, 4),), INTEGER),
    LayerCase(
        "EncoderDecoderMask",
        lambda: tl.EncoderDecoderMask(),
        (SEQUENCE, MASK),
        INTEGER | {"derivative": "the mask is that of shapes"},
    ),
    LayerCase("PositionalEncoding", lambda: tl.PositionalEncoding(max_len=5), (SEQUENCE,)),
    LayerCase(
        "PositionalEncoding, random",
        lambda: tl.PositionalEncoding(
            9, 0.3, start_from_zero_prob=0.1, max_offset_to_add=4, d_feature=4
        ),
        (SEQUENCE,),
        RANDOM,
    ),
    LayerCase(
        "PositionalEncoding, predict", lambda: tl.PositionalEncoding(5, mode="predict"), (SEQUENCE,)
    ),
    # recurrent layers
    LayerCase("LSTMCell", lambda: tl.LSTMCell(3), (ROW, ROW)),
    LayerCase("GRUCell", lambda: tl.GRUCell(6), (ROW, ROW)),
    wide(
        "MakeZeroState",
        lambda: tl.MakeZeroState(),
        (SEQUENCE,),
        {"derivative": "zeros", "remat": "zeros"},
    ),
    wide("LSTM", lambda: tl.LSTM(3), (SEQUENCE,)),
    LayerCase(
        "LSTM, states",
        lambda: tl.LSTM(3, return_state=True, initial_state=True),
        (SEQUENCE, ROW),
    ),
    wide("GRU", lambda: tl.GRU(3), (SEQUENCE,)),
    wide("SRU", lambda: tl.SRU(6), (SEQUENCE,)),
    LayerCase("InnerSRUCell", lambda: tl.InnerSRUCell(), (ROW,) * 3),
    LayerCase("ScanSRUCell", lambda: tl.ScanSRUCell("eval"), (SEQUENCE, SEQUENCE, ROW)),
    LayerCase("ConvGRUCell", lambda: tl.ConvGRUCell(3), ((2, 4, 3, 3),), RANDOM),
    LayerCase(
        "GeneralGRUCell", lambda: tl.GeneralGRUCell(lambda: tl.Dense(6), mode="eval"), (ROW,)
    ),
    # positions
    LayerCase(
        "AxialPositionalEncoding", lambda: tl.AxialPositionalEncoding((2, 2), (4, 2)), (SEQUENCE,)
    ),
    LayerCase(
        "AxialPositionalEncoding, dropout",
        lambda: tl.AxialPositionalEncoding((2, 2), (4, 2), dropout=0.4),
        (SEQUENCE,),
        RANDOM,
    ),
    wide("SinCosPositionalEncoding", lambda: tl.SinCosPositionalEncoding(mode="eval"), (SEQUENCE,)),
    wide(
        "SinCosPositionalEncoding, train",
        lambda: tl.SinCosPositionalEncoding(add_offset=9, dropout=0.3),
        (SEQUENCE,),
        RANDOM,
    ),
    wide(
        "FixedBasePositionalEncoding",
        lambda: tl.FixedBasePositionalEncoding([3, 5], 3, mode="eval"),
        (SEQUENCE,),
    ),
    wide(
        "FixedBasePositionalEncoding, train",
        lambda: tl.FixedBasePositionalEncoding([3, 5], 3),
        (SEQUENCE,),
        RANDOM,
    ),
    wide(
        "InfinitePositionalEncoding",
        lambda: tl.InfinitePositionalEncoding(affine=False, time_bin_length=2),
        (SEQUENCE,),
    ),
    wide(
        "InfinitePositionalEncoding, diag",
        lambda: tl.InfinitePositionalEncoding(transform="diag"),
        (SEQUENCE,),
        RANDOM,
    ),
    LayerCase("TimeBinPositionalEncoding", lambda: tl.TimeBinPositionalEncoding(2), (SEQUENCE,)),
    LayerCase("Rotate", lambda: tl.Rotate(), (SEQUENCE,)),
    # relative attention and resampling
    *(
        wide(
            f"RelativeAttentionLMLayer, {queries} to {keys}",
            biased(lambda u, v: tl.RelativeAttentionLMLayer(6, u, v, 2, n_heads=2)),
            ((2, queries, 6), (2, keys, 6), (2, keys, 6)),
        )
        for queries, keys in ((4, 4), (4, 2), (2, 4))
    ),
    wide(
        "RelativeAttentionWrapper",
        biased(
            lambda u, v: tl.RelativeAttentionWrapper(
                6, 2, context_bias_layer=u, location_bias_layer=v, total_pooling=1
            )
        ),
        (SEQUENCE,),
    ),
    LayerCase("CreateAttentionMaskLayer", lambda: tl.CreateAttentionMaskLayer(), (SEQUENCE,) * 3),
    wide(
        "PositionalEmbeddings",
        lambda: tl.PositionalEmbeddings(6, False, 1),
        (SEQUENCE,) * 2,
        {"derivative": "constants", "remat": "constants"},
    ),
    LayerCase("ShiftRightCls", lambda: tl.ShiftRightCls(1), (ids(2, 4),), INTEGER),
    LayerCase("AveragePooling", lambda: tl.AveragePooling(2), (SEQUENCE,)),
    LayerCase("LinearPooling", lambda: tl.LinearPooling(2, 3), (SEQUENCE,)),
    LayerCase("LinearUpsampling", lambda: tl.LinearUpsampling(2, 3), (SEQUENCE,)),
    LayerCase("NaiveUpsampling", lambda: tl.NaiveUpsampling(2, 6), (SEQUENCE,)),
    LayerCase("NoUpsampling", lambda: tl.NoUpsampling(2, 6), (SEQUENCE,), {"derivative": "zeros"}),
    wide(
        "AttentionResampling",
        biased(
            lambda u, v: tl.Serial(
                tl.AttentionResampling(
                    2, 6, False, 8, 2, 0.0, None, "eval", tl.Tanh, u, v, 1, tl.LinearPooling
                )
            )
        ),
        (SEQUENCE,),
    ),
    # dense layers of modules
    LayerCase("FactoredDense", lambda: tl.FactoredDense(2, 6, 4), (SEQUENCE,)),
    LayerCase("LocallyConvDense", lambda: tl.LocallyConvDense(3, 2, "eval", 3, 2), (SEQUENCE,)),
    wide(
        "LocallyConvDense, predict", lambda: tl.LocallyConvDense(3, 2, "predict", 3, 2), (SEQUENCE,)
    ),
    LayerCase("SplitLastAxis", lambda: tl.SplitLastAxis(2), (SEQUENCE,)),
    LayerCase("MergeLastTwoAxes", lambda: tl.MergeLastTwoAxes(), (SEQUENCE,)),
]
