"""Checks of operands: arrays of one dtype and of one shape."""

import operator
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, as_value, literal
from ..core.trace import current
from ..errors import ShapeError
from ..primitives.structural import convert_element_type
from ..user_lines import note_user_line, noted

_SCALARS = frozenset((bool, int, float, complex))


def uncommitted(x: Any) -> bool:
    """True for an array without a requested device: NumPy may compute with its elements."""
    return x.__class__ is Array and x.type is x.aval


def same_type(name: str, names: Sequence[str], *operands: Any) -> Sequence[Any]:
    """Operands as values of one dtype and of one shape, or scalars.

    A Python scalar, and any weak scalar, takes the dtype of the others if it has their kind: a
    float with bfloat16 operands, but not an int with floats.

    Raises: TypeError: dtypes or shapes differ.
    """
    x, y = operands[:2]
    if x.__class__ is y.__class__ is Array and x.aval is y.aval and len(operands) == 2:
        return operands
    try:
        values = [x if x.__class__ in _SCALARS else as_value(x) for x in operands]
        values = _one_dtype(name, names, values)
        _one_shape(name, names, values)
    except (TypeError, ValueError) as error:
        note_user_line(error)
        raise
    return values


def powers(name: str, x: Any, y: Any) -> Sequence[Any]:
    """A base and an exponent of one dtype, or with an exponent of an integer dtype."""
    exponent = as_value(y)
    if y.__class__ in _SCALARS or not dtypes.is_integer(exponent.dtype):
        return same_type(name, ("x", "y"), x, y)
    base = as_value(x)
    try:
        _one_shape(name, ("x", "y"), [base, exponent])
    except TypeError as error:
        note_user_line(error)
        raise
    return base, exponent


def constant_int(name: str, argument: str, value: Any) -> int:
    """A constant integer.

    Raises: TypeError: it is not an int.
    """
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise noted(
            TypeError(f"{name}: {argument} must be an int known when traced; got {value!r}")
        ) from None


def scalar_as(name: str, x: Any, dtype: Any) -> Any:
    """A value that can be converted to a dtype.

    Raises: TypeError: a Python complex number for a real dtype.
    """
    if x.__class__ is complex and not dtypes.is_complex(dtype) and not dtypes.is_bool(dtype):
        raise noted(
            TypeError(
                f"{name}: {x} can't become {dtype.name}\n  fix: x.real drops the imaginary part"
            )
        )
    if x.__class__ is int:  # which may exceed the default integer
        try:
            return as_value(x)
        except OverflowError:
            return literal(x, dtype)
    return as_value(x)


_KINDS = (dtypes.is_bool, dtypes.is_integer, dtypes.is_float, dtypes.is_complex)


def _same_kind(a: Any, b: Any) -> bool:
    return any(kind(a) and kind(b) for kind in _KINDS)


def _one_dtype(name: str, names: Sequence[str], values: list[Any]) -> list[Any]:
    strong_values = [x for x in values if x.__class__ not in _SCALARS and not x.aval.weak_type]
    if not strong_values:
        values = [as_value(x) for x in values]
        dtype = values[0].aval.dtype
        # a weak int8 and a Python int: the narrower array determines the dtype
        for x in values:
            if x.aval.ndim:
                dtype = x.aval.dtype
                break
    else:
        dtype = strong_values[0].aval.dtype
    converted = []
    for x in values:
        if x.__class__ in _SCALARS:
            scalar_dtype = dtypes.canonicalize_dtype(x.__class__)
            x = (
                literal(x, dtype)
                if scalar_dtype != dtype and _same_kind(scalar_dtype, dtype)
                else as_value(x)
            )
        elif x.aval.dtype != dtype and x.aval.weak_type and _same_kind(x.aval.dtype, dtype):
            x = current.trace.bind(
                convert_element_type, (x,), (("dtype", dtype), ("weak_type", True))
            )
        converted.append(x)
    if any(x.aval.dtype != dtype for x in converted):
        raise ShapeError(
            f"{name}: operands must have one dtype; got {_operand_texts(names, converted)}\n"
            "  fix: convert with lax.convert_element_type or .astype, or use weft.numpy, which "
            "promotes"
        )
    return converted


def _one_shape(name: str, names: Sequence[str], values: Sequence[Any]) -> None:
    shapes = [x.aval.shape for x in values if x.aval.ndim]
    if len(shapes) < 2 or all(s == shapes[0] for s in shapes):
        return
    is_broadcastable = len({len(s) for s in shapes}) == 1 and all(
        len({n for n in lengths if n != 1}) <= 1 for lengths in zip(*shapes, strict=True)
    )
    if not is_broadcastable:
        raise ShapeError(
            f"{name}: operands must have one shape, or be scalars; got "
            f"{_operand_texts(names, values)}\n"
            "  fix: lax.broadcast_in_dim or .reshape, or use weft.numpy, which broadcasts"
        )


def _operand_texts(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{n}: {v.aval}" for n, v in zip(names, values, strict=True))
