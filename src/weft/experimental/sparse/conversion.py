"""bcoo_todense, bcoo_sort_indices, bcoo_sum_duplicates and bcoo_update_layout: they convert between
sparse and dense matrices, and change order and layout.
"""

import math
import warnings
from typing import Any, Literal, TypeVar

from ... import numpy as np
from ...core.source import located
from ...errors import ConcretizationTypeError, ShapeError
from ...transforms.vmap import vmap
from ...typing import Array, Shape
from .coordinates import Coordinates, SparseEfficiencyError, SparseEfficiencyWarning, sizes_like

__all__ = ["bcoo_sort_indices", "bcoo_sum_duplicates", "bcoo_todense", "bcoo_update_layout"]


M = TypeVar("M", bound=Coordinates)
OnInefficient = Literal["error", "warn"] | None


@located
def bcoo_todense(mat: Coordinates) -> Array:
    """The dense array of a sparse matrix.

    Args:
      mat: the matrix. Elements at the same position are added.
    Returns: array of the matrix's shape and dtype.
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.bcoo_todense(sparse.eye(2))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse`.
    """

    def dense(data: Array, indices: Array) -> Array:
        if not mat.n_sparse:
            return np.sum(data, axis=0, dtype=data.dtype)
        place = np.zeros(mat.inner, data.dtype).at[tuple(np.moveaxis(indices, -1, 0))]
        return place.max(data, mode="drop") if data.dtype == bool else place.add(data, mode="drop")

    return mat.each(dense)


def dense_parts(
    mat: Any, nse: int | None, n_batch: int, n_dense: int, index_dtype: Any
) -> tuple[Array, Array]:
    """Data and indices of the nonzero elements of a dense array.

    Args:
      nse: the number of stored elements of each batch. If it is too small, the last elements are
        left out. None means the largest number of nonzero elements in a batch.
      n_batch, n_dense: the numbers of leading and trailing axes that are not indexed.
    """
    mat = np.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ShapeError(
            f"fromdense: n_batch={n_batch} and n_dense={n_dense} don't fit an array of "
            f"{mat.ndim} axes, {mat.dtype}{list(mat.shape)}"
        )
    mask = mat != 0
    if n_dense:
        mask = np.any(mask, axis=tuple(range(n_batch + n_sparse, mat.ndim)))
    if nse is None:
        counts = np.sum(mask, axis=tuple(range(n_batch, mask.ndim)))
        nse = most(counts, "fromdense")
    shape = mat.shape[n_batch : n_batch + n_sparse]

    def parts(mat: Array, mask: Array) -> tuple[Array, Array]:
        if not n_sparse:
            first = np.arange(nse) == 0
            data = np.where(first.reshape((-1,) + (1,) * n_dense), mat, np.zeros_like(mat))
            return data, np.zeros((nse, 0), index_dtype)
        places = np.nonzero(mask, size=nse, fill_value=shape)
        data = mat.at[places].get(mode="fill", fill_value=0)
        return data, np.stack(places, axis=-1).astype(index_dtype)

    for _ in range(n_batch):
        parts = vmap(parts)
    return parts(mat, mask)


def most(counts: Array, name: str) -> int:
    """The largest count. Raises an error for traced counts."""
    try:
        return int(np.max(counts, initial=0))
    except ConcretizationTypeError:
        raise ConcretizationTypeError(
            f"{name}: the number of stored elements, nse, depends on the elements, which are traced"
            f"\n  fix: {name}(…, nse=n), with a number that is large enough"
        ) from None


@located
def bcoo_sort_indices(mat: M) -> M:
    """Sorts the elements of a matrix in lexicographic order of their indices.

    Args:
      mat: the matrix.
    Returns: the same matrix, with `indices_sorted` true; padding comes last.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_sort_indices(mat.T).indices.tolist()
      [[0, 1], [1, 0]]
    Source: JAX documentation, `jax.experimental.sparse.bcoo_sort_indices`.
    """
    if mat.indices_sorted or not mat.n_sparse:
        return mat.like(mat.data, mat.indices, mat.inner, True, mat.unique_indices)
    data, indices = mat.each(in_order)
    return mat.like(data, indices, mat.inner, True, mat.unique_indices)


def in_order(data: Array, indices: Array) -> tuple[Array, Array]:
    """Data and indices of one batch, sorted by indices."""
    order = np.lexsort(tuple(indices[:, i] for i in reversed(range(indices.shape[1]))))
    return data[order], indices[order]


