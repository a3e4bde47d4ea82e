"""Matrices made and read by their diagonals and triangles."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.trace import current
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import comparison, creation as made, selection, structural
from ..primitives.slicing import concatenate
from ..typing import ArrayLike, DTypeLike
from .axes import one_axis, whole_number
from .axis_choices import take_known
from .creation import broadcast, from_numpy, on_device, wanted_dtype
from .plans import composite
from .promotion import cast, noted, value
from .reductions import sum
from .shapes import ravel

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "mask_indices",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
]

_base = current.base


def band(n: int, m: int, compare: Any, k: int) -> Any:
    """A boolean matrix: whether row + k compares so with column."""
    shape, dtype = (n, m), dtypes.int32
    rows = made.iota(dtype=dtype, shape=shape, dimension=0)
    columns = made.iota(dtype=dtype, shape=shape, dimension=1)
    return compare(structural.add(rows, literal(k, dtype)) if k else rows, columns)


@located
def eye(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None, *, device: Any = None
) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: rows and columns; as many columns as rows by default.
      k: which diagonal: 0 the main one, positive ones above.
      dtype: the default float if left out.
      device: where to put it.
    Returns: array [N, M].
    Example:
      >>> np.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    n = whole_number("eye", N, "N")
    m = n if M is None else whole_number("eye", M, "M")
    k = whole_number("eye", k, "k")
    if n < 0 or m < 0:
        raise ShapeError(f"eye: lengths must not be negative; got {n} and {m}")
    found = wanted_dtype("eye", dtype) or dtypes.default_float()
    if current.trace is _base:
        result: Any = from_numpy(np.eye(n, m, k).astype(found))
    else:
        result = cast(band(n, m, comparison.eq, k), found)
    return on_device(result, device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The square matrix with ones on its diagonal.

    Example:
      >>> np.identity(2, dtype=int)
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


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
    n = whole_number("tri", N, "N")
    m = n if M is None else whole_number("tri", M, "M")
    found = wanted_dtype("tri", dtype) or dtypes.default_float()
    if current.trace is _base:
        return from_numpy(np.tri(n, m, k).astype(found))
    return cast(band(n, m, comparison.ge, k), found)


@composite
def _triangle(x: Any, *, k: int, lower: bool) -> Any:
    n, m = x.aval.shape[-2:]
    mask = band(n, m, comparison.ge, k if lower else k - 1)
    zero = literal(0, x.aval.dtype)
    cases = (zero, x) if lower else (x, zero)
    return selection.select_n(mask, *cases)


def _check_matrix(name: str, m: Any) -> Any:
    x = value(name, m, "m")
    if x.ndim < 2:
        raise noted(ShapeError(f"{name}: expected at least two axes; got {x.aval}"))
    return x


def tril(m: ArrayLike, k: int = 0) -> Array:
    """The lower triangle of matrices, with zeros above.

    Args:
      m: array [batch…, n, m].
      k: the last diagonal that is kept: 0 the main one, positive ones above.
    Returns: array of the same shape.
    Example:
      >>> np.tril(np.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    return _triangle(_check_matrix("tril", m), k=int(k), lower=True)


def triu(m: ArrayLike, k: int = 0) -> Array:
    """The upper triangle of matrices, with zeros below.

    Args:
      m: array [batch…, n, m].
      k: the first diagonal that is kept: 0 the main one, positive ones above.
    Returns: array of the same shape.
    Example:
      >>> np.triu(np.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return _triangle(_check_matrix("triu", m), k=int(k), lower=False)


# --- diagonals ---


@composite
def _diagonal(x: Any, *, offset: int) -> Any:
    """The diagonal of the last two axes: elements a constant distance apart, when flat."""
    *front, n, m = x.aval.shape
    first = offset if offset >= 0 else -offset * m
    length = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    x = structural.reshape(x, shape=(*front, n * m))
    if not length:
        return slice_along(x, len(front), 0, 0)
    return slice_along(x, len(front), first, first + (length - 1) * (m + 1) + 1, m + 1)


@located
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonal of two axes.

    Args:
      a: array of at least two axes.
      offset: which diagonal: 0 the main one, positive ones above.
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
    return _diagonal(x, offset=whole_number("diagonal", offset, "offset"))


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

    Args: as in `diagonal`, and of `sum`.
    Returns: array without the two axes.
    Example:
      >>> np.trace(np.eye(3))
      Array(3., dtype=float32)
    """
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


@composite
def _on_diagonal(x: Any, *, k: int) -> Any:
    """A matrix with a vector on a diagonal: each row of [n, n + 1] is one element and n zeros."""
    n = x.aval.shape[0]
    size = n + abs(k)
    zero = literal(0, x.aval.dtype)
    shape = (size, size)
    mask = band(size, size, comparison.eq, k)
    before = x
    if k:
        gap = structural.full(x.aval.update(shape=(abs(k),), weak_type=False), 0)
        before = concatenate(*((x, gap) if k > 0 else (gap, x)), dimension=0)
    column = structural.broadcast_in_dim(before, shape=shape, dims=(0,))
    return selection.select_n(mask, zero, column)


@located
def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
      v: array [n] or [n, m].
      k: which diagonal: 0 the main one, positive ones above.
    Returns: array [n + |k|, n + |k|], or that of the diagonal.
    Example:
      >>> np.diag(np.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    x = value("diag", v, "v")
    k = whole_number("diag", k, "k")
    if x.ndim == 1:
        return _on_diagonal(x, k=k)
    if x.ndim == 2:
        return _diagonal(x, offset=k)
    raise ShapeError(f"diag: expected one or two axes; got {x.aval}")


@located
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the elements of an array on a diagonal.

    Example:
      >>> np.diagflat(np.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    return diag(ravel(value("diagflat", v, "v")), k)


@located
def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """A copy of an array with its main diagonal replaced.

    Args:
      a: array of at least two axes (of equal lengths, if more than two).
      val: a scalar, or an array whose elements are repeated as needed.
      wrap: not supported.
      inplace: must be False: arrays are immutable.
    Returns: array of the shape of `a`.
    Example:
      >>> np.fill_diagonal(np.ones((2, 2)), 0, inplace=False)
      Array([[0., 1.],
             [1., 0.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "fill_diagonal: arrays are immutable\n  fix: y = np.fill_diagonal(x, val, "
            "inplace=False)"
        )
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported")
    x = value("fill_diagonal", a, "a")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal: expected a matrix, or equal lengths; got {x.aval}")
    v = ravel(cast(value("fill_diagonal", val, "val"), x.dtype))
    n = min(x.shape)
    if v.size != 1 and v.size != n:
        v = take_known(v, np.arange(n) % v.size, 0)
    mask = np.zeros(x.shape, bool)
    mask[(np.arange(n),) * x.ndim] = True
    line = broadcast("fill_diagonal", v, (n,))
    rows = x.shape[0]
    if rows > n:
        line = concatenate(
            line, structural.full(line.aval.update(shape=(rows - n,)), 0), dimension=0
        )
    column = structural.broadcast_in_dim(line, shape=x.shape, dims=(0,))
    return selection.select_n(from_numpy(mask), x, column)


# --- indices ---


def _index_arrays(found: Any) -> tuple[Array, ...]:
    return tuple(from_numpy(np.asarray(i, dtypes.default_int())) for i in found)


@located
def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array with `ndim` axes of length n.

    Example:
      >>> np.diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: expected numbers that aren't negative; got {n} and {ndim}")
    return _index_arrays([np.arange(n)] * ndim)


@located
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array, whose axes have one length.

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
    return _index_arrays(np.tril_indices(n, k, m))  # type: ignore[return-value]


@located
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices of the upper triangle of an [n, m] matrix.

    Example:
      >>> np.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _index_arrays(np.triu_indices(n, k, m))  # type: ignore[return-value]


def _two_axes(name: str, arr: Any) -> Any:
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
    n, m = _two_axes("tril_indices_from", arr)
    return tril_indices(n, k, m)


@located
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices of the upper triangle of a matrix.

    Example:
      >>> np.triu_indices_from(np.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _two_axes("triu_indices_from", arr)
    return triu_indices(n, k, m)


@located
def mask_indices(
    n: int, mask_func: Any, k: Any = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Indices of the elements of an [n, n] matrix that a function leaves.

    Args:
      mask_func: as `tril`: called with a matrix of ones and `k`.
      size: how many; the rest is filled with zeros.
    Example:
      >>> np.mask_indices(2, np.tril)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    mask = np.asarray(mask_func(from_numpy(np.ones((n, n), np.int32)), k))
    rows, columns = np.nonzero(mask)
    if size is not None:
        filled = [np.zeros(size, int), np.zeros(size, int)]
        for line, found in zip(filled, (rows, columns), strict=True):
            line[: min(size, found.size)] = found[:size]
        rows, columns = filled
    return _index_arrays((rows, columns))  # type: ignore[return-value]
