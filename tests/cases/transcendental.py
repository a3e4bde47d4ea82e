"""Cases of exponentials, logarithms, powers and trigonometry."""

import numpy as np

from cases.case import FLOATS, INEXACT, Case, f32, i32
from weft.primitives import transcendental as p

COMPLEX = ("complex64", "complex128")
X = [f32(3, 4)]
POSITIVE = [f32(3, 4, low=0.2, high=3)]
INSIDE = [f32(3, 4, low=-0.9, high=0.9)]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def unary(f, oracle, args, **options):
    return Case(f, args, oracle=oracle, dtypes=INEXACT, elementwise=True, **options)


CASES = [
    unary(p.exp, np.exp, X),
    unary(p.exp2, np.exp2, X),
    unary(p.expm1, np.expm1, X),
    unary(p.log, np.log, POSITIVE),
    unary(p.log1p, np.log1p, POSITIVE),
    Case(p.log2, POSITIVE, oracle=np.log2, dtypes=FLOATS, elementwise=True),
    Case(p.log10, POSITIVE, oracle=np.log10, dtypes=FLOATS, elementwise=True),
    unary(p.logistic, logistic, X),
    Case(
        p.logistic,
        [np.array([-1e30 - 0.5j, -90 + 2j, 90 - 2j, 1e30 + 1j, -2 + 3j], np.complex64)],
        name="complex numbers far left and right",
        oracle=lambda z: np.array([0, np.exp(z[1]), 1, 1, 1 / (1 + np.exp(-z[4]))], np.complex64),
        atol=1e-38,
        lower_atol=1e-37,
        differentiable=(),
    ),
    Case(p.logaddexp, [f32(3, 4), f32(4)], oracle=np.logaddexp, dtypes=FLOATS, elementwise=True),
    unary(p.tanh, np.tanh, X),
    unary(p.sinh, np.sinh, X),
    unary(p.cosh, np.cosh, X),
    unary(p.asinh, np.arcsinh, X),
    unary(p.acosh, np.arccosh, [f32(3, 4, low=1.2, high=3)]),
    unary(p.atanh, np.arctanh, INSIDE),
    unary(p.sin, np.sin, X),
    unary(p.cos, np.cos, X),
    unary(p.tan, np.tan, INSIDE),
    unary(p.asin, np.arcsin, INSIDE),
    unary(p.acos, np.arccos, INSIDE),
    unary(p.atan, np.arctan, X),
    Case(p.atan2, [f32(3, 4), f32(4)], oracle=np.arctan2, dtypes=FLOATS, elementwise=True),
    Case(
        p.pow_,
        [*POSITIVE, f32(4)],
        oracle=np.power,
        dtypes=INEXACT,
        elementwise=True,
        edges_without=dict.fromkeys(COMPLEX, "errors grow with the exponent"),
    ),
    Case(
        p.pow_,
        [np.zeros(4, np.complex64), np.array([0, 1, 2 + 1j, 0.5 - 3j], np.complex64)],
        name="powers of complex zero",
        oracle=np.power,
        differentiable=(),
    ),
    Case(p.pow_, [f32(3, 4), i32(4, low=-3, high=4)], oracle=np.power, dtypes=INEXACT),
]
