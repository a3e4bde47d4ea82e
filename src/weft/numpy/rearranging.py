"""Reordering elements along axes: flip, fliplr, flipud, rot90, roll."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..lax.axes import items_of
from ..primitives import slicing, structural
from ..primitives.dynamic_slicing import dynamic_slice
from ..typing import ArrayLike, Axes
from .axes import all_axes, as_int, axes_of, one_axis
from .promotion import cast, value
from .shapes import ravel, swapaxes

__all__ = ["flip", "fliplr", "flipud", "roll", "rot90"]


def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """Reverses the order of elements along axes (all of them by default).

    Example:
      >>> np.flip(np.arange(3))
      Array([2, 1, 0], dtype=int32)
    """
    return reversed_along("flip", value("flip", m, "m"), axis)


def reversed_along(name: str, x: Any, axis: Any) -> Any:
    """Reverses elements along axes longer than one."""
    axes = tuple([i for i in sorted(all_axes(name, axis, x)) if x.shape[i] > 1])
    return slicing.rev(x, dimensions=axes) if axes else x


def fliplr(m: ArrayLike) -> Array:
    """Reverses the order of elements along axis 1 (left and right).

    Example:
      >>> np.fliplr(np.array([[1, 2]]))
      Array([[2, 1]], dtype=int32)
    """
    return reversed_along("fliplr", value("fliplr", m, "m"), 1)


def flipud(m: ArrayLike) -> Array:
    """Reverses the order of elements along axis 0 (up and down).

    Example:
      >>> np.flipud(np.array([1, 2]))
      Array([2, 1], dtype=int32)
    """
    return reversed_along("flipud", value("flipud", m, "m"), 0)


@located
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotates an array by `k` times 90 degrees, from the first axis to the second.

    Example:
      >>> np.rot90(np.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    x = value("rot90", m, "m")
    plane = all_axes("rot90", items_of("rot90", "axes", axes, "two ints"), x.ndim, "axes")
    if len(plane) != 2:
        raise ShapeError(f"rot90: axes must be two axes; got {axes!r:.60}")
    from_axis, to_axis = plane
    k = as_int("rot90", k, "k") % 4
    if k == 2:
        return reversed_along("rot90", x, (from_axis, to_axis))
    if k == 1:
        return swapaxes(reversed_along("rot90", x, to_axis), from_axis, to_axis)
    if k == 3:
        return reversed_along("rot90", swapaxes(x, from_axis, to_axis), to_axis)
    return x


@located
def roll(a: ArrayLike, shift: Any, axis: Any = None) -> Array:
    """Rolls elements along axes: elements beyond one end reappear at the other.

    Args:
      a: array of any shape.
      shift: the number of positions, or one for each axis; it may be traced.
      axis: one axis or several; None rolls the flattened array.
    Returns: array of the same shape.
    Example:
      >>> np.roll(np.arange(4), 1)
      Array([3, 0, 1, 2], dtype=int32)
    """
    x = value("roll", a, "a")
    if axis is None:
        return structural.reshape(_rolled(ravel(x), shift, 0), shape=x.shape)
    axes = tuple([one_axis("roll", k, x) for k in axes_of(axis)])  # an axis may occur twice
    if isinstance(shift, Value) and shift.ndim:
        shifts = list(shift)
    else:
        shifts = (
            list(shift)
            if isinstance(shift, (tuple, list, np.ndarray)) and np.ndim(shift)
            else [shift]
        )
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll: needs as many shifts as axes; got {len(shifts)} and {len(axes)}")
    for s, i in zip(shifts, axes, strict=True):
        x = _rolled(x, s, i)
    return x


def _rolled(x: Any, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if not n:
        return x
    if isinstance(shift, Value):
        concrete = shift.concrete()
        if concrete is None:
            shift = cast(shift.reshape(()), dtypes.int32)
            start = literal(n, dtypes.int32) - shift % n
            doubled_x = slicing.concatenate(x, x, dimension=axis)
            zero = literal(0, dtypes.int32)
            starts = [start if i == axis else zero for i in range(x.ndim)]
            return dynamic_slice(doubled_x, *starts, sizes=x.shape)
        shift = concrete.item()
    shift = as_int("roll", shift, "shift") % n
    if not shift:
        return x
    head, tail = slicing.split(x, sizes=(n - shift, shift), axis=axis)
    return slicing.concatenate(tail, head, dimension=axis)
