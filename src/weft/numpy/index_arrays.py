"""Arrays of indices: unravel_index, ravel_multi_index, indices, ix_, mask_indices, diag_indices,
tril_indices, triu_indices, diag_indices_from, tril_indices_from, triu_indices_from."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..lax.axes import items_of
from ..primitives.arithmetic import mul, sub
from ..primitives.comparison import lt
from ..primitives.selection import clamp, where
from ..primitives.structural import add, convert_element_type
from ..transforms.arguments import check_callable
from ..typing import ArrayLike, DTypeLike, Shape
from .axes import as_int, result_length, shape_tuple
from .creation import dtype_argument, from_numpy, zeros
from .gather_indices import run_time_indices
from .indexing import coordinates
from .matrices import diagonal_number
from .promotion import cast, value
from .ranges import concrete_argument
from .shapes import reshape
from .taking import indices_in, integers

__all__ = [
    "diag_indices",
    "diag_indices_from",
    "indices",
    "ix_",
    "mask_indices",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


@located
def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Array, ...]:
    """Converts flat indices into an index along each axis.

    Args:
      indices: integers; negative ones count from the end, and those out of range are clamped.
      shape: the shape of the indexed array; it may be traced.
      order: "C" for row-major, or "F" for column-major indices.
    Returns: an integer array for each axis.
    Raises: ValueError: an invalid order.
    Example:
      >>> [i.tolist() for i in np.unravel_index(np.array([5, 11]), (3, 4))]
      [[1, 2], [1, 3]]
    """
    if order == "F":
        is_int = isinstance(shape, int) or getattr(shape, "ndim", 1) == 0
        return unravel_index(indices, shape if is_int else shape[::-1])[::-1]
    if order != "C":
        raise ValueError(f"unravel_index: order must be 'C' or 'F'; got {order!r}")
    i = integers("unravel_index", indices)
    shape_items: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(isinstance(n, Value) and n.concrete() is None for n in shape_items):
        return _unravelled(
            i, shape_items[0] if len(shape_items) == 1 and shape_items[0].ndim else shape_items
        )
    lengths = shape_tuple("unravel_index", shape)
    if i.ndim and i.size and not lengths:
        raise ValueError(f"unravel_index: an array without axes has no flat indices; got {i.aval}")
    if dtypes.bit_width(i.dtype) < 32:
        i = convert_element_type(i, dtype=dtypes.default_int())
    total = math.prod(lengths)
    i = run_time_indices(total, i, True)
    last_index = literal(max(total - 1, 0), i.dtype)
    return tuple(coordinates(clamp(literal(0, i.dtype), i, last_index), lengths))


def _unravelled(indices: Any, shape: Iterable[Any]) -> tuple[Array, ...]:
    """Like `unravel_index`, for lengths known only at run time."""
    int_dtype = dtypes.default_int()
    indices = cast(indices, dtypes.promote_types(indices.dtype, int_dtype))
    lengths = [cast(integers("unravel_index", n, "shape"), indices.dtype) for n in shape]
    zero, total = literal(0, indices.dtype), literal(1, indices.dtype)
    for n in lengths:
        total = mul(total, n)
    indices = where(lt(indices, zero), add(indices, total), indices)
    indices = clamp(zero, indices, sub(total, literal(1, indices.dtype)))
    return tuple(coordinates(indices, lengths))


@located
def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str | Sequence[str] = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Converts an index along each axis into flat indices.

    Args:
      multi_index: integer arrays, one for each axis.
      dims: the shape of the indexed array.
      mode: for indices out of range: "raise" an error (the indices must be known), "clip" or
        "wrap"; or one mode for each axis.
      order: "C" for row-major, or "F" for column-major indices.
      dtype: integer dtype of the result; by default the default integer.
    Returns: integer array.
    Raises: ValueError: an index is out of range. TypeError: `dtype` is not an integer dtype,
      or cannot represent the last index.
    Example:
      >>> np.ravel_multi_index((np.array([1, 2]), np.array([3, 0])), (3, 4)).tolist()
      [7, 8]
    """
    name = "ravel_multi_index"
    lengths = shape_tuple(name, dims, "dims")
    arrays = items_of(name, "multi_index", multi_index, "integer arrays, one for each axis")
    if len(arrays) != len(lengths):
        n_arrays = len(arrays)
        raise errors.ShapeError(f"{name}: {lengths} needs {len(lengths)} arrays; got {n_arrays}")
    modes = (
        [mode] * len(lengths) if isinstance(mode, str) else items_of(name, "mode", mode, "modes")
    )
    if len(modes) != len(lengths):
        raise errors.ShapeError(
            f"{name}: mode must be one mode, or one for each of {len(lengths)} axes; got {mode!r}"
        )
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order must be 'C' or 'F'; got {order!r}")
    index_dtype = dtype_argument(name, dtype) or dtypes.default_int()
    if not dtypes.is_integer(index_dtype):
        raise errors.ShapeError(f"{name}: dtype must be an integer dtype; got {index_dtype.name}")
    if math.prod(lengths) - 1 > dtypes.iinfo(index_dtype).max:
        raise errors.ShapeError(
            f"{name}: {index_dtype.name} cannot represent the last index for shape "
            f"{lengths}\n"
            "  fix: a wider dtype; 64 bits need enable_x64"
        )
    indices_of_axes = [integers(name, x, f"multi_index[{k}]") for k, x in enumerate(arrays)]
    columns = [
        indices_in(name, convert_element_type(i, dtype=dtypes.default_int()), n, m)
        for i, n, m in zip(indices_of_axes, lengths, modes, strict=True)
    ]
    total: Any = literal(0, index_dtype)
    for k, column in enumerate(columns):
        faster_lengths = lengths[k + 1 :] if order == "C" else lengths[:k]
        stride = (
            math.prod(faster_lengths) if lengths[k] > 1 and 0 not in lengths else 0
        )  # it fits the dtype
        total = add(total, mul(cast(column, index_dtype), literal(stride, index_dtype)))
    return total


