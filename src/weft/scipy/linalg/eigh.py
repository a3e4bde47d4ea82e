"""Eigenvalues of Hermitian and of symmetric tridiagonal matrices: eigh, eigh_tridiagonal.

The Cholesky factor of `b` reduces a generalized problem to a standard one. Bisection finds the
eigenvalues of large tridiagonal matrices.
"""

from collections.abc import Sequence
from typing import Any

from ... import numpy as np
from ...core.source import located
from ...errors import ShapeError
from ...lax import fori_loop, linalg as lax_linalg, platform_dependent, scan
from ...numpy.linalg.operands import adjoint, in_wide_dtype, matrices, pair, rounded
from ...numpy.ranges import concrete_argument
from ...option_checks import ints_of
from ...transforms.custom_derivatives import custom_jvp
from ...transforms.derivatives import jvp
from ...transforms.jit.function import jit
from ...typing import ArrayLike

__all__ = ["eigh", "eigh_tridiagonal"]


# --- eigenvalues and singular values ---


@located
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices: a v = w v, or a v = w b v.

    Args:
      a: array [batch…, n, n].
      b: positive definite Hermitian matrices of the same shape.
      lower: has no effect: as in JAX, `a` stands for (a + aᴴ) / 2, and so does `b`, so derivatives
        are Hermitian too. SciPy reads the named triangle.
      eigvals_only: return the eigenvalues alone.
      eigvals: must be None: see `subset_by_index`.
      type: 1: a v = w b v; 2: a b v = w v; 3: b a v = w v.
      subset_by_index: (first, last) to return only these eigenvalues, the last one included.
    Returns: (w [batch…, n], rising; v, in columns), or w. With `b` v is normalized so that vᴴ b v
      (vᴴ b⁻¹ v for type 3) is the identity.
    Raises: ShapeError: not square, or different shapes. ValueError: an unsupported option.
    Example:
      >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.eigh`; G. H. Golub, C. F. Van Loan, Matrix
      Computations, 4th ed., 8.7.
    """
    if eigvals is not None:
        raise ValueError(f"eigh: eigvals must be None; got {eigvals!r:.60}\n  fix: subset_by_index")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3; got {type!r:.60}")
    x = matrices("eigh", a, square=True)
    dtype = x.dtype
    if b is None:
        v, w = lax_linalg.eigh(in_wide_dtype(x), lower=bool(lower))
    else:
        x, y = pair("eigh", x, matrices("eigh", b, "b", square=True))
        if x.shape != y.shape:
            raise ShapeError(f"eigh: a and b must have one shape; got {x.aval} and {y.aval}")
        dtype = x.dtype
        v, w = _generalized_eigh(in_wide_dtype(x), in_wide_dtype(y), type)
    if subset_by_index is not None:
        ends = ints_of("eigh", "subset_by_index", subset_by_index)
        start, stop = ends if len(ends) == 2 else (-1, -1)
        if not 0 <= start <= stop < w.shape[-1]:
            raise ValueError(
                f"eigh: subset_by_index must be (first, last) below {w.shape[-1]}; got "
                f"{subset_by_index!r:.60}"
            )
        w, v = w[..., start : stop + 1], v[..., start : stop + 1]
    w = rounded(w, dtype)
    return w if eigvals_only else (w, rounded(v, dtype))


def _generalized_eigh(a: Any, b: Any, type: int) -> tuple[Any, Any]:
    """(eigenvectors, eigenvalues) of a generalized problem, reduced to a standard one by b = L
    Lᴴ."""
    factor = lax_linalg.cholesky(b)
    a = (a + adjoint(a)) / 2
    if type == 1:
        half_reduced = _by_triangle(factor, a)
        standard_matrix = adjoint(_by_triangle(factor, adjoint(half_reduced)))
    else:
        standard_matrix = adjoint(factor) @ a @ factor
    v, w = lax_linalg.eigh(standard_matrix)
    if type == 3:
        return factor @ v, w
    return _by_triangle(factor, v, transposed=True), w


def _by_triangle(lower: Any, b: Any, transposed: bool = False) -> Any:
    """L⁻¹ b or L⁻ᴴ b."""
    return lax_linalg.triangular_solve(
        lower, b, left_side=True, lower=True, transpose_a=transposed, conjugate_a=transposed
    )


@located
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Sequence[float] | None = None,
    tol: float | None = None,
    key: Any = None,
    check_finite: bool = True,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian tridiagonal matrices.

    The matrices are decomposed as full ones; eigenvalues alone of large matrices are found by
    bisection.

    Args:
      d: the diagonal [batch…, n], real.
      e: the diagonal above it [batch…, n - 1].
      eigvals_only: return the eigenvalues alone.
      select: 'a': all; 'i': those with indices select_range[0] to select_range[1], both included;
        'v': those above select_range[0] and up to select_range[1], for one matrix that is not
        traced.
      tol, key, check_finite, lapack_driver: have no effect.
    Returns: (w, rising; v, in columns), or w.
    Raises: ShapeError: the lengths do not match. ValueError: an unknown selection.
    Example:
      >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
      Array([1., 3.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.eigh_tridiagonal`.
    """
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v'; got {select!r:.60}")
    if (select != "a") != (select_range is not None):
        raise ValueError(
            f"eigh_tridiagonal: select 'i' and 'v' need a select_range; got {select!r} and "
            f"{select_range!r:.60}"
        )
    x, y = pair("eigh_tridiagonal", d, e)
    if not x.ndim or y.shape != (*x.shape[:-1], max(x.shape[-1] - 1, 0)):
        raise ShapeError(
            f"eigh_tridiagonal: expected d [batch…, n] and e [batch…, n - 1]; got {x.aval} and "
            f"{y.aval}"
        )
    dtype, n = x.dtype, x.shape[-1]
    x, y = in_wide_dtype(x), in_wide_dtype(y)
    w: Any
    v: Any
    if eigvals_only and n >= _BISECTION_MIN_SIZE:
        w = v = _eigenvalues(x, y)
    else:
        v, w = lax_linalg.eigh(_matrices(x, y))
    if select_range is not None:
        low, high = select_range
        if select == "v":
            eigenvalues = concrete_argument("eigh_tridiagonal", w, "d")
            if eigenvalues.ndim != 1:
                raise ShapeError(f"eigh_tridiagonal: select 'v' is for one matrix; got d {x.aval}")
            start, stop = int((eigenvalues <= low).sum()), int((eigenvalues <= high).sum())
        else:
            start, stop = int(low), int(high) + 1
            if not 0 <= start < stop <= n:
                raise ValueError(
                    f"eigh_tridiagonal: select_range must be (first, last) below {n}; got "
                    f"{select_range!r:.60}"
                )
        w, v = w[..., start:stop], v[..., start:stop]
    w = rounded(w, dtype)
    return w if eigvals_only else (w, rounded(v, dtype))


def _matrices(d: Any, e: Any) -> Any:
    """Full matrices from their diagonals."""
    n = d.shape[-1]
    a = _diagonal_matrices(d, n, 0)
    if n <= 1:
        return a
    off_diagonal = _diagonal_matrices(e, n, -1)
    return a + off_diagonal + np.matrix_transpose(off_diagonal).conj()


def _diagonal_matrices(x: Any, n: int, k: int) -> Any:
    """Matrices [batch…, n, n] with the vectors on one diagonal."""
    columns = x[..., None, :] if k == 0 else x[..., None, : n - 1]
    mask = np.eye(n, columns.shape[-1], k, dtype=x.dtype)
    masked_columns = columns * mask
    if columns.shape[-1] == n:
        return masked_columns
    return np.concatenate(
        [masked_columns, np.zeros((*masked_columns.shape[:-1], 1), masked_columns.dtype)], -1
    )


# --- eigenvalues alone ---

_BISECTION_MIN_SIZE = 64  # from this size on, bisection is faster than LAPACK


@custom_jvp
def _eigenvalues(d: Any, e: Any) -> Any:
    return _on_platform(d, e)


@jit
def _on_platform(d: Any, e: Any) -> Any:
    return platform_dependent(d, e, cpu=_eigenvalues_by_bisection, default=_eigenvalues_of_matrices)


@_eigenvalues.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return jvp(_eigenvalues_of_matrices, primals, tangents)  # the derivative needs the eigenvectors


def _eigenvalues_of_matrices(d: Any, e: Any) -> Any:
    return lax_linalg.eigh(_matrices(d, e))[1]


def _eigenvalues_by_bisection(d: Any, e: Any) -> Any:
    """Eigenvalues by bisection, with the precision of the largest one.

    The number of eigenvalues below x is the number of negative quotients of leading minors of
    `a - x` (Sturm sequence).
    Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 8.4.1; LAPACK's dlaebz.
    """
    d, off_diagonal = d.real, abs(e)
    info = np.finfo(d.dtype)
    # scaled so that neither sums nor squares overflow
    largest = np.maximum(abs(d).max(-1, keepdims=True), off_diagonal.max(-1, keepdims=True))
    limit = info.maxexp - 2
    power = np.clip(np.frexp(largest)[1], -limit, limit)
    d, off_diagonal = np.ldexp(d, -power), np.ldexp(off_diagonal, -power)
    edge = np.zeros_like(off_diagonal[..., :1])
    previous_off_diagonal, next_off_diagonal = (
        np.concatenate([edge, off_diagonal], -1),
        np.concatenate([off_diagonal, edge], -1),
    )
    low = (d - previous_off_diagonal - next_off_diagonal).min(-1, keepdims=True)
    high = (d + previous_off_diagonal + next_off_diagonal).max(-1, keepdims=True)
    rows = [
        np.moveaxis(x, -1, 0)[..., None] for x in (d, previous_off_diagonal * previous_off_diagonal)
    ]
    positions = np.arange(d.shape[-1])
    smallest_normal = np.asarray(info.tiny, d.dtype)

    def number_below(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            quotient, count = carry
            quotient = row[0] - x - row[1] / quotient
            is_negative = quotient <= smallest_normal
            quotient = np.where(is_negative, np.minimum(quotient, -smallest_normal), quotient)
            return (quotient, count + is_negative.astype("int32")), None

        start = np.ones_like(x), np.zeros(x.shape, "int32")
        return scan(step, start, rows, unroll=4)[0][1]

    def halve(_: Any, interval: Any) -> Any:
        low, high = interval
        midpoint = 0.5 * (low + high)
        is_above = number_below(midpoint) <= positions
        return np.where(is_above, midpoint, low), np.where(is_above, high, midpoint)

    interval = tuple(np.broadcast_to(x, d.shape) for x in (low, high))
    low, high = fori_loop(0, info.nmant + 3, halve, interval)
    return np.ldexp(0.5 * (low + high), power)
