"""Evenly spaced numbers, grids and indices."""

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ConcretizationTypeError
from ..lax.operands import uncommitted
from ..primitives import arithmetic, creation as made, structural, transcendental as t
from ..typing import ArrayLike, DTypeLike
from .axes import one_axis, shape_tuple, whole_number
from .creation import from_numpy, on_device, wanted_dtype, zeros
from .joining import concatenate, stack
from .promotion import SCALARS, cast, check_ranks, noted, promote_values, value
from .shapes import reshape

__all__ = [
    "arange",
    "c_",
    "geomspace",
    "indices",
    "ix_",
    "linspace",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
    "r_",
]

_base = current.base


def known(name: str, x: Any, argument: str) -> Any:
    """A number or NumPy array that has to be known while tracing."""
    if x is None or x.__class__ in SCALARS or isinstance(x, (np.ndarray, np.generic)):
        return x
    if isinstance(x, Value):
        array = x.concrete()
        if array is None:
            raise noted(
                ConcretizationTypeError(
                    f"{name}: {argument} decides the shape and must be known when the function is "
                    f"traced; got a traced {x.aval}\n  fix: make it a static argument, or compute "
                    "it "
                    "from shapes"
                )
            )
        return np.asarray(array.host())[()]
    return x


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
) -> Array:
    """Evenly spaced numbers from `start` to before `stop`.

    Args:
      start: where to begin; with a single argument it is `stop`, and the beginning is 0.
      stop, step: end and distance.
      dtype: that of the result; by default that of the arguments.
      device: where to put it.
    Returns: array [ceil((stop - start) / step)].
    Raises: ConcretizationTypeError: an argument is traced.
    Example:
      >>> np.arange(3), np.arange(1.0, 2.0, 0.5)
      (Array([0, 1, 2], dtype=int32), Array([1. , 1.5], dtype=float32))
    """
    wanted = wanted_dtype("arange", dtype)
    start = known("arange", start, "start")
    stop, step = known("arange", stop, "stop"), known("arange", step, "step")
    if stop is None:
        start, stop = 0, start
    given = [v for v in (start, stop, step) if v is not None]
    for v in given:
        if np.ndim(v):
            raise noted(
                ValueError(f"arange: expected scalars; got an array of shape {np.shape(v)}")
            )
    if wanted is None:
        wanted = dtypes.result_type(*given)
    step = 1 if step is None else step
    if not step:
        raise noted(ValueError("arange: step must not be 0"))
    whole = dtypes.is_integer(wanted) and all(isinstance(v, (int, np.integer)) for v in given)
    if whole and current.trace is not _base:
        length = max(-((int(start) - int(stop)) // int(step)), 0)
        if length > 16:
            line = made.iota(dtype=wanted, shape=(length,), dimension=0)
            if step != 1:
                line = arithmetic.mul(line, literal(int(step), wanted))
            return structural.add(line, literal(int(start), wanted)) if start else line  # type: ignore[no-any-return]
    if dtypes.is_complex(wanted):
        host = np.arange(start, stop, step).astype(wanted)
    elif wanted.kind in "iuf" and wanted.itemsize >= 4:
        host = np.arange(start, stop, step, dtype=wanted)
    else:
        host = np.arange(start, stop, step).astype(wanted)
    return on_device(from_numpy(host), device)  # type: ignore[no-any-return]


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
    """`num` evenly spaced numbers from `start` to `stop`.

    Args:
      start, stop: scalars, or arrays that broadcast together.
      num: how many.
      endpoint: whether `stop` is the last of them.
      retstep: return the distance too.
      dtype: that of the result; integers are rounded down.
      axis: where the new axis is in the result.
      device: where to put it.
    Returns: array with one more axis; with `retstep` a pair.
    Example:
      >>> np.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = whole_number("linspace", num, "num")
    if num < 0:
        raise ValueError(f"linspace: num must not be negative; got {num}")
    wanted = wanted_dtype("linspace", dtype)
    if isinstance(start, (list, tuple)) or isinstance(stop, (list, tuple)):
        value("linspace", start, "start"), value("linspace", stop, "stop")
    found = dtypes.result_type(
        *(v if v.__class__ in SCALARS else value("linspace", v) for v in (start, stop))
    )
    check_ranks("linspace", start, stop)
    if not dtypes.is_inexact(found):
        found = dtypes.default_float()
    out_dtype = found if wanted is None else wanted
    if _is_static(start) and _is_static(stop):
        wide = np.complex128 if dtypes.is_complex(found) else np.float64
        low, high = (np.asarray(_host(v)).astype(wide) for v in (start, stop))
        host, step = np.linspace(low, high, num, endpoint, retstep=True, axis=axis)
        if dtypes.is_integer(out_dtype):
            host = np.floor(host)
        result = from_numpy(host.astype(out_dtype))
        distance = from_numpy(np.asarray(step).astype(found))
    else:
        result, distance = _traced_linspace(start, stop, num, endpoint, found, axis)
        if dtypes.is_integer(out_dtype):
            result = arithmetic.floor(result)
        result = cast(result, out_dtype)
    result = on_device(result, device)
    return (result, distance) if retstep else result


def _traced_linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    low, high = (cast(value("linspace", v), dtype) for v in (start, stop))
    shape = structural.broadcast_shape("linspace", (low.aval, high.aval))
    pieces = num - 1 if endpoint else num
    real = dtypes.real_of(dtype)
    if pieces < 1:
        distance = structural.full(low.aval.update(shape=shape), math.nan)
        row = structural.widen(low, (1, *shape))
        result = structural.broadcast_in_dim(
            row, shape=(num, *shape), dims=tuple(range(len(shape) + 1))
        )
    else:
        distance = (high - low) / pieces
        # both ends are exact: low at the first, high at the last
        weights = from_numpy((np.arange(num) / pieces).astype(real))
        weights = reshape(weights, (num, *[1] * len(shape)))
        result = low * (1 - weights) + high * weights
        result = structural.widen(result, (num, *shape))
    return structural.move_axis(result, 0, one_axis("linspace", axis, len(shape) + 1)), distance


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
    Example:
      >>> np.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    wanted = wanted_dtype("logspace", dtype)
    check_ranks("logspace", start, stop)
    if all(map(_is_static, (start, stop, base))):
        given = [v if v.__class__ in SCALARS else value("logspace", v) for v in (start, stop)]
        found = dtypes.result_type(*given)
        found = found if dtypes.is_inexact(found) else dtypes.default_float()
        low, high = _host(start), _host(stop)
        host = np.logspace(low, high, num, endpoint, _host(base), axis=axis)
        return from_numpy(host.astype(found if wanted is None else wanted))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = t.pow_(*promote_values("logspace", base, exponents, to_inexact=True))
    return result if wanted is None else cast(result, wanted)  # type: ignore[no-any-return]


@located
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers from `start` to `stop` with a constant quotient.

    Args:
      start, stop: the first and last number, of one sign.
      num, endpoint, dtype, axis: as in `linspace`.
    Example:
      >>> np.geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    wanted = wanted_dtype("geomspace", dtype)
    check_ranks("geomspace", start, stop)
    given = [v if v.__class__ in SCALARS else value("geomspace", v) for v in (start, stop)]
    found = dtypes.result_type(*given)
    found = found if dtypes.is_inexact(found) else dtypes.default_float()
    if _is_static(start) and _is_static(stop):
        ends = [np.asarray(_host(v)) for v in (start, stop)]
        host = np.geomspace(ends[0], ends[1], num, endpoint, axis=axis)
        return from_numpy(host.astype(found if wanted is None else wanted))
    low, high = (cast(value("geomspace", v), found) for v in (start, stop))
    signs = arithmetic.sign(low)
    exponents = linspace(t.log(low * signs), t.log(high * signs), num, endpoint, axis=axis)
    if axis:
        signs = structural.reshape(signs, shape=signs.shape)
    result = t.exp(exponents) * signs
    return result if wanted is None else cast(result, wanted)  # type: ignore[no-any-return]


# --- grids ---


@located
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Coordinates of all points of a grid, from the coordinates along each axis.

    Args:
      xi: arrays [n0], [n1], ….
      copy: for NumPy's sake.
      sparse: leave the other axes of each array at length one.
      indexing: 'xy', the first two axes swapped, or 'ij'.
    Returns: list of arrays [n1, n0, n2, …] or [n0, n1, …].
    Example:
      >>> np.meshgrid(np.arange(2), np.arange(2))[0]
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij'; got {indexing!r}")
    xs = [value("meshgrid", x, f"argument {i}") for i, x in enumerate(xi)]
    if any(x.ndim > 1 for x in xs):
        raise ValueError(
            f"meshgrid: expected arrays of one axis; got {', '.join(str(x.aval) for x in xs)}"
        )
    places = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[:2] = 1, 0
    shape = [0] * len(xs)
    for x, p in zip(xs, places, strict=True):
        shape[p] = x.size
    result = []
    for x, p in zip(xs, places, strict=True):
        row = reshape(x, tuple([x.size if i == p else 1 for i in range(len(xs))]))
        result.append(row if sparse else structural.widen(row, tuple(shape)))
    return result


@located
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The indices of all elements of an array of some shape.

    Args:
      dimensions: the shape.
      dtype: that of the indices.
      sparse: return a tuple of arrays with the other axes at length one.
    Returns: array [number of axes, *dimensions], or a tuple.
    Example:
      >>> np.indices((2, 2))[0]
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    shape = shape_tuple("indices", dimensions, "dimensions")
    found = wanted_dtype("indices", dtype) or dtypes.default_int()
    grids: Any = np.indices(shape, sparse=True) if sparse else np.indices(shape)
    if sparse:
        return tuple(from_numpy(g.astype(found)) for g in grids)
    return from_numpy(grids.astype(found))


@located
def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Index arrays for all combinations of indices along each axis.

    Args:
      args: arrays of one axis; booleans stand for the indices where they are true.
    Example:
      >>> [i.shape for i in np.ix_(np.arange(2), np.arange(3))]
      [(2, 1), (1, 3)]
    """
    result = []
    for i, a in enumerate(args):
        x = value("ix_", a, f"argument {i}")
        if x.ndim != 1:
            raise ValueError(f"ix_: expected arrays of one axis; got {x.aval}")
        if dtypes.is_bool(x.dtype):
            x = from_numpy(
                np.flatnonzero(known("ix_", x, f"argument {i}")).astype(dtypes.default_int())
            )
        elif not x.size:
            x = zeros((0,), x.dtype if dtypes.is_integer(x.dtype) else dtypes.default_int())
        result.append(reshape(x, tuple([x.size if k == i else 1 for k in range(len(args))])))
    return tuple(result)


class _Grid:
    """Grids written as slices; see `numpy.mgrid` and `numpy.ogrid`."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __repr__(self) -> str:
        return f"weft.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        """Coordinates: start:stop:step as in `arange`, start:stop:5j as in `linspace`."""
        one = not isinstance(key, tuple)
        lines = [_line(k) for k in ((key,) if one else key)]
        found = dtypes.result_type(*lines)
        lines = [cast(x, found) for x in lines]
        if one:
            return lines[0]
        if self.sparse:
            return meshgrid(*lines, indexing="ij", sparse=True)
        return stack(meshgrid(*lines, indexing="ij"))


def _line(key: slice) -> Any:
    start, stop, step = 0 if key.start is None else key.start, key.stop, key.step
    if isinstance(step, complex):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Rows:
    """Arrays put together by an index; see `numpy.r_` and `numpy.c_`."""

    def __init__(self, name: str, axis: int, ndmin: int, trans: int) -> None:
        self.name, self.axis, self.ndmin, self.trans = name, axis, ndmin, trans

    def __repr__(self) -> str:
        return f"weft.numpy.{self.name}"

    def __getitem__(self, key: Any) -> Any:
        """Slices are ranges as in `mgrid`; a text first says axis, least number of axes, and
        where the axes of smaller arrays go."""
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans = self.axis, self.ndmin, self.trans
        if items and isinstance(items[0], str):
            try:
                numbers = [int(n) for n in items.pop(0).split(",")]
            except ValueError:
                raise ValueError(
                    f"{self.name}: expected up to three numbers as in '0,2,1'; got {key[0]!r}"
                ) from None
            axis, ndmin, trans = (*numbers, *(axis, ndmin, trans)[len(numbers) :])
        parts = []
        for item in items:
            x = _line(item) if isinstance(item, slice) else _part(item)
            if x.ndim < ndmin:
                new = ndmin - x.ndim
                front = trans if trans >= 0 else new + 1 + trans
                front = 0 if trans == 0 else min(max(front, 0), new)
                x = reshape(x, (1,) * front + x.shape + (1,) * (new - front))
            parts.append(x)
        return concatenate(parts, axis)


def _part(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return (
            stack([_part(i) for i in item])
            if any(np.ndim(i) for i in item)
            else concatenate([_part(i) for i in item])
        )
    x = value("r_", item, "an item")
    return reshape(x, (1,)) if not x.ndim else x


r_ = _Rows("r_", 0, 1, -1)
c_ = _Rows("c_", -1, 2, 0)
