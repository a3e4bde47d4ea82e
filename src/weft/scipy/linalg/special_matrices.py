"""Special matrices: block_diag, circulant, companion, convolution_matrix, dft, fiedler,
fiedler_companion, hadamard, hankel, helmert, hilbert, invhilbert, invpascal, leslie, pascal,
toeplitz, tril, triu.
"""

import math
from typing import Any

import numpy as onp

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy import concatenate, tril, triu, zeros
from ...numpy.axes import as_int
from ...numpy.axis_gathers import take_static
from ...numpy.creation import dtype_argument, from_numpy
from ...numpy.plans import composite
from ...numpy.promotion import as_inexact, cast, noted, promote_values, value
from ...primitives import creation, selection, structural
from ...typing import ArrayLike, DTypeLike

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
    "tril",
    "triu",
]


# --- from vectors ---


def _vectors(name: str, x: Any, argument: str) -> Any:
    """A stack of vectors; a number is a vector of length one."""
    v = value(name, x, argument)
    return v if v.ndim else v.reshape(1)


def _one_vector(name: str, x: Any, argument: str, min_size: int) -> Any:
    v = value(name, x, argument)
    if v.ndim != 1 or v.size < min_size:
        raise noted(
            ShapeError(
                f"{name}: {argument} must be a vector of {min_size} or more elements; got {v.aval}"
            )
        )
    return v


def _matrix_of_elements(vectors: Any, indices: onp.ndarray) -> Any:
    """A matrix of elements of the last axis, at constant indices."""
    elements = take_static(vectors, indices.ravel(), vectors.ndim - 1)
    return structural.reshape(elements, shape=(*vectors.shape[:-1], *indices.shape))


def _joint_batches(name: str, c: Any, r: Any) -> tuple[Any, Any]:
    """Two stacks of vectors with their batch axes broadcast."""
    c, r = promote_values(name, _vectors(name, c, "c"), _vectors(name, r, "r"))
    batch_avals = [x.aval.update(shape=x.shape[:-1]) for x in (c, r)]
    batch_shape = structural.broadcast_shape(name, batch_avals)
    c, r = (structural.widen(x, (*batch_shape, x.shape[-1])) for x in (c, r))
    return c, r


@composite
def _along_diagonals(column: Any, row: Any, *, rising: bool) -> Any:
    """Matrices that are constant along their diagonals, or along their antidiagonals."""
    m, n = column.shape[-1], row.shape[-1]
    vectors = concatenate([column if rising else column[..., ::-1], row[..., 1:]], -1)
    first_column = onp.arange(m) if rising else m - 1 - onp.arange(m)
    return _matrix_of_elements(vectors, first_column[:, None] + onp.arange(n))


