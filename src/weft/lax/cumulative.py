"""Cumulative operations along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.

The dtype stays; nothing is promoted.
"""

from typing import Any

from ..core.array import Array, as_value
from ..core.source import located
from ..primitives import cumulative
from ..typing import ArrayLike
from .axes import axis_of

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def _cumulative_reduction(primitive: Any, operand: ArrayLike, axis: int, reverse: bool) -> Array:
    x = as_value(operand)
    dim = axis_of(primitive.name, x, axis)
    return primitive(x, axis=dim, reverse=bool(reverse))


@located
def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Cumulative sum: the sum of each element and all elements before it.

    Args:
      operand: array of a numeric dtype; 16-bit floats are summed in float32.
      axis: the axis; negative ones count from the end.
      reverse: sum each element and all elements after it.
    Returns: array of the same shape and dtype.
    Raises: TypeError: booleans. ValueError: the axis is out of range.
    Source: numpy.cumsum.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> x = np.int32([1, 2, 3])
      >>> lax.cumsum(x).tolist(), lax.cumsum(x, reverse=True).tolist()
      ([1, 3, 6], [6, 5, 3])
    """
    return _cumulative_reduction(cumulative.cumsum, operand, axis, reverse)


@located
def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Cumulative product: the product of each element and all elements before it.

    Args:
      operand: array of a numeric dtype.
      axis: the axis.
      reverse: multiply each element and all elements after it.
    Returns: array of the same shape and dtype.
    Raises: TypeError: booleans. ValueError: the axis is out of range.
    Source: numpy.cumprod.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.cumprod(np.int32([1, 2, 3])).tolist()
      [1, 2, 6]
    """
    return _cumulative_reduction(cumulative.cumprod, operand, axis, reverse)


@located
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Cumulative maximum; NaN from the first NaN on.

    Args:
      operand: array of any dtype; complex numbers are ordered by real part, then imaginary part.
      axis: the axis.
      reverse: use each element and all elements after it.
    Returns: array of the same shape and dtype.
    Raises: ValueError: the axis is out of range.
    Source: numpy.maximum.accumulate.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.cummax(np.int32([1, 3, 2])).tolist()
      [1, 3, 3]
    """
    return _cumulative_reduction(cumulative.cummax, operand, axis, reverse)


@located
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Cumulative minimum; NaN from the first NaN on.

    Args:
      operand: array of any dtype; complex numbers are ordered by real part, then imaginary part.
      axis: the axis.
      reverse: use each element and all elements after it.
    Returns: array of the same shape and dtype.
    Raises: ValueError: the axis is out of range.
    Source: numpy.minimum.accumulate.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.cummin(np.int32([2, 3, 1])).tolist()
      [2, 2, 1]
    """
    return _cumulative_reduction(cumulative.cummin, operand, axis, reverse)


@located
def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Cumulative logarithm of the sum of exponentials, without overflow.

    Args:
      operand: array of a floating-point dtype.
      axis: the axis.
      reverse: use each element and all elements after it.
    Returns: array of the same shape and dtype.
    Raises: TypeError: an unsupported dtype. ValueError: the axis is out of range.
    Source: numpy.logaddexp.accumulate.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.cumlogsumexp(np.float32([1000, 1000])).tolist()
      [1000.0, 1000.6931762695312]
    """
    return _cumulative_reduction(cumulative.cumlogsumexp, operand, axis, reverse)
