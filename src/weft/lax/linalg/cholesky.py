"""cholesky, LAPACK's potrf; cholesky_update, which adds a matrix of rank one to a decomposition;
and symmetric_product, BLAS' syrk, which computes symmetric matrices."""

from typing import Any

from ... import dtypes
from ...core.array import Array, as_value
from ...core.source import located
from ...errors import ShapeError
from ...primitives.arithmetic import div, like, mul, sqrt, sub
from ...primitives.linalg.cholesky import cholesky as cholesky_p
from ...primitives.linalg.matrix_operations import matrix_transpose, part_of, product_of
from ...primitives.linalg.solver_calls import check_matrices
from ...primitives.selection import where
from ...primitives.structural import add, convert_element_type
from ...typing import ArrayLike
from ..creation import broadcasted_iota
from ..loops import scan
from .operands import narrowed, symmetrized, widened

__all__ = ["cholesky", "cholesky_update", "symmetric_product"]


@located
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L Lᴴ = x, for Hermitian positive definite matrices.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      symmetrize_input: whether to decompose (x + xᴴ) / 2; otherwise the lower triangle of x is
        read.
    Returns: array of x's shape and dtype, zero above the diagonal; NaN on and below it where a
      matrix is not positive definite.
    Raises: ShapeError: x is not square, or has another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])))
      [[2. 0.]
       [1. 2.]]
    Source: LAPACK `potrf`; JAX documentation, `jax.lax.linalg.cholesky`.
    """
    (value,), narrow_dtype = widened(x)
    if symmetrize_input:
        value = symmetrized("cholesky", value)
    result = cholesky_p(value, lower=True, hermitian=bool(symmetrize_input))
    return narrowed([result], narrow_dtype)[0]


@located
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The Cholesky factor of Rᵀ R + w wᵀ, from the factor R, in n² steps.

    Plane rotations of the rows of R and of w eliminate w, element by element.

    Args:
      r_matrix: an upper triangular matrix [n, n] of a float dtype, with a positive diagonal. 16-bit
        floats are computed in float32.
      w_vector: [n], of the same dtype.
    Returns: an upper triangular matrix [n, n], of the same dtype.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not floats.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.cholesky_update(3 * np.eye(2), np.array([4.0, 0.0])))
      [[5. 0.]
       [0. 3.]]
    Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 6.5.4; JAX documentation,
      `jax.lax.linalg.cholesky_update`.
    """
    (r, w), narrow_dtype = widened(r_matrix, w_vector)
    name = "cholesky_update"
    check_matrices(name, r.aval, square=True, argument="r_matrix")
    if r.ndim != 2 or w.shape != r.shape[:1] or r.dtype != w.dtype or dtypes.is_complex(r.dtype):
        raise ShapeError(
            f"{name}: expected a float triangle [n, n] and a vector [n] of one dtype; got "
            f"{r.aval} and {w.aval}"
        )
    if not r.shape[0]:
        return narrowed([r], narrow_dtype)[0]
    positions = broadcasted_iota(dtypes.int32, w.shape, 0)

    def step(remaining_w: Any, row: Any) -> Any:
        values, column = row
        is_pivot = positions == column
        pivot, pivot_of_w = (_sum_where(is_pivot, x) for x in (values, remaining_w))
        length = sqrt(add(mul(pivot, pivot), mul(pivot_of_w, pivot_of_w)))
        cosine, sine = div(pivot, length), div(pivot_of_w, length)
        turned_row = add(mul(cosine, values), mul(sine, remaining_w))
        rotated_w = sub(mul(cosine, remaining_w), mul(sine, values))
        return where(is_pivot, mul(rotated_w, like(rotated_w, 0)), rotated_w), turned_row

    _, rows = scan(step, w, (part_of(r, "upper"), positions))
    return narrowed([rows], narrow_dtype)[0]


def _sum_where(mask: Any, x: Any) -> Any:
    return where(mask, x, like(x, 0)).sum()


@located
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float | ArrayLike = 1.0,
    beta: float | ArrayLike = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Symmetric rank-k update: alpha a aᵀ + beta c.

    Args:
      a_matrix: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      c_matrix: symmetric matrices [..., m, m], of the same dtype.
      alpha, beta: numbers.
      symmetrize_output: whether to copy the lower triangle to the upper one; otherwise the upper
        one is undefined.
    Returns: [..., m, m], of the same dtype.
    Raises: ShapeError: shapes do not match, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.symmetric_product(np.ones((2, 3)), np.eye(2), beta=2.0))
      [[5. 3.]
       [3. 5.]]
    Source: BLAS `syrk`; JAX documentation, `jax.lax.linalg.symmetric_product`.
    """
    (a, c), narrow_dtype = widened(a_matrix, c_matrix)
    name = "symmetric_product"
    check_matrices(name, a.aval, argument="a_matrix")
    check_matrices(name, c.aval, square=True, argument="c_matrix")
    if c.shape != (*a.shape[:-1], a.shape[-2]) or a.dtype != c.dtype:
        raise ShapeError(
            f"{name}: expected [..., m, n] and [..., m, m] of one dtype; got {a.aval} and {c.aval}"
        )
    alpha_value, beta_value = (
        convert_element_type(as_value(x), dtype=a.dtype) for x in (alpha, beta)
    )
    result = add(mul(alpha_value, product_of(a, matrix_transpose(a))), mul(beta_value, c))
    if symmetrize_output:
        result = add(part_of(result, "lower"), matrix_transpose(part_of(result, "strictly lower")))
    return narrowed([result], narrow_dtype)[0]
