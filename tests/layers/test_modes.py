"""Layers in other modes: a twin is the layer that its constructor makes in that mode."""

import random

import numpy as np
import pytest
from decoding_layers import LAYERS, ONE_AT_A_TIME

from weft import fastmath, layers as tl, numpy as jnp, shapes
from weft.layers import modes

X = np.random.default_rng(0).standard_normal((2, 6, 8)).astype(np.float32)
TOKENS = np.array([[3, 1, 4, 1, 5, 2], [2, 6, 5, 3, 5, 1]], np.int32)
KEY = np.array([0, 5], np.uint32)
MODED = {
    **{name: lambda mode, make=make: make(mode=mode) for name, make in LAYERS.items()},
    **{name: lambda mode, make=make: make(mode=mode) for name, make in ONE_AT_A_TIME.items()},
    "Dropout": lambda mode: tl.Dropout(0.5, mode=mode),
    "BatchNorm": lambda mode: tl.BatchNorm(mode=mode),
    "ShiftRight": lambda mode: tl.ShiftRight(2, mode=mode),
    "shared layers": lambda mode: tl.Serial([tl.Dense(8), tl.Dropout(0.5, mode=mode)] * 2),
    "an activation that is a layer": lambda mode: tl.SRU(8, tl.Dropout(0.5, mode=mode), mode=mode),
    "Accelerate": lambda mode: tl.Accelerate(tl.Serial(tl.Dense(8), tl.Dropout(0.5, mode=mode))),
    "Bidirectional": lambda mode: tl.Bidirectional(tl.GRU(8, mode=mode), axis=1),
    "GeneralGRUCell": lambda mode: tl.GeneralGRUCell(lambda: tl.Dense(8), mode=mode),
    "reversible": lambda mode: tl.Serial(
        tl.Dup(),
        tl.ReversibleSerial(
            [
                tl.ReversibleHalfResidual(tl.Dense(8), tl.Dropout(0.5, mode=mode)),
                tl.ReversibleSwap(),
            ]
        ),
        tl.Add(),
    ),
    "a choice": lambda mode: tl.Serial(
        tl.Dup(),
        tl.Cond(
            tl.Fn("positive", lambda x: jnp.sum(x) > 0), tl.Dropout(0.5, mode=mode), tl.Dense(8)
        ),
    ),
    "names": lambda mode: tl.Serial(
        tl.Branch(tl.Dropout(0.5, mode=mode), tl.Residual(tl.Dense(8)), name="both"), tl.Add()
    ),
}


def inputs_of(name):
    if name == "language model":
        return TOKENS
    return X[:, :1] if name in ONE_AT_A_TIME else X


def assert_same(found, expected):
    found, expected = fastmath.tree_leaves(found), fastmath.tree_leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def nesting(layer):
    return type(layer), layer.name, [nesting(inner) for inner in layer.sublayers]


@pytest.mark.parametrize(("mode", "other"), [("train", "eval"), ("train", "predict")])
@pytest.mark.parametrize("name", MODED)
def test_the_twin_is_the_layer_made_in_the_other_mode(name, mode, other):
    make, x = MODED[name], inputs_of(name)
    layer, made = make(mode), make(other)
    weights, state = layer.init(x, rng=KEY)
    made.init(x, rng=KEY)
    made.weights = weights
    twin = modes.in_mode(layer, other)
    assert nesting(twin) == nesting(made)
    assert twin is layer or str(twin) == str(made)
    assert_same(twin.weights, weights)
    before = [made.state, twin.state]
    found = twin.pure_fn(x, twin.weights, before[1], KEY)
    assert_same(found, made.pure_fn(x, made.weights, before[0], KEY))
    assert_same(layer.weights, weights)
    assert_same(layer.state, state)


def recurrent(mode):
    """Layers as users nest them, with one that makes its own parts."""

    class Block(tl.Serial):
        def __init__(self, layer):
            self._first = layer
            super().__init__(layer, tl.Dropout(0.5), tl.BatchNorm(momentum=0.5))

    return tl.Serial(tl.Dense(8), [Block(tl.GRU(8, mode=mode)), tl.Dropout(0.3, mode=mode)])


def test_a_class_that_makes_its_own_parts_is_copied_with_other_parts():
    layer = recurrent("train")
    layer.init(X, rng=KEY)
    twin = modes.in_mode(layer, "eval")
    assert modes.modes_of(layer) == {"train"}
    assert modes.modes_of(twin) == {"eval"}
    block, other = layer.sublayers[1], twin.sublayers[1]
    assert type(other) is type(block)
    assert other._first is other.sublayers[0]
    assert other._first is not block._first
    assert twin(X).shape == X.shape
    np.testing.assert_array_equal(twin(X), twin(X))


def test_twins_are_independent_and_share_their_arrays():
    layer = recurrent("train")
    layer.init(X, rng=KEY)
    twin = modes.in_mode(layer, "eval")
    for a, b in zip(*map(fastmath.tree_leaves, (layer.weights, twin.weights)), strict=True):
        assert a is b
    before = fastmath.tree_leaves(twin.weights)
    layer.weights = fastmath.nested_map(lambda x: x + 1, layer.weights)
    assert fastmath.tree_leaves(twin.weights)[0] is before[0]
    for _ in range(9):
        layer(X, rng=KEY)
    modes.share_weights(layer, twin)
    for part in ("weights", "state"):
        pairs = zip(*(fastmath.tree_leaves(getattr(x, part)) for x in (layer, twin)), strict=True)
        assert all(a is b for a, b in pairs)


