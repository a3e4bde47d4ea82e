"""Transformations nested in one another, in all pairs and a sample of triples.

Some leave a function's values as they are (jit, vmap over copies, a scan of one step …); others are
derivatives, in a fixed direction. The result of a nest must be that of its derivatives alone,
taken one after the other in forward mode; which must agree with finite differences.

`WEFT_TEST_MORE=1` runs every function on every pair and all triples.
"""

import itertools
import os
import random

import numpy as np
import pytest

import weft
from weft import lax
from weft.primitives.selection import select_n
from weft.primitives.structural import broadcast_in_dim, reduce_sum, reshape, transpose
from weft.primitives.transcendental import cos, exp, sin, tanh

MORE = bool(os.environ.get("WEFT_TEST_MORE"))

A = np.array([[0.2, -0.4, 0.1], [0.3, 0.5, -0.2], [-0.6, 0.1, 0.7]])
POINT = np.array([0.3, -0.7, 1.1])
DIRECTION = np.array([1.0, -2.0, 0.5])
WEIGHTS = np.array([0.4, 1.5, -1.0])


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


def matvec(x):
    return reduce_sum(A * x, axes=(1,))


def clipped(x):
    return select_n(x > 0.0, x * 0.1, x * x)


def outer(x):
    table = broadcast_in_dim(x, shape=(3, 3), dims=(0,))
    return reduce_sum(table * transpose(table, permutation=(1, 0)) * A, axes=(1,))


def folded(x):
    wide = reshape(tanh(reshape(x, shape=(3, 1)) * np.ones((1, 2))), shape=(6,))
    return reduce_sum(reshape(wide, shape=(3, 2)), axes=(1,))


FUNCTIONS = {
    "product": lambda x: sin(x) * x,
    "layer": lambda x: tanh(matvec(x) + 0.1),
    "logistic": lambda x: 1.0 / (1.0 + exp(-x)),
    "coupled": lambda x: x * total(cos(x)),
    "clipped": clipped,
    "outer": outer,
    "folded": folded,
    "linear": lambda x: matvec(x) * 2.0,
    "identity": lambda x: x,
    "constant": lambda x: weft.device_put(np.array([1.0, 2.0, 3.0])),
}


# --- what leaves values as they are ---


def through_vmap(f):
    def g(x):
        two = broadcast_in_dim(x, shape=(2, 3), dims=(1,)) * np.array([[1.0], [0.5]])
        return total_of_first(weft.vmap(f)(two))

    return g


def through_vmap_of_columns(f):
    def g(x):
        two = broadcast_in_dim(x, shape=(3, 2), dims=(0,)) * np.array([[1.0, 0.5]])
        return total_of_first(transpose(weft.vmap(f, 1, 1)(two), permutation=(1, 0)))

    return g


def total_of_first(rows):
    return reduce_sum(rows * np.array([[1.0], [0.0]]), axes=(0,))


def through_custom_jvp(f):
    g = weft.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: weft.jvp(f, primals, tangents))
    return g


def through_custom_vjp(f):
    g = weft.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: weft.vjp(f, x)[1](ct))
    return g


def through_scan_carry(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]


def through_scan_slices(f):
    def g(x):
        return reshape(
            lax.scan(lambda c, s: (c, f(s)), 0.0, reshape(x, shape=(1, 3)))[1], shape=(3,)
        )

    return g


def through_cond(f):
    return lambda x: lax.cond(total(x) > -100.0, f, lambda x: -x, x)


def through_while(f):
    def g(x):
        return lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]

    return g


def through_jit_of_two(f):
    """An output that isn't wanted beside the one that is."""
    g = weft.jit(lambda x: (f(x), total(f(x))))
    return lambda x: g(x)[0]


SAME = {
    "jit": weft.jit,
    "jit2": through_jit_of_two,
    "vmap": through_vmap,
    "vmap1": through_vmap_of_columns,
    "checkpoint": weft.checkpoint,
    "custom_jvp": through_custom_jvp,
    "custom_vjp": through_custom_vjp,
    "scan": through_scan_carry,
    "scan_xs": through_scan_slices,
    "cond": through_cond,
    "while": through_while,
}

# --- derivatives ---

