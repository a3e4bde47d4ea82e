"""select_and_scatter and its kind: against a loop, as derivatives of pooling, batches, refusals."""

import operator

import numpy as np
import pytest

import weft
from weft import jit, lax, vmap

RNG = np.random.default_rng(0)
WINDOW, STRIDES, PADDING = (3, 2), (2, 1), ((1, 1), (0, 1))
SHAPE = (3, 6)


def loop(x, select, source, init, scatter):
    out = np.full(x.shape, init, x.dtype)
    for place in np.ndindex(*source.shape):
        best = None
        for tap in np.ndindex(*WINDOW):
            at = tuple(
                p * s + t - before
                for p, s, t, (before, _) in zip(place, STRIDES, tap, PADDING, strict=True)
            )
            if not all(0 <= a < n for a, n in zip(at, x.shape, strict=True)):
                continue
            if best is None or not select(x[best], x[at]):
                best = at
        if best is not None:
            out[best] = scatter(out[best], source[place])
    return out


def larger_square(a, b):
    return a * a >= b * b


SELECTS = [(lax.ge, operator.ge), (lax.le, operator.le), (lax.gt, operator.gt),
           (larger_square, larger_square), (lambda a, b: b >= a,) * 2]  # fmt: skip
SCATTERS = [(lax.add, operator.add), (lax.max, max), (lambda a, b: 2 * a - b,) * 2]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_agrees_with_a_loop(dtype):
    x = RNG.integers(-4, 5, (5, 6)).astype(dtype)  # with ties
    source = RNG.integers(-4, 5, SHAPE).astype(dtype)

    def all_of(x, source):
        return [
            lax.select_and_scatter(x, select, WINDOW, STRIDES, PADDING, source, 1, scatter)
            for select, _ in SELECTS
            for scatter, _ in SCATTERS
        ]

    want = [loop(x, select, source, 1, scatter) for _, select in SELECTS for _, scatter in SCATTERS]
    for got in (jit(all_of)(x, source), all_of(x, source)[:2]):
        for a, b in zip(got, want, strict=False):
            np.testing.assert_array_equal(a, b)


def test_gathering_is_the_transpose_of_scattering():
    x, source = (RNG.standard_normal(s).astype(np.float32) for s in ((5, 6), SHAPE))
    t = RNG.standard_normal(x.shape).astype(np.float32)
    for select in (lax.ge, lax.gt):

        def scatter(source, select=select):
            return lax.select_and_scatter_add(source, x, select, WINDOW, STRIDES, PADDING)

        gathered = lax.select_and_gather_add(t, x, select, WINDOW, STRIDES, PADDING)
        assert np.vdot(scatter(source), t) == pytest.approx(np.vdot(source, gathered), rel=1e-5)
        np.testing.assert_allclose(weft.vjp(scatter, source)[1](t)[0], gathered)
        np.testing.assert_allclose(weft.jvp(scatter, (source,), (source,))[1], scatter(source))


def test_they_are_the_derivatives_of_pooling():
    x, t = RNG.standard_normal((2, 5, 6)).astype(np.float32)

    def pool(x):
        return lax.reduce_window(x, -np.inf, lax.max, WINDOW, STRIDES, PADDING)

    out, pushed = weft.jvp(pool, (x,), (t,))
    gathered = lax.select_and_gather_add(t, x, lax.ge, WINDOW, STRIDES, PADDING)
    np.testing.assert_allclose(gathered, pushed)
    back = weft.vjp(pool, x)[1](out)[0]
    added = lax.select_and_scatter_add(out, x, lax.ge, WINDOW, STRIDES, PADDING)
    np.testing.assert_allclose(added, back, rtol=1e-6)


def test_batches_dilation_and_empty_arrays():
    x = RNG.standard_normal((2, 5, 6)).astype(np.float32)
    source = RNG.standard_normal((2, *SHAPE)).astype(np.float32)

    def f(x, source):
        return lax.select_and_scatter(x, lax.gt, WINDOW, STRIDES, PADDING, source, 0.0, lax.add)

    got = vmap(f)(x, source)
    np.testing.assert_allclose(got[1], f(x[1], source[1]), rtol=1e-6)
    line = np.float32([1, 5, 2, 4])
    assert lax.select_and_gather_add(
        line, line, lax.ge, (2,), (1,), "VALID", None, (2,)
    ).tolist() == [2, 5]
    spread = lax.select_and_gather_add(line, line, lax.gt, (2,), (2,), [(0, 0)], (2,))
    assert spread.tolist() == [1, 5, 2]
    none = np.zeros((0,), np.float32)
    assert lax.select_and_scatter_add(none, line, lax.ge, (5,), (1,), "VALID").tolist() == [0] * 4


def test_any_scatter_is_differentiated():
    x, source = np.float32([1, 3, 2, 5]), np.float32([2.0, 3.0])

    def f(source):
        out = lax.select_and_scatter(
            x, lax.ge, (2,), (2,), "VALID", source, 1.0, lambda a, b: a * b * b
        )
        return (out * out).sum()

    np.testing.assert_allclose(weft.grad(f)(source), 4 * source**3, rtol=1e-5)


X, SOURCE = np.ones((5, 6), np.float32), np.ones(SHAPE, np.float32)


@pytest.mark.parametrize(
    ("changes", "error", "part"),
    [
        ({1: lax.add}, TypeError, "select must return a bool"),
        ({2: (3,)}, ValueError, "window_dimensions"),
        ({3: (0, 1)}, ValueError, "strides"),
        ({5: SOURCE[1:]}, TypeError, "source"),
        ({5: SOURCE.astype(int)}, TypeError, "source"),
        ({6: np.ones(2, np.float32)}, TypeError, "init_value"),
        ({7: lax.ge}, TypeError, "scatter must return"),
    ],
)
def test_refusals(changes, error, part):
    args = [X, lax.ge, WINDOW, STRIDES, PADDING, SOURCE, 0.0, lax.add]
    for i, value in changes.items():
        args[i] = value
    with pytest.raises(error, match=part):
        lax.select_and_scatter(*args)


def test_tangents_are_like_the_operand():
    with pytest.raises(TypeError, match="tangents"):
        lax.select_and_gather_add(SOURCE, X, lax.ge, WINDOW, STRIDES, PADDING)
