"""Promotion: operands of any kind to values of one dtype.

Knows the lattice of dtypes; knows nothing of operators, nor of plans.
"""

import os
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import _SCALARS as _SCALAR_TYPES, Array, as_value, literal
from ..core.aval import Aval, aval
from ..core.source import HERE, noted
from ..core.trace import current
from ..core.value import Value
from ..errors import TypePromotionError
from ..extended_dtypes import is_extended, no_numbers
from ..lax.operands import uncommitted
from ..primitives.structural import convert_element_type
from ..typing import SupportsShape
from ..user_lines import levels_to_user

SCALARS = frozenset(_SCALAR_TYPES)
_PLAIN = frozenset({*SCALARS, list, tuple, set, dict})


def value(name: str, x: Any, argument: str = "x") -> Any:
    """A value for the argument of a function; an error that names both for what can't be one."""
    if isinstance(x, Value):
        return x
    try:
        return as_value(x)
    except TypeError as error:
        if isinstance(x, (list, tuple)):
            raise noted(
                TypeError(
                    f"{name}: expected an array or a scalar for {argument}; got a "
                    f"{type(x).__name__}\n  fix: {name}(np.array({argument})): lists are never "
                    "made "
                    "into arrays silently, as that is slow"
                )
            ) from None
        if x is None or isinstance(x, (str, dict, set)):
            raise noted(
                TypeError(
                    f"{name}: expected an array or a scalar for {argument}; got "
                    f"{'None' if x is None else f'a {type(x).__name__}'}\n"
                    f"  fix: pass an array or a number for {argument}"
                )
            ) from None
        raise noted(TypeError(f"{name}: {argument}: {error}")) from None


def no_out(name: str, out: Any) -> None:
    """Refuses NumPy's argument `out`: arrays are immutable."""
    if out is not None:
        raise noted(
            NotImplementedError(
                f"{name}: out must be None: arrays are immutable; got a {type(out).__name__}\n"
                f"  fix: use the result: y = {name}(x)"
            )
        )


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """A value in another dtype; itself if it is in it already."""
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if is_extended(aval.dtype) or is_extended(dtype):
        raise noted(no_numbers("astype", aval if is_extended(aval.dtype) else f"dtype {dtype}"))
    return current.trace.bind(
        convert_element_type,
        (x,),
        (("dtype", dtype), ("weak_type", weak_type)),
        aval.update(dtype=dtype, weak_type=weak_type),
    )


def operand_type(x: Any) -> tuple[Any, bool]:
    """(dtype, weak) of an operand."""
    if isinstance(x, Value):
        return x.aval.dtype, x.aval.weak_type
    kind = x.__class__
    if kind is bool:
        return dtypes.bool_, False
    if kind is int:
        return dtypes.default_int(), True
    if kind is float:
        return dtypes.default_float(), True
    return dtypes.default_complex(), True


def fits(x: Any) -> bool:
    """False for a Python integer that the default integer dtype can't hold, so that it is an array
    beside others only."""
    if x.__class__ is not int:
        return True
    info = dtypes.iinfo(dtypes.default_int())
    return int(info.min) <= x <= int(info.max)


def promote_values(
    name: str, *xs: Any, to_inexact: bool = False, to_number: bool = False
) -> list[Any]:
    """Operands as values of one dtype.

    Args:
      to_inexact: integers and booleans become the default float.
      to_number: booleans become the default integer.
    """
    if len(xs) == 2 and isinstance(xs[0], Value) and isinstance(xs[1], Value):
        first = xs[0].aval  # the way of nearly every call while tracing
        if first.dtype is xs[1].aval.dtype and (first.inexact or not (to_inexact or to_number)):
            return [*xs]
    xs = tuple(
        [x if x.__class__ in SCALARS else value(name, x, f"x{i}") for i, x in enumerate(xs, 1)]
    )
    dtype, weak = operand_type(xs[0])
    try:
        for x in xs[1:]:
            dtype, weak = dtypes.promote(dtype, weak, *operand_type(x))
    except TypePromotionError as error:
        raise noted(TypePromotionError(f"{name}: {error}")) from None
    if is_extended(dtype) and (to_inexact or to_number):
        raise noted(no_numbers(name, xs[0].aval))
    if to_inexact and not dtypes.is_inexact(dtype):
        dtype = dtypes.default_float()
    elif to_number and dtype == dtypes.bool_:
        dtype = dtypes.default_int()
    return [to_dtype(x, dtype, weak) for x in xs]


