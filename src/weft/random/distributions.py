"""Samples of distributions that are a function of a few uniform numbers or bits.

Each is differentiable in its parameters, whatever floats those are. Knows keys only as what
`prng` makes bits of.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.quiet import run_quietly
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..numpy.creation import wanted_dtype
from ..numpy.promotion import SCALARS, cast, inexact, value
from ..primitives import (
    arithmetic,
    bitwise,
    comparison,
    complex_numbers,
    conversion,
    selection,
    slicing,
    special,
    structural,
)
from ..typing import ArrayLike, DTypeLike, ShapeLike
from .prng import one_key, raw_bits, sampler, several

__all__ = [
    "bernoulli",
    "normal",
    "rademacher",
    "randint",
    "truncated_normal",
    "uniform",
]

# --- arguments ---


def float_dtype(name: str, dtype: Any, accepts_complex: bool = False) -> Any:
    """The dtype of samples: the one asked for, or the default float."""
    wanted = wanted_dtype(name, dtype)
    if wanted is None:
        return dtypes.default_float()
    if not (dtypes.is_float(wanted) or (accepts_complex and dtypes.is_complex(wanted))):
        kinds = "a float or complex dtype" if accepts_complex else "a float dtype"
        raise ShapeError(
            f"{name}: dtype must be {kinds}; got {wanted}\n  fix: float32, or randint for integers"
        )
    return wanted


def parameter(name: str, x: Any, argument: str, dtype: Any) -> Any:
    """A parameter as a value of the samples' dtype."""
    if x.__class__ in SCALARS and x.__class__ is not complex:
        return Array(run_quietly(np.array, x, dtype)[()], aval((), dtype))
    v = value(name, x, argument)
    if dtypes.is_complex(v.aval.dtype):
        raise ShapeError(
            f"{name}: {argument} must be real; got {v.aval}\n  fix: np.real({argument})"
        )
    return cast(v, dtype)


def sample_shape(name: str, shape: Any, **parameters: Any) -> tuple[int, ...]:
    """The shape of the samples: the requested one, to which parameters broadcast, or theirs."""
    shapes = [p.aval.shape for p in parameters.values()]
    try:
        if shape is None:
            return np.broadcast_shapes(*shapes)
        wanted = shape_tuple(name, shape)
        if np.broadcast_shapes(wanted, *shapes) == wanted:
            return wanted
        problem = f"don't broadcast to shape {wanted}"
    except ValueError:
        problem = (
            "don't broadcast together" if shape is None else f"don't broadcast to shape {shape}"
        )
    listed = ", ".join(f"{n} {p.aval}" for n, p in parameters.items())
    raise ValueError(
        f"{name}: parameters {problem}: {listed}\n"
        "  fix: shape is that of the result; by default it is what the parameters broadcast to"
    )


def drawing_mode(name: str, mode: Any) -> str:
    """The resolution of probabilities: "low" (also `None`), or "high"."""
    if mode is None:
        return "low"
    if not isinstance(mode, str) or mode not in ("low", "high"):
        raise ValueError(
            f"{name}: mode must be 'low' or 'high'; got {mode!r}\n"
            "  fix: 'high' where probabilities below 1e-7 count"
        )
    return mode


# --- uniform ---