@located
def bcoo_sum_duplicates(mat: M, nse: int | None = None, remove_zeros: bool = True) -> M:
    """Adds up elements at the same position and sorts the elements.

    Args:
      mat: the matrix.
      nse: the number of stored elements; by default as many as needed, which is unknown while the
        indices are traced (under `jit`). A larger number adds padding; a smaller one drops
        elements.
      remove_zeros: whether to drop zero elements.
    Returns: the same matrix, with sorted and unique indices.
    Raises: ConcretizationTypeError: `nse` is None, and the matrix is traced.
    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental import sparse
      >>> parts = np.array([1.0, 2.0, 4.0]), np.array([[1], [0], [1]])
      >>> sparse.BCOO(parts, shape=(3,)).sum_duplicates().data
      Array([2., 5.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_sum_duplicates`.
    """
    shape = mat.sparse_shape

    def added(data: Array, indices: Array, keep: Array) -> tuple[Array, Array, Array]:
        sizes = sizes_like(indices, shape)
        indices = np.where(keep[:, None], indices, sizes)
        keep = keep.reshape(keep.shape + (1,) * mat.n_dense)
        data = np.where(keep, data, np.zeros((), data.dtype))
        if shape:
            data, indices = in_order(data, indices)
        new = np.any(indices[1:] != indices[:-1], axis=-1)
        place = np.concatenate([np.zeros(1, new.dtype), new]).astype(np.int32)
        place = np.cumsum(place, dtype=np.int32)
        unique = np.broadcast_to(sizes, indices.shape).at[place].set(indices)
        sums = np.zeros_like(data).at[place]
        total = sums.max(data) if data.dtype == bool else sums.add(data)
        count = np.sum(np.all(unique < sizes, axis=-1)) if shape else np.ones((), np.int32)
        return total, unique, count

    keep = mat.inside()
    if remove_zeros:
        keep &= np.any(mat.data != 0, axis=tuple(range(mat.n_batch + 1, mat.data.ndim)))
    if mat.nse:
        data, indices, counts = mat.each(added, keep)
        if nse is None:
            nse = most(counts, "sum_duplicates")
    else:
        data, indices = mat.data, mat.indices
    data, indices = resized(data, indices, shape, nse or 0)
    return mat.like(data, indices, mat.inner, True, True)


def resized(data: Array, indices: Array, shape: Shape, nse: int) -> tuple[Array, Array]:
    """The first `nse` elements of each batch; if there are fewer, all elements and padding."""
    n_batch, n = indices.ndim - 2, indices.shape[-2]
    if nse <= n:
        at = (slice(None),) * n_batch + (slice(nse),)
        return data[at], indices[at]
    more = [(0, 0)] * data.ndim
    more[n_batch] = (0, nse - n)
    padding = np.broadcast_to(
        sizes_like(indices, shape), (*indices.shape[:-2], nse - n, indices.shape[-1])
    )
    return np.pad(data, more), np.concatenate([indices, padding], axis=-2)


def bounded(mat: M) -> M:
    """The matrix, with no more stored elements than it has positions."""
    shape = mat.sparse_shape
    places = math.prod(shape)
    if mat.nse <= places:
        return mat
    # all positions are stored; summing in a dense array is 100 times faster than sorting
    data = bcoo_todense(mat).reshape((*mat.batch_shape, places, *mat.dense_shape))
    grid = np.indices(shape, mat.indices.dtype).reshape((len(shape), places)).T
    indices = np.broadcast_to(grid, (*mat.batch_shape, places, len(shape)))
    return mat.like(data, indices, mat.inner, True, True)


@located
def bcoo_update_layout(
    mat: M,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: OnInefficient = "error",
) -> M:
    """The same matrix with other numbers of batch and dense axes.

    Args:
      mat: the matrix.
      n_batch, n_dense: the numbers of leading and trailing axes that are not indexed; None keeps
        the present number.
      on_inefficient: "error" or "warn" if the new layout stores more than the old one, as it
        usually does with more batch or dense axes. None allows it.
    Returns: the matrix in the new layout.
    Raises: ShapeError: too few axes. SparseEfficiencyError: see `on_inefficient`.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_update_layout(mat, n_batch=1, on_inefficient=None)
      BCOO(float32[2, 2], nse=1, n_batch=1)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_update_layout`.
    """
    n_batch = mat.n_batch if n_batch is None else n_batch
    n_dense = mat.n_dense if n_dense is None else n_dense
    if min(n_batch, n_dense) < 0 or n_batch + n_dense > mat.ndim:
        raise ShapeError(
            f"bcoo_update_layout: n_batch={n_batch} and n_dense={n_dense} don't fit {mat!r}"
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"bcoo_update_layout: expected on_inefficient to be 'error', 'warn' or None; got "
            f"{on_inefficient!r}"
        )
    old = mat
    while mat.n_batch > n_batch:
        mat = batch_to_sparse(mat)
    while mat.n_dense > n_dense:
        mat = dense_to_sparse(mat)
    while mat.n_dense < n_dense:
        mat = sparse_to_dense(mat)
    if mat.n_batch < n_batch:
        mat = sparse_to_batch(mat, n_batch)
    if on_inefficient and (n_batch > old.n_batch or n_dense > old.n_dense):
        report_waste(old, mat, on_inefficient)
    return mat


