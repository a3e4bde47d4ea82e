"""Distributions where formulas change or overflow: values and derivatives, against mpmath.

All points of a dtype are one program. Derivatives at infinity are those of a limit, and no NaN.
"""

import mpmath
import numpy as onp
import pytest
import scipy.stats as scipy_stats

import weft
from weft.scipy import stats

INF, MP = float("inf"), mpmath.mpf
mpmath.mp.dps = 60
LARGEST = {onp.float32: 3e38, onp.float64: 1e308}


def t_density(x, df):
    """log of Student's density."""
    front = mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2)
    square = mpmath.mpf(x) ** 2 / df
    return front - mpmath.log(df * mpmath.pi) / 2 - (df + 1) / 2 * mpmath.log1p(square)


def cauchy_cdf(x):
    return 0.5 + mpmath.atan(x) / mpmath.pi if x > -1 else mpmath.atan(-1 / x) / mpmath.pi


def gumbel_cdf(x):
    return mpmath.exp(-mpmath.exp(-x))


def gumbel_density(x):
    return -x - mpmath.exp(-x)


def logit(q):
    return mpmath.log(q) - mpmath.log1p(-q)


def binomial(k, n, p):
    """log of the probability, with gamma functions for its derivatives in k and n."""
    front = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
    return front + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p)


def log_of_gumbel_tail(x):
    return mpmath.log(-mpmath.expm1(-mpmath.exp(-x)))


