"""Axes, lengths and norms of Fourier transforms; cuts or pads signals to these lengths."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.array import literal
from ...core.value import Value
from ...errors import ShapeError
from ...lax.fft import FftType, in_transform_dtype, transform_last_axes
from ...primitives import arithmetic, slicing
from ...primitives.structural import transpose
from ..axes import one_axis, strict_int

NORMS = ("backward", "ortho", "forward")


def scale_of(name: str, norm: Any, count: int, inverse: bool) -> float:
    """The factor of a norm for a transform of `count` elements; the inverse transform already has
    the factor 1 / count."""
    if norm is None or norm == "backward":
        return 1.0
    if norm == "ortho":
        return math.sqrt(count) if inverse else 1 / math.sqrt(count)
    if norm == "forward":
        return float(count) if inverse else 1 / count
    raise ValueError(f"{name}: norm must be one of {', '.join(map(repr, NORMS))}; got {norm!r}")


def checked_length(name: str, argument: str, n: Any) -> int:
    """The length of a transform.

    Raises: ValueError: below 1. TypeError: not an int.
    """
    length = strict_int(name, n, argument)
    if length < 1:
        raise ValueError(f"{name}: {argument} must be 1 or more; got {length}")
    return length


def fitted(x: Any, axis: int, n: int) -> Any:
    """A value with an axis truncated to a length, or padded with zeros at its end."""
    length = x.shape[axis]
    if length == n:
        return x
    if length < n:
        padding = tuple([(0, n - length if i == axis else 0, 0) for i in range(x.ndim)])
        return slicing.pad(x, literal(0, x.aval.dtype), padding=padding)
    limit = tuple([n if i == axis else m for i, m in enumerate(x.shape)])
    return slicing.slice_(x, start=(0,) * x.ndim, limit=limit, strides=(1,) * x.ndim)


def listed(name: str, argument: str, items: Any) -> tuple[Any, ...]:
    """A sequence of axes or lengths as a tuple.

    Raises: TypeError: not a sequence.
    """
    if not isinstance(items, Iterable) or isinstance(items, str) or getattr(items, "ndim", 1) != 1:
        raise TypeError(f"{name}: {argument} must be a sequence of ints, or None; got {items!r}")
    return tuple(items)


def checked_axes(
    name: str,
    x: Value,
    axes: Sequence[Any] | None,
    s: Sequence[Any] | None,
    argument: str = "axes",
) -> tuple[int, ...]:
    """The axes to transform, counted from the front; by default all of them, or the last ones if
    lengths are given.

    Raises: ShapeError: more lengths than axes. AxisError: an axis out of range.
    """
    if axes is None:
        if s is not None and len(s) > x.ndim:
            raise ShapeError(f"{name}: s {s} has more lengths than {x.aval} has axes")
        count = x.ndim if s is None else len(s)
        return tuple(range(x.ndim - count, x.ndim))
    if s is not None and len(s) != len(axes):
        raise ShapeError(f"{name}: needs as many lengths as axes; got s {s} and axes {axes}")
    return tuple([one_axis(name, a, x, argument) for a in axes])


def signal_lengths(
    name: str, x: Value, axes: Sequence[int], s: Sequence[Any] | None, is_half: bool, argument: str
) -> tuple[int, ...]:
    """The lengths of the signal along each axis.

    Args:
      s: the user's lengths; -1 means the length of the axis, unless `argument` is "n".
      is_half: `x` has half of a spectrum along the last axis.
    """
    lengths = []
    for i, axis in enumerate(axes):
        n = None if s is None else s[i]
        if n is None or (argument == "s" and n.__class__ is int and n == -1):
            n = x.shape[axis]
            if is_half and i == len(axes) - 1:
                n = 2 * (n - 1)
            if n < 1:
                raise ShapeError(
                    f"{name}: axis {axis} of {x.aval} is too short to be transformed\n"
                    f"  fix: give {argument}, the length of the signal"
                )
            lengths.append(n)
        else:
            lengths.append(checked_length(name, argument, n))
    return tuple(lengths)


def transform(
    name: str,
    kind: FftType,
    x: Any,
    axes: Sequence[Any] | None,
    s: Sequence[Any] | None,
    norm: Any,
    argument: str = "s",
) -> Any:
    """Transforms axes of a value."""
    positions = checked_axes(name, x, axes, s, "axis" if argument == "n" else "axes")
    is_inverse_real = kind is FftType.IRFFT
    x = in_transform_dtype(name, x, kind)
    lengths = signal_lengths(name, x, positions, s, is_inverse_real, argument)
    scale = scale_of(name, norm, math.prod(lengths), is_inverse_real or kind is FftType.IFFT)
    if not positions:
        if is_inverse_real or kind is FftType.RFFT:
            raise ShapeError(f"{name}: expected at least one axis; got {x.aval} and axes {axes}")
        return x
    if len(set(positions)) < len(positions):
        x = _one_by_one(kind, x, positions, lengths)
    else:
        x = _transform_moved_axes(kind, x, positions, lengths)
    if scale == 1.0:
        return x
    return arithmetic.mul(x, literal(scale, x.aval.dtype))


def _transform_moved_axes(
    kind: FftType, x: Any, axes: tuple[int, ...], lengths: tuple[int, ...]
) -> Any:
    """Transforms distinct axes, which are moved to the end and back."""
    for axis, n in zip(axes, lengths, strict=True):
        is_half = kind is FftType.IRFFT and axis == axes[-1]
        x = fitted(x, axis, n // 2 + 1 if is_half else n)
    last_axes = tuple(range(x.ndim - len(axes), x.ndim))
    if axes == last_axes:
        return transform_last_axes(x, kind, lengths)
    order = (*[i for i in range(x.ndim) if i not in axes], *axes)
    x = transform_last_axes(transpose(x, permutation=order), kind, lengths)
    return transpose(x, permutation=tuple([order.index(i) for i in range(x.ndim)]))


def _one_by_one(kind: FftType, x: Any, axes: tuple[int, ...], lengths: tuple[int, ...]) -> Any:
    """Transforms repeated axes one by one: the last axis first, except for the inverse of the real
    transform."""
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    complex_kind = FftType.IFFT if inverse else FftType.FFT
    pairs = list(zip(axes, lengths, strict=True))
    kinds = [complex_kind] * (len(pairs) - 1) + [kind]
    steps = list(zip(pairs, kinds, strict=True))
    for (axis, n), step_kind in steps if kind is FftType.IRFFT else steps[::-1]:
        x = _transform_moved_axes(step_kind, x, (axis,), (n,))
    return x


def transform_axis(name: str, kind: FftType, x: Any, axis_and_length: Any, norm: Any) -> Any:
    """Transforms one axis. `axis_and_length` may be the axis alone."""
    axis, n = axis_and_length if axis_and_length.__class__ is tuple else (axis_and_length, None)
    return transform(name, kind, x, (axis,), None if n is None else (n,), norm, "n")


def pack_options(name: str, s: Any, axes: Any) -> tuple[tuple[Any, ...] | None, int]:
    """Lengths and axes as one tuple of ints, a key for plans, and the number of axes in it: -1 for
    lengths without axes, -2 for neither."""
    if s is None and axes is None:
        return None, -2
    if axes is None:
        return listed(name, "s", s), -1
    listed_axes = listed(name, "axes", axes)
    return (listed_axes if s is None else listed_axes + listed(name, "s", s)), len(listed_axes)


def transform_packed_axes(
    name: str, kind: FftType, x: Any, axes_and_lengths: Any, form: int, norm: Any
) -> Any:
    """Transforms several axes, given as the results of `pack_options`."""
    if form < 0:
        return transform(name, kind, x, None, axes_and_lengths, norm)
    axes, s = axes_and_lengths[:form], axes_and_lengths[form:]
    return transform(name, kind, x, axes, s if s or len(axes_and_lengths) > form else None, norm)
