"""Distributions: moments, ranges, derivatives, transformations, and what is refused."""

import math

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import random
from weft.compiler import disk_cache

N = 20_000
EULER = 0.5772156649

# label: (samples, mean, variance; None where there is none)
MOMENTS = {
    "uniform": (lambda k: random.uniform(k, (N,)), 0.5, 1 / 12),
    "uniform in a range": (lambda k: random.uniform(k, (N,), minval=-1, maxval=3), 1.0, 16 / 12),
    "normal": (lambda k: random.normal(k, (N,)), 0.0, 1.0),
    "normal complex64": (lambda k: random.normal(k, (N,), "complex64"), 0.0, 1.0),
    "truncated_normal": (lambda k: random.truncated_normal(k, -1, 1, (N,)), 0.0, 0.29112),
    "exponential": (lambda k: random.exponential(k, (N,)), 1.0, 1.0),
    "gumbel": (lambda k: random.gumbel(k, (N,)), EULER, math.pi**2 / 6),
    "laplace": (lambda k: random.laplace(k, (N,)), 0.0, 2.0),
    "logistic": (lambda k: random.logistic(k, (N,)), 0.0, math.pi**2 / 3),
    "maxwell": (lambda k: random.maxwell(k, (N,)), math.sqrt(8 / math.pi), 3 - 8 / math.pi),
    "double_sided_maxwell": (lambda k: random.double_sided_maxwell(k, 1.0, 2.0, (N,)), 1.0, 12.0),
    "weibull_min": (lambda k: random.weibull_min(k, 2, 2, (N,)), math.sqrt(math.pi), 4 - math.pi),
    "pareto": (lambda k: random.pareto(k, 5.0, (N,)), 5 / 4, 5 / 48),
    "rayleigh": (lambda k: random.rayleigh(k, 1.0, (N,)), math.sqrt(math.pi / 2), 2 - math.pi / 2),
    "lognormal": (
        lambda k: random.lognormal(k, 0.5, (N,)), math.exp(1 / 8),
        (math.exp(0.25) - 1) * math.exp(0.25),
    ),
    "triangular": (lambda k: random.triangular(k, 0.0, 1.0, 2.0, (N,)), 1.0, 1 / 6),
    "wald": (lambda k: random.wald(k, 1.0, (N,)), 1.0, 1.0),
    "rademacher": (lambda k: random.rademacher(k, (N,)), 0.0, 1.0),
    "bernoulli": (lambda k: random.bernoulli(k, 0.2, (N,)), 0.2, 0.16),
    "randint": (lambda k: random.randint(k, (N,), -3, 7), 1.5, 99 / 12),
    "randint of all": (
        lambda k: random.randint(k, (N,), -(2**31), 2**31) / 2.0**31, 0.0, 4 / 12
    ),
    "geometric": (lambda k: random.geometric(k, 0.5, (N,)), 2.0, 2.0),
    "gamma": (lambda k: random.gamma(k, 2.5, (N,)), 2.5, 2.5),
    "gamma, small": (lambda k: random.gamma(k, 0.3, (N,)), 0.3, 0.3),
    "beta": (lambda k: random.beta(k, 2.0, 3.0, (N,)), 0.4, 0.04),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), 3.0, 6.0),
    "f": (lambda k: random.f(k, 4.0, 12.0, (N,)), 1.2, 1.26),
    "t": (lambda k: random.t(k, 8.0, (N,)), 0.0, 8 / 6),
    "poisson": (lambda k: random.poisson(k, 3.0, (N,)), 3.0, 3.0),
    "poisson, large": (lambda k: random.poisson(k, 40.0, (N,)), 40.0, 40.0),
    "choice": (lambda k: random.choice(k, 5, (N,), p=np.float32([0, 0.5, 0, 0.5, 0])), 2.0, 1.0),
    "categorical": (
        lambda k: random.categorical(k, np.log(np.float32([0.25, 0.75])), shape=(N,)), 0.75, 3 / 16
    ),
}  # fmt: skip


@pytest.mark.parametrize("label", MOMENTS)
def test_moments(label):
    sample, mean, variance = MOMENTS[label]
    x = np.asarray(sample(random.PRNGKey(11))).astype(np.complex128)
    fourth = np.mean(np.abs(x - mean) ** 4)  # so the errors below are of four deviations
    assert abs(x.mean() - mean) < 4 * math.sqrt(variance / N)
    assert abs(np.mean(np.abs(x - mean) ** 2) - variance) < 4 * math.sqrt(fourth / N)


def test_cauchy_quartiles():
    x = np.asarray(random.cauchy(random.PRNGKey(1), (N,)))
    np.testing.assert_allclose(np.quantile(x, [0.25, 0.5, 0.75]), [-1, 0, 1], atol=0.06)


