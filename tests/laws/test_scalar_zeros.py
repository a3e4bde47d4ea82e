"""Python's numbers with zeros of either sign are what NumPy takes them for, whichever came first.

0.0 == -0.0, and so are complex numbers with such parts: what is kept for one must not be found for
the other.
"""

import itertools

import numpy as np
import pytest

import weft
import weft.numpy as wnp

FLOATS = [0.0, -0.0]
COMPLEX = [complex(a, b) for a, b in itertools.product((0.0, -0.0, -1.0, 2.0), (0.0, -0.0))]
COMPLEX += [complex(b, a) for a, b in itertools.product((-1.0, 2.0), (0.0, -0.0))]
UNARY = {
    "sqrt": np.sqrt,
    "negative": np.negative,
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
}
BINARY = ("add", "subtract", "multiply", "where")
CASES = [*itertools.permutations(FLOATS, 2), *itertools.permutations(COMPLEX, 2)]
PAIRS = [(a, b) for a, b in CASES if a == b]


def parts(x):
    """Real and imaginary parts, and which of them are negative zeros."""
    x = np.asarray(x).astype("complex64")
    return [(p.round(5).tolist(), np.signbit(p).tolist()) for p in (x.real, x.imag)]


def as_numpy(x):
    return np.asarray(x, "complex64" if isinstance(x, complex) else "f4")


@pytest.mark.parametrize("name", UNARY)
def test_of_one_number(name):
    f = getattr(wnp, name)
    numbers = [x for pair in PAIRS for x in pair]
    compiled = weft.jit(lambda: [f(x) for x in numbers])()
    for x, of_jit in zip(numbers, compiled, strict=True):
        expected = parts(UNARY[name](as_numpy(x)))
        assert parts(f(x)) == expected, (name, x)
        if name != "sqrt":  # XLA's root takes no notice of the sign of a zero, of arrays neither
            assert parts(of_jit) == expected, (name, x)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("name", BINARY)
def test_beside_an_array(name, right):
    """The second time from a plan. (XLA takes x + 0.0 for x: compiled sums are left out.)"""

    def of(np, array, x):
        operands = (array, x) if right else (x, array)
        return np.where(True, *operands) if name == "where" else getattr(np, name)(*operands)

    for pair in PAIRS:
        array = np.asarray([-0.0, 1.0], as_numpy(pair[0]).dtype)
        for x in (*pair, *pair):
            expected = parts(of(np, array, as_numpy(x)))
            assert parts(of(wnp, wnp.asarray(array), x)) == expected, (name, x)


def test_the_root_of_a_number_below_the_cut():
    above, below = np.sqrt(complex(-1, 0.0)), np.sqrt(complex(-1, -0.0))
    for _ in range(2):
        assert complex(wnp.sqrt(complex(-1, 0.0))) == above == 1j
        assert complex(wnp.sqrt(complex(-1, -0.0))) == below == -1j
