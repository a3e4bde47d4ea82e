"""Error functions erf, erfc, erf_inv and erfcx; the normal distribution: ndtr, log_ndtr, ndtri.

On the host they serve as references: accurate to a few units in the last place of float64, but not
  fast."""

import math
from collections.abc import Callable
from typing import Any

from ..core.primitive import Primitive
from ..core.value import Value
from . import normal_quantile
from .arithmetic import add, like, mul, neg, square, sub
from .error_formulas import (
    erf_inv_formula,
    erfc_formula,
    erfcx_positive,
    normal_quantile_formula,
    normal_tail,
    with_exp_of_square,
)
from .exponential import exp
from .formulas import Algebra, Number, lowered, split_log1m
from .special import by_formula, elementwise, special

# --- error functions ---

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _gaussian(x: Value) -> Value:
    """The derivative of erf."""
    return mul(like(x, _TWO_OVER_SQRT_PI), exp(neg(square(x))))


def _by_calls(name: str, doc: str, evaluate: Callable[[float], float], **rules: Any) -> Primitive:
    """A function that Python computes element by element."""
    primitive = special(name, doc, evaluate=elementwise(evaluate), host="other", **rules)
    primitive.host.work(lambda avals, outs: 256 * outs[0].size)
    return primitive


erf = _by_calls(
    "erf", "The error function.", math.erf, jvp=lambda dx, out, x: mul(dx, _gaussian(x))
)
erfc = _by_calls(
    "erfc", "1 - erf(x), accurate for large x.", math.erfc, stablehlo=lowered(erfc_formula),
    jvp=lambda dx, out, x: neg(mul(dx, _gaussian(x))),
)  # fmt: skip

erf_inv: Primitive = special(
    "erf_inv", "The inverse of erf, on (-1, 1).", evaluate=normal_quantile.erf_inv,
    stablehlo=lowered(erf_inv_formula),
    jvp=lambda dx, out, x: mul(dx, mul(like(x, 1 / _TWO_OVER_SQRT_PI), exp(square(out)))),
    host="transcendental",
)  # fmt: skip


def _ndtr(m: Algebra, x: Number) -> Number:
    tail = normal_tail(m, x)
    return m.where(x > 0, 1 - tail, tail)


def _log_ndtr(m: Algebra, x: Number) -> Number:
    """Uses one logarithm: log(1 - tail) for x > 0, log(tail) for x < 0."""
    scaled_tail = 0.5 * erfcx_positive(m, m.abs(x) * math.sqrt(0.5))
    tail = with_exp_of_square(m, scaled_tail, x, -0.5)
    complement, rounding_error = split_log1m(m, tail)
    is_far_left, is_positive = x < -1, x > 0
    logarithm = m.log(m.where(is_positive, complement, m.where(is_far_left, scaled_tail, tail)))
    negative_value = m.where(is_far_left, logarithm - 0.5 * (x * x), logarithm)
    return m.where(
        is_positive, m.where(complement == 1, -tail, logarithm + rounding_error), negative_value
    )


def _inverse_mills(m: Algebra, x: Number) -> Number:
    magnitude = m.abs(x)
    scaled_tail = erfcx_positive(m, magnitude * math.sqrt(0.5))
    density = with_exp_of_square(m, m.like(x, math.sqrt(2 / math.pi)), x, -0.5)
    tail = with_exp_of_square(m, scaled_tail, x, -0.5)
    return m.where(x < 0, math.sqrt(2 / math.pi) / scaled_tail, density / (2 - tail))


def _erfcx(m: Algebra, x: Number) -> Number:
    magnitude = m.abs(x)
    out = erfcx_positive(m, magnitude)
    exponential = with_exp_of_square(m, m.like(x, 2.0), x, 1.0)
    return m.where(x < 0, exponential - out, out)


def _ndtri(m: Algebra, p: Number) -> Number:
    return normal_quantile_formula(m, p - 0.5, m.minimum(p, 1 - p))


_ROOT = math.sqrt(2 * math.pi)

ndtr: Primitive = by_formula(
    "ndtr", "The distribution function of the normal distribution.", _ndtr,
    lambda dx, out, x: mul(dx, mul(like(x, 1 / _ROOT), exp(mul(like(x, -0.5), square(x))))),
)  # fmt: skip
log_ndtr: Primitive = by_formula(
    "log_ndtr", "The logarithm of ndtr, accurate far below 0.", _log_ndtr,
    lambda dx, out, x: mul(dx, inverse_mills(x)),
)  # fmt: skip
inverse_mills: Primitive = by_formula(
    "inverse_mills", "The derivative of log_ndtr.", _inverse_mills,
    lambda dx, out, x: neg(mul(dx, mul(out, add(x, out)))),
)  # fmt: skip
ndtri: Primitive = by_formula(
    "ndtri", "The inverse of ndtr, on (0, 1).", _ndtri,
    lambda dp, out, p: mul(dp, mul(like(p, _ROOT), exp(mul(like(p, 0.5), square(out))))),
)  # fmt: skip
erfcx: Primitive = by_formula(
    "erfcx", "exp(x²) erfc(x), which neither vanishes nor overflows for large x.", _erfcx,
    lambda dx, out, x: mul(
        dx, sub(mul(like(x, 2), mul(x, out)), like(x, 2 / math.sqrt(math.pi)))
    ),
)  # fmt: skip
