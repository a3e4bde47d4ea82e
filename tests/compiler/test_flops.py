"""Counts of floating-point operations, worked out by hand."""

import pytest

import weft
import weft.numpy as jnp
from weft import fastmath, lax
from weft.compiler.flops import flops

X, W = jnp.ones((4, 3)), jnp.ones((3, 5))
IMAGES, KERNEL = jnp.ones((2, 6, 6, 3)), jnp.ones((3, 3, 3, 4))

# function, arguments, count
COUNTS = {
    "product": (lambda x, w: x @ w, (X, W), 2 * 4 * 3 * 5),
    "elementwise": (lambda x: jnp.exp(x) * 2 + 1, (X,), 3 * 12),
    "sum": (lambda x: jnp.sum(x), (X,), 12),
    "maximum": (lambda x: jnp.max(x, axis=0), (X,), 12),
    "moves": (lambda x: jnp.concatenate([x.T.reshape(4, 3), x])[::2], (X,), 0),
    "integers": (lambda x: x * 2 + 1, (jnp.arange(5),), 0),
    "convolution": (
        lambda x, k: fastmath.conv(x, k, (1, 1), "VALID", ("NHWC", "HWIO", "NHWC")),
        (IMAGES, KERNEL), 2 * (2 * 4 * 4 * 4) * 27),
    "pool": (lambda x: fastmath.max_pool(x, (2, 2), (2, 2), "VALID"), (IMAGES,), 2 * 9 * 3 * 4),
    "scan": (
        lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1], (X,), 4 * 6),
    "while": (lambda x: lax.while_loop(lambda c: c[0] < 3.0, lambda c: c * 2, x), (X[0],), 4),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda x: x * x * x, lambda x: x + 1, x), (X[0],), 7),
    "jit": (lambda x: weft.jit(lambda x: x + 1)(x), (X,), 12),
    "linear solve": (
        lambda a, b: lax.custom_linear_solve(
            lambda x: a @ x, b, lambda matvec, b: b / matvec(b), lambda matvec, b: b * 3),
        (X[:3], X[0]), 2 * 3 * 3 + 3),
    "reduction by a function": (
        lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + a, (0,)), (X,), 2 * 12),
    "windows by a function": (
        lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b * b, (2, 1), (1, 1), "VALID"),
        (X,), 2 * 2 * (3 * 3)),
    "checkpoint": (lambda x: fastmath.remat(lambda x: x + 1)(x), (X,), 12),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTS)
def test_counts(case):
    f, args, expected = COUNTS[case]
    assert flops(weft.make_jaxpr(f)(*args)) == expected