FORWARD = {
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (DIRECTION,))[1],
    "linearize": lambda f: lambda x: weft.linearize(f, x)[1](DIRECTION),
}
REVERSE = {
    "grad": lambda f: lambda x: weft.grad(lambda x: total(f(x) * WEIGHTS))(x),
    "vjp": lambda f: lambda x: weft.vjp(f, x)[1](WEIGHTS)[0],
}
ALL = {**SAME, **FORWARD, **REVERSE}


def plain(name, f):
    """The derivative by forward mode alone, without anything else around it."""
    if name in FORWARD:
        return lambda x: weft.jvp(f, (x,), (DIRECTION,))[1]

    def g(x):
        columns = [weft.jvp(f, (x,), (row,))[1] for row in np.eye(3)]
        parts = [
            broadcast_in_dim(total(c * WEIGHTS), shape=(3,), dims=()) * row
            for c, row in zip(columns, np.eye(3), strict=True)
        ]
        return parts[0] + parts[1] + parts[2]

    return g


def allowed(nest):
    """Whether the derivatives asked for exist: outermost first."""
    for i, name in enumerate(nest):
        around = [n for n in nest[:i] if n in FORWARD or n in REVERSE or n == "custom_jvp"]
        around = around[next((k for k, n in enumerate(around) if n != "custom_jvp"), 9) :]
        if name == "while" and any(n in REVERSE for n in around):
            return False
        # the rule of custom_jvp pushes tangents through what is inside it
        if name == "custom_vjp" and around and around[-1] not in REVERSE:
            return False
    return True


def check(nest, function_name):
    nested = plain_f = FUNCTIONS[function_name]
    for name in reversed(nest):
        nested = ALL[name](nested)
        if name not in SAME:
            plain_f = plain(name, plain_f)
    with weft.enable_x64():
        got, expected = nested(POINT), plain_f(POINT)
        assert got.dtype == np.float64
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-9, atol=1e-11)


PAIRS = [p for p in itertools.product(ALL, repeat=2) if allowed(p)]
TRIPLES = [t for t in itertools.product(ALL, repeat=3) if allowed(t)]
NAMES = list(FUNCTIONS)


def cases():
    for i, nest in enumerate(PAIRS):
        for name in NAMES if MORE else (NAMES[i % len(NAMES)],):
            yield nest, name
    sample = TRIPLES if MORE else random.Random(0).sample(TRIPLES, 150)
    for i, nest in enumerate(sample):
        yield nest, NAMES[i % len(NAMES)]


@pytest.mark.parametrize(
    ("nest", "function"), [pytest.param(n, f, id="-".join(n) + "-" + f) for n, f in cases()]
)
def test_nest(nest, function):
    check(nest, function)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("function", NAMES)
def test_each_alone(name, function):
    if allowed((name,)):
        check((name,), function)


@pytest.mark.parametrize("function", NAMES)
@pytest.mark.parametrize("names", [("jvp",), ("grad",), ("jvp", "grad"), ("grad", "jvp", "jvp")])
def test_the_reference_agrees_with_finite_differences(names, function):
    f = FUNCTIONS[function]
    for name in reversed(names[1:]):
        f = plain(name, f)
    with weft.enable_x64():
        e = 1e-6
        rows = [
            (np.asarray(f(POINT + e * v)) - np.asarray(f(POINT - e * v))) / (2 * e)
            for v in np.eye(3)
        ]
        jacobian = np.stack(rows, 1)
        expected = jacobian @ DIRECTION if names[0] in FORWARD else jacobian.T @ WEIGHTS
        got = np.asarray(plain(names[0], f)(POINT))
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("nest", [n for n in itertools.product(ALL, repeat=2) if not allowed(n)])
def test_derivatives_that_do_not_exist_are_refused(nest):
    nested = FUNCTIONS["product"]
    for name in reversed(nest):
        nested = ALL[name](nested)
    with weft.enable_x64(), pytest.raises(TypeError, match="mode"):
        nested(POINT)


def test_many_levels():
    f = FUNCTIONS["product"]
    for name in ("jit", "vmap", "checkpoint", "scan", "custom_jvp", "cond", "jit", "vmap1"):
        f = ALL[name](f)
    with weft.enable_x64():
        for name in ("grad", "jvp"):
            expected = plain(name, FUNCTIONS["product"])(POINT)
            np.testing.assert_allclose(
                np.asarray(weft.jit(ALL[name](f))(POINT)), np.asarray(expected), rtol=1e-9
            )
