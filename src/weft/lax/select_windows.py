"""select_and_scatter, select_and_scatter_add and select_and_gather_add: windows that each select
one of their elements.

They compute the position first, as an index into the array's elements; then they gather the value
there, or combine another value with it. The derivatives are gathers and scatters.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..primitives import comparison, creation, indexing, structural
from ..primitives.creation import iota
from ..primitives.gather_dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from ..primitives.selection import where
from ..primitives.sorting import take_along
from ..primitives.windows import Geometry, check_geometry, window_place
from ..transforms.vmap import vmap
from ..tree_util import tree_structure
from ..typing import ArrayLike
from .loops import fori_loop
from .scalar_programs import in_dtype_of, traced_computation
from .windows import window_geometry

__all__ = ["select_and_gather_add", "select_and_scatter", "select_and_scatter_add"]

Select = Callable[[Any, Any], Any]
INT32 = np.dtype(np.int32)
_SCATTERS = {
    "add": indexing.scatter_add,
    "mul": indexing.scatter_mul,
    "max": indexing.scatter_max,
    "min": indexing.scatter_min,
}


@located
def select_and_scatter(
    operand: ArrayLike,
    select: Select,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    source: ArrayLike,
    init_value: ArrayLike,
    scatter: Callable[[Any, Any], Any],
) -> Array:
    """Combines an element of `source` with each window's selected element, in an array of initial
    values: the backward pass of pooling.

    Args:
      operand: array, whose elements are compared.
      select: `(chosen, element) -> bool`, of scalars: True keeps `chosen`. `lax.ge` selects the
        first of the largest elements, `lax.le` of the smallest.
      window_dimensions, window_strides, padding: as in `reduce_window`. Padding is never selected.
      source: array with an element for each window, of the dtype of `operand`.
      init_value: a scalar: the initial value of every element of the result.
      scatter: `(so_far, element) -> result`, of scalars; `lax.add`, for one.
    Returns: array of the shape and dtype of `operand`.
    Raises: TypeError: shapes or dtypes do not match, or a function returns another type.
      ValueError:
      an option is invalid.
    Source: StableHLO `select_and_scatter`.
    Example:
      >>> x, ct = np.array([1.0, 3.0, 2.0, 2.0]), np.array([5.0, 7.0])
      >>> lax.select_and_scatter(x, lax.ge, (2,), (2,), "VALID", ct, 0.0, lax.add).tolist()
      [0.0, 5.0, 7.0, 0.0]
    """
    name = "select_and_scatter"
    x, updates, init = as_value(operand), as_value(source), as_value(init_value)
    geometry = window_geometry(
        name, x.shape, window_dimensions, window_strides, padding, None, None
    )
    init = in_dtype_of(init, x)
    _check_source(name, x, updates, geometry, "source")
    if init.ndim or init.dtype != x.dtype:
        raise ShapeError(f"{name}: init_value must be a scalar {x.dtype}; got {init.aval}")
    whole = structural.broadcast_in_dim(init, shape=(x.size,), dims=())
    flat = _scattered(name, whole, updates, _chosen(name, x, select, geometry), scatter)
    return structural.reshape(flat, shape=x.shape)


@located
def select_and_scatter_add(
    source: ArrayLike,
    operand: ArrayLike,
    select: Select,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
) -> Array:
    """Adds each element of `source` to zeros at the position of its window's selected element.

    Args:
      source: array with an element for each window; the result is linear in it.
      operand, select, window_dimensions, window_strides, padding: as in `select_and_scatter`.
    Returns: array of the shape of `operand` and the dtype of `source`.
    Raises: TypeError, ValueError: as `select_and_scatter`.
    Source: StableHLO `select_and_scatter`.
    Example:
      >>> x, ct = np.array([1.0, 3.0, 2.0, 2.0]), np.array([5.0, 7.0])
      >>> lax.select_and_scatter_add(ct, x, lax.ge, (2,), (2,), "VALID").tolist()
      [0.0, 5.0, 7.0, 0.0]
    """
    name = "select_and_scatter_add"
    x, updates = as_value(operand), as_value(source)
    geometry = window_geometry(
        name, x.shape, window_dimensions, window_strides, padding, None, None
    )
    _check_source(name, x, updates, geometry, "source")
    place = _chosen(name, x, select, geometry)
    zeros = creation.full(updates.aval.update(shape=(x.size,), weak_type=False), 0)
    flat = _scatter(indexing.scatter_add, zeros, place, updates)
    return structural.reshape(flat, shape=x.shape)


@located
def select_and_gather_add(
    tangents: ArrayLike,
    operand: ArrayLike,
    select: Select,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """The elements of `tangents` at the position of each window's selected element of `operand`:
    the derivative of pooling.

    Args:
      tangents: array of the shape of `operand`; the result is linear in it.
      operand, select: as in `select_and_scatter`.
      window_dimensions, window_strides, padding, base_dilation, window_dilation: as in
        `reduce_window`. Padding is never selected.
    Returns: array with an element for each window; 0 for a window of padding only.
    Raises: TypeError, ValueError: as `select_and_scatter`.
    Source: JAX, the primitive `select_and_gather_add`.
    Example:
      >>> x, dx = np.array([1.0, 3.0, 2.0, 2.0]), np.array([5.0, 6.0, 7.0, 8.0])
      >>> lax.select_and_gather_add(dx, x, lax.ge, (2,), (2,), "VALID").tolist()
      [6.0, 7.0]
    """
    name = "select_and_gather_add"
    t, x = as_value(tangents), as_value(operand)
    if t.shape != x.shape or t.dtype != x.dtype:
        raise ShapeError(f"{name}: tangents must be like operand, {x.aval}; got {t.aval}")
    geometry = window_geometry(
        name, x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    check_geometry(name, x.aval, geometry)
    place = _chosen(name, x, select, geometry)
    line = structural.reshape(place, shape=(place.size,))
    return structural.reshape(_taken(t, line), shape=place.shape)


def _check_source(name: str, x: Any, source: Any, geometry: Geometry, argument: str) -> None:
    check_geometry(name, x.aval, geometry)
    shape = geometry.out_shape(x.shape)
    if source.shape != shape or source.dtype != x.dtype:
        raise ShapeError(
            f"{name}: {argument} must be {x.dtype}{list(shape)}, an element for each window of "
            f"{x.aval}; got {source.aval}"
        )


# --- positions ---


def _chosen(name: str, x: Any, select: Select, geometry: Geometry) -> Any:
    """For each window, the index of its selected element in the array, or the number of elements if
    there is none."""
    tree = tree_structure(0)
    jaxpr, _ = traced_computation(name, select, tree, [x.aval])
    (result,) = jaxpr.outvars
    if not dtypes.is_bool(result.aval.dtype):
        raise ShapeError(f"{name}: select must return a bool; got {result.aval}")
    shape = geometry.out_shape(x.shape)
    if not math.prod(shape) or not x.size:
        return creation.full(x.aval.update(shape=shape, dtype=INT32, weak_type=False), x.size)
    if len(jaxpr.equations) == 1 and not dtypes.is_complex(x.dtype):
        e = jaxpr.equations[0]
        if e.primitive in (comparison.ge, comparison.le) and [*e.inputs] == [*jaxpr.invars]:
            largest = e.primitive is comparison.ge
            return window_place(x, geometry=geometry, largest=largest, batch_dims=0)
    return _by_comparing(x, select, geometry, shape)


def _by_comparing(x: Any, select: Select, geometry: Geometry, shape: Any) -> Any:
    """The positions for any function, computed for one element of all windows at a time."""
    count, nowhere = math.prod(shape), x.size
    compare = vmap(select)

    def step(t: Any, state: Any) -> Any:
        value, place = state
        here = _tap_places(x.shape, geometry, shape, t)
        inside = comparison.lt(here, _int(nowhere))
        other = _taken(x, here)
        better = inside & (comparison.eq(place, _int(nowhere)) | ~compare(value, other))
        return where(better, other, value), where(better, here, place)

    line = x.aval.update(shape=(count,), dtype=INT32, weak_type=False)
    start = (
        creation.full(line.update(dtype=x.dtype), 0),
        creation.full(line, nowhere),
    )
    taps = math.prod(geometry.window)
    _, place = fori_loop(_int(0), _int(taps), step, start)
    return structural.reshape(place, shape=shape)


def _int(n: int) -> Any:
    return as_value(np.int32(n))


def _tap_places(shape: Any, geometry: Geometry, out_shape: Any, tap: Any) -> Any:
    """For all windows in a flat array, the index of the element with a number; the array's size
    where that element is padding."""
    place, inside = _int(0), as_value(np.bool_(True))
    for axis, (n, w, stride, (before, _), base, gap) in enumerate(
        zip(shape, *geometry, strict=True)
    ):
        later = math.prod(geometry.window[axis + 1 :])
        number = tap // later % w
        at = iota(dtype=INT32, shape=(out_shape[axis],), dimension=0) * stride
        at = at + number * gap - before
        good = (at >= 0) & (at < (n - 1) * base + 1) & (at % base == 0)
        step = math.prod(shape[axis + 1 :])
        row = tuple(len_ if i == axis else 1 for i, len_ in enumerate(out_shape))
        place = place + structural.reshape(at // base * step, shape=row)
        inside = inside & structural.reshape(good, shape=row)
    place = where(inside, place, _int(math.prod(shape)))
    return structural.reshape(
        structural.widen(place, tuple(out_shape)), shape=(math.prod(out_shape),)
    )


# --- gathers and scatters at positions ---


def _taken(x: Any, line: Any) -> Any:
    """Elements at flat indices; 0 for indices out of range."""
    flat = structural.reshape(x, shape=(x.size,))
    return take_along(flat, line, 0, mode=GatherScatterMode.FILL_OR_DROP, unique=False)


def _scatter(primitive: Any, flat: Any, place: Any, updates: Any, unique: bool = False) -> Any:
    """Combines updates with elements of a flat array; drops updates for indices out of range."""
    return primitive(
        flat,
        structural.reshape(place, shape=(place.size, 1)),
        structural.reshape(updates, shape=(place.size,)),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=unique,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


def _scattered(
    name: str, flat: Any, updates: Any, place: Any, scatter: Callable[[Any, Any], Any]
) -> Any:
    """Combines updates by any function of scalars."""
    jaxpr, monoid = traced_computation(name, scatter, tree_structure(0), [flat.aval])
    result = jaxpr.outvars[0].aval
    if result.dtype != flat.dtype:
        raise ShapeError(f"{name}: scatter must return a {flat.dtype}; got {result}")
    primitive = _SCATTERS.get(monoid or "")
    if primitive is not None and not (dtypes.is_bool(flat.dtype) or dtypes.is_complex(flat.dtype)):
        return _scatter(primitive, flat, place, updates)
    # One window at a time, in order, since windows may share a position.
    line = structural.reshape(place, shape=(place.size,))
    flat_updates = structural.reshape(updates, shape=(place.size,))

    def step(i: Any, out: Any) -> Any:
        at = take_along(line, structural.reshape(i, shape=(1,)), 0)
        new = take_along(flat_updates, structural.reshape(i, shape=(1,)), 0)
        old = take_along(out, at, 0, mode=GatherScatterMode.FILL_OR_DROP)
        return _scatter(indexing.scatter, out, at, vmap(scatter)(old, new), unique=True)

    return fori_loop(_int(0), _int(place.size), step, flat)
