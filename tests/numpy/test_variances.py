"""Variances of large arrays, which the host computes in blocks, against float64."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.core.aval import aval
from weft.interpreters import eager_tiers
from weft.numpy.variances import LEAST, variance_kernel
from weft.primitives.processor import MOST

RNG = onp.random.default_rng(0)
CASES = [  # shape, axis
    ((250_001,), None),
    ((LEAST, 1), 0),
    ((60, 1000), None),
    ((60, 1000), (0, 1)),
    ((60, 1000), 1),
    ((301, 513), -1),
    ((7, 9999), 1),
    ((11, 13, 24, 25), (2, 3)),
    ((11, 13, 24, 25), (3, 2)),
]
OTHERS = [((60, 1000), 0), ((60, 1000), ()), ((200, 300), 1), ((5, 10_001), 1), ((4, 5), None)]


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(eager_tiers.machine, "accelerated", False)


def kernel_of(shape, axis, dtype="float32"):
    axes = tuple(range(len(shape))) if axis is None else onp.atleast_1d(axis) % len(shape)
    axes = tuple(int(i) for i in axes) if axis != () else ()
    return variance_kernel(aval(shape, onp.dtype(dtype)), axes, 0, False, False)


def near(got, expected, mean=0.0):
    """Compares; the error of a mean counts with its square."""
    got, eps = onp.asarray(got), onp.finfo(got.dtype).eps
    assert got.shape == expected.shape
    onp.testing.assert_allclose(got, expected, rtol=20 * eps, atol=(4 * eps * mean) ** 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_values(shape, axis, dtype):
    assert kernel_of(shape, axis, dtype) is not None
    x = RNG.standard_normal(shape).astype(dtype)
    wide = x.astype("float64")
    with weft.enable_x64():
        a = np.array(x)
        for ddof in (0, 1, 2.5):
            for keepdims in (False, True):
                options = {"axis": axis, "ddof": ddof, "keepdims": keepdims}
                for _ in range(3):  # the third call has a plan
                    variance, deviation = np.var(a, **options), np.std(a, **options)
                assert variance.dtype == deviation.dtype == dtype
                near(variance, onp.var(wide, **options))
                near(deviation, onp.std(wide, **options))
        onp.testing.assert_array_equal(a, x)


@pytest.mark.parametrize(("shape", "axis"), OTHERS)
def test_what_has_no_such_kernel(shape, axis):
    assert kernel_of(shape, axis) is None
    x = RNG.standard_normal(shape).astype("float32")
    for _ in range(3):
        near(np.var(np.array(x), axis), onp.var(x.astype("float64"), axis))


def test_dtypes_and_sizes_without_a_kernel():
    assert kernel_of((1000, 1000), 1, "float16") is None
    assert kernel_of((1000, 1000), 1, "complex64") is None
    assert kernel_of((1000, 1000), 1, "int32") is None
    assert kernel_of((MOST + 1,), None) is None
    assert kernel_of((LEAST - 1,), None) is None


@pytest.mark.parametrize("axis", [None, 1])
def test_no_digits_are_lost_to_a_large_mean(axis):
    x = RNG.standard_normal((70, 1000)) + onp.linspace(-1e4, 1e4, 70)[:, None]
    x = x.astype("float32")
    expected = onp.var(x.astype("float64"), axis)
    for _ in range(3):
        near(np.var(np.array(x), axis), expected, mean=1e4)


@pytest.mark.parametrize("axis", [None, 1])
def test_infinite_numbers_and_no_numbers_at_all(axis):
    x = RNG.standard_normal((60, 1000)).astype("float32")
    x[3, 5], x[4, 6] = onp.inf, onp.nan
    with onp.errstate(invalid="ignore"):
        expected = onp.var(x.astype("float64"), axis)
    for _ in range(3):
        near(np.var(np.array(x), axis), expected)
    count = 60_000 if axis is None else 1000
    one = onp.ones((60, 1000), "float32")
    for _ in range(3):
        assert onp.isnan(np.var(np.array(one), axis, ddof=count)).all()
        assert onp.isinf(np.var(np.array(one).at[:, 0].set(2), axis, ddof=count)).all()


def test_views_in_any_order():
    x = RNG.standard_normal((1000, 120)).astype("float32")
    a = np.array(x)
    for view, expected in (
        (a.T, x.T),
        (a[::-1, ::2].T, x[::-1, ::2].T),
        (a[:, :60].T, x[:, :60].T),
    ):
        for axis in (None, 1):
            for _ in range(3):
                near(np.var(view, axis), onp.var(expected.astype("float64"), axis))


def test_results_are_not_written_to_later():
    x, y = (np.array(RNG.standard_normal((60, 1000)).astype("float32") * n) for n in (1, 5))
    for axis in (None, 1):
        held = [np.var(x, axis) for _ in range(3)]
        copies = [onp.array(v) for v in held]
        for _ in range(3):
            np.var(y, axis)
        onp.testing.assert_array_equal(held, copies)


def test_a_derivative_is_that_of_the_operations():
    x = RNG.standard_normal((60, 1000)).astype("float32")
    gradient = weft.grad(lambda x: np.sum(np.var(x, axis=1)))
    for _ in range(3):
        onp.testing.assert_allclose(
            gradient(np.array(x)), 2 * (x - x.mean(1, keepdims=True)) / 1000, atol=1e-7
        )
