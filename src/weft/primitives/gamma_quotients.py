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


def _mostly(usual: Formula, formula: Formula, anywhere: Formula) -> Formula:
    """A function of two numbers: `formula` where `usual` holds, else `anywhere`."""

    def both(m: Algebra, a: Number, b: Number) -> Number:
        if not isinstance(m, BlockAlgebra):
            return anywhere(m, a, b)

        def going(out: Number, a: Number, b: Number) -> Number:
            return ~usual(m, a, b)

        def step(n: Number, out: Number, a: Number, b: Number) -> Sequence[Number]:
            # XLA moves computations on constants out of the loop
            done = m.like(a, 1.0)
            return m.where(usual(m, a, b), out, anywhere(m, a, b)), done, done

        here = usual(m, a, b)
        start = formula(m, m.where(here, a, 1.0), m.where(here, b, 1.0))
        return m.loop(1, going, step, (start, a, b))[0]

    return both


def _positive(m: Algebra, a: Number, b: Number) -> Number:
    return (m.minimum(a, b) > 0) & (a + b < math.inf)


def _ends_positive(m: Algebra, z: Number, n: Number) -> Number:
    return (m.minimum(z, z + n) > 0) & (m.maximum(z, z + n) < math.inf)


def _beta_positive(m: BlockAlgebra, a: Term, b: Term) -> Term:
    """B(a, b) for a and b above 0. With low ≤ high: Γ(low) Γ(q) / Γ(q + low), where q is `high`, or
    `least` more. Stirling's formula gives Γ(q) / Γ(q + low), and also Γ(low) from `least` on (DLMF
    5.11.1).
    """
    low, high = m.minimum(a, b), m.maximum(a, b)
    least = 4 if m.eps > 1e-10 else 8
    small, short = low < least, high < least
    q = m.where(short, high + least, high)
    total, wide = q + low, low + high
    head, rest, n = _exponent(m, low, q, m.where(small, 0.0, low))
    tails = stirling_remainder(m, q, least) - stirling_remainder(m, total, least)
    tails = tails + m.where(small, 0.0, stirling_remainder(m, low, least))
    _, second = log_of_2(m)
    power = m.exp(head + (rest + (tails - n * second)))
    gamma = gamma_below(m, m.minimum(low, least), least)
    root = m.sqrt(total / q * m.where(small, 1.0, 2 * math.pi / low))
    front = m.where(small, gamma, 1.0) * root
    lifted = _rising_ratio(m, m.where(short, wide, 1.0), m.where(short, high, 1.0), least)
    half = m.floor(0.5 * n)
    return front * power * m.power_of_two(half) * lifted * m.power_of_two(n - half)


def _poch_positive(m: BlockAlgebra, z: Term, n: Term) -> Term:
    """Γ(z + n) / Γ(z) for z > 0 and z + n > 0, from Γ(q) / Γ(q + |n|), where q is the smaller of z
    and z + n, or `least` more."""
    least = 4 if m.eps > 1e-10 else 8
    up, apart = n >= 0, m.abs(n)
    low, wide = m.minimum(z, z + n), m.maximum(z, z + n)
    short = low < least
    q = m.where(short, low + least, low)
    head, rest, twos = _exponent(m, apart, q)
    total = q + apart
    tails = stirling_remainder(m, q, least) - stirling_remainder(m, total, least)
    _, second = log_of_2(m)
    lost = _lost_of_lower(m, z, apart, low, up) + _lost_of_lifted(m, low, q, short, least)
    rest = rest + (tails - lost * m.log1p(apart / q))
    power = m.exp(
        m.where(up, -head, head) + m.where(up, twos * second - rest, rest - twos * second)
    )
    root = m.sqrt(m.where(up, q, total) / m.where(up, total, q))
    first, last = m.where(short, low, 1.0), m.where(short, wide, 1.0)
    lifted = _rising_ratio(m, m.where(up, first, last), m.where(up, last, first), least)
    twos = m.where(up, -twos, twos)
    half = m.floor(0.5 * twos)
    return root * power * m.power_of_two(half) * lifted * m.power_of_two(twos - half)


def _lost_of_lower(m: BlockAlgebra, z: Term, apart: Term, low: Term, up: Term) -> Term:
    """The rounding error of `low`, which is z - apart rounded; 0 where low is z."""
    start = m.head(low)
    return m.where(up | (apart > 0.5 * z), 0.0, ((z - start) - apart) - (low - start))


def _lost_of_lifted(m: BlockAlgebra, low: Term, q: Term, short: Term, least: int) -> Term:
    """The rounding error of q, which is low + least rounded; 0 where q is low."""
    start = m.head(q)
    return m.where(short, (low - (start - least)) - (q - start), 0.0)


def _exponent(
    m: BlockAlgebra, p: Term, q: Term, base: Term | None = None
) -> tuple[Term, Term, Term]:
    """(x, y, n): x + y + n times the first part of log(2) is the exponent
    p log(base / (p + q)) + q log(q / (p + q)); for base 0, and without one,
    p (1 - log(p + q)) + q log(q / (p + q))."""
    total = p + q
    start = m.head(total)
    lost = ((m.maximum(p, q) - start) + m.minimum(p, q)) - (total - start)  # of p + q
    sum_head, sum_rest = log_in_two(m, total, 0)
    q_head, q_rest = log_in_two(m, q, 0)
    if base is None:
        one, one_rest = _halved(m, 1 - sum_head, -sum_rest)
    else:
        none = base == 0
        base_head, base_rest = log_in_two(m, m.where(none, 1.0, base), 0)
        one, one_rest = _halved(m, m.where(none, 1.0, base_head) - sum_head, base_rest - sum_rest)
    two, two_rest = _halved(m, q_head - sum_head, q_rest - sum_rest)
    ratio = p / q
    near = ratio < 0.125  # there, q log(1 + p/q) is p less a small part
    p_start, q_start = m.head(p), m.head(q)
    large = p_start * one
    other = m.where(near, -p, q_start * two)
    rest = p * one_rest + (p - p_start) * one
    bend = q * m.bend(ratio) - lost * (p / total)
    rest = rest + m.where(near, bend, q * two_rest + (q - q_start) * two - lost)
    bottom = -250.0 if m.eps > 1e-10 else -2000.0  # 0 beyond
    n = m.round(m.maximum((large + other) * (1 / math.log(2)), bottom))
    first, _ = log_of_2(m)
    far = n <= bottom
    head = m.where(far, 0.0, (large - n * first) + other)
    return head, m.where(far, 0.0, rest), n


def _halved(m: BlockAlgebra, head: Term, rest: Term) -> tuple[Term, Term]:
    """Splits head + rest so that the first part has half of the digits."""
    start = m.head(head + rest)
    return start, (head - start) + rest


def _rising_ratio(m: Algebra, x: Number, y: Number, count: int) -> Number:
    """x (x + 1) … (x + count - 1) / (y (y + 1) …), for a count of 4 or 8, by pairs of factors."""
    up, down = x * (x + (count - 1)), y * (y + (count - 1))
    out = x / y * ((x + (count - 1)) / (y + (count - 1)))
    above = below = m.like(x, 1.0)
    for k in range(1, count // 2):
        above, below = above * (up + k * (count - 1 - k)), below * (down + k * (count - 1 - k))
    return out * (above / below)


beta_formula = _mostly(_positive, _beta_positive, beta_anywhere)
"""B(a, b)."""

poch_formula = _mostly(_ends_positive, _poch_positive, poch_anywhere)
"""Γ(z + n) / Γ(z)."""