@located
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The indices of all elements of an array of a given shape.

    Args:
      dimensions: the shape.
      dtype: dtype of the indices; by default the default integer.
      sparse: return a tuple of arrays in which the other axes have length one.
    Returns: array [number of axes, *dimensions], or a tuple.
    Example:
      >>> np.indices((2, 2))[0]
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    shape = shape_tuple("indices", dimensions, "dimensions")
    index_dtype = dtype_argument("indices", dtype) or dtypes.default_int()
    grids: Any = np.indices(shape, sparse=True) if sparse else np.indices(shape)
    if sparse:
        return tuple(from_numpy(g.astype(index_dtype)) for g in grids)
    return from_numpy(grids.astype(index_dtype))


@located
def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Index arrays for all combinations of indices along each axis.

    Args:
      args: arrays of one axis; a boolean array stands for the indices where it is true.
    Example:
      >>> [i.shape for i in np.ix_(np.arange(2), np.arange(3))]
      [(2, 1), (1, 3)]
    """
    result = []
    for i, a in enumerate(args):
        x = value("ix_", a, f"argument {i}")
        if x.ndim != 1:
            raise ShapeError(f"ix_: expected arrays of one axis; got {x.aval}")
        if dtypes.is_bool(x.dtype):
            x = from_numpy(
                np.flatnonzero(concrete_argument("ix_", x, f"argument {i}")).astype(
                    dtypes.default_int()
                )
            )
        elif not x.size:
            x = zeros((0,), x.dtype if dtypes.is_integer(x.dtype) else dtypes.default_int())
        result.append(reshape(x, tuple([x.size if k == i else 1 for k in range(len(args))])))
    return tuple(result)


def _index_arrays(hosts: Any) -> tuple[Array, ...]:
    return tuple(from_numpy(np.asarray(i, dtypes.default_int())) for i in hosts)


@located
def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array with `ndim` axes of length n.

    Example:
      >>> np.diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n, ndim = (as_int("diag_indices", v, a) for v, a in ((n, "n"), (ndim, "ndim")))
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: expected nonnegative numbers; got {n} and {ndim}")
    return _index_arrays([np.arange(n)] * ndim)


@located
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array whose axes have equal lengths.

    Example:
      >>> np.diag_indices_from(np.ones((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    x = value("diag_indices_from", arr, "arr")
    if x.ndim < 2 or len(set(x.shape)) > 1:
        raise ShapeError(f"diag_indices_from: expected axes of one length; got {x.aval}")
    return diag_indices(x.shape[0], x.ndim)


@located
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices of the lower triangle of an [n, m] matrix.

    Example:
      >>> np.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _index_arrays(np.tril_indices(*_triangle("tril_indices", n, k, m)))  # type: ignore[return-value]


@located
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices of the upper triangle of an [n, m] matrix.

    Example:
      >>> np.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _index_arrays(np.triu_indices(*_triangle("triu_indices", n, k, m)))  # type: ignore[return-value]


def _triangle(name: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    """The arguments of NumPy's function for a triangle: ints."""
    n, k = as_int(name, n, "n"), diagonal_number(name, k)
    return n, k, n if m is None else as_int(name, m, "m")


def _matrix_shape(name: str, arr: Any) -> Any:
    x = value(name, arr, "arr")
    if x.ndim != 2:
        raise ShapeError(f"{name}: expected a matrix; got {x.aval}")
    return x.shape


@located
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices of the lower triangle of a matrix.

    Example:
      >>> np.tril_indices_from(np.ones((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


@located
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices of the upper triangle of a matrix.

    Example:
      >>> np.triu_indices_from(np.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


@located
def mask_indices(
    n: int, mask_func: Any, k: Any = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Indices of the elements of an [n, n] matrix that a mask function such as `tril` keeps.

    Args:
      mask_func: called with a matrix of ones and `k`.
      size: the number of indices to return; missing ones are 0.
    Example:
      >>> np.mask_indices(2, np.tril)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    check_callable(mask_func, "mask_indices")
    n = result_length("mask_indices", n, "n")
    mask = np.asarray(mask_func(from_numpy(np.ones((n, n), np.int32)), k))
    rows, columns = np.nonzero(mask)
    if size is not None:
        size = result_length("mask_indices", size, "size")
        index_arrays = [np.zeros(size, int), np.zeros(size, int)]
        for padded, values in zip(index_arrays, (rows, columns), strict=True):
            padded[: min(size, values.size)] = values[:size]
        rows, columns = index_arrays
    return _index_arrays((rows, columns))  # type: ignore[return-value]
