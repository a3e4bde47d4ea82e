"""Information theory and robust losses: entr, rel_entr, kl_div, huber, pseudo_huber."""

import math
from typing import Any

from ... import numpy as np
from ...primitives import entropies as e
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["entr", "huber", "kl_div", "pseudo_huber", "rel_entr"]


@computed_by(e.entr)
def entr(x: ArrayLike) -> Array:
    """-x log(x), a term of the entropy; 0 at 0, -inf below.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{entr(0.5).item():.4f}'
      '0.3466'
    Source: SciPy `entr`.
    """


@computed_by(e.rel_entr)
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q), a term of the relative entropy; 0 where p is 0, inf for negative arguments.

    Args:
      p, q: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{rel_entr(0.5, 0.25).item():.4f}'
      '0.3466'
    Source: SciPy `rel_entr`.
    """


@computed_by(e.kl_div)
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q, accurate near p = q; q where p is 0, inf for negative arguments.

    Args:
      p, q: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{kl_div(0.5, 0.25).item():.4f}'
      '0.0966'
    Source: SciPy `kl_div`.
    """


def _huber_of_values(delta: Any, r: Any) -> Any:
    magnitude = np.abs(r)
    is_infinite = magnitude == math.inf
    magnitude = np.where(is_infinite, 0, magnitude)
    linear = np.minimum(
        magnitude, delta
    )  # the derivative of this term is 0 below delta, so there is no jump at |r| = delta
    out = linear * (magnitude - 0.5 * linear)
    out = np.where(is_infinite & (delta != 0) & (delta == delta), math.inf, out)
    return np.where(delta < 0, math.inf, np.where(is_infinite & (delta == 0), math.nan, out))


@computed_by(_huber_of_values)
def huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """Huber's loss: r² / 2 for |r| ≤ delta, else delta (|r| - delta / 2); inf for delta < 0.

    Args:
      delta, r: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> huber(1.0, np.array([0.5, 3.0])).tolist()
      [0.125, 2.5]
    Source: P. J. Huber 1964; SciPy `huber`.
    """


def _pseudo_huber_of_values(delta: Any, r: Any) -> Any:
    is_unbounded = (delta == math.inf) | (delta <= 0)
    is_infinite = np.abs(r) == math.inf
    r = np.where(is_infinite, 1, r)
    root = np.hypot(r / np.where(is_unbounded, 1, delta), 1)
    out = r * (r / (1 + root))  # equal to delta² (root - 1), but accurate for small r
    out = np.where(is_infinite, math.inf, np.where(delta == math.inf, 0.5 * r * r, out))
    return np.where(delta < 0, math.inf, np.where(delta == 0, 0, out))


@computed_by(_pseudo_huber_of_values)
def pseudo_huber(delta: ArrayLike, r: ArrayLike) -> Array:
    """delta² (sqrt(1 + (r / delta)²) - 1), a smooth form of Huber's loss; inf for delta < 0.

    Args:
      delta, r: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> f'{pseudo_huber(1.0, 1.0).item():.4f}'
      '0.4142'
    Source: SciPy `pseudo_huber`; P. Charbonnier et al. 1997.
    """
