"""eig, eigenvalues and eigenvectors of square matrices, and EigImplementation, its libraries:
LAPACK's geev."""

import enum
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...core.trace import current
from ...core.value import Value
from ...primitives.linalg.eig import eig as eig_p, eigenvalues_tangent
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .operands import check_choice, widened

__all__ = ["EigImplementation", "eig"]


class EigImplementation(enum.Enum):
    """The library that computes eigenvalues of general matrices on a GPU; CPUs use LAPACK.

    Example:
      >>> list(lax.linalg.EigImplementation.__members__)
      ['CUSOLVER', 'MAGMA', 'LAPACK']
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
    """Eigenvalues and eigenvectors of square matrices: x v = w v, and uᴴ x = w uᴴ.

    Eigenvectors have derivatives where eigenvalues are distinct. Like LAPACK's, they have length 1
    and a real largest element.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      compute_left_eigenvectors, compute_right_eigenvectors: which vectors to return.
      enable_eigvec_derivs: has no effect; eigenvectors always have derivatives.
      implementation, use_magma: have no effect; the platform determines the library.
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


# Derivatives of eigenvalues need eigenvectors, which are computed together with the eigenvalues. So
# the rule avoids a second decomposition. It is used for derivatives only.


def eigenvalues(x: Value) -> Value:
    """Eigenvalues alone."""
    return eig_p(x, left=False, right=False)[0]


differentiable_eigenvalues = custom_jvp(eigenvalues)


@differentiable_eigenvalues.defjvp
def _(primals: Any, tangents: Any) -> Any:
    w, v = eig_p(*primals, left=False, right=True)
    return w, eigenvalues_tangent(tangents[0], v)
