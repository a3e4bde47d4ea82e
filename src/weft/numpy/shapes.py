"""Shapes and axes: the same elements, or repeated ones, in another arrangement."""

import math
import operator
from collections.abc import Sequence
from typing import Any

from ..core.array import Array
from ..core.source import located
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import slicing, structural
from ..typing import ArrayLike, Axes, Axis, Shape, ShapeLike
from .axes import all_axes, axes_of, no_bool, one_axis, shape_tuple, whole_number
from .creation import broadcast
from .plans import rearranged
from .promotion import known_aval, noted, value

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "iterable",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def _reshape_to(x: Value, shape: Any) -> tuple[tuple[str, Any], ...] | None:
    lengths = _lengths("reshape", x.aval, shape)
    return None if lengths == x.aval.shape else (("shape", lengths),)


def _transpose_by(x: Value, axes: Any) -> tuple[tuple[str, Any], ...] | None:
    n = x.aval.ndim
    if axes is None:
        order = tuple(range(n))[::-1]
    else:
        order = tuple([one_axis("transpose", i, n, "axes") for i in axes_of(axes)])
        if sorted(order) != list(range(n)):
            raise noted(
                ShapeError(
                    f"transpose: axes must name each of the {n} axes once; got {tuple(axes)}\n"
                    f"  fix: each of 0 to {n - 1}, in the new order"
                )
            )
    return None if order == tuple(range(n)) else (("permutation", order),)


_reshape = rearranged(structural.reshape, _reshape_to, "reshape")
_transpose = rearranged(structural.transpose, _transpose_by, "transpose")


def reshape(
    a: ArrayLike,
    shape: ShapeLike | None = None,
    order: str = "C",
    *,
    copy: bool | None = None,
    newshape: ShapeLike | None = None,
) -> Array:
    """The same elements in another shape.

    Args:
      a: array of any shape.
      shape: an int or a sequence of ints with the same product; one of them may be -1.
      order: 'C', the last axis varies fastest, or 'F', the first one does.
      copy: for the array API's sake; arrays are immutable.
      newshape: an older name of `shape`.
    Returns: array of shape `shape`.
    Raises: TypeError: the numbers of elements differ.
    Example:
      >>> np.reshape(np.arange(4), (2, -1))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    """
    if newshape is not None:
        if shape is not None:
            raise noted(TypeError("reshape: shape and newshape are one thing; got both"))
        shape = newshape
    if order == "C":
        return _reshape(a, shape)
    x = value("reshape", a, "a")
    if order == "F":
        return transpose(reshape(transpose(x), _lengths("reshape", x.aval, shape)[::-1]))
    if order == "A":
        raise noted(
            NotImplementedError("reshape: order='A' has no meaning: arrays have no memory order")
        )
    raise noted(ValueError(f"reshape: order must be 'C' or 'F'; got {order!r}"))


def _lengths(name: str, aval: Any, shape: Any) -> Shape:
    """The shape to reshape to, with -1 replaced."""
    try:
        lengths = tuple(shape)
    except TypeError:
        lengths = (shape,)
    lengths = tuple(
        [n if n.__class__ is int else no_bool(name, n, "a length in shape") for n in lengths]
    )
    unknown = lengths.count(-1)
    if unknown == 1:
        known = -math.prod(lengths)
        if (known and aval.size % known == 0) or (not known and not aval.size):
            fill = aval.size // known if known else 0
            return tuple([fill if n == -1 else n for n in lengths])
    if unknown or any(n < 0 for n in lengths) or math.prod(lengths) != aval.size:
        raise noted(
            ShapeError(
                f"{name}: {aval} has {aval.size} elements, which don't fill shape {lengths}\n"
                "  fix: the products of the lengths must be equal; one length may be -1"
            )
        )
    return lengths


def ravel(a: ArrayLike, order: str = "C") -> Array:
    """The elements along one axis.

    Args:
      a: array of any shape.
      order: 'C', the last axis varies fastest, or 'F', the first one does.
    Returns: array [size of `a`].
    Example:
      >>> np.ravel(np.ones((2, 2)))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    if order == "K":
        raise noted(
            NotImplementedError("ravel: order='K' has no meaning: arrays have no memory order")
        )
    return reshape(a, -1, order)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The axes in another order: reversed, or as told.

    Args:
      a: array [n0, …, nk].
      axes: a permutation of 0 … k; axis i of the result is axis axes[i] of `a`.
    Returns: array with the lengths permuted.
    Raises: ValueError: `axes` is no permutation.
    Example:
      >>> np.transpose(np.ones((2, 3))).shape
      (3, 2)
    """
    return _transpose(a, axes)


