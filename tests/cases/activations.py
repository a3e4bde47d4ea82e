"""Cases of the primitives of activations."""

import numpy as np

from cases.case import FLOATS, SIGNED, Case, f32
from weft.primitives import activations as p

CASES = [
    Case(p.relu, [f32(3, 4)], oracle=lambda x: np.maximum(x, 0), dtypes=(*FLOATS, *SIGNED, "uint8"),
         elementwise=True),
    Case(p.softplus, [f32(3, 4)], oracle=lambda x: np.logaddexp(x, 0), dtypes=FLOATS,
         elementwise=True),
]  # fmt: skip
