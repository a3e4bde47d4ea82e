"""Ranges of numbers: arange, linspace, logspace, geomspace."""

import math
from typing import Any, Literal, overload

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, literal
from ..core.kernels import cast_on_host, run_kernel
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ConcretizationTypeError
from ..interpreters.eager_tiers import made_on_device
from ..lax.operands import uncommitted
from ..primitives import (
    arithmetic,
    creation,
    creation as made,
    exponential as t,
    selection,
    structural,
)
from ..transforms.arguments import described
from ..typing import ArrayLike, DTypeLike
from .axes import as_int, host_array, one_axis
from .creation import dtype_argument, from_numpy, host_as, on_device
from .promotion import SCALARS, cast, check_ranks, noted, promote_values, value

__all__ = ["arange", "geomspace", "linspace", "logspace"]


_base = current.base


def concrete_argument(name: str, x: Any, argument: str) -> Any:
    """A number or NumPy array that must be known at tracing time."""
    if x is None or x.__class__ in SCALARS or isinstance(x, (np.ndarray, np.generic)):
        return x
    if isinstance(x, Value):
        concrete = x.concrete()
        if concrete is None:
            raise noted(
                ConcretizationTypeError(
                    f"{name}: {argument} decides the shape and must be known when the function is "
                    f"traced; got a traced {x.aval}\n  fix: make it a static argument, or compute "
                    "it from shapes"
                )
            )
        return np.asarray(concrete.host())[()]
    return x


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """Evenly spaced numbers in the half-open interval from `start` to `stop`.

    Args:
      start: the first number; a single argument is `stop`, and `start` is 0.
      stop: the end, which is not included.
      step: the distance between neighbours; 1 by default.
      dtype: dtype of the result; by default the promoted dtype of the arguments.
      device: the device of the result.
    Returns: array [ceil((stop - start) / step)].
    Raises: ConcretizationTypeError: an argument is traced.
    Example:
      >>> np.arange(3), np.arange(1.0, 2.0, 0.5)
      (Array([0, 1, 2], dtype=int32), Array([1. , 1.5], dtype=float32))
    """
    out_dtype = dtype_argument("arange", dtype)
    start = concrete_argument("arange", start, "start")
    stop, step = (
        concrete_argument("arange", stop, "stop"),
        concrete_argument("arange", step, "step"),
    )
    if stop is None:
        if start is None:
            raise noted(TypeError("arange: stop must be a number; got None"))
        start, stop = 0, start
    arguments = [v for v in (start, stop, step) if v is not None]
    for v in arguments:
        if v.__class__ not in SCALARS:
            _check_scalar(v)
    if out_dtype is None:
        out_dtype = dtypes.result_type(*arguments)
    step = 1 if step is None else step
    if not step:
        raise noted(
            ValueError(
                "arange: step must not be 0\n  fix: linspace(start, stop, num) takes a count"
            )
        )
    is_integer = dtypes.is_integer(out_dtype) and all(
        isinstance(v, (int, np.integer)) for v in arguments
    )
    if is_integer:
        length = max(-((int(start) - int(stop)) // int(step)), 0)
        if made_on_device(length) if current.trace is _base else length > 16:
            result = made.iota(dtype=out_dtype, shape=(length,), dimension=0)
            if step != 1:
                result = arithmetic.mul(result, literal(int(step), out_dtype))
            return structural.add(result, literal(int(start), out_dtype)) if start else result
    try:
        if out_dtype.kind in "iuf" and out_dtype.itemsize >= 4:
            host = run_kernel(np.arange, start, stop, step, out_dtype)
        else:
            host = cast_on_host(run_kernel(np.arange, start, stop, step), out_dtype)
    except ValueError as error:  # infinite, or too many
        raise noted(
            ValueError(f"arange: no array from {start} to {stop} by {step}: {error}")
        ) from None
    return on_device(from_numpy(host), device)


def _check_scalar(x: Any) -> None:
    """Raises an error for an argument of `arange` that is not a number."""
    host = host_array("arange", x, "an argument", "a number")
    if host.ndim:
        raise noted(ValueError(f"arange: expected scalars; got an array of shape {host.shape}"))
    is_dtype = isinstance(x, type)
    is_number = not is_dtype and (hasattr(x, "__index__") or hasattr(x, "__float__"))
    if host.dtype.kind in "OSU" and not is_number:
        fix = "\n  fix: arange(…, dtype=…)" if is_dtype or isinstance(x, str) else ""
        raise noted(
            TypeError(f"arange: start, stop and step must be numbers; got {described(x)}{fix}")
        )


def _is_static(x: Any) -> bool:
    return x.__class__ in SCALARS or isinstance(x, (np.ndarray, np.generic)) or uncommitted(x)


def _host(x: Any) -> Any:
    return np.asarray(x.host()) if uncommitted(x) else x


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array]: ...
@located
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers over an interval.

    Args:
      start, stop: the ends: scalars, or arrays that broadcast together.
      num: the number of samples.
      endpoint: whether `stop` is the last sample.
      retstep: also return the distance between samples.
      dtype: dtype of the result; integers are rounded down.
      axis: the position of the new axis in the result.
      device: the device of the result.
    Returns: array with one more axis; with `retstep` a pair.
    Example:
      >>> np.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num, requested_dtype = _count("linspace", num), dtype_argument("linspace", dtype)
    if isinstance(start, (list, tuple)) or isinstance(stop, (list, tuple)):
        value("linspace", start, "start"), value("linspace", stop, "stop")
    inexact_dtype = dtypes.result_type(
        *(v if v.__class__ in SCALARS else value("linspace", v) for v in (start, stop))
    )
    check_ranks("linspace", start, stop)
    if not dtypes.is_inexact(inexact_dtype):
        inexact_dtype = dtypes.default_float()
    out_dtype = inexact_dtype if requested_dtype is None else requested_dtype
    if _is_static(start) and _is_static(stop):
        low, high = (_double_host(v, inexact_dtype) for v in (start, stop))
        axis = _new_axis("linspace", axis, low, high)
        with np.errstate(all="ignore"):
            host, step = np.linspace(low, high, num, endpoint, retstep=True, axis=axis)
            if dtypes.is_integer(out_dtype):
                host = np.floor(host)
            result = from_numpy(host_as(host, out_dtype))
            distance = from_numpy(np.asarray(step).astype(inexact_dtype))
    else:
        low, high = (cast(value("linspace", v), inexact_dtype) for v in (start, stop))
        result, distance = _between("linspace", low, high, num, endpoint)
        result = structural.move_axis(result, 0, one_axis("linspace", axis, result.ndim))
        if dtypes.is_integer(out_dtype):
            result = arithmetic.floor(result)
        result = cast(result, out_dtype)
    result = on_device(result, device)
    return (result, distance) if retstep else result


def _new_axis(name: str, axis: Any, *hosts: np.ndarray) -> int:
    """The position of the new axis in the result, counted from the front."""
    if axis.__class__ is int and axis in (0, -1):
        return axis
    shape = structural.broadcast_shape(name, [as_value(v).aval for v in hosts])
    return one_axis(name, axis, len(shape) + 1)


def _double_host(x: Any, dtype: Any) -> Any:
    """The elements as a NumPy array of float64 or complex128."""
    host_dtype = np.complex128 if dtypes.is_complex(dtype) else np.float64
    return np.asarray(_host(x)).astype(host_dtype)


def _between(name: str, low: Any, high: Any, num: int, endpoint: bool) -> tuple[Any, Any]:
    """Evenly spaced numbers along a new first axis, and the distance between them."""
    dtype, real = low.aval.dtype, dtypes.real_of(low.aval.dtype)
    shape = structural.broadcast_shape(name, (low.aval, high.aval))
    interval_count = num - 1 if endpoint else num
    if interval_count < 1:
        distance = creation.full(low.aval.update(shape=shape), math.nan)
        first_row = structural.widen(low, (1, *shape))
        dims = tuple(range(len(shape) + 1))
        return structural.broadcast_in_dim(first_row, shape=(num, *shape), dims=dims), distance
    distance = arithmetic.div(arithmetic.sub(high, low), literal(float(interval_count), dtype))
    # Both ends are exact: low is the first, high the last. Both weights are constants, because XLA
    # contracts x - x * w differently in loops over vectors and over scalars.
    fractions = np.arange(num) / interval_count
    column_shape = (num, *[1] * len(shape))
    terms = [
        arithmetic.mul(v, from_numpy(w.astype(real).astype(dtype).reshape(column_shape)))
        for v, w in ((low, 1 - fractions), (high, fractions))
    ]
    return structural.widen(structural.add(*terms), (num, *shape)), distance


@located
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Powers of `base` with evenly spaced exponents.

    Args:
      start, stop: the first and last exponent.
      num, endpoint, dtype, axis: as in `linspace`.
      base: a scalar, or an array that broadcasts with `start` and `stop`.
    Example:
      >>> np.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    num, requested_dtype = _count("logspace", num), dtype_argument("logspace", dtype)
    check_ranks("logspace", start, stop)
    ends = [v if v.__class__ in SCALARS else value("logspace", v) for v in (start, stop, base)]
    inexact_dtype = dtypes.result_type(*ends[:2])
    inexact_dtype = inexact_dtype if dtypes.is_inexact(inexact_dtype) else dtypes.default_float()
    if all(map(_is_static, ends)):
        host_dtype = dtypes.promote_types(inexact_dtype, dtypes.result_type(ends[2]))
        low, high, root = (_double_host(v, host_dtype) for v in (start, stop, base))
        axis = _new_axis("logspace", axis, low, high, root)
        with np.errstate(all="ignore"):
            host = np.logspace(low, high, num, endpoint, root[()], axis=axis)
            return from_numpy(
                host_as(host, inexact_dtype if requested_dtype is None else requested_dtype)
            )
    low, high, root = promote_values("logspace", *ends, to_inexact=True)
    exponents, _ = _between("logspace", low, high, num, endpoint)
    shape = structural.broadcast_shape("logspace", (low.aval, high.aval, root.aval))
    if exponents.ndim <= len(shape):
        lengths = (num, *[1] * (len(shape) + 1 - exponents.ndim), *exponents.shape[1:])
        exponents = structural.reshape(exponents, shape=lengths)
    result = t.pow_(root, exponents)
    result = structural.move_axis(result, 0, one_axis("logspace", axis, result.ndim))
    return result if requested_dtype is None else cast(result, requested_dtype)


def _count(name: str, num: Any) -> int:
    count = as_int(name, num, "num")
    if count < 0:
        raise ValueError(f"{name}: num must not be negative; got {count}")
    return count


@located
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers in a geometric progression from `start` to `stop`.

    Args:
      start, stop: the first and last number, not 0: real numbers of equal sign, or complex numbers.
      num, endpoint, dtype, axis: as in `linspace`. With a complex dtype, `start` and `stop` may
        have different signs; the numbers then lie on a spiral.
    Example:
      >>> np.geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    num, requested_dtype = _count("geomspace", num), dtype_argument("geomspace", dtype)
    check_ranks("geomspace", start, stop)
    ends = [v if v.__class__ in SCALARS else value("geomspace", v) for v in (start, stop)]
    inexact_dtype = dtypes.result_type(*ends)
    inexact_dtype = inexact_dtype if dtypes.is_inexact(inexact_dtype) else dtypes.default_float()
    host_dtype = (
        inexact_dtype
        if requested_dtype is None
        else dtypes.promote_types(inexact_dtype, requested_dtype)
    )
    if all(map(_is_static, ends)):
        low, high = (_double_host(v, host_dtype) for v in (start, stop))
        if not (low.all() and high.all()):
            raise ValueError(f"geomspace: start and stop must not be 0; got {start} and {stop}")
        axis = _new_axis("geomspace", axis, low, high)
        with np.errstate(all="ignore"):
            host = np.geomspace(low, high, num, endpoint, axis=axis)
            return from_numpy(
                host_as(host, inexact_dtype if requested_dtype is None else requested_dtype)
            )
    low, high = (cast(value("geomspace", v), host_dtype) for v in (start, stop))
    signs = arithmetic.sign(low)
    log_low, log_high = (t.log(arithmetic.div(v, signs)) for v in (low, high))
    exponents, _ = _between("geomspace", log_low, log_high, num, endpoint)
    result = arithmetic.mul(t.exp(exponents), signs)
    positions = np.arange(num).reshape((num, *[1] * (result.ndim - 1)))
    result = selection.select_n(from_numpy(positions == 0), result, low)  # the ends are exact
    if endpoint and num > 1:
        result = selection.select_n(from_numpy(positions == num - 1), result, high)
    result = structural.move_axis(result, 0, one_axis("geomspace", axis, result.ndim))
    return result if requested_dtype is None else cast(result, requested_dtype)
