"""empty, eye and random_bcoo; and coo_*, csr_* and bcsr_* functions, by format: coo_fromdense,
coo_todense, coo_matvec, coo_matmat, csr_fromdense, csr_todense, csr_matvec, csr_matmat,
bcsr_fromdense and bcsr_todense.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ... import numpy as np
from ...core.source import located
from ...random.keys import split
from ...random.permutation import permutation
from ...random.uniform import uniform
from ...transforms.vmap import vmap
from ...typing import Array, DTypeLike
from .bcoo import BCOO
from .conversion import bcoo_sort_indices
from .formats import BCSR, COO, CSC, CSR

__all__ = [
    "bcsr_fromdense",
    "bcsr_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
    "empty",
    "eye",
    "random_bcoo",
]

FORMATS: dict[str, Any] = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csc": CSC, "csr": CSR}


def format_of(function: str, name: str) -> Any:
    """The class of a format."""
    if name not in FORMATS:
        raise ValueError(f"{function}: expected a sparse_format of {sorted(FORMATS)}; got {name!r}")
    return FORMATS[name]


@located
def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse array without elements.

    Args:
      shape: the shape.
      dtype, index_dtype: the dtypes of the elements and of the indices.
      sparse_format: bcoo, bcsr, coo, csr or csc.
      kwds: n_batch, n_dense, nse, for bcoo.
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    Source: JAX documentation, `jax.experimental.sparse.empty`.
    """
    chosen = format_of("empty", sparse_format)
    return chosen._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


@located
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
) -> Any:
    """A sparse matrix with ones on a diagonal.

    Args:
      N, M: the numbers of rows and of columns; M is N by default.
      k: the diagonal; positive ones lie above the main one.
      dtype, index_dtype: the dtypes of the elements and of the indices.
      sparse_format: bcoo, bcsr, coo, csr or csc.
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.eye(2, 3, k=1).todense()
      Array([[0., 1., 0.],
             [0., 0., 1.]], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.eye`.
    """
    columns = N if M is None else M
    chosen = format_of("eye", sparse_format)
    return chosen._eye(N, columns, k, dtype=dtype, index_dtype=index_dtype)


@located
def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    indices_dtype: DTypeLike | None = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array with random elements at random positions.

    Args:
      key: the key for the random numbers.
      shape: the lengths of its axes.
      dtype, indices_dtype: the dtypes of the elements and of the indices (the default integer dtype
        if None).
      nse: the number of elements (of each batch); a number below 1 is a fraction of the positions.
      n_batch, n_dense: the numbers of leading and trailing axes that are not indexed.
      unique_indices: True for distinct positions.
      sorted_indices: True to sort the elements by position.
      generator: makes the elements; called as generator(key, shape=…, dtype=…, **kwds).
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.random_bcoo(weft.random.key(0), (4, 5), nse=3)
      BCOO(float32[4, 5], nse=3)
    Source: JAX documentation, `jax.experimental.sparse.random_bcoo`.
    """
    shape = tuple(shape)
    indices_dtype = int if indices_dtype is None else indices_dtype
    n_sparse = len(shape) - n_batch - n_dense
    batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    places = int(np.prod(np.array(sparse, "int32"))) if sparse else 1
    count = int(np.ceil(nse * places)) if 0 <= nse < 1 else int(nse)
    if (not 0 <= count <= places and unique_indices) or count < 0:
        raise ValueError(f"random_bcoo: nse={nse} elements don't fit {places} places")
    places_key, data_key = split(key)

    def one(key: Array) -> Array:
        if unique_indices:
            at = permutation(key, places)[:count]
        else:
            at = (uniform(key, (count,)) * places).astype(np.int32)
        columns = np.unravel_index(at, sparse) if sparse else ()
        if not sparse:
            return np.zeros((count, 0), indices_dtype)
        return np.stack([c.astype(indices_dtype) for c in columns], axis=-1)

    keys = split(places_key, batch) if batch else places_key
    for _ in batch:
        one = vmap(one)
    data = generator(
        data_key, shape=(*batch, count, *shape[n_batch + n_sparse :]), dtype=dtype, **kwds
    )
    mat = BCOO((data, one(keys)), shape=shape, unique_indices=unique_indices)
    return bcoo_sort_indices(mat) if sorted_indices else mat


# --- the methods of the classes as functions ---


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = "int32") -> COO:
    """The COO form of a dense matrix: `COO.fromdense`.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.coo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      COO(float32[2, 2], nse=2)
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_todense(mat: COO) -> Array:
    """The dense matrix of a COO.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.coo_todense(sparse.eye(2, sparse_format="coo"))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return mat.todense()


def coo_matvec(mat: COO, v: Array, transpose: bool = False) -> Array:
    """The product of a COO, or of its transpose, and a vector.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.coo_matvec(sparse.eye(2, sparse_format="coo"), np.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return (mat.T if transpose else mat) @ v


def coo_matmat(mat: COO, B: Array, *, transpose: bool = False) -> Array:
    """The product of a COO, or of its transpose, and a dense matrix.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.coo_matmat(sparse.eye(2, sparse_format="coo"), np.ones((2, 3))).shape
      (2, 3)
    """
    return (mat.T if transpose else mat) @ B


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: DTypeLike = "int32") -> CSR:
    """The CSR form of a dense matrix: `CSR.fromdense`.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.csr_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]])).indptr
      Array([0, 1, 2], dtype=int32)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_todense(mat: CSR) -> Array:
    """The dense matrix of a CSR.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.csr_todense(sparse.eye(2, sparse_format="csr"))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return mat.todense()


def csr_matvec(mat: CSR, v: Array, transpose: bool = False) -> Array:
    """The product of a CSR, or of its transpose, and a vector.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.csr_matvec(sparse.eye(2, sparse_format="csr"), np.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    return (mat.T if transpose else mat) @ v


def csr_matmat(mat: CSR, B: Array, *, transpose: bool = False) -> Array:
    """The product of a CSR, or of its transpose, and a dense matrix.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.csr_matmat(sparse.eye(2, sparse_format="csr"), np.ones((2, 3))).shape
      (2, 3)
    """
    return (mat.T if transpose else mat) @ B


def bcsr_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = "int32",
) -> BCSR:
    """The BCSR form of an array: `BCSR.fromdense`.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.bcsr_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]])).indptr
      Array([0, 1, 2], dtype=int32)
    """
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcsr_todense(mat: BCSR) -> Array:
    """The dense array of a BCSR.

    Example:
      >>> from weft.experimental import sparse
      >>> sparse.bcsr_todense(sparse.eye(2, sparse_format="bcsr"))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return mat.todense()
