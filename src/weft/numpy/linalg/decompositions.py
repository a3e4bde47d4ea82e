"""Cholesky's and QR decompositions, eigenvalues and eigenvectors."""

from typing import Any, Literal, overload

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...lax.linalg.decompositions import symmetrized
from ...primitives.linalg.definite import cholesky as factor_of
from ...primitives.linalg.orthogonal import geqrf
from ...typing import ArrayLike
from ..plans import composite
from ..promotion import noted
from .operands import in_wide, matrices, rounded, turned
from .results import EighResult, EigResult, QRResult

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr"]


@located
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factor of positive definite Hermitian matrices: a = L Lᴴ, or a = Uᴴ U.

    Args:
      a: array [batch…, n, n].
      upper: U in the place of L.
      symmetrize_input: (a + aᴴ) / 2 takes the place of `a`; otherwise one triangle is read, that
        of the result.
    Returns: array of the shape of `a`, with zeros in the other triangle; NaN where a matrix isn't
      positive definite.
    Raises: ShapeError: not square.
    Example:
      >>> np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.cholesky`.
    """
    x = matrices("cholesky", a, square=True)
    return _cholesky(x, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@composite
def _cholesky(x: Any, *, upper: bool, symmetrize_input: bool) -> Any:
    read = in_wide(x)
    if symmetrize_input:
        read = symmetrized("cholesky", read)
    return rounded(factor_of(read, lower=not upper, hermitian=symmetrize_input), x.dtype)


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: str) -> Any: ...
@located
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """The QR decomposition: a = Q R, Q with orthonormal columns, R upper triangular.

    Args:
      a: array [batch…, m, n]; k is the smaller one of m and n.
      mode: 'reduced': Q [m, k] and R [k, n]; 'complete': [m, m] and [m, n]; 'r': R alone, [k, n];
        'raw': what LAPACK's geqrf makes, transposed, [n, m], and tau [k].
    Returns: QRResult(Q, R); R alone for 'r'; (h, tau) for 'raw'.
    Raises: ShapeError: less than two axes. ValueError: another mode.
    Example:
      >>> q, r = np.linalg.qr(np.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> bool(np.allclose(q @ r, np.array([[0.0, 2.0], [1.0, 3.0]])))
      True
    Source: NumPy documentation, `numpy.linalg.qr`.
    """
    x = matrices("qr", a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw'; got {mode!r:.60}")
    if mode == "raw":
        h, tau = geqrf(in_wide(x))
        return rounded(turned(h), x.dtype), rounded(tau, x.dtype)
    q, r = _qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite
def _qr(x: Any, *, full_matrices: bool) -> Any:
    q, r = lax_linalg.qr(in_wide(x), full_matrices=full_matrices)
    return rounded(q, x.dtype), rounded(r, x.dtype)


# --- eigenvalues ---


def _lower(name: str, UPLO: Any) -> bool:
    if UPLO is None or UPLO in ("L", "l"):
        return True
    if UPLO in ("U", "u"):
        return False
    raise noted(ValueError(f"{name}: UPLO must be 'L' or 'U'; got {UPLO!r:.60}"))


@located
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: array [batch…, n, n].
      UPLO: the triangle that is read, 'L' or 'U', if the input isn't symmetrized.
      symmetrize_input: (a + aᴴ) / 2 takes the place of `a`.
    Returns: EighResult(eigenvalues [batch…, n], real and rising; eigenvectors, in columns).
    Raises: ShapeError: not square. ValueError: another UPLO.
    Example:
      >>> np.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eigh`.
    """
    x = matrices("eigh", a, square=True)
    lower = _lower("eigh", UPLO)
    return EighResult(*_eigh(x, lower=lower, symmetrize_input=bool(symmetrize_input)))


@composite
def _eigh(x: Any, *, lower: bool, symmetrize_input: bool) -> Any:
    v, w = lax_linalg.eigh(in_wide(x), lower=lower, symmetrize_input=symmetrize_input)
    return rounded(w, x.dtype), rounded(v, x.dtype)


@located
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices.

    Args: as in `eigh`.
    Returns: array [batch…, n], real and rising.
    Example:
      >>> np.linalg.eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eigvalsh`.
    """
    x = matrices("eigvalsh", a, square=True)
    lower = _lower("eigvalsh", UPLO)
    return _eigh(x, lower=lower, symmetrize_input=bool(symmetrize_input))[0]


@located
def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices.

    Args:
      a: array [batch…, n, n].
    Returns: EigResult(eigenvalues [batch…, n], eigenvectors, in columns of length 1), complex.
      (NumPy makes real ones of them where all are real; whether they are isn't known under `jit`.)
    Raises: ShapeError: not square.
    Example:
      >>> np.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.real
      Array([0., 0.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eig`.
    """
    x = matrices("eig", a, square=True)
    w, v = lax_linalg.eig(in_wide(x), compute_left_eigenvectors=False)
    return EigResult(_complex(w, x.dtype), _complex(v, x.dtype))


@located
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…, n], complex.
    Raises: ShapeError: not square.
    Example:
      >>> np.sort(np.linalg.eigvals(np.array([[2.0, 1.0], [0.0, 1.0]])).real)
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eigvals`.
    """
    x = matrices("eigvals", a, square=True)
    (w,) = lax_linalg.eig(
        in_wide(x), compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    return _complex(w, x.dtype)


def _complex(x: Any, dtype: Any) -> Any:
    return rounded(x, dtypes.complex_of(dtype))
