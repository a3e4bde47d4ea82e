"""Distributions where they change their method, and at the ends of what they can give."""

import numpy as onp
import pytest
import scipy.special

import weft
import weft.numpy as np
from weft import random

KEY = random.PRNGKey(3)


def by_products(key, lam, shape):
    """Knuth's Poisson samples: how many uniform numbers have a product above exp(-lam)."""
    count, logarithm = onp.zeros(shape, int), onp.zeros(shape, "float32")
    alive = onp.ones(shape, bool)
    while alive.any():
        key, subkey = random.split(key)
        count += alive
        logarithm = logarithm + onp.log(onp.asarray(random.uniform(subkey, shape)))
        alive = logarithm > -lam
    return count - 1


def test_poisson_counts_uniform_numbers_below_ten_and_not_above():
    for lam in (0.5, 3.0, 9.99):
        onp.testing.assert_array_equal(random.poisson(KEY, lam, (50,)), by_products(KEY, lam, 50))
    for lam in (10.01, 11.5):
        assert (onp.asarray(random.poisson(KEY, lam, (50,))) != by_products(KEY, lam, 50)).any()


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.000001), (5.0, 5.5), (-2.0, 2.0)])
def test_bounds_of_truncated_normal_never_come_out(low, high):
    low, high = onp.float32(low), onp.float32(high)
    x = onp.asarray(random.truncated_normal(KEY, low, high, (3000,)))
    assert (low < x).all()
    assert (x < high).all()


def test_derivative_of_the_logarithm_of_tiny_gamma_samples():
    """Near zero, the distribution function is x**a / Γ(a + 1), and a sample keeps its value of it
    as `a` changes: d log x / d a = (ψ(a + 1) - log x) / a."""
    a = onp.full(40, 0.002, "float32")
    y, dy = weft.jvp(lambda a: random.loggamma(KEY, a), (a,), (onp.ones_like(a),))
    y = onp.asarray(y, "float64")
    tiny = y < -100  # below the smallest float32
    assert tiny.sum() > 20
    expected = (scipy.special.digamma(1.002) - y) / 0.002
    onp.testing.assert_allclose(onp.asarray(dy)[tiny], expected[tiny], rtol=0.01)


def test_keys_are_indexed_like_arrays():
    words = onp.arange(24, dtype="uint32").reshape(2, 3, 2, 2)
    keys = random.wrap_key_data(words)
    for index in [1, (..., 0), (0, ..., 1), (slice(None), 2), (1, 2, 0), ...]:
        rest = index if isinstance(index, tuple) else (index,)
        full = (*rest, *([] if Ellipsis in rest else [...]), slice(None))
        got = onp.asarray(random.key_data(keys[index]))
        onp.testing.assert_array_equal(got, words[full])


def test_a_permutation_of_many_elements_is_sorted_twice():
    """Three times the words' 32 bits must exceed the elements' three times: one sort up to 1,625
    elements, two beyond."""
    for n, rounds in [(1000, 1), (2000, 2)]:
        key, x = KEY, onp.arange(n)
        for _ in range(rounds):
            key, subkey = random.split(key)
            x = x[onp.argsort(onp.asarray(random.bits(subkey, (n,))), kind="stable")]
        onp.testing.assert_array_equal(random.permutation(KEY, n), x)


@pytest.mark.parametrize("shape", [(3,), (2, 1), ()])
def test_a_shape_that_parameters_do_not_broadcast_to_is_refused(shape):
    with pytest.raises(ValueError, match="broadcast to shape"):
        random.uniform(KEY, shape, minval=onp.zeros((2, 3), "float32"))


def test_the_least_uniform_numbers_give_finite_samples():
    """Of so many numbers with ten bits, some are zero."""
    key, options = random.PRNGKey(0), {"shape": (2**14,), "dtype": "float16"}
    assert float(np.min(random.uniform(key, **options))) == 0
    for sampler in (random.gumbel, random.laplace):
        assert bool(np.all(np.isfinite(sampler(key, **options))))
