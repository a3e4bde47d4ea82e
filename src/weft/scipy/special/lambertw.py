"""The Lambert W function on all its branches, for complex numbers: lambertw.

It sums a series near the branch point and uses Newton's method elsewhere.
"""

import functools
import math
from typing import Any

import numpy as onp

from ... import numpy as np
from ...errors import ShapeError
from ...lax import complex, fori_loop
from ...numpy.promotion import as_inexact, noted, value
from ...transforms.custom_derivatives import custom_jvp
from ...typing import Array, ArrayLike

__all__ = ["lambertw"]


# 1/e as the sum of a number of the dtype and a small remainder: z + 1/e is exact near -1/e
_HIGH, _LOW = math.exp(-1), -1.2428753672788363e-17
_HIGH_32 = float(onp.float32(_HIGH))
_SERIES_RADIUS = 0.35  # largest |p| for the series, whose terms fall like (|p| / √2) ** k
_NEWTON_STEPS = 6


@functools.cache
def _branch_point_series(count: int) -> tuple[float, ...]:
    """Coefficients of W in powers of p = sqrt(2 (e z + 1)): Corless et al. 1996, (4.22) ff."""
    mu, alpha = [-1.0, 1.0], [2.0, -1.0]
    for k in range(2, count):
        alpha.append(sum(mu[j] * mu[k + 1 - j] for j in range(2, k)))
        first_terms = mu[k - 2] / 2 + alpha[k - 2] / 4
        mu.append((k - 1) / (k + 1) * first_terms - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return tuple(mu)


def lambertw(z: ArrayLike, k: ArrayLike = 0, tol: float = 1e-8) -> Array:
    """The Lambert W function: the solution w of w exp(w) = z on branch k.

    The derivative is w / (z (1 + w)). At the branch point -1/e it is infinite on the branches that
    meet there.

    Args:
      z: real or complex array.
      k: int or integer array, which broadcasts with z. Branches 0 and -1 are real on [-1/e, ∞) and
        [-1/e, 0).
      tol: must be positive; has no effect, since the result has the accuracy of the dtype.
    Returns: complex array of the shape to which z and k broadcast. At 0 it is 0 for k = 0, else
      -inf; at infinity it is inf + 2πki.
    Raises: TypeError: z is not an array, or k not of integer dtype. ValueError: tol isn't positive.
    Example:
      >>> f'{lambertw(1.0).real.item():.4f}'
      '0.5671'
    Source: R. M. Corless et al. 1996, “On the Lambert W function”; R. Iacono and J. P. Boyd 2017.
    """
    try:
        is_positive = bool(tol > 0)
    except TypeError:
        raise noted(TypeError(f"lambertw: tol must be a number; got {tol!r:.80}")) from None
    if not is_positive:
        raise noted(ValueError(f"lambertw: tol must be positive; got {tol}"))
    v, branch = as_inexact("lambertw", z), value("lambertw", k, "k")
    if branch.dtype.kind not in "iu":
        raise noted(
            ShapeError(
                f"lambertw: k must be of integer dtype; got {branch.aval}\n"
                "  fix: k.astype(int), if they are whole numbers"
            )
        )
    if v.aval.dtype.kind != "c":
        v = v.astype("complex128" if v.dtype == "float64" else "complex64")
    v, branch = np.broadcast_arrays(v, branch)
    return _lambertw(v, branch.astype(np.real(v).dtype))


@custom_jvp
def _lambertw(z: Any, k: Any) -> Any:
    is_double = z.dtype == "complex128"
    x, is_lower_half = np.real(z), np.imag(z) < 0
    is_principal = k == 0
    has_branch_point = (
        is_principal | ((k == -1) & ~is_lower_half) | ((k == 1) & is_lower_half)
    )  # the branches that meet at -1/e
    high, low_part = (_HIGH, _LOW) if is_double else (_HIGH_32, _HIGH - _HIGH_32)
    p = np.sqrt((2 * math.e) * (z + high) + 2 * math.e * low_part)  # XLA would fold constants
    p = np.where(is_principal, p, -p)
    is_close = np.abs(p) < _SERIES_RADIUS
    series = np.zeros_like(z)
    for c in reversed(_branch_point_series(28 if is_double else 14)):
        series = series * p + c
    result = _newton(z, k, p, is_principal, has_branch_point & ~is_close)
    is_tiny = is_principal & (np.abs(z) < 1e-6)
    result = np.where(is_tiny, z * (1 - z * (1 - 1.5 * z)), result)
    result = np.where(has_branch_point & is_close, series, result)
    real_line = (np.imag(z) == 0) & (x >= -high) & (is_principal | ((k == -1) & (x < 0)))
    result = np.where(real_line, np.real(result) + 0j, result)
    return _special_values(z, k, result)


def _start(z: Any, k: Any, p: Any, is_principal: Any, has_branch_point: Any) -> Any:
    """An approximation to start from: a rational function of p that agrees with the series up to
    the third power; for large numbers and other branches, the leading logarithms."""
    x, y, modulus = np.real(z), np.imag(z), np.abs(z)
    asymptotic = np.log(z) + 2j * math.pi * k
    w = asymptotic - np.log(np.where(asymptotic == 0, 1, asymptotic))
    is_right = is_principal & (x > -0.2)
    log_1p_z = np.log(np.where(is_right, 1 + z, 2))
    w = np.where(
        is_right & (modulus < 20), log_1p_z * (1 - np.log(1 + log_1p_z) / (2 + log_1p_z)), w
    )
    w = np.where(is_right & (modulus < 0.3), z / np.where(is_right, 1 + z, 1), w)
    is_real_branch = (k == -1) & (y == 0) & (x >= -_HIGH) & (x < 0)
    logarithm = np.log(np.where(is_real_branch, -x, 0.1))
    w = np.where(is_real_branch, logarithm - np.log(-logarithm), w)
    limit = np.where(
        is_principal & ~is_right, 4.0, np.where(has_branch_point & ~is_principal, 1.2, 0.0)
    )
    return np.where(np.abs(p) < limit, p * (1 + p / 8) / (1 + p * (11 / 24)) - 1, w)


def _newton(z: Any, k: Any, p: Any, is_principal: Any, has_branch_point: Any) -> Any:
    """Newton's method for w = log(z / w). The branch of the logarithm nearest to w is taken, so no
    step crosses to another branch."""
    modulus = np.abs(z)
    z_finite = np.where((modulus > 0) & (modulus < math.inf), z, 1)
    w = _start(z_finite, k, p, is_principal, has_branch_point)
    is_extreme = (modulus > 1e10) | (modulus < 1e-10)  # where the quotient might overflow or vanish
    numerator, logarithm = (
        np.where(is_extreme, 1, z_finite),
        np.where(is_extreme, np.log(z_finite), 0),
    )

    def step(_: Any, w: Any) -> Any:
        q = np.log(numerator / w) + logarithm
        turns = np.round((np.imag(w) - np.imag(q)) / (2 * math.pi))
        return w / (1 + w) * (1 + q + 2j * math.pi * turns)

    return fori_loop(0, _NEWTON_STEPS, step, w)


def _special_values(z: Any, k: Any, result: Any) -> Any:
    """Sets the values at 0, at infinity and for NaN."""
    x, y = np.real(z), np.imag(z)
    is_infinite = (np.abs(x) == math.inf) | (np.abs(y) == math.inf)
    angle = np.where(is_infinite, np.arctan2(y, x) + 2 * math.pi * k, 0)
    result = np.where(is_infinite, complex(np.full_like(angle, math.inf), angle), result)
    minus_infinity = complex(np.full_like(angle, -math.inf), np.zeros_like(angle))
    result = np.where(z == 0, np.where(k == 0, z, minus_infinity), result)
    return np.where(z != z, z, result)


@_lambertw.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (z, k), (dz, _) = primals, tangents
    w = _lambertw(z, k)
    pole = np.real(w) == -math.inf
    power = np.exp(np.where(pole, 0, w))  # z / w, also at 0
    return w, dz * np.where(pole, math.inf, 1 / (power * (1 + w)))
