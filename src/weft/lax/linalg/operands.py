"""Operands and options of decompositions: converts 16-bit floats to float32, symmetrizes matrices,
checks options."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.array import as_value
from ...core.value import Value
from ...primitives.arithmetic import mul
from ...primitives.creation import full
from ...primitives.elementwise import HALF
from ...primitives.linalg.matrix_operations import adjoint
from ...primitives.linalg.solver_calls import check_matrices
from ...primitives.slicing import slice_
from ...primitives.structural import add, convert_element_type


def widened(*operands: Any) -> tuple[list[Value], Any]:
    """Operands as values, with 16-bit floats converted to float32; and the 16-bit dtype of the
    results, or `None`."""
    values = [as_value(x) for x in operands]
    narrow_dtype = values[0].dtype
    if narrow_dtype not in HALF or any(x.dtype != narrow_dtype for x in values):
        return values, None
    return [convert_element_type(x, dtype=dtypes.float32) for x in values], narrow_dtype


def narrowed(results: Sequence[Any], dtype: Any) -> list[Any]:
    """Converts real results to a 16-bit dtype; `None` leaves all unchanged."""
    if dtype is None:
        return list(results)
    return [
        convert_element_type(x, dtype=dtype) if x.dtype == dtypes.float32 else x for x in results
    ]


def symmetrized(name: str, x: Value) -> Value:
    """(x + xᴴ) / 2."""
    check_matrices(name, x.aval, square=True)
    half = full(x.aval.update(shape=(), weak_type=False), 0.5)
    return mul(add(x, adjoint(x)), half)


def check_choice(name: str, option: str, value: Any, kind: type) -> None:
    """Raises an error unless the option is None or a member of an enumeration."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name}: {option} must be a {kind.__name__} or None; got {value!r}")


def subset(name: str, subset_range: Sequence[int] | None, count: int) -> tuple[int, int]:
    """The requested range of eigenvalues or singular values, which must be valid."""
    if subset_range is None:
        return 0, count
    start, end = map(int, subset_range)
    if not 0 <= start <= end <= count:
        raise ValueError(
            f"{name}: subset_by_index must be (start, end) with 0 <= start <= end <= {count}; got "
            f"{subset_range!r}"
        )
    return start, end


def slice_range(x: Value, axis: int, start: int, end: int) -> Value:
    """The slice of a range along an axis."""
    axis %= x.ndim
    if (start, end) == (0, x.shape[axis]):
        return x
    lows = tuple(start if i == axis else 0 for i in range(x.ndim))
    highs = tuple(end if i == axis else n for i, n in enumerate(x.shape))
    return slice_(x, start=lows, limit=highs, strides=(1,) * x.ndim)
