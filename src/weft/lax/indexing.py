"""Windows at run-time indices, with XLA's dimension numbers: gather, scatter, scatter_add,
scatter_sub, scatter_mul, scatter_min, scatter_max, scatter_apply, index_take."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value, integer_overflow
from ..core.aval import aval
from ..core.primitive import Axis, Primitive
from ..core.source import located
from ..errors import ShapeError
from ..interpreters.batch import batch
from ..option_checks import function, ints_of, shape_of
from ..primitives import indexing
from ..primitives.arithmetic import neg
from ..primitives.comparison import lt
from ..primitives.creation import full, zeros
from ..primitives.gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..primitives.indexing import gather_updates, writes_once
from ..primitives.selection import where
from ..primitives.structural import convert_element_type, converted, reshape
from ..typing import ArrayLike, Shape
from .axes import axes_of, items_of
from .joining import concatenate
from .loops import while_loop
from .slicing import counted_from_end

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]

Mode = str | GatherScatterMode | None


def _numbers(name: str, dimension_numbers: Any, kind: Any) -> Any:
    """Dimension numbers with tuples of ints."""
    if not isinstance(dimension_numbers, kind):
        raise TypeError(
            f"{name}: dimension_numbers must be {kind.__name__}; got {dimension_numbers!r}"
        )
    return kind(
        *[ints_of(name, label, v) for label, v in zip(kind._fields, dimension_numbers, strict=True)]
    )


def _mode(name: str, mode: Any) -> GatherScatterMode:
    """The treatment of windows that are not inside, from an argument `mode`."""
    try:
        return GatherScatterMode.from_any(mode)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    except TypeError:  # not hashable
        raise TypeError(
            f"{name}: mode must be a string, a GatherScatterMode or None; got {mode!r:.80}"
        ) from None


def _named(name: str, operation: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Applies an operation; its errors have the name of the function that calls it."""
    try:
        return operation(*args, **options)
    except ShapeError as error:
        inner, colon, text = str(error.args[0]).partition(": ")
        if colon and inner.isidentifier():
            text = text.replace("start_index_map", "scatter_dims_to_operand_dims")
            error.args = (f"{name}: {text}",)
        raise


def fill_number(name: str, dtype: Any, value: Any) -> Any:
    """A fill value as a hashable parameter, equal for equal values; NaN is `None`, the default.

    Raises: OverflowError: an integer is out of the dtype's range. TypeError: it is not a number, or
      complex for a real dtype.
    """
    if value is None:
        return None
    if isinstance(value, Array) or hasattr(value, "dtype"):
        value = np.asarray(value).item()
    if dtypes.is_integer(dtype) and value.__class__ in (int, float):
        if value.__class__ is float:
            return converted(np.asarray(value), dtype).item()
        if not dtypes.iinfo(dtype).min <= value <= dtypes.iinfo(dtype).max:
            raise integer_overflow(name, value, dtype)
        return value
    kinds = (int, float, complex) if dtypes.is_complex(dtype) else (int, float)
    if not isinstance(value, kinds):
        raise TypeError(f"{name}: fill_value must be a number of {dtype.name}; got {value!r}")
    if value != value and dtypes.is_inexact(dtype):
        return None
    if value == 0 and isinstance(value, float) and np.signbit(value):
        return "-0.0"  # equal to 0.0, and so needs another name
    return value


@located
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Any = None,
) -> Array:
    """Reads windows of an array at run-time indices.

    Args:
      operand: array, any dtype.
      start_indices: integers [b0, …, k]; the last axis holds an index of k elements.
      dimension_numbers: the correspondence of the axes of operand, indices and result.
      slice_sizes: a window's length along each axis of the operand.
      unique_indices: a promise that no element is read twice; makes the derivative faster.
      indices_are_sorted: a promise that the indices are in lexicographic order.
      mode: the treatment of windows that are not inside: "clip" moves them inside, "fill" gives
        `fill_value`, "promise_in_bounds" assumes that there are none. `None` is "fill" if there is
        a `fill_value`, and "clip" otherwise.
      fill_value: a number; NaN, the lowest signed or highest unsigned integer, or True by default.
    Returns: array [b0, …, and the windows' axes at `offset_dims`], dtype of `operand`.
    Raises: TypeError, ValueError: shapes and dimension numbers are inconsistent.
    Source: StableHLO `gather`.
    Example:
      >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> x = np.arange(6).reshape(3, 2)
      >>> lax.gather(x, np.array([[2], [0], [5]]), rows, (1, 2), mode="clip").tolist()
      [[4, 5], [0, 1], [4, 5]]
    """
    x, indices = as_value(operand), as_value(start_indices)
    if mode is None and fill_value is None:
        mode = GatherScatterMode.CLIP
    kind = _mode("gather", mode)
    is_filled = kind is GatherScatterMode.FILL_OR_DROP
    return indexing.gather(
        x,
        indices,
        dimension_numbers=_numbers("gather", dimension_numbers, GatherDimensionNumbers),
        slice_sizes=shape_of("gather", slice_sizes),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=kind,
        fill_value=fill_number("gather", x.dtype, fill_value) if is_filled else None,
    )


