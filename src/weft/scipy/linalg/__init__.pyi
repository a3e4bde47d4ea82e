# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .exponentials import expm as expm, expm_frechet as expm_frechet
from .factorizations import (
    cho_factor as cho_factor,
    cholesky as cholesky,
    det as det,
    eigh as eigh,
    hessenberg as hessenberg,
    inv as inv,
    lu as lu,
    lu_factor as lu_factor,
    polar as polar,
    qr as qr,
    qr_multiply as qr_multiply,
    svd as svd,
)
from .matrix_functions import (
    funm as funm,
    logm as logm,
    rsf2csf as rsf2csf,
    schur as schur,
    sqrtm as sqrtm,
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
from .systems import (
    cho_solve as cho_solve,
    lu_solve as lu_solve,
    solve as solve,
    solve_banded as solve_banded,
    solve_sylvester as solve_sylvester,
    solve_triangular as solve_triangular,
    solveh_banded as solveh_banded,
)
from .tridiagonals import eigh_tridiagonal as eigh_tridiagonal
