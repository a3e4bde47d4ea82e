"""Other sparse formats: COO, CSR, CSC, BCSR. BCOO computes their operations."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from ... import numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...transforms.vmap import vmap
from ...tree_util import register_pytree_node_class
from ...typing import Array, DTypeLike, Shape
from .bcoo import BCOO, operator
from .coordinates import SparseArray

__all__ = ["BCSR", "COO", "CSC", "CSR"]


class OtherFormat(SparseArray):
    """A sparse array in a format other than BCOO; abstract."""

    __slots__ = ("inner",)
    __array_priority__ = 200
    parts: ClassVar[tuple[str, ...]]
    """The names of its arrays; `data` is the first."""
    inner: Shape
    """The lengths of the axes after the batch axes."""

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        arrays = [np.asarray(a) for a in args]
        if len(arrays) != len(self.parts) or (type(self) is not BCSR and len(shape) != 2):
            raise ShapeError(
                f"{type(self).__name__}: expected ({', '.join(self.parts)}) and the shape of a "
                f"matrix; got {len(arrays)} arrays and shape {tuple(shape)}"
            )
        self._fill(arrays, tuple(shape)[arrays[1].ndim - 1 :])

    def _fill(self, arrays: Sequence[Any], inner: Shape) -> None:
        for name, x in zip(self.parts, arrays, strict=True):
            setattr(self, name, x)
        self.inner = inner

    def with_data(self, data: Array) -> Self:
        """The matrix with other elements at the same positions."""
        _, *arrays = self.tree_flatten()[0]
        return self.tree_unflatten(self.inner, (data, *arrays))

    def tree_flatten(self) -> tuple[tuple[Any, ...], Shape]:
        """The arrays, and the static data."""
        return tuple(getattr(self, name) for name in self.parts), self.inner

    @classmethod
    def tree_unflatten(cls, aux_data: Shape, children: Sequence[Any]) -> Self:
        """A matrix made from arrays, or from a transformation's placeholders for them."""
        x = object.__new__(cls)
        x._fill(children, aux_data)
        return x

    @property
    def _places(self) -> Array:
        return getattr(self, self.parts[1])

    @property
    def n_batch(self) -> int:
        """The number of batch axes, the leading axes of all arrays."""
        return self._places.ndim - 1

    @property
    def nse(self) -> int:
        """The number of elements that are stored (of each batch)."""
        return self._places.shape[-1]

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return (*self._places.shape[:-1], *self.inner)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """Converts a matrix from BCOO format."""
        raise NotImplementedError

    def to_bcoo(self) -> BCOO:
        """The matrix in BCOO format."""
        raise NotImplementedError

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = "int32"
    ) -> Self:
        """The sparse form of a dense matrix. For `nse`, see `bcoo_fromdense`."""
        return cls.from_bcoo(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """Converts a `scipy.sparse` matrix. For the options, see `BCOO.from_scipy_sparse`."""
        return cls.from_bcoo(
            BCOO.from_scipy_sparse(mat, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)
        )

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        return cls.from_bcoo(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype))

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        return cls.from_bcoo(BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype))

    def todense(self) -> Array:
        """The dense array."""
        return self.to_bcoo().todense()

    def block_until_ready(self) -> Self:
        """Waits until the arrays are computed."""
        for name in self.parts:
            getattr(self, name).block_until_ready()
        return self

    @operator
    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ (other.to_bcoo() if isinstance(other, OtherFormat) else other)

    @operator
    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()


