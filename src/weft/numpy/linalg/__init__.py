"""Linear algebra, with NumPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr
    from .inverses import det, inv, slogdet, solve, tensorinv, tensorsolve
    from .norms import cond, matrix_norm, norm, vector_norm
    from .products import (
        cross,
        diagonal,
        matmul,
        matrix_power,
        matrix_transpose,
        multi_dot,
        outer,
        tensordot,
        trace,
        vecdot,
    )
    from .singular import lstsq, matrix_rank, pinv, svd, svdvals

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "decompositions": (
            "cholesky",
            "eig",
            "eigh",
            "eigvals",
            "eigvalsh",
            "qr",
        ),
        "inverses": (
            "det",
            "inv",
            "slogdet",
            "solve",
            "tensorinv",
            "tensorsolve",
        ),
        "norms": (
            "cond",
            "matrix_norm",
            "norm",
            "vector_norm",
        ),
        "products": (
            "cross",
            "diagonal",
            "matmul",
            "matrix_power",
            "matrix_transpose",
            "multi_dot",
            "outer",
            "tensordot",
            "trace",
            "vecdot",
        ),
        "singular": (
            "lstsq",
            "matrix_rank",
            "pinv",
            "svd",
            "svdvals",
        ),
    },
)
