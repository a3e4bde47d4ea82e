"""concatenate and stack join arrays; split and unstack split them. Nothing is promoted."""

from collections.abc import Sequence

from ..core.array import Array, as_value
from ..core.source import located
from ..errors import AxisError, ShapeError
from ..option_checks import ints_of
from ..primitives import slicing, structural
from ..typing import ArrayLike
from .axes import axis_of, int_of, items_of, number_of_axis

__all__ = ["concatenate", "split", "stack", "unstack"]


@located
def concatenate(operands: Array | Sequence[ArrayLike], dimension: int) -> Array:
    """Concatenates arrays along a dimension.

    Args:
      operands: arrays of one dtype that differ in length along `dimension` only; or an array, whose
        slices along its first axis are the operands.
      dimension: 0 ≤ dimension < number of axes.
    Returns: array, whose length along `dimension` is the sum of theirs.
    Raises: TypeError: shapes or dtypes are inconsistent. ValueError: no operands.
    Source: StableHLO `concatenate`.
    Example:
      >>> lax.concatenate([np.arange(2), np.arange(3)], 0).tolist()
      [0, 1, 0, 1, 2]
    """
    xs = [as_value(x) for x in items_of("concatenate", "operands", operands)]
    if len(xs) == 1:
        axis_of("concatenate", xs[0], dimension)
        return xs[0]
    return slicing.concatenate(*xs, dimension=int_of("concatenate", "dimension", dimension))


@located
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Splits an array along an axis.

    Args:
      operand: array, any dtype.
      sizes: the parts' lengths along `axis`.
      axis: negative ones count from the end.
    Returns: a list of arrays, one for each size.
    Raises: ValueError: the sum of the sizes is not the length of the axis.
    Example:
      >>> [x.tolist() for x in lax.split(np.arange(4), (1, 3))]
      [[0], [1, 2, 3]]
    """
    x = as_value(operand)
    dim = axis_of("split", x, axis)
    lengths = ints_of("split", "sizes", sizes)
    return slicing.split(x, sizes=lengths, axis=dim)


@located
def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Stacks arrays of one shape along a new axis.

    Args:
      operands: arrays of one shape and dtype, at least one.
      axis: the position of the new axis in the result; negative ones count from the end.
    Returns: array with one more axis.
    Raises: TypeError: shapes or dtypes differ. ValueError: there are no operands, or the axis is
      out of range.
    Source: JAX documentation, `jax.lax.stack`.
    Example:
      >>> lax.stack([np.array([1, 2]), np.array([3, 4])], axis=1).tolist()
      [[1, 3], [2, 4]]
    """
    xs = [as_value(x) for x in items_of("stack", "operands", operands)]
    if not xs:
        raise ValueError("stack: expected at least one operand; got none")
    first_operand = xs[0]
    for x in xs[1:]:
        if x.shape != first_operand.shape or x.dtype != first_operand.dtype:
            raise ShapeError(
                f"stack: operands must have one shape and dtype; got {first_operand.aval} and "
                f"{x.aval}"
            )
    number = number_of_axis("stack", axis)
    ndim = first_operand.ndim + 1
    if not -ndim <= number < ndim:
        raise AxisError(f"stack: axis {number} is out of range for a result with {ndim} axes")
    dim = number % ndim
    shape = (*first_operand.shape[:dim], 1, *first_operand.shape[dim:])
    parts = [structural.reshape(x, shape=shape) for x in xs]
    return parts[0] if len(parts) == 1 else slicing.concatenate(*parts, dimension=dim)


@located
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an array along an axis, each without it.

    Args:
      x: array with at least one axis.
      axis: the axis to split; negative ones count from the end.
    Returns: a tuple, as long as the axis.
    Raises: ValueError: the axis is out of range.
    Source: JAX documentation, `jax.lax.unstack`.
    Example:
      >>> [part.tolist() for part in lax.unstack(np.array([[1, 2], [3, 4]]), axis=1)]
      [[1, 3], [2, 4]]
    """
    v = as_value(x)
    dim = axis_of("unstack", v, axis)
    shape = (*v.shape[:dim], *v.shape[dim + 1 :])
    parts = []
    for i in range(v.shape[dim]):
        start = tuple([i if a == dim else 0 for a in range(v.ndim)])
        limit = tuple([i + 1 if a == dim else n for a, n in enumerate(v.shape)])
        part = slicing.slice_(v, start=start, limit=limit, strides=(1,) * v.ndim)
        parts.append(structural.reshape(part, shape=shape))
    return tuple(parts)
