"""Ranks, modes, standard errors and estimated densities against SciPy."""

import numpy as onp
import pytest
import scipy.stats as scipy_stats

import weft
import weft.numpy as np
from weft.scipy import stats

RNG = onp.random.default_rng(4)
WITH_NAN = onp.round(RNG.normal(size=(3, 7)), 1)
WITH_NAN[1, 2], WITH_NAN[0, 3] = onp.nan, WITH_NAN[0, 1]
ARRAYS = {"floats": WITH_NAN, "ints": RNG.integers(0, 4, (4, 6)), "bools": onp.eye(3, dtype=bool)}
AXES = (None, 0, -1)
POLICIES = ("propagate", "omit")


@pytest.fixture(autouse=True)
def x64():
    with weft.enable_x64(True):
        yield


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["floats", "ints"])
def test_ranks(kind, policy):
    x = ARRAYS[kind]
    for axis in AXES:
        for method in ("average", "min", "max", "dense", "ordinal"):
            got = onp.asarray(stats.rankdata(x, method, axis=axis, nan_policy=policy))
            expected = scipy_stats.rankdata(x, method, axis=axis, nan_policy=policy)
            onp.testing.assert_array_equal(got, onp.reshape(expected, got.shape), method)
            whole = kind == "ints" and method != "average"
            assert got.dtype == (onp.int64 if whole else onp.float64)


def test_ranks_of_nothing_and_within_jit():
    assert stats.rankdata(onp.zeros(0)).shape == (0,)
    assert stats.rankdata(onp.zeros((2, 0)), axis=1).shape == (2, 0)
    ranks = weft.jit(weft.vmap(stats.rankdata))(ARRAYS["ints"])
    onp.testing.assert_array_equal(ranks, scipy_stats.rankdata(ARRAYS["ints"], axis=1))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["floats", "ints"])
def test_modes_and_standard_errors(kind, policy):
    x = ARRAYS[kind]
    for axis in AXES:
        for keepdims in (False, True):
            options = {"axis": axis, "nan_policy": policy, "keepdims": keepdims}
            for got, expected in zip(
                stats.mode(x, **options), scipy_stats.mode(x, **options), strict=True
            ):
                onp.testing.assert_array_equal(got, expected)
            for ddof in (0, 1):
                got = stats.sem(x, ddof=ddof, **options)
                expected = scipy_stats.sem(x, ddof=ddof, **options)
                onp.testing.assert_allclose(got, expected, rtol=1e-12)
                assert got.shape == onp.shape(expected)


def test_modes_of_nothing():
    found = stats.mode(onp.zeros((0, 2)))
    assert onp.isnan(onp.asarray(found.mode)).all()
    assert found.count.tolist() == [0, 0]
    found = stats.mode(onp.full((2, 1), onp.nan), nan_policy="omit")
    assert onp.isnan(onp.asarray(found.mode)).all()
    assert found.count.tolist() == [0]
    with pytest.raises(ValueError, match="at least one element"):
        stats.mode(onp.zeros((0, 2), int))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: stats.rankdata(x, "middle"), "method must be one of"),
        (lambda x: stats.rankdata(x, nan_policy="raise"), "nan_policy 'raise'"),
        (lambda x: stats.mode(x, nan_policy="drop"), "nan_policy must be"),
        (lambda x: stats.sem(x, axis=5), "axis 5"),
        (lambda x: stats.mode(x * 1j), "a must be real"),
        (lambda x: stats.gaussian_kde(x[0, :1]), "two elements"),
        (lambda x: stats.gaussian_kde(x * 1j), "must be real"),
        (lambda x: stats.gaussian_kde(x, "wide"), "bw_method"),
        (lambda x: stats.gaussian_kde(x, weights=onp.ones(2)), r"weights must be of shape"),
        (lambda x: stats.gaussian_kde(x)(onp.ones((2, 5))), "points must be of shape"),
        (lambda x: stats.gaussian_kde(x).integrate_box_1d(0, 1), "one variable"),
        (lambda x: stats.gaussian_kde(x).integrate_gaussian(x[0], x), "expected mean"),
        (lambda x: stats.gaussian_kde(x).integrate_kde(x), "must be a gaussian_kde"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(ARRAYS["ints"])


# --- estimated densities ---


@pytest.mark.parametrize("d", [1, 2])
def test_estimated_densities(d):
    data, other, points = (RNG.normal(size=(d, n)) for n in (9, 6, 4))
    weights = RNG.uniform(size=9)
    cov = 0.5 * onp.eye(d)
    for bandwidth, w in ((None, None), ("silverman", weights), (0.3, weights), ("scott", None)):
        one = stats.gaussian_kde(data, bandwidth, w)
        two = scipy_stats.gaussian_kde(data, bandwidth, w)
        pairs = [
            (one(points), two(points)),
            (one.pdf(points), two.pdf(points)),
            (one.logpdf(points), two.logpdf(points)),
            (one.covariance, two.covariance),
            (one.inv_cov, two.inv_cov),
            (one.neff, two.neff),
            (one.integrate_gaussian(points[:, 0], cov), two.integrate_gaussian(points[:, 0], cov)),
            (
                one.integrate_kde(stats.gaussian_kde(other)),
                two.integrate_kde(scipy_stats.gaussian_kde(other)),
            ),
        ]
        if d == 1:
            pairs += [(one.integrate_box_1d(-0.5, 1.0), two.integrate_box_1d(-0.5, 1.0))]
        for got, expected in pairs:
            onp.testing.assert_allclose(got, expected, rtol=1e-10)
    by_function = stats.gaussian_kde(data, lambda kde: kde.neff * 0 + 0.3, weights)
    onp.testing.assert_allclose(
        by_function.covariance, stats.gaussian_kde(data, 0.3, weights).covariance
    )
    assert onp.exp(one.logpdf(onp.full((d, 1), 1e3))) == 0
    assert one.logpdf(onp.full((d, 1), 1e3)) > -onp.inf


def test_an_estimated_density_is_a_pytree_and_can_be_sampled():
    data = onp.array([[0.0, 1.0, 5.0, 2.0], [1.0, -1.0, 2.0, 0.5]])
    kde = stats.gaussian_kde(data, weights=onp.array([1.0, 2.0, 1.0, 3.0]))
    points = onp.ones((2, 3))
    inside = weft.jit(lambda k, x: k(x))(kde, points)
    onp.testing.assert_allclose(inside, kde(points), rtol=1e-12)
    slope = weft.grad(lambda x: kde.logpdf(x)[0])(points[:, :1])
    h = 1e-6 * onp.eye(2)[:, :1]
    up, down = (float(kde.logpdf(points[:, :1] + s * h)[0]) for s in (1, -1))
    onp.testing.assert_allclose(slope[0, 0], (up - down) / 2e-6, rtol=1e-6)
    samples = onp.asarray(kde.resample(weft.random.PRNGKey(0), (4000, 2)))
    assert samples.shape == (2, 4000, 2)
    flat = samples.reshape(2, -1)
    onp.testing.assert_allclose(flat.mean(1), data @ onp.asarray(kde.weights), atol=0.15)
    spread = onp.cov(data, aweights=kde.weights, bias=True) + onp.asarray(kde.covariance)
    onp.testing.assert_allclose(onp.cov(flat), spread, rtol=0.1, atol=0.1)
    assert kde.resample(weft.random.PRNGKey(0)).shape == (2,)
    assert np.shape(kde.dataset) == (2, 4)
