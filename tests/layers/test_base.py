"""The layer: weights, state, keys, sharing, abstract calls, custom gradients, errors, text."""

import copy
import functools
import pickle
import random

import numpy as onp
import pandas
import pytest
from row_names import row_name

import weft
from weft import fastmath, layers as tl, shapes
from weft.fastmath import numpy as jnp
from weft.layers import base

SIG = shapes.ShapeDtype((2, 3))
X = onp.arange(6, dtype=onp.float32).reshape(2, 3)
MARKS = (base.GET_WEIGHTS_FROM_CACHE, base.GET_STATE_FROM_CACHE)


class Counter(tl.Layer):
    """Multiplies by its weights and counts its calls."""

    def init_weights_and_state(self, input_signature):
        self.weights = jnp.ones(input_signature.shape[-1])
        self.state = jnp.zeros((), jnp.int32)

    def forward(self, x):
        self.state = self.state + 1
        return x * self.weights


class Fails(tl.Layer):
    """Changes what it holds, and raises."""

    def forward(self, x):
        self.state = "changed"
        raise ZeroDivisionError("here")


class Keys(tl.Layer):
    """Returns its key."""

    def forward(self, x):
        return self.rng


def key(seed=0):
    return fastmath.random.get_prng(seed)


def row(k, n, i):
    return onp.asarray(fastmath.random.split(k, n)[i])


# ---- calls ----


def test_a_call_keeps_the_state_and_not_the_given_weights():
    layer = Counter()
    layer.init(SIG)
    assert onp.array_equal(layer(X, weights=jnp.full(3, 5.0)), 5 * X)
    assert onp.array_equal(layer(X), X)
    assert int(layer.state) == 2
    layer(X, state=jnp.asarray(7))
    assert int(layer.state) == 8


def test_pure_fn_changes_nothing_even_if_it_fails():
    layer = tl.Serial(Counter(), Fails())
    layer.sublayers[0].init(SIG)
    layer.rng = key(1)
    before = onp.asarray(layer.rng)
    with pytest.raises(tl.LayerError, match="ZeroDivisionError: here"):
        layer.pure_fn(X, (jnp.full(3, 2.0), ()), (jnp.asarray(5), ()), key(2))
    assert onp.array_equal(layer.weights[0], onp.ones(3))
    assert int(layer.state[0]) == 0
    assert layer.state[1] == ()
    assert onp.array_equal(layer.rng, before)


def test_the_default_key_is_drawn_from_pythons_generator():
    random.seed(3)
    layers = [tl.Layer(), tl.Layer(), Keys()]
    random.seed(3)
    seeds = [random.randint(0, 2**31 - 1) for _ in layers]
    assert [layer._rng_seed_int for layer in layers] == seeds
    assert onp.array_equal(layers[2](X), key(seeds[2]))


def test_a_key_made_while_tracing_is_not_kept():
    layer = Keys()
    assert layer.output_signature(SIG).shape == (2,)
    fastmath.jit(lambda x: layer(x))(X)
    assert onp.asarray(layer(X)).shape == (2,)


# ---- weights of sublayers, sharing ----


def test_weights_of_sublayers():
    one, two = Counter(), Counter()
    both = tl.Serial(one, [two])
    assert both.weights == both.state == ((), ())
    both.init(SIG)
    both.weights = [jnp.full(3, 2.0), jnp.full(3, 3.0)]
    assert onp.array_equal(one.weights, onp.full(3, 2.0))
    assert onp.array_equal(two.weights, onp.full(3, 3.0))
    two.weights = jnp.zeros(3)
    assert onp.array_equal(both.weights[1], onp.zeros(3))
    assert isinstance(both.weights, tuple)


def test_a_shared_layer_has_one_set_of_weights():
    layer = tl.Dense(3)
    model = tl.Serial(layer, tl.Serial(layer), layer)
    weights, state = model.init(SIG)
    assert weights[1:] == ((MARKS[0],), MARKS[0])
    assert state[1:] == ((MARKS[1],), MARKS[1])
    w, b = (onp.asarray(v, onp.float64) for v in weights[0])
    wanted = ((X @ w + b) @ w + b) @ w + b
    onp.testing.assert_allclose(model(X), wanted, 1e-4)
    onp.testing.assert_allclose(
        fastmath.jit(model.pure_fn)(X, weights, state, key())[0], wanted, 1e-4
    )
    gradient = fastmath.grad(lambda w: model.pure_fn(X, w, state, key())[0].sum())(weights)
    assert gradient[0][0].shape == (3, 3)
    assert len(fastmath.tree_leaves(gradient)) == 2


