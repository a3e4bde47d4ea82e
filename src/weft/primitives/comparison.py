"""Comparisons: eq, ne, lt, le, gt, ge; in the total order of floats: eq_to, lt_to, le_to.

They return booleans, and their derivative is zero.
"""

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..extended_dtypes import KEYS
from ..stablehlo import Block, Operand
from .elementwise import comparison, nary, zero
from .prng_keys import halves_of
from .rule_types import Host, Kernel

eq = comparison("eq", "x == y.", evaluate=np.equal, direction="EQ")
ne = comparison("ne", "x != y.", evaluate=np.not_equal, direction="NE")
lt = comparison("lt", "x < y.", evaluate=np.less, direction="LT", accepts="real or bool")
le = comparison("le", "x <= y.", evaluate=np.less_equal, direction="LE", accepts="real or bool")
gt = comparison("gt", "x > y.", evaluate=np.greater, direction="GT", accepts="real or bool")
ge = comparison("ge", "x >= y.", evaluate=np.greater_equal, direction="GE", accepts="real or bool")


def _of_keys(primitive: Primitive, compare: Kernel, join: Kernel, direction: str) -> None:
    """Lets a comparison accept keys, and compares all their bits."""
    of_numbers = primitive.lower_rule
    assert of_numbers is not None

    def evaluate(x: Host, y: Host) -> Host:
        return join(compare(_numbers(x), _numbers(y)), -1)

    def lower(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        if x.aval.dtype not in KEYS:
            return of_numbers(block, x, y, out)
        halves = [halves_of(block, block.widen(k, out.shape)) for k in (x, y)]
        parts = [block.compare(direction, a, b, out) for a, b in zip(*halves, strict=True)]
        if len(parts) == 1:
            return parts[0]
        return block.elementwise("and" if direction == "EQ" else "or", parts, out)

    primitive.takes_keys = True
    primitive.lower_rule = lower
    for dtype in KEYS:
        primitive.evaluate_in[dtype] = evaluate


def _numbers(keys: Host) -> Host:
    return (
        np.ascontiguousarray(keys)
        .reshape(-1)
        .view(np.uint64)
        .reshape((*keys.shape, keys.dtype.itemsize // 8))
    )


_of_keys(eq, np.equal, np.all, "EQ")
_of_keys(ne, np.not_equal, np.any, "NE")


def ordinal(x: Host) -> Host:
    """Integers in the total order of floats: -NaN < -inf < … < -0 < 0 < … < inf < NaN.

    Some float8 types have a single NaN, in place of -0. It comes below all other values.
    """
    if not dtypes.is_float(x.dtype):
        return x
    if x.dtype.name.endswith(("fnuz", "e2m1fn", "fnu")):
        x_float32 = x.astype(np.float32)
        x = (
            np.where(np.isnan(x_float32), np.float32(-np.inf), x_float32)
            if x.dtype.name[-1] == "z"
            else x_float32
        )
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).max ^ bits, bits)


def _total(name: str, doc: str, compare: Kernel, direction: str) -> Primitive:
    def lower(block: Block, x: Operand, y: Operand, out: Aval) -> Operand:
        return block.compare(direction, x, y, out, total=True)

    def evaluate(x: Host, y: Host) -> Host:
        return compare(ordinal(x), ordinal(y))

    return nary(
        name, doc, evaluate=evaluate, stablehlo=lower, jvp=(zero, zero), accepts="real or bool",
        out_dtype=lambda _: dtypes.bool_,
        evaluate_in=dict.fromkeys(dtypes.SMALL_FLOATS, evaluate),
    )  # fmt: skip


eq_to = _total("eq_to", "x == y in the total order of floats.", np.equal, "EQ")
lt_to = _total("lt_to", "x < y in the total order of floats.", np.less, "LT")
le_to = _total("le_to", "x <= y in the total order of floats.", np.less_equal, "LE")
