"""Distributions against SciPy: the functions of each in one program, for all its parameters.

Where SciPy's own value is a rounded 0 or 1, mpmath's tails stand in another test.
"""

import inspect
import re
import warnings

import mpmath
import numpy as onp
import pytest
import sampling
import scipy.stats as scipy_stats

import weft
import weft.numpy as np
from weft.scipy import stats

INF = onp.inf
LINE = (-INF, -40.0, -3.0, -1.0, -0.2, 0.0, 1e-7, 0.3, 1.0, 2.5, 6.0, 30.0, 300.0, INF, onp.nan)
UNIT = (-1.0, 0.0, 1e-9, 0.01, 0.2, 0.5, 0.75, 0.9, 0.999, 1.0, 1.5, onp.nan, 0.3, 0.6, 0.4)
COUNT = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 29.0, 80.0, INF, -INF, onp.nan)
CIRCLE = (-3.1, -2.0, -1.0, -0.2, 0.0, 1e-7, 0.3, 1.0, 2.5, 3.0, 1.5, -1.5, 0.7, 0.1, onp.nan)
QUANTILES = (-0.1, 0.0, 1e-9, 1e-3, 0.1, 0.25, 0.5, 0.6, 0.7, 0.9, 0.999, 0.9999, 1.0, 1.1, onp.nan)

# name: (rows of shape parameters, the last of which are invalid; how many are; points)
TABLE = {
    "beta": ([(2, 3), (0.2, 0.3), (1, 1), (200, 300), (0, 1)], 1, UNIT),
    "cauchy": ([()], 0, LINE),
    "chi2": ([(1,), (2,), (5,), (300,), (-1,)], 1, LINE),
    "expon": ([()], 0, LINE),
    "gamma": ([(3,), (1,), (0.1,), (300,), (0,)], 1, LINE),
    "gennorm": ([(1,), (0.5,), (4,), (-1,)], 1, LINE),
    "gumbel_l": ([()], 0, LINE),
    "gumbel_r": ([()], 0, LINE),
    "laplace": ([()], 0, LINE),
    "logistic": ([()], 0, LINE),
    "norm": ([()], 0, LINE),
    "pareto": ([(3,), (0.2,), (0,)], 1, LINE),
    "t": ([(1,), (3,), (100,), (1e5,), (INF,), (0,)], 1, LINE),
    "truncnorm": ([(-1, 2), (5, 7), (-INF, 1), (-8, -6), (2, INF), (2, 1)], 1, LINE),
    "uniform": ([()], 0, UNIT),
    "vonmises": ([(0.5,), (4,), (-1,)], 1, CIRCLE),
    "wrapcauchy": ([(0.3,), (0.99,), (0,), (1,)], 2, LINE),
    "bernoulli": ([(0.3,), (0,), (1,), (1.2,)], 1, COUNT),
    "betabinom": ([(10, 2, 3), (30, 0.2, 0.3), (0, 1, 1), (3, 0, 1)], 1, COUNT),
    "binom": ([(10, 0.3), (30, 0.99), (10, 0), (10, 1), (1000, 0.02), (3.5, 0.2)], 1, COUNT),
    "geom": ([(0.3,), (1e-3,), (0,)], 1, COUNT),
    "nbinom": ([(5, 0.3), (2.5, 0.01), (100, 0.5), (3, 0)], 1, COUNT),
    "poisson": ([(3,), (0.01,), (40,), (1000,), (-1,)], 1, COUNT),
}
DISCRETE = [name for name, (_, _, points) in TABLE.items() if points is COUNT]
LOC, SCALE = 0.25, 1.5

# Those whose programs take long to compile: a run takes the density and another function of each.
HEAVY = ("beta", "betabinom", "binom", "chi2", "gamma", "gennorm", "nbinom", "poisson", "t",
         "truncnorm", "vonmises")  # fmt: skip


def chosen(name):
    """The functions of a distribution that this run takes."""
    every = [f for f in getattr(stats, name).__all__ if f != "entropy"]
    if sampling.whole:
        return every
    density = [f for f in every if f in ("pdf", "pmf")]
    others = [f for f in every if f not in density]
    if name in HEAVY:
        return density + sampling.some(others, 1, f"functions of {name}")
    pairs = [[f for f in pair if f in every] for pair in (("cdf", "ppf"), ("sf", "isf"))]
    (pair,) = sampling.some(pairs, 1, f"inverses of {name}")
    logarithms = [f for f in every if f.startswith("log")]
    return density + pair + sampling.some(logarithms, 1, f"logarithms of {name}")


