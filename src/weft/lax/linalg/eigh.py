"""eigh, eigenvalues and eigenvectors of Hermitian matrices, and EighImplementation, its algorithms:
LAPACK's syevd and heevd on a CPU."""

import enum

from ...core.array import Array
from ...core.source import located
from ...primitives.linalg.eigh import eigh as eigh_p
from ...typing import ArrayLike
from .operands import check_choice, narrowed, slice_range, subset, symmetrized, widened

__all__ = ["EighImplementation", "eigh"]


class EighImplementation(enum.Enum):
    """The algorithm that finds eigenvalues of Hermitian matrices on an accelerator.

    QR reduces the matrices to three diagonals first, JACOBI rotates pairs of rows and columns until
    the matrix is diagonal, QDWH divides the spectrum in two repeatedly.

    Example:
      >>> list(lax.linalg.EighImplementation.__members__)
      ['QR', 'JACOBI', 'QDWH']
    Source: JAX documentation, `jax.lax.linalg.EighImplementation`.
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@located
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x V = V diag(w).

    The derivative assumes that a function does not depend on the choice of the vectors: on their
    phases, nor on the basis of the eigenspace of equal eigenvalues. Where eigenvalues are equal up
    to rounding, rotations within their eigenspace count as zero. So derivatives of functions of
    eigenvalues and eigenspaces are correct there; the derivative of V diag(f(w)) Vᴴ lacks a term.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      lower: whether the lower or the upper triangle is read, unless x is symmetrized.
      symmetrize_input: whether to decompose (x + xᴴ) / 2.
      sort_eigenvalues: has no effect; eigenvalues are always in ascending order.
      subset_by_index: (start, end), to return only those eigenvalues.
      implementation: accepted; the platform determines the algorithm.
    Returns: (v, w): v [..., n, d], of x's dtype, with vectors of length 1 in its columns;
      w [..., d], real and ascending; d is n, or end - start.
    Raises: ShapeError: x is not square, or has another dtype. ValueError: a bad subset.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> v, w = lax.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> print(np.round(w, 5))
      [1. 3.]
    Source: LAPACK `syevd`, `heevd`; JAX documentation, `jax.lax.linalg.eigh`.
    """
    check_choice("eigh", "implementation", implementation, EighImplementation)
    (value,), narrow_dtype = widened(x)
    if symmetrize_input:
        value = symmetrized("eigh", value)
    v, w = eigh_p(value, lower=bool(lower))
    start, end = subset("eigh", subset_by_index, w.shape[-1])
    return tuple(
        narrowed([slice_range(v, -1, start, end), slice_range(w, -1, start, end)], narrow_dtype)
    )  # type: ignore[return-value]
