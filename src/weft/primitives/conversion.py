"""bitcast_convert_type and reduce_precision. (convert_element_type is in `structural.py`.)"""

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from .elementwise import unary, zero
from .rule_types import DType, Host
from .structural import batch_in_front

bitcast_convert_type = Primitive(
    "bitcast_convert_type",
    "Reinterprets bits as another dtype; a wider one removes the last axis, a narrower "
    "one adds an axis.",
    host="always",
)


@bitcast_convert_type.type
def _(x: Aval, *, dtype: DType) -> Aval:
    if x.dtype == dtype:
        return x.strong()
    kinds = [
        "bool" if dtypes.is_bool(d) else "complex" if dtypes.is_complex(d) else "number"
        for d in (x.dtype, dtype)
    ]
    if kinds != ["number", "number"]:
        raise ShapeError(
            f"bitcast_convert_type: expected dtypes of integers or real floats; got {x} to "
            f"{dtype.name}"
        )
    old_width, new_width = dtypes.bit_width(x.dtype), dtypes.bit_width(dtype)
    if new_width == old_width:
        return x.update(dtype=dtype, weak_type=False)
    if new_width < old_width:
        return x.update(shape=(*x.shape, old_width // new_width), dtype=dtype, weak_type=False)
    if not x.ndim or x.shape[-1] != new_width // old_width:
        raise ShapeError(
            f"bitcast_convert_type: to {dtype.name} the last axis must have length "
            f"{new_width // old_width}, the ratio of the widths; got {x}"
        )
    return x.update(shape=x.shape[:-1], dtype=dtype, weak_type=False)


_PACKED = (*dtypes.SMALL_INTS, np.dtype(dtypes.float4_e2m1fn))


@bitcast_convert_type.evaluate
def _(x: Host, *, dtype: DType) -> Host:
    old_width, new_width = dtypes.bit_width(x.dtype), dtypes.bit_width(dtype)
    if x.dtype == dtype:
        return x
    if old_width == new_width and x.dtype not in _PACKED:
        return np.ascontiguousarray(x).reshape(x.shape).view(dtype)
    shape = (
        x.shape
        if new_width == old_width
        else (*x.shape, old_width // new_width)
        if new_width < old_width
        else x.shape[:-1]
    )
    if not x.size:
        return np.empty(shape, dtype)
    elements = np.ascontiguousarray(x).reshape(-1)
    # NumPy keeps 2 and 4 bits in a byte; XLA packs several in one, the lowest first
    parts = elements.view(np.uint8)
    if old_width < 8:
        shifts = np.arange(0, min(new_width, 8), old_width, dtype=np.uint8)
        parts = (parts & np.uint8((1 << old_width) - 1)).reshape(-1, len(shifts)) << shifts
        parts = np.bitwise_or.reduce(parts, axis=1)
    if new_width < 8:
        shifts = np.arange(0, min(old_width, 8), new_width, dtype=np.uint8)
        parts = (parts[:, None] >> shifts & np.uint8((1 << new_width) - 1)).reshape(-1)
        if dtype in dtypes.SMALL_INTS:
            return parts.view(np.int8).astype(dtype).reshape(shape)
    return parts.view(dtype).reshape(shape)


@bitcast_convert_type.lower
def _(block: Block, x: Operand, out: Aval, dtype: DType) -> Operand:
    return x if x.aval.dtype == dtype else block.op("bitcast_convert", x, out=out)


bitcast_convert_type.jvp(zero)


bitcast_convert_type.batch(batch_in_front(bitcast_convert_type))


# --- reduce_precision ---


def _reduce_precision(x: Host, *, exponent_bits: int, mantissa_bits: int) -> Host:
    info = dtypes.finfo(x.dtype)
    bits_dtype = np.dtype(f"u{x.dtype.itemsize}")
    x_mantissa, x_exponent = int(info.nmant), int(info.bits) - 1 - int(info.nmant)
    original = np.asarray(x)
    bits = original.view(bits_dtype)
    one = bits_dtype.type(1)
    if mantissa_bits < x_mantissa:
        n_dropped = bits_dtype.type(x_mantissa - mantissa_bits)
        last_bit = bits >> n_dropped & one  # half-way, to the even one
        bits = bits + ((one << (n_dropped - one)) - one + last_bit)
        bits = bits >> n_dropped << n_dropped
    if exponent_bits < x_exponent:
        x_bias, bias = (1 << (x_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        all_ones = bits_dtype.type(((1 << x_exponent) - 1) << x_mantissa)
        sign = bits & bits_dtype.type(1 << (int(info.bits) - 1))
        exponent = bits & all_ones
        largest = bits_dtype.type(x_bias + bias << x_mantissa)
        smallest = bits_dtype.type(x_bias - bias << x_mantissa)
        bits = np.where(exponent > largest, sign | all_ones, bits)
        bits = np.where(exponent <= smallest, sign, bits)
    return np.where(np.isnan(original), original, bits.astype(bits_dtype).view(x.dtype))


def _lower_reduce_precision(
    block: Block, x: Operand, out: Aval, exponent_bits: int, mantissa_bits: int
) -> Operand:
    return block.op(
        "reduce_precision",
        x,
        out=out,
        attributes=f"exponent_bits = {exponent_bits} : i32, mantissa_bits = {mantissa_bits} : i32",
    )


def _reduce_precision_jvp(dx: Value, out: Value, x: Value, **bits: int) -> Value:
    return reduce_precision(dx, **bits)


reduce_precision: Primitive = unary(
    "reduce_precision", "Rounds to a float with fewer bits, in the same dtype.",
    evaluate=_reduce_precision, stablehlo=_lower_reduce_precision, jvp=_reduce_precision_jvp,
    linear=True, accepts="float of 16 bits or more",
)  # fmt: skip
