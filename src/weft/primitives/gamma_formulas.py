"""The logarithm of the gamma function and its derivative, as formulas for compiled programs.

XLA's own lose digits where the functions are small: lgamma(1.6) is off by 4e-6 in float32, and near
its zeros at 1 and 2 nothing is right. Here both are exact to a few units in the last place for
x > 0; for x < 0, where they have zeros between the poles, to a few units of the larger terms.

Knows the functions of one real number; the incomplete ones are in `incomplete`.
"""

import math

from .formulas import Algebra, Number, chebyshev

# Chebyshev series, computed for weft from Taylor's with 80 digits: of log Γ(2 + t) / t in 2 t, and
# of digamma(3/2 + t) / (3/2 + t - its zero) in 2 t.
# fmt: off
LGAMMA_NEAR_2 = (
    0.41418612492156676, 0.16322170068760064, -0.0086589723941262846, 0.00067275157260014847,
    -6.1395569636282335e-05, 6.1100657970035758e-06, -6.4100030338262228e-07,
    6.9622426927689512e-08, -7.7472487337882167e-09, 8.7740751406872395e-10,
    -1.0070266869830198e-10, 1.1678602130652374e-11, -1.3656871334744932e-12,
    1.6079351149711552e-13, -1.9039501088488732e-14, 2.2653768767833064e-15,
    -2.7066568148318961e-16, 3.245660731626191e-17, -3.9044833784574469e-18,
)
DIGAMMA_NEAR_ZERO = (
    0.98357026044156703, -0.22706408633464439, 0.033368899023930108, -0.0053200772715965476,
    0.00087886569378205052, -0.00014773492650606044, 2.5060543468359146e-05,
    -4.2721034029993324e-06, 7.3027692724659233e-07, -1.2502886813559594e-07,
    2.1425009322359472e-08, -3.6732959185651789e-09, 6.2997172361089314e-10,
    -1.080593028883266e-10, 1.8537351920536379e-11, -3.1802353658255301e-12,
    5.4561475703227946e-13, -9.3609931310364384e-14, 1.606064636295075e-14,
    -2.7555431377438815e-15, 4.7277361786019116e-16, -8.1114842034650894e-17,
    1.3917077694741539e-17, -2.3877901082188625e-18,
)
# fmt: on
_ZERO = 1.4616321325302124, 1.2438149938918909e-08  # of digamma; a float32, and what it lacks

# of log Γ(x) = (x - 1/2) (log x - 1) + (log(2π) - 1) / 2 + stirling(x)
STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
# B(2k) / (2k), of the asymptotic series of digamma
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def series(m: Algebra, coefficients: tuple[float, ...], first: Number, square: Number) -> Number:
    """The sum of c[k] · first · square**k."""
    total = m.like(first, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * square + c
    return total * first


def lgamma_formula(m: Algebra, x: Number) -> Number:
    """log |Γ(x)|."""
    size = m.abs(x)
    here = m.where(size < 0.5, x, size)  # so far x itself will do, be it negative
    # moved to [3/2, 5/2] by Γ(x + 1) = x Γ(x); beyond 8, Stirling's series
    below_half, below = here < 0.5, here < 1.5
    near = m.where(below, here + m.where(below_half, 2.0, 1.0), here)
    factor = m.where(below, here * m.where(below_half, 1 + here, 1.0), 1.0)
    t = m.where(below_half, here, m.where(below, here - 1, here - 2))
    for _ in range(6):
        far = near >= 2.5
        near = m.where(far, near - 1, near)
        factor = m.where(far, factor * near, factor)
    t = m.where(below, t, near - 2)
    large = here >= 8
    logarithm = m.log(m.where(large, here, m.abs(factor)))
    close = t * chebyshev(m, LGAMMA_NEAR_2, 2 * t) + m.where(below, -logarithm, logarithm)
    inverse = 1 / m.maximum(here, 8)
    tail = series(m, STIRLING, inverse, inverse * inverse)
    beyond = (here - 0.5) * (logarithm - 1) + ((math.log(2 * math.pi) - 1) / 2 + tail)
    out = m.where(large, beyond, close)
    # log |Γ(-x)| = log(π / (x |sin(πx)|)) - log Γ(x)
    turn = size - m.floor(size + 0.5)
    reflected = m.log(math.pi / (size * m.abs(m.sin(math.pi * turn)))) - out
    out = m.where(x <= -0.5, reflected, out)
    pole = (x < 0) & (turn == 0)
    return m.where(pole | (size == math.inf), math.inf, out)


def digamma_formula(m: Algebra, x: Number) -> Number:
    """The derivative of log Γ(x)."""
    size = m.abs(x)
    # moved to [1, 2] by digamma(x + 1) = digamma(x) + 1 / x
    below = size < 1
    near = m.where(below, size + 1, size)
    moved = m.where(below, -1 / size, 0.0)
    for _ in range(6):
        far = near > 2
        near = m.where(far, near - 1, near)
        moved = m.where(far, moved + 1 / near, moved)
    slope = chebyshev(m, DIGAMMA_NEAR_ZERO, 2 * near - 3)
    # XLA adds up constants that are subtracted one after the other, and the second one would go
    close = (near - _ZERO[0]) * slope - _ZERO[1] * slope + moved
    inverse = 1 / m.maximum(size, 8)
    square = inverse * inverse
    tail = 0.5 * inverse + series(m, DIGAMMA_SERIES, square, square)
    out = m.where(size >= 8, m.log(m.maximum(size, 8)) - tail, close)
    # digamma(-x) = digamma(x) + 1 / x + π / tan(πx)
    turn = size - m.floor(size + 0.5)
    reflected = out + 1 / size + math.pi / m.tan(math.pi * turn)
    pole = (x < 0) & ((turn == 0) | (size == math.inf))
    out = m.where(x < 0, m.where(pole, math.nan, reflected), out)
    return m.where(size == 0, -1 / x, out)
