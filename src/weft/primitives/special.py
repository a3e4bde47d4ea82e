"""Special functions: error functions, gamma and beta functions, zeta, Bessel functions.

On the host they are references: exact to a few units in the last place of float64, not fast. XLA
takes over beyond a few dozen elements.
"""

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..core.primitive import Primitive
from .arithmetic import add, div, like, mul, neg, sign, square, sub
from .comparison import eq
from .families import nary, unary
from .formulas import chebyshev, evaluated, lowered, lowered_in_wider
from .selection import where
from .structural import full
from .transcendental import exp, log, log1p

_SLOW = 64  # elements up to which a Python function for each is faster than a compiled program


def elementwise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """An evaluate rule that calls a Python function for each element."""
    each = np.frompyfunc(function, 1, 1)

    def rule(x: Any) -> Any:
        out = each(np.asarray(x).astype(np.float64))
        return np.asarray(out, np.float64).astype(x.dtype)

    return rule


def undefined(name: str, argument: str) -> Callable[..., Any]:
    """The derivative in an argument for which there is none."""

    def rule(*_: Any) -> Any:
        raise NotImplementedError(
            f"{name}: the derivative with respect to {argument} is not implemented\n"
            f"  fix: lax.stop_gradient around {argument}"
        )

    return rule


def _float(name: str, doc: str, **rules: Any) -> Primitive:
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    rules.setdefault("host_limit", _SLOW)
    return unary(
        name, doc, stablehlo=lower, accepts="float",
        evaluate_in=dict.fromkeys(dtypes.FLOAT8, rules["evaluate"]), **rules,
    )  # fmt: skip


def _floats(name: str, doc: str, arity: int, **rules: Any) -> Primitive:
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    return nary(
        name, doc, arity=arity, stablehlo=lower, accepts="float", host_limit=_SLOW,
        evaluate_in=dict.fromkeys(dtypes.FLOAT8, rules["evaluate"]), **rules,
    )  # fmt: skip


# --- error functions ---

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gaussian(x: Any) -> Any:
    """The derivative of erf."""
    return mul(like(x, _TWO_OVER_SQRT_PI), exp(neg(square(x))))


erf: Primitive = _float(
    "erf", "The error function.", evaluate=elementwise(math.erf),
    jvp=lambda dx, out, x: mul(dx, _gaussian(x)),
)  # fmt: skip
erfc: Primitive = _float(
    "erfc", "1 - erf(x), exact for large x.", evaluate=elementwise(math.erfc),
    jvp=lambda dx, out, x: neg(mul(dx, _gaussian(x))),
)  # fmt: skip


def _erf_inv_of(y: float) -> float:
    if not -1 < y < 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if y == 0:
        return y
    half = (1 - abs(y)) / 2
    x = math.copysign(-_normal.inv_cdf(half) / math.sqrt(2), y)
    if abs(y) < 0.5:  # Newton's steps give back what 1 - |y| has lost
        for _ in range(2):
            x -= (math.erf(x) - y) / (_TWO_OVER_SQRT_PI * math.exp(-x * x))
    return x


_normal = statistics.NormalDist()

erf_inv: Primitive = _float(
    "erf_inv", "The inverse of erf, on (-1, 1).", evaluate=elementwise(_erf_inv_of),
    jvp=lambda dx, out, x: mul(dx, mul(like(x, 1 / _TWO_OVER_SQRT_PI), exp(square(out)))),
)  # fmt: skip

# --- gamma functions ---


