"""Cases of the primitives of activations."""

import numpy as np

from cases.case import FLOATS, SIGNED, Case, f32
from weft.primitives import activations as p

CASES = [
    Case(p.relu, [f32(3, 4)], oracle=lambda x: np.maximum(x, 0), dtypes=(*FLOATS, *SIGNED, "uint8"),
         elementwise=True),
    Case(p.softplus, [f32(3, 4)], oracle=lambda x: np.logaddexp(x, 0), dtypes=FLOATS,
         elementwise=True),
    Case(p.log1mexp, [f32(3, 4, low=0.1, high=3)], oracle=lambda x: np.log(-np.expm1(-x)),
         dtypes=FLOATS, elementwise=True),
    Case(p.gelu_by_tanh, [f32(3, 4)], dtypes=FLOATS, elementwise=True,
         oracle=lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2),
    Case(p.hyperbola, [f32(3, 4), f32(4, low=0.5, high=3)], oracle=lambda x, b: np.sqrt(x * x + b),
         dtypes=FLOATS),
    Case(p.squareplus, [f32(3, 4), f32(4, low=0.5, high=3)],
         oracle=lambda x, b: (x + np.sqrt(x * x + b)) / 2, dtypes=FLOATS),
]  # fmt: skip
