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
    flat_init = structural.broadcast_in_dim(init, shape=(x.size,), dims=())
    flat_result = _scattered(
        name, flat_init, updates, _selected_positions(name, x, select, geometry), scatter
    )
    return structural.reshape(flat_result, shape=x.shape)


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
    positions = _selected_positions(name, x, select, geometry)
    zeros = creation.full(updates.aval.update(shape=(x.size,), weak_type=False), 0)
    flat_result = _scatter(indexing.scatter_add, zeros, positions, updates)
    return structural.reshape(flat_result, shape=x.shape)


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
    positions = _selected_positions(name, x, select, geometry)
    flat_positions = structural.reshape(positions, shape=(positions.size,))
    return structural.reshape(_elements_at(t, flat_positions), shape=positions.shape)


def _check_source(name: str, x: Any, source: Any, geometry: Geometry, argument: str) -> None:
    check_geometry(name, x.aval, geometry)
    shape = geometry.out_shape(x.shape)
    if source.shape != shape or source.dtype != x.dtype:
        raise ShapeError(
            f"{name}: {argument} must be {x.dtype}{list(shape)}, an element for each window of "
            f"{x.aval}; got {source.aval}"
        )


# --- positions ---


def _selected_positions(name: str, x: Any, select: Select, geometry: Geometry) -> Any:
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
    count, no_position = math.prod(shape), x.size
    compare = vmap(select)

    def step(t: Any, state: Any) -> Any:
        values, positions = state
        candidate_positions = _tap_positions(x.shape, geometry, shape, t)
        is_inside = comparison.lt(candidate_positions, _int(no_position))
        candidates = _elements_at(x, candidate_positions)
        is_better = is_inside & (
            comparison.eq(positions, _int(no_position)) | ~compare(values, candidates)
        )
        return where(is_better, candidates, values), where(
            is_better, candidate_positions, positions
        )

    flat_aval = x.aval.update(shape=(count,), dtype=INT32, weak_type=False)
    start = (
        creation.full(flat_aval.update(dtype=x.dtype), 0),
        creation.full(flat_aval, no_position),
    )
    taps = math.prod(geometry.window)
    _, positions = fori_loop(_int(0), _int(taps), step, start)
    return structural.reshape(positions, shape=shape)


def _int(n: int) -> Any:
    return as_value(np.int32(n))


def _tap_positions(shape: Any, geometry: Geometry, out_shape: Any, tap: Any) -> Any:
    """For all windows in a flat array, the index of the element with a number; the array's size
    where that element is padding."""
    positions, is_inside = _int(0), as_value(np.bool_(True))
    for axis, (n, w, stride, (before, _), base, gap) in enumerate(
        zip(shape, *geometry, strict=True)
    ):
        later_taps = math.prod(geometry.window[axis + 1 :])
        number = tap // later_taps % w
        index = iota(dtype=INT32, shape=(out_shape[axis],), dimension=0) * stride
        index = index + number * gap - before
        is_element = (index >= 0) & (index < (n - 1) * base + 1) & (index % base == 0)
        axis_stride = math.prod(shape[axis + 1 :])
        axis_shape = tuple(len_ if i == axis else 1 for i, len_ in enumerate(out_shape))
        positions = positions + structural.reshape(index // base * axis_stride, shape=axis_shape)
        is_inside = is_inside & structural.reshape(is_element, shape=axis_shape)
    positions = where(is_inside, positions, _int(math.prod(shape)))
    return structural.reshape(
        structural.widen(positions, tuple(out_shape)), shape=(math.prod(out_shape),)
    )


# --- gathers and scatters at positions ---


def _elements_at(x: Any, positions: Any) -> Any:
    """Elements at flat indices; 0 for indices out of range."""
    elements = structural.reshape(x, shape=(x.size,))
    return take_along(elements, positions, 0, mode=GatherScatterMode.FILL_OR_DROP, unique=False)


def _scatter(primitive: Any, flat: Any, positions: Any, updates: Any, unique: bool = False) -> Any:
    """Combines updates with elements of a flat array; drops updates for indices out of range."""
    return primitive(
        flat,
        structural.reshape(positions, shape=(positions.size, 1)),
        structural.reshape(updates, shape=(positions.size,)),
        dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
        indices_are_sorted=False,
        unique_indices=unique,
        mode=GatherScatterMode.FILL_OR_DROP,
    )


def _scattered(
    name: str, flat: Any, updates: Any, positions: Any, scatter: Callable[[Any, Any], Any]
) -> Any:
    """Combines updates by any function of scalars."""
    jaxpr, monoid = traced_computation(name, scatter, tree_structure(0), [flat.aval])
    result = jaxpr.outvars[0].aval
    if result.dtype != flat.dtype:
        raise ShapeError(f"{name}: scatter must return a {flat.dtype}; got {result}")
    primitive = _SCATTERS.get(monoid or "")
    if primitive is not None and not (dtypes.is_bool(flat.dtype) or dtypes.is_complex(flat.dtype)):
        return _scatter(primitive, flat, positions, updates)
    # One window at a time, in order, since windows may share a position.
    flat_positions = structural.reshape(positions, shape=(positions.size,))
    flat_updates = structural.reshape(updates, shape=(positions.size,))

    def step(i: Any, out: Any) -> Any:
        position = take_along(flat_positions, structural.reshape(i, shape=(1,)), 0)
        update = take_along(flat_updates, structural.reshape(i, shape=(1,)), 0)
        element = take_along(out, position, 0, mode=GatherScatterMode.FILL_OR_DROP)
        return _scatter(
            indexing.scatter, out, position, vmap(scatter)(element, update), unique=True
        )

    return fori_loop(_int(0), _int(positions.size), step, flat)
