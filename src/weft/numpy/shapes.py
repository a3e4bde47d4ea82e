"""The shape of arrays and the order of their axes.

reshape, ravel, resize; transpose, permute_dims, matrix_transpose, swapaxes, moveaxis, rollaxis;
squeeze, expand_dims, atleast_1d, atleast_2d, atleast_3d; broadcast_to, broadcast_shapes,
broadcast_arrays; shape, ndim, size, iterable.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..core.array import Array
from ..core.source import located
from ..core.value import Value
from ..errors import AxisError, ShapeError
from ..lax.axes import items_of, slice_along
from ..primitives import creation, structural
from ..typing import ArrayLike, Axes, Axis, Shape, ShapeLike
from .axes import all_axes, as_int, axes_of, one_axis, shape_tuple, strict_int
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
    "iterable",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
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
                    f"transpose: axes must name each of the {n} axes once; got "
                    f"{tuple(axes_of(axes))}\n"
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
    """Gives an array a new shape.

    Args:
      a: array of any shape.
      shape: an int or a sequence of ints with the same product; one of them may be -1.
      order: 'C': the last axis varies fastest; 'F': the first axis does.
      copy: ignored, because arrays are immutable.
      newshape: the older name for `shape`.
    Returns: array of shape `shape`.
    Raises: TypeError: the numbers of elements differ.
    Example:
      >>> np.reshape(np.arange(4), (2, -1))
      Array([[0, 1],
             [2, 3]], dtype=int32)
    """
    if newshape is not None:
        if shape is not None:
            raise noted(TypeError("reshape: newshape is the older name of shape; got both"))
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
    """The shape to reshape to, with -1 replaced by a length."""
    try:
        lengths = tuple(shape)
    except TypeError:
        lengths = (shape,)
    lengths = tuple(
        [n if n.__class__ is int else strict_int(name, n, "a length in shape") for n in lengths]
    )
    unknown_count = lengths.count(-1)
    if unknown_count == 1:
        product = -math.prod(lengths)
        if (product and aval.size % product == 0) or (not product and not aval.size):
            fill = aval.size // product if product else 0
            return tuple([fill if n == -1 else n for n in lengths])
    if unknown_count > 1:
        raise noted(
            ShapeError(
                f"{name}: one length may be -1; got shape {lengths}\n  fix: give the other lengths"
            )
        )
    if unknown_count or any(n < 0 for n in lengths) or math.prod(lengths) != aval.size:
        raise noted(
            ShapeError(
                f"{name}: {aval} has {aval.size} elements, which do not fill shape {lengths}\n"
                "  fix: the products of the lengths must be equal; one length may be -1"
            )
        )
    return lengths


def ravel(a: ArrayLike, order: str = "C") -> Array:
    """The array flattened to one axis.

    Args:
      a: array of any shape.
      order: 'C': the last axis varies fastest; 'F': the first axis does.
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
    """Permutes the axes of an array; by default reverses them.

    Args:
      a: array [n0, …, nk].
      axes: a permutation of 0 … k; axis i of the result is axis axes[i] of `a`.
    Returns: array with the lengths permuted.
    Raises: ValueError: `axes` is not a permutation.
    Example:
      >>> np.transpose(np.ones((2, 3))).shape
      (3, 2)
    """
    return _transpose(a, axes)


