"""Running reductions: cost, derivatives at special places, errors."""

import numpy as np
import pytest

from weft import grad, jit, jvp, lax, vmap
from weft.config import eager_tier


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def test_long_axes_on_both_tiers():
    x = np.random.default_rng(0).standard_normal((20_000, 3)).astype(np.float32)
    for axis in (0, -1):
        expected = np.cumsum(x.astype(np.float64), axis)
        for run in (lambda f: f, jit):
            out = run(lambda x: lax.cumsum(x, axis))(x)  # noqa: B023
            np.testing.assert_allclose(out, expected, atol=5e-6 * np.abs(expected).max())


def test_wide_arrays_are_run_along_their_last_axis():
    x = np.random.default_rng(1).standard_normal((400, 600)).astype(np.float32)
    for reverse in (False, True):
        expected = np.maximum.accumulate(x[:, ::-1] if reverse else x, 1)
        expected = expected[:, ::-1] if reverse else expected
        out = jit(lambda x: lax.cummax(x, 1, reverse))(x)  # noqa: B023
        np.testing.assert_array_equal(out, expected)


def test_integers_wrap_alike_on_both_tiers():
    x = np.full(40, 100, np.int8)
    for tier in ("host", "xla"):
        with eager_tier(tier):
            out = lax.cumsum(x)
            assert out.dtype == np.int8
            assert out.tolist() == np.cumsum(x, dtype=np.int8).tolist()


def test_sixteen_bit_sums_are_rounded_once():
    x = np.full(1000, 0.1, np.float16)
    expected = np.cumsum(x.astype(np.float32)).astype(np.float16)
    for tier in ("host", "xla"):
        with eager_tier(tier):
            np.testing.assert_array_equal(lax.cumsum(x), expected)


def test_derivative_of_a_running_product_with_zeros():
    x = np.float32([2.0, 0.0, 3.0, 0.0, 5.0])

    def jacobian(x):
        return np.stack(
            [jvp(lambda x: lax.cumprod(x), (x,), (e,))[1] for e in np.eye(5, dtype=np.float32)], 1
        )

    expected = np.zeros((5, 5))
    for k in range(5):
        for i in range(k + 1):
            expected[k, i] = np.prod(np.delete(x[: k + 1], i))
    np.testing.assert_allclose(jacobian(x), expected)
    reverse = [
        grad(lambda x, k=k: lax.index_in_dim(lax.cumprod(x), k, keepdims=False))(x)
        for k in range(5)
    ]
    np.testing.assert_allclose(reverse, expected)


def test_a_running_maximum_gives_its_derivative_to_where_it_comes_from():
    x = np.float32([1.0, 3.0, 2.0, 5.0])
    g = grad(lambda x: lax.reduce_sum(lax.cummax(x), (0,)))(x)
    assert g.tolist() == [1.0, 2.0, 0.0, 1.0]


@pytest.mark.parametrize("length", [3, 40])
def test_the_first_element_of_a_running_product_owes_nothing_to_others(length):
    x = np.full(length, 2.0, np.float32)
    x[0] = np.inf
    for reverse in (False, True):
        row = x[::-1] if reverse else x
        out = jvp(lambda x: lax.cumprod(x, 0, reverse), (row,), (np.ones_like(x),))[1]  # noqa: B023
        expected = np.where(np.arange(length) == 0, 1, np.inf)
        np.testing.assert_array_equal(out, expected[::-1] if reverse else expected)


def test_running_logsumexp_does_not_overflow_and_starts_from_nothing():
    x = np.float32([-np.inf, -np.inf, 1000.0, 1000.0])
    expected = [-np.inf, -np.inf, 1000.0, 1000.0 + np.log(2)]
    for tier in ("host", "xla"):
        with eager_tier(tier):
            np.testing.assert_allclose(lax.cumlogsumexp(x), expected, rtol=1e-6)
    g = grad(lambda x: lax.index_in_dim(lax.cumlogsumexp(x), 3, keepdims=False))(x)
    np.testing.assert_allclose(g, [0, 0, 0.5, 0.5], rtol=1e-6)


def test_vmap_of_a_gradient_through_a_loop():
    x = np.random.default_rng(2).uniform(0.5, 1.5, (3, 40)).astype(np.float32)

    def f(x):
        return lax.reduce_sum(lax.cumprod(x), (0,))

    together = jit(vmap(grad(f)))(x)
    np.testing.assert_allclose(together, np.stack([grad(f)(row) for row in x]), rtol=1e-4)


def test_what_does_not_fit_is_refused():
    x = np.ones((2, 3), np.float32)
    with refused(ValueError, r"cumsum: axis 2 is out of range for float32\[2,3\]"):
        lax.cumsum(x, 2)
    with refused(TypeError, "cumprod: .*number", "bool"):
        lax.cumprod(x > 0)
    with refused(TypeError, "cumlogsumexp: .*float", "int32"):
        lax.cumlogsumexp(np.int32([1, 2]))
    with refused(ValueError, "cummax: axis 0 is out of range"):
        lax.cummax(np.float32(1))