def test_a_shared_combinator():
    inner = tl.Serial(Counter(), Counter())
    weights, _ = tl.Serial(inner, inner).init(SIG)
    assert weights[1] == MARKS[0]
    assert len(weights[0]) == 2


def test_the_state_of_a_shared_layer_is_that_after_its_first_occurrence():
    counter = Counter()
    model = tl.Serial(counter, tl.Serial(counter, counter), counter)
    model.init(SIG)
    model(X)
    assert int(counter.state) == 1
    assert int(model.state[0]) == 1
    assert model.state[1:] == ((MARKS[1], MARKS[1]), MARKS[1])


def test_a_second_init_makes_new_weights_and_a_failed_one_leaves_no_marks():
    shared = tl.Dense(3)
    model = tl.Serial(shared, shared)
    first = model.init(SIG, rng=key(1))[0][0][0]
    second = model.init(SIG, rng=key(2))[0][0][0]
    assert not onp.array_equal(first, second)
    broken = tl.Serial(shared, tl.Dense(2), tl.LocallyConnected1d(2, 5))
    with pytest.raises(tl.LayerError):
        broken.init(SIG)
    assert shared.init(SIG, use_cache=True)[0] != MARKS[0]


# ---- keys ----


def test_keys_of_sublayers():
    layer = tl.Serial(tl.Dense(4), tl.Embedding(5, 2), tl.Serial(Keys()))
    layer.rng = key(5)
    assert onp.array_equal(layer.sublayers[1].rng, row(key(5), 3, 1))
    assert onp.array_equal(layer.sublayers[2].sublayers[0].rng, row(row(key(5), 3, 2), 1, 0))
    only = tl.Serial(tl.Drop(), Keys())
    assert onp.array_equal(only((X, X), rng=key(9)), row(key(9), 2, 1))
    dense = tl.Dense(4)
    (w, b), _ = dense.init(SIG, rng=key(5))
    made = tl.GlorotUniformInitializer()((3, 4), fastmath.random.split(key(5), 2)[0])
    assert onp.array_equal(w, made)
    made = tl.RandomNormalInitializer(1e-6)((4,), fastmath.random.split(key(5), 2)[1])
    assert onp.array_equal(b, made)


def test_signatures_change_nothing():
    layer = tl.Serial(tl.Dense(4), tl.Dropout(0.5))
    layer.init(SIG, rng=key(1))
    before = [onp.asarray(v) for v in (layer.weights[0][0], layer.rng, layer.sublayers[0].rng)]
    weights, state = layer.weights_and_state_signature(shapes.ShapeDtype((2, 7)))
    assert weights[0][0] == shapes.ShapeDtype((7, 4))
    assert state[1] == shapes.ShapeDtype(())
    after = [onp.asarray(v) for v in (layer.weights[0][0], layer.rng, layer.sublayers[0].rng)]
    assert all(onp.array_equal(a, b) for a, b in zip(before, after, strict=True))
    layer.weights_and_state_signature(SIG, unsafe=True)
    assert layer.weights[0][0].shape == (3, 4)


def test_signatures_may_be_arrays():
    layer = tl.Dense(2)
    layer.init(X)
    assert layer.output_signature(X) == shapes.ShapeDtype((2, 2))


# ---- custom gradients ----


class Tenfold(tl.Layer):
    """x · w + state, with gradients that are wrong on purpose."""

    has_backward = True

    def init_weights_and_state(self, input_signature):
        self.weights, self.state = jnp.ones(()), jnp.zeros(())

    def forward(self, x):
        self.state = self.state + 1.0
        return x * self.weights + self.state

    def backward(self, inputs, output, grad, weights, state, new_state, rng):
        assert float(new_state - state) == 1.0
        return 10 * grad, (grad * output).sum()