def permute_dims(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Permutes the axes of an array; the array API standard's name for `transpose`.

    Args:
      a: array [n0, …, nk].
      axes: a permutation of 0 … k; by default the reverse order.
    Returns: array with the lengths permuted.
    Example:
      >>> np.permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    x = value("permute_dims", a, "a")
    if axes is not None:
        axes = all_axes("permute_dims", items_of("permute_dims", "axes", axes, "ints"), x, "axes")
    return transpose(x, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Transposes matrices: swaps the last two axes.

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
    """Swaps two axes of an array.

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
    """Moves axes to other positions; the remaining axes keep their order.

    Args:
      a: array of any shape.
      source, destination: the old and new positions: ints, or sequences of equal length.
    Example:
      >>> np.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    x = value("moveaxis", a, "a")
    sources = all_axes("moveaxis", source, x, "source")
    destinations = all_axes("moveaxis", destination, x, "destination")
    if len(sources) != len(destinations):
        raise noted(
            ShapeError(
                f"moveaxis: source and destination must have equal lengths; got {source} and "
                f"{destination}"
            )
        )
    order = [i for i in range(x.ndim) if i not in sources]
    for position, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(position, axis)
    return transpose(x, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Moves an axis before another axis.

    Example:
      >>> np.rollaxis(np.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    x = value("rollaxis", a, "a")
    i = one_axis("rollaxis", axis, x)
    start = as_int("rollaxis", start, "start")
    if not -x.ndim <= start <= x.ndim:
        raise noted(AxisError(f"rollaxis: start {start} is out of range for {x.aval}"))
    position = start + x.ndim if start < 0 else start
    return moveaxis(x, i, position - (i < position))


def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """Removes axes of length one.

    Args:
      a: array of any shape.
      axis: the axes to remove, which must have length one; by default all such axes.
    Example:
      >>> np.squeeze(np.ones((1, 3, 1))).shape
      (3,)
    """
    x = value("squeeze", a, "a")
    lengths = x.aval.shape
    if axis is None:
        return reshape(x, tuple([n for n in lengths if n != 1]))
    squeezed_axes = all_axes("squeeze", axis, x)
    for i in squeezed_axes:
        if lengths[i] != 1:
            raise noted(ShapeError(f"squeeze: axis {i} of {x.aval} is not of length 1"))
    return reshape(x, tuple([n for i, n in enumerate(lengths) if i not in squeezed_axes]))


def expand_dims(a: ArrayLike, axis: int | Sequence[int] = 0) -> Array:
    """Inserts axes of length one.

    Args:
      a: array of any shape.
      axis: the positions of the new axes in the result.
    Example:
      >>> np.expand_dims(np.arange(3), 0)
      Array([[0, 1, 2]], dtype=int32)
    """
    x = value("expand_dims", a, "a")
    axes = axes_of(axis)
    total = x.ndim + len(axes)
    new_axes = all_axes("expand_dims", tuple(axes), total)
    lengths = iter(x.aval.shape)
    target = tuple([1 if i in new_axes else next(lengths) for i in range(total)])
    return reshape(x, target)


# --- broadcasting ---


def broadcast_to(array: ArrayLike, shape: ShapeLike) -> Array:
    """Broadcasts an array to a shape.

    Args:
      array: array that broadcasts to the shape.
      shape: an int or a sequence of ints.
    Raises: ValueError: the array does not broadcast to the shape.
    Example:
      >>> np.broadcast_to(np.arange(2), (2, 2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    x = value("broadcast_to", array, "array")
    return broadcast("broadcast_to", x, shape_tuple("broadcast_to", shape))


def broadcast_shapes(*shapes: ShapeLike) -> Shape:
    """The shape to which shapes broadcast.

    Raises: ValueError: the shapes do not broadcast together.
    Example:
      >>> np.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    lengths = [shape_tuple("broadcast_shapes", s, "shapes") for s in shapes]
    return joint_shape("broadcast_shapes", lengths)


def joint_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape to which shapes broadcast; the error names the function."""
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
                    f"{name}: shapes do not broadcast together: "
                    f"{', '.join(map(str, shapes))} differ on axis {axis}\n"
                    "  fix: axes are aligned from the right and must be equal or 1"
                )
            )
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Broadcasts arrays to a common shape.

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
    """Arrays with at least two axes; new axes are added at the front.

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


@located
def resize(a: ArrayLike, new_shape: ShapeLike) -> Array:
    """The elements in another shape, repeated or truncated as needed.

    Example:
      >>> np.resize(np.arange(3), (2, 2))
      Array([[0, 1],
             [2, 0]], dtype=int32)
    """
    x = ravel(value("resize", a, "a"))
    lengths = shape_tuple("resize", new_shape, "new_shape")
    total = math.prod(lengths)
    if not x.size:  # NumPy gives zeros
        return creation.full(x.aval.update(shape=lengths, weak_type=False), 0)
    repeats = -(-total // x.size)
    if repeats > 1:
        x = reshape(structural.widen(x, (repeats, x.size)), -1)
    if x.size != total:
        x = slice_along(x, 0, 0, total)
    return reshape(x, lengths)


# --- attributes ---


def shape(a: ArrayLike) -> Shape:
    """The shape of an array.

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
    """True if an object is iterable.

    Example:
      >>> np.iterable([1]), np.iterable(1)
      (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True
