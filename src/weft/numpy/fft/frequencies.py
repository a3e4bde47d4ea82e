"""Frequencies of Fourier transforms, fftfreq and rfftfreq; fftshift and ifftshift move frequency 0
to the middle and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...core.value import Value
from ...errors import ShapeError
from ...typing import ArrayLike, DTypeLike
from ..axes import axes_of, one_axis
from ..creation import dtype_argument, from_numpy, on_device
from ..plans import planned
from ..promotion import cast, value
from ..rearranging import roll
from .lengths import checked_length

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _frequencies(name: str, cycles: Any, n: int, d: Any, device: Any, dtype: Any) -> Array:
    out_dtype = dtype_argument(name, dtype)
    if out_dtype is None:
        out_dtype = dtypes.default_float()
        if isinstance(d, Value) and dtypes.is_inexact(d.aval.dtype) and not d.aval.weak_type:
            out_dtype = d.aval.dtype
    if not dtypes.is_inexact(out_dtype):
        raise ShapeError(f"{name}: dtype must be a floating-point dtype; got {out_dtype.name}")
    if not isinstance(d, (int, float, np.floating, np.integer)):
        spacing = value(name, d, "d")
        if spacing.ndim:
            raise ShapeError(f"{name}: d must be a number; got {spacing.aval}")
        duration = cast(spacing, out_dtype) * n
        return on_device(from_numpy(cycles.astype(out_dtype)) / duration, device)
    if d == 0:
        raise ValueError(f"{name}: d, the time between samples, must not be 0")
    return on_device(from_numpy((cycles / (n * d)).astype(out_dtype)), device)


@located
def fftfreq(
    n: int, d: ArrayLike = 1.0, device: Any = None, *, dtype: DTypeLike | None = None
) -> Array:
    """The sample frequencies of `fft`: from 0 up, then the negative frequencies.

    Args:
      n: the length of the signal.
      d: the time between samples; it may be traced.
      device: the device of the result.
      dtype: the dtype of the result; by default, the dtype of an array `d`, otherwise the default
        float.
    Returns: array [n].
    Raises: ValueError: n is below 1, or d is 0.
    Example:
      >>> np.fft.fftfreq(4, d=0.5)
      Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    Source: numpy.fft.fftfreq.
    """
    count = checked_length("fftfreq", "n", n)
    ks = np.fft.ifftshift(np.arange(-(count // 2), (count + 1) // 2))
    return _frequencies("fftfreq", ks, count, d, device, dtype)


@located
def rfftfreq(
    n: int, d: ArrayLike = 1.0, device: Any = None, *, dtype: DTypeLike | None = None
) -> Array:
    """The sample frequencies of `rfft`: from 0 to half the sampling rate.

    Args:
      n: the length of the signal.
      d, device, dtype: as in `fftfreq`.
    Returns: array [n // 2 + 1].
    Raises: ValueError: n is below 1, or d is 0.
    Example:
      >>> np.fft.rfftfreq(4, d=0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    Source: numpy.fft.rfftfreq.
    """
    count = checked_length("rfftfreq", "n", n)
    ks = np.arange(count // 2 + 1)
    return _frequencies("rfftfreq", ks, count, d, device, dtype)


def _shifted(x: Any, axes: Any, is_inverse: bool) -> Any:
    name = "ifftshift" if is_inverse else "fftshift"
    shifted_axes = range(x.ndim) if axes is None else axes_of(axes)
    positions = [one_axis(name, a, x, "axes") for a in shifted_axes]
    for axis in positions:
        n = x.shape[axis]
        x = roll(x, -(n // 2) if is_inverse else n // 2, axis)
    return x


_planned_shift = planned("fftshift", _shifted, "x")


@located
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 to the middle of the axes, by swapping their halves.

    Args:
      x: array; element 0 is frequency 0.
      axes: one axis or several; by default all of them.
    Returns: array of the same shape; element n // 2 is frequency 0.
    Raises: AxisError: an axis is out of range.
    Example:
      >>> np.fft.fftshift(np.array([0, 1, 2, -2, -1]))
      Array([-2, -1,  0,  1,  2], dtype=int32)
    Source: numpy.fft.fftshift.
    """
    return _planned_shift(x, axes, False)


@located
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`; the two differ for odd lengths.

    Args:
      x: array; element n // 2 is frequency 0.
      axes: one axis or several; by default all of them.
    Returns: array of the same shape; element 0 is frequency 0.
    Raises: AxisError: an axis is out of range.
    Example:
      >>> np.fft.ifftshift(np.array([-2, -1, 0, 1, 2]))
      Array([ 0,  1,  2, -2, -1], dtype=int32)
    Source: numpy.fft.ifftshift.
    """
    return _planned_shift(x, axes, True)
