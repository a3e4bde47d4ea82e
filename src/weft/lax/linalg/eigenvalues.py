"""eigh and eig: eigenvalues and eigenvectors of Hermitian matrices, and of any square ones.

EighImplementation and EigImplementation name the algorithms."""

import enum
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...core.trace import current
from ...core.value import Value
from ...primitives.linalg.eig import eig as eig_p, eigenvalues_tangent
from ...primitives.linalg.eigh import eigh as eigh_p
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .operands import check_choice, narrowed, subset, symmetrized, taken, widened

__all__ = ["EigImplementation", "EighImplementation", "eig", "eigh"]


class EighImplementation(enum.Enum):
    """The algorithm that finds eigenvalues of Hermitian matrices on an accelerator.

    QR reduces the matrices to three diagonals first, JACOBI rotates pairs of rows and columns until
    the matrix is diagonal, QDWH divides the spectrum in two repeatedly.

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
    to rounding, rotations within their eigenspace count as zero. So derivatives of functions of the
    eigenvalues and of eigenspaces are right there; the derivative of V diag(f(w)) Vᴴ lacks a term.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      lower: whether the lower or the upper triangle is read, unless x is symmetrized.
      symmetrize_input: whether to decompose (x + xᴴ) / 2.
      sort_eigenvalues: accepted; they are always in ascending order.
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
    (value,), narrow = widened(x)
    if symmetrize_input:
        value = symmetrized("eigh", value)
    v, w = eigh_p(value, lower=bool(lower))
    start, end = subset("eigh", subset_by_index, w.shape[-1])
    return tuple(narrowed([taken(v, -1, start, end), taken(w, -1, start, end)], narrow))  # type: ignore[return-value]


class EigImplementation(enum.Enum):
    """The library that computes eigenvalues of general matrices on a GPU; a CPU has only LAPACK.

    Source: JAX documentation, `jax.lax.linalg.EigImplementation`.
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


@located
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Eigenvalues and eigenvectors of any square matrices: x v = w v, and uᴴ x = w uᴴ.

    Eigenvectors have derivatives where eigenvalues are distinct. They are normalized as LAPACK's:
    of length 1, with a real largest element.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      compute_left_eigenvectors, compute_right_eigenvectors: which vectors to return.
      enable_eigvec_derivs: accepted; eigenvectors always have derivatives.
      implementation, use_magma: accepted; the platform determines the library.
    Returns: [w, u, v], without the vectors that were not requested: w [..., n], vectors in the
      columns of [..., n, n]; all complex.
    Raises: ShapeError: x is not square, or has another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> w, u, v = lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
      >>> print(w.imag)
      [ 1. -1.]
    Source: LAPACK `geev`; JAX documentation, `jax.lax.linalg.eig`.
    """
    check_choice("eig", "implementation", implementation, EigImplementation)
    (value,), _ = widened(x)
    left, right = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    if not left and not right:
        at_once = current.trace is current.base
        return [(eigenvalues if at_once else differentiable_eigenvalues)(value)]  # type: ignore[list-item]
    return list(eig_p(value, left=left, right=right))


# Derivatives of values need vectors, whose computation gives the values too, so the rule avoids a
# second decomposition. Where nothing is differentiated, the rule is not used.


def eigenvalues(x: Value) -> Value:
    """Eigenvalues alone."""
    return eig_p(x, left=False, right=False)[0]


differentiable_eigenvalues = custom_jvp(eigenvalues)


@differentiable_eigenvalues.defjvp
def _(primals: Any, tangents: Any) -> Any:
    w, v = eig_p(*primals, left=False, right=True)
    return w, eigenvalues_tangent(tangents[0], v)
