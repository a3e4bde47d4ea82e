"""Random numbers by keys: reproducible, independent, and of the distributions that they name."""

import numpy as onp
import pytest

from weft import fastmath
from weft.fastmath import numpy as np, random


def host(x):
    return onp.asarray(x)


def test_keys_are_two_words_and_make_the_same_numbers_again(backend):
    key = random.get_prng(7)
    assert host(key).tolist() == [0, 7]
    assert host(key).dtype == onp.uint32
    one, other = random.split(key)
    assert tuple(random.split(key, 5)[4].shape) == (2,)
    draws = [host(random.uniform(k, (50,))).tolist() for k in (one, other, key, one)]
    assert draws[0] == draws[3]
    assert draws[0] != draws[1] != draws[2] != draws[0]
    folded = [host(random.fold_in(key, i)).tolist() for i in (1, 2, 1)]
    assert folded[0] == folded[2] != folded[1]


def test_numbers_do_not_depend_on_what_was_drawn_before(backend):
    key = random.get_prng(3)
    before = host(random.normal(key, (3,))).tolist()
    random.uniform(key, (10,))
    assert host(random.normal(key, (3,))).tolist() == before
    compiled = fastmath.jit(lambda k: random.normal(k, (3,)))(key)
    onp.testing.assert_allclose(host(compiled), before, rtol=1e-5)


DRAWN = {
    "uniform": (lambda k, n: random.uniform(k, (n,), minval=-1.0, maxval=3.0), 1.0, 16 / 12, -1, 3),
    "normal": (lambda k, n: random.normal(k, (n,)), 0.0, 1.0, -9, 9),
    "truncated_normal": (
        lambda k, n: random.truncated_normal(k, -2, 2, (n,)), 0.0, 0.7737, -2, 2
    ),
    "randint": (lambda k, n: random.randint(k, (n,), 3, 7), 4.5, 1.25, 3, 6),
    "bernoulli": (lambda k, n: random.bernoulli(k, 0.3, (n,)), 0.3, 0.21, 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_moments_and_ranges(backend, name):
    draw, mean, variance, low, high = DRAWN[name]
    n = 20_000
    x = host(draw(random.get_prng(1), n)).astype("float64")
    assert x.shape == (n,)
    assert low <= x.min() < x.max() <= high
    assert x.mean() == pytest.approx(mean, abs=5 * (variance / n) ** 0.5)
    assert x.var() == pytest.approx(variance, rel=0.05)
    if name in ("randint", "bernoulli"):
        assert set(x) == set(range(low, high + 1))


def test_dtypes_and_shapes(backend):
    key = random.get_prng(0)
    assert host(random.uniform(key, (2, 3), "float32")).dtype == onp.float32
    assert host(random.normal(key)).shape == ()
    assert host(random.randint(key, (2,), 0, 5, "int32")).dtype == onp.int32
    assert host(random.bernoulli(key, 0.5, (2,))).dtype == bool
    assert host(random.bernoulli(key, np.array([0.0, 1.0]))).tolist() == [False, True]


def test_a_wrong_key_is_refused(backend):
    with pytest.raises((TypeError, ValueError)):
        random.uniform(np.ones(5), (2,))


def test_numpys_global_generator_stands_for_no_key():
    with fastmath.use_backend("numpy"):
        onp.random.seed(3)
        assert random.split(None, 3) == (None,) * 3
        first = random.uniform(None, (2,)).tolist()
        onp.random.seed(3)
        assert random.uniform(random.fold_in(None, 1), (2,)).tolist() == first
        with pytest.raises(TypeError, match="integer"):
            random.get_prng(0.5)