HALF = onp.arange(1, 64) / 64
AROUND = (-80.0, -30.0, -3.0, -1.0, -0.01, 0.0, 0.01, 0.5, 1.0, 3.0, 30.0, 41.0, 80.0)
WIDE = (-1e30, -1e9, -300.0, -2.0, -1.0, -0.5, 0.0, 1e-30, 0.5, 1.0, 2.0, 40.0, 1e9, 1e30)
ROWS = [(k, n, p) for n in (1, 2, 5, 9, 16, 40, 1000) for k in range(0, n + 1, 1 + n // 9)
        for p in (1e-30, 0.1, 0.5, 0.99)]  # fmt: skip

# function: (exact value, columns of arguments, errors in units in the last place)
VALUES = {
    "t.logpdf": (t_density, [*zip(*[(x, df) for df in (0.01, 0.5, 4.0, 1e6)
                                    for x in (0.0, 1e-6, 0.3, 1e3, 1e9, 1e20, "largest")],
                                  strict=True)], 8),
    "cauchy.cdf": (cauchy_cdf, [WIDE], 4),
    "cauchy.sf": (lambda x: cauchy_cdf(-x), [WIDE], 4),
    "cauchy.logcdf": (lambda x: mpmath.log(cauchy_cdf(x)), [WIDE], 4),
    "cauchy.logsf": (lambda x: mpmath.log(cauchy_cdf(-x)), [WIDE], 4),
    "cauchy.logpdf": (lambda x: -mpmath.log(mpmath.pi * (1 + MP(x) ** 2)),
                      [(*WIDE, "largest")], 3),
    "cauchy.pdf": (lambda x: 1 / (mpmath.pi * (1 + MP(x) ** 2)), [WIDE[1:-1]], 3),
    "cauchy.ppf": (lambda q: mpmath.tan(mpmath.pi * (q - 0.5)), [(1e-30, *HALF)], 8),
    "logistic.ppf": (logit, [(1e-30, *HALF, 0.5 + 1e-4)], 4),
    "logistic.cdf": (lambda x: 1 / (1 + mpmath.exp(-x)), [AROUND], 4),
    "gumbel_r.logsf": (log_of_gumbel_tail, [AROUND[2:]], 6),
    "gumbel_l.logcdf": (lambda x: log_of_gumbel_tail(-x), [[-x for x in AROUND[2:]]], 6),
    "gumbel_r.sf": (lambda x: -mpmath.expm1(-mpmath.exp(-x)), [AROUND[2:]], 6),
    "gumbel_r.cdf": (gumbel_cdf, [AROUND[2:]], 40),  # an exponential of -20
    "expon.logcdf": (lambda x: mpmath.log(-mpmath.expm1(-x)),
                     [(1e-30, 0.01, 0.6, 0.69, 0.7, 2.0, 20.0, 60.0)], 4),
    "binom.logpmf": (binomial, [*zip(*ROWS, strict=True)], 24),
}  # fmt: skip


@pytest.mark.parametrize("dtype", LARGEST)
def test_values_have_their_digits(dtype):
    columns = {
        name: [
            onp.array([LARGEST[dtype] if x == "largest" else x for x in c], dtype) for c in given
        ]
        for name, (_, given, _) in VALUES.items()
    }

    def run(columns):
        return {name: function(name)(*given) for name, given in columns.items()}

    with weft.enable_x64(True):
        got = weft.jit(run)(columns)
    for name, (exact, _, units) in VALUES.items():
        with onp.errstate(under="ignore"):
            points = zip(*[c.tolist() for c in columns[name]], strict=True)
            expected = onp.array([exact(*map(MP, p)) for p in points])
            size = onp.maximum(abs(expected), 1.0 if name == "cauchy.ppf" else 0.0)
            errors = abs(onp.asarray(got[name], "float64").astype(object) - expected)
        errors = onp.array(errors / (size + (size == 0)), "float64")
        assert errors.max() <= units * onp.finfo(dtype).eps, (name, columns, errors)


def function(name):
    module, f = name.split(".")
    return getattr(getattr(stats, module), f)


# function: (points, its derivatives there), in float32
SLOPES = {
    "cauchy.cdf": ((-INF, 0.0, 1e30, INF), (0, 1 / onp.pi, 0, 0)),
    "cauchy.sf": ((-INF, -0.0, INF), (0, -1 / onp.pi, 0)),
    "cauchy.logcdf": ((-1e30, 0.0, 3e38, INF), (1e-30, 2 / onp.pi, 0, 0)),
    "cauchy.logpdf": ((-INF, -3e38, 1e30, INF), (0, 0, -2e-30, 0)),
    "cauchy.ppf": ((1e-9, 0.25, 0.5), (1e18 / onp.pi, 2 * onp.pi, onp.pi)),
    "cauchy.isf": ((0.5, 0.75), (-onp.pi, -2 * onp.pi)),
    "gumbel_r.pdf": ((-INF, -3e38, -100.0, 0.0, 100.0, INF), (0,) * 6),
    "gumbel_r.cdf": ((-INF, -100.0, 0.0, INF), (0, 0, onp.exp(-1), 0)),
    "gumbel_r.sf": ((-INF, -100.0, 0.0, INF), (0, 0, -onp.exp(-1), 0)),
    "gumbel_r.logsf": ((-INF, -100.0, 0.0, 50.0, 100.0, INF), (0, 0, -1 / (onp.e - 1), -1, -1, -1)),
    "gumbel_l.logcdf": ((-INF, -100.0, 100.0, INF), (1, 1, 0, 0)),
    "gumbel_r.logpdf": ((-INF, 0.0, INF), (0, 0, -1)),
    "logistic.cdf": ((-INF, 0.0, 20.0, INF), (0, 0.25, onp.exp(-20), 0)),
    "logistic.ppf": ((0.0, 0.25, 0.5, 1.0), (INF, 16 / 3, 4, INF)),
    "norm.cdf": ((-INF, INF), (0, 0)),
    "laplace.cdf": ((-INF, INF), (0, 0)),
    "uniform.pdf": ((-1.0, 0.5, 2.0), (0, 0, 0)),
    "expon.logcdf": ((-1.0, 0.5, INF), (0, 1 / onp.expm1(0.5), 0)),
}


def test_derivatives_where_formulas_overflow():
    def run(points):
        return {n: weft.vmap(weft.grad(function(n)))(x) for n, x in points.items()}

    got = weft.jit(run)({n: onp.array(x, "f") for n, (x, _) in SLOPES.items()})
    for name, (_, expected) in SLOPES.items():
        onp.testing.assert_allclose(got[name], expected, rtol=3e-6, atol=1e-36, err_msg=name)


def test_wound_line_ends_at_0_and_1():
    for f, ends in (("cdf", (0, 1)), ("logcdf", (-INF, 0)), ("sf", (1, 0)), ("logsf", (0, -INF))):
        got = getattr(stats.vonmises, f)(onp.float32([-INF, INF]), 2.0)
        assert got.tolist() == [*ends]


def test_derivatives_of_binomial_probabilities_in_numbers_are_those_of_gamma_functions():
    rows = [(2.0, 5.0, 0.3), (7.0, 20.0, 0.3), (12.0, 40.0, 0.9), (1.0, 2.0, 0.5)]
    with weft.enable_x64(True):
        got = weft.vmap(weft.grad(stats.binom.logpmf, (0, 1, 2)))(*onp.array(rows).T)
    for i, row in enumerate(rows):
        wanted = [mpmath.diff(binomial, row, [int(j == i) for j in range(3)]) for i in range(3)]
        onp.testing.assert_allclose([float(g[i]) for g in got], list(map(float, wanted)), rtol=1e-9)


def test_quantiles_of_bernoulli_are_scipys_up_to_rounding():
    p = onp.array([0.0, 1e-300, 0.07, 0.1, 0.3, 0.5, 0.7, 0.93, 1.0])[:, None]
    q = onp.array([0.0, 1e-9, 0.05, 0.25, 0.45, 0.55, 0.95, 1.0])
    with weft.enable_x64(True):
        for f in ("ppf", "isf"):
            got = getattr(stats.bernoulli, f)(q, p)
            expected = getattr(scipy_stats.bernoulli, f)(q, p)
            onp.testing.assert_array_equal(got, expected, f)
        for chance in onp.arange(1, 100) / 100:  # equal, but for the rounding of 1 - chance
            assert stats.bernoulli.ppf(1 - chance, chance) == 0
            assert stats.bernoulli.ppf(chance, 1 - chance) == 0
            assert stats.bernoulli.isf(chance, chance) == 0
    assert onp.isnan(stats.bernoulli.ppf(onp.float32([-0.1, 1.1, onp.nan]), 0.5)).all()


def upper_gamma(x, a):
    return mpmath.gammainc(a, x, regularized=True)


def lower_beta(x, a, b):
    return mpmath.betainc(a, b, 0, x, regularized=True)


def upper_normal(x, beta):
    """P(X > x) of the generalised normal distribution."""
    half = upper_gamma(abs(x) ** beta, 1 / beta) / 2
    return half if x > 0 else 1 - half


# function: (exact value, the arguments in which it is differentiated, points)
SMOOTH = {
    "gamma.cdf": (lambda x, a: 1 - upper_gamma(x, a), (0, 1), [(0.5, 2.5), (4.0, 2.5), (3.0, 9.0)]),
    "gamma.logsf": (lambda x, a: mpmath.log(upper_gamma(x, a)), (0,), [(0.5, 2.5), (40.0, 2.5)]),
    "beta.sf": (lambda *a: 1 - lower_beta(*a), (0,), [(0.1, 2.0, 3.0), (0.9, 2.0, 3.0)]),
    "gennorm.cdf": (lambda x, b: 1 - upper_normal(x, b), (0,), [(0.7, 1.5), (-0.7, 1.5)]),
    "poisson.cdf": (lambda k, mu: upper_gamma(mu, k + 1), (1,), [(0.0, 1.5), (3.0, 9.0)]),
    "poisson.logcdf": (lambda k, mu: mpmath.log(upper_gamma(mu, k + 1)), (1,),
                       [(3.0, 1.5), (3.0, 9.0)]),
}  # fmt: skip


def test_derivatives_of_tails_in_points_and_parameters():
    with weft.enable_x64(True):
        given = {n: onp.array(points).T for n, (_, _, points) in SMOOTH.items()}

        def run(given):
            return {
                n: weft.vmap(weft.grad(function(n), SMOOTH[n][1]))(*x) for n, x in given.items()
            }

        got = weft.jit(run)(given)
    for name, (exact, places, points) in SMOOTH.items():
        orders = [[int(j == i) for j in range(len(points[0]))] for i in places]
        with mpmath.workdps(30):
            expected = [[float(mpmath.diff(exact, p, o)) for p in points] for o in orders]
        onp.testing.assert_allclose(onp.array(got[name]), expected, rtol=1e-11, err_msg=name)


def test_derivatives_of_certain_probabilities_are_zero():
    for name in ("cdf", "sf"):
        for mu in (0.0, INF):
            assert weft.grad(lambda mu: getattr(stats.poisson, name)(2.0, mu))(mu) == 0  # noqa: B023


ENDLESS = {
    "gamma": [(INF,)],
    "chi2": [(INF,)],
    "beta": [(INF, 2.0), (2.0, INF), (INF, INF)],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_infinite_parameters_give_what_scipy_gives(name):
    rows = onp.array(ENDLESS[name], "f").T[:, :, None]
    x = onp.float32([0, 0.3, 1 if name == "beta" else 3, INF])
    q = onp.float32([0, 0.3, 1])
    functions = {"pdf": x, "cdf": x, "logsf": x, "isf": q}

    def run(given, rows):
        return {f: getattr(getattr(stats, name), f)(at, *rows) for f, at in given.items()}

    got = weft.jit(run)(functions, rows)
    for f, at in functions.items():
        with onp.errstate(all="ignore"):
            expected = getattr(getattr(scipy_stats, name), f)(at, *rows)
        onp.testing.assert_array_equal(got[f], expected, f)
