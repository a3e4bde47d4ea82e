"""Values that are exact in NumPy: logarithms of powers, signs of zeros, complex infinities."""

import itertools

import numpy as onp
import pytest
from agreement import assert_gradient

import weft
import weft.numpy as np

TIERS = {"eager": lambda f: f, "jit": weft.jit}
NAN, INF = onp.nan, onp.inf


def assert_same(found, expected):
    """Equal with the signs of zeros; a NaN equals a NaN."""
    found, expected = onp.asarray(found), onp.asarray(expected)
    for f, e in ((found.real, expected.real), (found.imag, expected.imag)):
        onp.testing.assert_array_equal(onp.isnan(f), onp.isnan(e))
        onp.testing.assert_allclose(f, e, rtol=1e-5)
        zero = e == 0
        onp.testing.assert_array_equal(onp.signbit(f[zero]), onp.signbit(e[zero]))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "divmod"])
def test_division_of_floats_as_numpy(name, tier):
    values = onp.array([INF, NAN, 0.0, 1.0, 2.0, 3.0, 0.5, 7.3, 1e30], "f")
    values = onp.concatenate([values, -values])
    x, y = (v.ravel() for v in onp.meshgrid(values, values))
    with onp.errstate(all="ignore"):
        expected = getattr(onp, name)(x, y)
    found = TIERS[tier](getattr(np, name))(x, y)
    pairs = zip(found, expected, strict=True) if name == "divmod" else [(found, expected)]
    for f, e in pairs:
        assert_same(f, e)


def test_division_by_a_scalar_as_numpy():
    assert np.signbit(np.array(-0.0) // 3.0)
    assert np.signbit(np.array(0.0) % -3.0)
    assert np.isnan(np.array(INF) // 2.0)
    assert np.signbit(np.floor_divide(-0.0, 3.0))


def test_remainders_have_slopes_at_multiples():
    x = onp.array([0.0, 1.0, 2.0, 2.5, -3.0], "f")
    for y in (1.0, -1.0):
        slope = weft.vmap(weft.grad(lambda v, y=y: v % y))(x)
        assert slope.tolist() == [1.0] * 5
    assert_gradient(lambda v: v % 0.7, onp.array([0.3, 1.1, -2.6], "f"))


WHOLE = {
    "log2": (onp.exp2(onp.arange(-126.0, 128)), onp.arange(-126, 128)),
    "log10": (onp.array([float(f"1e{k}") for k in range(-37, 39)]), onp.arange(-37, 39)),
    "exp2": (onp.arange(-126.0, 127), onp.exp2(onp.arange(-126.0, 127))),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", WHOLE)
def test_powers_and_their_logarithms_are_exact(name, tier):
    x, expected = WHOLE[name]
    found = TIERS[tier](getattr(np, name))(x.astype("f"))
    assert onp.array_equal(found, expected.astype("f"))
    each = [getattr(np, name)(float(v)).item() for v in x[::25]]
    assert each == expected[::25].astype("f").tolist()


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_elsewhere(name):
    f, own = getattr(np, name), getattr(onp, name)
    x = onp.exp(onp.linspace(-80, 80, 1001)).astype("f")
    x = onp.concatenate([x, 1 + onp.linspace(-0.01, 0.01, 101, dtype="f")])
    onp.testing.assert_allclose(weft.jit(f)(x), own(x.astype(float)), rtol=6e-7)
    with onp.errstate(all="ignore"):
        edges = onp.array([0.0, -1.0, INF, NAN, 1.0], "f")
        onp.testing.assert_array_equal(weft.jit(f)(edges), own(edges))
    assert_gradient(f, onp.array([0.3, 8.0, 100.0], "f"))
    assert f(np.array(8j)).dtype == np.complex64
    assert f(8j) == pytest.approx(own(8j), rel=1e-6)
    assert f(np.arange(1, 3)).dtype == np.float32
    assert f(np.ones(2, np.bfloat16)).dtype == np.bfloat16


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, INF, -INF, NAN]
COMPLEX = onp.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)], "complex64")


def expm1(z):
    """By the array API's special cases."""
    if z.imag == 0:
        return complex(onp.expm1(z.real), z.imag)
    power = onp.exp(onp.complex128(z))
    return complex(-1.0 if z.real == -INF else power.real - 1, power.imag)


ORACLES = {
    "expm1": expm1,
    "log1p": lambda z: onp.log(onp.complex128(complex(1 + z.real, z.imag))),
    **{
        name: (lambda z, f=name: getattr(onp, f)(onp.complex128(z)))
        for name in (
            *("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin"),
            *("arccos", "arctan", "arcsinh", "arccosh", "arctanh", "log2", "log10", "square"),
        )
    },
}


@pytest.mark.parametrize("name", ORACLES)
def test_complex_infinities_and_zeros(name):
    with onp.errstate(all="ignore"):
        expected = onp.array([ORACLES[name](complex(z)) for z in COMPLEX])
    assert_same(getattr(np, name)(COMPLEX), expected)
