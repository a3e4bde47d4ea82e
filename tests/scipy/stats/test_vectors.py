"""Distributions of vectors against SciPy."""

import numpy as onp
import pytest
import scipy.stats as scipy_stats

import weft
from weft.scipy import stats
from weft.test_util import check_grads

RNG = onp.random.default_rng(3)
ROOT = RNG.normal(size=(3, 3))
COV, MEAN, X = ROOT @ ROOT.T + onp.eye(3), RNG.normal(size=3), RNG.normal(size=(5, 3))


@pytest.fixture(autouse=True)
def x64():
    with weft.enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        (X, MEAN, COV),
        (X[0], MEAN, COV),
        (X[0], None, COV),
        (X, MEAN, 2.0),
        (X, MEAN, onp.array([1.0, 2.0, 3.0])),
        (X[:0], MEAN, COV),
        (X[:, 0], 0.5, 2.0),
    ],
)
def test_normal(x, mean, cov):
    peer = scipy_stats.multivariate_normal
    for f in ("logpdf", "pdf"):
        got = getattr(stats.multivariate_normal, f)(x, mean, cov)
        expected = getattr(peer, f)(x, mean, cov) if len(x) else onp.zeros(0)
        onp.testing.assert_allclose(got, expected, rtol=1e-11)


def test_normal_with_many_matrices_one_that_is_not_positive_and_a_singular_one():
    logpdf, peer = stats.multivariate_normal.logpdf, scipy_stats.multivariate_normal.logpdf
    got = logpdf(X[:, None], MEAN, onp.stack([COV, 2 * COV]))
    expected = onp.stack([peer(X, MEAN, c) for c in (COV, 2 * COV)], 1)
    onp.testing.assert_allclose(got, expected, rtol=1e-11)
    assert onp.isnan(logpdf(X[0], MEAN, -COV))
    flat = COV.copy()
    flat[2], flat[:, 2], flat[2, 2] = flat[0], flat[:, 0], flat[0, 0]
    x = X.copy()
    x[:2, 2] = x[:2, 0] - MEAN[0] + MEAN[2]  # the others are off the plane
    got = logpdf(x, MEAN, flat, allow_singular=True)
    onp.testing.assert_allclose(got, peer(x, MEAN, flat, allow_singular=True), rtol=1e-9)
    assert onp.isneginf(onp.asarray(got)[2:]).all()
    assert onp.isnan(logpdf(X[0], MEAN, -COV, allow_singular=True))


def test_dirichlet():
    alpha = onp.array([1.0, 2.0, 0.5])
    x = RNG.dirichlet(alpha, 5).T
    for f in ("logpdf", "pdf"):
        expected = getattr(scipy_stats.dirichlet, f)(x, alpha)
        for rows in (x, x[:-1]):
            got = getattr(stats.dirichlet, f)(rows, alpha)
            onp.testing.assert_allclose(got, expected, rtol=1e-11)
    assert onp.isneginf(stats.dirichlet.logpdf(2 * x[:, 0], alpha))
    assert stats.dirichlet.pdf(onp.array([-0.5, 1.0, 0.5]), alpha) == 0
    assert onp.isnan(stats.dirichlet.logpdf(x[:, 0], -alpha))


def test_multinomial():
    p = onp.array([0.2, 0.3, 0.5, 0.0])
    x = onp.concatenate([RNG.multinomial(5, p, 4), [[5, 0, 0, 0], [4, 0, 0, 1], [1, 1, 1, 0]]])
    for f in ("logpmf", "pmf"):
        expected = getattr(scipy_stats.multinomial, f)(x, 5, p)
        onp.testing.assert_allclose(getattr(stats.multinomial, f)(x, 5, p), expected, rtol=1e-11)
    assert stats.multinomial.pmf(onp.array([0.5, 4.5, 0, 0]), 5, p) == 0
    assert onp.isnan(stats.multinomial.pmf(x[0], 5, 2 * p))


def test_derivatives():
    check_grads(
        lambda x, m, c: stats.multivariate_normal.logpdf(x, m, c + c.T),
        (X[:2], MEAN, COV),
        order=1,
        rtol=1e-4,
        atol=1e-4,
    )
    x, alpha = onp.array([0.2, 0.3]), onp.array([1.0, 2.0, 2.5])
    check_grads(stats.dirichlet.logpdf, (x, alpha), order=1, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.multivariate_normal.logpdf(X, MEAN[:2], COV), "expected x"),
        (lambda: stats.multivariate_normal.pdf(X, MEAN, COV, allow_singular=3), "allow_singular"),
        (lambda: stats.dirichlet.pdf(X[0], onp.ones(5)), "alpha: float64"),
        (lambda: stats.dirichlet.pdf(X[0] * 1j, onp.ones(3)), "x must be real"),
        (lambda: stats.multinomial.pmf(X, 3, onp.ones(2)), "categories"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
