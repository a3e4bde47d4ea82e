"""Products with logarithms, entropies and log odds."""

from ...primitives import entropies as e, transcendental
from ...typing import Array, ArrayLike
from .makers import computed_by

__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "logit",
    "rel_entr",
    "xlog1py",
    "xlogy",
]


@computed_by(e.xlogy)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y); 0 where x is 0, unless y is NaN.

    Args:
      x, y: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> xlog1py(0.0, -1.0).item()
      0.0
    Source: SciPy `xlog1py`.
    """


@computed_by(e.entr)
def entr(x: ArrayLike) -> Array:
    """-x log(x), a term of the entropy; 0 at 0, -inf below.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{rel_entr(0.5, 0.25).item():.4f}'
      '0.3466'
    Source: SciPy `rel_entr`.
    """


@computed_by(e.kl_div)
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q, exact near p = q; q where p is 0, inf for negative arguments.

    Args:
      p, q: real arrays that broadcast together, promoted to one float dtype.
    Returns: array of the shape to which they broadcast, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> f'{kl_div(0.5, 0.25).item():.4f}'
      '0.0966'
    Source: SciPy `kl_div`.
    """


@computed_by(e.logit)
def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)), the inverse of expit; NaN outside [0, 1].

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> logit(0.5).item()
      0.0
    Source: SciPy `logit`.
    """


@computed_by(transcendental.logistic)
def expit(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + exp(-x)).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
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
    Raises: TypeError: complex or other arguments that aren't real arrays.
    Example:
      >>> boxcox1p(3.0, 0.5).item()
      2.0
    Source: SciPy `boxcox1p`.
    """
