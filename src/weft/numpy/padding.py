"""Padding of arrays: pad, in all of NumPy's modes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import arithmetic, slicing, structural
from ..typing import ArrayLike
from .axes import as_int, one_axis
from .axis_gathers import take_static
from .promotion import cast, value
from .ranges import linspace
from .reductions import max, min
from .rounding import rint
from .sorting import sort
from .statistics import mean

__all__ = ["pad"]

_OPTIONS = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


@located
def pad(
    array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Pads an array.

    Args:
      array: array of any shape.
      pad_width: the number of elements to add: an int, (before, after) for all axes, or such a pair
        for each axis.
      mode: 'constant' (constant_values=0), 'empty' (zeros), 'edge', 'reflect' and 'symmetric'
        (reflect_type='even' or 'odd'), 'wrap', 'linear_ramp' (end_values=0), 'maximum', 'minimum',
        'mean', 'median' (stat_length=None); or a function `(vector, (before, after), axis,
        kwargs)` that returns the padded vector.
      kwargs: the option of the mode, as a number, a pair, or a pair for each axis.
    Returns: array with longer axes.
    Example:
      >>> np.pad(np.arange(3), (1, 2), mode="edge")
      Array([0, 0, 1, 2, 2, 2], dtype=int32)
    """
    x = value("pad", array, "array")
    widths = _pairs("pad_width", pad_width, x.ndim)
    widths = [tuple(as_int("pad", n, "pad_width") for n in pair) for pair in widths]
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: pad_width must not be negative; got {pad_width}")
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if not isinstance(mode, str) or mode not in _OPTIONS:
        raise ValueError(f"pad: mode must be one of {', '.join(map(repr, _OPTIONS))}; got {mode!r}")
    for option in kwargs:
        if option not in _OPTIONS[mode]:
            raise ValueError(f"pad: mode {mode!r} takes no {option}")
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    for axis, (low, high) in enumerate(widths):
        if not x.shape[axis] and (low or high):
            raise ShapeError(f"pad: mode {mode!r} cannot pad the empty axis {axis} of {x.aval}")
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        reflect_type = kwargs.get("reflect_type", "even")
        if reflect_type not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type must be 'even' or 'odd'; got {reflect_type!r}")
        for axis, pair in enumerate(widths):
            if any(pair):
                x = (
                    _reflect_odd(x, axis, pair, mode)
                    if reflect_type == "odd"
                    else _by_index(x, axis, pair, mode)
                )
        return x
    if mode == "linear_ramp":
        ends = _pairs("end_values", kwargs.get("end_values", 0), x.ndim)
        for axis, (pair, values) in enumerate(zip(widths, ends, strict=True)):
            x = _ramp(x, axis, pair, values)
        return x
    lengths = kwargs.get("stat_length")
    parts = [(None, None)] * x.ndim if lengths is None else _pairs("stat_length", lengths, x.ndim)
    for axis, (pair, counts) in enumerate(zip(widths, parts, strict=True)):
        x = _statistic(x, axis, pair, counts, mode)
    return x


