"""Decompositions of matrices and solvers, without promotion; `numpy.linalg` uses them."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "cholesky": "cholesky cholesky_update symmetric_product",
        "eig": "EigImplementation eig",
        "eigh": "EighImplementation eigh",
        "lu": "lu lu_pivots_to_permutation",
        "polar": "qdwh",
        "qr": "householder_product ormqr qr",
        "schur": "hessenberg schur",
        "svd": "SvdAlgorithm svd",
        "triangular_solve": "triangular_solve",
        "tridiagonal": "tridiagonal tridiagonal_solve",
    },
)
