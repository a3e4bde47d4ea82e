"""Wrong uses of sparse layers: each error names the layer, what came, and the user's line."""

import numpy as np
import pytest

from weft import layers as tl

X = np.ones((2, 6, 8), np.float32)
ROW = np.ones((2, 8), np.float32)


def options(kind, **more):
    return lambda: tl.SparseDenseWithOptions(8, sparsity_type=kind, **{"sparsity": 2, **more})


# (what is done, what the error says)
WHEN_MADE = {
    "no modules": (lambda: tl.LocallyConnectedDense(0, 2), "n_modules must be at least 1; got 0"),
    "units of text": (lambda: tl.LocallyConnectedDense(2, "3"), "n_units must be an int; got '3'"),
    "even window": (lambda: tl.LocallyConnectedDense(4, 2, 2), "kernel_size must be odd; got 2"),
    "window wider than the ring": (
        lambda: tl.LocallyConnectedDense(2, 2, 5), "below 2 . n_modules; got 5, and 2 modules"),
    "rank of 0": (lambda: tl.LowRankDense(4, 0), "LowRankDense: d_lowrank must be at least 1"),
    "units between": (lambda: tl.LowRankDense(1.5, 2), "LowRankDense: n_units must be an int"),
    "no inputs": (lambda: tl.EinsumDense(0, 2, True), "EinsumDense: d_input must be at least 1"),
    "bias of 1": (lambda: tl.EinsumDense(2, 2, 1), "use_bias must be True or False; got 1"),
    "modules that don't divide": (
        lambda: tl.MultiplicativeModularSparseDense(3, 8),
        "d_feature must be a multiple of sparsity; got 8 and 3"),
    "no layer": (lambda: tl.RandomLayer(np.sin, tl.Relu(), 0.5), "RandomLayer: layer_a"),
    "no other layer": (lambda: tl.RandomLayer(tl.Relu(), None, 0.5), "RandomLayer: layer_b"),
    "probability": (lambda: tl.RandomLayer(tl.Relu(), tl.Relu(), 1.5), "prob_a must be at least 0"),
    "layers of other numbers": (
        lambda: tl.RandomLayer(tl.Relu(), tl.Add(), 0.5), "as many inputs and outputs"),
    "unknown type": (options("lsh"), r"sparsity_type must be None or 'None' or 'mult' or .* 'lsh'"),
    "negative sparsity": (options("mult", sparsity=-1), "sparsity must be at least 0; got -1"),
    "mult of what": (options("mult"), "d_input is needed with sparsity_type='mult'"),
    "einsum of what": (options("einsum"), "d_input is needed with sparsity_type='einsum'"),
    "lowrank of what": (options("lowrank"), "d_lowrank is needed with sparsity_type='lowrank'"),
    "lowrank without bias": (
        options("lowrank", d_lowrank=2, use_bias=False),
        "there is no use_bias=False with sparsity_type='lowrank'"),
    "local without bias": (options("local", use_bias=False), "no use_bias=False"),
    "local in bfloat16": (options("local3", use_bfloat16=True), "no use_bfloat16 with"),
    "local of a part": (options("local", sparsity=3), "n_units must be a multiple of sparsity"),
    "mode": (options("local", mode="test"), "SparseDenseWithOptions: mode must be 'train'"),
    "probability of the sparse one": (
        options("local", prob_sparse=-0.5), "prob_a must be at least 0"),
    "blocks that don't divide": (
        lambda: tl.SparseFF(100), "d_ff must be a multiple of n_elements_in_block; got 100 and 32"),
    "rank of the controller": (lambda: tl.SparseFF(64, d_lowrank=0), "SparseFF: d_lowrank"),
    "temperature below 0": (lambda: tl.SparseFF(64, temperature=-1), "temperature must be"),
    "share of choices": (lambda: tl.SparseFF(64, quant_prob=2), "quant_prob must be at least 0"),
    "mode of a block": (lambda: tl.SparseFF(64, mode="predic"), "SparseFF: mode must be 'train'"),
    "dropout of 1": (lambda: tl.SparseFF(64, dropout_rate=1.0), "dropout_rate must be less than 1"),
    "chunks": (lambda: tl.SparseFF(64, ff_chunk_size=-1), "ff_chunk_size must be at least 0"),
    "initializer": (
        lambda: tl.SparseFF(64, kernel_initializer=0), "SparseFF: kernel_initializer must be a"),
    "switch": (lambda: tl.SparseFF(64, kernel_scaling=2), "kernel_scaling must be True or False"),
    "experts that don't divide": (
        lambda: tl.BlockSparseFF(100), "BlockSparseFF: d_ff must be a multiple of"),
    "no experts": (lambda: tl.SwitchSparseFF(64, 0), "SwitchSparseFF: n_experts must be"),
    "temperature of experts": (
        lambda: tl.SwitchSparseFF(64, temperature="hot"), "SwitchSparseFF: temperature must be a"),
    "mode of experts": (lambda: tl.BlockSparseFF(64, mode=None), "BlockSparseFF: mode must be"),
    "initializer of experts": (
        lambda: tl.BlockSparseFF(64, bias_initializer=None), "BlockSparseFF: bias_initializer"),
    "heads": (
        lambda: tl.ModularCausalAttention(8, 3), "d_feature must be a multiple of n_heads; got 8"),
    "modules": (
        lambda: tl.ConvCausalAttention(8, 2, sparsity=3), "must be a multiple of sparsity; got 8"),
    "even window of attention": (
        lambda: tl.ConvCausalAttention(8, 2, kernel_size=2), "kernel_size must be odd; got 2"),
    "rank of attention": (lambda: tl.LowRankCausalAttention(8, lowrank=-1), "d_lowrank must be at"),
    "dropout of attention": (
        lambda: tl.MultiplicativeCausalAttention(8, dropout=1.0), "dropout must be less than 1"),
    "mode of attention": (
        lambda: tl.MultiplicativeModularCausalAttention(8, mode="x"), "mode must be 'train' or"),
    "what follows": (
        lambda: tl.MultiplicativeConvCausalAttention(8, output_layer_type="dense"),
        "output_layer_type must be 'none' or 'mult' or 'conv' or 'multconv'; got 'dense'"),
    "what values are made of": (
        lambda: tl.MultiplicativeConvCausalAttention(8, v_concat_type=None), "v_concat_type must"),
    "no dropout of 1": (
        lambda: tl.MultiplicativeConvCausalAttention(8, force_no_dropout=1), "force_no_dropout"),
    "keys of text": (
        lambda: tl.MultiplicativeConvCausalAttention(8, share_qk="yes"), "share_qk must be True"),
    "length of convolutions": (
        lambda: tl.MultiplicativeConvCausalAttention(8, 2, length_kernel_size=0),
        "length_kernel_size must be at least 1"),
    "heads of Favor": (lambda: tl.Favor(8, n_heads=3), "a multiple of n_heads; got 8 and 3"),
    "random features": (lambda: tl.Favor(8, n_random_features=0), "n_random_features must be at"),
    "dropout of Favor": (lambda: tl.Favor(8, dropout=-1), "Favor: dropout must be at least 0"),
    "stabilizer": (lambda: tl.FavorAttention(numerical_stabilizer=-1), "numerical_stabilizer must"),
    "epsilon": (lambda: tl.FavorAttention(epsilon=None), "epsilon must be a number"),
    "mode of Favor": (lambda: tl.FavorAttention(mode="t"), "FavorAttention: mode must be 'train'"),
    "directions of no length": (
        lambda: tl.FavorAttention.get_2d_array(None), "n_columns must be at least 1; got 0"),
    "features without directions": (
        lambda: tl.FavorAttention().nonnegative_softmax_kernel_feature_creator(X, True),
        "fix: use_approximate_softmax=True"),
    "heads of CausalFavor": (lambda: tl.CausalFavor(8, 3), "CausalFavor: d_feature must be a"),
    "stabilizer of CausalFavor": (
        lambda: tl.CausalFavorAttention(numerical_stabilizer="1"), "numerical_stabilizer must be"),
    "mode of CausalFavor": (lambda: tl.CausalFavor(8, mode="y"), "CausalFavorAttention: mode must"),
    "dropout of CausalFavor": (lambda: tl.CausalFavor(8, dropout=1), "dropout must be less than 1"),
}  # fmt: skip

