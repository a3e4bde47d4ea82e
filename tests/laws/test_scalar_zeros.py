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


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("jitted", [False, True])
def test_of_one_number(name, jitted):
    f = getattr(wnp, name)
    for pair in PAIRS:
        for x in pair:
            got = weft.jit(lambda x=x: f(x))() if jitted else f(x)
            expected = UNARY[name](np.asarray(x, "complex64" if isinstance(x, complex) else "f4"))
            assert parts(got) == parts(expected), (name, x)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("name", BINARY)
def test_beside_an_array(name, right):
    """Eager, twice (the second time from a plan), and jitted."""
    for pair in PAIRS:
        kind = "complex64" if isinstance(pair[0], complex) else "f4"
        array = np.asarray([-0.0, 1.0], kind)

        def of(np, array, x):
            operands = (array, x) if right else (x, array)
            return np.where(True, *operands) if name == "where" else getattr(np, name)(*operands)

        for x in (*pair, *pair):
            with np.errstate(all="ignore"):
                expected = of(np, array, np.asarray(x, kind)[()])
            got = of(wnp, wnp.asarray(array), x)
            compiled = weft.jit(lambda array, x=x, of=of: of(wnp, array, x))(array)
            if name != "multiply":  # XLA may round a complex product's parts another way
                assert parts(compiled) == parts(expected), (name, x)
            assert parts(got) == parts(expected), (name, x)


def test_the_root_of_a_number_below_the_cut():
    above, below = np.sqrt(complex(-1, 0.0)), np.sqrt(complex(-1, -0.0))
    for _ in range(2):
        assert complex(wnp.sqrt(complex(-1, 0.0))) == above == 1j
        assert complex(wnp.sqrt(complex(-1, -0.0))) == below == -1j
        assert complex(weft.jit(lambda: wnp.sqrt(complex(-1, -0.0)))()) == below
        assert complex(weft.jit(lambda: wnp.sqrt(complex(-1, 0.0)))()) == above
