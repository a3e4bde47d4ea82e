"""Systems of equations with matrices of a known form, or that are decomposed already.

`overwrite_a`, `overwrite_b`, `check_finite` and `debug` do nothing: see `factorizations.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import custom_linear_solve, linalg as lax_linalg
from ...numpy import linalg
from ...numpy.linalg.operands import adjoint, check_matrices, in_wide, matrices, pair, rounded
from ...numpy.plans import composite
from ...numpy.promotion import cast, noted, promote_values, value
from ...primitives import selection, structural
from ...typing import ArrayLike
from .triangles import solve_sylvester_of_triangles, sylvester

__all__ = [
    "cho_solve",
    "lu_solve",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
]


def _right_side(name: str, a: Any, b: Any) -> tuple[Any, bool]:
    """(b as [batch…, n, k] with the batch of a, whether it was a vector)."""
    n = a.shape[-1]
    vector = b.ndim == 1
    if not b.ndim or b.shape[0 if vector else -2] != n:
        raise noted(
            ShapeError(f"{name}: b must be [n] or [batch…, n, k] with n = {n}; got {b.aval}")
        )
    return (b[:, None] if vector else b), vector


def _same_batch(name: str, *xs: Any) -> list[Any]:
    """Stacks of matrices with the axes in front broadcast."""
    fronts = [x.aval.update(shape=x.shape[:-2]) for x in xs]
    front = structural.broadcast_shape(name, fronts)
    return [structural.widen(x, (*front, *x.shape[-2:])) for x in xs]


# --- triangles ---


@located
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solutions x of a x = b for triangular matrices.

    Args:
      a: array [batch…, n, n], of which one triangle is read.
      b: array [n] or [batch…, n, k]; the axes in front broadcast.
      trans: 0 or 'N': a x = b; 1 or 'T': aᵀ x = b; 2 or 'C': aᴴ x = b.
      lower: the triangle.
      unit_diagonal: the diagonal is taken as ones, and isn't read.
    Returns: array of b's shape; inf or NaN where a diagonal has a zero.
    Raises: ShapeError: not square, or lengths that differ. ValueError: another `trans`.
    Example:
      >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve_triangular`.
    """
    kinds = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if not isinstance(trans, (int, str)) or trans not in kinds:
        raise ValueError(
            f"solve_triangular: trans must be 0, 1, 2, 'N', 'T', 'C'; got {trans!r:.60}"
        )
    return _by_triangle("solve_triangular", a, b, (kinds[trans],), lower, unit_diagonal)


def _by_triangle(
    name: str, a: Any, b: Any, kinds: tuple[int, ...], lower: Any, unit_diagonal: Any = False
) -> Any:
    """The solutions for a triangle, of one system after the other; see `_one_by_one`."""
    x, y = pair(name, a, b)
    check_matrices(name, x, "a", True)
    y, vector = _right_side(name, x, y)
    wide = _same_batch(name, in_wide(x), in_wide(y))
    found = _one_by_one(*wide, kinds=kinds, lower=bool(lower), unit_diagonal=bool(unit_diagonal))
    return rounded(found[..., 0] if vector else found, x.dtype)


@composite
def _one_by_one(x: Any, y: Any, *, kinds: tuple[int, ...], lower: bool, unit_diagonal: bool) -> Any:
    """Solves with x (kind 0), xᵀ (1) or xᴴ (2), the next one for what the last one gave."""
    for kind in kinds:
        y = lax_linalg.triangular_solve(
            x,
            y,
            left_side=True,
            lower=lower,
            transpose_a=kind > 0,
            conjugate_a=kind == 2,
            unit_diagonal=unit_diagonal,
        )
    return y


