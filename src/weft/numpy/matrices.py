"""Making and reading matrices by diagonals and triangles: eye, identity, diag, diagflat, diagonal,
trace, tri, tril, triu."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.trace import current
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import comparison, creation, selection, structural
from ..primitives.slicing import concatenate
from ..typing import ArrayLike, DTypeLike
from .axes import as_int, one_axis
from .creation import dtype_argument, from_numpy, on_device
from .plans import composite
from .promotion import cast, noted, value
from .reductions import sum
from .shapes import ravel

__all__ = ["diag", "diagflat", "diagonal", "eye", "identity", "trace", "tri", "tril", "triu"]


_base = current.base


def band(n: int, m: int, compare: Any, k: int) -> Any:
    """A boolean [n, m] matrix: `compare(row + k, column)`."""
    shape, dtype = (n, m), dtypes.int32
    rows = creation.iota(dtype=dtype, shape=shape, dimension=0)
    columns = creation.iota(dtype=dtype, shape=shape, dimension=1)
    return compare(structural.add(rows, literal(k, dtype)) if k else rows, columns)


@located
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None, *, device: Any = None
) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: the numbers of rows and columns; by default N columns.
      k: the diagonal: 0 is the main diagonal, positive numbers are above it.
      dtype: the default float by default.
      device: the device of the result.
    Returns: array [N, M].
    Example:
      >>> np.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    n = as_int("eye", N, "N")
    m = n if M is None else as_int("eye", M, "M")
    k = as_int("eye", k, "k")
    if n < 0 or m < 0:
        raise ShapeError(f"eye: lengths must not be negative; got {n} and {m}")
    out_dtype = dtype_argument("eye", dtype) or dtypes.default_float()
    if current.trace is _base:
        result: Any = from_numpy(np.eye(n, m, k).astype(out_dtype))
    else:
        result = cast(band(n, m, comparison.eq, k), out_dtype)
    return on_device(result, device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The identity matrix.

    Example:
      >>> np.identity(2, dtype=int)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    return eye(as_int("identity", n, "n"), dtype=dtype)


@located
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """A matrix with ones on and below a diagonal.

    Args: as in `eye`.
    Returns: array [N, M].
    Example:
      >>> np.tri(2)
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    n = as_int("tri", N, "N")
    m = n if M is None else as_int("tri", M, "M")
    out_dtype = dtype_argument("tri", dtype) or dtypes.default_float()
    k = diagonal_number("tri", k)
    if current.trace is _base:
        return from_numpy(np.tri(n, m, k).astype(out_dtype))
    return cast(band(n, m, comparison.ge, k), out_dtype)


@composite
def _triangle(x: Any, *, k: int, lower: bool) -> Any:
    n, m = x.aval.shape[-2:]
    mask = band(n, m, comparison.ge, k if lower else k - 1)
    zero = literal(0, x.aval.dtype)
    cases = (zero, x) if lower else (x, zero)
    return selection.select_n(mask, *cases)


def diagonal_number(name: str, k: Any) -> int:
    """The number of a diagonal: an int, or a whole float as in NumPy."""
    if isinstance(k, float) and k.is_integer():
        return int(k)
    return as_int(name, k, "k")


def _check_matrix(name: str, m: Any) -> Any:
    x = value(name, m, "m")
    if x.ndim < 2:
        raise noted(ShapeError(f"{name}: expected at least two axes; got {x.aval}"))
    return x


def tril(m: ArrayLike, k: int = 0) -> Array:
    """The lower triangle of matrices, with zeros above.

    Args:
      m: array [batch…, n, m].
      k: the last diagonal to keep: 0 is the main diagonal, positive numbers are above it.
    Returns: array of the same shape.
    Example:
      >>> np.tril(np.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    return _triangle(_check_matrix("tril", m), k=diagonal_number("tril", k), lower=True)


def triu(m: ArrayLike, k: int = 0) -> Array:
    """The upper triangle of matrices, with zeros below.

    Args:
      m: array [batch…, n, m].
      k: the first diagonal to keep: 0 is the main diagonal, positive numbers are above it.
    Returns: array of the same shape.
    Example:
      >>> np.triu(np.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return _triangle(_check_matrix("triu", m), k=diagonal_number("triu", k), lower=False)


@composite
def _diagonal(x: Any, *, offset: int) -> Any:
    """The diagonal of the last two axes: a strided slice of the flattened matrix."""
    *batch_shape, n, m = x.aval.shape
    start = offset if offset >= 0 else -offset * m
    length = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    x = structural.reshape(x, shape=(*batch_shape, n * m))
    if not length:
        return slice_along(x, len(batch_shape), 0, 0)
    return slice_along(x, len(batch_shape), start, start + (length - 1) * (m + 1) + 1, m + 1)


@located
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonal of two axes.

    Args:
      a: array of at least two axes.
      offset: the diagonal: 0 is the main diagonal, positive numbers are above it.
      axis1, axis2: the axes of rows and columns.
    Returns: array without the two axes, and with the diagonal as last axis.
    Example:
      >>> np.diagonal(np.arange(4).reshape(2, 2))
      Array([0, 3], dtype=int32)
    """
    x = value("diagonal", a, "a")
    if x.ndim < 2:
        raise ShapeError(f"diagonal: expected at least two axes; got {x.aval}")
    i, j = (
        one_axis("diagonal", axis1, x, "axis1"),
        one_axis("diagonal", axis2, x, "axis2"),
    )
    if i == j:
        raise ShapeError(f"diagonal: axis1 and axis2 must differ; got {axis1} and {axis2}")
    order = (*(k for k in range(x.ndim) if k not in (i, j)), i, j)
    if order != tuple(range(x.ndim)):
        x = structural.transpose(x, permutation=order)
    return _diagonal(x, offset=as_int("diagonal", offset, "offset"))


@located
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """The sum of a diagonal of two axes.

    Args: as in `diagonal` and in `sum`.
    Returns: array without the two axes.
    Example:
      >>> np.trace(np.eye(3))
      Array(3., dtype=float32)
    """
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@composite
def _on_diagonal(x: Any, *, k: int) -> Any:
    """A matrix with a vector on a diagonal and zeros elsewhere."""
    n = x.aval.shape[0]
    size = n + abs(k)
    zero = literal(0, x.aval.dtype)
    shape = (size, size)
    mask = band(size, size, comparison.eq, k)
    padded = x
    if k:
        padding = creation.full(x.aval.update(shape=(abs(k),), weak_type=False), 0)
        padded = concatenate(*((x, padding) if k > 0 else (padding, x)), dimension=0)
    column = structural.broadcast_in_dim(padded, shape=shape, dims=(0,))
    return selection.select_n(mask, zero, column)


@located
def diag(v: ArrayLike, k: int = 0) -> Array:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
      v: array [n] or [n, m].
      k: the diagonal: 0 is the main diagonal, positive numbers are above it.
    Returns: array [n + |k|, n + |k|], or the vector of the diagonal.
    Example:
      >>> np.diag(np.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    x = value("diag", v, "v")
    k = as_int("diag", k, "k")
    if x.ndim == 1:
        return _on_diagonal(x, k=k)
    if x.ndim == 2:
        return _diagonal(x, offset=k)
    raise ShapeError(f"diag: expected one or two axes; got {x.aval}")


@located
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """The matrix with the elements of an array on a diagonal.

    Example:
      >>> np.diagflat(np.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    return diag(ravel(value("diagflat", v, "v")), k)
