"""Schur and Hessenberg forms: schur, rsf2csf, hessenberg."""

from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax import fori_loop, linalg as lax_linalg
from ...numpy.linalg.operands import adjoint, identities, in_wide_dtype, matrices, pair, rounded
from ...numpy.promotion import cast
from ...typing import ArrayLike

__all__ = ["hessenberg", "rsf2csf", "schur"]


# --- Schur form ---


@located
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """The Schur decomposition a = Z T Zᴴ, with T upper triangular and Z unitary.

    Args:
      a: array [batch…, n, n].
      output: 'real': T of a real matrix is real, with blocks [2, 2] on its diagonal for pairs of
        complex eigenvalues; 'complex': T is complex and triangular.
    Returns: (T, Z).
    Raises: ShapeError: not square. ValueError: an invalid output.
    Example:
      >>> T, Z = schur(np.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> bool(np.allclose(Z @ T @ Z.T, np.array([[2.0, 1.0], [0.0, 3.0]]), atol=1e-6))
      True
    Source: SciPy documentation, `scipy.linalg.schur`.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex'; got {output!r:.60}")
    x = matrices("schur", a, square=True)
    dtype = dtypes.complex_of(x.dtype) if output == "complex" else x.dtype
    matrix = in_wide_dtype(x)
    t, z = lax_linalg.schur(
        cast(matrix, dtypes.complex_of(matrix.dtype)) if output == "complex" else matrix
    )
    return rounded(t, dtype), rounded(z, dtype)


@located
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Converts a real Schur form to a complex one.

    Args:
      T, Z: arrays [n, n], as `schur` returns them.
      check_finite: has no effect.
    Returns: (T, Z), complex.
    Raises: ShapeError: the shapes do not match.
    Example:
      >>> T, Z = rsf2csf(*schur(np.array([[0.0, 1.0], [-1.0, 0.0]])))
      >>> np.round(abs(T[1, 0]), 5)
      Array(0., dtype=float32)
    Source: SciPy documentation, `scipy.linalg.rsf2csf`.
    """
    t, z = pair("rsf2csf", T, Z)
    if t.ndim != 2 or t.shape[0] != t.shape[1] or z.shape != t.shape:
        raise ShapeError(f"rsf2csf: expected two arrays [n, n]; got {t.aval} and {z.aval}")
    n, dtype = t.shape[0], dtypes.complex_of(t.dtype)
    t, z = cast(t, dtype), cast(z, dtype)

    def step(k: Any, state: Any) -> Any:
        m = n - 1 - k
        t, z = state
        element = lambda i, j: t[i, j]  # noqa: E731
        a, b, c, d = element(m - 1, m - 1), element(m - 1, m), element(m, m - 1), element(m, m)
        half = (a + d) / 2
        root = np.sqrt((a - d) * (a - d) / 4 + b * c)
        first_root, second_root = half + root, half - root
        eigenvalue = np.where(abs(first_root - d) < abs(second_root - d), first_root, second_root)
        norm = np.sqrt(abs(eigenvalue - d) ** 2 + abs(c) ** 2)
        is_trivial = norm == 0
        nonzero_norm = np.where(is_trivial, 1.0, norm)
        cosine = np.where(is_trivial, 1.0, (eigenvalue - d) / nonzero_norm.astype(dtype))
        sine = np.where(is_trivial, 0.0, c / nonzero_norm.astype(dtype))
        block = np.stack([np.stack([cosine.conj(), sine.conj()]), np.stack([-sine, cosine])])
        rotation = np.eye(n, dtype=dtype)
        indices = np.stack([m - 1, m])
        rotation = rotation.at[indices[:, None], indices].set(block)
        rotation = np.where(c == 0, np.eye(n, dtype=dtype), rotation)
        t = rotation @ t @ adjoint(rotation)
        t = t.at[m, m - 1].set(0)
        return t, z @ adjoint(rotation)

    t, z = fori_loop(0, n - 1, step, (t, z)) if n > 1 else (t, z)
    return np.triu(t), z


@located
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The Hessenberg form a = Q H Qᴴ; H is zero below its first subdiagonal.

    Args:
      a: array [batch…, n, n].
      calc_q: return Q too.
    Returns: H, or (H, Q).
    Raises: ShapeError: not square.
    Example:
      >>> hessenberg(np.array([[1.0, 2.0], [3.0, 4.0]]))
      Array([[1., 2.],
             [3., 4.]], dtype=float32)
    Source: SciPy documentation, `scipy.linalg.hessenberg`.
    """
    x = matrices("hessenberg", a, square=True)
    n = x.shape[-1]
    packed_factors, taus = lax_linalg.hessenberg(in_wide_dtype(x))
    h = rounded(np.triu(packed_factors, -1), x.dtype)
    if not calc_q:
        return h
    q = identities(packed_factors.aval, n)
    if n > 1:
        inner_q = lax_linalg.householder_product(packed_factors[..., 1:, :-1], taus)
        lower_rows = np.concatenate([q[..., 1:, :1], inner_q], -1)
        q = np.concatenate([q[..., :1, :], lower_rows], -2)
    return h, rounded(q, x.dtype)
