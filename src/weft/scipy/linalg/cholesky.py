"""Cholesky factors and the systems that they solve: cholesky, cho_factor, cho_solve.

In `scipy.linalg`, the options `overwrite_a`, `overwrite_b`, `check_finite` and `lwork` are accepted
and have no effect: arrays are never overwritten, and matrices with elements that are not finite
give NaN.
"""

from ...core.array import Array
from ...core.source import located
from ...numpy import linalg
from ...numpy.linalg.operands import matrices
from ...typing import ArrayLike
from .triangular import solve_by_triangles

__all__ = ["cho_factor", "cho_solve", "cholesky"]


# --- Cholesky ---


@located
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The Cholesky factor of positive definite Hermitian matrices: a = Uᴴ U, or a = L Lᴴ.

    Args:
      a: array [batch…, n, n]; (a + aᴴ) / 2 is decomposed.
      lower: return L instead of U.
    Returns: array of the shape of `a`; NaN where a matrix isn't positive definite.
    Raises: ShapeError: not square.
    Example:
      >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 1.],
             [0., 2.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.cholesky`.
    """
    x = matrices("cholesky", a, square=True)
    return linalg.cholesky(x, upper=not lower)


@located
def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factor, as `cho_solve` expects it.

    Args: as in `cholesky`.
    Returns: (the factor, with zeros in the other triangle; lower).
    Example:
      >>> factor = cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
      >>> factor[1]
      False
    Source: SciPy documentation, `scipy.linalg.cho_factor`.
    """
    return cholesky(matrices("cho_factor", a, square=True), lower), bool(lower)


@located
def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a x = b with the Cholesky factor of `a` from `cho_factor`.

    Args:
      c_and_lower: (the factor, True for a lower one).
      b: array [n] or [batch…, n, k].
    Returns: array of b's shape.
    Raises: ShapeError: the lengths differ.
    Example:
      >>> from weft.scipy.linalg import cho_factor
      >>> factor = cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
      >>> cho_solve(factor, np.array([8.0, 8.0]))
      Array([1.5, 1. ], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.cho_solve`.
    """
    if not isinstance(c_and_lower, (tuple, list)) or len(c_and_lower) != 2:
        raise TypeError(
            "cho_solve: c_and_lower must be a pair (factor, lower), from cho_factor; got "
            f"{c_and_lower!r:.80}"
        )
    c, lower = c_and_lower
    kinds = (0, 2) if lower else (2, 0)
    return solve_by_triangles("cho_solve", c, b, kinds, lower, argument="c_and_lower[0]")
