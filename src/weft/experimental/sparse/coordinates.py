"""SparseArray, the base of all formats, and how coordinates are stored and checked.

SparseEfficiencyError and SparseEfficiencyWarning report layouts that waste memory.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from ... import numpy as np
from ...core.value import Value
from ...errors import ShapeError
from ...transforms.vmap import vmap
from ...typing import Array, DType, Shape

__all__ = ["SparseArray", "SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """Raised if a layout would take more memory than the present one.

    Example:
      >>> from weft.experimental import sparse
      >>> matrix = sparse.BCOO.fromdense(np.eye(4))
      >>> try:
      ...     sparse.bcoo_update_layout(matrix, n_dense=1)
      ... except sparse.SparseEfficiencyError:
      ...     print(sparse.bcoo_update_layout(matrix, n_dense=1, on_inefficient=None))
      BCOO(float32[4, 4], nse=4, n_dense=1)
    """


class SparseEfficiencyWarning(UserWarning):
    """Warns that a layout takes more memory than the one before.

    Example:
      >>> import warnings
      >>> from weft.experimental import sparse
      >>> matrix = sparse.BCOO.fromdense(np.eye(4))
      >>> with warnings.catch_warnings(record=True) as caught:
      ...     warnings.simplefilter("always")
      ...     sparse.bcoo_update_layout(matrix, n_dense=1, on_inefficient="warn")
      BCOO(float32[4, 4], nse=4, n_dense=1)
      >>> caught[0].category.__name__
      'SparseEfficiencyWarning'
    """


class SparseArray:
    """Base of the sparse formats: a shape, and elements stored as `data`.

    Example:
      >>> from weft.experimental import sparse
      >>> matrix = sparse.BCOO.fromdense(np.eye(3))
      >>> isinstance(matrix, sparse.SparseArray), matrix.shape, matrix.nse
      (True, (3, 3), 3)
    """

    __slots__ = ("data",)
    data: Array
    __array_ufunc__ = None  # NumPy's and weft's arrays defer operators to the sparse operand
    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        raise NotImplementedError

    @property
    def nse(self) -> int:
        """The number of specified elements that are stored (of each batch)."""
        raise NotImplementedError

    def todense(self) -> Array:
        """The dense array."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.data.dtype

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a sparse array of no axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        if not isinstance(self.data, Value):  # a tree whose leaves are not arrays
            return f"{name}(…)"
        layout = "".join(f", {k}={v}" for k in ("n_batch", "n_dense") if (v := getattr(self, k, 0)))
        shape = ", ".join(map(str, self.shape))
        return f"{name}({self.dtype}[{shape}], nse={self.nse}{layout})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            f"numpy.asarray: {self!r} is sparse\n  fix: x.todense(), if it fits into memory"
        )


