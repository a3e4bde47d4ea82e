"""Quotients of gamma functions as formulas for compiled programs: the beta function, Pochhammer's
symbol.

For positive arguments, B(a, b) is exp(a log(a / (a + b)) + b log(b / (a + b))) and factors near 1,
with the exponent as a sum of two numbers, so that its rounding error is small. Γ(z + n) / Γ(z) is
computed in the same way. Other arguments use the gamma function's formulas, in a loop that runs
only if there are such arguments.
"""

import math
from collections.abc import Sequence

from .formulas import Algebra, BlockAlgebra, Formula, Number, Term, log_of_2
from .gamma_formulas import beta_anywhere, gamma_below, poch_anywhere, stirling_remainder
from .power_formulas import log_in_two


def _with_fast_formula(condition: Formula, formula: Formula, general_formula: Formula) -> Formula:
    """A function of two numbers: `formula` where `condition` holds, else `general_formula`."""

    def combined_formula(m: Algebra, a: Number, b: Number) -> Number:
        if not isinstance(m, BlockAlgebra):
            return general_formula(m, a, b)

        def condition_fails(out: Number, a: Number, b: Number) -> Number:
            return ~condition(m, a, b)

        def step(n: Number, out: Number, a: Number, b: Number) -> Sequence[Number]:
            # XLA moves computations on constants out of the loop
            one = m.like(a, 1.0)
            return m.where(condition(m, a, b), out, general_formula(m, a, b)), one, one

        condition_holds = condition(m, a, b)
        start = formula(m, m.where(condition_holds, a, 1.0), m.where(condition_holds, b, 1.0))
        return m.loop(1, condition_fails, step, (start, a, b))[0]

    return combined_formula


def _are_positive(m: Algebra, a: Number, b: Number) -> Number:
    return (m.minimum(a, b) > 0) & (a + b < math.inf)


def _ends_are_positive(m: Algebra, z: Number, n: Number) -> Number:
    return (m.minimum(z, z + n) > 0) & (m.maximum(z, z + n) < math.inf)


def _beta_positive(m: BlockAlgebra, a: Term, b: Term) -> Term:
    """B(a, b) for a and b above 0. With low ≤ high: Γ(low) Γ(q) / Γ(q + low), where q is `high`, or
    `lower_bound` more. Stirling's formula gives Γ(q) / Γ(q + low), and also Γ(low) from
    `lower_bound` on (DLMF 5.11.1).
    """
    low, high = m.minimum(a, b), m.maximum(a, b)
    lower_bound = 4 if m.eps > 1e-10 else 8
    low_is_small, high_is_small = low < lower_bound, high < lower_bound
    q = m.where(high_is_small, high + lower_bound, high)
    total, high_total = q + low, low + high
    exponent_head, exponent_tail, n = _exponent(m, low, q, m.where(low_is_small, 0.0, low))
    tails = stirling_remainder(m, q, lower_bound) - stirling_remainder(m, total, lower_bound)
    tails = tails + m.where(low_is_small, 0.0, stirling_remainder(m, low, lower_bound))
    _, log_2_tail = log_of_2(m)
    power = m.exp(exponent_head + (exponent_tail + (tails - n * log_2_tail)))
    gamma = gamma_below(m, m.minimum(low, lower_bound), lower_bound)
    root = m.sqrt(total / q * m.where(low_is_small, 1.0, 2 * math.pi / low))
    factor = m.where(low_is_small, gamma, 1.0) * root
    rising_ratio = _rising_ratio(
        m, m.where(high_is_small, high_total, 1.0), m.where(high_is_small, high, 1.0), lower_bound
    )
    half = m.floor(0.5 * n)
    return factor * power * m.power_of_two(half) * rising_ratio * m.power_of_two(n - half)


def _poch_positive(m: BlockAlgebra, z: Term, n: Term) -> Term:
    """Γ(z + n) / Γ(z) for z > 0 and z + n > 0, from Γ(q) / Γ(q + |n|), where q is the smaller of z
    and z + n, or `lower_bound` more."""
    lower_bound = 4 if m.eps > 1e-10 else 8
    is_rising, distance = n >= 0, m.abs(n)
    low, high = m.minimum(z, z + n), m.maximum(z, z + n)
    low_is_small = low < lower_bound
    q = m.where(low_is_small, low + lower_bound, low)
    exponent_head, exponent_tail, power_of_2 = _exponent(m, distance, q)
    total = q + distance
    tails = stirling_remainder(m, q, lower_bound) - stirling_remainder(m, total, lower_bound)
    _, log_2_tail = log_of_2(m)
    rounding_error = _error_of_lower(m, z, distance, low, is_rising) + _error_of_shifted(
        m, low, q, low_is_small, lower_bound
    )
    exponent_tail = exponent_tail + (tails - rounding_error * m.log1p(distance / q))
    power = m.exp(
        m.where(is_rising, -exponent_head, exponent_head)
        + m.where(
            is_rising,
            power_of_2 * log_2_tail - exponent_tail,
            exponent_tail - power_of_2 * log_2_tail,
        )
    )
    root = m.sqrt(m.where(is_rising, q, total) / m.where(is_rising, total, q))
    short_low, short_high = m.where(low_is_small, low, 1.0), m.where(low_is_small, high, 1.0)
    rising_ratio = _rising_ratio(
        m,
        m.where(is_rising, short_low, short_high),
        m.where(is_rising, short_high, short_low),
        lower_bound,
    )
    power_of_2 = m.where(is_rising, -power_of_2, power_of_2)
    half = m.floor(0.5 * power_of_2)
    return root * power * m.power_of_two(half) * rising_ratio * m.power_of_two(power_of_2 - half)


