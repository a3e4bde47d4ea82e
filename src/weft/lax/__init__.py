"""x"""

from .associative import associative_scan
from .contraction import (
    DotDimensionNumbers,
    Precision,
    PrecisionLike,
    batch_matmul,
    dot,
    dot_general,
)
from .control_flow import cond, switch
from .cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from .loops import fori_loop, map, scan, while_loop
from .reduction import (
    argmax,
    argmin,
    reduce,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from .sorting import approx_max_k, approx_min_k, sort, sort_key_val, top_k

__all__ = [
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "associative_scan",
    "batch_matmul",
    "cond",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dot",
    "dot_general",
    "fori_loop",
    "map",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
    "scan",
    "sort",
    "sort_key_val",
    "switch",
    "top_k",
    "while_loop",
]
