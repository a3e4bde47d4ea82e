"""triangular_solve: systems of equations with triangular matrices, BLAS' trsm."""

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg.triangular_solve import triangular_solve as triangular_solve_p
from ...primitives.structural import reshape
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["triangular_solve"]


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
    """Solves op(a) x = b or x op(a) = b for triangular matrices a.

    It reads one triangle of `a` and ignores the other. The solution is differentiable in `a` and
    `b`; the cotangent of `a` is zero outside of the triangle.

    Args:
      a: a stack of square matrices [..., m, m], of a float or complex dtype. 16-bit floats are
        computed in float32.
      b: [..., m, n] if `left_side`, else [..., n, m]; or a stack of vectors [..., m].
      left_side: whether a is on the left of x.
      lower: whether the lower or the upper triangle is read.
      transpose_a, conjugate_a: op transposes a, conjugates it, or both.
      unit_diagonal: whether to assume ones on the diagonal of a, without reading it.
    Returns: array of b's shape and dtype; inf or NaN where a's diagonal has a zero.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
      >>> print(lax.linalg.triangular_solve(a, np.array([2.0, 9.0]), left_side=True, lower=True))
      [1. 2.]
    Source: BLAS `trsm`; JAX documentation, `jax.lax.linalg.triangular_solve`.
    """
    (matrix, rhs), narrow_dtype = widened(a, b)
    shape = rhs.shape
    if rhs.ndim == matrix.ndim - 1 and rhs.ndim:
        rhs = reshape(rhs, shape=(*shape, 1) if left_side else (*shape[:-1], 1, shape[-1]))
    x = triangular_solve_p(
        matrix,
        rhs,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
    )
    x = x if x.shape == shape else reshape(x, shape=shape)
    return narrowed([x], narrow_dtype)[0]
