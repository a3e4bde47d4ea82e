"""Complex numbers and their parts: complex, real, imag, conj."""

from .. import dtypes
from ..core.array import Array, as_value
from ..primitives import complex_numbers as p
from ..primitives.creation import zeros
from ..typing import ArrayLike
from .operands import same_type

__all__ = [
    "complex",
    "conj",
    "imag",
    "real",
]


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Complex numbers x + iy.

    Args:
      x, y: arrays of dtype float32 or float64, and of one shape; or one of them a scalar.
    Returns: array of the operands' shape; complex64 for float32, complex128 for float64.
    Raises: TypeError: dtypes or shapes differ, or a dtype is not supported.
    Example:
      >>> from weft import lax
      >>> lax.complex(1.0, 2.0).item()
      (1+2j)
    Source: StableHLO `complex`.
    """
    return p.complex_(*same_type("complex", ("x", "y"), x, y))


def real(x: ArrayLike) -> Array:
    """Real parts.

    Args:
      x: array of a complex dtype.
    Returns: array of x's shape; float32 for complex64, float64 for complex128.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.real(1 + 2j).item()
      1.0
    Source: StableHLO `real`.
    """
    return p.real(x)


def imag(x: ArrayLike) -> Array:
    """Imaginary parts.

    Args:
      x: array of a complex dtype.
    Returns: array of x's shape; float32 for complex64, float64 for complex128.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.imag(1 + 2j).item()
      2.0
    Source: StableHLO `imag`.
    """
    return p.imag(x)


def conj(x: ArrayLike) -> Array:
    """Complex conjugates.

    Args:
      x: array of a complex dtype, or of float32 or float64.
    Returns: array of x's shape, complex.
    Raises: TypeError: an unsupported dtype.
    Example:
      >>> from weft import lax
      >>> lax.conj(1 + 2j).item()
      (1-2j)
    Source: CHLO `conj`.
    """
    z = as_value(x)
    if dtypes.is_complex(z.dtype):
        return p.conj(z)
    return p.complex_(z, zeros(z.aval))