def report_waste(old: Coordinates, new: Coordinates, how: OnInefficient) -> None:
    """Warns or raises an error if the new layout stores more than the old one."""
    before, after = (m.data.size + m.indices.size for m in (old, new))
    if after <= before:
        return
    text = (
        f"bcoo_update_layout: {new!r} stores {after} numbers, and {old!r} {before}\n"
        "  fix: on_inefficient=None allows it"
    )
    if how == "error":
        raise SparseEfficiencyError(text)
    warnings.warn(text, SparseEfficiencyWarning, stacklevel=3)


def batch_to_sparse(mat: M) -> M:
    """Turns the last batch axis into the first indexed axis."""
    axis = mat.n_batch - 1
    n = mat.batch_shape[axis]
    keep = mat.inside()
    of_batch = np.arange(n, dtype=mat.indices.dtype)[:, None]
    column = np.broadcast_to(of_batch, mat.indices.shape[:-1])
    shape = (n, *mat.sparse_shape)
    data, indices = mat.kept(keep, [column, *mat.columns()], shape)
    data = data.reshape((*data.shape[:axis], n * mat.nse, *mat.dense_shape))
    indices = indices.reshape((*indices.shape[:axis], n * mat.nse, len(shape)))
    return mat.like(data, indices, (*shape, *mat.dense_shape), False, mat.unique_indices)


def dense_to_sparse(mat: M) -> M:
    """Turns the first dense axis into the last indexed axis."""
    axis = mat.n_batch + 1
    n = mat.dense_shape[0]
    shape = (*mat.sparse_shape, n)
    keep = np.repeat(mat.inside(), n, axis=-1)
    columns = [np.repeat(c, n, axis=-1) for c in mat.columns()]
    last = np.tile(np.arange(n, dtype=mat.indices.dtype), mat.nse)
    columns.append(np.broadcast_to(last, keep.shape))
    data = mat.data.reshape((*mat.data.shape[: axis - 1], mat.nse * n, *mat.dense_shape[1:]))
    flat = mat.like(data, np.stack(columns, -1), (*shape, *mat.dense_shape[1:]))
    data, indices = flat.kept(keep, columns, shape)
    return flat.like(data, indices, flat.inner, mat.indices_sorted, mat.unique_indices)


def sparse_to_dense(mat: M) -> M:
    """Turns the last sparse axis into a dense axis."""
    n = mat.sparse_shape[-1]
    chosen = mat.indices[..., -1:] == np.arange(n, dtype=mat.indices.dtype)
    chosen = chosen.reshape(chosen.shape + (1,) * mat.n_dense)
    repeated = np.expand_dims(mat.data, mat.n_batch + 1)
    data = np.where(chosen, repeated, np.zeros((), mat.dtype))
    wide = mat.like(data, mat.indices[..., :-1], mat.inner)
    keep = mat.inside()
    data, indices = wide.kept(keep, wide.columns(), mat.sparse_shape[:-1])
    return without_padding(wide.like(data, indices, mat.inner))


def sparse_to_batch(mat: M, n_batch: int) -> M:
    """Turns the leading sparse axes into batch axes; each batch element keeps its own entries."""
    n_moved = n_batch - mat.n_batch
    shape, parts = mat.sparse_shape[:n_moved], mat
    for k in range(n_moved):
        axis = mat.n_batch + k
        of_batch = np.arange(shape[k], dtype=mat.indices.dtype)
        first = np.expand_dims(parts.indices[..., 0], axis)
        keep = first == of_batch.reshape((-1,) + (1,) * (first.ndim - axis - 1))
        repeated = parts.like(
            np.broadcast_to(
                np.expand_dims(parts.data, axis),
                (*parts.data.shape[:axis], shape[k], *parts.data.shape[axis:]),
            ),
            np.broadcast_to(
                np.expand_dims(parts.indices[..., 1:], axis),
                (*parts.indices.shape[:axis], shape[k], parts.nse, parts.n_sparse - 1),
            ),
            parts.inner[1:],
        )
        keep &= repeated.inside()
        data, indices = repeated.kept(keep, repeated.columns(), repeated.sparse_shape)
        parts = repeated.like(data, indices, repeated.inner)
    return without_padding(parts)


def without_padding(mat: M) -> M:
    """Sums elements at the same position, in as little storage as is known now."""
    try:
        return bcoo_sum_duplicates(mat, None, False)
    except ConcretizationTypeError:
        return bounded(mat)
