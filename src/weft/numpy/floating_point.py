"""The parts of floating-point numbers: frexp, ldexp, modf, signbit, copysign, nextafter, spacing,
nan_to_num."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    conversion,
    creation,
    selection,
    structural,
)
from ..typing import ArrayLike
from .makers import binary, binary_docstring, composite_binary
from .plans import composite
from .promotion import SCALARS, as_inexact, cast, check_ranks, no_out, noted, strong, value
from .rounding import _by_parts, _trunc, is_integral
from .ufunc_options import takes_options

__all__ = ["copysign", "frexp", "ldexp", "modf", "nan_to_num", "nextafter", "signbit", "spacing"]


UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def bits_of(x: Any) -> Any:
    """The bits of floats as unsigned integers."""
    return conversion.bitcast_convert_type(x, dtype=UNSIGNED[x.aval.dtype.itemsize])


@composite
def _signbit(x: Any) -> Any:
    dtype = x.aval.dtype
    if dtypes.is_float(dtype):
        bits = bits_of(x)
        return comparison.ge(bits, literal(1 << (8 * dtype.itemsize - 1), bits.aval.dtype))
    if dtypes.is_bool(dtype) or dtypes.is_unsigned(dtype):
        return creation.full(x.aval.update(dtype=dtypes.bool_, weak_type=False), False)
    return comparison.lt(x, literal(0, dtype))


@takes_options
def signbit(x: ArrayLike, /) -> Array:
    """True where the sign bit is set, also for -0.0.

    Args:
      x: real array of any shape.
    Returns: boolean array of the shape of `x`.
    Example:
      >>> np.signbit(np.array([-1.0, -0.0, 0.0]))
      Array([ True,  True, False], dtype=bool)
    """
    v = value("signbit", x)
    if dtypes.is_complex(v.dtype):
        raise noted(ShapeError(f"signbit: expected a real operand; got {v.aval}"))
    return _signbit(v)


def _copysign(x: Any, y: Any) -> Any:
    if dtypes.is_complex(x.aval.dtype):
        raise ShapeError(f"copysign: expected real operands; got {x.aval} and {y.aval}")
    has_same_sign = comparison.eq(_signbit(x), _signbit(y))
    return selection.select_n(has_same_sign, arithmetic.neg(x), x)


copysign = composite_binary(
    _copysign,
    "copysign",
    binary_docstring(
        "Magnitude of x1 with the sign of x2.",
        "np.copysign(np.array([1.0, -2.0]), -1.0)",
        "Array([-1., -2.], dtype=float32)",
    ),
    to_inexact=True,
)
nextafter = binary(
    arithmetic.nextafter,
    "nextafter",
    binary_docstring(
        "Next float after x1 towards x2.",
        "np.nextafter(np.array([1.0]), 2.0) - 1.0",
        "Array([1.1920929e-07], dtype=float32)",
    ),
    to_inexact=True,
)


@takes_options
def spacing(x: ArrayLike, /) -> Array:
    """Distance to the next float away from zero.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.spacing(np.array([1.0]))
      Array([1.1920929e-07], dtype=float32)
    """
    return _spacing(as_inexact("spacing", x))


@composite
def _spacing(x: Any) -> Any:
    infinity = _copysign(creation.full(x.aval.strong(), math.inf), x)
    return arithmetic.sub(arithmetic.nextafter(x, infinity), x)


def _split(x: Any) -> tuple[Any, Any]:
    """Mantissa and exponent of floats."""
    dtype = x.aval.dtype
    info = dtypes.finfo(dtype)
    mantissa_bits = info.nmant
    width = 8 * dtype.itemsize
    bias = (1 << (width - mantissa_bits - 2)) - 1
    zero = literal(0.0, dtype)
    # subnormals are scaled to normal numbers first
    is_subnormal = comparison.lt(arithmetic.abs_(x), literal(float(info.smallest_normal), dtype))
    normal_x = selection.select_n(
        is_subnormal, x, arithmetic.mul(x, literal(2.0 ** (mantissa_bits + 2), dtype))
    )
    bit_pattern = bits_of(normal_x)
    bits_dtype = bit_pattern.aval.dtype
    mask = ((1 << (width - mantissa_bits - 1)) - 1) << mantissa_bits
    exponent_bits = bitwise.bitwise_and(bit_pattern, literal(mask, bits_dtype))
    exponent = cast(
        bitwise.shift_right_logical(exponent_bits, literal(mantissa_bits, bits_dtype)), dtypes.int32
    )
    exponent = arithmetic.sub(exponent, literal(bias - 1, dtypes.int32))
    shift = selection.select_n(
        is_subnormal, literal(0, dtypes.int32), literal(mantissa_bits + 2, dtypes.int32)
    )
    exponent = arithmetic.sub(exponent, shift)
    # exact, and unlike bit operations it has a derivative
    mantissa = _ldexp(x, arithmetic.neg(exponent))
    is_nonzero_finite = arithmetic.is_finite(x) & comparison.ne(x, zero)
    return (
        selection.select_n(is_nonzero_finite, x, mantissa),
        selection.select_n(is_nonzero_finite, literal(0, dtypes.int32), exponent),
    )


_frexp = composite(_split)


@takes_options
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Decomposes floats into mantissas in [1/2, 1) and exponents: x = mantissa * 2 ** exponent.

    Args:
      x: real array of any shape; integers become float32.
    Returns: (mantissas, int32 exponents), both of the shape of `x`.
    Example:
      >>> np.frexp(np.array([6.0]))
      (Array([0.75], dtype=float32), Array([3], dtype=int32))
    """
    v = as_inexact("frexp", x)
    if dtypes.is_complex(v.aval.dtype):
        raise noted(ShapeError(f"frexp: expected a real operand; got {v.aval}"))
    return _frexp(cast(v, v.aval.dtype))


