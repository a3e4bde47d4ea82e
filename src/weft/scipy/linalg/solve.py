"""Solvers of linear systems for matrices of several forms: solve, solve_banded, solveh_banded; inv,
det."""

from collections.abc import Sequence
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import custom_linear_solve, linalg as lax_linalg
from ...numpy import linalg
from ...numpy.linalg.operands import adjoint, check_matrices, in_wide_dtype, pair, rounded
from ...numpy.promotion import cast
from ...option_checks import ints_of
from ...primitives import creation, selection, structural
from ...typing import ArrayLike
from .cholesky import cho_solve
from .triangular import right_side, same_batch, solve_triangular

__all__ = ["det", "inv", "solve", "solve_banded", "solveh_banded"]


# --- forms of matrices ---

_FORMS = {
    None: "gen",
    "gen": "gen",
    "general": "gen",
    "sym": "sym",
    "symmetric": "sym",
    "her": "her",
    "hermitian": "her",
    "pos": "pos",
    "positive definite": "pos",
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "banded": "gen",
    "upper triangular": "upper",
    "lower triangular": "lower",
}


@located
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str | None = "gen",
    transposed: bool = False,
) -> Array:
    """Solves a x = b with a method for the form of `a`.

    Args:
      a: array [batch…, n, n].
      b: array [n] or [batch…, n, k]; batch axes broadcast.
      lower: read the lower triangle of a symmetric, Hermitian or positive definite matrix, not the
        upper one.
      assume_a: 'gen' (or None, 'general', 'banded'), 'sym', 'her', 'pos', 'diagonal',
        'tridiagonal', 'upper triangular', 'lower triangular', or SciPy's longer names for these.
      transposed: solve aᵀ x = b.
    Returns: array of b's shape; inf or NaN where a matrix is singular.
    Raises: ShapeError: the matrix is not square, or lengths differ. ValueError: the form is
      unknown.
    Example:
      >>> solve(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 8.0]), assume_a='pos')
      Array([1.5, 1. ], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve`.
    """
    if assume_a is not None and (not isinstance(assume_a, str) or assume_a not in _FORMS):
        forms = ", ".join(repr(k) for k in _FORMS if k)
        raise ValueError(f"solve: assume_a must be one of {forms}; got {assume_a!r:.60}")
    x, y = pair("solve", a, b)
    check_matrices("solve", x, "a", True)
    form = _FORMS[assume_a]
    if form in ("upper", "lower"):
        return solve_triangular(x, y, 1 if transposed else 0, form == "lower")
    if form == "diagonal":
        rhs, vector = right_side("solve", x, y)
        x, rhs = same_batch("solve", x, rhs)
        solutions = rhs / np.diagonal(x, 0, -2, -1)[..., None]
        return solutions[..., 0] if vector else solutions
    triangle = x if lower else adjoint(x)
    if form in ("sym", "her", "pos"):
        x = _from_triangle(x, bool(lower), conjugate=form != "sym")
    if transposed:
        x, triangle = np.matrix_transpose(x), triangle.conj()
    if form == "pos":
        return _by_cholesky(x, triangle, y)
    if form == "tridiagonal":
        return _tridiagonal(x, y)
    return linalg.solve(x, y)


def _from_triangle(x: Any, lower: bool, conjugate: bool) -> Any:
    """Symmetric or Hermitian matrices from one triangle. The imaginary part of a Hermitian diagonal
    is ignored.
    """
    if conjugate and dtypes.is_complex(x.dtype):
        x = selection.where(np.eye(x.shape[-1], dtype=bool), cast(x.real, x.dtype), x)
    part, strict_part = (np.tril(x), np.tril(x, -1)) if lower else (np.triu(x), np.triu(x, 1))
    other = np.matrix_transpose(strict_part)
    return part + (other.conj() if conjugate else other)


def _by_cholesky(x: Any, lower: Any, b: Any) -> Any:
    """Solutions for positive definite matrices, with their lower triangles as an argument;
    derivatives reuse the factor."""
    dtype = x.dtype
    b, vector = right_side("solve", x, b)
    x, lower, b = same_batch("solve", *map(in_wide_dtype, (x, lower, b)))
    factor = lax_linalg.cholesky(selection.stop_gradient(lower), symmetrize_input=False)

    def by_factor(_: Any, b: Any) -> Any:
        return cho_solve((factor, True), b)

    def by_conjugate(_: Any, b: Any) -> Any:  # for the transposed matrix
        return cho_solve((factor.conj(), True), b)

    solutions = custom_linear_solve(lambda y: x @ y, b, by_factor, by_conjugate)
    return rounded(solutions[..., 0] if vector else solutions, dtype)