def arguments(name):
    """(points, probabilities, parameters with the location and the scale), as float64 arrays."""
    rows, _, points = TABLE[name]
    shapes = [onp.array(column, "float64")[:, None] for column in zip(*rows, strict=True)]
    moving = [3.0] if name in DISCRETE else [LOC, SCALE]
    x = onp.array(points) + moving[0] if len(moving) == 1 else onp.array(points) * SCALE + LOC
    both = onp.broadcast_to(x, (len(rows), len(points)))
    q = onp.broadcast_to(QUANTILES, both.shape)
    return both, q, [*shapes, *[onp.array(m) for m in moving]]


def program(name):
    """The functions of a distribution, compiled as one: {function: result}."""
    module = getattr(stats, name)

    def run(x, q, *parameters):
        return {
            f: getattr(module, f)(q if f in ("ppf", "isf") else x, *parameters)
            for f in chosen(name)
        }

    return weft.jit(run)


def reference(name, x, q, parameters):
    """SciPy's values, with logarithms of the tail that has the digits."""
    peer = getattr(scipy_stats, name)
    density = "pmf" if name in DISCRETE else "pdf"
    with warnings.catch_warnings(), onp.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {
            f: getattr(peer, f)(q if f in ("ppf", "isf") else x, *parameters)
            for f in (density, f"log{density}", "cdf", "sf", "ppf", "isf")
        }
        for f, other in (("cdf", "sf"), ("sf", "cdf")):
            exact = onp.where(found[f] < 0.5, onp.log(found[f]), onp.log1p(-found[other]))
            found[f"log{f}"] = exact
    first = len(x) - TABLE[name][1]
    for values in found.values():
        values[first:] = onp.nan
    return found


# (distribution, function): where SciPy's value isn't taken: (got, expected, x or q) -> mask
def at_an_end(got, expected, at):
    return onp.isinf(expected) | onp.isinf(got)


def of_no_digits(got, expected, at):
    """A logarithm of what is 0 in SciPy, or of what is exactly 1."""
    return onp.isneginf(expected) | (onp.abs(expected) < 1e-15)


EXCEPT = {
    ("vonmises", "ppf"): at_an_end,  # SciPy: -inf for 0
    ("vonmises", "isf"): at_an_end,
    ("gumbel_l", "pdf"): lambda g, e, x: x == INF,  # SciPy: NaN
    ("gumbel_l", "logpdf"): lambda g, e, x: x == INF,
    ("gumbel_r", "pdf"): lambda g, e, x: x == -INF,
    ("gumbel_r", "logpdf"): lambda g, e, x: x == -INF,
    ("poisson", "pmf"): lambda g, e, x: x == INF,
    ("poisson", "logpmf"): lambda g, e, x: x == INF,
    ("nbinom", "pmf"): lambda g, e, x: x == INF,
    ("nbinom", "logpmf"): lambda g, e, x: x == INF,
    ("geom", "isf"): lambda g, e, q: onp.isin(q, [0.7, 0.999]),  # rounded ties
    ("truncnorm", "isf"): lambda g, e, q: q < 1e-6,  # SciPy: 1e-9 off
}


@pytest.mark.parametrize("name", TABLE)
def test_numbers_of_python_take_the_dtype_of_the_points(name):
    module, numbers = getattr(stats, name), TABLE[name][0][0]
    with weft.enable_x64(True):
        x = np.asarray(onp.float32([0.5, 0.25]))
        for f in [f for f in module.__all__ if f != "entropy"]:
            out = weft.eval_shape(lambda x: getattr(module, f)(x, *numbers), x)  # noqa: B023
            assert out.dtype == onp.float32, f


@pytest.mark.parametrize("name", TABLE)
def test_functions_are_scipys_and_quantiles_are_inverses(name):
    with weft.enable_x64(True):
        x, q, parameters = arguments(name)
        run = program(name)
        got = {f: onp.asarray(v) for f, v in run(x, q, *parameters).items()}
        expected = reference(name, x, q, parameters)
        moved = x - parameters[-1] if name in DISCRETE else (x - LOC) / SCALE
        for f, values in got.items():
            assert values.dtype == onp.float64
            place = q if f in ("ppf", "isf") else moved
            skipped = EXCEPT.get((name, f), lambda *_: False)(values, expected[f], place)
            if f in ("logcdf", "logsf"):
                skipped = skipped | of_no_digits(values, expected[f], place)
            pair = [onp.where(skipped, 0, v) for v in (values, expected[f])]
            rtol = 1e-8 if name == "vonmises" else 2e-10  # SciPy's is a sum of 1e-9
            onp.testing.assert_allclose(*pair, rtol=rtol, atol=1e-300, err_msg=f)
        for f, inverse in (("cdf", "ppf"), ("sf", "isf")):
            if f not in got or inverse not in got:
                continue
            p = got[f]
            again = onp.asarray(run(x, p, *parameters)[inverse])
            inside = (p > 1e-12) & (p < 0.99) & onp.isfinite(x)
            if name in DISCRETE:  # the numbers of no probability have the same tail
                mass = onp.exp(got["logpmf"]) if "logpmf" in got else got["pmf"]
                inside &= mass > 1e-12
            assert inside.any()
            onp.testing.assert_allclose(again[inside], x[inside], rtol=1e-9, atol=1e-8)


