"""Cases of arithmetic."""

import numpy as np
from cases.case import NUMBERS, Case, f32

from weft.primitives import arithmetic as p

CASES = [
    Case(p.neg, [f32(3, 4)], oracle=np.negative, dtypes=NUMBERS, elementwise=True),
    Case(p.mul, [f32(3, 4), f32(4)], oracle=np.multiply, dtypes=NUMBERS, elementwise=True),
]