def permute_dims(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The axes in another order, as the array API standard calls it; see `transpose`.

    Args:
      a: array [n0, …, nk].
      axes: a permutation of 0 … k; in reverse order by default.
    Returns: array with the lengths permuted.
    Example:
      >>> np.permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    x = value("permute_dims", a, "a")
    return transpose(x, None if axes is None else all_axes("permute_dims", tuple(axes), x))


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The array with its last two axes swapped.

    Args:
      x: array [batch…, n, m].
    Returns: array [batch…, m, n].
    Example:
      >>> np.matrix_transpose(np.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    v = value("matrix_transpose", x)
    if v.ndim < 2:
        raise noted(ShapeError(f"matrix_transpose: expected at least two axes; got {v.aval}"))
    return swapaxes(v, -1, -2)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """The array with two axes swapped.

    Example:
      >>> np.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    x = value("swapaxes", a, "a")
    i = one_axis("swapaxes", axis1, x, "axis1")
    j = one_axis("swapaxes", axis2, x, "axis2")
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return transpose(x, tuple(order))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Axes moved to other places; the others keep their order.

    Args:
      a: array of any shape.
      source, destination: an axis each, or sequences of the same length.
    Example:
      >>> np.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    x = value("moveaxis", a, "a")
    froms = all_axes("moveaxis", source, x, "source")
    tos = all_axes("moveaxis", destination, x, "destination")
    if len(froms) != len(tos):
        raise noted(
            ShapeError(
                f"moveaxis: source and destination must be of one length; got {source} and "
                f"{destination}"
            )
        )
    order = [i for i in range(x.ndim) if i not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return transpose(x, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """An axis moved in front of another.

    Example:
      >>> np.rollaxis(np.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    x = value("rollaxis", a, "a")
    i = one_axis("rollaxis", axis, x)
    start = whole_number("rollaxis", start, "start")
    if not -x.ndim <= start <= x.ndim:
        raise noted(AxisError(f"rollaxis: start {start} is out of range for {x.aval}"))
    to = start + x.ndim if start < 0 else start
    return moveaxis(x, i, to - (i < to))


def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """The array without axes of length one.

    Args:
      a: array of any shape.
      axis: the axes to drop, which must have length one; all such axes if left out.
    Example:
      >>> np.squeeze(np.ones((1, 3, 1))).shape
      (3,)
    """
    x = value("squeeze", a, "a")
    lengths = x.aval.shape
    if axis is None:
        return reshape(x, tuple([n for n in lengths if n != 1]))
    drop = all_axes("squeeze", axis, x)
    for i in drop:
        if lengths[i] != 1:
            raise noted(ShapeError(f"squeeze: axis {i} of {x.aval} is not of length 1"))
    return reshape(x, tuple([n for i, n in enumerate(lengths) if i not in drop]))


def expand_dims(a: ArrayLike, axis: int | Sequence[int] = 0) -> Array:
    """The array with new axes of length one.

    Args:
      a: array of any shape.
      axis: where the new axes are in the result.
    Example:
      >>> np.expand_dims(np.arange(3), 0)
      Array([[0, 1, 2]], dtype=int32)
    """
    x = value("expand_dims", a, "a")
    axes = axes_of(axis)
    total = x.ndim + len(axes)
    new = all_axes("expand_dims", tuple(axes), total)
    lengths = iter(x.aval.shape)
    target = tuple([1 if i in new else next(lengths) for i in range(total)])
    return reshape(x, target)


# --- broadcasting ---


def broadcast_to(array: ArrayLike, shape: ShapeLike) -> Array:
    """The array repeated along axes of length one, and along new axes in front.

    Args:
      array: array that broadcasts to the shape.
      shape: an int or a sequence of ints.
    Raises: ValueError: it doesn't broadcast to the shape.
    Example:
      >>> np.broadcast_to(np.arange(2), (2, 2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    x = value("broadcast_to", array, "array")
    return broadcast("broadcast_to", x, shape_tuple("broadcast_to", shape))


def broadcast_shapes(*shapes: ShapeLike) -> Shape:
    """The shape that arrays of these shapes broadcast to.

    Raises: ValueError: they don't broadcast together.
    Example:
      >>> np.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    known = [shape_tuple("broadcast_shapes", s) for s in shapes]
    return joint_shape("broadcast_shapes", known)


def joint_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """NumPy's broadcasting of shapes."""
    if not shapes:
        return ()
    if all(s == shapes[0] for s in shapes):
        return shapes[0]
    result = []
    for axis in range(-max(map(len, shapes)), 0):
        lengths = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(lengths) > 1:
            raise noted(
                ShapeError(
                    f"{name}: shapes don't broadcast together: "
                    f"{', '.join(map(str, shapes))} differ on axis {axis}\n"
                    "  fix: axes are aligned from the right and must be equal or 1"
                )
            )
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Arrays broadcast to one shape.

    Example:
      >>> [x.shape for x in np.broadcast_arrays(np.ones((2, 1)), np.ones(3))]
      [(2, 3), (2, 3)]
    """
    xs = [value("broadcast_arrays", x, f"argument {i}") for i, x in enumerate(args)]
    target = joint_shape("broadcast_arrays", [x.aval.shape for x in xs])
    return [structural.widen(x, target) for x in xs]


def _at_least(name: str, arrays: tuple[Any, ...], grow: Any) -> Any:
    results = []
    for i, a in enumerate(arrays):
        x = value(name, a, f"argument {i}")
        results.append(reshape(x, grow(x.aval.shape)))
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with at least one axis.

    Example:
      >>> np.atleast_1d(1.0).shape
      (1,)
    """
    return _at_least("atleast_1d", arys, lambda s: s or (1,))


def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays with at least two axes; new ones are in front.

    Example:
      >>> np.atleast_2d(np.arange(3)).shape
      (1, 3)
    """
    return _at_least("atleast_2d", arys, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with at least three axes: [n] becomes [1, n, 1], [n, m] becomes [n, m, 1].

    Example:
      >>> np.atleast_3d(np.arange(3)).shape
      (1, 3, 1)
    """

    def grow(s: Shape) -> Shape:
        return {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s)

    return _at_least("atleast_3d", arys, grow)


# --- turning ---


def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """The elements in reverse order along axes (all of them by default).

    Example:
      >>> np.flip(np.arange(3))
      Array([2, 1, 0], dtype=int32)
    """
    return reversed_along("flip", value("flip", m, "m"), axis)


def reversed_along(name: str, x: Any, axis: Any) -> Any:
    """Elements in reverse order; nothing is done where there is a single one."""
    axes = tuple([i for i in sorted(all_axes(name, axis, x)) if x.shape[i] > 1])
    return slicing.rev(x, dimensions=axes) if axes else x


def fliplr(m: ArrayLike) -> Array:
    """The elements in reverse order along axis 1.

    Example:
      >>> np.fliplr(np.array([[1, 2]]))
      Array([[2, 1]], dtype=int32)
    """
    return reversed_along("fliplr", value("fliplr", m, "m"), 1)


def flipud(m: ArrayLike) -> Array:
    """The elements in reverse order along axis 0.

    Example:
      >>> np.flipud(np.array([1, 2]))
      Array([2, 1], dtype=int32)
    """
    return reversed_along("flipud", value("flipud", m, "m"), 0)


@located
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """The array turned by `k` right angles in the plane of two axes, from the first to the second.

    Example:
      >>> np.rot90(np.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    x = value("rot90", m, "m")
    first, second = all_axes("rot90", tuple(axes), x.ndim, "axes")
    k = operator.index(k) % 4
    if k == 2:
        return reversed_along("rot90", x, (first, second))
    if k == 1:
        return swapaxes(reversed_along("rot90", x, second), first, second)
    if k == 3:
        return reversed_along("rot90", swapaxes(x, first, second), second)
    return x


@located
def resize(a: ArrayLike, new_shape: ShapeLike) -> Array:
    """The elements, repeated or cut off as needed, in another shape.

    Example:
      >>> np.resize(np.arange(3), (2, 2))
      Array([[0, 1],
             [2, 0]], dtype=int32)
    """
    x = ravel(value("resize", a, "a"))
    target = shape_tuple("resize", new_shape, "new_shape")
    total = math.prod(target)
    if not x.size:  # zeros, as in NumPy
        return structural.full(x.aval.update(shape=target, weak_type=False), 0)
    times = -(-total // x.size)
    if times > 1:
        x = reshape(structural.widen(x, (times, x.size)), -1)
    if x.size != total:
        x = slice_along(x, 0, 0, total)
    return reshape(x, target)


# --- questions ---


def shape(a: ArrayLike) -> Shape:
    """The lengths of the axes.

    Example:
      >>> np.shape(np.ones((2, 3)))
      (2, 3)
    """
    return known_aval("shape", a).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes.

    Example:
      >>> np.ndim(np.ones((2, 3)))
      2
    """
    return known_aval("ndim", a).ndim


def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of elements, or the length of an axis.

    Example:
      >>> np.size(np.ones((2, 3))), np.size(np.ones((2, 3)), 0)
      (6, 2)
    """
    aval = known_aval("size", a)
    return aval.size if axis is None else aval.shape[one_axis("size", axis, aval.ndim)]


def iterable(y: Any) -> bool:
    """True if it can be iterated over.

    Example:
      >>> np.iterable([1]), np.iterable(1)
      (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True
