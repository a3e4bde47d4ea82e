"""The names of algorithms among which callers of decompositions may choose."""

import enum

__all__ = ["EigImplementation", "EighImplementation", "SvdAlgorithm"]


class EigImplementation(enum.Enum):
    """The library that finds eigenvalues of general matrices on a GPU; a CPU has LAPACK alone.

    Source: JAX documentation, `jax.lax.linalg.EigImplementation`.
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """The algorithm that finds eigenvalues of Hermitian matrices on an accelerator.

    QR reduces them to three diagonals first, JACOBI turns pairs of axes until nothing is left
    beside the diagonal, QDWH splits the spectrum in two again and again.

    Source: JAX documentation, `jax.lax.linalg.EighImplementation`.
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """The algorithm of the singular value decomposition.

    DIVIDE_AND_CONQUER, the fastest, and QR are LAPACK's `gesdd` and `gesvd`; JACOBI and POLAR are
    for accelerators, and DEFAULT is the best one of the platform.

    Source: JAX documentation, `jax.lax.linalg.SvdAlgorithm`.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"