def _tridiagonal(x: Any, b: Any) -> Any:
    """Solutions for tridiagonal matrices."""
    dtype = x.dtype
    b, vector = right_side("solve", x, b)
    x, b = same_batch("solve", in_wide_dtype(x), in_wide_dtype(b))
    lower, diagonal, upper = (np.diagonal(x, k, -2, -1) for k in (-1, 0, 1))
    zero = creation.zeros(diagonal.aval.update(shape=(*diagonal.shape[:-1], 1)))
    lower, upper = np.concatenate([zero, lower], -1), np.concatenate([upper, zero], -1)
    solutions = lax_linalg.tridiagonal_solve(lower, diagonal, upper, b)
    return rounded(solutions[..., 0] if vector else solutions, dtype)


@located
def solve_banded(
    l_and_u: Sequence[int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a x = b for banded matrices stored as diagonals.

    Tridiagonal matrices have their own solver; others are expanded to full matrices.

    Args:
      l_and_u: (l, u), the numbers of diagonals below and above the main one.
      ab: array [batch…, l + u + 1, n]: element [u + i - j, j] is a[i, j].
      b: array [n] or [batch…, n, k].
    Returns: array of b's shape.
    Raises: ShapeError: the lengths do not match.
    Example:
      >>> solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([4.0, 8.0]))
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve_banded`.
    """
    diagonals = ints_of("solve_banded", "l_and_u", l_and_u)
    if len(diagonals) != 2:
        raise ShapeError(f"solve_banded: l_and_u must be two ints, (l, u); got {diagonals}")
    low, high = diagonals
    x, y = pair("solve_banded", ab, b)
    if low < 0 or high < 0 or x.ndim < 2 or x.shape[-2] != low + high + 1:
        raise ShapeError(
            f"solve_banded: ab must be [batch…, l + u + 1, n] with (l, u) = {(low, high)}; got "
            f"{x.aval}"
        )
    n = x.shape[-1]
    rows, columns = onp.arange(n)[:, None], onp.arange(n)
    band_rows = high + rows - columns
    is_inside = (band_rows >= 0) & (band_rows < low + high + 1)
    flat_bands = structural.reshape(x, shape=(*x.shape[:-2], x.shape[-2] * n))
    elements = np.take(flat_bands, onp.where(is_inside, band_rows * n + columns, 0), axis=-1)
    a = selection.where(np.asarray(is_inside), elements, literal(0, elements.dtype))
    return _tridiagonal(a, y) if max(low, high) <= 1 else linalg.solve(a, y)


@located
def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a x = b for banded positive definite Hermitian matrices stored as diagonals.

    Args:
      ab: array [batch…, u + 1, n]: element [u + i - j, j] is a[i, j] for i <= j; if `lower`,
        element [i - j, j] is a[i, j] for i >= j.
      b: array [n] or [batch…, n, k].
      lower: `ab` contains the diagonals below the main one.
    Returns: array of b's shape; NaN where a matrix isn't positive definite.
    Raises: ShapeError: the lengths do not match.
    Example:
      >>> solveh_banded(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([3.0, 3.0]))
      Array([1., 1.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solveh_banded`.
    """
    x, y = pair("solveh_banded", ab, b)
    if x.ndim < 2 or not x.shape[-2]:
        raise ShapeError(f"solveh_banded: ab must be [batch…, u + 1, n]; got {x.aval}")
    u, n = x.shape[-2] - 1, x.shape[-1]
    rows, columns = onp.arange(n)[:, None], onp.arange(n)
    band_rows = rows - columns if lower else u + rows - columns
    is_inside = (band_rows >= 0) & (band_rows <= u)
    flat_bands = structural.reshape(x, shape=(*x.shape[:-2], (u + 1) * n))
    elements = np.take(flat_bands, onp.where(is_inside, band_rows * n + columns, 0), axis=-1)
    a = selection.where(np.asarray(is_inside), elements, literal(0, elements.dtype))
    a = _from_triangle(a, bool(lower), conjugate=True)
    return cho_solve((linalg.cholesky(a), True), y)


# --- as in numpy.linalg ---


@located
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant of matrices; see `numpy.linalg.det`.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…].
    Example:
      >>> det(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array(-2., dtype=float32)
    Source: SciPy documentation, `scipy.linalg.det`.
    """
    return linalg.det(a)


@located
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of matrices; see `numpy.linalg.inv`.

    Args:
      a: array [batch…, n, n].
    Returns: array of the shape of `a`; inf or NaN where a matrix is singular.
    Example:
      >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.inv`.
    """
    return linalg.inv(a)
