"""Linear algebra, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "cholesky": "cho_factor cho_solve cholesky",
        "eigh": "eigh eigh_tridiagonal",
        "expm": "expm expm_frechet",
        "lu": "lu lu_factor lu_solve",
        "matrix_functions": "funm logm sqrtm",
        "qr": "qr qr_multiply",
        "schur": "hessenberg rsf2csf schur",
        "solve": "det inv solve solve_banded solveh_banded",
        "special_matrices": """
            block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard
            hankel helmert hilbert invhilbert invpascal leslie pascal toeplitz tril triu
        """,
        "svd": "polar svd",
        "sylvester": "solve_sylvester",
        "triangular": "solve_triangular",
    },
)
