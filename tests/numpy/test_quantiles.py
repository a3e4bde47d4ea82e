"""Quantiles against NumPy: methods, weights, NaNs, dtypes."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient
from tests.numpy.test_sorting import HOLES, INTS, METHODS, QUANTILES, WEIGHTED, WEIGHTS, X

import weft
import weft.numpy as np


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_quantiles(method, axis):
    q = onp.array([0.0, 0.21, 0.77, 1.0], onp.float32)
    agree("quantile", X, q, axis=axis, method=method)
    agree("percentile", INTS, 33.0, axis=axis, method=method, keepdims=True, kinds="f")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", WEIGHTED)
@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_with_weights(name, case):
    axis, weights = WEIGHTED[case]
    options = {"axis": axis, "method": "inverted_cdf"}
    q = onp.array([0.0, 0.25, 0.6, 1.0]) * (100 if "percentile" in name else 1)
    x = (HOLES if "nan" in name else X).copy()
    x[:1] = x[:1].round()  # some are equal
    over = (axis,) if isinstance(axis, int) else axis or (0, 1)
    # NumPy's functions without NaNs take weights of the shape of the array only
    whole = weights if weights.shape == x.shape else weights.T if len(over) > 1 else (
        onp.broadcast_to(onp.expand_dims(weights, 1 - over[0] % 2), x.shape)
    )  # fmt: skip
    by_numpy = lambda x, q, **given: getattr(onp, name)(x, q, **{**given, "weights": whole})  # noqa: E731
    agree(name, x, q, weights=weights, **options, oracle=by_numpy)
    quantiles = lambda x, w: getattr(np, name)(x, q, weights=w, **options)  # noqa: E731
    expected = onp.asarray(quantiles(x, weights))
    assert_close(weft.jit(quantiles)(x, weights), expected)
    both = weft.vmap(quantiles)(onp.stack([x, x[:, ::-1]]), onp.stack([weights, weights]))
    assert_close(both[0], expected)
    assert_close(both[1], quantiles(x[:, ::-1], weights))
    if "nan" not in name:
        assert_gradient(lambda x: quantiles(x, weights), X)


@pytest.mark.parametrize("name", QUANTILES)
def test_weights_that_numpy_refuses(name):
    for weights, axis, kind, says in (
        (-WEIGHTS, None, ValueError, "finite and not negative"),
        (WEIGHTS * onp.nan, 1, ValueError, "finite and not negative"),
        (WEIGHTS + onp.inf, 1, ValueError, "finite and not negative"),
        (WEIGHTS * 0, 0, ValueError, "not all 0"),
        (WEIGHTS[0], None, TypeError, "of the shape of `a`"),
        (WEIGHTS[0], 0, ValueError, "of the shape of `a`"),
        (WEIGHTS * 1j, 0, TypeError, "real numbers"),
    ):

        def compute(m, w, axis=axis):
            return getattr(m, name)(X, 0.5, axis, method="inverted_cdf", weights=w)

        with pytest.raises(kind, match=says):
            compute(np, weights)
        if weights.dtype != complex:
            with pytest.raises((ValueError, TypeError)), onp.errstate(all="ignore"):
                compute(onp, weights)
        if "finite" in says:
            assert onp.isnan(weft.jit(lambda w: compute(np, w))(weights)).all()
    with pytest.raises(ValueError, match="need the method 'inverted_cdf'"):
        getattr(np, name)(X, 0.5, weights=WEIGHTS)
    # what has no element that isn't NaN has no weights either
    rows = onp.array([[onp.nan, onp.nan], [1.0, onp.nan]], onp.float32)
    found = getattr(np, name)(rows, 0.5, 1, method="inverted_cdf", weights=onp.ones((2, 2)))
    assert onp.isnan(found).tolist() == [True, "nan" not in name]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_and_nans():
    agree("median", X, axis=1)
    agree("median", INTS)
    agree("median", HOLES, axis=0)
    x = HOLES.copy()
    x[1] = onp.nan
    agree("nanmedian", x, axis=1)
    agree("nanquantile", x, onp.array([0.3, 0.6]), axis=1)
    agree("nanpercentile", x, 40.0)
    agree("nanquantile", x, onp.array([0.3, 0.6]), axis=1, method="inverted_cdf")
    assert_gradient(lambda v: np.quantile(v, 0.3, axis=1), X)
    with pytest.raises(ValueError, match="method must be one of"):
        np.quantile(X, 0.5, method="weibull")


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "name",
    ["median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"],
)
def test_quantiles_of_64_bits(name, traced):
    x = HOLES.astype("float64")
    args = () if "median" in name else (onp.array([0.3, 0.6]),)
    with weft.enable_x64():
        f = lambda x: getattr(np, name)(x, *args, axis=1)  # noqa: E731
        got = (weft.jit(f) if traced else f)(x)
        assert got.dtype == "float64"
        onp.testing.assert_allclose(got, getattr(onp, name)(x, *args, axis=1), rtol=1e-12)
