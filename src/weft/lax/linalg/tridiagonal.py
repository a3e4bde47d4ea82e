"""tridiagonal and tridiagonal_solve: Hermitian matrices reduced to three diagonals (sytrd), and
systems of equations with three diagonals (gtsv)."""

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg.tridiagonal import (
    tridiagonal as tridiagonal_p,
    tridiagonal_solve as tridiagonal_solve_p,
)
from ...primitives.structural import reshape
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["tridiagonal", "tridiagonal_solve"]


@located
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Reduces Hermitian matrices to tridiagonal ones: a = Q T Qᴴ.

    Args:
      a: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      lower: whether the lower or the upper triangle is read.
    Returns: (t, d, e, taus): in t [..., n, n], which has the diagonals of T, the reflectors whose
      product is Q stand below the subdiagonal (above the other one, if not `lower`); d [..., n] is
      T's diagonal and e [..., n - 1] the one beside it, both real; taus [..., n - 1].
    Raises: ShapeError: a is not square, or has another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> t, d, e, taus = lax.linalg.tridiagonal(np.array([[2.0, 1.0], [1.0, 3.0]]))
      >>> print(d, e)
      [2. 3.] [1.]
    Source: LAPACK `sytrd`, `hetrd`; JAX documentation, `jax.lax.linalg.tridiagonal`.
    """
    (value,), narrow_dtype = widened(a)
    return tuple(narrowed(tridiagonal_p(value, lower=bool(lower)), narrow_dtype))  # type: ignore[return-value]


@located
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solves a x = b for tridiagonal matrices a.

    Args:
      dl: [..., m], below the diagonal: dl[i] is a[i, i - 1]; dl[0] is ignored.
      d: [..., m], the diagonal.
      du: [..., m], above the diagonal: du[i] is a[i, i + 1]; du[m - 1] is ignored.
      b: [..., m, n], or [m] if d is a vector. All of one float or complex dtype; 16-bit floats are
        computed in float32.
      perturb_singular: whether to move pivots away from zero, which makes the result finite.
    Returns: array of b's shape and dtype; NaN where a is singular.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> ones = np.ones(3)
      >>> x = lax.linalg.tridiagonal_solve(ones, 2 * ones, ones, np.array([[3.0], [4.0], [3.0]]))
      >>> print(np.round(x[:, 0], 5))
      [1. 1. 1.]
    Source: LAPACK `gtsv`; JAX documentation, `jax.lax.linalg.tridiagonal_solve`.
    """
    (lower, diagonal, upper, rhs), narrow_dtype = widened(dl, d, du, b)
    shape = rhs.shape
    if rhs.ndim == diagonal.ndim == 1:
        rhs = reshape(rhs, shape=(*shape, 1))
    x = tridiagonal_solve_p(lower, diagonal, upper, rhs, perturb_singular=bool(perturb_singular))
    x = x if x.shape == shape else reshape(x, shape=shape)
    return narrowed([x], narrow_dtype)[0]
