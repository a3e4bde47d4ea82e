"""Public names of lax that are thin over primitives, called by name, against NumPy or SciPy.

Laws test the primitives; a name that was bound to another one would go unnoticed there.
"""

import numpy as np
import pytest
from scipy import special

import weft
from weft import lax


def f32(*xs):
    return np.float32(xs)


X = f32(-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5)
UNIT = f32(-0.9, -0.3, 0.0, 0.2, 0.7)
POSITIVE = f32(0.1, 0.5, 1.0, 2.5, 7.0)
MANY = np.int32([-7, -1, 0, 1, 5, 1023])
OTHERS = np.int32([3, 6, 1, 7, 2, 4])
SHIFTS = np.int32([0, 1, 2, 3, 4, 5])
PAIR = (f32(-3.5, 0.0, 1.0, 2.0, 7.5), f32(2.0, -1.0, 1.0, 2.5, -2.0))
FLAGS = np.array([[True, False, True], [True, True, True]])
IMAGE = np.arange(24, dtype="f").reshape(1, 1, 4, 6) % 7
KERNEL = np.arange(6, dtype="f").reshape(1, 1, 2, 3) - 2


def bits_of(x):
    """Integers as rows of bits, the highest first."""
    return (np.asarray(x)[:, None] >> np.arange(31, -1, -1)) & 1


def correlated(x, w):
    """The sliding products of two images."""
    rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    out = np.zeros((1, 1, rows, columns), "f")
    for i, j in np.ndindex(rows, columns):
        out[0, 0, i, j] = np.sum(x[0, 0, i : i + 2, j : j + 3] * w[0, 0])
    return out


