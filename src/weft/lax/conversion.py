"""Conversions between dtypes: dtype, convert_element_type, bitcast_convert_type,
reduce_precision."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..core.value import Value
from ..primitives import conversion as p, structural
from ..typing import ArrayLike, DTypeLike
from .operands import constant_int, scalar_as

__all__ = ["bitcast_convert_type", "convert_element_type", "dtype", "reduce_precision"]


@located
def dtype(x: ArrayLike) -> np.dtype[Any]:
    """The dtype of an array, a scalar, or anything that has one; a Python number's default. The
    dtype of a dtype is itself.

    Raises: TypeError: `x` is neither an array nor a scalar.
    Example:
      >>> from weft import lax
      >>> lax.dtype(1.0), lax.dtype(weft.ShapeDtypeStruct((2,), "int8"))
      (dtype('float32'), dtype('int8'))
    Source: JAX documentation, `jax.lax.dtype`.
    """
    result = x if isinstance(x, (np.dtype, type)) else None
    if result is None and not isinstance(x, Value):
        result = getattr(x, "dtype", None)
    return as_value(x).aval.dtype if result is None else dtypes.canonicalize_dtype(result)


@located
def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Converts elements to another dtype.

    Floats round towards zero; NaN becomes 0, and numbers out of range become the nearest integer
    of the dtype. Integers wrap around. Complex numbers lose their imaginary part. Nonzero numbers
    become True.

    Args:
      operand: array of any dtype.
      new_dtype: the dtype to convert to.
    Returns: array of the operand's shape, of `new_dtype`.
    Raises: TypeError: not a dtype, or a Python complex number and a real dtype.
    Example:
      >>> from weft import lax
      >>> [lax.convert_element_type(x, "uint8").item() for x in (1.5, -3.0, 300.0)]
      [1, 0, 255]
    Source: StableHLO `convert`.
    """
    dtype = dtypes.requested_dtype(new_dtype, "convert_element_type")
    x = scalar_as("convert_element_type", operand, dtype)
    if x.aval.dtype == dtype and not x.aval.weak_type:
        return x
    return structural.convert_element_type(x, dtype=dtype)


@located
def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterprets the bits of elements as another dtype.

    Args:
      operand: array of an integer or real float dtype.
      new_dtype: such a dtype. If it is k times as wide, the operand's last axis must have length k
        and is removed; if it is k times narrower, an axis of length k is added at the end.
    Returns: array of `new_dtype`.
    Raises: TypeError: a dtype is not supported. ValueError: the last axis has another length.
    Example:
      >>> from weft import lax
      >>> hex(lax.bitcast_convert_type(1.0, "uint32").item())
      '0x3f800000'
    Source: StableHLO `bitcast_convert`.
    """
    dtype = dtypes.requested_dtype(new_dtype, "bitcast_convert_type")
    return p.bitcast_convert_type(operand, dtype=dtype)


@located
def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds elements to a float format of fewer bits, and keeps their dtype.

    Args:
      operand: array of a float dtype.
      exponent_bits: at least 1. Larger numbers become infinite, smaller ones zero.
      mantissa_bits: at least 0. Ties round to even.
    Returns: array of the operand's shape and dtype.
    Raises: TypeError: an unsupported dtype. ValueError: too few bits.
    Example:
      >>> from weft import lax
      >>> lax.reduce_precision(1.3, exponent_bits=5, mantissa_bits=2).item()
      1.25
    Source: StableHLO `reduce_precision`.
    """
    exponent = constant_int("reduce_precision", "exponent_bits", exponent_bits)
    mantissa = constant_int("reduce_precision", "mantissa_bits", mantissa_bits)
    for name, bits, minimum in (("exponent_bits", exponent, 1), ("mantissa_bits", mantissa, 0)):
        if bits < minimum:
            raise ValueError(f"reduce_precision: {name} must be at least {minimum}; got {bits}")
    return p.reduce_precision(operand, exponent_bits=exponent, mantissa_bits=mantissa)
