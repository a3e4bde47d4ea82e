"""Rounding, bounds, and the parts of floats: mantissa, exponent, sign, neighbours."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    complex_numbers,
    conversion,
    selection,
    structural,
)
from ..typing import ArrayLike
from .axes import whole_number
from .elementwise import EVEN, maximum, minimum, two
from .makers import binary, derived, unary
from .plans import composite
from .promotion import SCALARS, cast, check_ranks, fits, inexact, no_out, noted, value
from .ufunc_options import takes_options

__all__ = [
    "around",
    "ceil",
    "clip",
    "copysign",
    "fix",
    "floor",
    "fmax",
    "fmin",
    "frexp",
    "heaviside",
    "ldexp",
    "modf",
    "nan_to_num",
    "nextafter",
    "rint",
    "round",
    "round_",
    "signbit",
    "spacing",
    "trunc",
]

# --- rounding ---

_floor = unary(arithmetic.floor, "floor")
_ceil = unary(arithmetic.ceil, "ceil")


def is_whole(x: Any) -> bool:
    """True if the elements of a value are integers or booleans by dtype. Keys are refused."""
    if dtypes.is_inexact(x.aval.dtype):
        return False
    if is_extended(x.aval.dtype):
        raise noted(no_numbers("numpy", x.aval))
    return True


@takes_options
def floor(x: ArrayLike, /) -> Array:
    """The largest whole number that isn't above.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.floor(np.array([-1.5, 1.5]))
      Array([-2.,  1.], dtype=float32)
    """
    x = value("floor", x)
    return x if is_whole(x) else _floor(x)  # type: ignore


@takes_options
def ceil(x: ArrayLike, /) -> Array:
    """The smallest whole number that isn't below.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.ceil(np.array([-1.5, 1.5]))
      Array([-1.,  2.], dtype=float32)
    """
    x = value("ceil", x)
    return x if is_whole(x) else _ceil(x)  # type: ignore


@composite
def _trunc(x: Any) -> Any:
    below = comparison.lt(x, literal(0.0, x.aval.dtype))
    return selection.select_n(below, arithmetic.floor(x), arithmetic.ceil(x))


@takes_options
def trunc(x: ArrayLike) -> Array:
    """Whole numbers towards zero.

    Args:
      x: real array of any shape; its dtype is kept.
    Returns: array of the shape of `x`.
    Example:
      >>> np.trunc(np.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    x = value("trunc", x)
    return x if is_whole(x) else _trunc(x)  # type: ignore


def fix(x: ArrayLike, out: None = None) -> Array:
    """Whole numbers towards zero.

    Args:
      x: real array of any shape; its dtype is kept.
      out: not supported.
    Returns: array of the shape of `x`.
    Example:
      >>> np.fix(np.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    no_out("fix", out)
    return trunc(x)


_nearest = unary(arithmetic.round_, "rint", params=(("rounding_method", EVEN),))


@takes_options
def rint(x: ArrayLike, /) -> Array:
    """The nearest whole number; the even one of two.

    Args:
      x: array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.rint(np.array([0.5, 1.5, 2.6]))
      Array([0., 2., 3.], dtype=float32)
    """
    x = inexact("rint", x)
    return _parts(_nearest, x)


def _parts(function: Any, x: Any) -> Any:
    """A function of reals on the parts of complex numbers."""
    if not dtypes.is_complex(x.aval.dtype):
        return function(x)
    return complex_numbers.complex_(
        function(complex_numbers.real(x)), function(complex_numbers.imag(x))
    )


@composite
def _round(x: Any, *, decimals: int) -> Any:
    dtype = x.aval.dtype
    if dtypes.real_of(dtype).itemsize < 4:
        return cast(_scaled_round(cast(x, dtypes.float32), decimals), dtype, x.aval.weak_type)
    return _scaled_round(x, decimals)


def _scaled_round(x: Any, decimals: int) -> Any:
    factor = literal(10.0 ** builtin_abs(decimals), x.aval.dtype)
    if decimals > 0:
        scaled = arithmetic.round_(arithmetic.mul(x, factor), rounding_method=EVEN)
        return arithmetic.div(scaled, factor)
    scaled = arithmetic.round_(arithmetic.div(x, factor), rounding_method=EVEN)
    return arithmetic.mul(scaled, factor)


def builtin_abs(n: int) -> int:
    """|n|."""
    return -n if n < 0 else n


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Numbers rounded to decimals; of two equally near, to the even one.

    Args:
      a: array of any shape; its dtype is kept.
      decimals: how many; negative ones round to tens, hundreds, ….
      out: not supported.
    Returns: array of the shape of `a`.
    Example:
      >>> np.round(np.array([0.125, 2.5]), 2)
      Array([0.12, 2.5 ], dtype=float32)
    """
    no_out("round", out)
    x = value("round", a, "a")
    decimals = whole_number("round", decimals, "decimals")
    if is_whole(x):
        if decimals < 0:
            raise noted(
                NotImplementedError(
                    "round: integers are rounded to zero or more decimals only; got "
                    f"decimals={decimals}\n  fix: np.round(x.astype(float), decimals)"
                )
            )
        return x
    if not decimals:
        return _parts(_nearest, x)
    return _parts(lambda part: _round(part, decimals=decimals), x)


around = round_ = round

# --- bounds ---


@composite
def _between(x: Any, low: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


@located
def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    a: ArrayLike | None = None,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> Array:
    """Numbers moved into the interval from `min` to `max`.

    Args:
      arr: real array of any shape.
      min, max: bounds that broadcast with `arr`, or None for no bound. Where `min` is above `max`,
        the result is `max`.
      a, a_min, a_max: older names of the same.
    Returns: array of the broadcast shape.
    Example:
      >>> np.clip(np.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    given: Any = a if arr is None else arr
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = value("clip", given, "arr")
    bounds: Any = (x, low, high)
    for bound in bounds:
        if bound.__class__ is complex or (hasattr(bound, "dtype") and bound.dtype.kind == "c"):
            raise ValueError("clip: complex numbers have no order; clip their parts")
    check_ranks("clip", *[v for v in bounds if v is not None])
    if x.aval.inexact and all([b.__class__ in (int, float) and fits(b) for b in (low, high)]):
        return _between(x, literal(low, x.dtype), literal(high, x.dtype))
    # a weak bound stays one: the dtype is that of `arr` then
    if low is not None:
        x = maximum(x, low)
    if high is not None:
        x = minimum(x, high)
    return x


def _fmax(x: Any, y: Any) -> Any:
    chosen = _greater(x, y) | comparison.ne(y, y)
    return selection.select_n(chosen, y, x)


def _fmin(x: Any, y: Any) -> Any:
    chosen = _greater(y, x) | comparison.ne(y, y)
    return selection.select_n(chosen, y, x)


def _greater(x: Any, y: Any) -> Any:
    if not dtypes.is_complex(x.aval.dtype):
        return comparison.gt(x, y)
    real, imag = complex_numbers.real, complex_numbers.imag
    level = comparison.eq(real(x), real(y)) & comparison.gt(imag(x), imag(y))
    return comparison.gt(real(x), real(y)) | level


fmax = derived(_fmax, "fmax", two(
    "The larger one; a NaN gives way.", "np.fmax(np.array([np.nan, 2.0]), 1.0)",
    "Array([1., 2.], dtype=float32)"))  # fmt: skip
fmin = derived(_fmin, "fmin", two(
    "The smaller one; a NaN gives way.", "np.fmin(np.array([np.nan, 2.0]), 1.0)",
    "Array([1., 1.], dtype=float32)"))  # fmt: skip

# --- the parts of floats ---

UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def bits_of(x: Any) -> Any:
    """The bits of floats, as unsigned integers."""
    return conversion.bitcast_convert_type(x, dtype=UNSIGNED[x.aval.dtype.itemsize])


@composite
def _signbit(x: Any) -> Any:
    dtype = x.aval.dtype
    if dtypes.is_float(dtype):
        bits = bits_of(x)
        return comparison.ge(bits, literal(1 << (8 * dtype.itemsize - 1), bits.aval.dtype))
    if dtypes.is_bool(dtype) or dtypes.is_unsigned(dtype):
        return structural.full(x.aval.update(dtype=dtypes.bool_, weak_type=False), False)
    return comparison.lt(x, literal(0, dtype))


@takes_options
def signbit(x: ArrayLike, /) -> Array:
    """True where the sign is minus; -0.0 has one.

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
    same = comparison.eq(_signbit(x), _signbit(y))
    return selection.select_n(same, arithmetic.neg(x), x)


copysign = derived(_copysign, "copysign", two(
    "x1 with the sign of x2.", "np.copysign(np.array([1.0, -2.0]), -1.0)",
    "Array([-1., -2.], dtype=float32)"), to_inexact=True)  # fmt: skip
nextafter = binary(arithmetic.nextafter, "nextafter", two(
    "The next float after x1 in the direction of x2.", "np.nextafter(np.array([1.0]), 2.0) - 1.0",
    "Array([1.1920929e-07], dtype=float32)"), to_inexact=True)  # fmt: skip


@takes_options
def spacing(x: ArrayLike, /) -> Array:
    """The distance to the next float away from zero.

    Args:
      x: real array of any shape; integers become float32.
    Returns: array of the shape of `x`.
    Example:
      >>> np.spacing(np.array([1.0]))
      Array([1.1920929e-07], dtype=float32)
    """
    return _spacing(inexact("spacing", x))


@composite
def _spacing(x: Any) -> Any:
    away = _copysign(structural.full(x.aval.strong(), math.inf), x)
    return arithmetic.sub(arithmetic.nextafter(x, away), x)


def _split(x: Any) -> tuple[Any, Any]:
    """Mantissa and exponent."""
    dtype = x.aval.dtype
    info = dtypes.finfo(dtype)
    bits = info.nmant
    width = 8 * dtype.itemsize
    bias = (1 << (width - bits - 2)) - 1
    zero = literal(0.0, dtype)
    # subnormals are scaled to normal numbers first
    tiny = comparison.lt(arithmetic.abs_(x), literal(float(info.smallest_normal), dtype))
    scaled = selection.select_n(tiny, x, arithmetic.mul(x, literal(2.0 ** (bits + 2), dtype)))
    raw = bits_of(scaled)
    unsigned = raw.aval.dtype
    mask = ((1 << (width - bits - 1)) - 1) << bits
    field = bitwise.bitwise_and(raw, literal(mask, unsigned))
    exponent = cast(bitwise.shift_right_logical(field, literal(bits, unsigned)), dtypes.int32)
    exponent = arithmetic.sub(exponent, literal(bias - 1, dtypes.int32))
    shift = selection.select_n(tiny, literal(0, dtypes.int32), literal(bits + 2, dtypes.int32))
    exponent = arithmetic.sub(exponent, shift)
    # exact, and unlike a change of bits it has a derivative
    mantissa = _ldexp(x, arithmetic.neg(exponent))
    plain = arithmetic.is_finite(x) & comparison.ne(x, zero)
    return (
        selection.select_n(plain, x, mantissa),
        selection.select_n(plain, literal(0, dtypes.int32), exponent),
    )


_frexp = composite(_split)


@takes_options
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Mantissas from 1/2 to 1 (not included) and exponents: x = mantissa * 2 ** exponent.

    Args:
      x: real array of any shape; integers become float32.
    Returns: (mantissas, int32 exponents), both of the shape of `x`.
    Example:
      >>> np.frexp(np.array([6.0]))
      (Array([0.75], dtype=float32), Array([3], dtype=int32))
    """
    v = inexact("frexp", x)
    if dtypes.is_complex(v.aval.dtype):
        raise noted(ShapeError(f"frexp: expected a real operand; got {v.aval}"))
    return _frexp(cast(v, v.aval.dtype))


@composite
def _ldexp(x: Any, e: Any) -> Any:
    dtype = x.aval.dtype
    wide = dtype if dtype.itemsize >= 4 else dtypes.float32
    x = cast(x, wide, x.aval.weak_type)
    bits, width = dtypes.finfo(wide).nmant, 8 * wide.itemsize
    bias = (1 << (width - bits - 2)) - 1
    integer = dtypes.int32 if width == 32 else dtypes.int64
    given = e.aval.dtype
    if given.itemsize >= integer.itemsize and given != integer:  # a cast alone would wrap
        limits = dtypes.iinfo(integer)
        low = 0 if dtypes.is_unsigned(given) else limits.min
        e = selection.clamp(literal(low, given), e, literal(limits.max, given))
    e = cast(e, integer)
    most = literal(bias, integer)
    least = literal(1 - bias, integer)
    for _ in range(3):  # the range of exponents is three times as wide with subnormals
        part = selection.clamp(least, e, most)
        e = arithmetic.sub(e, part)
        field = bitwise.shift_left(structural.add(part, most), literal(bits, integer))
        x = arithmetic.mul(x, conversion.bitcast_convert_type(field, dtype=wide))
    return cast(x, dtype, x.aval.weak_type)


@takes_options
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2 ** x2, for whole x2.

    Args:
      x1: real array; integers become float32.
      x2: integer array that broadcasts with x1.
    Returns: array of the broadcast shape.
    Example:
      >>> np.ldexp(np.array([0.75]), 3)
      Array([6.], dtype=float32)
    """
    x, e = inexact("ldexp", x1), value("ldexp", x2, "x2")
    check_ranks("ldexp", x, e)
    if is_complex_or_not_whole(x, e):
        raise noted(
            ShapeError(
                f"ldexp: expected a real operand and integer exponents; got {x.aval} and {e.aval}"
            )
        )
    return _ldexp(x, e)


def is_complex_or_not_whole(x: Any, e: Any) -> bool:
    """The error of `ldexp` for operands of other kinds."""
    return dtypes.is_complex(x.aval.dtype) or not is_whole(e)


@composite
def _modf(x: Any) -> tuple[Any, Any]:
    whole = _trunc(x)
    return arithmetic.sub(x, whole), whole


@takes_options
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Fractions and whole parts, both with the sign of x.

    Args:
      x: real array of any shape; integers become float32.
      out: not supported.
    Returns: (fractions, whole parts), both of the shape of `x`.
    Example:
      >>> np.modf(np.array([-1.5, 2.25]))
      (Array([-0.5 ,  0.25], dtype=float32), Array([-1.,  2.], dtype=float32))
    """
    no_out("modf", out)
    return _modf(inexact("modf", x))


@located
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """NaN and infinities replaced by numbers.

    Args:
      x: array of any shape; its dtype is kept.
      copy: for NumPy's sake.
      nan: what replaces NaN.
      posinf, neginf: what replaces infinities; by default the largest and smallest finite numbers.
    Returns: array of the shape of `x`.
    Example:
      >>> np.nan_to_num(np.array([1.0, np.nan]))
      Array([1., 0.], dtype=float32)
    """
    v = value("nan_to_num", x)
    if is_whole(v):
        return v
    info = dtypes.finfo(v.aval.dtype)
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf

    def replaced(part: Any) -> Any:
        dtype = part.aval.dtype
        n, h, l_ = (
            literal(b, dtype) if b.__class__ in SCALARS else cast(value("nan_to_num", b), dtype)
            for b in (nan, high, low)
        )
        part = selection.select_n(comparison.ne(part, part), part, n)
        part = selection.select_n(comparison.eq(part, literal(math.inf, dtype)), part, h)
        return selection.select_n(comparison.eq(part, literal(-math.inf, dtype)), part, l_)

    return _parts(replaced, v)


def _heaviside(x: Any, y: Any) -> Any:
    dtype = x.aval.dtype
    zero = literal(0.0, dtype)
    step = selection.select_n(comparison.gt(x, zero), zero, literal(1.0, dtype))
    at_zero = selection.select_n(comparison.eq(x, zero), step, y)
    return selection.select_n(comparison.ne(x, x), at_zero, x)


heaviside = derived(_heaviside, "heaviside", two(
    "0 for negative x1, 1 for positive, x2 at zero.",
    "np.heaviside(np.array([-1.0, 0.0, 2.0]), 0.5)",
    "Array([0. , 0.5, 1. ], dtype=float32)"), to_inexact=True)  # fmt: skip
