"""Type promotion: operands of any kind become values of one dtype, by the lattice of `dtypes`."""

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
from ..core.trace import current
from ..core.value import Value
from ..errors import TypePromotionError
from ..extended_dtypes import is_extended, no_numbers
from ..lax.operands import uncommitted
from ..primitives.structural import convert_element_type
from ..typing import SupportsShape
from ..user_lines import HERE, levels_to_user, noted

SCALARS = frozenset(_SCALAR_TYPES)
_PYTHON_TYPES = frozenset({*SCALARS, list, tuple, set, dict})


def value(name: str, x: Any, argument: str = "x") -> Any:
    """The value of a function's argument. The error for other objects names both."""
    return x if isinstance(x, Value) else as_value(x, name, argument)


def no_out(name: str, out: Any) -> None:
    """Raises an error for NumPy's argument `out`, because arrays are immutable."""
    if out is not None:
        raise noted(
            NotImplementedError(
                f"{name}: out must be None: arrays are immutable; got a {type(out).__name__}\n"
                f"  fix: use the result: y = {name}(x)"
            )
        )


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """Converts a value to a dtype; returns it unchanged if it has that dtype."""
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
    """False for a Python integer that the default integer dtype cannot represent."""
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
        first_aval = xs[0].aval  # nearly every call during tracing
        if first_aval.dtype is xs[1].aval.dtype and (
            first_aval.inexact or not (to_inexact or to_number)
        ):
            return [*xs]
    xs = tuple(
        [x if x.__class__ in SCALARS else value(name, x, f"x{i}") for i, x in enumerate(xs, 1)]
    )
    dtype, weak_type = operand_type(xs[0])
    try:
        for x in xs[1:]:
            dtype, weak_type = dtypes.promote(dtype, weak_type, *operand_type(x))
    except TypePromotionError as error:
        raise noted(TypePromotionError(f"{name}: {error}")) from None
    if is_extended(dtype) and (to_inexact or to_number):
        raise noted(no_numbers(name, xs[0].aval))
    if to_inexact and not dtypes.is_inexact(dtype):
        dtype = dtypes.default_float()
    elif to_number and dtype == dtypes.bool_:
        dtype = dtypes.default_int()
    return [to_dtype(x, dtype, weak_type) for x in xs]


def to_dtype(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """An operand as a value of a dtype. Python scalars and weak values stay weak.

    Args:
      weak_type: whether other converted values become weak too, like an int32 array plus 2.5.
    """
    if x.__class__ in SCALARS:
        return literal(x, dtype)
    if x.aval.dtype == dtype:
        return x
    if uncommitted(x) and x.aval.weak_type and not x.aval.ndim and x._host is not None:
        return literal(x._host.item(), dtype)  # made from a Python scalar
    return cast(x, dtype, weak_type or (x.aval.weak_type and x.aval.dtype != dtypes.bool_))


def strong(x: Any) -> Any:
    """The value without its weak type."""
    aval = x.aval
    if not aval.weak_type:
        return x
    if uncommitted(x):
        # the buffer of a cached scalar is kept with its array
        return Array(x._host, aval.strong(), x._buffer if aval.ndim else None)
    return cast(x, aval.dtype)


def as_inexact(name: str, x: Any) -> Any:
    """A value of an inexact dtype; integers and booleans become the default float."""
    return promote_values(name, value(name, x), to_inexact=True)[0]


def is_operand(x: Any) -> bool:
    """True if weft's operators handle `x`, perhaps by raising an error."""
    return (
        x.__class__ in _PYTHON_TYPES
        or isinstance(x, Value)
        or hasattr(x, "__jax_array__")
        or (hasattr(x, "__array__") and not _takes_precedence(x.__class__))
    )


def _takes_precedence(kind: type) -> bool:
    """True for a class of another library whose operators take precedence over those of arrays: a
    pandas Series, or a class with `__array_ufunc__ = None`.

    With equal priorities the other library has precedence, because it decides how to treat an
    array. PyTorch's tensors claim precedence too, but their operators accept NumPy arrays only.
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
    """The aval of an array, a scalar, or an object with a shape and a dtype."""
    if not isinstance(x, (Value, np.ndarray, np.generic)) and isinstance(x, SupportsShape):
        weak_type = bool(getattr(x, "weak_type", False))
        return aval(tuple(x.shape), dtypes.canonicalize_dtype(x.dtype), weak_type)
    return value(name, x, argument).aval


def check_ranks(name: str, *xs: Any) -> None:
    """Applies the switch numpy_rank_promotion to the operands of the calling function.

    Only operands of users' calls are checked, not those inside weft's own functions and rules.
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


# files of the wrappers between a function and its caller: plans, operators
_WRAPPER_FILES = (
    os.path.join(HERE, "core", ""),
    *[
        os.path.join(HERE, "numpy", f"{module}.py")
        for module in ("operators", "plans", "ufunc_options")
    ],
)
# folders of the transformations, which call users' functions
_TRANSFORMATION_FOLDERS = tuple(
    [
        os.path.join(HERE, folder, "")
        for folder in ("higher_order", "interpreters", "programs", "transforms")
    ]
)


def called_by_user() -> bool:
    """True if the calling function was called by a user's function, not by one of weft.

    It inspects the stack, which has no cost unless ranks differ and needs no markers on rules.
    """
    frame: FrameType | None = sys._getframe(2)
    wrappers = (frame.f_code.co_filename, *_WRAPPER_FILES) if frame is not None else _WRAPPER_FILES
    while frame is not None and frame.f_code.co_filename.startswith(wrappers):
        frame = frame.f_back
    if frame is None:
        return True
    file = frame.f_code.co_filename
    return not file.startswith(HERE) or file.startswith(_TRANSFORMATION_FOLDERS)
