"""The beta function as a formula for compiled programs.

For positive arguments, B(a, b) is exp(a log(a / (a + b)) + b log(b / (a + b))) and factors near 1,
with the exponent in two numbers: no rounded number of its size is exponentiated. Other arguments
take the gamma function's formulas, in a loop that doesn't run where there are none.

Knows the beta function only.
"""

import math
from collections.abc import Sequence

from .formulas import Algebra, BlockAlgebra, Number, Term, log_of_2
from .gamma_formulas import beta_anywhere, gamma_below, stirling_remainder
from .powers import log_in_two


def beta_formula(m: Algebra, a: Number, b: Number) -> Number:
    """B(a, b)."""
    if not isinstance(m, BlockAlgebra):
        return beta_anywhere(m, a, b)

    def usual(a: Number, b: Number) -> Number:
        return (m.minimum(a, b) > 0) & (a + b < math.inf)

    def going(out: Number, a: Number, b: Number) -> Number:
        return ~usual(a, b)

    def step(n: Number, out: Number, a: Number, b: Number) -> Sequence[Number]:
        # XLA moves out of the loop what is made of numbers that don't change
        done = m.like(a, 1.0)
        return m.where(usual(a, b), out, beta_anywhere(m, a, b)), done, done

    positive = usual(a, b)
    low, high = (m.where(positive, f(a, b), 1.0) for f in (m.minimum, m.maximum))
    return m.loop(1, going, step, (_beta_positive(m, low, high), a, b))[0]


def _beta_positive(m: BlockAlgebra, low: Term, high: Term) -> Term:
    """B(low, high) for 0 < low ≤ high: Γ(low) Γ(q) / Γ(q + low), where q is `high`, or `least`
    more. Γ(q) / Γ(q + low) is by Stirling's formula, Γ(low) from `least` on (DLMF 5.11.1)."""
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


def _exponent(m: BlockAlgebra, p: Term, q: Term, base: Term) -> tuple[Term, Term, Term]:
    """(x, y, n): x + y + n times the first part of log(2) is the exponent
    p log(base / (p + q)) + q log(q / (p + q)); for base 0, p (1 - log(p + q)) + q log(q / (p + q)).
    """
    none = base == 0
    total = p + q
    start = m.head(total)
    lost = ((q - start) + p) - (total - start)  # of p + q
    sum_head, sum_rest = log_in_two(m, total, 0)
    base_head, base_rest = log_in_two(m, m.where(none, 1.0, base), 0)
    q_head, q_rest = log_in_two(m, q, 0)
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
    """head + rest, with half of the digits in the first."""
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
