"""The inverse error function on NumPy arrays, to the last bits of float64, by ratios of
polynomials."""

import math

import numpy as np

from .rule_types import Host

Ratio = tuple[tuple[float, ...], tuple[float, ...]]  # numerator and denominator

# Rational approximations of the quantiles of the normal distribution: numerator and denominator,
# highest power first (M. J. Wichura 1988, “Algorithm AS 241: The percentage points of the normal
# distribution”, Applied Statistics 37, PPND16).
CENTRE = (
    (
        2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
        13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
    ),
    (
        5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
        5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0,
    ),
)  # fmt: skip
TAIL = (
    (
        7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
        1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
        4.6303378461565452959, 1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
        0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
        2.05319162663775882187, 1.0,
    ),
)  # fmt: skip
FAR_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
        0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
        5.4637849111641143699, 6.6579046435011037772,
    ),
    (
        2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
        7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
        0.59983220655588793769, 1.0,
    ),
)  # fmt: skip
_ROOT = math.sqrt(0.5)


def _ratio(coefficients: Ratio, r: Host) -> Host:
    """A ratio of polynomials."""
    numerator, denominator = (np.full_like(r, c[0]) for c in coefficients)
    for total, (_, *lower_coefficients) in zip((numerator, denominator), coefficients, strict=True):
        for c in lower_coefficients:
            total *= r
            total += c
    return numerator / denominator


def erf_inv(x: Host) -> Host:
    """The inverse of erf."""
    x = np.asarray(x)
    elements = x.reshape(-1)
    if elements.size <= _MAX_SCALAR_ELEMENTS and x.dtype.itemsize < 8:
        return (
            np.array([_erf_inv_of_number(y) for y in elements.tolist()])
            .reshape(x.shape)
            .astype(x.dtype)
        )
    out = np.empty(elements.shape, x.dtype)
    with np.errstate(all="ignore"):
        for start in range(0, elements.size, _CHUNK_ELEMENTS):
            out[start : start + _CHUNK_ELEMENTS] = _erf_inv_of_chunk(
                elements[start : start + _CHUNK_ELEMENTS].astype(np.float64)
            )
    return out.reshape(x.shape)


_MAX_SCALAR_ELEMENTS = 32  # up to this many elements a Python loop is faster than array operations
_CHUNK_ELEMENTS = 16384  # elements processed at a time, so that they stay in the cache


def _erf_inv_of_chunk(y: Host) -> Host:
    half = 0.5 * y
    out = half * _ratio(CENTRE, 0.180625 - half * half)
    tails = np.flatnonzero(~(np.abs(y) <= 0.85))
    if tails.size:
        t = y[tails]
        r = np.sqrt(-np.log(0.5 * (1.0 - np.abs(t))))
        tail_values = _ratio(TAIL, r - 1.6)
        is_far = np.flatnonzero(r > 5.0)
        if is_far.size:
            tail_values[is_far] = _ratio(FAR_TAIL, r[is_far] - 5.0)
            tail_values[r == np.inf] = np.inf
        out[tails] = np.copysign(tail_values, t)
    return out * _ROOT


def _erf_inv_of_number(y: float) -> float:
    """For a number of at most 24 bits, for which 1 - |y| keeps enough digits."""
    magnitude = abs(y)
    if not 1e-8 < magnitude < 1.0:
        return (
            math.copysign(math.inf, y)
            if magnitude == 1.0
            else y / _SLOPE
            if magnitude < 1.0
            else math.nan
        )
    if magnitude <= 0.85:
        return 0.5 * y * _scalar_ratio(CENTRE, 0.180625 - 0.25 * y * y) * _ROOT
    r = math.sqrt(-math.log(0.5 * (1.0 - magnitude)))
    tail = _scalar_ratio(TAIL, r - 1.6) if r <= 5.0 else _scalar_ratio(FAR_TAIL, r - 5.0)
    return math.copysign(tail * _ROOT, y)


def _scalar_ratio(coefficients: Ratio, r: float) -> float:
    """A ratio of polynomials, for one number."""
    numerator = denominator = 0.0
    for a, b in zip(*coefficients, strict=True):
        numerator, denominator = numerator * r + a, denominator * r + b
    return numerator / denominator


_SLOPE = 2 / math.sqrt(math.pi)  # of erf at zero