INFINITY = float("inf")


@pytest.mark.parametrize(
    ("name", "shapes", "ends"),
    [("beta", (2.0, 3.0), (0, 1)), ("t", (3.0,), (-INFINITY, INFINITY)),
     ("truncnorm", (-1.0, 2.0), (-1, 2)), ("gamma", (2.0,), (0, INFINITY))],
)  # fmt: skip
def test_quantiles_of_nothing_and_of_all(name, shapes, ends):
    module, q = getattr(stats, name), np.array([0.0, 1.0])
    assert module.ppf(q, *shapes).tolist() == [*ends]
    assert module.isf(q, *shapes).tolist() == [*ends[::-1]]


# --- tails ---


def logs(value):
    return float(mpmath.log(value))


with mpmath.workdps(60):
    MP = mpmath.mpf
    # (function, arguments, log of the value by mpmath)
    TAILS = {
        "norm.logcdf": ((-100.0,), logs(mpmath.ncdf(-100))),
        "norm.logsf": ((1e10,), -5e19),
        "gamma.logsf": ((2000.0, 3.0), logs(mpmath.gammainc(3, 2000, regularized=True))),
        "gamma.logcdf": ((1e-200, 3.0), 3 * logs(MP(1e-200)) - logs(6)),
        "chi2.logsf": ((3000.0, 5.0), logs(mpmath.gammainc(2.5, 1500, regularized=True))),
        "poisson.logsf": ((400.0, 3.0), logs(mpmath.gammainc(401, 0, 3, regularized=True))),
        "beta.logcdf": ((1e-250, 2.0, 3.0), logs(6) + 2 * logs(MP(1e-250))),
        "beta.logsf": ((0.999, 200.0, 300.0),
                       logs(mpmath.betainc(300, 200, 0, 1 - MP(0.999), regularized=True))),
        "t.logcdf": ((-1e200, 3.0), logs(mpmath.sqrt(3) * 2 / mpmath.pi) - 3 * logs(MP(1e200))),
        "t.logsf": ((30.0, 1e5), logs(mpmath.betainc(
            MP(5e4), MP(0.5), 0, 1e5 / (MP(1e5) + 900), regularized=True) / 2)),
        "binom.logsf": ((0.0, 1000, 0.5), logs(1 - MP(2) ** -1000)),
        "gumbel_r.logsf": ((800.0,), -800.0),
        "gumbel_l.logcdf": ((-800.0,), -800.0),
        "laplace.logcdf": ((-800.0,), -800 - logs(2)),
        "expon.logcdf": ((1e-300,), logs(MP(1e-300))),
        "truncnorm.logsf": ((39.0, 2.0, INF), logs(mpmath.ncdf(-39) / mpmath.ncdf(-2))),
        "vonmises.cdf": ((-3.0, 4.0), float(mpmath.quad(
            lambda t: mpmath.exp(4 * mpmath.cos(t)), [-mpmath.pi, -3])
            / (2 * mpmath.pi * mpmath.besseli(0, 4)))),
    }  # fmt: skip


def test_tails_far_out():
    def run():
        values = []
        for name, (given, _) in TAILS.items():
            module, f = name.split(".")
            values.append(getattr(getattr(stats, module), f)(*map(np.float64, given)))
        return values

    with weft.enable_x64(True):
        got = onp.asarray(np.stack(weft.jit(run)()))
    onp.testing.assert_allclose(got, [v for _, v in TAILS.values()], rtol=1e-12, atol=1e-300)


# --- derivatives ---

