"""Convolution and correlation of one-dimensional sequences: convolve, correlate."""

from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.convolution import conv_general_dilated
from ..primitives import complex_numbers, slicing
from ..typing import ArrayLike
from .creation import dtype_argument
from .plans import composite
from .promotion import promote_values
from .shapes import reshape

__all__ = ["convolve", "correlate"]


def _sliding_products(x: Any, y: Any, *, name: str, mode: str, precision: Any, dtype: Any) -> Any:
    """Sums of products of `x` and the shorter `y` at each position along it."""
    n = y.shape[0]
    if mode == "full":
        padding = (n - 1, n - 1)
    elif mode == "same":
        padding = (n // 2, n - n // 2 - 1)
    elif mode == "valid":
        padding = (0, 0)
    else:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid'; got {mode!r}")
    out = conv_general_dilated(
        reshape(x, (1, 1, x.size)),
        reshape(y, (1, 1, n)),
        (1,),
        (padding,),
        precision=precision,
        preferred_element_type=dtype,
    )
    return reshape(out, out.size)


_planned_products = composite(_sliding_products)


def _two_vectors(name: str, a: Any, v: Any) -> Any:
    x, y = promote_values(name, a, v, to_inexact=True)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"{name}: expected arrays of one axis; got {x.aval} and {y.aval}")
    if not x.size or not y.size:
        raise ShapeError(f"{name}: expected arrays that are not empty; got {x.aval} and {y.aval}")
    return x, y


@located
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Discrete convolution of two one-dimensional arrays.

    Args:
      a, v: arrays [n] and [m]; integers become float32.
      mode: 'full': all positions where the arrays overlap; 'same': the length of the longer array;
        'valid': the positions where they overlap completely.
      precision, preferred_element_type: as in `dot`.
    Returns: array of one axis.
    Example:
      >>> np.convolve(np.array([1, 2, 3]), np.array([1, 1]))
      Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _two_vectors("convolve", a, v)
    if x.size < y.size:
        x, y = y, x
    y = slicing.rev(y, dimensions=(0,))
    dtype = dtype_argument("convolve", preferred_element_type)
    options = {"precision": precision, "dtype": dtype}
    return _planned_products(x, y, name="convolve", mode=mode, **options)


@located
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Cross-correlation of two one-dimensional arrays; `v` is conjugated.

    Args: as in `convolve`.
    Example:
      >>> np.correlate(np.array([1, 2, 3]), np.array([1, 1]))
      Array([3., 5.], dtype=float32)
    """
    x, y = _two_vectors("correlate", a, v)
    if dtypes.is_complex(y.dtype):
        y = complex_numbers.conj(y)
    dtype = dtype_argument("correlate", preferred_element_type)
    options = {"precision": precision, "dtype": dtype}
    if x.size < y.size:
        out = _planned_products(y, x, name="correlate", mode=mode, **options)
        return slicing.rev(out, dimensions=(0,))
    return _planned_products(x, y, name="correlate", mode=mode, **options)
