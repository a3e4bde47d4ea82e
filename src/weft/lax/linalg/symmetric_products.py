"""symmetric_product: alpha a aᵀ + beta c, BLAS' syrk."""

from ...core.array import Array, as_value
from ...core.source import located
from ...errors import ShapeError
from ...primitives.arithmetic import mul
from ...primitives.linalg.matrix_operations import matrix_transpose, part_of, product_of
from ...primitives.linalg.solver_calls import check_matrices
from ...primitives.structural import add, convert_element_type
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["symmetric_product"]


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
      c_matrix: symmetric ones [..., m, m], of the same dtype.
      alpha, beta: numbers.
      symmetrize_output: whether to copy the lower triangle to the upper one; otherwise only the
        lower one is defined.
    Returns: [..., m, m], of the same dtype.
    Raises: ShapeError: shapes do not fit, or dtypes differ or are not supported.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.symmetric_product(np.ones((2, 3)), np.eye(2), beta=2.0))
      [[5. 3.]
       [3. 5.]]
    Source: BLAS `syrk`; JAX documentation, `jax.lax.linalg.symmetric_product`.
    """
    (a, c), narrow = widened(a_matrix, c_matrix)
    name = "symmetric_product"
    check_matrices(name, a.aval, argument="a_matrix")
    check_matrices(name, c.aval, square=True, argument="c_matrix")
    if c.shape != (*a.shape[:-1], a.shape[-2]) or a.dtype != c.dtype:
        raise ShapeError(
            f"{name}: expected [..., m, n] and [..., m, m] of one dtype; got {a.aval} and {c.aval}"
        )
    first, second = (convert_element_type(as_value(x), dtype=a.dtype) for x in (alpha, beta))
    result = add(mul(first, product_of(a, matrix_transpose(a))), mul(second, c))
    if symmetrize_output:
        result = add(part_of(result, "lower"), matrix_transpose(part_of(result, "strictly lower")))
    return narrowed([result], narrow)[0]
