"""svd: singular values and vectors; SvdAlgorithm: its algorithms."""

import enum
from typing import Any, Literal, overload

from ...core.array import Array
from ...core.source import located
from ...core.trace import current
from ...core.value import Value
from ...primitives.linalg.svd import svd as svd_p, values_tangent
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .operands import check_choice, narrowed, slice_range, subset, widened

__all__ = ["SvdAlgorithm", "svd"]


class SvdAlgorithm(enum.Enum):
    """The algorithm of the singular value decomposition.

    DIVIDE_AND_CONQUER, the fastest, and QR are LAPACK's `gesdd` and `gesvd`; JACOBI and POLAR are
    for accelerators, and DEFAULT selects the best algorithm for the platform.

    Example:
      >>> a = np.array([[3.0, 0.0], [0.0, 4.0]])
      >>> lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR, compute_uv=False)
      Array([4., 3.], dtype=float32)
    Source: JAX documentation, `jax.lax.linalg.SvdAlgorithm`.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def singular_values(x: Value, algorithm: str) -> Value:
    """Singular values without vectors."""
    (s,) = svd_p(x, full_matrices=False, compute_uv=False, algorithm=algorithm)
    return s


differentiable_singular_values = custom_jvp(singular_values, nondiff_argnums=(1,))


@differentiable_singular_values.defjvp
def _(algorithm: str, primals: Any, tangents: Any) -> Any:
    s, u, vt = svd_p(*primals, full_matrices=False, compute_uv=True, algorithm=algorithm)
    return s, values_tangent(tangents[0], u, vt)


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...
@located
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Singular value decomposition: x = U diag(s) Vᴴ.

    Where singular values are equal or zero up to rounding, rotations within their spaces count as
    zero. So derivatives of functions of the values, of U Vᴴ, and of the spaces of equal values are
    correct there; the derivative of U diag(f(s)) Vᴴ lacks a term.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
      full_matrices: whether U and V are square.
      compute_uv: whether to return the vectors.
      subset_by_index: (start, end), to return only those singular values; not with square U and V.
      algorithm: a preferred algorithm. A CPU has QR and DIVIDE_AND_CONQUER, the default.
    Returns: (u, s, vh), or s. With k = min(m, n): s [..., k], real and descending; u [..., m, k]
      and vh [..., k, n], or [..., m, m] and [..., n, n] for `full_matrices`.
    Raises: ShapeError: x has fewer than two axes, or another dtype. ValueError: a bad subset.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
      [4. 3.]
    Source: LAPACK `gesdd`, `gesvd`; JAX documentation, `jax.lax.linalg.svd`.
    """
    check_choice("svd", "algorithm", algorithm, SvdAlgorithm)
    (value,), narrow_dtype = widened(x)
    name = "default" if algorithm is None else algorithm.value.lower()
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError(
            "svd: subset_by_index needs full_matrices=False: vectors that complete a basis "
            "have no singular values"
        )
    if compute_uv:
        result = svd_p(value, full_matrices=bool(full_matrices), compute_uv=True, algorithm=name)
    else:
        is_eager = current.trace is current.base
        values = singular_values if is_eager else differentiable_singular_values
        result = [values(value, name)]
    s, *vectors = narrowed(result, narrow_dtype)
    if subset_by_index is not None:
        start, end = subset("svd", subset_by_index, s.shape[-1])
        s = slice_range(s, -1, start, end)
        vectors = [
            slice_range(v, axis, start, end) for v, axis in zip(vectors, (-1, -2), strict=False)
        ]
    return (vectors[0], s, vectors[1]) if compute_uv else s
