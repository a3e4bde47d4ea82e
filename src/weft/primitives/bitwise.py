"""Bitwise operations: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left,
shift_right_arithmetic, shift_right_logical, population_count, clz.

A shift by the operand's width or more leaves only the sign.
"""

from collections.abc import Callable

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..stablehlo import Block, Operand
from .elementwise import nary, unary, zero
from .rule_types import DType, Host, Kernel

bitwise_and = nary(
    "and", "Bitwise *and*.", evaluate=np.bitwise_and, stablehlo="and", jvp=(zero, zero),
    accepts="integer or bool",
)  # fmt: skip
bitwise_or = nary(
    "or", "Bitwise *or*.", evaluate=np.bitwise_or, stablehlo="or", jvp=(zero, zero),
    accepts="integer or bool",
)  # fmt: skip
bitwise_xor = nary(
    "xor", "Bitwise exclusive *or*.", evaluate=np.bitwise_xor, stablehlo="xor",
    jvp=(zero, zero), accepts="integer or bool",
)  # fmt: skip
bitwise_not = unary(
    "not", "Inverts each bit.", evaluate=np.invert, stablehlo="not", jvp=zero,
    accepts="integer or bool",
)  # fmt: skip


def signed_view(x: Host) -> Host:
    """The same bits as a signed integer."""
    return x if x.dtype.kind == "i" else x.view(f"i{x.dtype.itemsize}")


def unsigned_view(x: Host) -> Host:
    """The same bits as an unsigned integer."""
    return x if x.dtype.kind == "u" else x.view(f"u{x.dtype.itemsize}")


def _shift_right_arithmetic(x: Host, y: Host) -> Host:
    return np.right_shift(signed_view(x), signed_view(y)).view(x.dtype)


def _shift_right_logical(x: Host, y: Host) -> Host:
    return np.right_shift(unsigned_view(x), unsigned_view(y)).view(x.dtype)


def _small_int_rules(shift: Callable[..., Host]) -> dict[DType, Kernel]:
    """Evaluate rules for integers of 2 and 4 bits. `shift` gets the first operand as int64,
    sign-extended from its top bit; the second as nonnegative int64; and the number of bits."""

    def evaluate(x: Host, y: Host) -> Host:
        bits = dtypes.bit_width(x.dtype)
        sign_bit, mask = 1 << (bits - 1), (1 << bits) - 1
        signed_value = ((x.astype(np.int64) & mask) ^ sign_bit) - sign_bit
        result = shift(signed_value, y.astype(np.int64) & mask, bits) & mask
        return (result if dtypes.is_unsigned(x.dtype) else (result ^ sign_bit) - sign_bit).astype(
            x.dtype
        )

    return dict.fromkeys(dtypes.SMALL_INTS, evaluate)


# NumPy also defines shifts by any amount; it treats negative amounts as large ones
shift_left = nary(
    "shift_left", "x · 2**y, modulo the width.", evaluate=np.left_shift, stablehlo="shift_left",
    jvp=(zero, zero), accepts="integer",
    evaluate_in=_small_int_rules(lambda x, y, bits: np.where(y >= bits, 0, x << y)),
)  # fmt: skip
shift_right_arithmetic = nary(
    "shift_right_arithmetic", "Shifts bits right and repeats the top bit.",
    evaluate=_shift_right_arithmetic, stablehlo="shift_right_arithmetic",
    jvp=(zero, zero), accepts="integer",
    evaluate_in=_small_int_rules(lambda x, y, bits: x >> y),
)  # fmt: skip
shift_right_logical = nary(
    "shift_right_logical", "Shifts bits right and fills with zeros.",
    evaluate=_shift_right_logical, stablehlo="shift_right_logical",
    jvp=(zero, zero), accepts="integer",
    evaluate_in=_small_int_rules(lambda x, y, bits: (x & (1 << bits) - 1) >> y),
)  # fmt: skip


def _population_count(x: Host) -> Host:
    if x.dtype.itemsize > 1:
        x = np.asarray(x)
        byte_array = x.reshape(*x.shape, 1).view(np.uint8)
        return _BYTE_BIT_COUNTS[byte_array].sum(-1, dtype=np.uint8).astype(x.dtype)
    return _BYTE_BIT_COUNTS[x.view(np.uint8)].astype(x.dtype)


_BYTE_BIT_COUNTS = np.array([bin(n).count("1") for n in range(256)], np.uint8)


def _clz(x: Host) -> Host:
    bits = dtypes.bit_width(x.dtype)
    remaining_bits = unsigned_view(np.asarray(x)).astype(np.uint64)
    count = np.full(remaining_bits.shape, bits, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        is_large = remaining_bits >> np.uint64(step) != 0
        remaining_bits = np.where(is_large, remaining_bits >> np.uint64(step), remaining_bits)
        count -= is_large * step
    return (count - (remaining_bits != 0)).astype(x.dtype)


def _byte_count_rules(count: Kernel, leading: bool) -> dict[DType, Kernel]:
    """Evaluate rules for integers of 2 and 4 bits. A byte adds `leading` zeros in front of them."""

    def evaluate(x: Host) -> Host:
        bits = dtypes.bit_width(x.dtype)
        low = (x.astype(np.int8) & np.int8((1 << bits) - 1)).view(np.uint8)
        return (count(low) - np.uint8(8 - bits if leading else 0)).astype(x.dtype)

    return dict.fromkeys(dtypes.SMALL_INTS, evaluate)


def _lower_population_count(block: Block, x: Operand, out: Aval) -> Operand:
    if not (out.dtype in dtypes.SMALL_INTS and dtypes.is_signed(out.dtype)):
        return block.elementwise("popcnt", (x,), out)
    wide_aval = out.update(
        dtype=dtypes.int8, weak_type=False
    )  # XLA would count copies of the sign bit
    mask = block.full((1 << dtypes.bit_width(out.dtype)) - 1, wide_aval)
    bits = block.elementwise("and", (block.convert(x, wide_aval.dtype), mask), wide_aval)
    return block.convert(block.elementwise("popcnt", (bits,), wide_aval), out.dtype)


population_count = unary(
    "population_count", "The number of bits that are one.", evaluate=_population_count,
    stablehlo=_lower_population_count,
    jvp=zero, accepts="integer", evaluate_in=_byte_count_rules(_population_count, leading=False),
)  # fmt: skip
clz = unary(
    "clz", "The number of leading bits that are zero.", evaluate=_clz,
    stablehlo="count_leading_zeros", jvp=zero, accepts="integer",
    evaluate_in=_byte_count_rules(_clz, leading=True),
)  # fmt: skip
