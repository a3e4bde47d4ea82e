"""Cases of iota."""

import ml_dtypes
import numpy as np

from cases.case import Case
from weft.primitives.creation import iota


def counted(*, dtype, shape, dimension):
    return np.indices(shape)[dimension].astype(dtype)


CASES = [
    Case(
        iota,
        [],
        {"dtype": np.dtype(dtype), "shape": shape, "dimension": dimension},
        oracle=counted,
    )
    for dtype, shape, dimension in [
        (np.int32, (5,), 0),
        (np.uint8, (300,), 0),
        (np.int8, (2, 140), 1),
        (np.float32, (2, 3), 0),
        (np.float32, (2, 3, 4), 2),
        (np.complex64, (3,), 0),
        (np.float16, (4, 1), 1),
        (ml_dtypes.bfloat16, (300,), 0),
        (np.int32, (0, 3), 1),
        (ml_dtypes.int4, (20,), 0),
    ]
]
