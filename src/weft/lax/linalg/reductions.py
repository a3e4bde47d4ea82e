"""schur, hessenberg, tridiagonal: matrices of simpler forms, alike under unitary ones.

Nothing is promoted. These have no derivatives.
"""

from collections.abc import Callable
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg import condensed
from ...typing import ArrayLike
from .widening import narrowed, widened

__all__ = ["hessenberg", "schur", "tridiagonal"]


@located
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """Schur's form: x = Z T Zᴴ with a unitary Z.

    T is an upper triangle for a complex x; for a real one, pairs of complex eigenvalues are blocks
    of two rows on its diagonal.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      compute_schur_vectors: whether Z is wanted.
      sort_eig_vals, select_callable: an order of eigenvalues; there is no other than LAPACK's.
    Returns: (T, Z), or (T,); of x's shape and dtype.
    Raises: ShapeError: x isn't square, or of another dtype. ValueError: an order was asked for.
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
            "schur: sort_eig_vals and select_callable must stay as they are: eigenvalues come in "
            "LAPACK's order"
        )
    (value,), narrow = widened(x)
    found = condensed.schur(value, vectors=bool(compute_schur_vectors))
    return tuple(narrowed(found, narrow))


@located
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Hessenberg's form, zero below the first subdiagonal: a = Q H Qᴴ.

    Args:
      a: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
    Returns: (h, taus): H on and above the first subdiagonal of h [..., n, n], below it the
      reflectors whose product is Q; taus [..., n - 1], their factors. All of a's dtype.
    Raises: ShapeError: a isn't square, or of another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> h, taus = lax.linalg.hessenberg(np.eye(3))
      >>> h.shape, taus.shape
      ((3, 3), (2,))
    Source: LAPACK `gehrd`; JAX documentation, `jax.lax.linalg.hessenberg`.
    """
    (value,), narrow = widened(a)
    return tuple(narrowed(condensed.hessenberg(value), narrow))  # type: ignore[return-value]


@located
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The form of three diagonals of Hermitian matrices: a = Q T Qᴴ.

    Args:
      a: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      lower: the triangle that is read.
    Returns: (t, d, e, taus): in t [..., n, n], which has the diagonals of T, the reflectors whose
      product is Q stand below the subdiagonal (above the other one, if not `lower`); d [..., n] is
      T's diagonal and e [..., n - 1] the one beside it, both real; taus [..., n - 1].
    Raises: ShapeError: a isn't square, or of another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> t, d, e, taus = lax.linalg.tridiagonal(np.array([[2.0, 1.0], [1.0, 3.0]]))
      >>> print(d, e)
      [2. 3.] [1.]
    Source: LAPACK `sytrd`, `hetrd`; JAX documentation, `jax.lax.linalg.tridiagonal`.
    """
    (value,), narrow = widened(a)
    return tuple(narrowed(condensed.tridiagonal(value, lower=bool(lower)), narrow))  # type: ignore[return-value]