@located
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of a x = b, by what `cho_factor` made of `a`.

    Args:
      c_and_lower: (the factor, whether it is the lower one).
      b: array [n] or [batch…, n, k].
    Returns: array of b's shape.
    Raises: ShapeError: lengths that differ.
    Example:
      >>> from weft.scipy.linalg import cho_factor
      >>> factor = cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
      >>> cho_solve(factor, np.array([8.0, 8.0]))
      Array([1.5, 1. ], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.cho_solve`.
    """
    c, lower = c_and_lower
    return _by_triangle("cho_solve", c, b, (0, 2) if lower else (2, 0), lower)


@located
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of a x = b, by what `lu_factor` made of `a`.

    Args:
      lu_and_piv: (both factors, exchanges of rows).
      b: array [n] or [batch…, n, k].
      trans: 0: a x = b; 1: aᵀ x = b; 2: aᴴ x = b.
    Returns: array of b's shape.
    Raises: ShapeError: lengths that differ. ValueError: another `trans`.
    Example:
      >>> from weft.scipy.linalg import lu_factor
      >>> factors = lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> lu_solve(factors, np.array([5.0, 12.0]))
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.lu_solve`.
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2; got {trans!r:.60}")
    factors, pivots = matrices("lu_solve", lu_and_piv[0], "lu_and_piv[0]", True), lu_and_piv[1]
    x, y = pair("lu_solve", factors, b)
    y, vector = _right_side("lu_solve", x, y)
    x, y = _same_batch("lu_solve", x, y)
    pivots = value("lu_solve", pivots, "lu_and_piv[1]")
    order = lax_linalg.lu_pivots_to_permutation(pivots, x.shape[-1])
    order = structural.widen(order, y.shape[:-1])
    if trans == 0:
        y = np.take_along_axis(y, structural.widen(order[..., None], y.shape), -2)
        y = solve_triangular(x, y, lower=True, unit_diagonal=True)
        y = solve_triangular(x, y)
    else:
        y = solve_triangular(x, y, trans)
        y = solve_triangular(x, y, trans, lower=True, unit_diagonal=True)
        back = np.argsort(order, -1)
        y = np.take_along_axis(y, structural.widen(back[..., None], y.shape), -2)
    return y[..., 0] if vector else y


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
    """The solutions x of a x = b, for matrices of which a form may be known.

    Args:
      a: array [batch…, n, n].
      b: array [n] or [batch…, n, k]; the axes in front broadcast.
      lower: which triangle is read of those that are symmetric, Hermitian or positive definite.
      assume_a: 'gen' (or None, 'general', 'banded'), 'sym', 'her', 'pos', 'diagonal',
        'tridiagonal', 'upper triangular', 'lower triangular', or SciPy's longer names of them.
      transposed: solve aᵀ x = b.
    Returns: array of b's shape; inf or NaN where a matrix is singular.
    Raises: ShapeError: not square, or lengths that differ. ValueError: another form.
    Example:
      >>> solve(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 8.0]), assume_a='pos')
      Array([1.5, 1. ], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve`.
    """
    if assume_a is not None and (not isinstance(assume_a, str) or assume_a not in _FORMS):
        known = ", ".join(repr(k) for k in _FORMS if k)
        raise ValueError(f"solve: assume_a must be one of {known}; got {assume_a!r:.60}")
    x, y = pair("solve", a, b)
    check_matrices("solve", x, "a", True)
    form = _FORMS[assume_a]
    if form in ("upper", "lower"):
        return solve_triangular(x, y, 1 if transposed else 0, form == "lower")
    if form == "diagonal":
        rhs, vector = _right_side("solve", x, y)
        x, rhs = _same_batch("solve", x, rhs)
        found = rhs / np.diagonal(x, 0, -2, -1)[..., None]
        return found[..., 0] if vector else found
    read = x if lower else adjoint(x)
    if form in ("sym", "her", "pos"):
        x = _from_triangle(x, bool(lower), conjugate=form != "sym")
    if transposed:
        x, read = np.matrix_transpose(x), read.conj()
    if form == "pos":
        return _by_cholesky(x, read, y)
    if form == "tridiagonal":
        return _tridiagonal(x, y)
    return linalg.solve(x, y)


def _from_triangle(x: Any, lower: bool, conjugate: bool) -> Any:
    """Symmetric or Hermitian matrices, of one triangle of them; what is imaginary on a Hermitian
    diagonal doesn't count."""
    if conjugate and dtypes.is_complex(x.dtype):
        x = selection.where(np.eye(x.shape[-1], dtype=bool), cast(x.real, x.dtype), x)
    part, rest = (np.tril(x), np.tril(x, -1)) if lower else (np.triu(x), np.triu(x, 1))
    other = np.matrix_transpose(rest)
    return part + (other.conj() if conjugate else other)


def _by_cholesky(x: Any, lower: Any, b: Any) -> Any:
    """Solutions for positive definite matrices, with their lower triangles in matrices besides;
    derivatives take the same factor."""
    dtype = x.dtype
    b, vector = _right_side("solve", x, b)
    x, lower, b = _same_batch("solve", *map(in_wide, (x, lower, b)))
    factor = lax_linalg.cholesky(selection.stop_gradient(lower), symmetrize_input=False)

    def by_factor(_: Any, b: Any) -> Any:
        return cho_solve((factor, True), b)

    def by_conjugate(_: Any, b: Any) -> Any:  # of the transposed matrix
        return cho_solve((factor.conj(), True), b)

    found = custom_linear_solve(lambda y: x @ y, b, by_factor, by_conjugate)
    return rounded(found[..., 0] if vector else found, dtype)


def _tridiagonal(x: Any, b: Any) -> Any:
    """Solutions for matrices of three diagonals."""
    dtype = x.dtype
    b, vector = _right_side("solve", x, b)
    x, b = _same_batch("solve", in_wide(x), in_wide(b))
    lower, middle, upper = (np.diagonal(x, k, -2, -1) for k in (-1, 0, 1))
    zero = structural.zeros(middle.aval.update(shape=(*middle.shape[:-1], 1)))
    lower, upper = np.concatenate([zero, lower], -1), np.concatenate([upper, zero], -1)
    found = lax_linalg.tridiagonal_solve(lower, middle, upper, b)
    return rounded(found[..., 0] if vector else found, dtype)


@located
def solve_banded(
    l_and_u: Sequence[int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions x of a x = b, for matrices given by their diagonals.

    Matrices of three diagonals are solved in that form; others are written out first.

    Args:
      l_and_u: (l, u), how many diagonals there are below and above the main one.
      ab: array [batch…, l + u + 1, n]: element [u + i - j, j] is a[i, j].
      b: array [n] or [batch…, n, k].
    Returns: array of b's shape.
    Raises: ShapeError: other lengths.
    Example:
      >>> solve_banded((0, 1), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([4.0, 8.0]))
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.solve_banded`.
    """
    low, high = (int(k) for k in l_and_u)
    x, y = pair("solve_banded", ab, b)
    if low < 0 or high < 0 or x.ndim < 2 or x.shape[-2] != low + high + 1:
        raise ShapeError(
            f"solve_banded: ab must be [batch…, l + u + 1, n] with (l, u) = {(low, high)}; got "
            f"{x.aval}"
        )
    n = x.shape[-1]
    rows, columns = onp.arange(n)[:, None], onp.arange(n)
    places = high + rows - columns
    inside = (places >= 0) & (places < low + high + 1)
    flat = structural.reshape(x, shape=(*x.shape[:-2], x.shape[-2] * n))
    found = np.take(flat, onp.where(inside, places * n + columns, 0), axis=-1)
    a = selection.where(np.asarray(inside), found, literal(0, found.dtype))
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
    """The solutions x of a x = b, for positive definite Hermitian matrices given by diagonals.

    Args:
      ab: array [batch…, u + 1, n]: element [u + i - j, j] is a[i, j] for i <= j; if `lower`,
        element [i - j, j] is a[i, j] for i >= j.
      b: array [n] or [batch…, n, k].
      lower: the diagonals are those below.
    Returns: array of b's shape; NaN where a matrix isn't positive definite.
    Raises: ShapeError: other lengths.
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
    places = rows - columns if lower else u + rows - columns
    inside = (places >= 0) & (places <= u)
    flat = structural.reshape(x, shape=(*x.shape[:-2], (u + 1) * n))
    found = np.take(flat, onp.where(inside, places * n + columns, 0), axis=-1)
    a = selection.where(np.asarray(inside), found, literal(0, found.dtype))
    a = _from_triangle(a, bool(lower), conjugate=True)
    return cho_solve((linalg.cholesky(a), True), y)


# --- Sylvester's equation ---


@located
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solutions x of A x + x B = C.

    Args:
      A, B: arrays [m, m] and [n, n].
      C: array [m, n].
      method: 'schur' (R. Bartels, G. Stewart) or 'eigen', by eigenvectors.
      tol: NaN comes back where an eigenvalue of A and one of B have a sum no larger than this.
    Returns: array [m, n].
    Raises: ShapeError: other shapes. ValueError: another method.
    Example:
      >>> solve_sylvester(np.array([[1.0]]), np.array([[2.0]]), np.array([[6.0]]))
      Array([[2.]], dtype=float32)
    Source: R. H. Bartels, G. W. Stewart, Comm. ACM 15 (1972) 820-826.
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen'; got {method!r:.60}")
    names = ("A", "B", "C")
    given = [value("solve_sylvester", x, n) for x, n in zip((A, B, C), names, strict=True)]
    a, b, c = promote_values("solve_sylvester", *given, to_inexact=True)
    check_matrices("solve_sylvester", a, "A", True)
    check_matrices("solve_sylvester", b, "B", True)
    if c.shape != (*a.shape[:-1], b.shape[-1]) or a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(
            f"solve_sylvester: expected A [m, m], B [n, n] and C [m, n]; got {a.aval}, {b.aval} "
            f"and {c.aval}"
        )
    dtype = a.dtype
    a, b, c = in_wide(a), in_wide(b), in_wide(c)
    wide = dtypes.complex_of(a.dtype)
    forms = [cast(selection.stop_gradient(x), wide) for x in (a, b)]
    if method == "schur":
        parts = [y for x in forms for y in lax_linalg.schur(x)]
    else:
        parts = []
        for x in forms:
            w, v = lax_linalg.eig(x, compute_left_eigenvectors=False)
            parts += [w[..., None, :] * np.eye(w.shape[-1], dtype=wide), v]
    r, s = (np.diagonal(t, 0, -2, -1) for t in parts[::2])
    sums = r[..., :, None] + s[..., None, :]
    real = not dtypes.is_complex(dtype)
    solution = sylvester(a, b, c, lambda exchanged: _by_parts(parts, exchanged, real))
    apart = np.all(abs(sums) > tol, axis=(-2, -1), keepdims=True)
    solution = selection.where(apart, solution, literal(float("nan"), solution.dtype))
    return rounded(solution, dtype)


def _by_parts(parts: Sequence[Any], exchanged: bool, real: bool) -> Callable[[Any], Any]:
    """The solver of a x + x b = c with a = u r u⁻¹, b = v s v⁻¹ and triangles r and s, from parts
    (r, u, s, v)."""
    r, u, s, v = (*parts[2:], *parts[:2]) if exchanged else parts
    turned = np.matrix_transpose

    def solver(c: Any) -> Any:
        inner = linalg.solve(u, cast(c, u.dtype)) @ v
        y = solve_sylvester_of_triangles(r, s, inner)
        x = turned(linalg.solve(turned(v), turned(u @ y)))
        return x.real if real else x

    return solver
