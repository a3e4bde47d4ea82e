"""Functions applied along axes, and vectorize."""

import numpy as onp
from agreement import assert_close
from tests.numpy.test_calculus import RNG, P, X

import weft
import weft.numpy as np


def test_functions_along_axes():
    x = RNG.standard_normal((2, 3, 4)).astype(onp.float32)
    for axis in (0, 1, -1):
        for f in (lambda v: v.sum(), lambda v: v[:2] * 2, lambda v: v[None] + v[:, None]):
            assert_close(np.apply_along_axis(f, axis, x), onp.apply_along_axis(f, axis, x))
    assert_close(np.apply_over_axes(np.sum, x, [0, 2]), onp.apply_over_axes(onp.sum, x, [0, 2]))


def test_vectorize():
    add = np.vectorize(lambda x, y: x + y)
    assert_close(add(X, X[0]), X + X[0])
    assert_close(add(X[:, :1], X[:1]), X[:, :1] + X[:1])
    assert_close(add(X, 1.0), X + 1)
    inner = np.vectorize(np.dot, signature="(n),(n)->()")
    assert_close(inner(X, X[0]), X @ X[0])
    assert_close(inner(X[:, None], X[None]), X @ X.T)
    parts = np.vectorize(lambda v: (v.sum(), v * 2), signature="(n)->(),(n)")
    total, twice = parts(X)
    assert_close(total, X.sum(1))
    assert_close(twice, 2 * X)
    outer = np.vectorize(np.outer, signature="(n),(m)->(n,m)")
    assert outer(X, P).shape == (4, 5, 4)
    fixed = np.vectorize(lambda x, n: x * n, excluded={1})
    assert_close(fixed(X, 3), X * 3)
    assert_close(weft.jit(inner)(X, X[0]), X @ X[0])
