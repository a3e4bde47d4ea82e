"""Linear algebra, with NumPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "decompositions": "cholesky eig eigh eigvals eigvalsh qr",
        "inverses": "det inv slogdet solve tensorinv tensorsolve",
        "norms": "cond matrix_norm norm vector_norm",
        "products": """
            cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace
            vecdot
        """,
        "singular": "lstsq matrix_rank pinv svd svdvals",
    },
)
