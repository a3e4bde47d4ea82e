"""Evenly spaced numbers, grids and indices."""

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.quiet import quietly_cast, run_quietly
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ConcretizationTypeError, ShapeError
from ..interpreters.eager_tiers import made_on_device
from ..lax.operands import uncommitted
from ..primitives import (
    arithmetic,
    creation as made,
    selection,
    structural,
    transcendental as t,
)
from ..typing import ArrayLike, DTypeLike
from .axes import one_axis, shape_tuple, whole_number
from .creation import from_numpy, host_as, on_device, wanted_dtype, zeros
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
        raise noted(
            ValueError(
                "arange: step must not be 0\n  fix: linspace(start, stop, num) takes a count"
            )
        )
    whole = dtypes.is_integer(wanted) and all(isinstance(v, (int, np.integer)) for v in given)
    if whole:
        length = max(-((int(start) - int(stop)) // int(step)), 0)
        if made_on_device(length) if current.trace is _base else length > 16:
            line = made.iota(dtype=wanted, shape=(length,), dimension=0)
            if step != 1:
                line = arithmetic.mul(line, literal(int(step), wanted))
            return structural.add(line, literal(int(start), wanted)) if start else line
    if wanted.kind in "iuf" and wanted.itemsize >= 4:
        host = run_quietly(np.arange, start, stop, step, wanted)
    else:
        host = quietly_cast(run_quietly(np.arange, start, stop, step), wanted)
    return on_device(from_numpy(host), device)


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
    num, wanted = _count("linspace", num), wanted_dtype("linspace", dtype)
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
        low, high = (_wide_host(v, found) for v in (start, stop))
        with np.errstate(all="ignore"):
            host, step = np.linspace(low, high, num, endpoint, retstep=True, axis=axis)
            if dtypes.is_integer(out_dtype):
                host = np.floor(host)
            result = from_numpy(host_as(host, out_dtype))
            distance = from_numpy(np.asarray(step).astype(found))
    else:
        low, high = (cast(value("linspace", v), found) for v in (start, stop))
        result, distance = _between("linspace", low, high, num, endpoint)
        result = structural.move_axis(result, 0, one_axis("linspace", axis, result.ndim))
        if dtypes.is_integer(out_dtype):
            result = arithmetic.floor(result)
        result = cast(result, out_dtype)
    result = on_device(result, device)
    return (result, distance) if retstep else result


def _wide_host(x: Any, dtype: Any) -> Any:
    """NumPy's array of the elements, in the widest dtype of the kind of `dtype`."""
    wide = np.complex128 if dtypes.is_complex(dtype) else np.float64
    return np.asarray(_host(x)).astype(wide)


def _between(name: str, low: Any, high: Any, num: int, endpoint: bool) -> tuple[Any, Any]:
    """`num` evenly spaced numbers along a new first axis, and their distance."""
    dtype, real = low.aval.dtype, dtypes.real_of(low.aval.dtype)
    shape = structural.broadcast_shape(name, (low.aval, high.aval))
    pieces = num - 1 if endpoint else num
    if pieces < 1:
        distance = structural.full(low.aval.update(shape=shape), math.nan)
        row = structural.widen(low, (1, *shape))
        dims = tuple(range(len(shape) + 1))
        return structural.broadcast_in_dim(row, shape=(num, *shape), dims=dims), distance
    distance = arithmetic.div(arithmetic.sub(high, low), literal(float(pieces), dtype))
    # Both ends are exact: low at the first, high at the last. Both weights are constants: XLA
    # contracts x - x * w differently in loops over vectors and over scalars.
    weights = np.arange(num) / pieces
    column = (num, *[1] * len(shape))
    shares = [
        arithmetic.mul(v, from_numpy(w.astype(real).astype(dtype).reshape(column)))
        for v, w in ((low, 1 - weights), (high, weights))
    ]
    return structural.widen(structural.add(*shares), (num, *shape)), distance


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
      base: a scalar, or an array that broadcasts with them.
    Example:
      >>> np.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    num, wanted = _count("logspace", num), wanted_dtype("logspace", dtype)
    check_ranks("logspace", start, stop)
    ends = [v if v.__class__ in SCALARS else value("logspace", v) for v in (start, stop, base)]
    found = dtypes.result_type(*ends[:2])
    found = found if dtypes.is_inexact(found) else dtypes.default_float()
    if all(map(_is_static, ends)):
        kind = dtypes.promote_types(found, dtypes.result_type(ends[2]))
        low, high, root = (_wide_host(v, kind) for v in (start, stop, base))
        with np.errstate(all="ignore"):
            host = np.logspace(low, high, num, endpoint, root[()], axis=axis)
            return from_numpy(host_as(host, found if wanted is None else wanted))
    low, high, root = promote_values("logspace", *ends, to_inexact=True)
    exponents, _ = _between("logspace", low, high, num, endpoint)
    shape = structural.broadcast_shape("logspace", (low.aval, high.aval, root.aval))
    if exponents.ndim <= len(shape):
        lengths = (num, *[1] * (len(shape) + 1 - exponents.ndim), *exponents.shape[1:])
        exponents = structural.reshape(exponents, shape=lengths)
    result = t.pow_(root, exponents)
    result = structural.move_axis(result, 0, one_axis("logspace", axis, result.ndim))
    return result if wanted is None else cast(result, wanted)


def _count(name: str, num: Any) -> int:
    count = whole_number(name, num, "num")
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
    """Numbers from `start` to `stop` with a constant quotient.

    Args:
      start, stop: the first and last number: real ones of one sign, or complex ones. None is 0.
      num, endpoint, dtype, axis: as in `linspace`. Of a complex dtype, real numbers of two signs
        are connected by a spiral.
    Example:
      >>> np.geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    num, wanted = _count("geomspace", num), wanted_dtype("geomspace", dtype)
    check_ranks("geomspace", start, stop)
    ends = [v if v.__class__ in SCALARS else value("geomspace", v) for v in (start, stop)]
    found = dtypes.result_type(*ends)
    found = found if dtypes.is_inexact(found) else dtypes.default_float()
    kind = found if wanted is None else dtypes.promote_types(found, wanted)
    if all(map(_is_static, ends)):
        low, high = (_wide_host(v, kind) for v in (start, stop))
        if not (low.all() and high.all()):
            raise ValueError(f"geomspace: start and stop must not be 0; got {start} and {stop}")
        with np.errstate(all="ignore"):
            host = np.geomspace(low, high, num, endpoint, axis=axis)
            return from_numpy(host_as(host, found if wanted is None else wanted))
    low, high = (cast(value("geomspace", v), kind) for v in (start, stop))
    signs = arithmetic.sign(low)
    first, last = (t.log(arithmetic.div(v, signs)) for v in (low, high))
    exponents, _ = _between("geomspace", first, last, num, endpoint)
    result = arithmetic.mul(t.exp(exponents), signs)
    places = np.arange(num).reshape((num, *[1] * (result.ndim - 1)))
    result = selection.select_n(from_numpy(places == 0), result, low)  # the ends are exact
    if endpoint and num > 1:
        result = selection.select_n(from_numpy(places == num - 1), result, high)
    result = structural.move_axis(result, 0, one_axis("geomspace", axis, result.ndim))
    return result if wanted is None else cast(result, wanted)


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
        raise ShapeError(
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
            raise ShapeError(f"ix_: expected arrays of one axis; got {x.aval}")
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
        where the axes of smaller arrays go. After 'r' or 'c' the result is a matrix: of one row or
        column, if the parts have one axis."""
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans = self.axis, self.ndmin, self.trans
        matrix = None
        directive = items.pop(0) if items and isinstance(items[0], str) else None
        if directive in ("r", "c"):
            matrix = directive
        elif directive is not None:
            try:
                numbers = [int(n) for n in directive.split(",")]
            except ValueError:
                raise ValueError(
                    f"{self.name}: expected 'r', 'c', or up to three numbers as in '0,2,1'; got "
                    f"{key[0]!r}"
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
        result = concatenate(parts, axis)
        if matrix is None or result.ndim == 2:
            return result
        if result.ndim != 1:
            raise ValueError(f"{self.name}: a matrix has two axes; got {result.aval}")
        return reshape(result, (1, -1) if matrix == "r" else (-1, 1))


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