# name: (point, probability, parameters); those of one compiled program are heavy
SMOOTH = {
    "beta": (0.3, 0.2, (2.0, 3.0)),
    "cauchy": (-2.5, 0.1, ()),
    "expon": (0.8, 0.7, ()),
    "gamma": (2.5, 0.2, (3.0,)),
    "gumbel_l": (-0.4, 0.2, ()),
    "gumbel_r": (0.7, 0.2, ()),
    "laplace": (-0.7, 0.9, ()),
    "logistic": (1.3, 0.4, ()),
    "norm": (-0.9, 0.2, ()),
    "pareto": (2.0, 0.3, (2.5,)),
    "t": (0.0, 0.3, (4.0,)),
    "truncnorm": (0.3, 0.3, (-1.0, 2.0)),
    "uniform": (0.3, 0.6, ()),
    "wrapcauchy": (2.0, 0.3, (0.4,)),
}
ONE = {"beta": "logcdf", "gamma": "ppf", "t": "sf", "truncnorm": "logcdf"}
LIGHT = [name for name in SMOOTH if name not in ONE]
TAKEN = sampling.some(LIGHT, 4, "derivatives") + sampling.some(ONE, 1, "heavy derivatives")


@pytest.mark.parametrize("name", TAKEN)
def test_derivatives_are_differences(name):
    x, q, shapes = SMOOTH[name]
    module = getattr(stats, name)
    functions = ONE.get(name, " ".join(module.__all__)).split()

    def run(x, q, *parameters):
        return np.stack(
            [getattr(module, f)(q if f in ("ppf", "isf") else x, *parameters) for f in functions]
        )

    with weft.enable_x64(True):
        args = [onp.float64(a) for a in (x, q, *shapes, 0.1, 1.1)]
        every = tuple(range(len(args)))
        if name in ONE:  # one function: a gradient, which maps nothing
            both = weft.jit(weft.value_and_grad(lambda *a: run(*a)[0], every))
        else:
            both = weft.jit(lambda *a: (run(*a), weft.jacrev(run, every)(*a)))
        slopes = both(*args)[1]
        for i, slope in enumerate(slopes):
            h = 1e-5
            up, down = ([a + s * h * (i == j) for j, a in enumerate(args)] for s in (1, -1))
            expected = (onp.asarray(both(*up)[0]) - onp.asarray(both(*down)[0])) / (2 * h)
            onp.testing.assert_allclose(slope, expected, rtol=2e-7, atol=1e-8)


def test_gradients_outside_the_support_are_zero_and_at_its_ends_no_nan():
    def of(f, *args):
        return float(weft.grad(f)(*args))

    for f, given in (
        (stats.pareto.logpdf, (0.5, 3.0)),
        (stats.expon.logpdf, (-1.0,)),
        (stats.uniform.logpdf, (2.0,)),
        (stats.expon.cdf, (-1.0,)),
        (stats.expon.logsf, (-1.0,)),
    ):
        assert of(f, *given) == 0
    assert of(lambda a: stats.pareto.pdf(0.5, a), 3.0) == 0
    assert of(lambda a: stats.gamma.logpdf(-1.0, a), 3.0) == 0
    assert of(lambda a: stats.beta.logpdf(1.5, a, 2.0), 3.0) == 0
    assert of(stats.gamma.logpdf, 0.0, 1.0) == -1
    assert of(stats.laplace.cdf, 0.0) == 0.5
    assert of(stats.bernoulli.logpmf, 1.0, 0.25) == 0
    assert of(lambda p: stats.bernoulli.logpmf(1, p), 0.25) == 4
    assert of(lambda p: stats.geom.logsf(3, p), 0.25) == -4
    second = weft.grad(weft.grad(lambda x: stats.norm.logcdf(x)))(-3.0)
    ratio = scipy_stats.norm.pdf(-3) / scipy_stats.norm.cdf(-3)
    onp.testing.assert_allclose(second, 3 * ratio - ratio**2, rtol=1e-5)


# --- arguments ---


def test_dtypes_shapes_and_broadcasting():
    assert stats.norm.pdf(1).dtype == np.float32
    assert stats.norm.cdf(onp.ones(3, onp.int8)).dtype == np.float32
    assert stats.norm.logpdf(np.ones(2, np.bfloat16)).dtype == np.bfloat16
    assert stats.norm.ppf(np.full(2, 0.3, np.float16), 1.0).dtype == np.float16
    x, loc, scale = onp.ones((3, 1), "f"), onp.zeros(4, "f"), onp.full((2, 1, 1), 2, "f")
    assert stats.cauchy.cdf(x, loc, scale).shape == (2, 3, 4)
    assert stats.pareto.pdf(onp.zeros((0, 3)), 2.0).shape == (0, 3)
    every = weft.vmap(stats.laplace.cdf, (0, None, 0))(onp.ones(3, "f"), 1.0, onp.arange(1, 4.0))
    onp.testing.assert_allclose(every, scipy_stats.laplace.cdf(1, 1, [1, 2, 3]), rtol=1e-6)
    onp.testing.assert_allclose(stats.norm.pdf(x=0.5, scale=2.0), scipy_stats.norm.pdf(0.5, 0, 2))


