"""cholesky_update, symmetric_product: cheaper than decompositions and products from scratch."""

from typing import Any

from ... import dtypes
from ...core.array import Array, as_value
from ...core.source import located
from ...errors import ShapeError
from ...primitives.arithmetic import div, like, mul, sqrt, sub
from ...primitives.linalg.native import check_matrices
from ...primitives.linalg.values import part_of, product_of, turned
from ...primitives.selection import where
from ...primitives.structural import add, convert_element_type
from ...typing import ArrayLike
from ..creation import broadcasted_iota
from ..loops import scan
from .widening import narrowed, widened

__all__ = ["cholesky_update", "symmetric_product"]


@located
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The triangle of Rᵀ R + w wᵀ, of the triangle R, in n² steps: rows of R and w are turned
    against each other until nothing is left of w.

    Args:
      r_matrix: an upper triangle [n, n], of a float dtype, with a diagonal above zero. 16-bit
        floats are computed in float32.
      w_vector: [n], of the same dtype.
    Returns: an upper triangle [n, n], of the same dtype.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or aren't floats.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.cholesky_update(3 * np.eye(2), np.array([4.0, 0.0])))
      [[5. 0.]
       [0. 3.]]
    Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 6.5.4; JAX documentation,
      `jax.lax.linalg.cholesky_update`.
    """
    (r, w), narrow = widened(r_matrix, w_vector)
    name = "cholesky_update"
    check_matrices(name, r.aval, square=True, argument="r_matrix")
    if r.ndim != 2 or w.shape != r.shape[:1] or r.dtype != w.dtype or dtypes.is_complex(r.dtype):
        raise ShapeError(
            f"{name}: expected a float triangle [n, n] and a vector [n] of one dtype; got "
            f"{r.aval} and {w.aval}"
        )
    if not r.shape[0]:
        return narrowed([r], narrow)[0]
    places = broadcasted_iota(dtypes.int32, w.shape, 0)

    def step(left: Any, row: Any) -> Any:
        values, at = row
        here = places == at
        pivot, first = (_sum_where(here, x) for x in (values, left))
        length = sqrt(add(mul(pivot, pivot), mul(first, first)))
        cosine, sine = div(pivot, length), div(first, length)
        turned_row = add(mul(cosine, values), mul(sine, left))
        rest = sub(mul(cosine, left), mul(sine, values))
        return where(here, mul(rest, like(rest, 0)), rest), turned_row

    _, rows = scan(step, w, (part_of(r, "upper"), places))
    return narrowed([rows], narrow)[0]


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
    """alpha a aᵀ + beta c.

    Args:
      a_matrix: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      c_matrix: symmetric ones [..., m, m], of the same dtype.
      alpha, beta: numbers.
      symmetrize_output: whether the upper triangle is made of the lower one. Only that counts
        otherwise.
    Returns: [..., m, m], of the same dtype.
    Raises: ShapeError: shapes that don't fit, dtypes that differ, or others.
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
    found = add(mul(first, product_of(a, turned(a))), mul(second, c))
    if symmetrize_output:
        found = add(part_of(found, "lower"), turned(part_of(found, "strictly lower")))
    return narrowed([found], narrow)[0]