def test_the_state_of_a_sequence_is_not_shared():
    layer = recurrent("train")
    layer.init(X, rng=KEY)
    for _ in range(9):
        layer(X, rng=KEY)
    twin = modes.in_mode(layer, "predict")
    twin(X[:, :2])
    carry = fastmath.tree_leaves(twin.state)
    modes.share_weights(layer, twin)
    assert fastmath.tree_leaves(twin.state)[0] is carry[0]
    back = modes.in_mode(twin, "eval")
    np.testing.assert_array_equal(back(X), modes.in_mode(layer, "eval")(X))


def test_a_layer_in_the_mode_or_without_one_is_its_own_twin():
    for layer in (tl.Dense(3), recurrent("train"), tl.Serial(tl.Relu(), tl.Dense(2))):
        assert modes.in_mode(layer, "train") is layer
    mixed = tl.Serial(tl.PositionalEncoding(mode="eval"), tl.GRU(8, mode="predict"))
    assert modes.in_mode(mixed, "predict") is mixed
    assert modes.in_mode(mixed, "eval") is not mixed
    assert modes.modes_of(mixed) == {"eval", "predict"}


def test_an_uninitialized_layer_has_an_uninitialized_twin():
    twin = modes.in_mode(recurrent("train"), "predict")
    assert fastmath.tree_leaves(twin.weights) == []
    assert twin.init(X)[0]


def test_the_signature_of_the_twin_decides_its_state():
    layer = tl.CausalAttention(8, 2, max_inference_length=9)
    layer.init(X, rng=KEY)
    assert fastmath.tree_leaves(modes.in_mode(layer, "predict").state)[0].shape == (4, 9, 4)
    twin = modes.in_mode(layer, "predict", shapes.ShapeDtype((7, 1, 8), np.float32))
    assert fastmath.tree_leaves(twin.state)[0].shape == (14, 9, 4)


def test_nothing_else_changes():
    layer = recurrent("train")
    layer.init(X, rng=KEY)
    random.seed(4)
    expected = random.random()
    random.seed(4)
    modes.in_mode(layer, "predict")
    modes.in_mode(layer, "eval")
    assert random.random() == expected


def test_twins_are_where_the_layers_were_made():
    layer = tl.Serial(tl.CausalAttention(8), tl.Dropout(0.5))  # this line
    twin = modes.in_mode(layer, "eval")
    for one, other in zip(layer.sublayers, twin.sublayers, strict=True):
        assert one._site == other._site
    with pytest.raises(tl.LayerError, match=r"test_modes.py:\d+"):
        twin.init(np.zeros(3))


def test_keywords_that_a_class_hands_on_have_a_mode():
    class Often(tl.Dropout):
        def __init__(self, **keywords):
            super().__init__(rate=0.9, **keywords)

    twin = modes.in_mode(Often(mode="train"), "eval")
    np.testing.assert_array_equal(twin(X), X)


def test_refusals():
    class Fixed(tl.Dropout):
        def __init__(self):
            super().__init__(rate=0.9)

    with pytest.raises(ValueError, match=r"Fixed is in mode 'train', and its class has no param"):
        modes.in_mode(tl.Serial(Fixed(), tl.Dropout(0.1)), "eval")
    with pytest.raises(ValueError, match="in_mode: mode must be 'train' or 'eval'"):
        modes.in_mode(tl.Dense(2), "test")
    with pytest.raises(TypeError, match="in_mode: layer must be a layer; got 3"):
        modes.in_mode(3, "eval")
    layer = tl.Serial(tl.Dense(8), tl.GRU(8))
    layer.init(X)
    bare = tl.Serial(tl.Dense(8), tl.GRU(8))
    bare.weights = layer.weights
    with pytest.raises(ValueError, match=r"was not initialized.*\n  fix: input_signature=weft"):
        modes.in_mode(bare, "predict")
    assert modes.in_mode(bare, "predict", shapes.signature(X))(X).shape == X.shape
    with pytest.raises(ValueError, match=r"the twin has 2 arrays of weights, and the layer 6"):
        modes.share_weights(layer, modes.in_mode(tl.Serial(layer.sublayers[0]), "eval"))


def test_a_function_that_takes_a_mode_is_called_again():
    calls = []

    @tl.takes_mode
    def Encoder(n_units, depth=1, *, mode="train"):
        """Has a text."""
        calls.append((n_units, depth, mode))
        layer = tl.Serial([tl.Dense(n_units)] * depth)
        return tl.Cache(layer) if mode == "predict" else layer

    layer = Encoder(3, 2)
    layer.init(X[..., :3])
    twin = modes.in_mode(layer, "predict")
    assert isinstance(twin, tl.Cache)
    assert calls == [(3, 2, "train"), (3, 2, "predict")]
    assert Encoder.__doc__ == "Has a text."
    assert_same(twin.weights, layer.weights)
    np.testing.assert_array_equal(twin(X[..., :3]), layer(X[..., :3]))


def test_state_finds_its_layer_where_another_mode_has_more_layers():
    @tl.takes_mode
    def Normalized(mode="train"):
        more = [tl.Relu(), tl.Dropout(0.5, mode=mode)] if mode == "eval" else []
        return tl.Serial(more, tl.BatchNorm(momentum=0.5, mode=mode))

    layer = Normalized()
    layer.init(X)
    for _ in range(9):
        layer(X)
    twin = modes.in_mode(layer, "eval")
    assert len(twin.sublayers) == 3
    for a, b in zip(layer.state[0], twin.state[2], strict=True):
        assert a is b
