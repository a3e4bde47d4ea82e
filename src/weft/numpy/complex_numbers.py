"""Parts of complex numbers: real, imag, conjugate, angle."""

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import complex_numbers, creation, trigonometric as t
from ..typing import ArrayLike
from .promotion import as_inexact, noted, value
from .trigonometric import rad2deg
from .ufunc_options import takes_options

__all__ = ["angle", "conj", "conjugate", "imag", "real"]


def real(val: ArrayLike) -> Array:
    """Real part of complex numbers.

    Args:
      val: array of any shape.
    Returns: real array of the same shape.
    Example:
      >>> np.real(np.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    x = value("real", val, "val")
    return complex_numbers.real(x) if dtypes.is_complex(x.aval.dtype) else x


def imag(val: ArrayLike) -> Array:
    """Imaginary part of complex numbers; zeros for real arrays.

    Args:
      val: array of any shape.
    Returns: real array of the same shape.
    Example:
      >>> np.imag(np.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    x = value("imag", val, "val")
    if dtypes.is_complex(x.aval.dtype):
        return complex_numbers.imag(x)
    if is_extended(x.aval.dtype):
        raise noted(no_numbers("imag", x.aval))
    return creation.zeros(x.aval)


@takes_options
def conjugate(x: ArrayLike, /) -> Array:
    """Complex conjugate; real arrays are unchanged.

    Args:
      x: array of any shape.
    Returns: array of the same shape and dtype.
    Example:
      >>> np.conjugate(np.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    x = value("conjugate", x)
    return complex_numbers.conj(x) if dtypes.is_complex(x.aval.dtype) else x  # type: ignore


conj = conjugate


@located
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Angle of complex numbers, from -π to π.

    Args:
      z: array of any shape; real numbers have the angle 0 or π.
      deg: return degrees instead of radians.
    Returns: real array of the shape of `z`.
    Example:
      >>> np.angle(np.array([1j, -1.0]), deg=True)
      Array([ 90., 180.], dtype=float32)
    """
    z = as_inexact("angle", z)
    result = t.atan2(imag(z), real(z))
    return rad2deg(result) if deg else result
