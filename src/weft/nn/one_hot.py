"""one_hot: encodes integers as unit vectors."""

from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.parallel import axis_index, axis_size
from ..numpy.axes import as_int, one_axis
from ..numpy.creation import asarray, dtype_argument
from ..numpy.plans import composite
from ..numpy.promotion import cast, value
from ..primitives import comparison, structural
from ..primitives.creation import iota
from ..typing import ArrayLike, DTypeLike

__all__ = ["one_hot"]


@composite
def _one_hot(x: Any, *, classes: int, dtype: Any, axis: int) -> Any:
    shape = (*x.shape[:axis], classes, *x.shape[axis:])
    dims = tuple(i for i in range(len(shape)) if i != axis)
    codes = structural.broadcast_in_dim(x, shape=tuple(
        1 if i == axis else n for i, n in enumerate(shape)), dims=dims)  # fmt: skip
    class_numbers = iota(dtype=x.aval.dtype, shape=(classes,), dimension=0)
    row = tuple(classes if i == axis else 1 for i in range(len(shape)))
    return cast(comparison.eq(codes, structural.reshape(class_numbers, shape=row)), dtype)


@located
def one_hot(
    x: ArrayLike,
    num_classes: int,
    *,
    dtype: DTypeLike | None = None,
    axis: int | str | tuple[str, ...] = -1,
) -> Array:
    """Vectors of zeros, with a one at the index of each integer.

    Args:
      x: array or list of integers. Integers outside of 0, 1, …, num_classes - 1 become zero
        vectors.
      num_classes: the length of the vectors.
      dtype: the dtype of the result; by default, the default float (float32).
      axis: the position of the new axis in the result. It may be the name of a mapped axis with
        `num_classes` elements: then each element has its own class, and the result has no new axis.
    Returns: array of the shape of `x` with one more axis.
    Raises: ValueError: an axis is out of range. TypeError: `x` is boolean or complex.
    Example:
      >>> from weft import nn
      >>> nn.one_hot(np.array([0, 2, 3]), 3)
      Array([[1., 0., 0.],
             [0., 0., 1.],
             [0., 0., 0.]], dtype=float32)
    Source: JAX documentation, `jax.nn.one_hot`.
    """
    name = "one_hot"
    v = asarray(x) if isinstance(x, (list, tuple)) else value(name, x)
    if not (dtypes.is_integer(v.dtype) or dtypes.is_float(v.dtype)):
        raise ShapeError(f"{name}: x must be of integers; got {v.aval}\n  fix: x.astype(int)")
    classes = as_int(name, num_classes, "num_classes")
    if classes < 0:
        raise ValueError(f"{name}: num_classes must be at least 0; got {classes}")
    result_dtype = dtype_argument(name, dtype)
    result_dtype = dtypes.default_float() if result_dtype is None else result_dtype
    if isinstance(axis, (str, tuple)):
        axis_length = axis_size(axis)
        if axis_length != classes:
            raise ValueError(
                f"{name}: axis {axis!r} has {axis_length} elements; expected num_classes, {classes}"
            )
        return cast(comparison.eq(v, cast(axis_index(axis), v.aval.dtype)), result_dtype)
    class_axis = one_axis(name, axis, v.ndim + 1)
    if v.dtype.itemsize < 4:  # classes may exceed its range
        v = cast(v, dtypes.int32 if dtypes.is_integer(v.dtype) else dtypes.float32)
    return _one_hot(v, classes=classes, dtype=result_dtype, axis=class_axis)