class Coordinates(SparseArray):
    """A matrix stored by coordinates."""

    __slots__ = ("indices", "indices_sorted", "inner", "unique_indices")
    indices: Array
    inner: Shape
    """The lengths of the sparse and dense axes."""
    indices_sorted: bool
    """True if the indices of each batch are known to be in lexicographic order."""
    unique_indices: bool
    """True if it is known that the elements of a batch, except padding, have distinct positions."""

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        """
        Args:
          args: (data, indices), as in `BCOO`.
          shape: the lengths of all axes.
          indices_sorted, unique_indices: promises about the indices, which are not checked.
        """
        data, indices = map(np.asarray, args)
        name = type(self).__name__
        shape = tuple(shape)
        check_parts(name, data, indices, shape)
        n_batch = indices.ndim - 2
        batch = shape[:n_batch]
        if data.shape[:n_batch] != batch:
            data = np.broadcast_to(data, (*batch, *data.shape[n_batch:]))
        if indices.shape[:n_batch] != batch:
            indices = np.broadcast_to(indices, (*batch, *indices.shape[n_batch:]))
        self.data, self.indices, self.inner = data, indices, shape[n_batch:]
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)

    def like(
        self,
        data: Array,
        indices: Array,
        inner: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Self:
        """A matrix of the same class with other parts, which are not checked.

        Args:
          inner: the lengths of its sparse and dense axes.
        """
        x = object.__new__(type(self))
        x.data, x.indices, x.inner = data, indices, tuple(inner)
        x.indices_sorted, x.unique_indices = indices_sorted, unique_indices
        return x

    def with_data(self, data: Array) -> Self:
        """The matrix with other elements at the same positions."""
        return self.like(data, self.indices, self.inner, self.indices_sorted, self.unique_indices)

    @property
    def n_batch(self) -> int:
        """The number of batch axes, which are leading axes of `data` and `indices` too."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of axes that are indexed."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of trailing axes whose elements are all stored."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def nse(self) -> int:
        """The number of specified elements that are stored (of each batch), padding included."""
        return self.indices.shape[-2]

    @property
    def batch_shape(self) -> Shape:
        """The lengths of the batch axes."""
        return tuple(self.indices.shape[:-2])

    @property
    def sparse_shape(self) -> Shape:
        """The lengths of the indexed axes."""
        return self.inner[: self.n_sparse]

    @property
    def dense_shape(self) -> Shape:
        """The lengths of the dense axes."""
        return self.inner[self.n_sparse :]

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return (*self.batch_shape, *self.inner)

    def tree_flatten(self) -> tuple[tuple[Array, Array], Any]:
        """The arrays, and the static data."""
        static = (self.inner, self.indices_sorted, self.unique_indices)
        return (self.data, self.indices), static

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Sequence[Any]) -> Self:
        """A matrix made from arrays, or from a transformation's placeholders for them."""
        x = object.__new__(cls)
        x.data, x.indices = children
        x.inner, x.indices_sorted, x.unique_indices = aux_data
        return x

    # --- for operations ---

    def each(self, function: Callable[..., Any], *others: Any) -> Any:
        """`function(data, indices, *others)` for each batch, whose axes also lead in `others`."""
        for _ in range(self.n_batch):
            function = vmap(function)
        return function(self.data, self.indices, *others)

    def inside(self) -> Array:
        """A mask of the elements that are not padding: booleans [batch…, nse]."""
        return np.all(self.indices < sizes_like(self.indices, self.sparse_shape), axis=-1)

    def kept(
        self, keep: Array, columns: Sequence[Array], sparse_shape: Sequence[int]
    ) -> tuple[Array, Array]:
        """Moves the elements where `keep` is true to new positions; the others become padding.

        Args:
          keep: booleans [batch…, nse].
          columns: the new indices, an array [batch…, nse] for each new sparse axis.
          sparse_shape: the lengths of the new sparse axes.
        """
        wide = np.expand_dims(keep, axes_behind(keep, self.n_dense))
        data = np.where(wide, self.data, np.zeros((), self.dtype))
        if not columns:
            return data, np.zeros((*self.indices.shape[:-1], 0), self.indices.dtype)
        indices = np.stack([c.astype(self.indices.dtype) for c in columns], axis=-1)
        sizes = sizes_like(indices, sparse_shape)
        return data, np.where(keep[..., None], indices, sizes)

    def columns(self) -> list[Array]:
        """The indices of each sparse axis: arrays [batch…, nse]."""
        return [self.indices[..., i] for i in range(self.n_sparse)]


def sizes_like(indices: Array, sizes: Sequence[int]) -> Array:
    """Lengths of axes, as an array that can be compared with indices."""
    return np.array(list(sizes), indices.dtype)


def axes_behind(x: Array, count: int) -> tuple[int, ...]:
    """The `dimensions` for `expand_dims` that append axes to an array."""
    return tuple(range(x.ndim, x.ndim + count))


def check_parts(name: str, data: Array, indices: Array, shape: Shape) -> None:
    """Raises an error if data, indices and shape do not match."""
    types = f"data {data.dtype}{list(data.shape)}, indices {indices.dtype}{list(indices.shape)}"
    if indices.dtype.kind not in "iu" or indices.ndim < 2:
        raise ShapeError(
            f"{name}: expected integer indices [batch…, nse, sparse axes]; got {types}\n"
            f"  fix: {name}((data, indices), shape=shape), or {name}.fromdense(x)"
        )
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    n_dense = data.ndim - 1 - n_batch
    fits = n_dense >= 0 and len(shape) == n_batch + n_sparse + n_dense
    if fits:
        batch = shape[:n_batch]
        nse = indices.shape[-2]
        dense = shape[n_batch + n_sparse :]
        fits = (
            data.shape[n_batch:] == (nse, *dense)
            and all(a in (1, b) for a, b in zip(data.shape[:n_batch], batch, strict=True))
            and all(a in (1, b) for a, b in zip(indices.shape[:n_batch], batch, strict=True))
        )
    if not fits:
        raise ShapeError(
            f"{name}: expected data [batch…, nse, dense…] and indices [batch…, nse, sparse axes] "
            f"for shape {shape}; got {types}"
        )