@located
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices that are constant along diagonals.

    Args:
      c: the first columns, [batch…, m].
      r: the first rows, [batch…, n], whose element 0 is ignored; the conjugate of `c` by default.
    Returns: array [batch…, m, n].
    Example:
      >>> toeplitz(np.array([1, 2, 3]), np.array([1, 4]))
      Array([[1, 4],
             [2, 1],
             [3, 2]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.toeplitz`.
    """
    c_vectors = _vectors("toeplitz", c, "c")
    column, row = _joint_batches("toeplitz", c_vectors, c_vectors.conj() if r is None else r)
    return _along_diagonals(column, row, rising=False)


@located
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Hankel matrices: constant along each antidiagonal.

    Args:
      c: the first columns, [batch…, m].
      r: the last rows, [batch…, n], whose element 0 is ignored; zeros by default.
    Returns: array [batch…, m, n].
    Example:
      >>> hankel(np.array([1, 2, 3]))
      Array([[1, 2, 3],
             [2, 3, 0],
             [3, 0, 0]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.hankel`.
    """
    c_vectors = _vectors("hankel", c, "c")
    column, row = _joint_batches("hankel", c_vectors, c_vectors * 0 if r is None else r)
    return _along_diagonals(column, row, rising=True)


@located
def circulant(c: ArrayLike) -> Array:
    """Circulant matrices: each column is the column before, rotated by one element.

    Args:
      c: the first columns, [batch…, n].
    Returns: array [batch…, n, n].
    Example:
      >>> circulant(np.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.circulant`.
    """
    vectors = _vectors("circulant", c, "c")
    n = vectors.shape[-1]
    return _matrix_of_elements(vectors, (onp.arange(n)[:, None] - onp.arange(n)) % max(n, 1))


@located
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Matrices whose product with a vector is the convolution of `a` and the vector.

    Args:
      a: array [batch…, k].
      n: the length of the vectors.
      mode: 'full', 'valid' or 'same', as in `numpy.convolve`.
    Returns: array [batch…, rows, n], with one row for each element of the convolution.
    Raises: ValueError: an unknown mode, or n isn't positive.
    Example:
      >>> convolution_matrix(np.array([1, 2]), 3)
      Array([[1, 0, 0],
             [2, 1, 0],
             [0, 2, 1],
             [0, 0, 2]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.convolution_matrix`.
    """
    vectors = _vectors("convolution_matrix", a, "a")
    n, k = as_int("convolution_matrix", n, "n"), vectors.shape[-1]
    if n <= 0 or k == 0:
        raise ValueError(f"convolution_matrix: n and a's length must be positive; got {n} and {k}")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"convolution_matrix: mode must be full, valid or same; got {mode!r:.60}")
    first_row, rows = 0, n + k - 1
    if mode == "valid":
        first_row, rows = min(n, k) - 1, max(n, k) - min(n, k) + 1
    elif mode == "same":
        first_row, rows = (min(n, k) - 1) // 2, max(n, k)
    indices = first_row + onp.arange(rows)[:, None] - onp.arange(n)
    is_inside = (indices >= 0) & (indices < k)
    elements = _matrix_of_elements(vectors, onp.clip(indices, 0, k - 1))
    return selection.where(
        from_numpy(is_inside), elements, creation.zeros(elements.aval.update(shape=()))
    )


@located
def block_diag(*arrs: ArrayLike) -> Array:
    """A block diagonal matrix, with zeros elsewhere.

    Args:
      arrs: matrices; vectors count as rows, scalars as [1, 1].
    Returns: array whose numbers of rows and columns are the sums over `arrs`.
    Raises: ShapeError: more than two axes.
    Example:
      >>> block_diag(np.array([[1, 2]]), 3)
      Array([[1, 2, 0],
             [0, 0, 3]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.block_diag`.
    """
    if not arrs:
        return zeros((1, 0))
    blocks = [value("block_diag", x, f"arrs[{i}]") for i, x in enumerate(arrs)]
    for x in blocks:
        if x.ndim > 2:
            raise ShapeError(f"block_diag: expected at most two axes; got {x.aval}")
    blocks = promote_values("block_diag", *blocks)
    blocks = [
        structural.reshape(x, shape=(1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x
        for x in blocks
    ]
    columns, n_columns_before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        m, n = x.shape
        sides = [
            zeros((m, n_columns_before), x.dtype),
            x,
            zeros((m, columns - n_columns_before - n), x.dtype),
        ]
        rows.append(concatenate(sides, 1))
        n_columns_before += n
    return concatenate(rows, 0)


@located
def companion(a: ArrayLike) -> Array:
    """The companion matrix of a polynomial, whose eigenvalues are its roots.

    Args:
      a: coefficients [n], the highest power first, n > 1; the first must not be zero.
    Returns: array [n - 1, n - 1] of floats.
    Raises: ShapeError: the shape is wrong.
    Example:
      >>> companion(np.array([1.0, -3.0, 2.0]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.companion`.
    """
    coefficients = as_inexact("companion", _one_vector("companion", a, "a", 2))
    n = coefficients.size - 1
    first_row = structural.reshape(-coefficients[1:] / coefficients[0], shape=(1, n))
    subdiagonal = from_numpy(onp.eye(n - 1, n, dtype=coefficients.dtype))
    return concatenate([first_row, subdiagonal], 0)


@located
def fiedler(a: ArrayLike) -> Array:
    """The absolute differences of all pairs of numbers.

    Args:
      a: array [n].
    Returns: array [n, n], |a[i] - a[j]|.
    Raises: ShapeError: the shape is wrong.
    Example:
      >>> fiedler(np.array([1, 4]))
      Array([[0, 3],
             [3, 0]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.fiedler`.
    """
    vector = _one_vector("fiedler", a, "a", 0)
    return abs(vector[:, None] - vector)


@located
def fiedler_companion(a: ArrayLike) -> Array:
    """A companion matrix of five diagonals.

    Args:
      a: coefficients [n], the highest power first; the first must not be zero.
    Returns: array [n - 1, n - 1] of floats, whose eigenvalues are the roots; [0] for n < 2.
    Raises: ShapeError: the shape is wrong.
    Example:
      >>> fiedler_companion(np.array([1.0, -3.0, 2.0]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    Source: M. Fiedler, Linear Algebra Appl. 372 (2003) 325-331.
    """
    coefficients = as_inexact("fiedler_companion", _one_vector("fiedler_companion", a, "a", 0))
    n = coefficients.size - 1
    if n < 1:
        return zeros(0, coefficients.dtype)
    coefficients = coefficients / coefficients[0]
    if n == 1:
        return -coefficients[1:, None]
    # products of [[-a, 1], [1, 0]] at neighbouring indices: even ones first, then odd ones
    indices, ones = onp.full((n, n), -1), onp.zeros((n, n))
    for row in range(n):
        if row % 2:
            ones[row, max(row - 2, 0)] = 1
            continue
        indices[row, max(row - 1, 0)] = row + 1
        if row + 1 < n:
            indices[row, row + 1] = row + 2
        if row + 2 < n:
            ones[row, row + 2] = 1
    elements = -_matrix_of_elements(coefficients, onp.maximum(indices, 0))
    return selection.where(
        from_numpy(indices >= 0), elements, from_numpy(ones.astype(coefficients.dtype))
    )


@located
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie matrices, which model the growth of populations by age.

    Args:
      f: fecundities, the first rows, [batch…, n].
      s: survival coefficients, the first subdiagonal, [batch…, n - 1].
    Returns: array [batch…, n, n].
    Raises: ShapeError: the lengths do not match.
    Example:
      >>> leslie(np.array([0.1, 2.0]), np.array([0.5]))
      Array([[0.1, 2. ],
             [0.5, 0. ]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.leslie`.
    """
    x, y = _joint_batches("leslie", f, s)
    n = x.shape[-1]
    if n != y.shape[-1] + 1 or n < 2:
        raise ShapeError(
            f"leslie: s must have one element fewer than f, and at least one; got {x.aval} and "
            f"{y.aval}"
        )
    indices = onp.full((n - 1, n), n - 1)
    indices[onp.arange(n - 1), onp.arange(n - 1)] = onp.arange(n - 1)
    lower_rows = _matrix_of_elements(concatenate([y, x[..., :1] * 0], -1), indices)
    return concatenate([x[..., None, :], lower_rows], -2)


# --- from a size ---


def _size(name: str, n: Any) -> int:
    n = as_int(name, n, "n")
    if n < 0:
        raise noted(ValueError(f"{name}: n must not be negative; got {n}"))
    return n


def _floats(x: Any) -> Array:
    return from_numpy(onp.asarray(x, onp.float64).astype(dtypes.default_float()))


@located
def hilbert(n: int) -> Array:
    """Hilbert's matrix, 1 / (i + j + 1).

    Example:
      >>> hilbert(2)
      Array([[1.        , 0.5       ],
             [0.5       , 0.33333334]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.hilbert`.
    """
    indices = onp.arange(_size("hilbert", n))
    return _floats(1.0 / (indices[:, None] + indices + 1))


@located
def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, which has integer elements.

    Example:
      >>> invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.invhilbert`.
    """
    n = _size("invhilbert", n)
    comb = math.comb

    def element(i: int, j: int) -> float:
        magnitude = (
            (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(i + j, i) ** 2
        )
        return float(magnitude if (i + j) % 2 == 0 else -magnitude)

    return _floats(onp.array([[element(i, j) for j in range(n)] for i in range(n)]).reshape(n, n))


def _kind(name: str, kind: Any) -> str:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise noted(
            ValueError(f"{name}: kind must be 'symmetric', 'lower' or 'upper'; got {kind!r:.60}")
        )
    return kind or "symmetric"


@located
def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's triangle as a matrix.

    Args:
      n: the size.
      kind: 'symmetric', the default, 'lower' or 'upper'.
    Returns: array [n, n] of floats.
    Raises: ValueError: an unknown kind.
    Example:
      >>> pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.pascal`.
    """
    n, kind = _size("pascal", n), _kind("pascal", kind)
    if kind == "symmetric":
        rows = [[math.comb(i + j, i) for j in range(n)] for i in range(n)]
    else:
        rows = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    triangle = onp.array(rows, onp.float64).reshape(n, n)
    return _floats(triangle.T if kind == "upper" else triangle)


@located
def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, which has integer elements.

    Args: as in `pascal`.
    Returns: array [n, n] of floats.
    Example:
      >>> invpascal(2, kind='lower')
      Array([[ 1.,  0.],
             [-1.,  1.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.invpascal`.
    """
    n, kind = _size("invpascal", n), _kind("invpascal", kind)
    rows = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    lower = onp.array(rows, object).reshape(n, n)
    inverse = lower.T.dot(lower) if kind == "symmetric" else lower.T if kind == "upper" else lower
    return _floats(inverse)


@located
def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Sylvester's Hadamard matrix: 1 and -1 in orthogonal rows.

    Args:
      n: the size, a power of two.
      dtype: the dtype of the result.
    Returns: array [n, n].
    Raises: ValueError: n is not a power of two.
    Example:
      >>> hadamard(2)
      Array([[ 1,  1],
             [ 1, -1]], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.hadamard`.
    """
    n = _size("hadamard", n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of two; got {n}")
    matrix = onp.ones((1, 1))
    while len(matrix) < n:
        matrix = onp.block([[matrix, matrix], [matrix, -matrix]])
    return from_numpy(matrix.astype(dtype_argument("hadamard", dtype)))


@located
def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix: orthonormal rows, orthogonal to the vector of ones.

    Args:
      n: the number of columns.
      full: add a first row of 1/√n.
    Returns: array [n - 1, n], or [n, n], of floats.
    Example:
      >>> helmert(2)
      Array([[ 0.70710677, -0.70710677]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.helmert`.
    """
    n = _size("helmert", n)
    matrix = onp.tril(onp.ones((n, n)), -1) - onp.diag(onp.arange(n))
    matrix[:1] = 1
    steps = onp.arange(n)
    norms = onp.where(steps == 0, n, steps * (steps + 1))
    matrix = matrix / onp.sqrt(onp.maximum(norms, 1))[:, None]
    return _floats(matrix if full else matrix[1:])


@located
def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Args:
      n: the size.
      scale: `None`, 'sqrtn' to divide by √n, or 'n' to divide by n.
      dtype: the default complex dtype by default.
    Returns: array [n, n].
    Raises: ValueError: an invalid scale.
    Example:
      >>> np.round(dft(2).real)
      Array([[ 1.,  1.],
             [ 1., -1.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.dft`.
    """
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn' or 'n'; got {scale!r:.60}")
    indices = onp.arange(n)
    matrix = onp.exp(-2j * onp.pi * ((indices[:, None] * indices) % max(n, 1)) / max(n, 1))
    matrix = matrix / {None: 1.0, "sqrtn": max(n, 1) ** 0.5, "n": max(n, 1)}[scale]
    result_dtype = dtype_argument("dft", dtype) or dtypes.default_complex()
    return cast(
        from_numpy(matrix.astype(onp.complex64 if result_dtype.itemsize < 16 else matrix.dtype)),
        result_dtype,
    )