@register_pytree_node_class
class COO(OtherFormat):
    """A sparse matrix by coordinates: `data`, `row` and `col`, each [nse].

    `rows_sorted` and `cols_sorted` are promises that weft does not use.

    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.COO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> mat.row, mat.col
      (Array([0, 1], dtype=int32), Array([1, 0], dtype=int32))
    Source: JAX documentation, `jax.experimental.sparse.COO`.
    """

    __slots__ = ("col", "row")
    parts = ("data", "row", "col")
    row: Array
    col: Array

    def __init__(
        self,
        args: tuple[Any, ...],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)

    def to_bcoo(self) -> BCOO:
        return BCOO((self.data, np.stack([self.row, self.col], axis=-1)), shape=self.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        row, col = arr.columns()
        return cls((arr.data, row, col), shape=arr.shape)

    @property
    def T(self) -> Self:
        """The transpose."""
        return type(self)((self.data, self.col, self.row), shape=self.shape[::-1])

    def transpose(self, axes: Sequence[int] | None = None) -> Self:
        """The transpose."""
        check_reversal(axes)
        return self.T


def check_reversal(axes: Sequence[int] | None) -> None:
    """Raises an error for an order of axes that does not transpose a matrix."""
    if axes is not None and tuple(axes) != (1, 0):
        raise ShapeError(f"transpose: expected axes (1, 0) for a matrix; got {tuple(axes)}")


@register_pytree_node_class
class BCSR(OtherFormat):
    """A sparse array by rows, with leading batch axes and trailing dense axes.

    `data` [batch…, nse, dense…], `indices` [batch…, nse] are the columns, and `indptr`
    [batch…, rows + 1] says where each row begins. Elements from its last entry on are padding.
    `indices_sorted` and `unique_indices` are promises that weft does not use.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.BCSR.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      BCSR(float32[2, 2], nse=2)
    Source: JAX documentation, `jax.experimental.sparse.BCSR`.
    """

    __slots__ = ("indices", "indptr")
    parts = ("data", "indices", "indptr")
    indices: Array
    indptr: Array

    def __init__(
        self,
        args: tuple[Any, ...],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        super().__init__(args, shape=shape)

    def to_bcoo(self) -> BCOO:
        n = self.nse

        def rows(indptr: Array) -> Array:
            at = np.arange(n, dtype=indptr.dtype)
            return (np.searchsorted(indptr, at, side="right") - 1).astype(indptr.dtype)

        for _ in range(self.n_batch):
            rows = vmap(rows)
        indices = np.stack([rows(self.indptr), self.indices], axis=-1)
        return BCOO((self.data, indices), shape=self.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        if arr.n_sparse != 2:
            raise ShapeError(f"from_bcoo: expected two sparse axes; got {arr!r}")
        mat = arr.sort_indices()
        row, col = mat.columns()
        n = mat.sparse_shape[0]

        def begins(row: Array) -> Array:
            at = np.arange(n + 1, dtype=row.dtype)
            return np.searchsorted(row, at, side="left").astype(row.dtype)

        for _ in range(mat.n_batch):
            begins = vmap(begins)
        return cls((mat.data, col, begins(row)), shape=mat.shape)

    @classmethod
    def fromdense(  # type: ignore[override]
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> Self:
        """The sparse form of an array; see `bcoo_fromdense`."""
        return cls.from_bcoo(
            BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)
        )

    @property
    def n_sparse(self) -> int:
        """The numbers of rows and columns."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of trailing axes whose elements are all stored."""
        return self.data.ndim - 1 - self.n_batch

    @located
    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """Adds up elements at the same position: see `bcoo_sum_duplicates`."""
        return self.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))


@register_pytree_node_class
class CSR(BCSR):
    """A sparse matrix by rows: `data` and column `indices`, each [nse], and `indptr` [rows + 1].

    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.CSR.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> mat @ np.array([1.0, 1.0])
      Array([2., 3.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.CSR`.
    """

    __slots__ = ()

    @property
    def T(self) -> "CSC":
        """The transpose, which shares the arrays."""
        return CSC(self.tree_flatten()[0], shape=self.shape[::-1])

    def transpose(self, axes: Sequence[int] | None = None) -> "CSC":
        """The transpose, which shares the arrays."""
        check_reversal(axes)
        return self.T


@register_pytree_node_class
class CSC(OtherFormat):
    """A sparse matrix by columns: `data` and row `indices`, each [nse], and `indptr` [columns + 1].

    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.CSC.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> mat @ np.array([1.0, 1.0])
      Array([2., 3.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.CSC`.
    """

    __slots__ = ("indices", "indptr")
    parts = ("data", "indices", "indptr")

    def to_bcoo(self) -> BCOO:
        return self.T.to_bcoo().T

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        return cls(CSR.from_bcoo(arr.T).tree_flatten()[0], shape=arr.shape)

    @property
    def T(self) -> CSR:
        """The transpose, which shares the arrays."""
        return CSR(self.tree_flatten()[0], shape=self.shape[::-1])

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transpose, which shares the arrays."""
        check_reversal(axes)
        return self.T
