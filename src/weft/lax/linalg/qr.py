"""qr; householder_product (orgqr) and ormqr, products with the reflectors of a QR decomposition."""

from typing import Any, Literal, overload

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg.qr import (
    householder_product as householder_product_p,
    ormqr as ormqr_p,
    qr as qr_p,
)
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["householder_product", "ormqr", "qr"]


@overload
def qr(
    x: ArrayLike,
    *,
    pivoting: Literal[False] = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array]: ...
@overload
def qr(
    x: ArrayLike,
    *,
    pivoting: Literal[True],
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array, Array]: ...
@located
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> Any:
    """QR decomposition: x = Q R, with orthonormal columns in Q and an upper triangular R.

    The diagonal of R is real, as in LAPACK. Where Q is completed to a square matrix, a function
    should depend only on the space that the additional columns span, and its derivative assumes so.
    There is no derivative where the diagonal of R has a zero.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
      pivoting: whether to permute columns so that R's diagonal decreases: x[:, p] = Q R.
      full_matrices: whether Q is square.
      use_magma: has no effect.
    Returns: (q, r), or (q, r, p) with `pivoting`. With k = m for `full_matrices`, else min(m, n):
      q [..., m, k], r [..., k, n], p [..., n] int32.
    Raises: ShapeError: x has fewer than two axes, or another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> x = np.array([[3.0, 1.0], [4.0, 2.0]])
      >>> q, r = lax.linalg.qr(x)
      >>> bool(np.allclose(q @ r, x, atol=1e-6)), abs(r[0, 0].item())
      (True, 5.0)
    Source: LAPACK `geqrf`, `geqp3`; JAX documentation, `jax.lax.linalg.qr`.
    """
    (value,), narrow_dtype = widened(x)
    result = qr_p(value, pivoting=bool(pivoting), full_matrices=bool(full_matrices))
    return tuple(narrowed(result, narrow_dtype))


@located
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of reflectors 1 - tau v vᴴ.

    Args:
      a: [..., m, n] with m >= n: column i holds below the diagonal the vector of reflector i, whose
        diagonal element is 1.
      taus: [..., k], k <= n, of a's dtype, a float or complex one. 16-bit floats are computed in
        float32.
    Returns: array of a's shape and dtype, with orthonormal columns.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.householder_product(np.zeros((2, 2)), np.array([2.0])))
      [[-1.  0.]
       [ 0.  1.]]
    Source: LAPACK `orgqr`, `ungqr`; JAX documentation, `jax.lax.linalg.householder_product`.
    """
    (matrix, tau_values), narrow_dtype = widened(a, taus)
    return narrowed([householder_product_p(matrix, tau_values)], narrow_dtype)[0]


@located
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Q c, Qᴴ c, c Q or c Qᴴ for the product Q of reflectors, without forming Q.

    Args:
      a: [..., m, n], with reflectors, as in `householder_product`.
      taus: [..., k], k <= min(m, n).
      c: [..., m, p] if `left`, else [..., p, m]. All of one float or complex dtype; 16-bit floats
        are computed in float32.
      left: whether Q is on the left of c.
      transpose: whether to use Qᴴ instead of Q.
    Returns: array of c's shape and dtype.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.ormqr(np.zeros((2, 2)), np.array([2.0]), np.ones((2, 1))))
      [[-1.]
       [ 1.]]
    Source: LAPACK `ormqr`, `unmqr`; JAX documentation, `jax.lax.linalg.ormqr`.
    """
    (matrix, tau_values, other), narrow_dtype = widened(a, taus, c)
    result = ormqr_p(matrix, tau_values, other, left=bool(left), transpose=bool(transpose))
    return narrowed([result], narrow_dtype)[0]
