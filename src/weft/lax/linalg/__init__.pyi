# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .cholesky_factors import cholesky as cholesky, cholesky_update as cholesky_update
from .eigenvalues import (
    EighImplementation as EighImplementation,
    EigImplementation as EigImplementation,
    eig as eig,
    eigh as eigh,
)
from .lu_factors import lu as lu, lu_pivots_to_permutation as lu_pivots_to_permutation
from .polar import qdwh as qdwh
from .qr_factors import householder_product as householder_product, ormqr as ormqr, qr as qr
from .schur_forms import hessenberg as hessenberg, schur as schur
from .singular_values import SvdAlgorithm as SvdAlgorithm, svd as svd
from .symmetric_products import symmetric_product as symmetric_product
from .triangular_systems import triangular_solve as triangular_solve
from .tridiagonals import tridiagonal as tridiagonal, tridiagonal_solve as tridiagonal_solve
