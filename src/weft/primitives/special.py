"""Special functions: error functions, gamma functions, zeta, Bessel functions.

On the host they are references: exact to a few units in the last place of float64, not fast. XLA
takes over beyond a few dozen elements.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.primitive import Primitive, Rule
from ..core.value import Value
from . import normal_quantile
from .arithmetic import add, div, like, mul, neg, sign, square, sub
from .comparison import eq
from .families import nary, unary
from .formulas import Algebra, Formula, Number, chebyshev, evaluated, lowered, lowered_in_wider
from .gamma_formulas import DIGAMMA_SERIES, digamma_formula, lgamma_formula
from .rule_types import Host, Kernel
from .selection import where
from .structural import full
from .transcendental import exp

_SLOW = 64  # elements up to which a Python function for each is faster than a compiled program


def left_to_xla(primitive: Primitive) -> Primitive:
    """Makes the evaluate rule a reference for tests: even for one element a compiled program is
    faster (igamma: 10 against 1200 µs)."""
    primitive.host_when(lambda *_, **__: False)
    return primitive


def elementwise(function: Callable[[float], float]) -> Kernel:
    """An evaluate rule that calls a Python function for each element."""
    each = np.frompyfunc(function, 1, 1)

    def rule(x: Host) -> Host:
        out = each(np.asarray(x).astype(np.float64))
        return np.asarray(out, np.float64).astype(x.dtype)

    return rule


def undefined(name: str, argument: str) -> Rule:
    """The derivative in an argument for which none is implemented."""

    def rule(*_: Value) -> Value:
        raise NotImplementedError(
            f"{name}: the derivative with respect to {argument} is not implemented\n"
            f"  fix: lax.stop_gradient around {argument}"
        )

    return rule


def special(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of one real number; lowered to CHLO's operation of that name by default."""
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    rules.setdefault("host_limit", _SLOW)
    return unary(
        name, doc, stablehlo=lower, accepts="float",
        evaluate_in=dict.fromkeys(dtypes.FLOAT8, rules["evaluate"]), **rules,
    )  # fmt: skip


def specials(name: str, doc: str, **rules: Any) -> Primitive:
    """A function of several real numbers: see `special`."""
    lower = rules.pop("stablehlo", f"chlo.{name}")
    if isinstance(lower, str):
        lower = lowered_in_wider(lower)
    return nary(
        name, doc, stablehlo=lower, accepts="float", host_limit=_SLOW,
        evaluate_in=dict.fromkeys(dtypes.FLOAT8, rules["evaluate"]), **rules,
    )  # fmt: skip


# --- error functions ---

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gaussian(x: Value) -> Value:
    """The derivative of erf."""
    return mul(like(x, _TWO_OVER_SQRT_PI), exp(neg(square(x))))


erf: Primitive = special(
    "erf", "The error function.", evaluate=elementwise(math.erf),
    jvp=lambda dx, out, x: mul(dx, _gaussian(x)),
)  # fmt: skip
erfc: Primitive = special(
    "erfc", "1 - erf(x), exact for large x.", evaluate=elementwise(math.erfc),
    jvp=lambda dx, out, x: neg(mul(dx, _gaussian(x))),
)  # fmt: skip


erf_inv: Primitive = special(
    "erf_inv", "The inverse of erf, on (-1, 1).", evaluate=normal_quantile.erf_inv,
    jvp=lambda dx, out, x: mul(dx, mul(like(x, 1 / _TWO_OVER_SQRT_PI), exp(square(out)))),
    host_limit=262_144,
)  # fmt: skip

# --- gamma functions ---


