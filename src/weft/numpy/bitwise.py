"""Bits of integers.

bitwise_and, bitwise_or, bitwise_xor, bitwise_not (invert), bitwise_left_shift (left_shift),
bitwise_right_shift (right_shift), bitwise_count; packbits, unpackbits.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import arithmetic, bitwise, structural
from ..primitives.slicing import pad
from ..typing import ArrayLike, Axis
from .axes import as_int, one_axis
from .creation import from_numpy
from .makers import binary, binary_docstring, composite_binary, unary, unary_docstring
from .plans import are_few, composite
from .promotion import cast, value
from .reductions import sum, truth
from .ufunc_attributes import of_two
from .ufunc_options import takes_options

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "invert",
    "left_shift",
    "packbits",
    "right_shift",
    "unpackbits",
]


_EXAMPLE = "np.array([5, 6]), 3)"
AND = binary_docstring("Bitwise and.", f"np.bitwise_and({_EXAMPLE}", "Array([1, 2], dtype=int32)")
OR = binary_docstring("Bitwise or.", f"np.bitwise_or({_EXAMPLE}", "Array([7, 7], dtype=int32)")
XOR = binary_docstring(
    "Bitwise exclusive or.", f"np.bitwise_xor({_EXAMPLE}", "Array([6, 5], dtype=int32)"
)
NOT = unary_docstring(
    "Bitwise not: inverts each bit; for booleans, logical not.",
    "np.invert(np.array([0, 5]))",
    "Array([-1, -6], dtype=int32)",
    note="an integer or boolean one.",
)

bitwise_and = of_two(binary(bitwise.bitwise_and, "bitwise_and", AND), identity=-1)
bitwise_or = of_two(binary(bitwise.bitwise_or, "bitwise_or", OR), identity=0)
bitwise_xor = of_two(binary(bitwise.bitwise_xor, "bitwise_xor", XOR), identity=0)
invert = bitwise_not = bitwise_invert = unary(bitwise.bitwise_not, "invert", NOT)

_SHIFT = "np.array([1, -4]), 1)"
LEFT = binary_docstring(
    "x1 * 2 ** x2, modulo the width.", f"np.left_shift({_SHIFT}", "Array([ 2, -8], dtype=int32)"
)
RIGHT = binary_docstring(
    "x1 / 2 ** x2, rounded down.", f"np.right_shift({_SHIFT}", "Array([ 0, -2], dtype=int32)"
)


def _right_shift(x: Any, y: Any) -> Any:
    if not dtypes.is_integer(x.aval.dtype):
        raise ShapeError(f"right_shift: expected operands of integer dtype; got {x.aval}, {y.aval}")
    if dtypes.is_unsigned(x.aval.dtype):
        return bitwise.shift_right_logical(x, y)
    return bitwise.shift_right_arithmetic(x, y)


left_shift = bitwise_left_shift = binary(bitwise.shift_left, "left_shift", LEFT, to_number=True)
right_shift = bitwise_right_shift = composite_binary(
    _right_shift, "right_shift", RIGHT, to_number=True
)


@takes_options
@located
def bitwise_count(x: ArrayLike, /) -> Array:
    """The number of bits of |x| that are one.

    Args:
      x: integer or boolean array of any shape.
    Returns: uint8 array of the shape of `x`.
    Example:
      >>> np.bitwise_count(np.array([7, -1]))
      Array([3, 1], dtype=uint8)
    """
    v = value("bitwise_count", x)
    if dtypes.is_bool(v.dtype):
        return cast(v, dtypes.uint8)
    if not dtypes.is_integer(v.dtype):
        raise ShapeError(f"bitwise_count: expected an integer operand; got {v.aval}")
    magnitude = arithmetic.abs_(v) if dtypes.is_signed(v.dtype) else v
    return cast(bitwise.population_count(magnitude), dtypes.uint8)


# --- packing ---


def _bit_order(name: str, bitorder: str) -> np.ndarray:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little'; got {bitorder!r}")
    order = np.arange(8, dtype=np.uint8)
    return order[::-1] if bitorder == "big" else order


@located
def packbits(a: ArrayLike, axis: Axis = None, bitorder: str = "big") -> Array:
    """Packs booleans into the bits of bytes.

    Args:
      a: integer or boolean array; nonzero elements become 1.
      axis: the axis to pack; None flattens the array.
      bitorder: 'big': the first element is the highest bit; 'little': the lowest.
    Returns: uint8 array; the axis is an eighth as long, rounded up.
    Raises: ShapeError: floats or complex numbers.
    Example:
      >>> np.packbits(np.array([1, 0, 1]))
      Array([160], dtype=uint8)
    """
    v = value("packbits", a)
    if v.aval.inexact:
        raise ShapeError(
            f"packbits: a must be integer or boolean; got {v.aval}\n  fix: packbits(a != 0)"
        )
    _bit_order("packbits", bitorder)
    flags = truth("packbits", v)
    if axis is None:
        flags, i = structural.reshape(flags, shape=(flags.size,)), 0
    else:
        i = one_axis("packbits", axis, v)
    return _packed(flags, axis=i, bitorder=bitorder)


def _pack_by_numpy(flags: Any, *, axis: int, bitorder: Any) -> Any:
    """NumPy's kernel for `_pack`."""
    return (lambda flags: np.packbits(flags, axis, bitorder)) if are_few(flags) else None


