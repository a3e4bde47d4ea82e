"""Decompositions of matrices and solvers, with nothing promoted: what `numpy.linalg` is made of."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .algorithms import EighImplementation, EigImplementation, SvdAlgorithm
    from .decompositions import cholesky, eig, eigh, lu, lu_pivots_to_permutation, qr, svd
    from .polar import qdwh
    from .reductions import hessenberg, schur, tridiagonal
    from .solving import householder_product, ormqr, triangular_solve, tridiagonal_solve
    from .updates import cholesky_update, symmetric_product

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "algorithms": (
            "EigImplementation",
            "EighImplementation",
            "SvdAlgorithm",
        ),
        "decompositions": (
            "cholesky",
            "eig",
            "eigh",
            "lu",
            "lu_pivots_to_permutation",
            "qr",
            "svd",
        ),
        "polar": ("qdwh",),
        "reductions": (
            "hessenberg",
            "schur",
            "tridiagonal",
        ),
        "solving": (
            "householder_product",
            "ormqr",
            "triangular_solve",
            "tridiagonal_solve",
        ),
        "updates": (
            "cholesky_update",
            "symmetric_product",
        ),
    },
)
