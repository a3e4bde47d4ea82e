"""poly, roots and polyfit against NumPy."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import jit

RNG = onp.random.default_rng(4)


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


COMPLEX = RNG.standard_normal(3) + 1j * RNG.standard_normal(3)


@pytest.mark.parametrize(
    "zeros",
    [onp.array([1.0, 2, 3]), COMPLEX, onp.zeros(0), 3.0, onp.array([2]), RNG.normal(size=(3, 3))],
)
def test_poly(zeros):
    given = np.asarray(zeros)
    assert np.poly(given).dtype == onp.asarray(onp.poly(onp.atleast_1d(zeros))).dtype
    onp.testing.assert_allclose(np.poly(given), onp.poly(onp.atleast_1d(zeros)), atol=1e-12)
    onp.testing.assert_allclose(jit(np.poly)(given), onp.poly(onp.atleast_1d(zeros)), atol=1e-12)


@pytest.mark.parametrize(
    "p",
    [
        [1.0, -3, 2],
        [0, 0, 2, -6, 4, 0, 0],
        [0, 0],
        [5],
        [0, 0, 3],
        [1, 0, 1],
        COMPLEX,
        [2, 0, 0, 1, 0],
    ],
)
def test_roots(p):
    p = onp.asarray(p)
    wanted = onp.sort_complex(onp.roots(p))
    found = onp.sort_complex(onp.asarray(np.roots(np.asarray(p))))
    assert found.shape == wanted.shape
    onp.testing.assert_allclose(found, wanted, atol=1e-10)
    # traced: as many as the length says, those that aren't there at the end
    every = onp.asarray(jit(lambda p: np.roots(p, strip_zeros=False))(np.asarray(p)))
    assert every.shape == (max(p.size - 1, 0),)
    kept = every[~onp.isnan(every)]
    onp.testing.assert_allclose(onp.sort_complex(kept), wanted, atol=1e-10)
    assert onp.isnan(every[kept.size :]).all()


X, Y, W = RNG.normal(size=7), RNG.normal(size=(7, 2)), RNG.uniform(0.5, 2, size=7)


@pytest.mark.parametrize("y", [Y, Y[:, 0], Y[:, 0] + 1j * Y[:, 1]])
@pytest.mark.parametrize(
    "options",
    [{}, {"w": W}, {"full": True}, {"cov": True}, {"cov": "unscaled", "w": W}, {"rcond": 0.3}],
)
def test_polyfit(y, options):
    if "cov" in options and onp.iscomplexobj(y):
        options = options | {"cov": "unscaled"}
    wanted = onp.polyfit(X, y, 2, **options)
    given = {k: np.asarray(v) if k == "w" else v for k, v in options.items()}
    compiled = jit(lambda x, y: np.polyfit(x, y, 2, **given))(np.asarray(X), np.asarray(y))
    for got in (np.polyfit(np.asarray(X), np.asarray(y), 2, **given), compiled):
        pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
        for a, b in pairs:
            onp.testing.assert_allclose(a, b, atol=1e-10)
        if "full" in options:
            onp.testing.assert_allclose(got[4], wanted[4], rtol=1e-12)
