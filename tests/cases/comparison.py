"""Cases of comparisons."""

import numpy as np

from cases.case import ALL, REAL, Case, f32, i32
from weft.primitives import comparison as p

PAIRS = [(p.eq, np.equal), (p.ne, np.not_equal)]
ORDERED = [(p.lt, np.less), (p.le, np.less_equal), (p.gt, np.greater), (p.ge, np.greater_equal)]
TOTAL = [(p.eq_to, np.equal), (p.lt_to, np.less), (p.le_to, np.less_equal)]

CASES = [
    *(
        Case(f, [i32(3, 4), i32(4)], oracle=oracle, dtypes=ALL, elementwise=True)
        for f, oracle in PAIRS
    ),
    *(
        Case(f, [f32(3, 4), f32(4)], oracle=oracle, dtypes=("bool", *REAL), elementwise=True)
        for f, oracle in ORDERED + TOTAL
    ),
]
