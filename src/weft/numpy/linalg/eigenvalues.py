"""Eigenvalues and eigenvectors: eig, eigh, eigvals, eigvalsh."""

from typing import Any, NamedTuple

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...lax import linalg as lax_linalg
from ...typing import ArrayLike
from ..plans import composite
from ..promotion import noted
from .operands import in_wide_dtype, matrices, rounded

__all__ = ["eig", "eigh", "eigvals", "eigvalsh"]


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Array
    eigenvectors: Array


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
      UPLO: the triangle to read, 'L' or 'U', if the input is not symmetrized.
      symmetrize_input: decompose (a + aᴴ) / 2.
    Returns: EighResult(eigenvalues [batch…, n], real and ascending; eigenvectors in columns).
    Raises: ShapeError: the matrices are not square. ValueError: an unknown UPLO.
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
    v, w = lax_linalg.eigh(in_wide_dtype(x), lower=lower, symmetrize_input=symmetrize_input)
    return rounded(w, x.dtype), rounded(v, x.dtype)


@located
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices.

    Args: as in `eigh`.
    Returns: array [batch…, n], real and ascending.
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
    Returns: EigResult(eigenvalues [batch…, n], eigenvectors in columns of norm 1), complex. (NumPy
      returns real arrays if all eigenvalues are real, which is not known under `jit`.)
    Raises: ShapeError: the matrices are not square.
    Example:
      >>> np.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.real
      Array([0., 0.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eig`.
    """
    x = matrices("eig", a, square=True)
    w, v = lax_linalg.eig(in_wide_dtype(x), compute_left_eigenvectors=False)
    return EigResult(_complex(w, x.dtype), _complex(v, x.dtype))


@located
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices.

    Args:
      a: array [batch…, n, n].
    Returns: array [batch…, n], complex.
    Raises: ShapeError: the matrices are not square.
    Example:
      >>> np.sort(np.linalg.eigvals(np.array([[2.0, 1.0], [0.0, 1.0]])).real)
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.linalg.eigvals`.
    """
    x = matrices("eigvals", a, square=True)
    (w,) = lax_linalg.eig(
        in_wide_dtype(x), compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    return _complex(w, x.dtype)


def _complex(x: Any, dtype: Any) -> Any:
    return rounded(x, dtypes.complex_of(dtype))
