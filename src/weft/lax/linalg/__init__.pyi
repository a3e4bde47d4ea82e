# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .algorithms import (
    EighImplementation as EighImplementation,
    EigImplementation as EigImplementation,
    SvdAlgorithm as SvdAlgorithm,
)
from .decompositions import (
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    lu as lu,
    lu_pivots_to_permutation as lu_pivots_to_permutation,
    qr as qr,
    svd as svd,
)
from .polar import qdwh as qdwh
from .reductions import hessenberg as hessenberg, schur as schur, tridiagonal as tridiagonal
from .solving import (
    householder_product as householder_product,
    ormqr as ormqr,
    triangular_solve as triangular_solve,
    tridiagonal_solve as tridiagonal_solve,
)
from .updates import cholesky_update as cholesky_update, symmetric_product as symmetric_product
