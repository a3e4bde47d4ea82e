"""Decompositions of matrices and solvers, with nothing promoted: what `numpy.linalg` is made of."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "cholesky_factors": "cholesky cholesky_update",
        "eigenvalues": "EigImplementation EighImplementation eig eigh",
        "lu_factors": "lu lu_pivots_to_permutation",
        "polar": "qdwh",
        "qr_factors": "householder_product ormqr qr",
        "schur_forms": "hessenberg schur",
        "singular_values": "SvdAlgorithm svd",
        "symmetric_products": "symmetric_product",
        "triangular_systems": "triangular_solve",
        "tridiagonals": "tridiagonal tridiagonal_solve",
    },
)
