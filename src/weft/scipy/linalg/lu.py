"""LU decomposition with partial pivoting, and linear systems: lu, lu_factor, lu_solve."""

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...numpy.linalg.operands import in_wide_dtype, matrices, pair, rounded
from ...numpy.promotion import cast, value
from ...primitives import structural
from ...typing import ArrayLike
from .triangular import right_side, same_batch, solve_triangular

__all__ = ["lu", "lu_factor", "lu_solve"]


# --- LU ---


@located
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """The LU decomposition, as `lu_solve` expects it.

    Args:
      a: array [batch…, m, n].
    Returns: (U in the upper triangle, and L below it, with a diagonal of ones; the row exchanged
      with each of the min(m, n) rows, int32).
    Raises: ShapeError: less than two axes.
    Example:
      >>> lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))[1]
      Array([1, 1], dtype=int32)
    Source: SciPy documentation, `scipy.linalg.lu_factor`.
    """
    x = matrices("lu_factor", a)
    factors, pivots, _ = lax_linalg.lu(in_wide_dtype(x))
    return rounded(factors, x.dtype), pivots


@located
def lu(
    a: ArrayLike,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, ...]:
    """The LU decomposition with partial pivoting: a = P L U.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      permute_l: return (P L, U).
      p_indices: return the permutation as indices p, with a = L[p] U, instead of P.
    Returns: (P [m, m], which is real, L [m, k], U [k, n]).
    Raises: ShapeError: less than two axes.
    Example:
      >>> p, l, u = lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> p @ l @ u
      Array([[1., 2.],
             [4., 4.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.lu`.
    """
    x = matrices("lu", a)
    matrix = in_wide_dtype(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    factors, _, order = lax_linalg.lu(matrix)
    lower = np.tril(factors[..., :, :k], -1) + np.eye(m, k, dtype=matrix.dtype)
    lower, upper = rounded(lower, x.dtype), rounded(np.triu(factors[..., :k, :]), x.dtype)
    inverse_order = np.argsort(order, -1)
    if permute_l:
        row_indices = structural.widen(inverse_order[..., None], lower.shape)
        return np.take_along_axis(lower, row_indices, -2), upper
    if p_indices:
        return inverse_order, lower, upper
    positions = structural.widen(np.arange(m), (*order.shape[:-1], m))
    permutes = inverse_order[..., :, None] == positions[..., None, :]
    permutation = cast(permutes, dtypes.real_of(x.dtype))
    return permutation, lower, upper


@located
def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a x = b with the LU decomposition of `a` from `lu_factor`.

    Args:
      lu_and_piv: the result of `lu_factor`: (both factors, row exchanges).
      b: array [n] or [batch…, n, k].
      trans: 0: a x = b; 1: aᵀ x = b; 2: aᴴ x = b.
    Returns: array of b's shape.
    Raises: ShapeError: the lengths differ. ValueError: an unknown `trans`.
    Example:
      >>> from weft.scipy.linalg import lu_factor
      >>> factors = lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> lu_solve(factors, np.array([5.0, 12.0]))
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.lu_solve`.
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2; got {trans!r:.60}")
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError(
            "lu_solve: lu_and_piv must be a pair (lu, pivots), from lu_factor; got "
            f"{lu_and_piv!r:.80}"
        )
    factors, pivots = matrices("lu_solve", lu_and_piv[0], "lu_and_piv[0]", True), lu_and_piv[1]
    x, y = pair("lu_solve", factors, b)
    y, vector = right_side("lu_solve", x, y)
    x, y = same_batch("lu_solve", x, y)
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
        inverse_order = np.argsort(order, -1)
        y = np.take_along_axis(y, structural.widen(inverse_order[..., None], y.shape), -2)
    return y[..., 0] if vector else y
