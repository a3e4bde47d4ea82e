"""Operations on sparse matrices that move elements, or sum them along axes: bcoo_transpose,
bcoo_reshape, bcoo_broadcast_in_dim, bcoo_squeeze, bcoo_slice, bcoo_dynamic_slice, bcoo_rev,
bcoo_concatenate and bcoo_reduce_sum.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from ... import lax, numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...numpy.axes import all_axes
from .conversion import bounded, resized
from .coordinates import Coordinates

__all__ = [
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dynamic_slice",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_squeeze",
    "bcoo_transpose",
]


M = TypeVar("M", bound=Coordinates)


def by_kind(mat: Coordinates, axes: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The batch, sparse and dense axes in `axes`, each kind counted from 0."""
    first, end = mat.n_batch, mat.n_batch + mat.n_sparse
    return (
        [a for a in axes if a < first],
        [a - first for a in axes if first <= a < end],
        [a - end for a in axes if a >= end],
    )


@located
def bcoo_transpose(mat: M, *, permutation: Sequence[int]) -> M:
    """Reorders the axes of a matrix.

    Args:
      mat: the matrix.
      permutation: for each new axis, the old one. Batch axes, sparse axes and dense axes cannot
        mix.
    Returns: a matrix with the same number of elements.
    Raises: ShapeError: `permutation` does not name each axis once, or mixes kinds of axes.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_transpose(mat, permutation=(1, 0)).todense()
      Array([[0., 3.],
             [2., 0.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_transpose`.
    """
    permutation = all_axes("bcoo_transpose", tuple(permutation), mat)
    batch, sparse, dense = by_kind(mat, permutation)
    end = mat.n_batch + mat.n_sparse
    want = [*batch, *(s + mat.n_batch for s in sparse), *(d + end for d in dense)]
    if len(permutation) != mat.ndim or want != list(permutation):
        raise ShapeError(
            f"bcoo_transpose: permutation {tuple(permutation)} of {mat!r}: expected each axis "
            "once, batch axes before sparse ones before dense ones\n"
            "  fix: mat.update_layout(n_batch=0, n_dense=0)"
        )
    if list(permutation) == sorted(permutation):
        return mat
    n = mat.n_batch
    data = np.transpose(mat.data, (*batch, n, *(d + n + 1 for d in dense)))
    indices = np.transpose(mat.indices, (*batch, n, n + 1))
    if sparse != sorted(sparse):
        indices = np.stack([indices[..., s] for s in sparse], axis=-1)
    inner = [mat.sparse_shape[s] for s in sparse] + [mat.dense_shape[d] for d in dense]
    in_place = sparse == sorted(sparse) and mat.indices_sorted
    return mat.like(data, indices, inner, in_place, mat.unique_indices)


@located
def bcoo_reduce_sum(mat: M, *, axes: Sequence[int]) -> M:
    """The sum over axes, as a sparse matrix.

    Args:
      mat: the matrix.
      axes: the axes to sum over.
    Returns: a matrix of the other axes, with the same number of elements or fewer.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_reduce_sum(mat, axes=(0,)).todense()
      Array([3., 2.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_reduce_sum`.
    """
    batch, sparse, dense = by_kind(mat, all_axes("bcoo_reduce_sum", tuple(axes), mat))
    n = mat.n_batch
    others = [s for s in range(mat.n_sparse) if s not in sparse]
    shape = [mat.sparse_shape[s] for s in others]
    data, indices = mat.data, mat.indices
    if sparse:
        columns = mat.columns()
        data, indices = mat.kept(mat.inside(), [columns[s] for s in others], shape)
    if dense:
        data = np.sum(data, axis=tuple(d + n + 1 for d in dense), dtype=mat.dtype)
    if batch:  # all batches become one
        rest = [b for b in range(n) if b not in batch]
        order = [*rest, *batch, n]
        nse = math.prod(mat.batch_shape[b] for b in batch) * mat.nse
        shape_rest = [mat.batch_shape[b] for b in rest]
        data = np.transpose(data, (*order, *range(n + 1, data.ndim)))
        data = data.reshape((*shape_rest, nse, *data.shape[n + 1 :]))
        indices = np.transpose(indices, (*order, n + 1)).reshape((*shape_rest, nse, len(shape)))
    inner = [*shape, *(m for d, m in enumerate(mat.dense_shape) if d not in dense)]
    unique = mat.unique_indices and not sparse and not batch
    return bounded(mat.like(data, indices, inner, unique and mat.indices_sorted, unique))


