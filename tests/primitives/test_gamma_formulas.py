"""lgamma and digamma in compiled programs: as exact as the eager ones."""

import numpy as np
import pytest
from scipy import special

import weft
from weft import lax

RNG = np.random.default_rng(0)
POSITIVE = np.concatenate([np.exp(RNG.uniform(-20, 20, 2000)), np.linspace(0.4, 3, 2000)])
NEGATIVE = -np.concatenate([np.exp(RNG.uniform(-20, 3, 1000)), np.linspace(0.01, 5.01, 1000)])
SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1,
        2,
        -1,
        -2,
        -30,
        np.inf,
        -np.inf,
        np.nan,
        1e-30,
        -1e-30,
        1e30,
        -1e30,
        3e38,
        -3e38,
    ],
    "f",
)


@pytest.mark.parametrize(
    ("name", "oracle"), [("lgamma", special.gammaln), ("digamma", special.digamma)]
)
def test_compiled_programs_are_exact(name, oracle):
    run = weft.jit(getattr(lax, name))
    x = POSITIVE.astype("f")
    np.testing.assert_allclose(run(x), oracle(x.astype(float)), rtol=1e-6)
    x = NEGATIVE.astype("f")
    expected = oracle(x.astype(float))
    # the terms that cancel near zeros are some units large, or as large as π / tan(πx)
    np.testing.assert_allclose(run(x), expected, rtol=1e-5, atol=2e-5)


def test_zeros_keep_their_digits():
    x = np.float32([1.0001, 0.9999, 1.999, 2.001, 1.4617])
    expected = special.gammaln(x[:4].astype(float))
    np.testing.assert_allclose(weft.jit(lax.lgamma)(x[:4]), expected, rtol=1e-6)
    np.testing.assert_allclose(
        weft.jit(lax.digamma)(x[4:]), special.digamma(x[4:].astype(float)), rtol=1e-6
    )


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_both_tiers_agree_on_poles_and_infinities(name):
    f = getattr(lax, name)
    eager = np.concatenate([f(SPECIAL[i : i + 3]) for i in range(0, SPECIAL.size, 3)])
    np.testing.assert_allclose(weft.jit(f)(SPECIAL), eager, rtol=1e-6)


def test_one_accuracy():
    x = np.full(3, 1.6, "f")
    np.testing.assert_allclose(weft.jit(lax.lgamma)(x), lax.lgamma(x), rtol=5e-7)


def test_double_precision():
    with weft.enable_x64():
        for name, oracle in (("lgamma", special.gammaln), ("digamma", special.digamma)):
            run = weft.jit(getattr(lax, name))
            x = POSITIVE[np.abs(POSITIVE - 1.5) > 0.7]
            np.testing.assert_allclose(run(x), oracle(x), rtol=1e-14)