def away_from_zero(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def igamma_slope(a, x):
    """The derivative of the incomplete gamma function by its first argument."""
    step = 1e-4
    a, x = np.float64(a), np.float64(x)
    return (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)


# name: (operands, what it should come to)
UNARY = {
    "abs": (X, np.abs),
    "acos": (UNIT, np.arccos),
    "acosh": (POSITIVE + 1, np.arccosh),
    "asin": (UNIT, np.arcsin),
    "asinh": (X, np.arcsinh),
    "atan": (X, np.arctan),
    "atanh": (UNIT, np.arctanh),
    "bessel_i0e": (X, special.i0e),
    "bessel_i1e": (X, special.i1e),
    "bitwise_not": (MANY, np.invert),
    "cbrt": (X, np.cbrt),
    "ceil": (X, np.ceil),
    "clz": (MANY, lambda x: np.argmax(np.c_[bits_of(x), np.ones(len(x))], 1)),
    "cos": (X, np.cos),
    "cosh": (X, np.cosh),
    "digamma": (POSITIVE, special.digamma),
    "erf": (X, special.erf),
    "erf_inv": (UNIT, special.erfinv),
    "erfc": (X, special.erfc),
    "exp2": (X, np.exp2),
    "expm1": (X, np.expm1),
    "floor": (X, np.floor),
    "imag": (X + 1j * X[::-1], np.imag),
    "is_finite": (f32(0, np.inf, -np.inf, np.nan), np.isfinite),
    "lgamma": (POSITIVE, special.gammaln),
    "log": (POSITIVE, np.log),
    "log1p": (POSITIVE, np.log1p),
    "logistic": (X, special.expit),
    "neg": (X, np.negative),
    "optimization_barrier": (X, np.array),
    "population_count": (MANY, lambda x: bits_of(x).sum(1)),
    "reciprocal": (POSITIVE, np.reciprocal),
    "round": (X, away_from_zero),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "sign": (X, np.sign),
    "sin": (X, np.sin),
    "sinh": (X, np.sinh),
    "sqrt": (POSITIVE, np.sqrt),
    "square": (X, np.square),
    "tan": (X, np.tan),
    "tanh": (X, np.tanh),
    "zeros_like_array": (X, np.zeros_like),
}
BINARY = {
    "bitwise_and": ((MANY, OTHERS), np.bitwise_and),
    "bitwise_or": ((MANY, OTHERS), np.bitwise_or),
    "bitwise_xor": ((MANY, OTHERS), np.bitwise_xor),
    "complex": (PAIR, lambda x, y: x + 1j * y),
    "div": (PAIR, np.divide),
    "eq": (PAIR, np.equal),
    "gt": (PAIR, np.greater),
    "igamma": ((POSITIVE, POSITIVE[::-1]), special.gammainc),
    "igamma_grad_a": ((POSITIVE, POSITIVE[::-1]), igamma_slope),
    "igammac": ((POSITIVE, POSITIVE[::-1]), special.gammaincc),
    "le": (PAIR, np.less_equal),
    "lt": (PAIR, np.less),
    "max": (PAIR, np.maximum),
    "min": (PAIR, np.minimum),
    "ne": (PAIR, np.not_equal),
    "nextafter": (PAIR, np.nextafter),
    "rem": (PAIR, np.fmod),
    "shift_left": ((MANY, SHIFTS), np.left_shift),
    "shift_right_arithmetic": ((MANY, SHIFTS), np.right_shift),
    "shift_right_logical": (
        (MANY, SHIFTS),
        lambda x, n: (x.view("u4") >> n.view("u4")).view("i4"),
    ),
    "sub": (PAIR, np.subtract),
    "tie_in": (PAIR, lambda x, y: y),
    "zeta": ((POSITIVE + 2, POSITIVE[::-1]), special.zeta),
}
# name: (a call, what it should come to)
CALLS = {
    "approx_min_k": (lambda: lax.approx_min_k(PAIR[0], 2), ([-3.5, 0.0], [0, 1])),
    "argmax": (lambda: lax.argmax(FLAGS + X[:3], 1, np.int32), np.argmax(FLAGS + X[:3], 1)),
    "argmin": (lambda: lax.argmin(FLAGS + X[:3], 0, np.int32), np.argmin(FLAGS + X[:3], 0)),
    "bitcast_convert_type": (lambda: lax.bitcast_convert_type(X, np.int32), X.view("i4")),
    "clamp": (lambda: lax.clamp(np.float32(-1), X, np.float32(2)), np.clip(X, -1, 2)),
    "conv_with_general_padding": (
        lambda: lax.conv_with_general_padding(IMAGE, KERNEL, (1, 1), "VALID", None, None),
        correlated(IMAGE, KERNEL),
    ),
    "cummin": (lambda: lax.cummin(PAIR[1], 0), np.minimum.accumulate(PAIR[1])),
    "empty": (lambda: lax.empty((2, 3), np.int32).shape, (2, 3)),
    "reduce_and": (lambda: lax.reduce_and(FLAGS, (1,)), FLAGS.all(1)),
    "reduce_or": (lambda: lax.reduce_or(~FLAGS, (1,)), (~FLAGS).any(1)),
    "reduce_xor": (lambda: lax.reduce_xor(FLAGS, (1,)), np.logical_xor.reduce(FLAGS, 1)),
    "reduce_precision": (
        lambda: lax.reduce_precision(X / 3, 5, 10),
        (X / 3).astype("e").astype("f"),
    ),
    "reduce_window": (
        lambda: lax.reduce_window(X, -np.inf, lax.max, (3,), (2,)),
        np.lib.stride_tricks.sliding_window_view(X, 3)[::2].max(1),
    ),
    "select_n": (lambda: lax.select_n(FLAGS[0], X[:3], X[3:6]), np.where(FLAGS[0], X[3:6], X[:3])),
    "slice": (lambda: lax.slice(IMAGE[0, 0], (1, 0), (4, 5), (2, 3)), IMAGE[0, 0][1:4:2, 0:5:3]),
    "transpose": (lambda: lax.transpose(IMAGE, (3, 0, 2, 1)), np.transpose(IMAGE, (3, 0, 2, 1))),
}


def check(got, expected):
    got = weft.tree_util.tree_map(np.asarray, got)
    weft.tree_util.tree_map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=3e-5, atol=2e-6), got, expected
    )


@pytest.mark.parametrize("name", UNARY)
def test_of_one_operand(name):
    x, oracle = UNARY[name]
    check(getattr(lax, name)(x), oracle(x))


@pytest.mark.parametrize("name", BINARY)
def test_of_two_operands(name):
    operands, oracle = BINARY[name]
    with np.errstate(all="ignore"):
        check(getattr(lax, name)(*operands), oracle(*operands))


@pytest.mark.parametrize("name", CALLS)
def test_of_other_arguments(name):
    call, expected = CALLS[name]
    check(call(), expected)


def test_results_have_the_sign_of_zero():
    assert np.signbit(lax.neg(np.float32(0)))
    assert not np.signbit(lax.abs(np.float32(-0.0)))
    assert np.signbit(lax.ceil(np.float32(-0.5)))
