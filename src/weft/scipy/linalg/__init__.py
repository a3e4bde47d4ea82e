"""Linear algebra, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "exponentials": "expm expm_frechet",
        "factorizations": """
            cho_factor cholesky det eigh hessenberg inv lu lu_factor polar qr qr_multiply svd
        """,
        "matrix_functions": "funm logm rsf2csf schur sqrtm",
        "special_matrices": """
            block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard
            hankel helmert hilbert invhilbert invpascal leslie pascal toeplitz tril triu
        """,
        "systems": """
            cho_solve lu_solve solve solve_banded solve_sylvester solve_triangular solveh_banded
        """,
        "tridiagonals": "eigh_tridiagonal",
    },
)
