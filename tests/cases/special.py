"""Cases of special functions. `special_values.json` holds SciPy 1.17's values."""

import json
import math
import pathlib

import numpy as np
import scipy.special

from cases.case import FLOATS, Case, f32
from weft.primitives import (
    bessel_functions,
    error_functions,
    gamma_functions,
    incomplete_gamma_beta,
)

TABLE = json.loads((pathlib.Path(__file__).parent / "special_values.json").read_text())
RTOL = {"float64": 2e-12, "float32": 1e-5}
ANY, POSITIVE, INSIDE = f32(3, 4), f32(3, 4, low=0.3, high=4), f32(3, 4, low=-0.9, high=0.9)
UNIT = f32(3, 4, low=0.05, high=0.95)
NEGATIVE = f32(7, low=-3.9, high=-0.1)


def tabulated(p):
    """The primitive on the table's arguments, in float64."""
    row = TABLE[p.name]
    args = [np.array(a) for a in row["args"]]
    expected = np.array(row["out"])
    return Case(
        p, args, name=f"{p.name}(table)", oracle=lambda *_: expected, rtol=RTOL, atol=1e-300,
        ulp=20000, differentiable=(), without={"batch": "done with smaller arguments"},
    )  # fmt: skip


def elementwise(f):
    return np.vectorize(f, otypes=[np.float64])


def exact_integer_gamma(a, x):
    """P(a, x) for whole a."""
    return 1 - np.exp(-x) * sum(x**k / math.factorial(k) for k in range(int(a.flat[0])))


def scipy_trigamma(x):
    return scipy.special.polygamma(1, x)


UNARY = [
    (error_functions.erf, ANY, {"oracle": elementwise(math.erf), "ulp": 8}),
    (error_functions.erfc, ANY, {"oracle": elementwise(math.erfc), "ulp": 64}),
    (error_functions.erf_inv, INSIDE, {"ulp": 16}),
    (
        gamma_functions.lgamma,
        POSITIVE,
        {"oracle": elementwise(math.lgamma), "ulp": 16, "lower_atol": 1e-6},
    ),
    (gamma_functions.digamma, POSITIVE, {"ulp": 16, "lower_atol": 1e-6}),
    (gamma_functions.digamma, NEGATIVE, {"ulp": 16, "lower_atol": 1e-4}),
    (gamma_functions.trigamma, POSITIVE, {"oracle": elementwise(scipy_trigamma), "ulp": 8}),
    (gamma_functions.trigamma, NEGATIVE, {"oracle": elementwise(scipy_trigamma), "ulp": 16}),
    (bessel_functions.bessel_i0e, ANY, {"ulp": 16}),
    (bessel_functions.bessel_i1e, ANY, {"ulp": 16}),
]
# all smaller floats are computed in float32, as bfloat16 is
ENOUGH = dict.fromkeys(
    (
        "float16",
        "float8_e4m3fn",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    ),
    "computed in float32, as bfloat16 is",
)
TABULATED = (
    error_functions.erf, error_functions.erfc, error_functions.erf_inv, gamma_functions.lgamma,
    gamma_functions.digamma, bessel_functions.bessel_i0e, bessel_functions.bessel_i1e,
    gamma_functions.zeta, gamma_functions.polygamma, incomplete_gamma_beta.igamma,
    incomplete_gamma_beta.igammac, incomplete_gamma_beta.regularized_incomplete_beta,
)  # fmt: skip

CASES = [
    *(Case(p, [x], dtypes=FLOATS, elementwise=x is not NEGATIVE, **more) for p, x, more in UNARY),
    Case(
        gamma_functions.zeta,
        [f32(3, 4, low=1.5, high=6), POSITIVE],
        differentiable=(1,),
        dtypes=FLOATS,
        ulp=32,
        elementwise=True,
        edges_within=31,
        edges_without=ENOUGH,
    ),
    Case(
        gamma_functions.polygamma,
        [np.array([[0], [1], [2]], np.float32), POSITIVE],
        differentiable=(1,),
        ulp=32,
        name="polygamma",
    ),
    Case(
        incomplete_gamma_beta.igamma,
        [POSITIVE, POSITIVE],
        dtypes=("bfloat16",),
        ulp=64,
        elementwise=True,
        lower_atol=1e-6,
        without={"second_order": "the second derivative in a is not implemented"},
        edges_within=250,
        edges_without=ENOUGH,
    ),
    Case(
        incomplete_gamma_beta.igammac,
        [POSITIVE, POSITIVE],
        dtypes=("bfloat16",),
        ulp=64,
        elementwise=True,
        lower_atol=1e-6,
        without={"second_order": "the second derivative in a is not implemented"},
        edges_within=250,
        edges_without=ENOUGH,
    ),
    Case(
        incomplete_gamma_beta.igamma,
        [np.full(6, 3, np.float32), np.array([0.1, 0.5, 1, 2, 5, 20], np.float32)],
        name="igamma(3, x)",
        oracle=exact_integer_gamma,
        ulp=32,
        rtol=1e-6,
        differentiable=(1,),
    ),
    Case(
        incomplete_gamma_beta.igamma_grad_a,
        [POSITIVE, POSITIVE],
        dtypes=("bfloat16",),
        ulp=256,
        lower_atol=1e-6,
        differentiable=(1,),
    ),
    Case(
        incomplete_gamma_beta.random_gamma_grad,
        [POSITIVE, POSITIVE],
        dtypes=("bfloat16",),
        ulp=256,
        differentiable=(),
    ),
    Case(
        incomplete_gamma_beta.regularized_incomplete_beta,
        [POSITIVE, POSITIVE, UNIT],
        dtypes=("bfloat16",),
        ulp=64,
        differentiable=(2,),
        lower_atol=1e-6,
    ),
    *(
        Case(
            f,
            [np.zeros(4, np.float32), np.array([0, 1e-3, 0.5, np.inf], np.float32)],
            name=f"{f.name}(0, x)",
            oracle=lambda a, x, out=out: np.where(x == 0, np.nan, out),
            differentiable=(),
        )
        for f, out in [(incomplete_gamma_beta.igamma, 1), (incomplete_gamma_beta.igammac, 0)]
    ),
    Case(
        gamma_functions.digamma,
        [np.array([0.0, -0.0, 1.0], np.float32)],
        name="digamma at its pole",
        oracle=lambda x: np.array([-np.inf, np.inf, -np.euler_gamma]),
        rtol=1e-6,
        differentiable=(),
    ),
    Case(
        gamma_functions.trigamma,
        [np.array([0.0, -0.0, -1.0, -3.0, 1e-30, -np.inf, np.inf, np.nan, 1e30], np.float32)],
        name="trigamma at its poles and far away",
        oracle=lambda x: np.array([*[np.inf] * 6, 0.0, np.nan, 1e-30]),
        differentiable=(),
    ),
    *map(tabulated, TABULATED),
]
