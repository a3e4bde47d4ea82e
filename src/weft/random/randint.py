"""Integers from a range: randint. Two words of bits for each element make the bias of the
remainder negligible.
"""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..numpy.creation import dtype_argument
from ..numpy.promotion import cast, value
from ..primitives import arithmetic, comparison, selection, structural
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .arguments import sample_shape, sampler
from .keys import one_key, raw_bits, subkey_list

__all__ = ["randint"]


# --- integers ---


@located
def randint(
    key: ArrayLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
) -> Array:
    """Uniform integers, minval <= x < maxval.

    Args:
      key: a key.
      shape: the shape of the result.
      minval, maxval: integer bounds, which broadcast to `shape`. maxval may be the dtype's largest
        number plus one: `randint(key, shape, 0, 256, "uint8")` covers the dtype. Bounds outside the
        dtype are clipped to it; concrete bounds that the default integer cannot represent raise an
        error. If maxval <= minval, the result is minval.
      dtype: an integer dtype of 8 bits or more; int32 by default (int64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not integers. ValueError: bounds do not broadcast to the shape,
      or are outside the dtype.
    Example:
      >>> random.randint(random.PRNGKey(0), (5,), 0, 10).tolist()
      [8, 1, 3, 8, 8]
    """
    data = one_key("randint", key)
    result_dtype = dtype_argument("randint", dtype)
    dtype = dtypes.default_int() if result_dtype is None else result_dtype
    if not dtypes.is_integer(dtype) or dtypes.bit_width(dtype) < 8:
        raise ShapeError(
            f"randint: dtype must be an integer dtype of 8 bits or more; got {dtype}\n"
            "  fix: int32; or uniform for floats"
        )
    shape = shape_tuple("randint", shape)
    low, span = _bounds(minval, maxval, dtype)
    if span is None:
        return all_integers(data, shape=shape, dtype=dtype)
    sample_shape("randint", shape, minval=low, maxval=span)
    return integers(data, low, span, shape=shape, dtype=dtype)


def _bounds(minval: Any, maxval: Any, dtype: Any) -> tuple[Any, Any]:
    """The smallest integer, and the number of integers, which is `None` for all integers of 32 or
    64 bits."""
    info, counts = dtypes.iinfo(dtype), _counts(dtype)
    dtype_min, dtype_max = int(info.min), int(info.max)
    _refuse_beyond("minval", minval, dtype_min, dtype_max, dtype)
    _refuse_beyond("maxval", maxval, dtype_min, dtype_max + 1, dtype)
    if isinstance(minval, (int, np.integer)) and isinstance(maxval, (int, np.integer)):
        minimum, end = (min(max(int(m), dtype_min), dtype_max) for m in (minval, maxval))
        n = end - minimum + (int(maxval) > dtype_max) if end > minimum else 1
        return _number(minimum, dtype), None if n > dtypes.iinfo(counts).max else _number(n, counts)
    bounds = []
    for x, argument in ((minval, "minval"), (maxval, "maxval")):
        if isinstance(x, (int, np.integer)):
            bounds.append(
                (_number(min(max(int(x), dtype_min), dtype_max), dtype), int(x) > dtype_max)
            )
            continue
        v = value("randint", x, argument)
        if not dtypes.is_integer(v.aval.dtype):
            raise ShapeError(
                f"randint: {argument} must be of an integer dtype; got {v.aval}\n"
                f"  fix: int({argument})"
            )
        bounds.append(_clipped(v, dtype))
    (low, _), (high, exceeds) = bounds
    span = cast(high, counts) - cast(low, counts)
    one = _number(1, counts)
    if exceeds is not False:
        span_plus_one = structural.add(span, one)
        span = span_plus_one if exceeds is True else selection.where(exceeds, span_plus_one, span)
    return low, selection.where(comparison.gt(high, low), span, one)


def _refuse_beyond(argument: str, x: Any, smallest: int, largest: int, dtype: Any) -> None:
    """Refuses a concrete bound outside both the dtype and the default integer."""
    default = dtypes.iinfo(dtypes.default_int())
    smallest, largest = min(smallest, int(default.min)), max(largest, int(default.max))
    concrete = x.concrete() if isinstance(x, Value) else x
    if not isinstance(concrete, (int, np.integer)):
        if not dtypes.is_integer(getattr(concrete, "dtype", np.float32)) or not concrete.size:
            return
        info = dtypes.iinfo(concrete.dtype)
        if smallest <= info.min and info.max <= largest:
            return
        numbers = np.asarray(concrete)
        concrete = int(numbers.min())
        if concrete >= smallest:
            concrete = int(numbers.max())
    if not smallest <= concrete <= largest:
        raise ValueError(
            f"randint: {argument} must be from {smallest} to {largest} for {dtype}; got "
            f"{concrete}\n"
            f"  fix: {argument} in that range; or a wider dtype, such as int64 after "
            "config.update('enable_x64', True)"
        )


def _counts(dtype: Any) -> Any:
    """The unsigned dtype, of 32 or 64 bits, that counts the integers of a dtype."""
    return dtypes.uint64 if dtype.itemsize == 8 else dtypes.uint32


def _number(x: int, dtype: Any) -> Array:
    return Array(dtype.type(x), aval((), dtype))


def _clipped(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Integers clipped to the range of a dtype, and a mask of those above it."""
    old_info, new_info = dtypes.iinfo(x.aval.dtype), dtypes.iinfo(dtype)
    exceeds: Any = False
    if old_info.max > new_info.max:
        maximum = literal(int(new_info.max), x.aval.dtype)
        exceeds, x = comparison.gt(x, maximum), arithmetic.min_(x, maximum)
    if old_info.min < new_info.min:
        x = arithmetic.max_(x, literal(int(new_info.min), x.aval.dtype))
    return cast(x, dtype), exceeds


@sampler
def integers(key: Any, low: Any, span: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Integers from `low` to `low + span - 1`: remainders of 64-bit numbers (128-bit numbers for
    64-bit dtypes). A span of 0 means 2**32 (2**64)."""
    counts = _counts(dtype)
    width = dtypes.bit_width(counts)
    upper, lower = [raw_bits(k, shape, width) for k in subkey_list(key)]
    rem, is_full_range = arithmetic.rem, comparison.eq(span, _number(0, counts))
    span_word = selection.where(
        is_full_range, _number(1, counts), span
    )  # must not be a constant 0 for XLA
    half = rem(_number(2 ** (width // 2), counts), span_word)
    modulus = rem(half * half, span_word)  # 2**width
    offset = rem(rem(upper, span_word) * modulus + rem(lower, span_word), span_word)
    return cast(selection.where(is_full_range, lower, offset), dtype) + low


@sampler
def all_integers(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Any integers of a dtype of 32 or 64 bits."""
    _, bits_key = subkey_list(key)
    return cast(raw_bits(bits_key, shape, dtypes.bit_width(dtype)), dtype)
