"""Checks of the numbers that optimizers and schedules are made with. Knows no update rule."""

import math
from typing import Any

from ...core.array import Tracer
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.promotion import value


def setting(
    name: str,
    argument: str,
    x: Any,
    low: float = 0.0,
    high: float = math.inf,
    with_low: bool = True,
    with_high: bool = False,
) -> Any:
    """A number, or an array of no axes, between two bounds; one that is traced isn't looked at."""
    kind = type(x)
    array = x if kind in (int, float) else value(name, x, argument)
    if isinstance(array, Value):
        if array.ndim or array.dtype.kind == "c":
            raise ShapeError(f"{name}: {argument} must be a real number; got {array.aval}")
        if isinstance(array, Tracer):
            return array
    number = float(array)
    below = number >= low if with_low else number > low
    above = number <= high if with_high else number < high
    if not (below and above):
        raise ValueError(
            f"{name}: {argument} must be {_range(low, high, with_low, with_high)}; got {number:g}"
        )
    return array


def _range(low: float, high: float, with_low: bool, with_high: bool) -> str:
    if high == math.inf:
        return f"finite and {'at least' if with_low else 'above'} {low:g}"
    last = f"at most {high:g}" if with_high else f"below {high:g}"
    return f"{'at least' if with_low else 'above'} {low:g} and {last}"