def _scattered(
    name: str,
    primitive: Primitive,
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
) -> Any:
    values = as_value(updates, name, "updates")
    x, indices = (
        as_value(operand, name, "operand"),
        as_value(scatter_indices, name, "scatter_indices"),
    )
    numbers = _numbers(name, dimension_numbers, ScatterDimensionNumbers)
    kind = _mode(name, mode)
    return _named(
        name,
        primitive,
        x,
        indices,
        neg(values) if name == "scatter_sub" else values,
        dimension_numbers=numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=kind,
    )


@located
def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Replaces windows of an array at run-time indices; returns a new array.

    If several updates write one element, the last one wins on the CPU, and any of them elsewhere.

    Args:
      operand: array, any dtype.
      scatter_indices: integers [b0, …, k]; the last axis holds an index of k elements.
      updates: array [b0, …, and the windows' axes at `update_window_dims`], dtype of `operand`.
      dimension_numbers: the correspondence of the axes of operand, indices and updates.
      indices_are_sorted: a promise that the indices are in lexicographic order.
      unique_indices: a promise that no element is written twice.
      mode: the treatment of windows that are not inside: "drop" (or `None`) writes nothing, "clip"
        moves them inside, "promise_in_bounds" assumes that there are none.
    Returns: array like `operand`.
    Raises: TypeError, ValueError: shapes, dtypes and dimension numbers are inconsistent.
    Source: StableHLO `scatter`.
    Example:
      >>> single = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter(np.zeros(3), np.array([[2], [9]]), np.array([5.0, 6.0]), single).tolist()
      [0.0, 0.0, 5.0]
    """
    return _scattered(
        "scatter",
        indexing.scatter,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _combining(name: str, primitive: Primitive, verb: str, example: str) -> Callable[..., Array]:
    """A scatter by an operation; documented by its difference from `scatter`."""

    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> Array:
        return _scattered(
            name,
            primitive,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{verb} windows of an array at run-time indices; returns a new array.

    All updates for one element count.

    Args:
      operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
      indices_are_sorted, unique_indices, mode: as in `scatter`.
    Returns: array like `operand`.
    Raises: TypeError, ValueError: shapes, dtypes and numbers don't fit each other.
    Source: StableHLO `scatter`.
    Example:
      >>> single = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.array([1.0, 2.0, 3.0]), np.array([[2], [2]])
      >>> lax.{name}(x, i, np.array([5.0, 2.0]), single).tolist()
      {example}
    """
    return located(function)


scatter_add = _combining("scatter_add", indexing.scatter_add, "Adds to", "[1.0, 2.0, 10.0]")
scatter_sub = _combining("scatter_sub", indexing.scatter_add, "Subtracts from", "[1.0, 2.0, -4.0]")
scatter_mul = _combining("scatter_mul", indexing.scatter_mul, "Multiplies", "[1.0, 2.0, 30.0]")
scatter_min = _combining(
    "scatter_min", indexing.scatter_min, "Takes the minimum with", "[1.0, 2.0, 2.0]"
)
scatter_max = _combining(
    "scatter_max", indexing.scatter_max, "Takes the maximum with", "[1.0, 2.0, 5.0]"
)


@located
def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Shape = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Applies a function to elements of an array at run-time indices; returns a new array.

    Args:
      operand: array, any dtype.
      scatter_indices, dimension_numbers: as in `scatter`.
      func: a function from scalar to scalar, applied once for each occurrence of an index.
      update_shape: the shape that `updates` would have in `scatter`.
      indices_are_sorted, unique_indices, mode: as in `scatter`.
    Returns: array like `operand`.
    Raises: TypeError, ValueError: shapes and dimension numbers are inconsistent.
    Example:
      >>> single = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> x, i = np.array([1.0, 2.0, 3.0]), np.array([[1], [1], [2]])
      >>> lax.scatter_apply(x, i, lambda e: e * 10, single, update_shape=(3,)).tolist()
      [1.0, 200.0, 30.0]
    """
    name = "scatter_apply"
    function(name, "func", func, "of a scalar")
    x, indices = as_value(operand), as_value(scatter_indices)
    if not dtypes.is_integer(indices.dtype):
        raise ShapeError(f"{name}: scatter_indices must be integers; got {indices.aval}")
    shape = shape_of(name, update_shape)
    flags: dict[str, Any] = {
        "dimension_numbers": _numbers(name, dimension_numbers, ScatterDimensionNumbers),
        "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices),
        "mode": _mode(name, mode),
    }

    def apply(values: Any) -> Any:
        if not values.size:
            return values
        elements = reshape(values, shape=(values.size,))
        (new,) = batch(lambda e: [as_value(func(e))], [elements], [True], Axis(values.size))
        if new.shape != elements.shape:
            raise ShapeError(
                "scatter_apply: func must return a scalar for a scalar; got an array of shape "
                f"{new.shape[1:]}"
            )
        if new.dtype != x.dtype:
            new = convert_element_type(new, dtype=x.dtype)
        return reshape(new, shape=values.shape)

    if writes_once(indices, unique_indices):
        elements = _named(name, gather_updates, x, indices, aval(shape, x.dtype), **flags)
        return indexing.scatter(x, indices, apply(elements), **flags)
    ones = full(aval(shape, dtypes.int32), 1)
    zeros_like_x = zeros(aval(x.shape, dtypes.int32))
    times = _named(name, indexing.scatter_add, zeros_like_x, indices, ones, **flags)
    concrete = times.concrete()
    if concrete is not None:
        for i in range(int(np.max(concrete.host(), initial=0))):
            x = where(lt(as_value(np.int32(i)), times), apply(x), x)
        return x

    def is_pending(state: Any) -> Any:
        return (state[0] < times).any()

    def apply_again(state: Any) -> Any:
        i, values = state
        return i + 1, where(lt(i, times), apply(values), values)

    return while_loop(is_pending, apply_again, (np.int32(0), x))[1]


@located
def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """The slices of an array at indices along some axes.

    Args:
      src: array, any dtype.
      idxs: integer arrays [n], one for each of `axes`; negative ones count from the end.
      axes: the axes.
    Returns: array [n, *the other axes].
    Raises: TypeError, ValueError: indices and axes are inconsistent.
    Example:
      >>> x = np.arange(6).reshape(2, 3)
      >>> lax.index_take(x, (np.array([0, 1]), np.array([2, -1])), (0, 1)).tolist()
      [2, 5]
    """
    x = as_value(src)
    indexed_axes = axes_of("index_take", x, ints_of("index_take", "axes", axes))
    arrays = items_of("index_take", "idxs", idxs)
    if len(arrays) != len(indexed_axes):
        raise ShapeError(
            f"index_take: expected an array of indices for each of {len(indexed_axes)} axes; got "
            f"{len(arrays)}"
        )
    columns = []
    for i, axis in zip(arrays, indexed_axes, strict=True):
        index = convert_element_type(as_value(i), dtype=dtypes.default_int())
        if not dtypes.is_unsigned(index.dtype):
            index = counted_from_end(index, x.shape[axis])
        columns.append(reshape(index, shape=(*index.shape, 1)))
    remaining_ndim = x.ndim - len(indexed_axes)
    numbers = GatherDimensionNumbers(
        tuple(range(1, remaining_ndim + 1)), tuple(sorted(indexed_axes)), indexed_axes
    )
    sizes = tuple(1 if a in indexed_axes else n for a, n in enumerate(x.shape))
    return gather(x, concatenate(columns, 1), numbers, sizes, mode="clip")
