"""Decompositions of matrices and solvers, with nothing promoted: what `numpy.linalg` is made of."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "algorithms": "EigImplementation EighImplementation SvdAlgorithm",
        "decompositions": "cholesky eig eigh lu lu_pivots_to_permutation qr svd",
        "polar": "qdwh",
        "reductions": "hessenberg schur tridiagonal",
        "solving": "householder_product ormqr triangular_solve tridiagonal_solve",
        "updates": "cholesky_update symmetric_product",
    },
)