def test_dirichlet_is_on_the_simplex():
    x = np.asarray(random.dirichlet(random.PRNGKey(1), np.float32([1, 2, 5]), (4000,)))
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(x.mean(0), [1 / 8, 2 / 8, 5 / 8], atol=0.02)


def test_ranges():
    key = random.PRNGKey(4)
    u = np.asarray(random.uniform(key, (N,), "float16"))
    assert u.min() >= 0
    assert u.max() < 1
    t = np.asarray(random.truncated_normal(key, 0.5, 0.75, (N,)))
    assert t.min() > 0.5
    assert t.max() < 0.75
    assert np.isfinite(np.asarray(random.gumbel(key, (N,), "float16"))).all()
    assert set(random.randint(key, (N,), 0, 256, "uint8").tolist()) == set(range(256))
    assert set(random.randint(key, (N,), -2, 2, "int8").tolist()) == {-2, -1, 0, 1}
    assert random.poisson(key, np.float32([0, np.nan])).tolist() == [0, -1]


def test_integer_bounds_at_the_ends_of_a_dtype():
    key = random.PRNGKey(4)
    top = random.randint(key, (N,), 2**32 - 2, 2**32, "uint32")
    assert set(top.tolist()) == {2**32 - 2, 2**32 - 1}
    bottom = random.randint(key, (N,), np.array(-(2**31)), wnp.int32(2 - 2**31))
    assert set(bottom.tolist()) == {-(2**31), 1 - 2**31}
    high = weft.jit(lambda k, m: random.randint(k, (N,), 2**31 - 2, m))(key, np.uint32(2**32 - 1))
    assert set(high.tolist()) == {2**31 - 2, 2**31 - 1}  # traced bounds are moved to the end
    assert {0, 255} <= set(random.randint(key, (9 * N,), -99, 999, "uint8").tolist())


def test_permutations_permute():
    key = random.PRNGKey(7)
    x = np.arange(60).reshape(3, 4, 5)
    for axis in (0, 1, 2, -1):
        y = np.asarray(random.permutation(key, x, axis))
        np.testing.assert_array_equal(np.sort(y, axis), x)
        z = np.asarray(random.permutation(key, x, axis, independent=True))
        np.testing.assert_array_equal(np.sort(z, axis), x)
        np.testing.assert_array_equal(z, random.shuffle(key, x, axis))
    counts = np.zeros((4, 4))
    for order in np.asarray(weft.vmap(lambda k: random.permutation(k, 4))(random.split(key, 4000))):
        counts[range(4), order] += 1
    assert (abs(counts / 4000 - 0.25) < 0.03).all()


def test_choices_without_replacement_are_different():
    key = random.PRNGKey(2)
    for p in (None, np.float32([0.1, 0.2, 0.3, 0.4])):
        assert sorted(random.choice(key, 4, (2, 2), replace=False, p=p).reshape(-1).tolist()) == [
            0,
            1,
            2,
            3,
        ]
    p = np.float32([0, 1, 1])
    assert 0 not in random.choice(key, 3, (2,), replace=False, p=p).tolist()
    assert random.choice(key, 0, (0,)).shape == (0,)


# --- derivatives ---


