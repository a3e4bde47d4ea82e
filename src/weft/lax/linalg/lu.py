"""lu and lu_pivots_to_permutation: triangular factors with partial pivoting, LAPACK's getrf."""

from ...core.array import Array, as_value
from ...core.source import located
from ...primitives.linalg.lu import (
    lu as lu_p,
    lu_pivots_to_permutation as lu_pivots_to_permutation_p,
)
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["lu", "lu_pivots_to_permutation"]


@located
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """LU decomposition with partial pivoting: x[permutation] = L U.

    The rows are exchanged so that each pivot is the largest element of its column. Derivatives
    treat the permutation as constant.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
    Returns: (lu, pivots, permutation). lu has x's shape and dtype: U in the upper triangle, L,
      whose diagonal is ones, below it. pivots [..., min(m, n)] int32: row i was exchanged with row
      pivots[i], in order of i. permutation [..., m] int32: the original index of each row.
    Raises: ShapeError: x has fewer than two axes, or another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> lu, pivots, permutation = lax.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> print(lu, pivots, permutation)
      [[4.   4.  ]
       [0.25 1.  ]] [1 1] [1 0]
      >>> print(np.tril(lu, -1) @ np.triu(lu) + np.triu(lu))  # L U, the rows in their new order
      [[4. 4.]
       [1. 2.]]
    Source: LAPACK `getrf`; JAX documentation, `jax.lax.linalg.lu`.
    """
    (value,), narrow_dtype = widened(x)
    return tuple(narrowed(lu_p(value), narrow_dtype))  # type: ignore[return-value]


@located
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Converts the pivots of an LU decomposition to a permutation of the rows.

    Args:
      pivots: a stack of integer vectors [..., k]: row i is exchanged with row pivots[i].
      permutation_size: the number of rows, at least k.
    Returns: [..., permutation_size], of the dtype of pivots.
    Raises: ShapeError: pivots are not integers, or there are more pivots than rows.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.lu_pivots_to_permutation(np.array([2, 2]), 3))
      [2 0 1]
    Source: JAX documentation, `jax.lax.linalg.lu_pivots_to_permutation`.
    """
    return lu_pivots_to_permutation_p(as_value(pivots), permutation_size=int(permutation_size))
