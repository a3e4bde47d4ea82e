"""Matrices of 16-bit floats, computed in float32. Knows no decomposition."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.array import as_value
from ...core.value import Value
from ...primitives.families import HALF
from ...primitives.structural import convert_element_type


def widened(*operands: Any) -> tuple[list[Value], Any]:
    """Operands as values, 16-bit floats in float32; and the dtype for results, if that is one."""
    values = [as_value(x) for x in operands]
    narrow = values[0].dtype
    if narrow not in HALF or any(x.dtype != narrow for x in values):
        return values, None
    return [convert_element_type(x, dtype=dtypes.float32) for x in values], narrow


def narrowed(results: Sequence[Any], dtype: Any) -> list[Any]:
    """Results in a dtype of 16 bits, and complex ones as they are; all of them for `None`."""
    if dtype is None:
        return list(results)
    return [
        convert_element_type(x, dtype=dtype) if x.dtype == dtypes.float32 else x for x in results
    ]
