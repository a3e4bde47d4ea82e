"""Losses that grow linearly for large residuals, and (exp(x) - 1) / x."""

import math
from typing import Any

from ... import numpy as np
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["exprel", "huber", "pseudo_huber"]


def _exprel_of_values(x: Any) -> Any:
    near = np.abs(x) < 1
    small = np.where(near, x, 0)
    total: Any = 0.0
    for k in range(19 if x.dtype == "float64" else 11, -1, -1):
        total = total * small + 1 / math.factorial(k + 1)
    large = np.where(near | (x == math.inf), 1, x)
    return np.where(near, total, np.where(x == math.inf, x, np.expm1(large) / large))


@computed_by(_exprel_of_values)
def exprel(x: ArrayLike) -> Array:
    """(exp(x) - 1) / x, which is 1 at 0.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> exprel(0.0).item()
      1.0
    Source: SciPy `exprel`.
    """


def _huber_of_values(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    infinite = size == math.inf
    size = np.where(infinite, 0, size)
    linear = np.minimum(size, delta)  # its derivative vanishes below: no jump at |r| = delta
    out = linear * (size - 0.5 * linear)
    out = np.where(infinite & (delta != 0) & (delta == delta), math.inf, out)
    return np.where(delta < 0, math.inf, np.where(infinite & (delta == 0), math.nan, out))


@computed_by(_huber_of_values)
def huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """Huber's loss: r² / 2 for |r| ≤ delta, beyond it delta (|r| - delta / 2); inf for delta < 0.

    Args:
      delta, r: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> huber(1.0, np.array([0.5, 3.0])).tolist()
      [0.125, 2.5]
    Source: P. J. Huber 1964; SciPy `huber`.
    """


def _pseudo_huber_of_values(delta: Any, r: Any) -> Any:
    wide = (delta == math.inf) | (delta <= 0)
    infinite = np.abs(r) == math.inf
    r = np.where(infinite, 1, r)
    root = np.hypot(r / np.where(wide, 1, delta), 1)
    out = r * (r / (1 + root))  # as delta² (root - 1), which would lose digits
    out = np.where(infinite, math.inf, np.where(delta == math.inf, 0.5 * r * r, out))
    return np.where(delta < 0, math.inf, np.where(delta == 0, 0, out))


@computed_by(_pseudo_huber_of_values)
def pseudo_huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """delta² (sqrt(1 + (r / delta)²) - 1), a smooth form of Huber's loss; inf for delta < 0.

    Args:
      delta, r: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{pseudo_huber(1.0, 1.0).item():.4f}'
      '0.4142'
    Source: SciPy `pseudo_huber`; P. Charbonnier et al. 1997.
    """
