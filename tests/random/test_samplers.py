"""Counts, balls, correlated normal numbers and orthogonal matrices; derivatives of all samplers."""

import numpy as onp
import pytest
from scipy import special, stats

import weft
from weft import numpy as np, random
from weft.random.binomial import _tail

KEY = random.PRNGKey(7)
N = 2000


def close(samples, mean, axis=0):
    """The mean of samples is as expected, to four standard errors."""
    x = onp.asarray(samples, onp.float64)
    error = x.std(axis) / onp.sqrt(x.shape[axis])
    assert (onp.abs(x.mean(axis) - mean) <= 4 * error + 1e-6).all(), (x.mean(axis), mean, error)


# --- counts ---


def test_counts_have_their_mean_and_variance():
    n, p = onp.float32([[3], [40], [500], [1e6]]), onp.float32([0.02, 0.3, 0.5, 0.9])
    x = onp.asarray(random.binomial(KEY, n, p, (N, 4, 4)), onp.float64)
    assert (x == onp.floor(x)).all()
    assert (x >= 0).all()
    assert (x <= n).all()
    close(x, n * p.astype(onp.float64))
    close((x - n * p) ** 2, (n * p * (1 - p)).astype(onp.float64))


def test_the_rest_of_stirlings_formula():
    k = onp.array([0, 3, 9, 10, 25, 1e4])
    with weft.enable_x64(True):
        rest = _tail(np.asarray(k))
    formula = (k + 0.5) * onp.log(k + 1) - (k + 1) + onp.log(2 * onp.pi) / 2
    onp.testing.assert_allclose(rest, special.gammaln(k + 1) - formula, rtol=1e-6, atol=1e-10)


def test_multinomial_counts_sum_to_n():
    weights = onp.float32([[2, 1, 1, 0], [1, 1, 1, 1]])
    x = onp.asarray(random.multinomial(KEY, onp.float32([20, 7]), weights, shape=(300, 2)))
    assert x.shape == (300, 2, 4)
    assert (x.sum(-1) == [20, 7]).all()
    assert (x[:, 0, 3] == 0).all()
    close(x, onp.float32([[20], [7]]) * weights / weights.sum(-1, keepdims=True))
    assert random.multinomial(KEY, 5, onp.ones((3, 0), onp.float32)).shape == (3, 0)


def test_counts_of_odd_parameters():
    inf = onp.inf
    x = random.binomial(KEY, onp.float32([inf, inf, 0, 5, 2.7]), onp.float32([0.5, 0, 0.5, 0, 1]))
    assert x.tolist() == [inf, 0, 0, 0, 2]
    assert random.binomial(KEY, 10, 0.5, (0, 3)).shape == (0, 3)
    for dtype in ("float16", "bfloat16", "float32"):
        assert random.multinomial(KEY, 5, onp.ones(2, onp.float32), dtype=dtype).dtype == dtype


# --- vectors and matrices ---


@pytest.mark.parametrize("p", [0.01, 0.5])
def test_geometric_samples_are_integers_that_never_differ(p):
    """1e5 of them: of quotients of logarithms some 1 in 1e6 differs under `jit`."""
    draw = lambda key: random.geometric(key, p, (10_000,))  # noqa: E731
    compiled = weft.jit(draw)
    for seed in range(10):
        key = random.PRNGKey(seed)
        found = draw(key)
        onp.testing.assert_array_equal(found, compiled(key))
        u = onp.asarray(random.uniform(key, (10_000,)), "longdouble")
        u = onp.maximum(u, 2.0**-24)
        exact = onp.log(u) / onp.log1p(-onp.longdouble(onp.float32(p)))
        certain = abs(exact - onp.round(exact)) > 1e-9
        onp.testing.assert_array_equal(onp.asarray(found)[certain], (onp.floor(exact) + 1)[certain])


def test_geometric_samples_end_at_the_dtypes_largest():
    found = random.geometric(KEY, np.array([0.0, 1.0, 1e-9]), (50, 3), "int8")
    assert found.min(0).tolist() == [127, 1, 127]


