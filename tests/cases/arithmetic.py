"""Cases of arithmetic."""

import numpy as np

from cases.case import FLOATS, INEXACT, NUMBERS, REAL, Case, f32, i32
from weft.primitives import arithmetic as p, structural
from weft.primitives.arithmetic import RoundingMethod

PAIR = [f32(3, 4), f32(4)]
POSITIVE = f32(3, 4, low=0.2, high=3)
ZEROS = {"signed zero": "of 0 and -0 NumPy gives the second one, XLA the larger or smaller one"}
AWAY, EVEN = RoundingMethod.AWAY_FROM_ZERO, RoundingMethod.TO_NEAREST_EVEN


def away(x, rounding_method):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def reciprocal_root(x):
    return 1 / np.sqrt(x)


def whole_power(x, y):
    return x ** np.asarray(y, x.dtype)


def truncated(x, y):
    if x.dtype.kind == "f":
        return x / y
    return np.trunc(x.astype(np.float64) / y).astype(x.dtype)


CASES = [
    Case(structural.add, PAIR, oracle=np.add, dtypes=NUMBERS, elementwise=True),
    Case(structural.add, [f32(2, 1, 3), f32(4, 1)], oracle=np.add),
    Case(p.neg, [f32(3, 4)], oracle=np.negative, dtypes=NUMBERS, elementwise=True),
    Case(p.sub, PAIR, oracle=np.subtract, dtypes=NUMBERS, elementwise=True),
    Case(p.mul, PAIR, oracle=np.multiply, dtypes=(*NUMBERS, "bool"), elementwise=True),
    Case(
        p.div,
        [f32(3, 4), f32(4, low=1, high=3)],
        oracle=np.divide,
        dtypes=INEXACT,
        elementwise=True,
    ),
    Case(
        p.div,
        [i32(3, 4, low=-50, high=50), i32(4, low=1, high=5)],
        oracle=truncated,
        dtypes=("int8", "uint8", "int16", "uint32"),
    ),
    Case(
        p.rem, [f32(3, 4), f32(4, low=0.5, high=1)], oracle=np.fmod, dtypes=FLOATS, elementwise=True
    ),
    Case(
        p.rem,
        [i32(3, 4, low=-50, high=50), i32(4, low=1, high=5)],
        oracle=np.fmod,
        dtypes=("int8", "uint8", "int16", "uint32"),
    ),
    Case(p.sign, [f32(3, 4)], oracle=np.sign, dtypes=REAL, elementwise=True),
    Case(p.abs_, [f32(3, 4)], oracle=np.abs, dtypes=NUMBERS, elementwise=True),
    Case(p.floor, [f32(3, 4)], oracle=np.floor, dtypes=FLOATS, elementwise=True),
    Case(p.ceil, [f32(3, 4)], oracle=np.ceil, dtypes=FLOATS, elementwise=True),
    Case(
        p.round_,
        [f32(3, 4, low=-9, high=9)],
        {"rounding_method": AWAY},
        oracle=away,
        dtypes=FLOATS,
        elementwise=True,
    ),
    Case(
        p.round_,
        [np.arange(-4, 4).astype(np.float32) + np.float32(0.5)],
        {"rounding_method": AWAY},
        oracle=away,
        differentiable=(),
    ),
    Case(
        p.round_,
        [f32(3, 4, low=-9, high=9)],
        {"rounding_method": EVEN},
        oracle=lambda x, rounding_method: np.round(x),
        dtypes=FLOATS,
        elementwise=True,
    ),
    Case(p.is_finite, [np.array([1, np.inf, np.nan], np.float32)], oracle=np.isfinite),
    Case(p.is_finite, [f32(3)], oracle=np.isfinite, dtypes=FLOATS, elementwise=True),
    Case(p.nextafter, PAIR, dtypes=FLOATS, elementwise=True),
    Case(
        p.max_,
        PAIR,
        oracle=np.maximum,
        dtypes=("bool", *NUMBERS),
        elementwise=True,
        edges_without=ZEROS,
    ),
    Case(
        p.min_,
        PAIR,
        oracle=np.minimum,
        dtypes=("bool", *NUMBERS),
        elementwise=True,
        edges_without=ZEROS,
    ),
    Case(p.square, [f32(3, 4)], oracle=np.square, dtypes=NUMBERS, elementwise=True),
    Case(p.sqrt, [POSITIVE], oracle=np.sqrt, dtypes=INEXACT, elementwise=True),
    Case(p.rsqrt, [POSITIVE], oracle=reciprocal_root, dtypes=INEXACT, elementwise=True),
    Case(p.cbrt, [f32(3, 4)], oracle=np.cbrt, dtypes=FLOATS, elementwise=True),
    *(
        Case(
            p.integer_pow,
            [f32(3, 4)],
            {"y": y},
            oracle=whole_power,
            dtypes=NUMBERS if y >= 0 else INEXACT,
            rtol={"float16": 4e-3, "bfloat16": 3e-2},
            elementwise=True,
        )
        for y in (0, 1, 2, 3, 7)
    ),
    *(
        Case(
            p.integer_pow,
            [POSITIVE],
            {"y": y},
            oracle=whole_power,
            dtypes=INEXACT,
            elementwise=True,
        )
        for y in (-1, -2, -3)
    ),
]