def _error_of_lower(m: BlockAlgebra, z: Term, distance: Term, low: Term, is_rising: Term) -> Term:
    """The rounding error of `low`, which is z - distance rounded; 0 where low is z."""
    start = m.head(low)
    return m.where(is_rising | (distance > 0.5 * z), 0.0, ((z - start) - distance) - (low - start))


def _error_of_shifted(
    m: BlockAlgebra, low: Term, q: Term, low_is_small: Term, lower_bound: int
) -> Term:
    """The rounding error of q, which is low + lower_bound rounded; 0 where q is low."""
    start = m.head(q)
    return m.where(low_is_small, (low - (start - lower_bound)) - (q - start), 0.0)


def _exponent(
    m: BlockAlgebra, p: Term, q: Term, base: Term | None = None
) -> tuple[Term, Term, Term]:
    """(x, y, n): x + y + n times the first part of log(2) is the exponent
    p log(base / (p + q)) + q log(q / (p + q)); for base 0, and without one,
    p (1 - log(p + q)) + q log(q / (p + q))."""
    total = p + q
    start = m.head(total)
    total_error = ((m.maximum(p, q) - start) + m.minimum(p, q)) - (total - start)  # of p + q
    sum_head, sum_tail = log_in_two(m, total, 0)
    q_head, q_tail = log_in_two(m, q, 0)
    if base is None:
        p_factor, p_factor_tail = _split_in_half(m, 1 - sum_head, -sum_tail)
    else:
        base_is_zero = base == 0
        base_head, base_tail = log_in_two(m, m.where(base_is_zero, 1.0, base), 0)
        p_factor, p_factor_tail = _split_in_half(
            m, m.where(base_is_zero, 1.0, base_head) - sum_head, base_tail - sum_tail
        )
    q_factor, q_factor_tail = _split_in_half(m, q_head - sum_head, q_tail - sum_tail)
    ratio = p / q
    is_small = ratio < 0.125  # there, q log(1 + p/q) is p less a small part
    p_start, q_start = m.head(p), m.head(q)
    p_product = p_start * p_factor
    q_product = m.where(is_small, -p, q_start * q_factor)
    exponent_tail = p * p_factor_tail + (p - p_start) * p_factor
    bend_term = q * m.bend(ratio) - total_error * (p / total)
    exponent_tail = exponent_tail + m.where(
        is_small, bend_term, q * q_factor_tail + (q - q_start) * q_factor - total_error
    )
    minimum = -250.0 if m.eps > 1e-10 else -2000.0  # 0 beyond
    n = m.round(m.maximum((p_product + q_product) * (1 / math.log(2)), minimum))
    log_2_head, _ = log_of_2(m)
    is_minimum = n <= minimum
    exponent_head = m.where(is_minimum, 0.0, (p_product - n * log_2_head) + q_product)
    return exponent_head, m.where(is_minimum, 0.0, exponent_tail), n


def _split_in_half(m: BlockAlgebra, head: Term, tail: Term) -> tuple[Term, Term]:
    """Splits head + tail so that the first part has half of the digits."""
    start = m.head(head + tail)
    return start, (head - start) + tail


def _rising_ratio(m: Algebra, x: Number, y: Number, count: int) -> Number:
    """x (x + 1) … (x + count - 1) / (y (y + 1) …), for a count of 4 or 8, by pairs of factors."""
    x_pair, y_pair = x * (x + (count - 1)), y * (y + (count - 1))
    out = x / y * ((x + (count - 1)) / (y + (count - 1)))
    numerator = denominator = m.like(x, 1.0)
    for k in range(1, count // 2):
        numerator, denominator = (
            numerator * (x_pair + k * (count - 1 - k)),
            denominator * (y_pair + k * (count - 1 - k)),
        )
    return out * (numerator / denominator)


beta_formula = _with_fast_formula(_are_positive, _beta_positive, beta_anywhere)
"""B(a, b)."""

poch_formula = _with_fast_formula(_ends_are_positive, _poch_positive, poch_anywhere)
"""Γ(z + n) / Γ(z)."""
