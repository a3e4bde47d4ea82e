"""The table of real elementwise functions, with where they are sampled and what they should be.

`benchmarks/accuracy.py` measures all of it and writes docs/accuracy.md; `tests/test_accuracy.py`
holds the bounds on a few points. Exact values are mpmath's.
"""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath as mp
import numpy as np

import weft
from weft.config import enable_x64

Span = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Domain:
    """Where an argument is sampled.

    Attributes:
      spans: intervals, sampled evenly.
      scales: intervals of sizes, sampled evenly in the logarithm; of either sign if `signed`.
      near: numbers around which it is sampled more and more closely.
    """

    spans: tuple[Span, ...] = ()
    scales: tuple[Span, ...] = ()
    near: tuple[float, ...] = ()
    signed: bool = False
    whole: bool = False

    def draw(self, count: int, rng: np.random.Generator, dtype: Any) -> Any:
        """`count` numbers of the dtype."""
        parts = [
            *[lambda n, s=s: rng.uniform(*s, n) for s in self.spans],
            *[lambda n, s=s: self.sign(rng, n) * np.exp(rng.uniform(*np.log(s), n))
              for s in self.scales],
            *[lambda n, c=c: c + self.away(rng, n, dtype) * max(abs(c), 1) for c in self.near],
        ]  # fmt: skip
        each = -(-count // len(parts))
        drawn = np.concatenate([part(each) for part in parts])
        drawn = rng.permutation(drawn)[:count]
        return (np.round(drawn) if self.whole else drawn).astype(dtype)

    def sign(self, rng: np.random.Generator, n: int) -> Any:
        return rng.choice([-1.0, 1.0], n) if self.signed else 1.0

    def away(self, rng: np.random.Generator, n: int, dtype: Any) -> Any:
        smallest = np.log(np.finfo(dtype).eps / 4)
        return rng.choice([-1.0, 1.0], n) * np.exp(rng.uniform(smallest, np.log(0.3), n))


@dataclasses.dataclass(frozen=True)
class Row:
    """A function: its public name, its exact value, the domains of its arguments.

    Attributes:
      reason: why its worst error is above 8 ulps.
      inside: a condition on the arguments, in NumPy.
      points: how many are measured.
      call: weft's function and the arguments -> the value, where it isn't that of the call alone.
    """

    name: str
    exact: Callable[..., Any]
    domains: tuple[Domain, ...]
    reason: str = ""
    inside: Callable[..., Any] | None = None
    points: int = 1000
    wide: tuple[Domain, ...] | None = None
    call: Callable[..., Any] | None = None

    def function(self) -> Callable[..., Any]:
        """weft's function; of several results that whose number stands in the name."""
        name, *part = self.name.split()
        f = functools.reduce(getattr, name.split("."), weft)
        if self.call is not None:
            return functools.partial(self.call, f)
        place = next((int(p) for p in part if p.isdigit()), None)
        return f if place is None else lambda *xs: f(*xs)[place]

    def arguments(self, dtype: str, count: int, seed: int = 0) -> list[Any]:
        """Sampled arguments; `count` of them, or fewer."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name}/{dtype}/{seed}".encode()))
        domains = self.wide if dtype == "float64" and self.wide else self.domains
        xs = [d.draw(count, rng, dtype) for d in domains]
        tiny = float(np.finfo(dtype).tiny)
        keep = np.all([np.isfinite(x) & ((np.abs(x) >= tiny) | (x == 0)) for x in xs], 0)
        if self.inside is not None:
            keep &= self.inside(*xs)
        return [x[keep] for x in xs]


@dataclasses.dataclass(frozen=True)
class Worst:
    """The worst error in units of the last place, and the arguments that gave it."""

    ulps: float
    arguments: tuple[float, ...]
    got: float
    exact: float


def exact_values(row: Row, xs: Sequence[Any]) -> list[Any]:
    """mpmath's values; None where there is none."""
    out = []
    for args in zip(*[x.tolist() for x in xs], strict=True):
        try:
            with mp.workdps(40):
                v = row.exact(*map(mp.mpf, args))
            v = v.real if isinstance(v, mp.mpc) and v.imag == 0 else v
            out.append(v if isinstance(v, mp.mpf) else None)
        except (
            ValueError,
            ZeroDivisionError,
            mp.libmp.ComplexResult,
            mp.NoConvergence,
            OverflowError,
        ):
            out.append(None)
    return out


def worst_of(xs: Sequence[Any], got: Any, exact: Sequence[Any]) -> Worst:
    """The worst error of results of a float dtype."""
    info = np.finfo(got.dtype)
    digits, least, tiny, largest = info.nmant, int(info.minexp) - info.nmant, info.tiny, info.max
    worst = Worst(-1.0, (), 0.0, 0.0)
    for i, (g, e) in enumerate(zip(got.tolist(), exact, strict=True)):
        if e is None or mp.isnan(e) or (e != 0 and abs(e) < 2 * tiny):
            continue  # below the normal numbers XLA may round to zero
        if mp.isinf(g) or mp.isnan(g):
            off = 0.0 if mp.isinf(g) and abs(e) > 0.9999 * largest else mp.inf
        elif e == 0:
            off = 0.0 if g == 0 else mp.inf
        else:
            exponent = (
                max(int(mp.floor(mp.log(abs(e), 2))) - digits, least) if mp.isfinite(e) else 0
            )
            off = abs(mp.mpf(g) - e) / mp.mpf(2) ** exponent
        if off > worst.ulps:
            worst = Worst(float(off), tuple(x[i].item() for x in xs), g, float(e))
    return worst


# --- domains ---

LINE = Domain(((-10, 10),), ((1e-30, 1e30),), signed=True)
WIDE_LINE = Domain(((-10, 10),), ((1e-290, 1e290),), signed=True)
POSITIVE = Domain(((0, 10),), ((1e-30, 1e30),), (1,))
UNIT = Domain(((-1, 1),), ((1e-30, 1),), signed=True)
PROBABILITY = Domain(((0, 1),), ((1e-30, 1),), (0.5,))
EXPONENTS, WIDE_EXPONENTS = Domain(((-87, 88), (-1, 1)), ((1e-30, 1),), signed=True), Domain(
    ((-700, 709), (-1, 1)), ((1e-30, 1),), signed=True
)  # fmt: skip
ANGLES = Domain(((-10, 10), (-1000, 1000)), ((1e-30, 1e9),), signed=True)
SIZES = Domain(((0, 10), (0, 100)), ((1e-20, 100),))
SHAPES = Domain(((0.1, 10),), ((1e-2, 1e3),))


def one(name: str, exact: Any, domain: Domain, wide: Domain | None = None, **more: Any) -> Row:
    return Row(name, exact, (domain,), wide=(wide,) if wide else None, **more)


def erfcx(x: Any) -> Any:
    with mp.workdps(40):
        if x > 50:
            return mp.hyperu(0.5, 0.5, x * x) / mp.sqrt(mp.pi)
        return mp.exp(x * x) * mp.erfc(x)


def log_ndtr(x: Any) -> Any:
    with mp.workdps(40):
        half = mp.log(erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2 if x < 0 else mp.log1p(-mp.ncdf(-x))
        return half


def ndtr(x: Any) -> Any:
    with mp.workdps(40):
        return mp.erfc(-x / mp.sqrt(2)) / 2


def erfinv(y: Any) -> Any:
    with mp.workdps(30):
        if abs(y) < 0.9:
            return mp.erfinv(y)
        size, rest = abs(y), 1 - abs(y)
        root = mp.findroot(
            lambda t: mp.log(mp.erfc(t)) - mp.log(rest), mp.sqrt(-mp.log(rest)) * 0.9
        )
        return root * mp.sign(y) if size < 1 else None


def ndtri(p: Any) -> Any:
    with mp.workdps(40):
        if p < 0.1:
            start = -mp.sqrt(-2 * mp.log(p)) * 0.95
            return mp.findroot(lambda t: mp.log(ndtr(t)) - mp.log(p), start)
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def with_digits(digits: int, f: Any) -> Any:
    def exact(*xs: Any) -> Any:
        with mp.workdps(digits):
            return f(*xs)

    return exact


def lgamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1e4 else mp.loggamma(x)


def betaln(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def igamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def igammac(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, regularized=True)


def owens_t(h: Any, a: Any) -> Any:
    with mp.workdps(25):
        f = lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t)  # noqa: E731
        return mp.quad(f, mp.linspace(0, a, 4)) / (2 * mp.pi)


def kl_div(p: Any, q: Any) -> Any:
    return p * mp.log(p / q) - p + q


def entropy(x: Any) -> Any:
    return -x * mp.log(x)


def spherical(bessel: Any, order: float) -> Any:
    """√(π / 2x) times a Bessel function of order n + 1/2, n = 3."""
    return with_digits(40, lambda x: mp.sqrt(mp.pi / (2 * x)) * bessel(order, x))


def of_order_3(f: Any, x: Any) -> Any:
    return f(3, x)


ZEROS = "near its zeros, where larger terms cancel: the absolute error is that of these terms"
EXPONENT = "exp of a number that is rounded: of the size k, it costs k units in the last place"
CANCELS = "a sum of terms of both signs, larger than it"

ROWS = [
    one("numpy.exp", mp.exp, EXPONENTS, WIDE_EXPONENTS),
    one(
        "numpy.exp2",
        lambda x: mp.mpf(2) ** x,
        Domain(((-125, 127), (-1, 1))),
        Domain(((-1020, 1023), (-1, 1))),
    ),
    one("numpy.expm1", with_digits(60, mp.expm1), EXPONENTS, WIDE_EXPONENTS),
    one("numpy.log", mp.log, POSITIVE),
    one("numpy.log2", lambda x: mp.log(x, 2), POSITIVE),
    one("numpy.log10", mp.log10, POSITIVE),
    one("numpy.log1p", with_digits(60, mp.log1p), Domain(((-0.99, 10),), ((1e-30, 1e30),))),
    one("numpy.sqrt", mp.sqrt, POSITIVE),
    one("numpy.cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), LINE),
    one("lax.rsqrt", lambda x: 1 / mp.sqrt(x), POSITIVE),
    one("numpy.reciprocal", lambda x: 1 / x, LINE),
    one("numpy.square", lambda x: x * x, Domain(((-10, 10),))),
    one("numpy.sin", mp.sin, ANGLES),
    one("numpy.cos", mp.cos, ANGLES),
    one("numpy.tan", mp.tan, ANGLES),
    one("numpy.arcsin", mp.asin, UNIT),
    one("numpy.arccos", mp.acos, UNIT),
    one("numpy.arctan", mp.atan, LINE),
    one("numpy.sinh", with_digits(60, mp.sinh), EXPONENTS, WIDE_EXPONENTS),
    one("numpy.cosh", mp.cosh, EXPONENTS, WIDE_EXPONENTS),
    one("numpy.tanh", with_digits(60, mp.tanh), LINE),
    one("numpy.arcsinh", with_digits(60, mp.asinh), LINE, WIDE_LINE),
    one("numpy.arccosh", with_digits(40, mp.acosh), Domain(((1, 10),), ((1, 1e30),), (1,))),
    one("numpy.arctanh", with_digits(60, mp.atanh), UNIT),
    Row("numpy.arctan2", mp.atan2, (LINE, LINE)),
    Row("numpy.hypot", mp.hypot, (Domain(((-10, 10),), ((1e-15, 1e15),)),) * 2),
    Row(
        "numpy.power",
        mp.power,
        (Domain(((0, 10),), ((1e-10, 1e10),), (1,)), Domain(((-10, 10), (-300, 300)))),
        points=2000,
    ),
    Row(
        "numpy.logaddexp",
        with_digits(40, lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
        (Domain(((-50, 50),)),) * 2,
    ),
    Row(
        "numpy.logaddexp2",
        with_digits(40, lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2)),
        (Domain(((-50, 50),)),) * 2,
    ),
    one("numpy.sinc", mp.sincpi, Domain(((-10, 10), (-0.2, 0.2)), ((1e-20, 1),), signed=True)),
    one("numpy.deg2rad", mp.radians, LINE),
    one("numpy.rad2deg", mp.degrees, LINE),
    one("numpy.i0", lambda x: mp.besseli(0, x), Domain(((-80, 80), (-1, 1)))),
    one("lax.logistic", lambda x: 1 / (1 + mp.exp(-x)), EXPONENTS, WIDE_EXPONENTS),
    one("scipy.special.erf", mp.erf, Domain(((-5, 5),), ((1e-30, 1),), signed=True)),
    one("scipy.special.erfc", mp.erfc, Domain(((-4, 9), (-1, 1))), Domain(((-5, 26), (-1, 1)))),
    one("scipy.special.erfcx", erfcx, Domain(((-8, 20), (-1, 1)), ((1e-3, 1e6),))),
    one(
        "scipy.special.erfinv",
        erfinv,
        Domain(((-1, 1), (-0.99, 0.99)), ((1e-30, 1),), (1, -1), signed=True),
        points=400,
        inside=lambda y: abs(y) < 1,
    ),
    one("scipy.special.ndtr", ndtr, Domain(((-12, 6), (-1, 1))), Domain(((-37, 8), (-1, 1)))),
    one("scipy.special.log_ndtr", log_ndtr, Domain(((-12, 6), (-1, 1)), ((1, 1e10),), signed=True)),
    one("scipy.special.ndtri", ndtri, PROBABILITY, points=300),
    one("scipy.special.logit", with_digits(50, lambda x: mp.log(x / (1 - x))), PROBABILITY),
    one("scipy.special.entr", with_digits(50, entropy), POSITIVE),
    Row("scipy.special.xlogy", lambda x, y: x * mp.log(y), (Domain(((-10, 10),)), POSITIVE)),
    Row(
        "scipy.special.xlog1py",
        with_digits(50, lambda x, y: x * mp.log1p(y)),
        (Domain(((-10, 10),)), Domain(((-0.9, 10),))),
    ),
    Row("scipy.special.rel_entr", with_digits(50, lambda p, q: p * mp.log(p / q)), (SIZES, SIZES)),
    Row("scipy.special.kl_div", with_digits(50, kl_div), (SIZES, SIZES)),
    Row(
        "scipy.special.boxcox",
        with_digits(50, lambda x, a: (x**a - 1) / a),
        (SIZES, Domain(((-5, 5), (-0.1, 0.1)))),
        inside=lambda x, a: (a != 0) & (abs(a * np.log(x)) < 80),
    ),
    Row(
        "scipy.special.boxcox1p",
        with_digits(50, lambda x, a: (mp.mpf(1 + x) ** a - 1) / a),
        (SIZES, Domain(((-5, 5), (-0.1, 0.1)))),
        inside=lambda x, a: a != 0,
    ),
    one(
        "scipy.special.gamma",
        mp.gamma,
        Domain(((-10, 35), (-4, 4)), ((1e-30, 1),), signed=True),
        Domain(((-20, 171), (-4, 4)), ((1e-30, 1),), signed=True),
    ),
    one(
        "lax.lgamma", with_digits(30, lgamma), Domain(((0, 10), (0, 100)), ((1e-30, 1e10),), (1, 2))
    ),
    one("lax.lgamma (x < 0)", with_digits(30, lgamma), Domain(((-10, 0), (-2, 0))), reason=ZEROS),
    one("lax.digamma", mp.digamma, Domain(((0, 10), (0, 100)), ((1e-20, 1e20),), (1.4616321,))),
    one("lax.digamma (x < 0)", mp.digamma, Domain(((-10, 0), (-2, 0))), reason=ZEROS),
    Row("scipy.special.beta", mp.beta, (SHAPES, SHAPES)),
    Row(
        "scipy.special.betaln",
        with_digits(40, betaln),
        (Domain(((0.1, 10),), ((1e-4, 1e6),)),) * 2,
        reason=ZEROS,
    ),
    Row("lax.igamma", with_digits(30, igamma), (SHAPES, SIZES), points=300, reason=EXPONENT),
    Row("lax.igammac", with_digits(30, igammac), (SHAPES, SIZES), points=300, reason=EXPONENT),
    Row(
        "lax.betainc",
        with_digits(30, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)),
        (
            Domain(((0.1, 20),), ((0.01, 100),)),
            Domain(((0.1, 20),), ((0.01, 100),)),
            Domain(((0, 1),), ((1e-6, 1),)),
        ),
        points=300,
        reason=EXPONENT,
    ),
    Row(
        "lax.polygamma",
        lambda n, x: mp.polygamma(int(n), x),
        (Domain(((0.5, 6.5),), whole=True), Domain(((0, 20),), ((1e-3, 1e4),))),
        points=300,
    ),
    Row(
        "lax.zeta",
        with_digits(80, mp.zeta),
        (Domain(((1, 20), (1, 2)), near=(1,)), Domain(((0, 20),), ((1e-3, 1e3),))),
        inside=lambda x, q: x > 1,
        points=300,
    ),
    one("scipy.special.i0", lambda x: mp.besseli(0, x), Domain(((-80, 80), (-1, 1)))),
    one(
        "scipy.special.i0e",
        lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
        Domain(((-80, 80), (-1, 1))),
    ),
    one("scipy.special.i1", lambda x: mp.besseli(1, x), Domain(((-80, 80), (-1, 1)))),
    one(
        "scipy.special.i1e",
        lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
        Domain(((-80, 80), (-1, 1))),
    ),
    one(
        "scipy.special.exp1",
        mp.e1,
        Domain(((0, 2), (0, 80)), ((1e-30, 1),)),
        Domain(((0, 2), (0, 700)), ((1e-30, 1),)),
    ),
    one(
        "scipy.special.expi",
        with_digits(60, mp.ei),
        Domain(((-80, 80), (-2, 2), (0, 30)), ((1e-30, 1),), (0.37250741,), signed=True),
        inside=lambda x: x != 0,
    ),
    Row(
        "scipy.special.expn",
        lambda n, x: mp.expint(int(n), x),
        (Domain(((-0.5, 9.5),), whole=True), Domain(((0, 2), (0, 50)))),
        points=300,
    ),
    one(
        "scipy.special.spence",
        with_digits(50, lambda x: mp.re(mp.polylog(2, 1 - x))),
        Domain(((0, 3), (0, 50)), ((1e-20, 1e10),), (1,)),
        points=400,
    ),
    one("scipy.special.sici 0", mp.si, Domain(((-30, 30),), ((1e-20, 1e4),), signed=True)),
    one("scipy.special.sici 1", mp.ci, Domain(((0, 30),), ((1e-20, 1e4),)), reason=ZEROS),
    one("scipy.special.fresnel 0", mp.fresnels, Domain(((-8, 8),), ((1e-8, 50),), signed=True)),
    one("scipy.special.fresnel 1", mp.fresnelc, Domain(((-8, 8),), ((1e-8, 50),), signed=True)),
    one(
        "scipy.special.dawsn",
        with_digits(60, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)),
        Domain(((-10, 10),), ((1e-20, 30),), signed=True),
    ),
    Row(
        "scipy.special.poch",
        with_digits(40, lambda z, n: mp.gamma(z + n) / mp.gamma(z)),
        (Domain(((0.1, 30),)), Domain(((0, 15),))),
    ),
    Row("scipy.special.owens_t", owens_t, (Domain(((-6, 6),)), Domain(((-3, 3),))), points=200),
    Row(
        "scipy.special.hyp1f1",
        mp.hyp1f1,
        (Domain(((0.1, 5),)), Domain(((0.1, 8),)), Domain(((-50, 50),))),
        points=300,
        reason=CANCELS,
    ),
    Row(
        "scipy.special.hyp2f1",
        mp.hyp2f1,
        (Domain(((0.1, 5),)), Domain(((0.1, 5),)), Domain(((0.1, 8),)), Domain(((-3, 0.95),))),
        points=300,
        reason=CANCELS,
    ),
    one("scipy.special.ellipk", mp.ellipk, Domain(((-3, 1),), ((1e-20, 1e20),), signed=True)),
    one(
        "scipy.special.ellipkm1",
        with_digits(80, lambda p: mp.ellipk(1 - p)),
        Domain(((0, 3),), ((1e-30, 1e20),)),
    ),
    one("scipy.special.ellipe", mp.ellipe, Domain(((-3, 1),), ((1e-20, 1e20),), signed=True)),
    one(
        "scipy.special.lambertw (k = 0)",
        mp.lambertw,
        Domain(((-0.367, 0), (0, 10)), ((1e-30, 1e30),)),
        call=lambda f, x: weft.numpy.real(f(x)),
        inside=lambda x: x != 0,
    ),
    one(
        "scipy.special.lambertw (k = -1)",
        lambda x: mp.lambertw(x, -1),
        Domain(((-0.367, -0.001),)),
        call=lambda f, x: weft.numpy.real(f(x, -1)),
    ),
    one(
        "scipy.special.spherical_jn (n = 3)",
        spherical(mp.besselj, 3.5),
        Domain(((0, 6),), ((1e-3, 6),)),
        call=of_order_3,
        inside=lambda x: x > 0,
    ),
    one(
        "scipy.special.spherical_yn (n = 3)",
        spherical(mp.bessely, 3.5),
        Domain(((0, 4),), ((1e-3, 4),)),
        call=of_order_3,
        inside=lambda x: x > 0,
    ),
    one(
        "scipy.special.spherical_in (n = 3)",
        spherical(mp.besseli, 3.5),
        Domain(((0, 30),), ((1e-3, 30),)),
        call=of_order_3,
        inside=lambda x: x > 0,
    ),
    one(
        "scipy.special.spherical_kn (n = 3)",
        with_digits(40, lambda x: mp.sqrt(mp.pi / (2 * x)) * mp.besselk(3.5, x)),
        Domain(((0, 30),), ((1e-3, 30),)),
        call=of_order_3,
        inside=lambda x: x > 0,
    ),
    one(
        "scipy.special.exprel",
        with_digits(60, lambda x: mp.expm1(x) / x),
        Domain(((-80, 80), (-1, 1)), ((1e-30, 1),), signed=True),
        inside=lambda x: x != 0,
    ),
    Row(
        "scipy.special.pseudo_huber",
        with_digits(60, lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)),
        (Domain(((0.1, 10),)), Domain(((-10, 10),), ((1e-6, 1e6),), signed=True)),
    ),
    Row(
        "scipy.special.comb",
        with_digits(40, mp.binomial),
        (Domain(((0, 30),), whole=True), Domain(((0, 30),), whole=True)),
        inside=lambda n, k: k <= n,
        points=300,
    ),
    one(
        "scipy.special.factorial",
        mp.factorial,
        Domain(((0, 33),), whole=True),
        Domain(((0, 170),), whole=True),
    ),
    one(
        "scipy.special.multigammaln (d = 3)",
        with_digits(
            40,
            lambda a: 3 * mp.log(mp.pi) / 2 + sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(3)),
        ),
        Domain(((1.1, 10),), ((2, 1e6),)),
        call=lambda f, a: f(a, 3),
        reason=ZEROS,
    ),
    one(
        "scipy.special.wofz (imaginary axis)",
        erfcx,
        Domain(((-8, 20), (-1, 1)), ((1e-3, 1e6),)),
        call=lambda f, x: weft.numpy.real(f(1j * x)),
        reason=EXPONENT,
    ),
]


_FEW = 64  # elements of a call outside jit, where NumPy may be the faster one


def measured(row: Row, dtype: str, count: int, seed: int = 0) -> Iterator[tuple[str, Worst]]:
    """("eager" or "compiled", the worst error) of a function."""
    f = row.function()
    with enable_x64(dtype == "float64"):
        xs = row.arguments(dtype, count, seed)
        exact = exact_values(row, xs)
        arrays = [weft.numpy.array(x) for x in xs]
        parts = range(0, len(arrays[0]), _FEW)
        eager = np.concatenate([np.asarray(f(*[a[i : i + _FEW] for a in arrays])) for i in parts])
        yield "eager", worst_of(xs, eager, exact)
        compiled = np.asarray(weft.jit(lambda *ys: f(*ys))(*arrays))
        assert compiled.dtype == eager.dtype == dtype
        yield "compiled", worst_of(xs, compiled, exact)
