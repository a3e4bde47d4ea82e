"""Compiled inverse trigonometric functions: exact to 2.5 units in the last place, with NumPy's
results and signs at zeros and infinities."""

import itertools

import mpmath
import numpy as np
import pytest

import weft
from weft import numpy as wnp

RNG = np.random.default_rng(0)
ANY = RNG.standard_normal(300), RNG.standard_normal(300)
WIDE = np.exp(RNG.uniform(-60, 60, 200)), -np.exp(RNG.uniform(-20, 20, 200))
UNIT = np.concatenate([RNG.uniform(-1, 1, 300), 1 - np.exp(RNG.uniform(-16, 0, 100))])
EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e-30, -1e-30, np.inf, -np.inf, np.nan)
POINTS = {
    "arctan": [np.concatenate([ANY[0], *WIDE])],
    "arctan2": [np.concatenate(xs) for xs in zip(ANY, WIDE, strict=True)],
    "arcsin": [UNIT],
    "arccos": [UNIT],
}


def compiled(name, dtype, *xs):
    with weft.enable_x64(dtype == "f8"):
        return np.asarray(weft.jit(getattr(wnp, name))(*(x.astype(dtype) for x in xs)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", POINTS)
def test_values(name, dtype):
    points = [x.astype(dtype) for x in POINTS[name]]
    got = compiled(name, dtype, *points)
    oracle = {"arctan": mpmath.atan, "arctan2": mpmath.atan2, "arcsin": mpmath.asin}
    with mpmath.workdps(40):
        for value, *x in zip(got, *points, strict=True):
            exact = oracle.get(name, mpmath.acos)(*(mpmath.mpf(float(v)) for v in x))
            unit = float(np.spacing(np.dtype(dtype).type(abs(exact))))
            assert abs(mpmath.mpf(float(value)) - exact) < 2.5 * unit, x


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", POINTS)
def test_ends(name, dtype):
    count = len(POINTS[name])
    points = np.array(list(itertools.product(EDGES, repeat=count)), dtype).T
    got = compiled(name, dtype, *points)
    with np.errstate(invalid="ignore"):
        want = getattr(np, name)(*points)
    np.testing.assert_allclose(got, want, rtol=4e-7 if dtype == "f4" else 6e-16)
    defined = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[defined]), np.signbit(want[defined]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_right_angles_are_rounded_correctly(dtype):
    one = np.ones(1, dtype)
    for name, xs, angle in (
        ("arctan", (one,), np.pi / 4),
        ("arcsin", (one,), np.pi / 2),
        ("arccos", (0 * one,), np.pi / 2),
        ("arccos", (-one,), np.pi),
        ("arctan2", (0 * one, -one), np.pi),
        ("arctan2", (one, 0 * one), np.pi / 2),
        ("arctan2", (one, -one), 3 * np.pi / 4),
    ):
        assert compiled(name, dtype, *xs)[0] == one.dtype.type(angle), (name, dtype)