@located
def bcoo_reshape(mat: M, *, new_sizes: Sequence[int]) -> M:
    """Changes the shape of a matrix and keeps the order of its elements.

    Args:
      mat: the matrix.
      new_sizes: the lengths of the new axes; one may be -1. Batch axes and dense axes cannot mix
        with the others.
    Returns: a matrix with the same number of elements.
    Raises: ShapeError: the number of elements differs, or kinds of axes would mix.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_reshape(mat, new_sizes=(4,)).todense()
      Array([0., 2., 3., 0.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_reshape`.
    """
    sizes = list(new_sizes)
    if sizes.count(-1) == 1:
        n_elements = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = mat.size // n_elements if n_elements else 0
    if math.prod(sizes) != mat.size or any(n < 0 for n in sizes):
        raise ShapeError(f"bcoo_reshape: {mat!r} has another number of elements than {new_sizes}")
    n_batch = leading(sizes, math.prod(mat.batch_shape), 0 if not mat.n_batch else None)
    n_dense = leading(sizes[::-1], math.prod(mat.dense_shape), 0 if not mat.n_dense else None)
    middle = [] if n_batch is None or n_dense is None else sizes[n_batch : len(sizes) - n_dense]
    if (
        n_batch is None
        or n_dense is None
        or n_batch + n_dense > len(sizes)
        or math.prod(middle) != math.prod(mat.sparse_shape)
    ):
        raise ShapeError(
            f"bcoo_reshape: {mat!r} to {tuple(sizes)} mixes batch, sparse and dense axes\n"
            "  fix: mat.update_layout(n_batch=0, n_dense=0)"
        )
    places = math.prod(middle)
    if places > np.iinfo(mat.indices.dtype).max:
        raise ShapeError(
            f"bcoo_reshape: {places} places don't fit the indices' dtype {mat.indices.dtype}"
        )
    position = np.zeros_like(mat.indices[..., :1][..., 0]) if mat.n_sparse else 0
    for column, n in zip(mat.columns(), mat.sparse_shape, strict=True):
        position = position * n + column
    columns: list[Any] = []
    for n in reversed(middle):
        position = np.broadcast_to(np.asarray(position, mat.indices.dtype), mat.indices.shape[:-1])
        columns.insert(0, position % max(n, 1))
        position = position // max(n, 1)
    batch, dense = sizes[:n_batch], sizes[len(sizes) - n_dense :]
    data, indices = mat.kept(mat.inside(), columns, middle)
    data = data.reshape((*batch, mat.nse, *dense))
    indices = indices.reshape((*batch, mat.nse, len(middle)))
    return mat.like(data, indices, (*middle, *dense), mat.indices_sorted, mat.unique_indices)


def leading(sizes: Sequence[int], size: int, nse: int | None) -> int | None:
    """The number of leading axes whose lengths multiply to `size`; None if there is none."""
    if nse is not None:
        return nse
    total = 1
    for count, n in enumerate(sizes, 1):
        total *= n
        if total == size:
            return count
    return None


