# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .bcoo import BCOO as BCOO, bcoo_fromdense as bcoo_fromdense
from .conversion import (
    bcoo_sort_indices as bcoo_sort_indices,
    bcoo_sum_duplicates as bcoo_sum_duplicates,
    bcoo_todense as bcoo_todense,
    bcoo_update_layout as bcoo_update_layout,
)
from .coordinates import (
    SparseArray as SparseArray,
    SparseEfficiencyError as SparseEfficiencyError,
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)
from .creation import (
    bcsr_fromdense as bcsr_fromdense,
    bcsr_todense as bcsr_todense,
    coo_fromdense as coo_fromdense,
    coo_matmat as coo_matmat,
    coo_matvec as coo_matvec,
    coo_todense as coo_todense,
    csr_fromdense as csr_fromdense,
    csr_matmat as csr_matmat,
    csr_matvec as csr_matvec,
    csr_todense as csr_todense,
    empty as empty,
    eye as eye,
    random_bcoo as random_bcoo,
)
from .formats import BCSR as BCSR, COO as COO, CSC as CSC, CSR as CSR
from .interpreter import SparseTracer as SparseTracer
from .manipulation import (
    bcoo_broadcast_in_dim as bcoo_broadcast_in_dim,
    bcoo_concatenate as bcoo_concatenate,
    bcoo_dynamic_slice as bcoo_dynamic_slice,
    bcoo_reduce_sum as bcoo_reduce_sum,
    bcoo_reshape as bcoo_reshape,
    bcoo_rev as bcoo_rev,
    bcoo_slice as bcoo_slice,
    bcoo_squeeze as bcoo_squeeze,
    bcoo_transpose as bcoo_transpose,
)
from .products import (
    bcoo_dot_general as bcoo_dot_general,
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
    bcoo_extract as bcoo_extract,
    bcoo_multiply_dense as bcoo_multiply_dense,
    bcoo_multiply_sparse as bcoo_multiply_sparse,
)
from .transformation import (
    grad as grad,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    sparsify as sparsify,
    todense as todense,
    value_and_grad as value_and_grad,
)
