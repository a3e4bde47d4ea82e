"""Products with a matrix for each group of rows: against a loop, derivatives, refusals."""

import numpy as np
import pytest

import weft
from weft import jit, lax, vmap

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 6, 3)).astype(np.float32)
Y = RNG.standard_normal((3, 2, 3, 4)).astype(np.float32)
SIZES = np.array([[2, 0, 3], [1, 4, 1]], np.int32)
FREE = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (1,))), (1,), (0,))
SUMMED = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), (1,), ())
BATCH = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0, 1), (0, 1))), (1,), ())


def rows(sizes):
    ends = np.cumsum(sizes)
    return list(zip(ends - sizes, ends, strict=True))


def free(x, y, sizes):
    out = np.zeros((*x.shape[:-1], y.shape[-1]), np.float32)
    for b in range(2):
        for g, (i, j) in enumerate(rows(sizes[b])):
            out[b, i:j] = x[b, i:j] @ y[g, b]
    return out


def test_ragged_dot():
    want = free(X, Y, SIZES)[0]
    for run in (lambda f: f, jit):
        got = run(lax.ragged_dot)(X[0], Y[:, 0], SIZES[0])
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    got = vmap(lax.ragged_dot, in_axes=(0, 1, 0))(X, Y, SIZES)
    np.testing.assert_allclose(got, free(X, Y, SIZES), rtol=1e-5, atol=1e-6)
    half = lax.ragged_dot(X[0], Y[:, 0], SIZES[0], preferred_element_type="float16")
    assert half.dtype == np.float16


def test_the_three_kinds_of_ragged_axes():
    got = lax.ragged_dot_general(X, Y, SIZES, FREE)
    np.testing.assert_allclose(got, free(X, Y, SIZES), rtol=1e-5, atol=1e-6)
    shared = lax.ragged_dot_general(X, Y, SIZES[0], FREE)
    np.testing.assert_allclose(shared, free(X, Y, SIZES[[0, 0]]), rtol=1e-5, atol=1e-6)
    got = lax.ragged_dot_general(X, X, SIZES, SUMMED)
    want = [[X[b, i:j].T @ X[b, i:j] for b, (i, j) in enumerate(pair)]
            for pair in zip(*map(rows, SIZES), strict=True)]  # fmt: skip
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    got = lax.ragged_dot_general(X, X, SIZES, BATCH)
    want = (X * X).sum(-1)
    want[0, 5:] = 0
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_batch_axes_in_any_order():
    x = RNG.standard_normal((2, 3, 4, 1)).astype(np.float32)
    y = RNG.standard_normal((2, 3, 2, 1, 5)).astype(np.float32)
    sizes = np.array([[[4, 0], [1, 3]], [[2, 2], [0, 4]], [[3, 1], [0, 0]]], np.int32)
    dims = (((3,), (3,)), ((1, 0), (1, 0)))
    numbers = lax.RaggedDotDimensionNumbers(dims, (2,), (2,))
    got = lax.ragged_dot_general(x, y, sizes, numbers)
    want = np.zeros((3, 2, 4, 5), np.float32)
    for j, i in np.ndindex(3, 2):
        for g, (first, last) in enumerate(rows(sizes[j, i])):
            want[j, i, first:last] = x[i, j, first:last] @ y[i, j, g]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_derivatives():
    x, y, sizes = X[0], Y[:, 0], SIZES[0]
    ct = RNG.standard_normal((6, 4)).astype(np.float32)
    bx, by = weft.vjp(lambda x, y: lax.ragged_dot(x, y, sizes), x, y)[1](ct)
    for g, (i, j) in enumerate(rows(sizes)):
        np.testing.assert_allclose(bx[i:j], ct[i:j] @ y[g].T, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(by[g], x[i:j].T @ ct[i:j], rtol=1e-5, atol=1e-6)
    assert not np.any(bx[5:])
    pushed = weft.jvp(lambda x: lax.ragged_dot(x, y, sizes), (x,), (bx,))[1]
    np.testing.assert_allclose(pushed, lax.ragged_dot(bx, y, sizes), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: lax.ragged_dot(X, Y[:, 0], SIZES[0]), TypeError, "lhs"),
        (lambda: lax.ragged_dot(X[0], Y[:2, 0], SIZES[0]), TypeError, "groups"),
        (lambda: lax.ragged_dot(X[0], Y[:, 0], np.ones(3)), TypeError, "group_sizes"),
        (lambda: lax.ragged_dot(X[0], Y[:, 0], SIZES[0], group_offset=0), ValueError, "offset"),
        (lambda: lax.ragged_dot_general(X, Y, SIZES[:, :, None], FREE), TypeError, "group_sizes"),
        (lambda: lax.ragged_dot_general(X, Y, SIZES, FREE._replace(lhs_ragged_dimensions=(5,))),
         ValueError, "ragged"),
        (lambda: lax.ragged_dot_general(X, Y, SIZES, FREE._replace(rhs_group_dimensions=())),
         ValueError, "groups"),
    ],
)  # fmt: skip
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