def _lgamma_of(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


lgamma: Primitive = special(
    "lgamma", "log |Γ(x)|.", evaluate=elementwise(_lgamma_of), stablehlo=lowered(lgamma_formula),
    jvp=lambda dx, out, x: mul(dx, digamma(x)),
)  # fmt: skip


def _digamma_of(x: float) -> float:
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x <= 0:
        if x == math.floor(x):
            return math.nan if x else -math.copysign(math.inf, x)
        return _digamma_of(1 - x) - math.pi / math.tan(math.pi * math.remainder(x, 1))
    shift = 0.0
    terms = []
    while x + shift < 12:
        terms.append(-1 / (x + shift))
        shift += 1
    x += shift
    inverse = 1 / (x * x) if x < 1e150 else 0.0
    tail, power = [], inverse
    for c in DIGAMMA_SERIES:
        tail.append(-c * power)
        power *= inverse
    return math.fsum([math.log(x) if x < math.inf else x, -0.5 / x, *terms, *tail])


digamma: Primitive = special(
    "digamma", "The derivative of lgamma.", evaluate=elementwise(_digamma_of), host_limit=4,
    stablehlo=lowered(digamma_formula),
    jvp=lambda dx, out, x: mul(dx, polygamma(full(x.aval, 1), x)),
)  # fmt: skip

# B(2k) / (2k)!, of the Euler-Maclaurin sum
_ZETA_SERIES = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip


def _zeta(m: Algebra, x: Number, q: Number) -> Number:
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


def _zeta_everywhere(m: Algebra, x: Number, q: Number) -> Number:
    out = m.where((q <= 0) & (x != m.floor(x)), math.nan, _zeta(m, x, q))
    out = m.where(x < 1, math.nan, out)
    even = (m.floor(x / 2) * 2 == x) & (x < math.inf)
    pole = (q <= 0) & (q == m.floor(q))
    out = m.where(pole, m.where(even, math.inf, math.nan), out)
    return m.where(x == 1, math.inf, out)


zeta: Primitive = left_to_xla(specials(
    "zeta", "Hurwitz's zeta function: the sum of (q + n) ** -x for n = 0, 1, …",
    evaluate=evaluated(_zeta_everywhere), stablehlo=lowered(_zeta_everywhere),
    jvp=(
        undefined("zeta", "x"),
        lambda dq, out, x, q: neg(mul(dq, mul(x, zeta(add(x, like(x, 1)), q)))),
    ),
))  # fmt: skip


_zeta_of = evaluated(_zeta_everywhere)


def _evaluate_polygamma(n: Host, x: Host) -> Host:
    dtype = n.dtype
    n, x = np.broadcast_arrays(n.astype(np.float64), x.astype(np.float64))
    whole = np.isfinite(n) & (n == np.floor(n)) & (n >= 0)
    order = np.where(whole, n, 0)
    large = np.exp(np.asarray(elementwise(_lgamma_of)(order + 1)))
    factorial = np.where(order < 171, _FACTORIALS[np.minimum(order, 170).astype(int)], large)
    general = np.where(order % 2 == 0, -factorial, factorial) * _zeta_of(order + 1, x)
    out = np.where(order == 0, np.asarray(elementwise(_digamma_of)(x)), general)
    return np.where(whole, out, np.nan).astype(dtype)


_FACTORIALS = np.array([float(math.factorial(k)) for k in range(171)])

polygamma: Primitive = left_to_xla(specials(
    "polygamma", "The n-th derivative of digamma; n is a whole number of float dtype.",
    evaluate=_evaluate_polygamma,
    jvp=(
        undefined("polygamma", "n"),
        lambda dx, out, n, x: mul(dx, polygamma(add(n, like(n, 1)), x)),
    ),
))  # fmt: skip

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
)
# fmt: on


def _bessel_formula(below_8: Sequence[float], above_8: Sequence[float], odd: bool) -> Formula:
    def formula(m: Algebra, x: Number) -> Number:
        size = m.abs(x)
        near, far = m.minimum(size, 8), m.maximum(size, 8)
        small = chebyshev(m, below_8, near * 0.25 - 1)
        large = chebyshev(m, above_8, 16 / far - 1) / m.sqrt(far)
        if odd:
            small = small * x
            large = m.where(x < 0, -large, large)
        else:
            small = m.where(size == 0, 1.0, small)
        return m.where(size <= 8, small, m.where(x == x, large, x))

    return formula


_I0 = _bessel_formula(I0_BELOW_8, I0_ABOVE_8, False)
_I1 = _bessel_formula(I1_BELOW_8, I1_ABOVE_8, True)

bessel_i0e: Primitive = left_to_xla(special(
    "bessel_i0e", "exp(-|x|) I0(x), with the modified Bessel function of order 0.",
    evaluate=evaluated(_I0), stablehlo=lowered(_I0),
    jvp=lambda dx, out, x: mul(dx, sub(bessel_i1e(x), mul(sign(x), out))),
))  # fmt: skip


def _i1e_jvp(dx: Value, out: Value, x: Value) -> Value:
    zero_here = eq(x, like(x, 0))
    safe = where(zero_here, like(x, 1), x)
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), div(like(x, 1), safe))))
    return mul(dx, where(zero_here, like(x, 0.5), slope))


bessel_i1e: Primitive = left_to_xla(special(
    "bessel_i1e", "exp(-|x|) I1(x), with the modified Bessel function of order 1.",
    evaluate=evaluated(_I1), stablehlo=lowered(_I1), jvp=_i1e_jvp,
))  # fmt: skip
