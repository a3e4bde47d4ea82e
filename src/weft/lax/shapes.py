"""Functions that change the shape of an array or the order of its elements: reshape, broadcast,
broadcast_in_dim, broadcast_shapes, broadcast_to_rank, broadcast_like, transpose, squeeze,
expand_dims, collapse, tile, rev."""

import math
from collections.abc import Sequence
from typing import Any

from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of, shape_of
from ..primitives import slicing, structural
from ..typing import ArrayLike, Shape
from .axes import axes_of, int_of, number_of_axis

__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "expand_dims",
    "reshape",
    "rev",
    "squeeze",
    "tile",
    "transpose",
]


@located
def reshape(operand: ArrayLike, new_sizes: Shape, dimensions: Sequence[int] | None = None) -> Array:
    """Returns the elements, in row-major order, in another shape.

    Args:
      operand: array, any dtype.
      new_sizes: the lengths; their product is the number of elements.
      dimensions: the order in which the operand's axes are read; row-major by default.
    Returns: array [*new_sizes].
    Raises: TypeError: the numbers of elements differ.
    Source: StableHLO `reshape`.
    Example:
      >>> lax.reshape(np.arange(4).reshape(2, 2), (4,), (1, 0)).tolist()
      [0, 2, 1, 3]
    """
    x = as_value(operand)
    shape = shape_of("reshape", new_sizes)
    if dimensions is not None:
        order = ints_of("reshape", "dimensions", dimensions)
        if order != tuple(range(x.ndim)):
            x = structural.transpose(x, permutation=order)
    return x if x.shape == shape else structural.reshape(x, shape=shape)


@located
def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> Array:
    """Repeats an array along new leading axes.

    Args:
      operand: array [n0, …], any dtype.
      sizes: the new axes' lengths.
    Returns: array [*sizes, n0, …].
    Source: StableHLO `broadcast_in_dim`.
    Example:
      >>> lax.broadcast(np.arange(2), (3,)).tolist()
      [[0, 1], [0, 1], [0, 1]]
    """
    x = as_value(operand)
    leading_lengths = shape_of("broadcast", sizes)
    if not leading_lengths:
        return x
    dims = tuple(range(len(leading_lengths), len(leading_lengths) + x.ndim))
    return structural.broadcast_in_dim(x, shape=(*leading_lengths, *x.shape), dims=dims)


@located
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """An array broadcast to the shape of another, by NumPy's rules.

    Args:
      arr: array, any dtype, which the result keeps.
      like_arr: array of the target shape.
    Returns: array of like_arr's shape.
    Raises: ShapeError: the shapes do not broadcast.
    Example:
      >>> lax.broadcast_like(np.arange(2), np.zeros((2, 2))).tolist()
      [[0, 1], [0, 1]]
    Source: JAX documentation, `jax.lax.broadcast_like`.
    """
    x, shape = as_value(arr), as_value(like_arr).shape
    lengths = (1,) * (len(shape) - x.ndim) + x.shape
    if len(lengths) != len(shape) or any(
        m not in (1, n) for m, n in zip(lengths, shape, strict=True)
    ):
        raise ShapeError(f"broadcast_like: {x.aval} can't be broadcast to the shape {shape}")
    return structural.widen(x, shape)