@located
def uniform(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    """Uniform floats, minval <= x < maxval.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; float32 by default (float64 with x64 on).
      minval, maxval: the bounds, which broadcast to `shape`.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not a float dtype. ValueError: bounds don't fit the shape.
    Example:
      >>> random.uniform(random.PRNGKey(0), (2,)).tolist()
      [0.216295, 0.804124]
    """
    data, dtype = one_key("uniform", key), float_dtype("uniform", dtype)
    shape = shape_tuple("uniform", shape)
    if minval.__class__ in SCALARS and maxval.__class__ in SCALARS and minval == 0 and maxval == 1:
        return unit(data, shape=shape, dtype=dtype)
    low, high = (
        parameter("uniform", m, n, dtype) for m, n in ((minval, "minval"), (maxval, "maxval"))
    )
    sample_shape("uniform", shape, minval=low, maxval=high)
    return between(data, low, high, shape=shape, dtype=dtype)


@sampler
def unit(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from 0 to 1: random bits as the mantissa of a number from 1 to 2, less 1."""
    info = dtypes.finfo(dtype)
    mantissa, width = int(info.nmant), dtypes.bit_width(dtype)
    drawn = 8 if mantissa < 8 else width  # as many bits as the mantissa needs
    number = np.dtype(f"u{width // 8}")
    bits = cast(raw_bits(key, shape, drawn), number)
    one = int(np.ones((), dtype).view(number))
    bits = bitwise.shift_right_logical(bits, literal(drawn - mantissa, number))
    bits = bitwise.bitwise_or(bits, literal(one, number))
    return conversion.bitcast_convert_type(bits, dtype=dtype) - 1.0


@sampler
def between(key: Any, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from `low` to `high`."""
    floats = unit(key, shape=shape, dtype=dtype)
    return arithmetic.max_(low, floats * (high - low) + low)


# --- normal ---


@located
def normal(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Normal samples: mean 0, variance 1.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float or complex dtype; float32 by default (float64 with x64 on). Complex samples
        have real and imaginary parts of variance 1/2.
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not an inexact dtype.
    Example:
      >>> random.normal(random.PRNGKey(0), (3,)).tolist()
      [1.816087, -0.482623, 0.339889]
    """
    data = one_key("normal", key)
    dtype = float_dtype("normal", dtype, accepts_complex=True)
    shape = shape_tuple("normal", shape)
    if dtypes.is_complex(dtype):
        return complex_gauss(data, shape=shape, dtype=dtype)
    return gauss(data, shape=shape, dtype=dtype)


@sampler
def gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal samples, by the inverse of the distribution function."""
    one = np.ones((), dtype)
    low = literal(np.nextafter(-one, 0 * one).item(), dtype)
    u = between(key, low, literal(1.0, dtype), shape=shape, dtype=dtype)
    return special.erf_inv(u) * math.sqrt(2)


@sampler
def complex_gauss(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex normal samples."""
    part = dtypes.real_of(dtype)
    parts = [gauss(k, shape=shape, dtype=part) for k in several(key)]
    return complex_numbers.complex_(*parts) / math.sqrt(2)


@located
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Normal samples, of which those between `lower` and `upper` are kept.

    Args:
      key: a key.
      lower, upper: the bounds, in standard deviations.
      shape: the shape of the result; by default what the bounds broadcast to.
      dtype: a float dtype; float32 by default (float64 with x64 on).
    Returns: array of `shape`, lower < x < upper.
    Raises: TypeError: not a key, or not a float dtype. ValueError: bounds don't fit the shape.
    Example:
      >>> random.truncated_normal(random.PRNGKey(0), -2, 2, (2,)).tolist()
      [-0.74147, 0.80742]
    """
    name = "truncated_normal"
    data, dtype = one_key(name, key), float_dtype(name, dtype)
    low, high = parameter(name, lower, "lower", dtype), parameter(name, upper, "upper", dtype)
    shape = sample_shape(name, shape, lower=low, upper=high)
    return truncated_gauss(data, low, high, shape=shape, dtype=dtype)


@sampler
def truncated_gauss(key: Any, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal samples between `low` and `high`."""
    root = math.sqrt(2)
    a, b = special.erf(low / root), special.erf(high / root)
    x = special.erf_inv(between(key, a, b, shape=shape, dtype=dtype)) * root
    # the bounds themselves can come out by rounding
    infinity = literal(math.inf, dtype)
    first = arithmetic.nextafter(selection.stop_gradient(low), infinity)
    last = arithmetic.nextafter(selection.stop_gradient(high), -infinity)
    return arithmetic.max_(first, arithmetic.min_(x, last))


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
      minval, maxval: integer bounds, which broadcast to `shape`. maxval may be one more than the
        dtype's last number: `randint(key, shape, 0, 256, "uint8")` has every number. Bounds further
        away are moved to the dtype's ends; bounds that the default integer does not have either
        are an error, where they are known. Where maxval <= minval the result is minval.
      dtype: an integer dtype of 8 bits or more; int32 by default (int64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not integers. ValueError: bounds don't fit the shape or dtype.
    Example:
      >>> random.randint(random.PRNGKey(0), (5,), 0, 10).tolist()
      [8, 1, 3, 8, 8]
    """
    data = one_key("randint", key)
    wanted = wanted_dtype("randint", dtype)
    dtype = dtypes.default_int() if wanted is None else wanted
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
    """The least integer, and how many there are: `None` for all of 32 or 64 bits."""
    info, counts = dtypes.iinfo(dtype), _counts(dtype)
    first, last = int(info.min), int(info.max)
    _refuse_beyond("minval", minval, first, last, dtype)
    _refuse_beyond("maxval", maxval, first, last + 1, dtype)
    if isinstance(minval, (int, np.integer)) and isinstance(maxval, (int, np.integer)):
        least, end = (min(max(int(m), first), last) for m in (minval, maxval))
        n = end - least + (int(maxval) > last) if end > least else 1
        return _number(least, dtype), None if n > dtypes.iinfo(counts).max else _number(n, counts)
    bounds = []
    for x, argument in ((minval, "minval"), (maxval, "maxval")):
        if isinstance(x, (int, np.integer)):
            bounds.append((_number(min(max(int(x), first), last), dtype), int(x) > last))
            continue
        v = value("randint", x, argument)
        if not dtypes.is_integer(v.aval.dtype):
            raise ShapeError(
                f"randint: {argument} must be of an integer dtype; got {v.aval}\n"
                f"  fix: int({argument})"
            )
        bounds.append(_clipped(v, dtype))
    (low, _), (high, beyond) = bounds
    span = cast(high, counts) - cast(low, counts)
    one = _number(1, counts)
    if beyond is not False:
        more = structural.add(span, one)
        span = more if beyond is True else selection.where(beyond, more, span)
    return low, selection.where(comparison.gt(high, low), span, one)


def _refuse_beyond(argument: str, x: Any, first: int, last: int, dtype: Any) -> None:
    """Refuses a known bound that neither the dtype nor the default integer has."""
    default = dtypes.iinfo(dtypes.default_int())
    first, last = min(first, int(default.min)), max(last, int(default.max))
    known = x.concrete() if isinstance(x, Value) else x
    if not isinstance(known, (int, np.integer)):
        if not dtypes.is_integer(getattr(known, "dtype", np.float32)) or not known.size:
            return
        info = dtypes.iinfo(known.dtype)
        if first <= info.min and info.max <= last:
            return
        numbers = np.asarray(known)
        known = int(numbers.min())
        if known >= first:
            known = int(numbers.max())
    if not first <= known <= last:
        raise ValueError(
            f"randint: {argument} must be from {first} to {last} for {dtype}; got {known}\n"
            f"  fix: {argument} in that range; or a wider dtype, such as int64 after "
            "config.update('enable_x64', True)"
        )


def _counts(dtype: Any) -> Any:
    """The dtype that counts the integers of a dtype: unsigned, of 32 or 64 bits."""
    return dtypes.uint64 if dtype.itemsize == 8 else dtypes.uint32


def _number(x: int, dtype: Any) -> Array:
    return Array(dtype.type(x), aval((), dtype))


def _clipped(x: Any, dtype: Any) -> tuple[Any, Any]:
    """Integers moved into the range of a dtype, and whether they were above it."""
    old, new = dtypes.iinfo(x.aval.dtype), dtypes.iinfo(dtype)
    beyond: Any = False
    if old.max > new.max:
        top = literal(int(new.max), x.aval.dtype)
        beyond, x = comparison.gt(x, top), arithmetic.min_(x, top)
    if old.min < new.min:
        x = arithmetic.max_(x, literal(int(new.min), x.aval.dtype))
    return cast(x, dtype), beyond


@sampler
def integers(key: Any, low: Any, span: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """`span` integers from `low` on: the remainder of a number of 64 bits (128 for 64-bit dtypes).
    A span of 0 is 2**32 (2**64)."""
    counts = _counts(dtype)
    width = dtypes.bit_width(counts)
    upper, lower = [raw_bits(k, shape, width) for k in several(key)]
    rem, every = arithmetic.rem, comparison.eq(span, _number(0, counts))
    some = selection.where(every, _number(1, counts), span)  # XLA must not see a constant 0 here
    half = rem(_number(2 ** (width // 2), counts), some)
    whole = rem(half * half, some)  # 2**width
    offset = rem(rem(upper, some) * whole + rem(lower, some), some)
    return cast(selection.where(every, lower, offset), dtype) + low


@sampler
def all_integers(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Any integers of a dtype of 32 or 64 bits."""
    _, for_bits = several(key)
    return cast(raw_bits(for_bits, shape, dtypes.bit_width(dtype)), dtype)


@located
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
) -> Array:
    """Booleans that are True with probability p.

    Args:
      key: a key.
      p: float, the probability, which broadcasts to `shape`.
      shape: the shape of the result; that of p by default.
      mode: "low", or "high", which draws two numbers for each sample: "low" takes every p of
        float32 for a multiple of 2**-23 (1e-7), "high" for one of 2**-46.
    Returns: bool array of `shape`.
    Raises: TypeError: not a key, or p is complex. ValueError: p doesn't fit the shape, or `mode`.
    Example:
      >>> random.bernoulli(random.PRNGKey(0), 0.5, (4,)).tolist()
      [False, True, False, True]
    """
    data = one_key("bernoulli", key)
    chance = inexact("bernoulli", value("bernoulli", p, "p"))
    if dtypes.is_complex(chance.aval.dtype):
        raise ShapeError(f"bernoulli: p must be real; got {chance.aval}")
    shape = sample_shape("bernoulli", shape, p=chance)
    return coins(data, chance, shape=shape, mode=drawing_mode("bernoulli", mode))


@sampler
def coins(key: Any, p: Any, *, shape: tuple[int, ...], mode: str = "low") -> Any:
    """Booleans that are True with probability p."""
    if mode == "low":
        return comparison.lt(unit(key, shape=shape, dtype=p.aval.dtype), p)
    coarse, fine = coarse_and_fine(key, shape, p.aval.dtype)
    return comparison.lt(fine, p - coarse)  # their sum would be rounded


def coarse_and_fine(key: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Two arrays whose sums are uniform from 0 to 1, of twice the digits: one as `unit`, the other
    below its resolution."""
    both = unit(key, shape=(2, *shape), dtype=dtype)
    coarse, fine = (
        structural.reshape(
            slicing.slice_(
                both, start=(i, *[0] * len(shape)), limit=(i + 1, *shape), strides=(1,) * both.ndim
            ),
            shape=shape,
        )
        for i in (0, 1)
    )
    return coarse, fine * literal(2.0 ** -int(dtypes.finfo(dtype).nmant), dtype)


@located
def rademacher(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Numbers that are -1 or 1, each half of the time.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a numeric dtype; int32 by default (int64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or dtype bool.
    Example:
      >>> random.rademacher(random.PRNGKey(0), (4,)).tolist()
      [-1, 1, -1, 1]
    """
    data, wanted = one_key("rademacher", key), wanted_dtype("rademacher", dtype)
    if wanted == np.bool_:
        raise TypeError("rademacher: dtype must have the number -1; got bool")
    wanted = dtypes.default_int() if wanted is None else wanted
    half = Array(np.asarray(0.5, dtypes.default_float())[()], aval((), dtypes.default_float()))
    heads = coins(data, half, shape=shape_tuple("rademacher", shape))
    return cast(heads, wanted) * 2 - 1
