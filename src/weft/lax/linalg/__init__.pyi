# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .cholesky import (
    cholesky as cholesky,
    cholesky_update as cholesky_update,
    symmetric_product as symmetric_product,
)
from .eig import EigImplementation as EigImplementation, eig as eig
from .eigh import EighImplementation as EighImplementation, eigh as eigh
from .lu import lu as lu, lu_pivots_to_permutation as lu_pivots_to_permutation
from .polar import qdwh as qdwh
from .qr import householder_product as householder_product, ormqr as ormqr, qr as qr
from .schur import hessenberg as hessenberg, schur as schur
from .svd import SvdAlgorithm as SvdAlgorithm, svd as svd
from .triangular_solve import triangular_solve as triangular_solve
from .tridiagonal import tridiagonal as tridiagonal, tridiagonal_solve as tridiagonal_solve
