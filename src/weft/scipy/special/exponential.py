"""Functions of exponentials and logarithms: expit, logit, exprel, boxcox, boxcox1p, xlogy,
xlog1py.
"""

import math
from typing import Any

from ... import numpy as np
from ...primitives import entropies as e, exponential
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = ["boxcox", "boxcox1p", "expit", "exprel", "logit", "xlog1py", "xlogy"]


@computed_by(e.xlogy)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y); 0 where x is 0, unless y is NaN.

    Args:
      x, y: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> xlogy(0.0, 0.0).item()
      0.0
    Source: SciPy `xlogy`.
    """


@computed_by(e.xlog1py)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y); 0 where x is 0, unless y is NaN.

    Args:
      x, y: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> xlog1py(0.0, -1.0).item()
      0.0
    Source: SciPy `xlog1py`.
    """


@computed_by(e.logit)
def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)), the inverse of expit; NaN outside [0, 1].

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> logit(0.5).item()
      0.0
    Source: SciPy `logit`.
    """


@computed_by(exponential.logistic)
def expit(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + exp(-x)).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> expit(0.0).item()
      0.5
    Source: SciPy `expit`.
    """


@computed_by(e.boxcox)
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The Box-Cox transformation (x**lmbda - 1) / lmbda; log(x) for lmbda 0.

    Args:
      x, lmbda: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> boxcox(4.0, 0.5).item()
      2.0
    Source: G. E. P. Box and D. R. Cox 1964; SciPy `boxcox`.
    """


@computed_by(e.boxcox1p)
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)**lmbda - 1) / lmbda; log(1 + x) for lmbda 0.

    Args:
      x, lmbda: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> boxcox1p(3.0, 0.5).item()
      2.0
    Source: SciPy `boxcox1p`.
    """


def _exprel_of_values(x: Any) -> Any:
    near_zero = np.abs(x) < 1
    x_small = np.where(near_zero, x, 0)
    total: Any = 0.0
    for k in range(19 if x.dtype == "float64" else 11, -1, -1):
        total = total * x_small + 1 / math.factorial(k + 1)
    x_large = np.where(near_zero | (x == math.inf), 1, x)
    return np.where(near_zero, total, np.where(x == math.inf, x, np.expm1(x_large) / x_large))


@computed_by(_exprel_of_values)
def exprel(x: ArrayLike) -> Array:
    """(exp(x) - 1) / x, which is 1 at 0.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> exprel(0.0).item()
      1.0
    Source: SciPy `exprel`.
    """
