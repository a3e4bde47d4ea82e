"""Interpolation of arrays by B-splines: map_coordinates.

Splines of orders 2 to 5 pass through the elements. A filter, the inverse of the spline's samples,
computes their coefficients; it decays fast and is truncated below float64's rounding. Source: M.
Unser, A. Aldroubi, M. Eden, "B-spline signal processing: part I", IEEE Transactions on Signal
Processing 41 (1993).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax.arithmetic import round
from ...lax.convolution import conv_general_dilated
from ...numpy.axes import strict_int
from ...numpy.creation import asarray, from_numpy
from ...numpy.extrema import clip
from ...numpy.joining import stack
from ...numpy.padding import pad
from ...numpy.plans import composite
from ...numpy.promotion import cast, promote_values, value
from ...numpy.rounding import floor
from ...numpy.selection import where
from ...numpy.shapes import broadcast_arrays
from ...primitives.structural import move_axis, reshape
from ...typing import ArrayLike

__all__ = ["map_coordinates"]


MODES = {
    "constant": "constant", "nearest": "nearest", "wrap": "wrap", "mirror": "mirror",
    "reflect": "reflect", "grid-constant": "constant", "grid-wrap": "wrap",
    "grid-mirror": "reflect",
}  # fmt: skip
PAD_MODES = {"wrap": "wrap", "mirror": "reflect", "reflect": "symmetric", "constant": "reflect",
        "nearest": "reflect"}  # fmt: skip
MAX_ORDER = 5
PADDED_ELEMENTS = 12
"""The number of elements added around an array whose edges would otherwise be mirrored."""


def weights(t: Any, order: int) -> list[Any]:
    """The B-splines of an order that are nonzero in a cell, at position t of it, from 0 to 1."""
    splines = [t * 0 + 1]
    for d in range(1, order + 1):
        lower_splines = splines
        splines = []
        for j in range(d + 1):
            rising_part = (t + (d - j)) / d * lower_splines[j - 1] if j else 0
            falling_part = ((1 + j) - t) / d * lower_splines[j] if j < d else 0
            splines.append(rising_part + falling_part)
    return splines


def inverse_filter(order: int) -> np.ndarray[Any, Any]:
    """The filter from samples to coefficients: symmetric, with an odd length."""
    samples = [float(w) for w in weights(np.float64(0.0 if order % 2 else 0.5), order)]
    samples = samples[:-1] if order % 2 else samples
    n = 256
    signal = np.zeros(n)
    signal[: len(samples)] = samples
    signal = np.roll(signal, -(len(samples) // 2))
    response = np.fft.irfft(1 / np.fft.rfft(signal).real, n)
    half_length = int(np.nonzero(np.abs(response[: n // 2]) > 1e-17)[0][-1])
    return np.concatenate([response[half_length:0:-1], response[: half_length + 1]])


@composite
def spline_coefficients(x: Any, *, order: int, mode: str) -> Any:
    """The coefficients of the spline through the elements."""
    taps = inverse_filter(order)
    half_length = len(taps) // 2
    kernel = from_numpy(taps.astype(x.dtype)[None, None])
    for axis in range(x.ndim):
        if x.shape[axis] < 2:
            continue
        padded_rows = move_axis(x, axis, x.ndim - 1)
        padded_rows = pad(
            padded_rows, [(0, 0)] * (x.ndim - 1) + [(half_length, half_length)], PAD_MODES[mode]
        )
        rows = reshape(
            padded_rows, shape=(padded_rows.size // padded_rows.shape[-1], 1, padded_rows.shape[-1])
        )
        rows = conv_general_dilated(rows, kernel, (1,), "VALID", precision="highest")
        padded_rows = reshape(rows, shape=(*padded_rows.shape[:-1], x.shape[axis]))
        x = move_axis(padded_rows, x.ndim - 1, axis)
    return x


def map_into_range(index: Any, n: int, mode: str) -> Any:
    """Maps indices to the elements of an axis of length n by a mode. Modes that mirror also map
    floats."""
    if mode == "wrap":
        return index % n
    if mode == "reflect":
        remainder = (
            (index + 0.5) % (2 * n) - 0.5 if dtypes.is_float(index.dtype) else index % (2 * n)
        )
        return where(remainder < n, remainder, 2 * n - 1 - remainder)
    if mode == "mirror":
        period = max(2 * (n - 1), 1)
        remainder = abs(index) % period
        first_half = (remainder < n) & (
            (index >= 0) | (remainder <= n - 1)
        )  # rounds halves as SciPy does
        return where(first_half, remainder, period - remainder)
    return clip(index, 0, n - 1)


def along_axis(c: Any, n: int, order: int, mode: str) -> tuple[Any, Any, Any]:
    """(indices, a mask of the indices inside the array, weights) of the elements that each
    coordinate reads; the first axis of each runs over these elements."""
    if mode == "nearest":
        c, mode = clip(c, 0, n - 1), "mirror"
    if not order and mode in ("mirror", "reflect"):  # mirrored first, so halves round up
        c = map_into_range(c, n, mode)
    position = c if order % 2 else c + 0.5
    cell = floor(position)
    steps = from_numpy(np.arange(order + 1, dtype=np.int32).reshape(-1, *[1] * c.ndim))
    indices = cell.astype(dtypes.int32) - order // 2 + steps
    is_inside = (indices >= 0) & (indices < n)
    return map_into_range(indices, n, mode), is_inside, stack(weights(position - cell, order))


@located
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike] | ArrayLike,
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Array:
    """Interpolates an array at coordinates.

    Args:
      input: array of n axes.
      coordinates: n arrays of one shape, or one array whose first axis has length n: positions
        along each axis.
      order: the order of the splines: 0 for the nearest element, 1 for linear, up to 5.
      mode: the values around the array: 'constant', elements `cval`; 'nearest', the elements at the
        edges; 'wrap', the array repeated; 'mirror', mirrored at the middle of the last elements;
        'reflect', at their outer edges. 'grid-constant', 'grid-wrap' and 'grid-mirror' are other
        names of the first, third and last.
      cval: the value outside the array in mode 'constant'.
      prefilter: False if `input` already holds coefficients of splines; has no effect for orders 0
        and 1.
    Returns: array of the coordinates' shape and the dtype of `input`; integers are rounded, halves
      away from zero.
    Raises: ValueError: an unknown order or mode. ShapeError: the number of coordinates is wrong, or
      the array is empty.
    Example:
      >>> from weft.scipy import ndimage
      >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
      >>> ndimage.map_coordinates(x, [np.array([0.5, 0.0]), np.array([0.5, 1.0])], order=1)
      Array([2.5, 2. ], dtype=float32)
    Source: scipy.ndimage.map_coordinates.
    """
    name = "map_coordinates"
    array = value(name, input, "input")
    degree = strict_int(name, order, "order")
    if not 0 <= degree <= MAX_ORDER:
        raise ValueError(f"{name}: order must be from 0 to {MAX_ORDER}; got {degree}")
    if not isinstance(mode, str) or mode not in MODES:
        names = ", ".join(map(repr, MODES))
        raise ValueError(f"{name}: mode must be one of {names}; got {mode!r:.80}")
    kind = MODES[mode]
    axis_coordinates = list(coordinates) if isinstance(coordinates, (list, tuple)) else list(
        value(name, coordinates, "coordinates")
    )  # fmt: skip
    if len(axis_coordinates) != array.ndim:
        raise ShapeError(
            f"{name}: expected coordinates for each axis of {array.aval}; got "
            f"{len(axis_coordinates)}"
        )
    if not array.size:
        raise ShapeError(f"{name}: input must have elements; got {array.aval}")
    (x,) = promote_values(name, array, to_inexact=True)
    if x.dtype.itemsize < 4:
        x = cast(x, dtypes.float32)
    points = [
        cast(value(name, c, "coordinates"), dtypes.real_of(x.dtype)) for c in axis_coordinates
    ]
    points = list(broadcast_arrays(*points))
    number = cast(value(name, cval, "cval"), x.dtype)
    if degree > 1 and prefilter:
        if kind in ("nearest", "constant"):
            options = {"constant_values": number} if kind == "constant" else {}
            x = pad(x, PADDED_ELEMENTS, "edge" if kind == "nearest" else "constant", **options)
            points = [c + PADDED_ELEMENTS for c in points]
        x = spline_coefficients(x, order=degree, mode=kind)
    result = _read(x, number, *points, order=degree, mode=kind)
    if not dtypes.is_inexact(array.dtype):
        result = round(result)
    return asarray(cast(result, array.dtype))


@composite
def _read(x: Any, cval: Any, *points: Any, order: int, mode: str) -> Any:
    """Sums of coefficients times splines."""
    if not points:
        return x
    indices, factors = [], []
    inside_mask: Any = None
    for axis, c in enumerate(points):
        axis_indices, is_inside, values = along_axis(c, x.shape[axis], order, mode)
        leading_axes, trailing_axes = [1] * axis, [1] * (x.ndim - 1 - axis)
        shape = (*leading_axes, order + 1, *trailing_axes, *c.shape)
        indices.append(axis_indices.reshape(shape))
        is_inside = is_inside.reshape(shape)
        inside_mask = is_inside if inside_mask is None else inside_mask & is_inside
        factors.append(values.reshape(order + 1, *trailing_axes, *c.shape))
    elements = x[tuple(indices)]
    if mode == "constant":
        elements = where(inside_mask, elements, cval)
    for factor in factors:
        elements = (elements * factor).sum(0)
    return elements
