"""Cases of parts of complex numbers."""

import numpy as np

from cases.case import Case, c64, f32
from weft.primitives import complex_numbers as p


def together(x, y):
    return x + 1j * y


CASES = [
    Case(p.real, [c64(3, 4)], oracle=np.real, elementwise=True),
    Case(p.imag, [c64(3, 4)], oracle=np.imag, elementwise=True),
    Case(p.conj, [c64(3, 4)], oracle=np.conj, elementwise=True),
    Case(p.complex_, [f32(3, 4), f32(4)], oracle=together, elementwise=True),
]