@located
def bcoo_broadcast_in_dim(
    mat: M, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> M:
    """The matrix with new axes, and axes of length 1 repeated.

    Args:
      mat: the matrix.
      shape: the lengths of all axes of the result.
      broadcast_dimensions: for each axis of `mat`, the axis of the result, in increasing order.
    Returns: a matrix. Axes before the first sparse axis become batch axes.
    Raises: ShapeError: lengths or numbers of axes do not match.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> out = sparse.bcoo_broadcast_in_dim(mat, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
      >>> out.shape
      (3, 2, 2)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_broadcast_in_dim`.
    """
    shape, dims = tuple(shape), tuple(broadcast_dimensions)
    if (
        len(dims) != mat.ndim
        or list(dims) != sorted(set(dims))
        or any(not 0 <= d < len(shape) for d in dims)
        or any(n not in (1, shape[d]) for n, d in zip(mat.shape, dims, strict=True))
    ):
        raise ShapeError(f"bcoo_broadcast_in_dim: {mat!r} as axes {dims} of shape {shape}")
    sparse = dims[mat.n_batch : mat.n_batch + mat.n_sparse]
    dense = dims[mat.n_batch + mat.n_sparse :]
    first_dense = dense[0] if dense else len(shape)
    first_sparse = sparse[0] if sparse else first_dense

    # indexed axes: an element is repeated along the new ones
    data, indices, nse = mat.data, mat.indices, mat.nse
    axis = mat.n_batch
    new = [d for d in range(first_sparse, first_dense)]
    repeated = [d for d in new if d not in sparse or mat.shape[dims.index(d)] != shape[d]]
    count = math.prod(shape[d] for d in repeated)
    if repeated:
        keep = np.repeat(mat.inside(), count, axis=axis)
        grid = np.indices([shape[d] for d in repeated], indices.dtype).reshape(len(repeated), count)
        columns = []
        for d in new:
            if d in repeated:
                column = np.tile(grid[repeated.index(d)], nse)
            else:
                column = np.repeat(indices[..., sparse.index(d)], count, axis=axis)
            columns.append(np.broadcast_to(column, keep.shape))
        many = mat.like(np.repeat(data, count, axis=axis), indices, mat.inner)
        data, indices = many.kept(keep, columns, [shape[d] for d in new])
        nse *= count

    # the others: the arrays themselves are repeated
    batch_dims = dims[: mat.n_batch]
    batch = shape[:first_sparse]
    one = [shape[d] if d in batch_dims and mat.shape[dims.index(d)] != 1 else 1
           for d in range(first_sparse)]  # fmt: skip
    tail = [shape[d] if d in dense and mat.shape[dims.index(d)] != 1 else 1
            for d in range(first_dense, len(shape))]  # fmt: skip
    end = shape[first_dense:]
    data = np.broadcast_to(data.reshape((*one, nse, *tail)), (*batch, nse, *end))
    indices = np.broadcast_to(indices.reshape((*one, nse, len(new))), (*batch, nse, len(new)))
    in_order = mat.indices_sorted and not repeated
    return mat.like(data, indices, shape[first_sparse:], in_order, mat.unique_indices)


@located
def bcoo_squeeze(arr: M, *, dimensions: Sequence[int]) -> M:
    """The matrix without some axes of length 1.

    Args:
      arr: the matrix.
      dimensions: the axes to remove.
    Raises: ShapeError: one of them is longer than 1.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> row = sparse.bcoo_slice(mat, start_indices=(0, 0), limit_indices=(1, 2))
      >>> sparse.bcoo_squeeze(row, dimensions=(0,)).todense()
      Array([0., 2.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_squeeze`.
    """
    axes = all_axes("bcoo_squeeze", tuple(dimensions), arr)
    if any(arr.shape[a] != 1 for a in axes):
        raise ShapeError(f"bcoo_squeeze: axes {axes} of {arr!r} aren't all of length 1")
    batch, sparse, dense = by_kind(arr, axes)
    others = [s for s in range(arr.n_sparse) if s not in sparse]
    shape = [arr.sparse_shape[s] for s in others]
    columns = arr.columns()
    data, indices = arr.data, arr.indices
    if sparse:
        data, indices = arr.kept(arr.inside(), [columns[s] for s in others], shape)
    data = np.squeeze(data, axis=(*batch, *(d + arr.n_batch + 1 for d in dense)))
    indices = np.squeeze(indices, axis=tuple(batch))
    inner = [*shape, *(n for d, n in enumerate(arr.dense_shape) if d not in dense)]
    return bounded(arr.like(data, indices, inner, arr.indices_sorted, arr.unique_indices))


@located
def bcoo_slice(
    mat: M,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> M:
    """Every `strides`-th element from `start_indices` to before `limit_indices` along each axis.

    Args:
      mat: the matrix.
      start_indices, limit_indices: an int for each axis, 0 <= start <= limit <= length.
      strides: positive ints; 1 by default.
    Returns: a matrix with the same number of elements, or with as many as it has positions.
    Raises: ShapeError: the numbers do not match the matrix.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_slice(mat, start_indices=(1, 0), limit_indices=(2, 2)).todense()
      Array([[3., 0.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_slice`.
    """
    strides = tuple(strides or (1,) * mat.ndim)
    window = list(zip(start_indices, limit_indices, strides, strict=False))
    if not len(start_indices) == len(limit_indices) == len(strides) == mat.ndim or any(
        not 0 <= a <= b <= n or step < 1 for (a, b, step), n in zip(window, mat.shape, strict=False)
    ):
        raise ShapeError(
            f"bcoo_slice: {mat!r} from {tuple(start_indices)} to {tuple(limit_indices)} by "
            f"{strides}"
        )
    lengths = [-((a - b) // step) for a, b, step in window]
    slices = tuple(slice(a, b, step) for a, b, step in window)
    batch, end = slices[: mat.n_batch], mat.n_batch + mat.n_sparse
    part = mat.like(
        mat.data[(*batch, slice(None), *slices[end:])],
        mat.indices[batch],
        mat.inner,
        mat.indices_sorted,
        mat.unique_indices,
    )
    shape = lengths[mat.n_batch : end]
    data, indices = part.data, part.indices
    if tuple(shape) != mat.sparse_shape:
        keep, columns = part.inside(), []
        for column, (a, b, step) in zip(part.columns(), window[mat.n_batch : end], strict=True):
            keep &= (column >= a) & (column < b) & ((column - a) % step == 0)
            columns.append((column - a) // step)
        data, indices = part.kept(keep, columns, shape)
    # padding between the elements breaks their order
    in_order = mat.indices_sorted and tuple(shape) == mat.sparse_shape
    return bounded(mat.like(data, indices, (*shape, *lengths[end:]), in_order, mat.unique_indices))


@located
def bcoo_dynamic_slice(mat: M, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> M:
    """Reads a window of fixed size that begins at run-time indices.

    Args:
      mat: the matrix.
      start_indices: an integer scalar for each axis; they are moved so that the window stays
        inside.
      slice_sizes: an int for each axis.
    Returns: a matrix of shape `slice_sizes`.
    Raises: ShapeError: the window is larger than the matrix.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_dynamic_slice(mat, (1, 0), (1, 2)).todense()
      Array([[3., 0.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_dynamic_slice`.
    """
    sizes = tuple(slice_sizes)
    if not len(start_indices) == len(sizes) == mat.ndim or any(
        not 0 <= s <= n for s, n in zip(sizes, mat.shape, strict=True)
    ):
        raise ShapeError(f"bcoo_dynamic_slice: sizes {sizes} don't fit {mat!r}")
    starts = [np.clip(np.asarray(start, mat.indices.dtype), 0, n - size)
              for start, size, n in zip(start_indices, sizes, mat.shape, strict=True)]  # fmt: skip
    n, end = mat.n_batch, mat.n_batch + mat.n_sparse
    zero = np.zeros((), mat.indices.dtype)
    data = lax.dynamic_slice(
        mat.data, (*starts[:n], zero, *starts[end:]), (*sizes[:n], mat.nse, *sizes[end:])
    )
    indices = lax.dynamic_slice(
        mat.indices, (*starts[:n], zero, zero), (*sizes[:n], mat.nse, mat.n_sparse)
    )
    part = mat.like(data, indices, mat.inner)
    keep, columns = part.inside(), []
    for column, start, size in zip(part.columns(), starts[n:end], sizes[n:end], strict=True):
        keep &= (column >= start) & (column < start + size)
        columns.append(column - start)
    data, indices = part.kept(keep, columns, sizes[n:end])
    return bounded(mat.like(data, indices, sizes[n:], False, mat.unique_indices))


@located
def bcoo_rev(operand: M, dimensions: Sequence[int]) -> M:
    """Reverses the elements along axes.

    Args:
      operand: the matrix.
      dimensions: the axes.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_rev(mat, (1,)).todense()
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_rev`.
    """
    batch, sparse, dense = by_kind(operand, all_axes("bcoo_rev", tuple(dimensions), operand))
    data = np.flip(operand.data, (*batch, *(d + operand.n_batch + 1 for d in dense)))
    part = operand.like(data, np.flip(operand.indices, tuple(batch)), operand.inner)
    columns = part.columns()
    for s in sparse:
        columns[s] = operand.sparse_shape[s] - 1 - columns[s]
    data, indices = part.kept(part.inside(), columns, operand.sparse_shape)
    return operand.like(
        data, indices, operand.inner, operand.indices_sorted and not sparse, operand.unique_indices
    )


@located
def bcoo_concatenate(operands: Sequence[M], *, dimension: int) -> M:
    """Concatenates matrices along an axis.

    Args:
      operands: matrices with equal layouts, whose other axes agree.
      dimension: the axis.
    Returns: a matrix with the elements of all operands.
    Raises: ShapeError: there are no operands, or they do not match.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.bcoo_concatenate([mat, mat], dimension=1).todense()
      Array([[0., 2., 0., 2.],
             [3., 0., 3., 0.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_concatenate`.
    """
    mats = list(operands)
    if not mats:
        raise ShapeError("bcoo_concatenate: expected at least one matrix; got none")
    head = mats[0]
    (dimension,) = all_axes("bcoo_concatenate", (dimension,), head)
    for m in mats:
        fits = (m.n_batch, m.n_sparse, m.n_dense) == (head.n_batch, head.n_sparse, head.n_dense)
        if not fits or any(
            a != b
            for i, (a, b) in enumerate(zip(m.shape, head.shape, strict=True))
            if i != dimension
        ):
            raise ShapeError(
                f"bcoo_concatenate: {m!r} and {head!r} don't join along axis {dimension}: the "
                "other axes and the layouts must be the same"
            )
    total = sum(m.shape[dimension] for m in mats)
    inner = list(head.inner)
    if dimension < head.n_batch:
        nse = max(m.nse for m in mats)
        parts = [resized(m.data, m.indices, m.sparse_shape, nse) for m in mats]
        data, indices = (np.concatenate(list(p), dimension) for p in zip(*parts, strict=True))
        return head.like(data, indices, inner)
    place = dimension - head.n_batch
    inner[place] = total
    before, shifted = 0, []
    for m in mats:
        if place < head.n_sparse:
            columns = m.columns()
            columns[place] = columns[place] + before
            shifted.append(m.kept(m.inside(), columns, inner[: head.n_sparse]))
        else:
            widths = [(0, 0)] * m.data.ndim
            after = total - before - m.shape[dimension]
            widths[m.n_batch + 1 + place - head.n_sparse] = (before, after)
            shifted.append((np.pad(m.data, widths), m.indices))
        before += m.shape[dimension]
    data = np.concatenate([d for d, _ in shifted], axis=head.n_batch)
    indices = np.concatenate([i for _, i in shifted], axis=head.n_batch)
    unique = place < head.n_sparse and all(m.unique_indices for m in mats)
    return head.like(data, indices, inner, False, unique)
