"""schur and hessenberg: reductions by unitary matrices, LAPACK's gees and gehrd.

They are not differentiable."""

from collections.abc import Callable
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg.schur import hessenberg as hessenberg_p, schur as schur_p
from ...typing import ArrayLike
from .operands import narrowed, widened

__all__ = ["hessenberg", "schur"]


@located
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """Schur decomposition: x = Z T Zᴴ with a unitary Z.

    For complex x, T is upper triangular; for real x, pairs of complex eigenvalues are [2, 2] blocks
    on its diagonal.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      compute_schur_vectors: whether to return Z.
      sort_eig_vals, select_callable: must keep their defaults; eigenvalues have LAPACK's order.
    Returns: (T, Z), or (T,); of x's shape and dtype.
    Raises: ShapeError: x is not square, or has another dtype. ValueError: an order was requested.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> t, z = lax.linalg.schur(np.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> print(t)
      [[2. 1.]
       [0. 3.]]
    Source: LAPACK `gees`; JAX documentation, `jax.lax.linalg.schur`.
    """
    if sort_eig_vals or select_callable is not None:
        raise ValueError(
            "schur: sort_eig_vals and select_callable must keep their defaults: eigenvalues are in "
            "LAPACK's order"
        )
    (value,), narrow_dtype = widened(x)
    result = schur_p(value, vectors=bool(compute_schur_vectors))
    return tuple(narrowed(result, narrow_dtype))


@located
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Hessenberg decomposition a = Q H Qᴴ; H is zero below the first subdiagonal.

    Args:
      a: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
    Returns: (h, taus): H on and above the first subdiagonal of h [..., n, n], below it the
      reflectors whose product is Q; taus [..., n - 1], their factors. All of a's dtype.
    Raises: ShapeError: a is not square, or has another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> h, taus = lax.linalg.hessenberg(np.eye(3))
      >>> h.shape, taus.shape
      ((3, 3), (2,))
    Source: LAPACK `gehrd`; JAX documentation, `jax.lax.linalg.hessenberg`.
    """
    (value,), narrow_dtype = widened(a)
    return tuple(narrowed(hessenberg_p(value), narrow_dtype))  # type: ignore[return-value]
