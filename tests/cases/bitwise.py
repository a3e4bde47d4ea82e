"""Cases of operations on bits."""

import numpy as np

from cases.case import INTEGERS, Case, i32
from weft.primitives import bitwise as p

PAIR = [i32(3, 4, low=-100, high=100), i32(4, low=-100, high=100)]
SHIFT = [i32(3, 4, low=-100, high=100), i32(4, low=0, high=7)]


def ones(x):
    width = x.dtype.itemsize * 8
    return np.vectorize(lambda n: bin(int(n) % 2**width).count("1"), otypes=[x.dtype])(x)


def leading_zeros(x):
    width = x.dtype.itemsize * 8
    return np.vectorize(lambda n: width - (int(n) % 2**width).bit_length(), otypes=[x.dtype])(x)


def logical(x, y):
    width = x.dtype.itemsize * 8
    return np.vectorize(lambda n, k: (int(n) % 2**width) >> int(k), otypes=[object])(x, y).astype(
        f"u{x.dtype.itemsize}"
    ).view(x.dtype)  # fmt: skip


CASES = [
    Case(p.bitwise_and, PAIR, oracle=np.bitwise_and, dtypes=(*INTEGERS, "bool"), elementwise=True),
    Case(p.bitwise_or, PAIR, oracle=np.bitwise_or, dtypes=(*INTEGERS, "bool"), elementwise=True),
    Case(p.bitwise_xor, PAIR, oracle=np.bitwise_xor, dtypes=(*INTEGERS, "bool"), elementwise=True),
    Case(p.bitwise_not, [PAIR[0]], oracle=np.invert, dtypes=(*INTEGERS, "bool"), elementwise=True),
    Case(p.shift_left, SHIFT, oracle=np.left_shift, dtypes=INTEGERS, elementwise=True),
    Case(p.shift_right_arithmetic, SHIFT, oracle=np.right_shift, dtypes=INTEGERS, elementwise=True),
    Case(p.shift_right_logical, SHIFT, oracle=logical, dtypes=INTEGERS, elementwise=True),
    Case(p.population_count, [PAIR[0]], oracle=ones, dtypes=INTEGERS, elementwise=True),
    Case(p.clz, [PAIR[0]], oracle=leading_zeros, dtypes=INTEGERS, elementwise=True),
]