def test_float32_keeps_its_digits_beside_elements_that_converge_slowly():
    x = onp.array([2.0, 2.5, 100.0, 400.0, 1e30, 1e-30], "f")
    shape = onp.array([1.0, 3.0, 100.0, 300.0, 1.0, 1.0], "f")
    got = onp.asarray(stats.gamma.sf(x, shape))
    expected = scipy_stats.gamma.sf(x.astype("d"), shape.astype("d"))
    onp.testing.assert_allclose(got, expected, rtol=3e-6, atol=1e-38)
    mass = stats.poisson.pmf(onp.array([900.0, 1000.0, 1100.0], "f"), 1000.0)
    onp.testing.assert_allclose(mass, scipy_stats.poisson.pmf([900, 1000, 1100], 1000), rtol=5e-6)


def test_functions_tell_their_signatures():
    assert str(inspect.signature(stats.t.pdf)).startswith("(x: ")
    assert list(inspect.signature(stats.t.isf).parameters) == ["q", "df", "loc", "scale"]
    assert list(inspect.signature(stats.binom.cdf).parameters) == ["k", "n", "p", "loc"]
    assert stats.t.pdf.__name__ == "pdf"
    assert "Student" in stats.t.pdf.__doc__


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.norm.pdf(1j), "norm.pdf: x must be real"),
        (lambda: stats.t.pdf(1.0), "t.pdf: missing 1 required positional argument: 'df'"),
        (lambda: stats.t.pdf(1.0, 2.0, size=3), "t.pdf: got an unexpected keyword argument 'size'"),
        (lambda: stats.norm.cdf([1.0]), "norm.cdf: expected an array or a scalar for x"),
        (lambda: stats.gamma.ppf(0.5, "a"), "gamma.ppf: .* for a"),
        (lambda: stats.norm.pdf(onp.ones(2), onp.ones(3)), r"float32\[2\]|shapes"),
    ],
)
def test_refusals_name_the_function_and_the_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_no_number_is_reached_where_infinitely_many_events_are_expected():
    k = onp.array([-1.0, 0.0, 3.0, INF], "f")
    for name, wanted in [("pmf", 0), ("logpmf", -INF), ("cdf", k == INF), ("sf", k < INF)]:
        function = getattr(stats.poisson, name)
        for got in (function(k, INF), weft.jit(function)(k, INF)):
            onp.testing.assert_array_equal(got, onp.broadcast_to(wanted, 4).astype("f"))


def test_what_is_certain_has_the_probability_one():
    k, n, p = (onp.array(x, "f") for x in ([0, 7, 40], [40, 7, 40], [0, 1, 1]))
    got = stats.binom.pmf(k, n, p)
    assert got.tolist() == [1, 1, 1]
    x, n = onp.array([0, 3, 30], "f"), onp.array([10, 3, 30], "f")
    got = stats.binom.logpmf(x, n, onp.float32(0.4))
    onp.testing.assert_allclose(got, scipy_stats.binom.logpmf(x, n, onp.float32(0.4)), rtol=3e-7)


def test_entropy_of_poisson():
    mu = onp.array([0.0, 0.5, 3.0, 40.0, 150.0, 1e4, -1.0])
    with weft.enable_x64(True):
        got = onp.asarray(stats.poisson.entropy(mu))
    k = onp.arange(12000)
    with onp.errstate(all="ignore"):
        logs = scipy_stats.poisson.logpmf(k, mu[:, None])
        expected = -onp.nansum(onp.where(logs > -700, onp.exp(logs) * logs, 0), 1)
    onp.testing.assert_allclose(got, onp.where(mu < 0, onp.nan, expected), rtol=1e-9, atol=1e-12)


EXAMPLE = re.compile(r""">>> f"{\w+\.(\w+)\((.*)\)\.item\(\):\.4f}"\n\s+'(.*)'""")


@pytest.mark.parametrize("name", TABLE)
def test_values_of_examples_are_those_of_scipy(name):
    """Not by running the examples: each one of a tail compiles a program with loops."""
    module = getattr(stats, name)
    texts = [inspect.getdoc(getattr(module, function)) for function in module.__all__]
    examples = [match for text in texts for match in EXAMPLE.findall(text)]
    assert len(examples) == len(texts) > 5
    for function, arguments, value in examples:
        reference = getattr(getattr(scipy_stats, name), function)
        assert f"{reference(*map(float, arguments.split(', '))):.4f}" == value, function
