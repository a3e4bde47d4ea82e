"""Cases of exponentials, logarithms, powers and trigonometry."""

import numpy as np

from cases.case import FLOATS, INEXACT, Case, f32, i32
from weft.primitives import exponential, trigonometric

COMPLEX = ("complex64", "complex128")
X = [f32(3, 4)]
POSITIVE = [f32(3, 4, low=0.2, high=3)]
INSIDE = [f32(3, 4, low=-0.9, high=0.9)]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def unary(f, oracle, args, **options):
    return Case(f, args, oracle=oracle, dtypes=INEXACT, elementwise=True, **options)


CASES = [
    unary(exponential.exp, np.exp, X),
    unary(exponential.exp2, np.exp2, X),
    unary(exponential.expm1, np.expm1, X),
    unary(exponential.log, np.log, POSITIVE),
    unary(exponential.log1p, np.log1p, POSITIVE),
    Case(exponential.log2, POSITIVE, oracle=np.log2, dtypes=FLOATS, elementwise=True),
    Case(exponential.log10, POSITIVE, oracle=np.log10, dtypes=FLOATS, elementwise=True),
    unary(exponential.logistic, logistic, X),
    Case(
        exponential.logistic,
        [np.array([-1e30 - 0.5j, -90 + 2j, 90 - 2j, 1e30 + 1j, -2 + 3j], np.complex64)],
        name="complex numbers far left and right",
        oracle=lambda z: np.array([0, np.exp(z[1]), 1, 1, 1 / (1 + np.exp(-z[4]))], np.complex64),
        atol=1e-38,
        lower_atol=1e-37,
        differentiable=(),
    ),
    Case(
        exponential.logaddexp,
        [f32(3, 4), f32(4)],
        oracle=np.logaddexp,
        dtypes=FLOATS,
        elementwise=True,
    ),
    unary(trigonometric.tanh, np.tanh, X),
    unary(trigonometric.sinh, np.sinh, X),
    unary(trigonometric.cosh, np.cosh, X),
    unary(trigonometric.asinh, np.arcsinh, X),
    unary(trigonometric.acosh, np.arccosh, [f32(3, 4, low=1.2, high=3)]),
    unary(trigonometric.atanh, np.arctanh, INSIDE),
    unary(trigonometric.sin, np.sin, X),
    unary(trigonometric.cos, np.cos, X),
    unary(trigonometric.tan, np.tan, INSIDE),
    unary(trigonometric.asin, np.arcsin, INSIDE),
    unary(trigonometric.acos, np.arccos, INSIDE),
    unary(trigonometric.atan, np.arctan, X),
    Case(
        trigonometric.atan2, [f32(3, 4), f32(4)], oracle=np.arctan2, dtypes=FLOATS, elementwise=True
    ),
    Case(
        exponential.pow_,
        [*POSITIVE, f32(4)],
        oracle=np.power,
        dtypes=INEXACT,
        elementwise=True,
        edges_without=dict.fromkeys(COMPLEX, "errors grow with the exponent"),
    ),
    Case(
        exponential.pow_,
        [np.zeros(4, np.complex64), np.array([0, 1, 2 + 1j, 0.5 - 3j], np.complex64)],
        name="powers of complex zero",
        oracle=np.power,
        differentiable=(),
    ),
    Case(exponential.pow_, [f32(3, 4), i32(4, low=-3, high=4)], oracle=np.power, dtypes=INEXACT),
]
