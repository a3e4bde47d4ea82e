"""Comparisons with a Python integer that the other operand's dtype can't hold: they are exact.

`np.uint8(3) > -1` is true, as in NumPy, and so is what compares: searches, sets. Arithmetic with
such an integer is an error, as there.
"""

import operator
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.aval import aval
from ..primitives import structural
from .promotion import SCALARS, value

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def compared(name: str, x: Any, y: Any) -> Any:
    """The comparison of two operands, one of them an integer beyond the dtype of the other, which
    is the same for all elements; `None` if the operands are others."""
    compare = _COMPARISONS[name]
    if x.__class__ is y.__class__ is int:
        return structural.full(aval((), dtypes.bool_), compare(x, y))
    if x.__class__ is not int and y.__class__ is not int:
        return None
    array = value(name, x if y.__class__ is int else y)
    if not (dtypes.is_integer(array.aval.dtype) or dtypes.is_bool(array.aval.dtype)):
        return None
    # any element stands for all: 0 lies on the same side of the integer
    result = compare(0, y) if y.__class__ is int else compare(x, 0)
    return structural.full(aval(array.aval.shape, dtypes.bool_), result)


def is_beyond(number: Any, other: Any) -> bool:
    """True for a Python integer that the dtype of an array of integers or booleans can't hold, or
    for booleans the default integer dtype. Such an integer is equal to no element."""
    if number.__class__ is not int or other.__class__ in SCALARS:
        return False
    dtype = value("is_beyond", other).aval.dtype
    if dtypes.is_bool(dtype):
        dtype = dtypes.default_int()
    if not dtypes.is_integer(dtype):
        return False
    limits = dtypes.iinfo(dtype)
    return not int(limits.min) <= number <= int(limits.max)
