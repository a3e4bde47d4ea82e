"""Removal of the mean or the linear trend of signals: detrend."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.axes import as_int, one_axis
from ...numpy.creation import from_numpy
from ...numpy.joining import concatenate
from ...numpy.promotion import promote_values
from ...primitives.structural import move_axis
from ...typing import ArrayLike
from .convolution import check_option

__all__ = ["detrend"]


KINDS = {"linear": "linear", "l": "linear", "constant": "constant", "c": "constant"}


def without_mean(x: Any) -> Any:
    """Subtracts the mean along the last axis."""
    return x - x.mean(-1, keepdims=True)


def without_line(x: Any) -> Any:
    """Subtracts the least-squares line along the last axis."""
    n = x.shape[-1]
    x = without_mean(x)
    if n < 2:
        return x
    times = np.arange(n) - (n - 1) / 2  # with sum 0, so mean and slope are independent
    unit_line = from_numpy((times / np.sqrt(np.sum(times**2))).astype(x.aval.dtype))
    return x - (x * unit_line).sum(-1, keepdims=True) * unit_line


@located
def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray[Any, Any] = 0,
    overwrite_data: bool | None = None,
) -> Array:
    """Subtracts the mean or the least-squares line from a signal.

    Args:
      data: array of one axis or more; integers become float32.
      axis: the axis of time.
      type: 'linear', or 'constant' for the mean.
      bp: the start indices of pieces, each with its own line; for 'linear' only.
      overwrite_data: has no effect; arrays are never overwritten.
    Returns: array of the same shape.
    Raises: ValueError: an unknown type, or an index of `bp` is outside the axis. AxisError: the
      axis is out of range.
    Example:
      >>> from weft.scipy import signal
      >>> signal.detrend(np.array([1.0, 2.0, 4.0]), type="constant").round(2)
      Array([-1.33, -0.33,  1.67], dtype=float32)
    Source: scipy.signal.detrend.
    """
    (x,) = promote_values("detrend", data, to_inexact=True)
    kind = KINDS[check_option("detrend", "type", type, KINDS)]
    time_axis = one_axis("detrend", axis, x)
    n = x.shape[time_axis]
    if not n:
        raise ShapeError(f"detrend: axis {time_axis} of {x.aval} is empty")
    dtype = x.aval.dtype
    x = move_axis(x.astype(dtypes.float32) if dtype.itemsize < 4 else x, time_axis, x.ndim - 1)
    if kind == "constant":
        x = without_mean(x)
    else:
        breakpoints = [bp] if isinstance(bp, (int, np.integer, Value)) else list(bp)
        breaks = sorted({0, n, *[as_int("detrend", b, "bp") for b in breakpoints]})
        if breaks[0] < 0 or breaks[-1] > n:
            raise ValueError(f"detrend: bp must be from 0 to {n}, the length of the axis; got {bp}")
        x = concatenate([without_line(x[..., a:b]) for a, b in pairwise(breaks)], -1)
    return move_axis(x, x.ndim - 1, time_axis).astype(dtype)