def _pack(flags: Any, *, axis: int, bitorder: str) -> Any:
    x, i = cast(flags, dtypes.uint8), axis
    x = structural.move_axis(x, i, x.ndim - 1)
    padding_length = -x.shape[-1] % 8
    if padding_length:
        zero = literal(0, dtypes.uint8)
        padding = (*[(0, 0, 0)] * (x.ndim - 1), (0, padding_length, 0))
        x = pad(x, zero, padding=padding)
    x = structural.reshape(x, shape=(*x.shape[:-1], x.shape[-1] // 8, 8))
    weights = from_numpy(np.uint8(1) << _bit_order("packbits", bitorder))
    x = sum(arithmetic.mul(x, weights), -1, promote_integers=False)
    return structural.move_axis(x, x.ndim - 1, i)


_packed = composite(_pack, evaluate=_pack_by_numpy)


@located
def unpackbits(
    a: ArrayLike, axis: Axis = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpacks bytes into their bits.

    Args:
      a: uint8 array.
      axis: the axis to unpack; None flattens the array.
      count: the number of bits to return; a negative number is removed from the end.
      bitorder: 'big': the highest bit comes first; 'little': the lowest.
    Returns: uint8 array of zeros and ones; the axis is eight times as long.
    Example:
      >>> np.unpackbits(np.array([160], dtype="uint8"))
      Array([1, 0, 1, 0, 0, 0, 0, 0], dtype=uint8)
    """
    x = value("unpackbits", a, "a")
    if x.dtype != dtypes.uint8:
        raise ShapeError(f"unpackbits: expected a uint8 array; got {x.aval}")
    if axis is None:
        x, axis = structural.reshape(x, shape=(x.size,)), 0
    i = one_axis("unpackbits", axis, x)
    x = structural.move_axis(x, i, x.ndim - 1)
    column = structural.reshape(x, shape=(*x.shape, 1))
    shifts = from_numpy(_bit_order("unpackbits", bitorder).copy())
    bits = bitwise.bitwise_and(
        bitwise.shift_right_logical(column, shifts), literal(1, dtypes.uint8)
    )
    bits = structural.reshape(bits, shape=(*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        count = as_int("unpackbits", count, "count")
        n = bits.shape[-1]
        if count > n:
            padding = (*[(0, 0, 0)] * (x.ndim - 1), (0, count - n, 0))
            bits = pad(bits, literal(0, dtypes.uint8), padding=padding)
        else:
            bits = slice_along(bits, bits.ndim - 1, 0, max(count if count >= 0 else n + count, 0))
    return structural.move_axis(bits, bits.ndim - 1, i)
