"""BCOO: batched coordinates, with the operators and methods of arrays; bcoo_fromdense makes one."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Self, TypeVar

from ... import numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...numpy.axes import all_axes
from ...tree_paths import GetAttrKey
from ...tree_util import register_pytree_with_keys_class
from ...typing import Array, DTypeLike
from .conversion import (
    OnInefficient,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_update_layout,
    dense_parts,
)
from .coordinates import Coordinates, SparseArray
from .elementwise import added, applied, divided, is_dense, multiplied, refuse_dense
from .indexing import item
from .manipulation import bcoo_reduce_sum, bcoo_reshape, bcoo_transpose
from .products import bcoo_dot_general

__all__ = ["BCOO", "bcoo_fromdense"]

F = TypeVar("F", bound=Callable[..., Any])


def operator(method: F) -> F:
    """Makes an operator between a sparse matrix and a matrix or array. It returns NotImplemented
    for other operands."""

    @wraps(method)
    def guarded(self: Any, other: Any) -> Any:
        if isinstance(other, Coordinates) or is_dense(other):
            return method(self, other)
        return NotImplemented

    return located(guarded)  # type: ignore[return-value]


@register_pytree_with_keys_class
class BCOO(Coordinates):
    """A sparse array in coordinate format, with leading batch axes and trailing dense axes.

    `data` [batch…, nse, dense…] holds the elements and `indices` [batch…, nse, n_sparse] their
    positions. Elements at the same position add up. An index beyond the shape marks padding, whose
    data is ignored. The array is a pytree and passes through `jit`, `vmap` (which maps the first
    axis of a batch), `jvp` and `vjp`; `sparse.grad` differentiates with respect to its elements.

    Operators and methods are the same as for arrays where the result is sparse: `@`, `*`, `/` and
    `+` with sparse and dense operands, `x[i, a:b]`, `sum`, `transpose`, `reshape`. They raise
    `TypeError` if the result would be dense.

    Example:
      >>> import weft.numpy as np
      >>> from weft.experimental import sparse
      >>> x = sparse.BCOO.fromdense(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
      >>> x
      BCOO(float32[2, 3], nse=3)
      >>> x @ np.array([1.0, 2.0, 3.0]), (2 * x).sum(0).todense()
      (Array([ 2., 11.], dtype=float32), Array([4., 2., 6.], dtype=float32))
    Source: JAX documentation, `jax.experimental.sparse.BCOO`.
    """

    __slots__ = ()
    __array_priority__ = 200

    # --- making them ---

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> Self:
        """Converts an array: see `bcoo_fromdense`."""
        data, indices = dense_parts(mat, nse, n_batch, n_dense, index_dtype)
        return cls((data, indices), shape=np.shape(mat), indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """Converts a `scipy.sparse` matrix in any format.

        Args:
          mat: the matrix.
          index_dtype: the dtype of the indices; int32 by default.
          n_dense, n_batch: must be 0.
        """
        if n_dense or n_batch:
            raise ValueError(
                f"from_scipy_sparse: n_dense={n_dense} and n_batch={n_batch} must be 0\n"
                "  fix: update_layout of the result"
            )
        mat = mat.tocoo()
        columns = [np.array(c.astype(index_dtype or "int32")) for c in mat.coords]
        return cls((np.array(mat.data), np.stack(columns, axis=-1)), shape=mat.shape)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> Self:
        shape = tuple(shape)
        n_sparse = len(shape) - n_batch - n_dense
        if min(n_sparse, n_batch, n_dense) < 0:
            raise ShapeError(f"empty: n_batch={n_batch} and n_dense={n_dense} don't fit {shape}")
        batch, inner = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
        data = np.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
        indices = np.broadcast_to(np.array(list(inner), index_dtype), (*batch, nse, n_sparse))
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

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
        first, count = (max(-k, 0), max(k, 0)), max(min(N + min(k, 0), M - max(k, 0)), 0)
        along = np.arange(count, dtype=index_dtype)
        indices = np.stack([along + first[0], along + first[1]], axis=-1)
        data = np.ones(count, dtype)
        return cls((data, indices), shape=(N, M), indices_sorted=True, unique_indices=True)

    # --- trees ---

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        """The arrays with their names, and the static data."""
        (data, indices), static = self.tree_flatten()
        return ((GetAttrKey("data"), data), (GetAttrKey("indices"), indices)), static

    # --- forms ---

    def todense(self) -> Array:
        """The dense array."""
        return bcoo_todense(self)

    def sort_indices(self) -> Self:
        """Sorts the elements by position."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """Adds up elements at the same position: see `bcoo_sum_duplicates`."""
        return bcoo_sum_duplicates(self, nse, remove_zeros)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: OnInefficient = "error",
    ) -> Self:
        """Changes the numbers of batch and dense axes: see `bcoo_update_layout`."""
        return bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def astype(self, dtype: DTypeLike) -> Self:
        """Converts the elements to another dtype."""
        return self.with_data(self.data.astype(dtype))

    def block_until_ready(self) -> Self:
        """Waits until the arrays are computed."""
        self.data.block_until_ready()
        self.indices.block_until_ready()
        return self

    # --- axes ---

    @located
    def transpose(self, axes: Sequence[int] | None = None) -> Self:
        """Reorders the axes; by default reverses them."""
        order = range(self.ndim)[::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=tuple(order))

    @property
    def T(self) -> Self:
        """The matrix with its axes in reverse order."""
        return self.transpose()

    @located
    def reshape(self, *shape: Any) -> Self:
        """Changes the shape and keeps the order of the elements; one length may be -1."""
        sizes = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        return bcoo_reshape(self, new_sizes=tuple(sizes))

    @located
    def sum(
        self,
        axis: Any = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Any:
        """The sum over axes: a sparse matrix, or for all axes a scalar array.

        Args:
          axis: the axis or axes; all by default.
          dtype: the dtype of the sum.
          out: must be None.
          keepdims: keeps the summed axes with length 1. The result is dense if all axes are summed.
        """
        if out is not None:
            raise ValueError("sum: arrays are immutable; pass out=None")
        chosen = range(self.ndim) if axis is None else axis
        axes = all_axes("sum", chosen, self)
        x = self if dtype is None else self.astype(dtype)
        if x.dtype == bool:
            x = x.sum_duplicates(x.nse).astype(int)
        total = bcoo_reduce_sum(x, axes=axes)
        if keepdims:
            total = total.reshape([1 if a in axes else n for a, n in enumerate(self.shape)])
        return total.todense() if len(axes) == self.ndim else total

    @located
    def __getitem__(self, index: Any) -> Self:
        return item(self, index)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    # --- arithmetic ---

    def __neg__(self) -> Self:
        return self.with_data(-self.data)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return applied(abs, self)

    @operator
    def __add__(self, other: Any) -> Any:
        return added(self, other)

    __radd__ = __add__

    @operator
    def __sub__(self, other: Any) -> Any:
        return added(self, -other)

    @operator
    def __rsub__(self, other: Any) -> Any:
        return added(-self, other)

    @operator
    def __mul__(self, other: Any) -> Any:
        return multiplied(self, other)

    __rmul__ = __mul__

    @operator
    def __truediv__(self, other: Any) -> Any:
        return divided(self, other)

    @operator
    def __rtruediv__(self, other: Any) -> Any:
        return divided(other, self)

    @located
    def __pow__(self, power: Any) -> Self:
        if not isinstance(power, (int, float)) or power <= 0:
            raise refuse_dense(f"power {power!r}", self)
        return applied(lambda x: x**power, self)

    @operator
    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    @operator
    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    def _refuse_comparison(self, other: Any) -> Any:
        raise refuse_dense("comparison", self, other)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison


def matmul(lhs: Any, rhs: Any) -> Any:
    """lhs @ rhs, like NumPy's matmul, for matrices, vectors, and stacks with equal leading axes."""
    lhs, rhs = (x if isinstance(x, SparseArray) else np.asarray(x) for x in (lhs, rhs))
    batch = tuple(range(max(lhs.ndim, rhs.ndim) - 2))
    if not lhs.ndim or not rhs.ndim or (batch and lhs.ndim != rhs.ndim):
        raise ShapeError(
            f"matmul: shapes {lhs.shape} and {rhs.shape}: expected vectors, matrices, or stacks "
            "with the same leading axes\n  fix: sparse.bcoo_dot_general, or vmap"
        )
    contracting = (lhs.ndim - 1,), (max(rhs.ndim - 2, 0),)
    return bcoo_dot_general(lhs, rhs, dimension_numbers=(contracting, (batch, batch)))


@located
def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = "int32",
) -> BCOO:
    """Converts an array to BCOO format.

    Args:
      mat: the array.
      nse: the number of stored elements (of each batch). None means the number of nonzero elements,
        which is unknown for a traced array. If it is too small, the last elements are left out.
      n_batch, n_dense: the numbers of leading and trailing axes that are not indexed.
      index_dtype: the dtype of the indices.
    Returns: a matrix of the same shape and dtype.
    Raises: ShapeError: n_batch and n_dense are too large. ConcretizationTypeError: `nse` is None,
      and the array is traced.
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.bcoo_fromdense(np.eye(3), nse=5)
      BCOO(float32[3, 3], nse=5)
    Source: JAX documentation, `jax.experimental.sparse.bcoo_fromdense`.
    """
    return BCOO.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
