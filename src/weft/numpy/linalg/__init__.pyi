# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .decompositions import cholesky as cholesky, qr as qr, svd as svd, svdvals as svdvals
from .determinants import det as det, slogdet as slogdet
from .eigenvalues import eig as eig, eigh as eigh, eigvals as eigvals, eigvalsh as eigvalsh
from .norms import (
    cond as cond,
    matrix_norm as matrix_norm,
    matrix_rank as matrix_rank,
    norm as norm,
    vector_norm as vector_norm,
)
from .products import (
    cross as cross,
    diagonal as diagonal,
    matmul as matmul,
    matrix_power as matrix_power,
    matrix_transpose as matrix_transpose,
    multi_dot as multi_dot,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vecdot as vecdot,
)
from .solvers import (
    inv as inv,
    lstsq as lstsq,
    pinv as pinv,
    solve as solve,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
