"""triangular_solve, tridiagonal_solve, and products with reflectors. Nothing is promoted."""

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg import condensed, orthogonal, triangular
from ...primitives.structural import reshape
from ...typing import ArrayLike
from .widening import narrowed, widened

__all__ = ["householder_product", "ormqr", "triangular_solve", "tridiagonal_solve"]


@located
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solves op(a) x = b or x op(a) = b for triangles a.

    Args:
      a: a stack of square matrices [..., m, m], of a float or complex dtype. 16-bit floats are
        computed in float32.
      b: [..., m, n] if `left_side`, else [..., n, m]; or a stack of vectors [..., m].
      left_side: whether a stands on the left of x.
      lower: the triangle that is read.
      transpose_a, conjugate_a: op transposes a, conjugates it, or both.
      unit_diagonal: whether a's diagonal counts as ones, and isn't read.
    Returns: array of b's shape and dtype; inf or NaN where a's diagonal has a zero.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or others.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
      >>> print(lax.linalg.triangular_solve(a, np.array([2.0, 9.0]), left_side=True, lower=True))
      [1. 2.]
    Source: BLAS `trsm`; JAX documentation, `jax.lax.linalg.triangular_solve`.
    """
    (matrix, rhs), narrow = widened(a, b)
    shape = rhs.shape
    if rhs.ndim == matrix.ndim - 1 and rhs.ndim:
        rhs = reshape(rhs, shape=(*shape, 1) if left_side else (*shape[:-1], 1, shape[-1]))
    x = triangular.triangular_solve(
        matrix,
        rhs,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
    )
    x = x if x.shape == shape else reshape(x, shape=shape)
    return narrowed([x], narrow)[0]


@located
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solves a x = b for matrices a of three diagonals.

    Args:
      dl: [..., m], below the diagonal: dl[i] is a[i, i - 1]; dl[0] doesn't count.
      d: [..., m], the diagonal.
      du: [..., m], above the diagonal: du[i] is a[i, i + 1]; du[m - 1] doesn't count.
      b: [..., m, n], or [m] if d is a vector. All of one float or complex dtype; 16-bit floats are
        computed in float32.
      perturb_singular: whether pivots that are nearly zero are moved away from it, so that there
        is always a finite result.
    Returns: array of b's shape and dtype; NaN where a is singular.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or others.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> ones = np.ones(3)
      >>> x = lax.linalg.tridiagonal_solve(ones, 2 * ones, ones, np.array([[3.0], [4.0], [3.0]]))
      >>> print(np.round(x[:, 0], 5))
      [1. 1. 1.]
    Source: LAPACK `gtsv`; JAX documentation, `jax.lax.linalg.tridiagonal_solve`.
    """
    (lower, middle, upper, rhs), narrow = widened(dl, d, du, b)
    shape = rhs.shape
    if rhs.ndim == middle.ndim == 1:
        rhs = reshape(rhs, shape=(*shape, 1))
    x = condensed.tridiagonal_solve(
        lower, middle, upper, rhs, perturb_singular=bool(perturb_singular)
    )
    x = x if x.shape == shape else reshape(x, shape=shape)
    return narrowed([x], narrow)[0]


@located
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of reflectors 1 - tau v vᴴ.

    Args:
      a: [..., m, n] with m >= n: below the diagonal of column i stands reflector i's vector, whose
        element on the diagonal is 1.
      taus: [..., k], k <= n, of a's dtype, a float or complex one. 16-bit floats are computed in
        float32.
    Returns: array of a's shape and dtype, with orthonormal columns.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or others.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.householder_product(np.zeros((2, 2)), np.array([2.0])))
      [[-1.  0.]
       [ 0.  1.]]
    Source: LAPACK `orgqr`, `ungqr`; JAX documentation, `jax.lax.linalg.householder_product`.
    """
    (matrix, scales), narrow = widened(a, taus)
    return narrowed([orthogonal.householder_product(matrix, scales)], narrow)[0]


@located
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Q c, Qᴴ c, c Q or c Qᴴ for the product Q of reflectors, which isn't formed.

    Args:
      a: [..., m, n], with the reflectors as `householder_product` takes them.
      taus: [..., k], k <= min(m, n).
      c: [..., m, p] if `left`, else [..., p, m]. All of one float or complex dtype; 16-bit floats
        are computed in float32.
      left: whether Q stands on the left.
      transpose: whether its adjoint takes Q's place.
    Returns: array of c's shape and dtype.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or others.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.ormqr(np.zeros((2, 2)), np.array([2.0]), np.ones((2, 1))))
      [[-1.]
       [ 1.]]
    Source: LAPACK `ormqr`, `unmqr`; JAX documentation, `jax.lax.linalg.ormqr`.
    """
    (matrix, scales, other), narrow = widened(a, taus, c)
    found = orthogonal.ormqr(matrix, scales, other, left=bool(left), transpose=bool(transpose))
    return narrowed([found], narrow)[0]
