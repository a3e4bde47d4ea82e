"""Singular value decomposition, and the polar decomposition computed from it: svd, polar."""

from typing import Any

from ...core.array import Array
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...numpy.linalg.operands import adjoint, in_wide_dtype, matrices, rounded
from ...typing import ArrayLike

__all__ = ["polar", "svd"]


@located
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """The singular value decomposition a = U diag(s) Vh.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      full_matrices: U [m, m] and Vh [n, n]; otherwise [m, k] and [k, n].
      compute_uv: return U and Vh too.
      lapack_driver: 'gesdd' or 'gesvd', LAPACK's two algorithms.
    Returns: (U, s, Vh), or s.
    Raises: ShapeError: less than two axes. ValueError: an unknown driver.
    Example:
      >>> svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.svd`.
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"svd: lapack_driver must be gesdd or gesvd; got {lapack_driver!r:.60}")
    x = matrices("svd", a)
    algorithm = lax_linalg.SvdAlgorithm.QR if lapack_driver == "gesvd" else None
    matrix = in_wide_dtype(x)
    if not compute_uv:
        return rounded(lax_linalg.svd(matrix, compute_uv=False, algorithm=algorithm), x.dtype)
    factors = lax_linalg.svd(matrix, full_matrices=bool(full_matrices), algorithm=algorithm)
    return tuple([rounded(v, x.dtype) for v in factors])


@located
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decomposition a = u p: u has orthonormal columns or rows, p is positive
    semidefinite.

    Args:
      a: array [batch…, m, n].
      side: 'right': a = u p; 'left': a = p u.
      method, eps, max_iterations: 'qdwh' or 'svd', and options of the iteration. They have no
        effect; the singular value decomposition is always used.
    Returns: (u [batch…, m, n], p, Hermitian).
    Raises: ShapeError: less than two axes. ValueError: an unknown side or method.
    Example:
      >>> u, p = polar(np.array([[0.0, -2.0], [2.0, 0.0]]))
      >>> np.round(p, 4)
      Array([[2., 0.],
             [0., 2.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.polar`.
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar: side must be 'left' or 'right'; got {side!r:.60}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd'; got {method!r:.60}")
    x = matrices("polar", a)
    u, _, vh = lax_linalg.svd(in_wide_dtype(x), full_matrices=False)
    unitary = u @ vh
    # not from the singular values: their derivative would be wrong where they are equal
    p = (
        in_wide_dtype(x) @ adjoint(unitary)
        if side == "left"
        else adjoint(unitary) @ in_wide_dtype(x)
    )
    p = (p + adjoint(p)) / 2
    return rounded(unitary, x.dtype), rounded(p, x.dtype)
