"""Every law of layers on every row of the table: see `layer_cases.py`."""

import importlib
import pathlib

import numpy as onp
import pytest
from layer_cases import LAWS

import weft
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp, tree_leaves

FILES = sorted(pathlib.Path(__file__).parent.glob("layer_cases_*.py"))
CASES = [case for path in FILES for case in importlib.import_module(path.stem).CASES]
KEY = onp.array([0, 7], onp.uint32)


def leaves(tree):
    """The arrays of nested tuples, lists and dicts."""
    return [onp.asarray(leaf) for leaf in tree_leaves(tree)]


def is_float(leaf):
    return jnp.issubdtype(leaf.dtype, jnp.floating)


def close(a, b, rtol=1e-5, atol=1e-5):
    """Compares nested arrays."""
    a, b = leaves(a), leaves(b)
    assert [x.shape for x in a] == [x.shape for x in b]
    for x, y in zip(a, b, strict=True):
        onp.testing.assert_allclose(x.astype(onp.float64), y.astype(onp.float64), rtol, atol)


def initialized(case, x):
    """A layer of a row, with its weights and state."""
    layer = case.make()
    weights, state = layer.init(shapes.signature(x), rng=weft.random.PRNGKey(3))
    return layer, weights, state


def of_floats(f, tree):
    """A tree with a function of the floats in the place of each."""
    return fastmath.nested_map(lambda leaf: f(leaf) if is_float(leaf) else leaf, tree)


def loss(layer, state, key):
    """A number made of all outputs that are floats, of weights and inputs."""

    def of(weights, x):
        y, _ = layer.pure_fn(x, weights, state, key)
        total = 0.0
        for i, leaf in enumerate(tree_leaves(y)):
            if is_float(leaf):
                total = total + jnp.sum(
                    leaf * jnp.cos(i + jnp.arange(leaf.size)).reshape(leaf.shape)
                )
        return total

    return of


def floats_of(tree):
    """The floats in a tree, and a function that puts others in their place."""
    flat = fastmath.tree_flatten(tree)
    places = [i for i, leaf in enumerate(flat) if is_float(leaf)]

    def put(values):
        full = list(flat)
        for i, value in zip(places, values, strict=True):
            full[i] = value
        return fastmath.tree_unflatten(full, tree)[0]

    return [flat[i] for i in places], put


def signature(case):
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    y, new_state = layer.pure_fn(x, weights, state, KEY)
    outputs, states = layer._forward_abstract(shapes.signature(x))
    for actual, told in ((y, outputs), (new_state, states)):
        got = [(a.shape, onp.dtype(a.dtype)) for a in tree_leaves(actual)]
        assert got == [(tuple(s.shape), onp.dtype(s.dtype)) for s in tree_leaves(told)]
    count = len(y) if isinstance(y, tuple) else 1
    assert count == layer.n_out
    again = layer.weights_and_state_signature(shapes.signature(x))
    assert [tuple(s.shape) for s in tree_leaves(again[0])] == [
        w.shape for w in tree_leaves(weights)
    ]


def purity(case):
    """`pure_fn` changes nothing, and the key alone decides."""
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    held = [(dict(vars(layer)), layer) for layer in [layer, *layer.sublayers]]
    y, s = layer.pure_fn(x, of_floats(lambda w: 2 * w, weights), state, KEY)
    for before, inner in held:
        assert all(vars(inner)[name] is before[name] for name in ("_weights", "_state", "_rng")
                   if name == "_rng" or not inner.sublayers)  # fmt: skip
    close(layer.weights, weights)
    close(layer.state, state)
    z, t = layer.pure_fn(x, of_floats(lambda w: 2 * w, weights), state, KEY)
    close((y, s), (z, t), 0, 0)


def derivative(case):
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    with weft.enable_x64(True):

        def wide(tree):
            return of_floats(lambda leaf: jnp.asarray(onp.asarray(leaf, onp.float64)), tree)

        values, put = floats_of((wide(weights), wide(x)))
        f = loss(layer, wide(state), KEY)
        rng = onp.random.default_rng(1)
        way = [rng.normal(size=v.shape) for v in values]
        gradient = weft.grad(lambda v: f(*put(v)))(values)
        slope = sum(float((g * d).sum()) for g, d in zip(gradient, way, strict=True))
        eps = 1e-6
        ends = [
            float(f(*put([v + sign * eps * d for v, d in zip(values, way, strict=True)])))
            for sign in (1, -1)
        ]
        onp.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * eps), rtol=1e-4, atol=1e-5)
        assert any(onp.abs(g).max() > 0 for g in gradient)


def jit(case):
    x = case.arrays()
    layer, weights, state = initialized(case, x)

    def f(x, weights, state):
        return layer.pure_fn(x, weights, state, KEY)

    close(fastmath.jit(f)(x, weights, state), f(x, weights, state))


def vmap(case):
    """Over two sets of weights: what a loop gives."""
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    both = fastmath.nested_map(lambda w: jnp.stack([w, 2 * w]), weights)

    def f(w):
        return layer.pure_fn(x, w, state, KEY)[0]

    if not leaves(weights):

        def g(x):
            return layer.pure_fn(x, weights, state, KEY)[0]

        mapped = fastmath.vmap(g)(fastmath.nested_map(lambda a: jnp.stack([a, a]), x))
        close(fastmath.nested_map(lambda a: a[1], mapped), g(x))
        return
    mapped = fastmath.vmap(f)(both)
    for i in range(2):
        close(fastmath.nested_map(lambda a, i=i: a[i], mapped),
              f(fastmath.nested_map(lambda a, i=i: a[i], both)))  # fmt: skip


def remat(case):
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    values, put = floats_of((weights, fastmath.nested_map(jnp.asarray, x)))
    f = loss(layer, state, KEY)

    def g(v):
        return f(*put(v))

    close(fastmath.grad(fastmath.remat(g))(values), fastmath.grad(g)(values))


def bfloat16(case):
    """Inputs and weights in bfloat16 give bfloat16 (or float32), near to what float32 gives; so in
    float16, whose greatest number is small."""
    near_to_float32(case, jnp.bfloat16, 0.05)
    near_to_float32(case, jnp.float16, 0.01)


def near_to_float32(case, dtype, tolerance):
    x = fastmath.nested_map(jnp.asarray, case.arrays())
    layer, weights, state = initialized(case, x)

    def half(tree):
        return of_floats(lambda leaf: leaf.astype(dtype), tree)

    def wide(tree):
        return of_floats(lambda leaf: leaf.astype(jnp.float32), tree)

    x, weights = half(x), half(weights)
    y, _ = layer.pure_fn(x, weights, state, KEY)
    z, _ = layer.pure_fn(wide(x), wide(weights), state, KEY)
    gives = case.gives.replace("bfloat16", jnp.dtype(dtype).name)
    assert {str(leaf.dtype) for leaf in tree_leaves(y) if is_float(leaf)} <= {gives}
    close(y, z, tolerance, tolerance)


def backends(case):
    """NumPy computes what weft computes."""
    x = case.arrays()
    layer, weights, state = initialized(case, x)
    y, s = layer.pure_fn(x, weights, state, KEY)
    host = fastmath.nested_map(onp.asarray, (x, weights, state))
    with fastmath.use_backend("numpy"):
        z, t = layer.pure_fn(*host, KEY)
    close((y, s), (z, t))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_law(case, law):
    if law not in case.exempt:
        globals()[law](case)


def test_names_of_rows_are_different():
    names = [case.name for case in CASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_exemptions_name_laws():
    assert {law for case in CASES for law in case.exempt} <= set(LAWS)
