"""Averages, covariances, histograms, counts and interpolation against NumPy."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient
from tests.numpy.test_sorting import COMPLEX, INTS, X

import weft
import weft.numpy as np
from weft.errors import ConcretizationTypeError


def test_averages_and_covariances():
    agree("average", X, weights=INTS + 1)
    agree("average", X, axis=1, weights=onp.arange(1.0, 8.0), returned=True)
    weights = {"fweights": onp.arange(1, 8), "aweights": onp.arange(1.0, 8.0)}
    for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, weights, {"y": X[0]}):
        agree("cov", X, **options)
    agree("corrcoef", X)
    agree("corrcoef", COMPLEX, tolerance=1e-4)
    assert_gradient(np.cov, X[:2, :4])


def test_histograms():
    for options in ({}, {"bins": 4}, {"bins": onp.array([-1.0, 0.0, 0.5, 2.0])}, {"range": (-1, 1)},
                    {"weights": abs(X)}, {"density": True}):  # fmt: skip
        ours = np.histogram(X, **options)
        for a, b in zip(ours, onp.histogram(X, **options), strict=True):
            assert_close(a, b.astype(onp.float32), 1e-4)
    agree("histogram_bin_edges", X, 5)
    agree("histogram2d", X[0], X[1], compiled=False, bins=3, tolerance=1e-4, kinds="iff")
    counts, edges = np.histogramdd(X.T, bins=(2, 3, 2))
    wanted, others = onp.histogramdd(X.T, bins=(2, 3, 2))
    assert_close(counts, wanted.astype(onp.int32))
    for a, b in zip(edges, others, strict=True):
        assert_close(a, b.astype(onp.float32))
    weights = onp.arange(X.shape[1])
    weighted, _ = np.histogramdd(X.T, bins=(2, 3, 2), weights=weights)
    assert_close(
        weighted, onp.histogramdd(X.T, bins=(2, 3, 2), weights=weights)[0].astype(onp.float32)
    )
    assert_close(weft.jit(np.histogram)(X)[0], onp.histogram(X)[0].astype(onp.float32))


def test_counts():
    x = onp.array([1, 2, 2, 5], onp.int32)
    agree("bincount", x, compiled=False)
    agree("bincount", x, compiled=False, minlength=9, weights=onp.array([0.5, 1, 2, 3]))
    assert weft.jit(lambda x: np.bincount(x, length=4))(x).tolist() == [0, 1, 2, 0]
    with pytest.raises(ConcretizationTypeError, match="length"):
        weft.jit(np.bincount)(x)
    for bins in (onp.array([-1.0, 0, 1]), onp.array([1.0, 0, -1])):
        for right in (False, True):
            agree("digitize", X, bins, right=right)


def test_interp():
    xp, fp = onp.array([0.0, 1.0, 2.5, 4.0]), onp.array([1.0, 3.0, 2.0, 5.0])
    x = onp.array([-1.0, 0.0, 0.3, 2.5, 3.9, 4.0, 7.0])
    agree("interp", x, xp, fp)
    agree("interp", x, xp, fp, left=-9.0, right=9.0)
    agree("interp", x, xp, fp, period=3.0)
    assert_close(np.interp(5.0, xp, fp, right="extrapolate"), onp.float32(7))
    assert_gradient(lambda x, fp: np.interp(x, xp, fp), x[[0, 2, 4]], fp)
