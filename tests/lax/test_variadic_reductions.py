"""Derivatives of reductions by any program, against the same written out in NumPy or by hand."""

import functools

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax

X = np.linspace(-1.3, 1.9, 42, dtype="f").reshape(2, 7, 3)

# associative programs (of scalars) with their identities, that aren't recognised as monoids
LOGADDEXP = (lambda x, y: wnp.log(wnp.exp(x) + wnp.exp(y)), -np.inf)
SCALED_SUM = (lambda x, y: x + y * 1.0, 0.0)
PROBABLE = (lambda x, y: x + y - x * y, 0.0)  # of one event or the other
LARGEST = (lambda x, y: wnp.where(x > y, x, y), -np.inf)
PROGRAMS = {"logaddexp": LOGADDEXP, "sum": SCALED_SUM, "either": PROBABLE, "largest": LARGEST}


def folded(program, init, x, axes):
    """The same, an element at a time."""
    moved = np.moveaxis(np.asarray(x, np.float64), axes, range(len(axes)))
    rows = moved.reshape(-1, *moved.shape[len(axes) :])
    total = np.full(rows.shape[1:], init)
    with np.errstate(divide="ignore"):
        for row in rows:
            total = NUMPY[program](total, row)
    return total


NUMPY = {
    "logaddexp": np.logaddexp, "sum": np.add, "either": lambda x, y: x + y - x * y,
    "largest": np.maximum,
}  # fmt: skip


def slope(f, x, step=1e-6):
    """By finite differences of a function in float64."""
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[i] = step
        found[i] = (f(x + moved) - f(x - moved)) / (2 * step)
    return found


@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2), (2, 1)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_of_reduce(name, axes):
    program, init = PROGRAMS[name]
    f = lambda x: lax.reduce(x, np.float32(init), program, axes)  # noqa: E731
    np.testing.assert_allclose(f(X), folded(name, init, X, axes), rtol=2e-5)
    weights = np.linspace(0.5, 1.5, f(X).size, dtype="f").reshape(f(X).shape)
    expected = slope(lambda x: np.sum(folded(name, init, x, axes) * weights), X.astype(float))
    for t in (lambda g: g, weft.jit):
        got = t(weft.grad(lambda x: wnp.sum(f(x) * weights)))(X)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def test_gradient_of_reduce_in_the_initial_value():
    f = lambda x, init: lax.reduce(x, init, PROBABLE[0], (0,))  # noqa: E731
    x = np.float32([0.1, 0.2, 0.3])
    rest = 0.9 * 0.8 * 0.7  # 1 - (1 - init) · rest
    np.testing.assert_allclose(weft.grad(f, 1)(x, 0.4), rest, rtol=1e-5)
    np.testing.assert_allclose(weft.jvp(f, (x, 0.4), (np.zeros(3, "f"), 1.0))[1], rest, rtol=1e-5)
    assert f(np.zeros(0, "f"), 0.4) == np.float32(0.4)
    assert weft.grad(f, 1)(np.zeros(0, "f"), 0.4) == 1.0


def test_second_derivative_and_batches():
    f = lambda x: lax.reduce(x, np.float32(-np.inf), LOGADDEXP[0], (0,))  # noqa: E731
    x = np.float32([0.3, -0.2, 0.9, 0.1, -1.0])
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(weft.grad(f)(x), p, rtol=1e-4)
    np.testing.assert_allclose(weft.hessian(f)(x), np.diag(p) - np.outer(p, p), atol=1e-5)
    rows = np.stack([x, 2 * x])
    np.testing.assert_allclose(weft.vmap(weft.grad(f))(rows)[0], p, rtol=1e-4)


def test_derivatives_go_with_the_element_that_is_chosen():
    """Values with their places: the places are integers."""

    def larger(a, b):
        first = a[0] >= b[0]
        return wnp.where(first, a[0], b[0]), wnp.where(first, a[1], b[1])

    def best(x):
        places = wnp.arange(x.size, dtype="int32")
        return lax.reduce((x, places), (np.float32(-np.inf), np.int32(-1)), larger, (0,))

    x = np.float32([3, 7, 5])
    assert [int(v) for v in best(x)] == [7, 1]
    np.testing.assert_array_equal(weft.grad(lambda x: best(x)[0])(x), [0, 1, 0])


def test_initial_values_may_be_mapped():
    f = lambda init, x: lax.reduce(x, init, PROBABLE[0], (1,))  # noqa: E731
    inits, x = np.float32([0.0, 0.5]), np.float32([[0.1, 0.2], [0.3, 0.4]])
    expected = np.stack([f(i, x) for i in inits])
    np.testing.assert_allclose(weft.vmap(f, (0, None))(inits, x), expected, rtol=1e-6)
    g = lambda init, x: lax.reduce_window(x, init, PROBABLE[0], (2,), (1,), "SAME")  # noqa: E731
    inits = np.zeros(2, "f")  # padded with them, windows see them more than once
    expected = np.stack([g(i, row) for i, row in zip(inits, x, strict=True)])
    np.testing.assert_allclose(weft.vmap(g)(inits, x), expected, rtol=1e-6)


WINDOWS = [
    {"window_dimensions": (3,)},
    {"window_dimensions": (2,), "window_strides": (2,), "padding": "SAME"},
    {"window_dimensions": (11,), "padding": [(5, 4)]},
    {"window_dimensions": (2,), "window_dilation": (3,), "base_dilation": (2,)},
]


@pytest.mark.parametrize("options", WINDOWS, ids=range(len(WINDOWS)))
@pytest.mark.parametrize("name", ["sum", "either", "largest"])
def test_gradient_of_reduce_window(name, options):
    program, init = PROGRAMS[name]
    x = np.linspace(-0.9, 0.8, 13, dtype="f")[np.random.default_rng(0).permutation(13)]
    f = functools.partial(lax.reduce_window, init_value=np.float32(init), **options)
    weights = np.linspace(0.5, 1.5, f(x, computation=program).size, dtype="f")

    def loss(program, x):
        return wnp.sum(wnp.where(wnp.isfinite(y := f(x, computation=program)), y, 0) * weights)

    with weft.enable_x64():
        y = x.astype(np.float64)
        g = functools.partial(lax.reduce_window, init_value=np.float64(init), **options)
        plain = lambda x: np.nan_to_num(g(x, computation=program), neginf=0)  # noqa: E731
        expected = slope(lambda x: np.sum(plain(x) * weights), y, 1e-5)
    np.testing.assert_allclose(weft.grad(lambda x: loss(program, x))(x), expected, atol=1e-3)


def test_programs_with_loops_have_no_derivative():
    def program(x, y):
        return lax.cond(x > 0, lambda: x + y, lambda: y * 1.0)

    with pytest.raises(weft.errors.MissingRuleError, match="elementwise"):
        weft.grad(lambda x: lax.reduce(x, np.float32(0), program, (0,)))(np.float32([1, 2]))
