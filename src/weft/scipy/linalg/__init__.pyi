# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .cholesky import cho_factor as cho_factor, cho_solve as cho_solve, cholesky as cholesky
from .eigh import eigh as eigh, eigh_tridiagonal as eigh_tridiagonal
from .expm import expm as expm, expm_frechet as expm_frechet
from .lu import lu as lu, lu_factor as lu_factor, lu_solve as lu_solve
from .matrix_functions import funm as funm, logm as logm, sqrtm as sqrtm
from .qr import qr as qr, qr_multiply as qr_multiply
from .schur import hessenberg as hessenberg, rsf2csf as rsf2csf, schur as schur
from .solve import (
    det as det,
    inv as inv,
    solve as solve,
    solve_banded as solve_banded,
    solveh_banded as solveh_banded,
)
from .special_matrices import (
    block_diag as block_diag,
    circulant as circulant,
    companion as companion,
    convolution_matrix as convolution_matrix,
    dft as dft,
    fiedler as fiedler,
    fiedler_companion as fiedler_companion,
    hadamard as hadamard,
    hankel as hankel,
    helmert as helmert,
    hilbert as hilbert,
    invhilbert as invhilbert,
    invpascal as invpascal,
    leslie as leslie,
    pascal as pascal,
    toeplitz as toeplitz,
    tril as tril,
    triu as triu,
)
from .svd import polar as polar, svd as svd
from .sylvester import solve_sylvester as solve_sylvester
from .triangular import solve_triangular as solve_triangular
