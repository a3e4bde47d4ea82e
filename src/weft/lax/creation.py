"""New arrays: iota, broadcasted_iota, full, full_like, empty, zeros_like_array. Nothing is
promoted."""

from typing import Any

from .. import dtypes
from ..core.array import Array, as_value
from ..core.aval import aval
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..option_checks import shape_of
from ..primitives import creation, structural
from ..primitives.structural import convert_element_type
from ..transforms.devices.device_put import device_put
from ..typing import ArrayLike, DTypeLike, Shape
from .axes import int_of
from .operands import scalar_as, uncommitted

__all__ = ["broadcasted_iota", "empty", "full", "full_like", "iota", "zeros_like_array"]


@located
def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, 2, …, size - 1.

    Args:
      dtype: an integer, float or complex dtype.
      size: the number of elements.
    Returns: array [size].
    Raises: TypeError: an unsupported dtype. ValueError: a negative size.
    Source: StableHLO `iota`.
    Example:
      >>> lax.iota("int32", 3).tolist()
      [0, 1, 2]
    """
    return broadcasted_iota(dtype, (size,), 0)


@located
def broadcasted_iota(dtype: DTypeLike, shape: Shape, dimension: int) -> Array:
    """An array whose elements are their indices along one dimension.

    Args:
      dtype: an integer, float or complex dtype.
      shape: the shape of the array.
      dimension: the dimension of the indices.
    Returns: array [*shape].
    Raises: TypeError: an unsupported dtype. ValueError: the dimension is out of range.
    Source: StableHLO `iota`.
    Example:
      >>> lax.broadcasted_iota("uint8", (2, 3), 1).tolist()
      [[0, 1, 2], [0, 1, 2]]
    """
    kind = dtypes.requested_dtype(dtype, "iota")
    axis = int_of("broadcasted_iota", "dimension", dimension)
    return creation.iota(dtype=kind, shape=shape_of("iota", shape), dimension=axis)


@located
def full(
    shape: Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: Any = None,
) -> Array:
    """An array filled with one number.

    Args:
      shape: the shape of the array.
      fill_value: a scalar.
      dtype: the dtype of the array; by default the scalar's (weak for a Python number).
      sharding: a sharding or a device for the array, as in `device_put`.
    Returns: array [*shape].
    Raises: TypeError: `fill_value` is not a scalar. ValueError: the sharding cannot divide the
      array.
    Example:
      >>> lax.full((2,), 7, "float32").tolist()
      [7.0, 7.0]
    """
    kind = None if dtype is None else dtypes.requested_dtype(dtype, "full")
    x = as_value(fill_value) if kind is None else scalar_as("full", fill_value, kind)
    if x.ndim:
        raise ShapeError(f"full: fill_value must be a scalar; got {x.aval}")
    if kind is not None:
        x = convert_element_type(x, dtype=kind)
    return _filled(x, shape_of("full", shape), sharding)


@located
def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    sharding: Any = None,
) -> Array:
    """An array filled with one number, with the shape and dtype of another.

    Args:
      x: an array, or anything with a shape and a dtype.
      fill_value: a scalar.
      dtype, shape: replace those of `x`.
      sharding: as in `full`; by default that of `x`, if `x` is committed and the shape is the same.
    Returns: array.
    Raises: as `full`.
    Example:
      >>> lax.full_like(np.zeros((2,), np.int8), 7)
      Array([7, 7], dtype=int8)
    """
    if not isinstance(x, Value) and not (hasattr(x, "shape") and hasattr(x, "dtype")):
        x = as_value(x)
    out_dtype = dtypes.canonicalize_dtype(x.dtype if dtype is None else dtype)
    weak_type = dtype is None and getattr(x, "weak_type", False)
    number = scalar_as("full_like", fill_value, out_dtype)
    if number.ndim:
        raise ShapeError(f"full_like: fill_value must be a scalar; got {number.aval}")
    lengths = tuple(x.shape) if shape is None else shape_of("full_like", shape)
    number = convert_element_type(number, dtype=out_dtype, weak_type=weak_type)
    return _filled(number, lengths, sharding_like(x, shape) if sharding is None else sharding)


def sharding_like(x: Any, shape: Any) -> Any:
    """The sharding that an array like `x` has outside transformations, `None` for the default one.

    Args:
      shape: the shape of the array; `None` for the shape of `x`.
    """
    if type(x) is not Array or uncommitted(x) or not current.trace.computes:
        return None
    has_same_shape = shape is None or tuple(shape) == x.shape
    return x.sharding if has_same_shape and x.is_fully_addressable else None


def _filled(number: Any, shape: tuple[int, ...], sharding: Any) -> Any:
    out = structural.broadcast_in_dim(number, shape=shape, dims=()) if shape else number
    return out if sharding is None else device_put(out, sharding)


@located
def empty(shape: Shape, dtype: DTypeLike) -> Array:
    """An array of zeros, to be overwritten.

    Args:
      shape: the shape of the array.
      dtype: the dtype of the array.
    Returns: array [*shape].
    Example:
      >>> lax.empty((2,), "int32").tolist()
      [0, 0]
    """
    kind = dtypes.requested_dtype(dtype, "empty")
    return creation.zeros(aval(shape_of("empty", shape), kind))


def zeros_like_array(x: ArrayLike) -> Array:
    """Zeros of the shape and dtype of `x`.

    Args:
      x: array.
    Returns: array like `x`.
    Example:
      >>> lax.zeros_like_array(np.float32([1, 2])).tolist()
      [0.0, 0.0]
    """
    return full_like(x, 0)
