"""Sparse arrays: BCOO and related formats, sparse versions of functions, and derivatives with
respect to stored elements."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "bcoo": "BCOO bcoo_fromdense",
        "conversion": "bcoo_sort_indices bcoo_sum_duplicates bcoo_todense bcoo_update_layout",
        "coordinates": "SparseArray SparseEfficiencyError SparseEfficiencyWarning",
        "creation": """
            bcsr_fromdense bcsr_todense coo_fromdense coo_matmat coo_matvec coo_todense
            csr_fromdense csr_matmat csr_matvec csr_todense empty eye random_bcoo
        """,
        "formats": "BCSR COO CSC CSR",
        "interpreter": "SparseTracer",
        "manipulation": """
            bcoo_broadcast_in_dim bcoo_concatenate bcoo_dynamic_slice bcoo_reduce_sum bcoo_reshape
            bcoo_rev bcoo_slice bcoo_squeeze bcoo_transpose
        """,
        "products": """
            bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_multiply_dense
            bcoo_multiply_sparse
        """,
        "transformation": "grad jacfwd jacobian jacrev sparsify todense value_and_grad",
    },
)