def _lgamma_of(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


lgamma: Primitive = _float(
    "lgamma", "log |Γ(x)|.", evaluate=elementwise(_lgamma_of),
    jvp=lambda dx, out, x: mul(dx, digamma(x)),
)  # fmt: skip

# B(2k) / (2k), of the asymptotic series of digamma
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _digamma_of(x: float) -> float:
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x <= 0:
        if x == math.floor(x):
            return math.nan
        turn = x - math.floor(x)
        return _digamma_of(1 - x) - math.pi / math.tan(math.pi * turn)
    shift = 0.0
    terms = []
    while x + shift < 12:
        terms.append(-1 / (x + shift))
        shift += 1
    x += shift
    inverse = 1 / (x * x) if x < 1e150 else 0.0
    tail, power = [], inverse
    for c in _DIGAMMA_SERIES:
        tail.append(-c * power)
        power *= inverse
    return math.fsum([math.log(x) if x < math.inf else x, -0.5 / x, *terms, *tail])


digamma: Primitive = _float(
    "digamma", "The derivative of lgamma.", evaluate=elementwise(_digamma_of),
    jvp=lambda dx, out, x: mul(dx, polygamma(full(x.aval, 1), x)),
)  # fmt: skip

# B(2k) / (2k)!, of the Euler-Maclaurin sum
_ZETA_SERIES = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip


def _zeta(m: Any, x: Any, q: Any) -> Any:
    total = m.like(x, 0.0)
    for n in range(12):
        total = total + m.power(q + n, -x)
    end = q + 12
    last = m.power(end, -x)
    total = total + last * end / (x - 1) + last / 2
    factor, power = x, last / end
    for k, c in enumerate(_ZETA_SERIES):
        total = total + m.where(power == 0, 0.0, c * factor * power)
        factor = factor * (x + (2 * k + 1)) * (x + (2 * k + 2))
        power = power / (end * end)
    return total


def _evaluate_zeta(x: Any, q: Any) -> Any:
    dtype = x.dtype
    x, q = np.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    out = evaluated(_zeta)(x, q)
    pole = (q <= 0) & (q == np.floor(q))
    even = np.isfinite(x) & (np.floor(x / 2) * 2 == x)
    out = np.where((q <= 0) & (x != np.floor(x)), np.nan, out)
    out = np.where(x < 1, np.nan, out)
    out = np.where(pole, np.where(even, np.inf, np.nan), out)
    out = np.where(x == 1, np.inf, out)
    return out.astype(dtype)


zeta: Primitive = _floats(
    "zeta", "Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …", 2,
    evaluate=_evaluate_zeta,
    jvp=(undefined("zeta", "x"), lambda dq, out, x, q: neg(mul(dq, mul(x, zeta(x + 1, q))))),
)  # fmt: skip


def _evaluate_polygamma(n: Any, x: Any) -> Any:
    dtype = n.dtype
    n, x = np.broadcast_arrays(n.astype(np.float64), x.astype(np.float64))
    whole = np.isfinite(n) & (n == np.floor(n)) & (n >= 0)
    order = np.where(whole, n, 0)
    large = np.exp(np.asarray(elementwise(_lgamma_of)(order + 1)))
    factorial = np.where(order < 171, _FACTORIALS[np.minimum(order, 170).astype(int)], large)
    general = np.where(order % 2 == 0, -factorial, factorial) * _evaluate_zeta(order + 1, x)
    out = np.where(order == 0, np.asarray(elementwise(_digamma_of)(x)), general)
    return np.where(whole, out, np.nan).astype(dtype)


_FACTORIALS = np.array([float(math.factorial(k)) for k in range(171)])

polygamma: Primitive = _floats(
    "polygamma", "The n-th derivative of digamma; n is a whole number of float dtype.", 2,
    evaluate=_evaluate_polygamma,
    jvp=(
        undefined("polygamma", "n"),
        lambda dx, out, n, x: mul(dx, polygamma(add(n, like(n, 1)), x)),
    ),
)  # fmt: skip

# --- incomplete gamma functions ---

# of log Γ(a) = (a - 1/2) log a - a + log(2π) / 2 + stirling(a)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def _series(m: Any, coefficients: Any, first: Any, square: Any) -> Any:
    """The sum of c[k] · first · square**k."""
    total = m.like(first, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * square + c
    return total * first


def _lgamma_positive(m: Any, a: Any) -> Any:
    """log Γ(a) for a > 0: moved beyond 8, then Stirling's series."""
    product, moved = m.like(a, 1.0), a
    for _ in range(8):
        small = moved < 8
        product = m.where(small, product * moved, product)
        moved = m.where(small, moved + 1, moved)
    inverse = 1 / moved
    tail = _series(m, _STIRLING, inverse, inverse * inverse)
    return (moved - 0.5) * m.log(moved) - moved + (0.5 * math.log(2 * math.pi)) + tail - m.log(product)


def _digamma_positive(m: Any, a: Any) -> Any:
    """digamma(a) for a > 0, likewise."""
    total, moved = m.like(a, 0.0), a
    for _ in range(8):
        small = moved < 8
        total = m.where(small, total - 1 / moved, total)
        moved = m.where(small, moved + 1, moved)
    inverse = 1 / moved
    square = inverse * inverse
    return total + m.log(moved) - 0.5 * inverse - _series(m, _DIGAMMA_SERIES, square, square)


def _gamma_factor(m: Any, a: Any, x: Any) -> Any:
    """x**a exp(-x) / Γ(a + 1). For large a the powers would lose digits: they are joined there."""
    plain = m.exp(a * m.log(x) - x - _lgamma_positive(m, a + 1))
    large = m.maximum(a, 8)
    inverse = 1 / large
    mu = (x - large) / large
    near = m.exp(-large * (mu - m.log1p(mu)) - _series(m, _STIRLING, inverse, inverse * inverse))
    joined = near / m.sqrt(large * (2 * math.pi))
    return m.where(a > 8, joined, plain)


_LIMIT = 3000  # steps of a series or continued fraction; some 5·sqrt(a) are needed near x = a


def _gamma_series(m: Any, a: Any, x: Any, derivative: bool) -> Any:
    """S = 1 + x/(a+1) + x²/((a+1)(a+2)) + …, and its derivative in a."""
    one, none = m.like(x, 1.0), m.like(x, 0.0)
    if not derivative:

        def step(n: Any, term: Any, total: Any) -> Any:
            term = term * (x / (a + n))
            return term, total + term

        def going(term: Any, total: Any) -> Any:
            return term > total * (m.eps / 4)

        return m.loop(_LIMIT, going, step, (one, one))[1]

    def both(n: Any, term: Any, total: Any, d_term: Any, d_total: Any) -> Any:
        ratio = x / (a + n)
        d_term = (d_term - term / (a + n)) * ratio
        term = term * ratio
        return term, total + term, d_term, d_total + d_term

    def going_both(term: Any, total: Any, d_term: Any, d_total: Any) -> Any:
        return (term > total * (m.eps / 4)) | (m.abs(d_term) > m.abs(d_total) * (m.eps / 4))

    return m.loop(_LIMIT, going_both, both, (one, one, none, none))[1::2]


def _gamma_fraction(m: Any, a: Any, x: Any) -> Any:
    """h and its derivative in a, of Γ(a, x) = x**a exp(-x) h: Lentz's continued fraction."""
    first = x + 1 - a
    d = 1 / first
    dd = d * d
    none = m.like(x, 0.0)

    def step(n: Any, h: Any, dh: Any, d: Any, dd: Any, u: Any, du: Any, change: Any) -> Any:
        numerator, b = n * (a - n), first + 2 * n
        d_new = 1 / (numerator * d + b)
        dd_new = -(d_new * d_new) * (n * d + numerator * dd - 1)
        c = b + numerator * u
        dc = n * u + numerator * du - 1
        factor = d_new * c
        d_factor = dd_new * c + d_new * dc
        u = 1 / c
        return (
            h * factor, dh * factor + h * d_factor, d_new, dd_new, u, -(u * u) * dc,
            m.abs(factor - 1) + m.abs(d_factor) * m.abs(h / m.maximum(m.abs(dh), m.tiny)),
        )  # fmt: skip

    def going(h: Any, dh: Any, d: Any, dd: Any, u: Any, du: Any, change: Any) -> Any:
        return change > 2 * m.eps

    start = (d, dd, d, dd, none, none, m.like(x, 1.0))
    h, dh, *_ = m.loop(_LIMIT, going, step, start)
    return h, dh


def _regions(m: Any, a: Any, x: Any) -> Any:
    """Where the series is used, and harmless operands for it and for the fraction elsewhere."""
    valid = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    below = (x <= 1) | (x <= a)
    series = (m.where(valid & below, a, 1.0), m.where(valid & below, x, 0.5))
    fraction = (m.where(valid & ~below, a, 1.0), m.where(valid & ~below, x, 2.0))
    return below, series, fraction


def _igamma_formula(complement: bool) -> Any:
    def formula(m: Any, a: Any, x: Any) -> Any:
        below, (sa, sx), (fa, fx) = _regions(m, a, x)
        p = _gamma_factor(m, sa, sx) * _gamma_series(m, sa, sx, False)
        q = _gamma_factor(m, fa, fx) * fa * _gamma_fraction(m, fa, fx)[0]
        out = m.where(below, 1 - p, q) if complement else m.where(below, p, 1 - q)
        at_zero, at_infinity = (1.0, 0.0) if complement else (0.0, 1.0)
        out = m.where((x == 0) | (a == math.inf), at_zero, out)
        out = m.where(x == math.inf, m.where(a == math.inf, math.nan, at_infinity), out)
        wrong = (a <= 0) | (x < 0) | (a != a) | (x != x)
        return m.where(wrong, math.nan, out)

    return formula


def _igamma_grad_a_formula(m: Any, a: Any, x: Any) -> Any:
    below, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = _gamma_factor(m, sa, sx) * (
        d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1))
    )
    h, dh = _gamma_fraction(m, fa, fx)
    q = _gamma_factor(m, fa, fx) * fa * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(below, p, -q)
    out = m.where((x == 0) | (a == math.inf) | (x == math.inf), 0.0, out)
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | ((a == math.inf) & (x == math.inf))
    return m.where(wrong, math.nan, out)


