"""Compiled beta and poch: exponents of hundreds cost no digits."""

import mpmath
import numpy as np
import pytest

import weft
from weft.scipy import special

RNG = np.random.default_rng(0)
WIDE = np.exp(RNG.uniform(-8, 4.5, 300)), np.exp(RNG.uniform(-8, 4.5, 300))
HIGH = RNG.uniform(1, 60, 100)
DOWN = HIGH, -HIGH * RNG.uniform(0, 1, 100)  # the lower end is rounded
EDGES = np.array([1e-30, 3.9999, 4, 7.999, 8, 1e5]), np.array([0, 1e-7, 4, 0.1, 8, 3.5])


def beta(a, b):
    return mpmath.beta(a, b)


def poch(z, n):
    return mpmath.gammaprod([z + n], [z])


@pytest.mark.parametrize(("dtype", "most"), [("f4", 9), ("f8", 16)])
@pytest.mark.parametrize(
    ("oracle", "points"), [(beta, (WIDE,)), (poch, (WIDE, DOWN, EDGES))], ids=["beta", "poch"]
)
def test_compiled_programs_are_exact(oracle, points, dtype, most):
    a, b = (np.concatenate(xs).astype(dtype) for xs in zip(*points, strict=True))
    with weft.enable_x64(dtype == "f8"):
        got = np.asarray(weft.jit(getattr(special, oracle.__name__))(a, b))
    limits, errors = np.finfo(dtype), []
    for x, y, value in zip(a, b, got, strict=True):
        with mpmath.workdps(50):
            exact = oracle(mpmath.mpf(float(x)), mpmath.mpf(float(y)))
            if exact >= float(limits.max):
                assert np.isinf(value)
            elif exact > float(limits.tiny):
                unit = float(np.spacing(np.dtype(dtype).type(exact)))
                errors.append(float(abs(mpmath.mpf(float(value)) - exact) / unit))
    assert len(errors) > 200
    assert max(errors) < most