@pytest.mark.parametrize("around", [lambda layer: layer, tl.Serial])
def test_custom_gradients(around):
    layer = around(Tenfold())
    weights, state = layer.init(SIG)
    f = lambda x, w: layer.pure_fn(x, w, state, key())  # noqa: E731
    outputs, new_state = f(X, weights)
    assert onp.array_equal(outputs, X + 1)
    assert float(fastmath.tree_leaves(new_state)[0]) == 1.0
    loss = lambda x, w: f(x, w)[0].sum()  # noqa: E731
    assert onp.array_equal(fastmath.grad(loss)(X, weights), onp.full((2, 3), 10.0))
    of_w = fastmath.grad(lambda w: loss(X, w))(weights)
    assert float(fastmath.tree_leaves(of_w)[0]) == (X + 1).sum()
    assert float(fastmath.tree_leaves(layer.state)[0]) == 0.0


# ---- text and errors ----

TEXTS = [
    (lambda: tl.Concatenate(), "Concatenate_in2"),
    (lambda: tl.Concatenate(axis=0), "Concatenate_axis0_in2"),
    (lambda: tl.Branch(tl.Add(), tl.Add()), "Branch_in2_out2[\n  Add_in2\n  Add_in2\n]"),
    (lambda: tl.Negate(), "Serial[\n  Negate\n]"),
    (lambda: tl.Serial(tl.Dense(2), sublayers_to_print=[]), "Serial"),
    (lambda: tl.Serial(tl.Serial(tl.Dup())), "Serial_out2[\n  Serial_out2[\n    Dup_out2\n  ]\n]"),
    (lambda: tl.Branch(None, tl.Dup()), "Branch_out3[\n  None\n  Dup_out2\n]"),
    (lambda: tl.Layer(name=""), ""),
    (lambda: tl.Weights(onp.ones, (2, 3)), "Weights_(2, 3)_in0"),
    (lambda: tl.Select([0, 1], n_in=3), "Select[0,1]_in3_out2"),
    (lambda: tl.SummaryScalar("m"), "summary_m"),
]


@pytest.mark.parametrize("case", TEXTS, ids=row_name)
def test_text(case):
    make, text = case
    assert repr(make()) == text


def made_in_another_function():
    return Fails()


def test_an_error_tells_the_way_to_it():
    layer = tl.Serial(tl.Dup(), tl.Parallel(made_in_another_function(), None))
    with pytest.raises(tl.LayerError) as info:
        layer(X)
    text = str(info.value)
    assert text == info.value.message
    names = [line.split()[2:4] for line in text.splitlines() if line.startswith("  in layer ")]
    assert names == [["Fails", "(pure_fn),"], ["Parallel", "(pure_fn),"], ["Serial", "(pure_fn),"]]
    line = made_in_another_function.__code__.co_firstlineno + 1
    assert f"tests/layers/test_base.py:{line}, for float32[2,3]" in text
    assert ': raise ZeroDivisionError("here")' in text
    assert text.startswith("ZeroDivisionError: here")
    assert "base.py" not in text.replace("test_base.py", "")
    assert any("test_base.py" in note for note in info.value.__notes__)


def test_an_error_survives_pickling_and_is_one_of_wefts():
    with pytest.raises(weft.errors.WeftError) as info:
        Fails()(X)
    again = pickle.loads(pickle.dumps(info.value))
    assert str(again) == str(info.value)
    assert type(again) is tl.LayerError


def test_errors_describe_inputs_without_shapes():
    with pytest.raises(tl.LayerError, match=r"for \(float, \[int\], \{'a': str\}\)"):
        Fails()((1.0, [2], {"a": "x"}))


# ---- the rest ----


def test_layers_can_be_copied():
    layer = tl.Serial(tl.Dense(2), tl.Dropout(0.1))
    layer.init(SIG)
    again = copy.deepcopy(layer)
    again.weights = fastmath.nested_map(lambda w: 0 * w, again.weights)
    assert onp.asarray(layer.weights[0][0]).any()


def test_flat_weights():
    model = tl.Serial(tl.Dup(), tl.Dense(5), tl.Serial(tl.Dense(7), tl.Dup()))
    weights, state = model.init((SIG,))
    flat, flat_state = tl.flatten_weights_and_state(weights, state)
    assert [w.shape for w in flat] == [(3, 5), (5,), (5, 7), (7,)]
    assert flat_state == []
    other = tl.Serial(tl.Dense(5), tl.Dup(), tl.Dense(7))
    signature = other.weights_and_state_signature((SIG,))
    again, _ = tl.unflatten_weights_and_state(flat, [], signature)
    assert again[2][0] is flat[2]
    assert tl.unflatten_weights_and_state(flat, None, signature, weights_only=True)[1] is None
    with pytest.raises(ValueError, match="has 4 arrays of weights, and 3 were given"):
        tl.unflatten_weights_and_state(flat[:3], [], signature)


