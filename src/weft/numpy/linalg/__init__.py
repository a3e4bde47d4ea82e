"""Linear algebra, with NumPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "decompositions": "cholesky qr svd svdvals",
        "determinants": "det slogdet",
        "eigenvalues": "eig eigh eigvals eigvalsh",
        "norms": "cond matrix_norm matrix_rank norm vector_norm",
        "products": """
            cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace
            vecdot
        """,
        "solvers": "inv lstsq pinv solve tensorinv tensorsolve",
    },
)