@composite
def _ldexp(x: Any, e: Any) -> Any:
    dtype = x.aval.dtype
    compute_dtype = dtype if dtype.itemsize >= 4 else dtypes.float32
    x = cast(x, compute_dtype, x.aval.weak_type)
    bits, width = dtypes.finfo(compute_dtype).nmant, 8 * compute_dtype.itemsize
    bias = (1 << (width - bits - 2)) - 1
    int_dtype = dtypes.int32 if width == 32 else dtypes.int64
    exponent_dtype = e.aval.dtype
    if (
        exponent_dtype.itemsize >= int_dtype.itemsize and exponent_dtype != int_dtype
    ):  # a plain cast would wrap around
        limits = dtypes.iinfo(int_dtype)
        low = 0 if dtypes.is_unsigned(exponent_dtype) else limits.min
        e = selection.clamp(literal(low, exponent_dtype), e, literal(limits.max, exponent_dtype))
    e = cast(e, int_dtype)
    max_exponent = literal(bias, int_dtype)
    min_exponent = literal(1 - bias, int_dtype)
    for _ in range(3):  # subnormals make the range of exponents three times larger
        factor_exponent = selection.clamp(min_exponent, e, max_exponent)
        e = arithmetic.sub(e, factor_exponent)
        field = bitwise.shift_left(
            structural.add(factor_exponent, max_exponent), literal(bits, int_dtype)
        )
        x = arithmetic.mul(x, conversion.bitcast_convert_type(field, dtype=compute_dtype))
    return cast(x, dtype, x.aval.weak_type)


@takes_options
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2 ** x2, for integers x2.

    Args:
      x1: real array; integers become float32.
      x2: integer array that broadcasts with x1.
    Returns: array of the broadcast shape.
    Example:
      >>> np.ldexp(np.array([0.75]), 3)
      Array([6.], dtype=float32)
    """
    x, e = as_inexact("ldexp", x1), value("ldexp", x2, "x2")
    check_ranks("ldexp", x, e)
    if is_not_ldexp_operand(x, e):
        raise noted(
            ShapeError(
                f"ldexp: expected a real operand and integer exponents; got {x.aval} and {e.aval}"
            )
        )
    return _ldexp(x, e)


def is_not_ldexp_operand(x: Any, e: Any) -> bool:
    """True for operands that `ldexp` does not support."""
    return dtypes.is_complex(x.aval.dtype) or not is_integral(e)


@composite
def _modf(x: Any) -> tuple[Any, Any]:
    integral = _trunc(x)
    return arithmetic.sub(x, integral), integral


@takes_options
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Fractional and integral parts, both with the sign of x.

    Args:
      x: real array of any shape; integers become float32.
      out: not supported.
    Returns: (fractional parts, integral parts), both of the shape of `x`.
    Example:
      >>> np.modf(np.array([-1.5, 2.25]))
      (Array([-0.5 ,  0.25], dtype=float32), Array([-1.,  2.], dtype=float32))
    """
    no_out("modf", out)
    return _modf(as_inexact("modf", x))


@located
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replaces NaN and infinities by numbers.

    Args:
      x: array of any shape; its dtype is kept.
      copy: ignored.
      nan: the replacement of NaN.
      posinf, neginf: the replacements of infinities; by default the largest and smallest finite
        numbers.
    Returns: array of the shape of `x`.
    Example:
      >>> np.nan_to_num(np.array([1.0, np.nan]))
      Array([1., 0.], dtype=float32)
    """
    v = strong(value("nan_to_num", x))
    if dtypes.is_extended(v.aval.dtype):  # keys are not NaN
        return v
    if is_integral(v):
        return v
    info = dtypes.finfo(v.aval.dtype)
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf

    def replace_part(part: Any) -> Any:
        dtype = part.aval.dtype
        nan_value, high_value, low_value = (
            literal(b, dtype) if b.__class__ in SCALARS else cast(value("nan_to_num", b), dtype)
            for b in (nan, high, low)
        )
        part = selection.select_n(comparison.ne(part, part), part, nan_value)
        part = selection.select_n(comparison.eq(part, literal(math.inf, dtype)), part, high_value)
        return selection.select_n(comparison.eq(part, literal(-math.inf, dtype)), part, low_value)

    return _by_parts(replace_part, v)