# (the layer, its input, what the error says)
WHEN_RUN = {
    "parts that don't divide": (tl.LocallyConnectedDense(3, 2), X, "must be a multiple of 3"),
    "another number of inputs": (tl.EinsumDense(4, 2, True), X, "8"),
    "a mask of another length": (
        tl.FavorAttention(8, 2),
        (X, X, X, np.ones((1, 5))),
        "one number for each position",
    ),
    "a mask of one head": (tl.FavorAttention(), (X, X, X, np.ones((4, 6))), r"got shape \(4, 6\)"),
    "heads of another width": (
        tl.FavorAttention(8, 2, use_approximate_softmax=True),
        (X, X, X, np.ones((1, 6))),
        "expected 4 features in a head",
    ),
    "keys of another length": (
        tl.CausalFavorAttention(),
        (X, X[:, :3], X),
        r"got \(2, 6, 8\), \(2, 3, 8\)",
    ),
    "no batch": (tl.CausalFavorAttention(), (X[0], X[0], X[0]), r"\[batch, length, d\]"),
    "no power of two": (
        tl.ReversibleReshapePermute(),
        X[..., :6],
        "must be a power of two; got shape",
    ),
    "no features": (tl.ReversibleRandomPermute(), np.ones(()), "got a scalar"),
    "another number of features": (tl.MultiplicativeModularSparseDense(2, 4), X, "8"),
}


@pytest.mark.parametrize("name", WHEN_MADE)
def test_a_wrong_option_is_refused_where_it_is_given(name):
    make, message = WHEN_MADE[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    notes = getattr(caught.value, "__notes__", [])
    assert any("test_sparsity.py" in note for note in notes), notes


@pytest.mark.parametrize("name", WHEN_RUN)
def test_a_wrong_input_is_refused_by_the_layer(name):
    layer, x, message = WHEN_RUN[name]
    with pytest.raises(tl.LayerError, match=message):
        layer(x, *layer.init(x))


@pytest.mark.parametrize("make", [lambda: tl.SparseFF(64), lambda: tl.BlockSparseFF(64)])
def test_a_layer_without_weights_says_so(make):
    with pytest.raises(tl.LayerError, match=r"in layer .* made at"):
        make()(X)