def test_functions_of_any_number_of_tensors():
    assert tl.Fn("None", lambda: ())(()) == ()
    assert tl.Fn("", lambda x: x).name == "Fn"
    assert tl.PureLayer(lambda xs: [], n_in=2, n_out=0)((1, 2)) == ()

    class Bound:
        def method(self, x, y):
            return x + y

    assert tl.Fn("M", Bound().method).n_in == 2
    scaled = tl.Fn("Scaled", functools.partial(lambda x, y, factor: factor * x + y, factor=3))
    assert scaled.n_in == 2
    assert float(scaled((onp.float32(2), onp.float32(1)))) == 7
    assert tl.Fn("Keyword", lambda x, *, factor=2: factor * x)(onp.float32(2)) == 4
    assert tl.to_list([X[0], jnp.ones(1)]) == [[0.0, 1.0, 2.0], [1.0]]
    assert tl.to_list(X) == X.tolist()


@pytest.mark.devices(4)
def test_weights_spread_over_devices(monkeypatch):
    n = fastmath.global_device_count()
    tree = {"a": onp.arange(8.0).reshape(4, 2), "b": onp.arange(24.0).reshape(2, 3, 4)}
    spread = tl.shard(tree, 2)
    assert spread["a"].shape == (n, 2, 2)
    assert spread["b"].shape == (n, 2, 3, 2)
    again = tl.unshard(spread, 2)
    assert all(onp.array_equal(again[name], tree[name]) for name in tree)
    assert tl.unshard_in_pmap(tree, 2) == (tree, False)

    layer = tl.Serial(tl.Dense(4), tl.Dense(2))
    weights, state = layer.init(shapes.ShapeDtype((2, 4)))
    x = onp.random.default_rng(0).normal(size=(n, 2, 4)).astype(onp.float32)
    wanted = layer(x.reshape(2 * n, 4)).reshape(n, 2, 2)
    monkeypatch.setattr(base, "N_WEIGHTS_SHARDS", 2)
    run = fastmath.pmap(lambda x, w: layer.pure_fn(x, w, state, key())[0], "batch")
    onp.testing.assert_allclose(run(x, tl.shard(weights)), wanted, 1e-5, 1e-6)


class Foreign:
    """An array of another library, whose dtypes and operators are its own."""

    dtype = "another.float32"

    def __init__(self, array):
        self.array, self.shape, self.ndim = array, array.shape, array.ndim

    def __array__(self, dtype=None, copy=None):
        return onp.array(self.array, dtype)


@pytest.mark.parametrize("of", [Foreign, pandas.DataFrame])
@pytest.mark.parametrize(
    "layer",
    [
        tl.Embedding(9, 2), tl.Dense(2), tl.BatchNorm(axis=0), tl.LayerNorm(), tl.Softmax(),
        tl.Dropout(0.5), tl.ToFloat(), tl.PaddingMask(), tl.Serial(tl.Embedding(9, 2), tl.GRU(2)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_arrays_of_other_libraries_are_inputs(layer, of, backend):
    x = onp.arange(1, 7).reshape(2, 3)
    layer.init(shapes.signature(x))
    with fastmath.use_backend(backend):
        if not ("Embedding" in str(layer) or layer.name in ("ToFloat", "PaddingMask(0)")):
            x = x.astype("float32")
        rng, state = fastmath.random.get_prng(0), layer.state
        found = layer(of(x), rng=rng)
        expected = layer(x, rng=rng, state=state)
    onp.testing.assert_array_equal(found, expected)


def test_arrays_of_other_libraries_are_inputs_among_others():
    x, y, weights = X, X + 1, onp.ones((2, 3), "float32")
    inputs = (pandas.DataFrame(x), Foreign(y), weights)
    onp.testing.assert_array_equal(tl.L2Loss()(inputs), tl.L2Loss()((x, y, weights)))
    nested = tl.PureLayer(lambda x: x["a"][0] * 2)
    onp.testing.assert_array_equal(nested({"a": [Foreign(x)]}), 2 * x)