@located
def broadcast_in_dim(
    operand: ArrayLike, shape: Shape, broadcast_dimensions: Sequence[int]
) -> Array:
    """Broadcasts an array to a shape, with its axes at given positions.

    Args:
      operand: array, any dtype.
      shape: the shape of the result.
      broadcast_dimensions: the position of each axis of the operand in `shape`, increasing. An axis
        of length one is repeated; others have the length in `shape`.
    Returns: array [*shape].
    Raises: ValueError: the operand cannot be broadcast.
    Source: StableHLO `broadcast_in_dim`.
    Example:
      >>> lax.broadcast_in_dim(np.arange(2), (2, 3), (0,)).tolist()
      [[0, 0, 0], [1, 1, 1]]
    """
    x = as_value(operand)
    lengths = shape_of("broadcast_in_dim", shape)
    dims = ints_of("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if x.shape == lengths and dims == tuple(range(x.ndim)):
        return x
    return structural.broadcast_in_dim(x, shape=lengths, dims=dims)


@located
def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape to which arrays of these shapes broadcast.

    Args:
      shapes: tuples of ints; aligned from the right, lengths are equal or 1.
    Returns: a tuple of ints.
    Raises: ValueError: they do not broadcast.
    Example:
      >>> lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    checked_shapes = [shape_of("broadcast_shapes", s) for s in shapes]
    result: list[int] = []
    for axis in range(-max(map(len, checked_shapes), default=0), 0):
        lengths = {s[axis] for s in checked_shapes if len(s) >= -axis} - {1}
        if len(lengths) > 1:
            raise ShapeError(
                f"broadcast_shapes: shapes {', '.join(map(str, checked_shapes))} differ on axis "
                f"{axis}"
            )
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


@located
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """An array with leading axes of length one, up to a number of axes.

    Args:
      x: array.
      rank: the number of axes, at least `x.ndim`.
    Returns: array [1, …, *x.shape].
    Raises: ValueError: `x` has more axes.
    Example:
      >>> lax.broadcast_to_rank(np.arange(2), 3).shape
      (1, 1, 2)
    """
    value, ndim = as_value(x), int_of("broadcast_to_rank", "rank", rank)
    if value.ndim > ndim:
        raise ShapeError(f"broadcast_to_rank: {value.aval} has more than {ndim} axes")
    return reshape(value, (1,) * (ndim - value.ndim) + value.shape)


@located
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permutes the axes of an array.

    Args:
      operand: array, any dtype.
      permutation: for each axis of the result, the operand's axis.
    Returns: array.
    Raises: ValueError: not a permutation of the axes.
    Source: StableHLO `transpose`.
    Example:
      >>> lax.transpose(np.zeros((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    x = as_value(operand)
    order = ints_of("transpose", "permutation", permutation)
    if order == tuple(range(x.ndim)):
        return x
    return structural.transpose(x, permutation=order)


@located
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """An array without some of its axes of length one.

    Args:
      array: any dtype.
      dimensions: the axes; negative ones count from the end.
    Returns: array.
    Raises: ValueError: an axis is out of range, repeated, or its length is not 1.
    Example:
      >>> lax.squeeze(np.zeros((1, 3, 1)), (0,)).shape
      (3, 1)
    """
    x = as_value(array)
    axes = axes_of("squeeze", x, ints_of("squeeze", "dimensions", dimensions))
    if any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"squeeze: axes {axes} of {x.aval} are not all of length 1")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in axes))


@located
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """An array with new axes of length one.

    Args:
      array: any dtype.
      dimensions: their positions in the result; negative ones count from its end.
    Returns: array.
    Raises: ValueError: an axis is out of range or repeated.
    Example:
      >>> lax.expand_dims(np.zeros((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    x = as_value(array)
    dims = ints_of("expand_dims", "dimensions", dimensions)
    rank = x.ndim + len(dims)
    if any(not -rank <= d < rank for d in dims) or len({d % rank for d in dims}) != len(dims):
        raise ShapeError(
            f"expand_dims: dimensions {dims} must be different axes of a result of {rank} axes; "
            f"got {x.aval}"
        )
    new_axes = {d % rank for d in dims}
    lengths = iter(x.shape)
    return reshape(x, tuple(1 if i in new_axes else next(lengths) for i in range(rank)))


@located
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merges neighbouring axes into one.

    Args:
      operand: array, any dtype.
      start_dimension: the first of the axes.
      stop_dimension: the axis after the last of them; by default the end. Both are the ends of a
        slice of the shape: negative ones count from the end.
    Returns: array. An empty slice inserts an axis of length 1.
    Raises: ValueError: `stop_dimension` is before `start_dimension`.
    Example:
      >>> lax.collapse(np.zeros((2, 3, 4)), 1, 3).shape
      (2, 12)
    """
    x = as_value(operand)
    ends = (start_dimension, stop_dimension)
    start, stop, _ = slice(
        *(end if end is None else number_of_axis("collapse", end) for end in ends)
    ).indices(x.ndim)
    if stop < start:
        raise ShapeError(
            f"collapse: expected start_dimension <= stop_dimension for {x.aval}; "
            f"got {start_dimension} and {stop_dimension}"
        )
    return reshape(x, (*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:]))


@located
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats an array along its axes.

    Args:
      operand: array [n0, …], any dtype.
      reps: the number of repetitions for each axis.
    Returns: array [n0 * reps[0], …].
    Raises: ValueError: the number of axes is wrong, or a number is negative.
    Example:
      >>> lax.tile(np.arange(2), (2,)).tolist()
      [0, 1, 0, 1]
    """
    x = as_value(operand)
    repetitions = shape_of("tile", reps)
    if len(repetitions) != x.ndim:
        raise ShapeError(f"tile: {x.aval} needs {x.ndim} reps; got {repetitions}")
    interleaved_shape: list[Any] = [
        n for pair in zip(repetitions, x.shape, strict=True) for n in pair
    ]
    repeated_x = structural.broadcast_in_dim(
        x, shape=tuple(interleaved_shape), dims=tuple(range(1, 2 * x.ndim, 2))
    )
    return reshape(repeated_x, tuple(r * n for r, n in zip(repetitions, x.shape, strict=True)))


@located
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses elements along some dimensions.

    Args:
      operand: array, any dtype.
      dimensions: 0 ≤ dimension < number of axes, without repetitions.
    Returns: array like `operand`.
    Raises: ValueError: a dimension is out of range or repeated.
    Source: StableHLO `reverse`.
    Example:
      >>> lax.rev(np.array([[1, 2], [3, 4]]), (1,)).tolist()
      [[2, 1], [4, 3]]
    """
    x = as_value(operand)
    return slicing.rev(x, dimensions=ints_of("rev", "dimensions", dimensions))