@pytest.mark.parametrize(
    ("label", "sample", "at"),
    [
        ("uniform", lambda k, x: random.uniform(k, (5,), minval=x, maxval=2 * x + 1), 0.7),
        ("truncated_normal", lambda k, x: random.truncated_normal(k, -x, x + 1, (5,)), 0.7),
        ("pareto", lambda k, x: random.pareto(k, x, (5,)), 2.0),
        ("weibull_min", lambda k, x: random.weibull_min(k, x, x + 1, (5,)), 2.0),
        ("lognormal", lambda k, x: random.lognormal(k, x, (5,)), 0.5),
        ("rayleigh", lambda k, x: random.rayleigh(k, x, (5,)), 2.0),
        ("double_sided_maxwell", lambda k, x: random.double_sided_maxwell(k, x, x, (5,)), 2.0),
        ("triangular", lambda k, x: random.triangular(k, -x, x / 2, x, (5,)), 2.0),
    ],
)
def test_samples_are_differentiable_in_parameters(label, sample, at):
    key = random.PRNGKey(5)
    weft.config.update("enable_x64", True)
    try:
        f = lambda x: sample(key, x)  # noqa: E731
        h = 1e-6
        expected = (np.asarray(f(at + h)) - np.asarray(f(at - h))) / (2 * h)
        np.testing.assert_allclose(weft.jacfwd(f)(at), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(weft.jacrev(f)(at), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(weft.jit(weft.jacrev(f))(at), expected, rtol=1e-6, atol=1e-8)
    finally:
        weft.config.update("enable_x64", False)


def test_gamma_samples_have_the_derivative_of_their_quantiles():
    key, a = random.PRNGKey(0), np.float32([0.3, 1.0, 4.0])
    x = random.gamma(key, a)
    slope = weft.jacrev(lambda a: random.gamma(key, a))(a)
    np.testing.assert_allclose(np.diag(slope), weft.lax.random_gamma_grad(a, x), rtol=1e-5)
    assert (np.diag(slope) > 0).all()
    y = weft.jvp(lambda a: random.loggamma(key, a), (a,), (np.ones(3, np.float32),))
    np.testing.assert_allclose(np.exp(y[0]), x, rtol=1e-5)
    np.testing.assert_allclose(y[1], np.diag(slope) / np.asarray(x), rtol=1e-4)
    # E x = a, so that the mean derivative is one
    many = weft.grad(lambda a: random.gamma(key, a, (N,)).mean())(2.0)
    np.testing.assert_allclose(many, 1.0, atol=0.02)


# --- transformations and tiers ---


LOOPS = {"gamma", "gamma, small", "beta", "chisquare", "f", "t", "poisson", "poisson, large"}


@pytest.mark.parametrize("label", [label for label in MOMENTS if label not in LOOPS])
def test_mapped_over_keys_is_a_loop(label):
    keys, sample = random.split(random.PRNGKey(0), 3), MOMENTS[label][0]
    expected = np.stack([np.asarray(sample(k)) for k in keys])
    np.testing.assert_allclose(weft.vmap(sample)(keys), expected, rtol=2e-5, atol=1e-6)


def test_loops_mapped_over_keys():
    keys = random.split(random.PRNGKey(0), 3)
    for f in (lambda k: random.gamma(k, 0.5, (2,)), lambda k: random.poisson(k, 4.0, (2,))):
        expected = np.stack([np.asarray(f(k)) for k in keys])
        np.testing.assert_allclose(weft.vmap(f)(keys), expected, rtol=2e-5)


def test_large_arrays_are_the_same_numbers_as_small_ones_would_be():
    key, n = random.PRNGKey(0), (1 << 20) + 2  # above what NumPy makes
    x = np.asarray(random.uniform(key, (n,)))
    y = np.asarray(random.uniform(key, (n // 2, 2))).reshape(-1)
    np.testing.assert_array_equal(x, y)
    words = np.asarray(random.bits(key, (n,)))
    np.testing.assert_array_equal(x, (words >> 9).astype(np.float32) / 2**23)


def test_small_samples_are_not_compiled(monkeypatch):
    def refuse(*args):
        raise AssertionError("compiled")

    monkeypatch.setattr(disk_cache, "compile_or_load", refuse)
    key = random.PRNGKey(123)
    for _ in range(3):
        random.normal(random.fold_in(key, 1), (19, 3))
        random.normal(random.split(key)[0], (200, 300))
        random.randint(key, (17,), 0, 9)
        random.bernoulli(key, 0.5, (13,))
        random.permutation(key, 21)
        random.truncated_normal(key, -1, 1, (5,))
        random.categorical(key, np.zeros(5, np.float32))


def test_dtypes_and_shapes():
    key = random.PRNGKey(0)
    assert random.uniform(key, 3).shape == (3,)
    assert random.normal(key, [2, 0]).shape == (2, 0)
    for dtype in ("float16", "bfloat16", "float32"):
        assert random.normal(key, (2,), dtype).dtype.name == dtype
        assert random.exponential(key, (2,), dtype).dtype.name == dtype
        assert random.gamma(key, 1.0, (2,), dtype).dtype.name == dtype
    assert random.rademacher(key, (2,), "float32").dtype.name == "float32"
    assert random.bernoulli(key, np.float16(0.5), (2,)).dtype.name == "bool"
    assert not random.uniform(key).weak_type
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64.*uniform"):
        assert random.uniform(key, (), "float64").dtype.name == "float32"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda k: random.uniform(k, (2,), "int32"), TypeError, "uniform: dtype must be a float"),
        (lambda k: random.uniform(k, (2,), "complex64"), TypeError, "must be a float dtype"),
        (lambda k: random.uniform(k, (2,), minval=np.zeros(3)), ValueError, "don't broadcast"),
        (lambda k: random.uniform(k, (-1,)), ValueError, "negative"),
        (lambda k: random.normal(k, (2,), "int32"), TypeError, "float or complex"),
        (lambda k: random.randint(k, (2,), 0.5, 2), TypeError, "integer dtype"),
        (lambda k: random.randint(k, (2,), 0, 2, "float32"), TypeError, "integer dtype"),
        (lambda k: random.randint(k, (2,), 0, 2**40, "int32"), ValueError, "maxval .* got 1099511"),
        (lambda k: random.randint(k, (2,), -(2**31) - 1, 9), ValueError, "minval .* got -21474836"),
        (
            lambda k: random.randint(k, (2,), 0, 2**32 + 1, "uint32"),
            ValueError,
            "maxval .* 4294967297",
        ),
        (lambda k: random.randint(k, (2,), 0, 2**40, "uint8"), ValueError, "maxval .* got 1099511"),
        (
            lambda k: random.randint(k, (2,), 0, np.array([9, 2**40])),
            ValueError,
            "maxval .* got 1099",
        ),
        (
            lambda k: random.randint(k, (2,), wnp.uint32(2**32 - 1), 9),
            ValueError,
            "minval .* got 4294967295",
        ),
        (lambda k: random.bernoulli(k, 1j), TypeError, "real"),
        (lambda k: random.bernoulli(k, 0.5, mode="fine"), ValueError, "bernoulli: mode must be"),
        (lambda k: random.gumbel(k, mode=1), ValueError, "gumbel: mode must be"),
        (lambda k: random.categorical(k, np.ones(2), mode="x"), ValueError, "categorical: mode"),
        (lambda k: random.choice(k, 3, mode="x"), ValueError, "choice: mode must be"),
        (lambda k: random.rademacher(k, (2,), bool), TypeError, "number -1"),
        (lambda k: random.gamma(k, np.ones(3), (2,)), ValueError, "gamma: parameters don't"),
        (
            lambda k: random.beta(k, np.ones(3), np.ones(2)),
            ValueError,
            "a float32.3., b float32.2.",
        ),
        (lambda k: random.poisson(k, 1.0, (), "float32"), TypeError, "integer"),
        (lambda k: random.choice(k, 3, (4,), replace=False), ValueError, "without replacement"),
        (lambda k: random.choice(k, 3, (2,), p=np.ones(2)), ValueError, "each of the 3"),
        (lambda k: random.choice(k, 0, (2,)), ValueError, "at least one"),
        (lambda k: random.permutation(k, 1.5), TypeError, "an array or an int"),
        (lambda k: random.permutation(k, -1), ValueError, "negative"),
        (lambda k: random.permutation(k, np.ones(3), 1), ValueError, "out of range"),
        (lambda k: random.categorical(k, np.ones((2, 3)), shape=(3,)), ValueError, "end with"),
        (
            lambda k: random.categorical(k, np.ones((2, 3)), shape=(4, 2), replace=False),
            ValueError,
            "draw 4 of 3 categories",
        ),
        (lambda k: random.dirichlet(k, 1.0), ValueError, "at least one axis"),
        (lambda k: weft.jit(lambda n: random.normal(k, (n,)))(3), TypeError, "static"),
    ],
)
def test_wrong_uses_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call(random.PRNGKey(0))


def test_the_mode_high_resolves_small_probabilities():
    """2**-12 is a quarter of a step of float16's uniform numbers, of which "low" makes a whole."""
    key, n = random.PRNGKey(2), 2**17
    p = np.float16(2.0**-12)
    low, high = (
        int(np.sum(np.asarray(random.bernoulli(key, p, (n,), mode)))) for mode in ("low", "high")
    )
    for found, wanted in ((low, n * 2.0**-10), (high, n * 2.0**-12)):
        assert abs(found - wanted) < 5 * wanted**0.5
    for mode, rare in (("low", 0.0), ("high", -math.expm1(-math.exp(-8)))):
        samples = np.asarray(random.gumbel(key, (n,), "float16", mode))
        assert np.isfinite(samples).all()
        assert abs((samples > 8).sum() - n * rare) <= 5 * (n * rare) ** 0.5


def test_categories_without_replacement():
    """All of them come once, and the first two as often as drawn one after the other."""
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    logits, every = np.log(p), [[0, 0], [1, 1], [2, 2]]
    draw = lambda k: random.categorical(k, logits, shape=(3, 2), replace=False)  # noqa: E731
    drawn = np.asarray(weft.vmap(draw)(random.split(random.PRNGKey(1), 4000)))
    assert np.array_equal(np.sort(drawn, axis=1), np.broadcast_to(every, drawn.shape))
    for row in range(2):
        for i, j in ((0, 1), (2, 0), (1, 2)):
            wanted = p[row, i] * p[row, j] / (1 - p[row, i])
            found = np.mean((drawn[:, 0, row] == i) & (drawn[:, 1, row] == j))
            assert abs(found - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 4000)
    across = random.categorical(random.PRNGKey(1), logits.T, axis=0, shape=(3, 2), replace=False)
    assert np.array_equal(np.sort(across, axis=0), every)