def _pairs(name: str, argument: Any, ndim: int) -> list[Any]:
    """A pair for each axis, from a number, a pair, or several pairs."""
    if isinstance(argument, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, pair in argument.items():
            pairs[one_axis("pad", axis, ndim)] = (
                (pair, pair) if not isinstance(pair, (tuple, list)) else tuple(pair)
            )
        return pairs
    if isinstance(argument, np.ndarray):
        argument = argument.tolist()
    if not isinstance(argument, (tuple, list)):
        if getattr(argument, "ndim", 0):
            argument = [list(row) if row.ndim else row for row in argument]
        else:
            return [(argument, argument)] * ndim
    items = list(argument)
    if items and not isinstance(items[0], (tuple, list)):
        if len(items) == 1:
            return [(items[0], items[0])] * ndim
        if len(items) == 2:
            return [tuple(items)] * ndim
    elif len(items) in (1, ndim):
        pairs = [tuple(p) if len(p) == 2 else (p[0], p[0]) for p in items if len(p) in (1, 2)]
        if len(pairs) == len(items):
            return pairs * ndim if len(pairs) == 1 else pairs
    raise ShapeError(
        f"pad: {name} must be a number, a pair, or a pair for each of {ndim} axes; got {argument!r}"
    )


def _constant(x: Any, widths: Any, constants: Any) -> Any:
    pairs = _pairs("constant_values", constants, x.ndim)
    first_pair = pairs[0] if pairs else (0, 0)
    constants_ = [n for pair in pairs for n in pair]
    if all(
        n is first_pair[0] or (isinstance(n, (int, float)) and n == first_pair[0])
        for n in constants_
    ):
        scalar = _scalar(first_pair[0], x)
        if any(any(w) for w in widths):
            x = slicing.pad(x, scalar, padding=tuple((b, a, 0) for b, a in widths))
        return x
    for axis, ((low, high), values) in enumerate(zip(widths, pairs, strict=True)):
        for count, number, at_start in ((low, values[0], True), (high, values[1], False)):
            if count:
                axis_widths = [(0, 0, 0)] * x.ndim
                axis_widths[axis] = (count, 0, 0) if at_start else (0, count, 0)
                x = slicing.pad(x, _scalar(number, x), padding=tuple(axis_widths))
    return x


def _scalar(number: Any, x: Any) -> Any:
    """A number as a scalar of the array's dtype."""
    return cast(value("pad", number, "a value"), x.aval.dtype, x.aval.weak_type)


def _by_index(x: Any, axis: int, pair: Any, mode: str) -> Any:
    return take_static(x, np.pad(np.arange(x.shape[axis]), pair, mode=mode), axis)  # type: ignore[call-overload]


def _reflect_odd(x: Any, axis: int, pair: Any, mode: str) -> Any:
    """Reflection through the edge element: twice the edge minus the mirrored elements."""
    low, high = pair
    n = x.shape[axis]
    offset = 1 if mode == "reflect" else 0
    if n == offset:
        return _by_index(x, axis, pair, "edge")
    while low > 0 or high > 0:
        n = x.shape[axis]
        parts = [x]
        count = builtin_min(low, n - offset)
        if count > 0:
            edge = slice_along(x, axis, 0, 1)
            mirrored = take_static(x, np.arange(count + offset - 1, offset - 1, -1), axis)
            parts.insert(0, edge + edge - mirrored)
            low -= count
        count = builtin_min(high, n - offset)
        if count > 0:
            edge = slice_along(x, axis, n - 1, n)
            mirrored = take_static(x, np.arange(n - 1 - offset, n - 1 - offset - count, -1), axis)
            parts.append(edge + edge - mirrored)
            high -= count
        x = slicing.concatenate(*parts, dimension=axis)
    return x


def builtin_min(a: int, b: int) -> int:
    """The smaller int."""
    return a if a < b else b


def _ramp(x: Any, axis: int, pair: Any, ends: Any) -> Any:
    low, high = pair
    n = x.shape[axis]
    parts = [x]
    for count, end, at_start in ((low, ends[0], True), (high, ends[1], False)):
        if not count:
            continue
        edge = slice_along(x, axis, 0, 1) if at_start else slice_along(x, axis, n - 1, n)
        edge_values = structural.reshape(
            edge, shape=tuple(m for i, m in enumerate(edge.shape) if i != axis)
        )
        ramp = linspace(_scalar(end, x), edge_values, count, endpoint=False, axis=axis)
        if not dtypes.is_inexact(x.dtype):
            is_exact = not dtypes.is_inexact(ramp.dtype) or dtypes.is_bool(x.dtype)
            ramp = ramp if is_exact else arithmetic.floor(ramp)
        ramp = cast(ramp, x.dtype)
        if not at_start:
            ramp = slicing.rev(ramp, dimensions=(axis,))
        parts.insert(0, ramp) if at_start else parts.append(ramp)
    return slicing.concatenate(*parts, dimension=axis) if len(parts) > 1 else x


def _statistic(x: Any, axis: int, pair: Any, counts: Any, mode: str) -> Any:
    n = x.shape[axis]
    parts = [x]
    for width, count, at_start in ((pair[0], counts[0], True), (pair[1], counts[1], False)):
        if not width:
            continue
        count = n if count is None else as_int("pad", count, "stat_length")
        if count < 1:
            raise ShapeError(f"pad: stat_length must be at least 1; got {count}")
        count = builtin_min(count, n)
        edge_part = (
            slice_along(x, axis, 0, count) if at_start else slice_along(x, axis, n - count, n)
        )
        if mode == "maximum":
            edge = max(edge_part, axis, keepdims=True)
        elif mode == "minimum":
            edge = min(edge_part, axis, keepdims=True)
        else:
            edge = (
                mean(edge_part, axis, keepdims=True) if mode == "mean" else _median(edge_part, axis)
            )
            if dtypes.is_integer(x.dtype):
                edge = rint(edge)
            edge = cast(edge, x.dtype)
        shape = tuple(width if i == axis else m for i, m in enumerate(edge.shape))
        padding = structural.broadcast_in_dim(edge, shape=shape, dims=tuple(range(x.ndim)))
        parts.insert(0, padding) if at_start else parts.append(padding)
    return slicing.concatenate(*parts, dimension=axis) if len(parts) > 1 else x


def _median(x: Any, axis: int) -> Any:
    n = x.shape[axis]
    sorted_x = sort(x, axis)
    middle_elements = slice_along(sorted_x, axis, (n - 1) // 2, n // 2 + 1)
    return mean(middle_elements, axis, keepdims=True)


def _by_function(x: Any, widths: Any, function: Any, kwargs: Any) -> Any:
    x = _constant(x, widths, 0)
    for axis, pair in enumerate(widths):
        rows = structural.move_axis(x, axis, x.ndim - 1)
        vectors = structural.reshape(
            rows, shape=(-1 if not rows.size else rows.size // rows.shape[-1], rows.shape[-1])
        )
        results = [function(vector, pair, axis, kwargs) for vector in vectors]
        parts = [structural.reshape(value("pad", r), shape=(1, rows.shape[-1])) for r in results]
        rows = structural.reshape(slicing.concatenate(*parts, dimension=0), shape=rows.shape)
        x = structural.move_axis(rows, x.ndim - 1, axis)
    return x