def _random_gamma_grad_formula(m: Any, a: Any, x: Any) -> Any:
    below, (sa, sx), (fa, fx) = _regions(m, a, x)
    total, d_total = _gamma_series(m, sa, sx, True)
    p = -(sx / sa) * (d_total + total * (m.log(sx) - _digamma_positive(m, sa + 1)))
    h, dh = _gamma_fraction(m, fa, fx)
    q = fx * (dh + h * (m.log(fx) - _digamma_positive(m, fa)))
    out = m.where(x == 0, 0.0, m.where(below, p, q))
    wrong = (a <= 0) | (x < 0) | (a != a) | (x != x) | (a == math.inf) | (x == math.inf)
    return m.where(wrong, math.nan, out)


def _formula(name: str, doc: str, arity: int, formula: Any, jvp: Any) -> Primitive:
    return _floats(
        name, doc, arity, evaluate=evaluated(formula), stablehlo=lowered(formula), jvp=jvp
    )


def _gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / Γ(a): the derivative of igamma in x."""
    power = mul(sub(a, like(a, 1)), log(x))
    power = where(eq(a, like(a, 1)), like(a, 0), power)  # 0 · log 0
    return exp(sub(sub(power, x), lgamma(a)))


igamma: Primitive = _formula(
    "igamma", "The regularised lower incomplete gamma function P(a, x).", 2,
    _igamma_formula(False),
    (
        lambda da, out, a, x: mul(da, igamma_grad_a(a, x)),
        lambda dx, out, a, x: mul(dx, _gamma_density(a, x)),
    ),
)  # fmt: skip
igammac: Primitive = _formula(
    "igammac", "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).", 2,
    _igamma_formula(True),
    (
        lambda da, out, a, x: neg(mul(da, igamma_grad_a(a, x))),
        lambda dx, out, a, x: neg(mul(dx, _gamma_density(a, x))),
    ),
)  # fmt: skip
igamma_grad_a: Primitive = _formula(
    "igamma_grad_a", "The derivative of igamma in a.", 2, _igamma_grad_a_formula,
    (
        undefined("igamma_grad_a", "a"),
        lambda dx, out, a, x: mul(
            dx, mul(_gamma_density(a, x), sub(log(x), digamma(a)))
        ),
    ),
)  # fmt: skip
random_gamma_grad: Primitive = _floats(
    "random_gamma_grad", "The derivative in a of a sample x of the gamma distribution of shape a.",
    2, evaluate=evaluated(_random_gamma_grad_formula),
    stablehlo=lowered(_random_gamma_grad_formula),
)  # fmt: skip

# --- incomplete beta function ---


def _log_beta(m: Any, a: Any, b: Any) -> Any:
    return _lgamma_positive(m, a) + _lgamma_positive(m, b) - _lgamma_positive(m, a + b)


def _beta_formula(m: Any, a: Any, b: Any, x: Any) -> Any:
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    p, q, t = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
    swap = t * (p + q + 2) > p + 1  # I(a, b, x) = 1 - I(b, a, 1 - x), where the fraction is fast
    low, high = m.where(swap, q, p), m.where(swap, p, q)
    y = m.where(swap, 1 - t, t)
    log_y, log_rest = m.where(swap, m.log1p(-t), m.log(t)), m.where(swap, m.log(t), m.log1p(-t))
    front = m.exp(low * log_y + high * log_rest - _log_beta(m, p, q)) / low

    def nonzero(z: Any) -> Any:
        return m.where(m.abs(z) < 1e-30, 1e-30, z)

    d = 1 / nonzero(1 - (low + high) * y / (low + 1))

    def step(n: Any, h: Any, c: Any, d: Any, change: Any) -> Any:
        even = n * (high - n) * y / ((low + 2 * n - 1) * (low + 2 * n))
        d = 1 / nonzero(1 + even * d)
        c = nonzero(1 + even / c)
        h = h * d * c
        odd = -(low + n) * (low + high + n) * y / ((low + 2 * n) * (low + 2 * n + 1))
        d = 1 / nonzero(1 + odd * d)
        c = nonzero(1 + odd / c)
        return h * d * c, c, d, m.abs(d * c - 1)

    def going(h: Any, c: Any, d: Any, change: Any) -> Any:
        return change > 2 * m.eps

    h = m.loop(_LIMIT, going, step, (d, m.like(d, 1.0), d, m.like(d, 1.0)))[0]
    value = m.where(swap, 1 - front * h, front * h)
    value = m.where(x == 0, 0.0, m.where(x == 1, 1.0, value))
    # degenerate distributions: all weight at 0 or at 1
    value = m.where((a == 0) | (b == math.inf), 1.0, m.where((b == 0) | (a == math.inf), 0.0, value))
    value = m.where((a == 0) & (x == 0), 0.0, m.where((b == 0) & (x == 1), 1.0, value))
    both = ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    wrong = both | (a < 0) | (b < 0) | (x < 0) | (x > 1) | (a != a) | (b != b) | (x != x)
    return m.where(wrong, math.nan, value)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    one = like(x, 1)
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    power = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
    return exp(sub(power, log_beta))


regularized_incomplete_beta: Primitive = _formula(
    "regularized_incomplete_beta", "The regularised incomplete beta function I(a, b, x).", 3,
    _beta_formula,
    (
        undefined("betainc", "a"),
        undefined("betainc", "b"),
        lambda dx, out, a, b, x: mul(dx, _beta_density(a, b, x)),
    ),
)  # fmt: skip

# --- Bessel functions ---

# Chebyshev series, computed for weft from the power series with 60 digits: of exp(-x) I0(x) and
# exp(-x) I1(x) / x in x/4 - 1 below 8, and of sqrt(x) exp(-x) I(x) in 16/x - 1 above.
# fmt: off
I0_BELOW_8 = (
    0.33839763720473798, -0.30468267234319835, 0.17162090152220871, -0.094901097048047625,
    0.049305284239670649, -0.023737414805899471, 0.010546460394594934, -0.0043243099950505959,
    0.0016394756169412663, -0.00057637557453858713, 0.00018850288509580801,
    -5.7541950100825092e-05, 1.6448448070732351e-05, -4.416738358506314e-06,
    1.117387539101708e-06, -2.6707938546027588e-07, 6.0469950187342197e-08,
    -1.3000250146498702e-08, 2.659823679449641e-09, -5.1897957903824371e-10,
    9.6758028817154702e-11, -1.7268296095713599e-11, 2.9550348713131003e-12,
    -4.8563182555166895e-13, 7.6668416985429617e-14, -1.1692542189097505e-14,
    1.699450765298612e-15, -2.8825321759147943e-16,
)
I0_ABOVE_8 = (
    0.40224520550705445, 0.0033691164782557472, 6.8897583469139853e-05, 2.8913705208322655e-06,
    2.0489185894314519e-07, 2.266668987550783e-08, 3.3962320008063995e-09, 4.9406022691549978e-10,
    1.1889043095973536e-11, -3.1499183233343128e-11, -1.3215848239000007e-11,
    -1.7941481633698686e-12, 7.1801637308312427e-13, 3.8527254303533098e-13,
    1.5371542422764669e-14, -4.152991082342148e-14, -9.5804046514173669e-15,
    3.7754679433293411e-15, 1.7438701997592302e-15, -3.7012690891977877e-16,
    -2.8712253982710585e-16, 1.4824000612892714e-17, 6.5604087818759253e-17,
    -4.4866257174127419e-17, -1.0502962136368669e-16,
)
I1_BELOW_8 = (
    0.1262935932218168, -0.17641651835783401, 0.10264365868984705, -0.052945981208094989,
    0.024726449030626488, -0.010564084894626203, 0.0041564229443128596, -0.0015135724506312594,
    0.0005122859561685493, -0.00016176081582590195, 4.7815651075490825e-05,
    -1.3273163656041425e-05, 3.4702513081423291e-06, -8.5687202648847836e-07,
    2.0032947535146605e-07, -4.4450591316371793e-08, 9.3815373711203098e-09,
    -1.8872497718689539e-09, 3.6255901107945868e-10, -6.6634906513675485e-11,
    1.1736162732472789e-11, -1.9839915120211751e-12, 3.2237329487006894e-13,
    -5.0411150044557998e-14, 7.5610091104794108e-15, -1.0998779288960239e-15,
    1.501891059435545e-16, -3.5028765189385837e-17,
)
I1_ABOVE_8 = (
    0.38928811750914011, -0.0097610974913614271, -0.00011058893876265033, -3.8825648088839603e-06,
    -2.5122362378499028e-07, -2.6314688493180534e-08, -3.8353804132009528e-09,
    -5.5897436466432906e-10, -1.8975050066558843e-11, 3.2526007376732959e-11,
    1.4125779775684613e-11, 2.0356544732697497e-12, -7.1985487987653859e-13,
    -4.0836289526658864e-13, -2.1042984274269569e-14, 4.2692885211929751e-14,
    1.0389732004027636e-14, -3.8514015209368709e-15, -1.9042532702199951e-15,
    3.0862307658969195e-16, 3.0178431705184384e-16, -4.9833874400788275e-17,
    -2.523234146875356e-17, -1.7426085826857925e-17, -8.831319514063746e-17,
)# fmt: on


def _bessel_formula(below_8: Any, above_8: Any, odd: bool) -> Any:
    def formula(m: Any, x: Any) -> Any:
        size = m.abs(x)
        near, far = m.minimum(size, 8), m.maximum(size, 8)
        small = chebyshev(m, below_8, near * 0.25 - 1)
        large = chebyshev(m, above_8, 16 / far - 1) / m.sqrt(far)
        if odd:
            small = small * x
            large = m.where(x < 0, -large, large)
        return m.where(size <= 8, small, m.where(x == x, large, x))

    return formula


_I0 = _bessel_formula(I0_BELOW_8, I0_ABOVE_8, False)
_I1 = _bessel_formula(I1_BELOW_8, I1_ABOVE_8, True)

bessel_i0e: Primitive = _float(
    "bessel_i0e", "exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    evaluate=evaluated(_I0), stablehlo=lowered(_I0), host_limit=1024,
    jvp=lambda dx, out, x: mul(dx, sub(bessel_i1e(x), mul(sign(x), out))),
)  # fmt: skip


def _i1e_jvp(dx: Any, out: Any, x: Any) -> Any:
    zero_here = eq(x, like(x, 0))
    safe = where(zero_here, like(x, 1), x)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), div(like(x, 1), safe))))
    return mul(dx, where(zero_here, like(x, 0.5), slope))


bessel_i1e: Primitive = _float(
    "bessel_i1e", "exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    evaluate=evaluated(_I1), stablehlo=lowered(_I1), host_limit=1024, jvp=_i1e_jvp,
)  # fmt: skip