def to_dtype(x: Any, dtype: Any, weak: bool = False) -> Any:
    """An operand as a value of a dtype. Python scalars and weak values stay weak; `weak` makes
    others so that are converted: an int32 array plus 2.5 is a weak float32 one.
    """
    if x.__class__ in SCALARS:
        return literal(x, dtype)
    if x.aval.dtype == dtype:
        return x
    if uncommitted(x) and x.aval.weak_type and not x.aval.ndim and x._host is not None:
        return literal(x._host.item(), dtype)  # a Python scalar that was made a value
    return cast(x, dtype, weak or (x.aval.weak_type and x.aval.dtype != dtypes.bool_))


def strong(x: Any) -> Any:
    """The value without its weak type."""
    aval = x.aval
    if not aval.weak_type:
        return x
    if uncommitted(x):
        # a number's buffer stays with the array that is kept for it
        return Array(x._host, aval.strong(), x._buffer if aval.ndim else None)
    return cast(x, aval.dtype)


def inexact(name: str, x: Any) -> Any:
    """A value of an inexact dtype; integers and booleans become the default float."""
    return promote_values(name, value(name, x), to_inexact=True)[0]


def is_operand(x: Any) -> bool:
    """True if weft's operators handle `x`, be it with an error."""
    return (
        x.__class__ in _PLAIN
        or isinstance(x, Value)
        or (hasattr(x, "__array__") and not _goes_first(x.__class__))
    )


def _goes_first(kind: type) -> bool:
    """True for a class of another library that says its operators go before those of arrays:
    a Series of pandas, or what has `__array_ufunc__ = None`.

    Of equal priorities the other library's counts: it knows what it makes of an array. PyTorch's
    tensors say so too, but their operators take NumPy's arrays only.
    """
    if kind is np.ndarray or issubclass(kind, np.generic):
        return False
    if kind.__module__.partition(".")[0] == "torch":
        return False
    if hasattr(kind, "__pandas_priority__") or getattr(kind, "__array_ufunc__", True) is None:
        return True
    priority = getattr(kind, "__array_priority__", 0)
    return isinstance(priority, (int, float)) and priority >= Value.__array_priority__


def known_aval(name: str, x: Any, argument: str = "a") -> Aval:
    """The aval of an array, a scalar, or anything with a shape and a dtype."""
    if not isinstance(x, (Value, np.ndarray, np.generic)) and isinstance(x, SupportsShape):
        weak = bool(getattr(x, "weak_type", False))
        return aval(tuple(x.shape), dtypes.canonicalize_dtype(x.dtype), weak)
    return value(name, x, argument).aval


def check_ranks(name: str, *xs: Any) -> None:
    """The switch numpy_rank_promotion, for the operands of the function that calls this.

    It is about operands that users write: what weft's own functions and rules combine isn't
    looked at.
    """
    mode = thread.numpy_rank_promotion
    if mode == "allow":
        return
    ranks = {getattr(v, "ndim", 0) for v in xs} - {0}
    if len(ranks) > 1 and called_by_user():
        message = (
            f"{name}: operands of different ranks: "
            f"{', '.join(str(getattr(v, 'aval', v)) for v in xs)} "
            f"(numpy_rank_promotion is {mode!r})\n  fix: add the missing axes with x[None]"
        )
        if mode == "raise":
            raise noted(ValueError(message))
        warnings.warn(message, stacklevel=levels_to_user())


# what stands between a function and who calls it: wrappers, plans, operators
_BETWEEN = (
    os.path.join(HERE, "core", ""),
    *[
        os.path.join(HERE, "numpy", f"{module}.py")
        for module in ("operators", "plans", "ufunc_options")
    ],
)
# where users' functions are called from: what these apply, a user has written
_CALLERS = tuple(
    [
        os.path.join(HERE, folder, "")
        for folder in ("higher_order", "interpreters", "programs", "transforms")
    ]
)


def called_by_user() -> bool:
    """True if the function that asks, one of weft's, wasn't called by another of weft's.

    It looks at who calls: that costs nothing until ranks differ, and needs no mark on rules.
    """
    frame: FrameType | None = sys._getframe(2)
    passed = (frame.f_code.co_filename, *_BETWEEN) if frame is not None else _BETWEEN
    while frame is not None and frame.f_code.co_filename.startswith(passed):
        frame = frame.f_back
    if frame is None:
        return True
    file = frame.f_code.co_filename
    return not file.startswith(HERE) or file.startswith(_CALLERS)
