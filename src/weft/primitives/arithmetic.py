"""Elementwise arithmetic. Knows its own derivatives; knows nothing of interpretations."""

from typing import Any

import numpy as np

from ..core.primitive import Primitive
from .families import nary, unary

_FAST = 2_000_000  # elements up to which NumPy is faster than XLA, transfers included

neg: Primitive = unary(
    "neg",
    "Minus x.",
    evaluate=np.negative,
    stablehlo="negate",
    jvp=lambda dx, out, x: neg(dx),
    linear=True,
    accepts="number",
    host_limit=_FAST,
)

sub: Primitive = nary(
    "sub",
    "Difference of two arrays.",
    evaluate=np.subtract,
    stablehlo="subtract",
    jvp=(lambda dx, out, x, y: dx, lambda dy, out, x, y: neg(dy)),
    transpose=(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
    accepts="number",
    host_limit=_FAST,
)

mul: Primitive = nary(
    "mul",
    "Product of two arrays.",
    evaluate=np.multiply,
    stablehlo="multiply",
    jvp=(lambda dx, out, x, y: mul(dx, y), lambda dy, out, x, y: mul(dy, x)),
    transpose=(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(ct, x)),
    host_limit=_FAST,
)


def _divide(x: Any, y: Any) -> Any:
    return np.divide(x, y, dtype=x.dtype)


div: Primitive = nary(
    "div",
    "Quotient of two arrays.",
    evaluate=np.divide,
    stablehlo="divide",
    jvp=(lambda dx, out, x, y: div(dx, y), lambda dy, out, x, y: neg(mul(div(dy, y), out))),
    transpose=(lambda ct, x, y: div(ct, y), None),
    accepts="number",
    host_limit=_FAST,
)