def test_points_fill_the_ball():
    x = onp.asarray(random.ball(KEY, 3, 1.5, (N,)), onp.float64)
    radii = (onp.abs(x) ** 1.5).sum(-1) ** (1 / 1.5)
    assert (radii <= 1 + 1e-6).all()
    close(radii**3, 0.5)  # the share of the volume within a point is uniform
    close(x, 0)
    assert random.ball(KEY, 0, shape=(2,)).shape == (2, 0)


COV = onp.float32([[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 0.5]])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_have_their_covariance(method):
    mean = onp.float32([1, -2, 3])
    x = onp.asarray(random.multivariate_normal(KEY, mean, COV, (N,), method=method), onp.float64)
    close(x, mean)
    centred = x - mean
    close(centred[:, :, None] * centred[:, None, :], COV.astype(onp.float64))
    many = random.multivariate_normal(
        KEY, onp.zeros((2, 1, 3), onp.float32), onp.stack([COV] * 4), method=method
    )
    assert many.shape == (2, 4, 3)
    each = weft.vmap(lambda c: random.multivariate_normal(KEY, mean, c, (2,), method=method))(
        onp.stack([COV, 4 * COV])
    )
    onp.testing.assert_allclose(each[1] - mean, 2 * (each[0] - mean), rtol=1e-4, atol=1e-5)


def test_singular_covariances_have_samples():
    flat = onp.float32([[1, 1], [1, 1]])
    x = onp.asarray(random.multivariate_normal(KEY, onp.zeros(2), flat, (5,), method="svd"))
    onp.testing.assert_allclose(x[:, 0], x[:, 1], atol=1e-3)
    bad = random.multivariate_normal(KEY, onp.zeros(2), -flat, (5,))
    assert onp.isnan(onp.asarray(bad)).any()


@pytest.mark.parametrize(
    ("n", "m", "dtype"),
    [(3, None, "float32"), (2, 4, "complex64"), (4, 2, "float32"), (0, None, "float32")],
)
def test_orthogonal_matrices(n, m, dtype):
    q = onp.asarray(random.orthogonal(KEY, n, (5,), dtype, m))
    columns = n if m is None else m
    assert q.shape == (5, n, columns)
    assert q.dtype == dtype
    back = q.conj().swapaxes(-1, -2)
    product = q @ back if n <= columns else back @ q
    onp.testing.assert_allclose(
        product, onp.broadcast_to(onp.eye(min(n, columns)), product.shape), atol=1e-5
    )


# --- derivatives ---


def trigamma(x):
    return special.polygamma(1, x)


# a function of a parameter and a shape; the parameter; the derivative of the function's mean
SLOPES = {
    "gamma": (lambda a, s: random.gamma(KEY, a, s), 0.7, 1.0),
    "loggamma": (lambda a, s: random.loggamma(KEY, a, s), 0.7, trigamma(0.7)),
    "beta": (lambda a, s: random.beta(KEY, a, 3.0, s), 2.0, 3 / 25),
    "beta's b": (lambda b, s: random.beta(KEY, 2.0, b, s), 3.0, -2 / 25),
    "chisquare": (lambda df, s: random.chisquare(KEY, df, s), 3.0, 1.0),
    "f": (lambda df, s: np.log(random.f(KEY, df, 4.0, s)), 2.0, trigamma(1) / 2 - 1 / 2),
    "t": (lambda df, s: np.log(np.abs(random.t(KEY, df, s))), 2.0, (1 - trigamma(1)) / 4),
    "dirichlet": (
        lambda a, s: random.dirichlet(KEY, np.stack([a, 2.0, 1.0]), s)[..., 0], 1.5, 3 / 4.5**2),
    "generalized_normal": (
        lambda p, s: np.log(np.abs(random.generalized_normal(KEY, p, s))), 1.5,
        -special.digamma(1 / 1.5) / 1.5**2 - trigamma(1 / 1.5) / 1.5**3),
    "weibull_min": (
        lambda c, s: np.log(random.weibull_min(KEY, 1.0, c, s)), 2.0, onp.euler_gamma / 4),
    "pareto": (lambda b, s: np.log(random.pareto(KEY, b, s)), 2.0, -1 / 4),
    "rayleigh": (lambda c, s: random.rayleigh(KEY, c, s), 2.0, onp.sqrt(onp.pi / 2)),
    "lognormal": (lambda c, s: np.log(random.lognormal(KEY, c, s)) ** 2, 0.5, 1.0),
    "wald": (lambda m, s: random.wald(KEY, m, s), 1.5, 1.0),
    "triangular": (lambda m, s: random.triangular(KEY, -1.0, m, 2.0, s), 0.5, 1 / 3),
    "double_sided_maxwell": (
        lambda c, s: random.double_sided_maxwell(KEY, 1.0, c, s) ** 2, 2.0, 12.0),
    "uniform": (lambda a, s: random.uniform(KEY, s, maxval=a), 2.0, 0.5),
}  # fmt: skip


def test_derivatives_of_samples_are_those_of_the_distribution():
    @weft.jit
    def slopes(parameters):
        return {
            name: weft.jvp(lambda x, f=f: f(x, (N,)), (parameters[name],), (np.float32(1),))[1]
            for name, (f, _, _) in SLOPES.items()
        }

    found = slopes({name: np.float32(x) for name, (_, x, _) in SLOPES.items()})
    for name, (_, _, expected) in SLOPES.items():
        close(found[name], expected)


def test_normal_vectors_are_differentiable_in_their_covariance():
    def f(cov):
        return random.multivariate_normal(KEY, onp.zeros(3, onp.float32), cov)[2]

    slope = onp.asarray(weft.grad(f)(COV))
    step = onp.float32([[0, 0.01, 0], [0.01, 0, 0], [0, 0, 0.02]])
    difference = (f(COV + step) - f(COV - step)) / 2
    onp.testing.assert_allclose((slope * step).sum(), difference, rtol=2e-3)


def test_counts_have_no_slope():
    f = lambda p: random.binomial(KEY, 10, p, (3,)).sum()  # noqa: E731
    assert weft.jvp(f, (0.4,), (1.0,))[1] == 0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: random.binomial(KEY, np.ones(2), np.ones(3)), ValueError, "binomial.*n.*p"),
        (lambda: random.binomial(KEY, 3, 0.5, dtype=int), TypeError, "float dtype"),
        (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "one axis"),
        (lambda: random.multinomial(KEY, np.ones(2), np.ones(3)), ValueError, "n must broadcast"),
        (lambda: random.ball(KEY, -1), ValueError, "d must"),
        (lambda: random.ball(KEY, 2, np.ones(2)), ValueError, "p must be a scalar"),
        (lambda: random.orthogonal(KEY, 2.5), TypeError, "orthogonal"),
        (lambda: random.orthogonal(KEY, 2, m=-1), ValueError, "negative"),
        (lambda: random.multivariate_normal(KEY, np.ones(2), COV), ValueError, "covariance"),
        (lambda: random.multivariate_normal(KEY, np.ones(3), COV, method="lu"), ValueError, "eigh"),
        (lambda: random.multivariate_normal(KEY, np.ones((2, 3)), COV, (3,)), ValueError, "shape"),
        (lambda: random.generalized_normal(0, 1.0), TypeError, "key"),
    ],
)  # fmt: skip
def test_wrong_uses_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_the_slope_of_wald_is_that_of_its_quantiles():
    means = onp.array([0.01, 0.3, 2.0, 40.0])
    with weft.enable_x64(True):
        x, slope = weft.jvp(
            lambda m: random.wald(KEY, m, (50, 4)), (np.asarray(means),), (np.ones(4),)
        )
    x, slope, h = onp.asarray(x), onp.asarray(slope), 1e-6 * means
    law = stats.invgauss
    by_mean = (law.cdf(x, means + h) - law.cdf(x, means - h)) / (2 * h)
    onp.testing.assert_allclose(slope, -by_mean / law.pdf(x, means), rtol=1e-4, atol=1e-8)
