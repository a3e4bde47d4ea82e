"""Reductions over axes: sum, prod, max, min, ptp, all, any, count_nonzero, and the index of an
extreme: argmax, argmin."""

import functools
import math
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import arithmetic, comparison, monoids, reductions, selection, structural
from ..typing import ArrayLike, Axes, Axis, DTypeLike
from .axes import all_axes, one_axis
from .creation import dtype_argument
from .makers import binary
from .plans import planned
from .promotion import cast, no_out, noted, strong, value

__all__ = [
    "all",
    "alltrue",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "product",
    "ptp",
    "sometrue",
    "sum",
]


# --- shared steps ---


def keep_axes(x: Any, source: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """A reduced value; with `keepdims`, the reduced axes are restored with length one."""
    if not keepdims or not axes:
        return x
    shape = tuple([1 if i in axes else n for i, n in enumerate(source.aval.shape)])
    return structural.reshape(x, shape=shape)


def masked(name: str, x: Any, where: Any, identity: Any) -> Any:
    """`x` where a mask is true, otherwise the identity of the reduction."""
    if where is None:
        return x
    return selection.select_n(truth(name, where, "where"), constant(identity, x.aval.dtype), x)


def truth(name: str, x: Any, argument: str = "a") -> Any:
    """True where elements are not zero."""
    x = value(name, x, argument)
    if x.aval.dtype == dtypes.bool_:
        return x
    return _differs(x, 0)


_differs = binary(comparison.ne, "not_equal")


def constant(number: Any, dtype: Any) -> Any:
    """A scalar of a dtype."""
    return literal(number.item() if hasattr(number, "item") else number, dtype)


def wide_of(dtype: Any) -> Any:
    """The dtype to accumulate sums in: float32 for 16-bit and 8-bit floats."""
    if dtype.itemsize < 4 and dtypes.is_float(dtype):
        return dtypes.float32
    return dtype


def summed_dtype(dtype: Any, promote_integers: bool) -> Any:
    """The dtype of a sum or product of elements."""
    if dtype.kind in "fc":
        return dtype
    if dtypes.is_bool(dtype):
        return dtypes.default_int()
    if promote_integers and dtypes.is_integer(dtype):
        default = dtypes.default_int()
        if dtypes.bit_width(dtype) < dtypes.bit_width(default):
            if dtypes.is_signed(dtype):
                return default
            return dtypes.uint64 if default == dtypes.int64 else dtypes.uint32
    return dtype


def reduce_elements(
    name: str,
    primitive: Any,
    combine: Any,
    identity: int,
    x: Value,
    axis: Any,
    keepdims: Any,
    dtype: np.dtype[Any] | None = None,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Array:
    """A sum or a product over axes. Its type is not weak, even if the array's is."""
    out_dtype = summed_dtype(x.aval.dtype, promote_integers) if dtype is None else dtype
    sum_dtype = wide_of(out_dtype)
    if primitive is reductions.reduce_prod and dtypes.is_bool(sum_dtype):
        primitive = reductions.reduce_and
    if x.aval.dtype != sum_dtype:
        x = cast(x, sum_dtype)
    x = masked(name, x, where, identity)
    axes = tuple(range(x.aval.ndim)) if axis is None else all_axes(name, axis, x)
    result: Any = primitive(x, axes=axes) if axes else x
    result = keep_axes(result, x, axes, keepdims)
    if initial is not None:
        initial_value = cast(value(name, initial, "initial"), sum_dtype)
        result = combine(scalar_only(name, initial_value, "initial"), result)
    if result.aval.dtype != out_dtype or result.aval.weak_type:
        result = cast(result, out_dtype)
    return result


def scalar_only(name: str, x: Any, argument: str) -> Any:
    """Raises an error for a value with axes."""
    if x.aval.ndim:
        raise noted(ShapeError(f"{name}: {argument} must be a scalar; got {x.aval}"))
    return x


# --- sums and products ---


_sum_of = functools.partial(reduce_elements, "sum", structural.reduce_sum, structural.add, 0)
_sum = planned("sum", _sum_of)


def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Sum of elements over axes.

    Args:
      a: array of any shape. 16-bit floats are accumulated in float32.
      axis: one axis or several; by default all of them.
      dtype: dtype of the result and of the accumulation; by default the dtype of `a`, with booleans
        and small integers promoted.
      out: not supported.
      keepdims: keep the reduced axes, with length one.
      initial: a scalar that is added to the sum.
      where: boolean mask that broadcasts to `a`: the elements to sum.
      promote_integers: whether small integers are promoted to the default integer.
    Returns: array without the reduced axes.
    Raises: ValueError: an axis is out of range. TypeError: `a` is a list.
    Example:
      >>> np.sum(np.ones((2, 3)), axis=1)
      Array([3., 3.], dtype=float32)
    """
    if dtype is None and out is None and initial is None and where is None and promote_integers:
        return _sum(a, axis, keepdims)
    no_out("sum", out)
    x, out_dtype = value("sum", a, "a"), dtype_argument("sum", dtype)
    return _sum_of(x, axis, keepdims, out_dtype, initial, where, promote_integers)


_prod_of = functools.partial(reduce_elements, "prod", reductions.reduce_prod, arithmetic.mul, 1)
_prod = planned("prod", _prod_of)


def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Product of elements over axes.

    Args: as in `sum`.
    Returns: array without the reduced axes.
    Example:
      >>> np.prod(np.array([2, 3, 4]))
      Array(24, dtype=int32)
    """
    if dtype is None and out is None and initial is None and where is None and promote_integers:
        return _prod(a, axis, keepdims)
    no_out("prod", out)
    x, out_dtype = value("prod", a, "a"), dtype_argument("prod", dtype)
    return _prod_of(x, axis, keepdims, out_dtype, initial, where, promote_integers)


product = prod

# --- extremes ---


def _extreme(
    name: str,
    largest: bool,
    x: Value,
    axis: Any,
    keepdims: Any,
    initial: Any = None,
    where: Any = None,
) -> Array:
    if where is not None and initial is None:
        raise noted(
            ValueError(
                f"{name}: where needs an initial value, since the mask may leave no element\n"
                f"  fix: {name}(x, where=mask, initial={'-np.inf' if largest else 'np.inf'})"
            )
        )
    axes = all_axes(name, axis, x)
    if initial is None and not math.prod(x.aval.shape[i] for i in axes):
        raise noted(
            ShapeError(
                f"{name}: an empty {x.aval} has no {'max' if largest else 'min'}imum\n"
                "  fix: pass initial="
            )
        )
    primitive = reductions.reduce_max if largest else reductions.reduce_min
    identity = monoids.lowest(x.aval.dtype) if largest else monoids.highest(x.aval.dtype)
    x = masked(name, x, where, identity)
    result: Any = primitive(x, axes=axes) if axes else x
    result = keep_axes(result, x, axes, keepdims)
    if initial is not None:
        initial_value = cast(value(name, initial, "initial"), x.aval.dtype, x.aval.weak_type)
        combine = arithmetic.max_ if largest else arithmetic.min_
        result = combine(scalar_only(name, initial_value, "initial"), result)
    return strong(result)


_max_of = functools.partial(_extreme, "max", True)
_max = planned("max", _max_of)


def max(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes; NaN if an element is NaN.

    Args:
      a: array of any shape.
      axis: one axis or several; by default all of them.
      out: not supported.
      keepdims: keep the reduced axes, with length one.
      initial: a lower bound of the result.
      where: boolean mask that broadcasts to `a`: the elements to compare; it needs `initial`.
    Returns: array without the reduced axes.
    Raises: ValueError: there are no elements, and no `initial`.
    Example:
      >>> np.max(np.array([3, 1, 2]))
      Array(3, dtype=int32)
    """
    if out is None and initial is None and where is None:
        return _max(a, axis, keepdims)
    no_out("max", out)
    return _max_of(value("max", a, "a"), axis, keepdims, initial, where)


_min_of = functools.partial(_extreme, "min", False)
_min = planned("min", _min_of)


def min(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes; NaN if an element is NaN.

    Args: as in `max`.
    Returns: array without the reduced axes.
    Raises: ValueError: there are no elements, and no `initial`.
    Example:
      >>> np.min(np.array([3, 1, 2]))
      Array(1, dtype=int32)
    """
    if out is None and initial is None and where is None:
        return _min(a, axis, keepdims)
    no_out("min", out)
    return _min_of(value("min", a, "a"), axis, keepdims, initial, where)


amax, amin = max, min


def ptp(a: ArrayLike, axis: Axes = None, out: None = None, keepdims: bool = False) -> Array:
    """Range of values (maximum minus minimum) over axes.

    Args: as in `max`.
    Example:
      >>> np.ptp(np.array([3, 1, 7]))
      Array(6, dtype=int32)
    """
    no_out("ptp", out)
    x = value("ptp", a, "a")
    return arithmetic.sub(max(x, axis, None, keepdims), min(x, axis, None, keepdims))


# --- logic ---


def _logic(
    name: str, primitive: Primitive, x: Value, axis: Any, keepdims: Any, where: Any = None
) -> Array:
    condition = masked(name, truth(name, x), where, name == "all")
    axes = all_axes(name, axis, condition)
    result: Array = primitive(condition, axes=axes) if axes else condition
    return keep_axes(result, condition, axes, keepdims)


_all_of = functools.partial(_logic, "all", reductions.reduce_and)
_any_of = functools.partial(_logic, "any", reductions.reduce_or)
_all, _any = planned("all", _all_of), planned("any", _any_of)


def all(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Tests whether all elements are true (not zero), over axes.

    Args:
      a: array of any shape.
      axis: one axis or several; by default all of them.
      out: not supported.
      keepdims: keep the reduced axes, with length one.
      where: boolean mask that broadcasts to `a`: the elements to test.
    Returns: boolean array without the reduced axes.
    Example:
      >>> np.all(np.array([True, False]))
      Array(False, dtype=bool)
    """
    if where is None and out is None:
        return _all(a, axis, keepdims)
    no_out("all", out)
    return _all_of(value("all", a, "a"), axis, keepdims, where)


def any(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Tests whether any element is true (not zero), over axes.

    Args: as in `all`.
    Returns: boolean array without the reduced axes.
    Example:
      >>> np.any(np.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    if where is None and out is None:
        return _any(a, axis, keepdims)
    no_out("any", out)
    return _any_of(value("any", a, "a"), axis, keepdims, where)


alltrue, sometrue = all, any


def count_nonzero(a: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Array:
    """Counts the nonzero elements over axes.

    Args:
      a: array of any shape.
      axis: one axis or several; by default all of them.
      keepdims: keep the reduced axes, with length one.
    Returns: int32 array without the reduced axes.
    Example:
      >>> np.count_nonzero(np.array([1, 0, 2]))
      Array(2, dtype=int32)
    """
    nonzero = truth("count_nonzero", a)
    return sum(nonzero, all_axes("count_nonzero", axis, nonzero), None, None, keepdims)


# --- indices of extremes ---


def _index_of(name: str, primitive: Primitive, x: Value, axis: Any, keepdims: Any) -> Array:
    ndim = x.aval.ndim
    i = 0 if axis is None else one_axis(name, axis, ndim)
    if not (x.aval.size if axis is None else x.aval.shape[i]):
        raise noted(
            ShapeError(
                f"{name}: an empty {x.aval} has no element to point to"
                + ("" if axis is None else f" along axis {i}")
            )
        )
    if axis is None:
        flat_x = structural.reshape(x, shape=(x.aval.size,)) if ndim != 1 else x
        result = primitive(flat_x, axis=0, dtype=dtypes.default_int())
        return structural.reshape(result, shape=(1,) * ndim) if keepdims else result
    result = primitive(x, axis=i, dtype=dtypes.default_int())
    return keep_axes(result, x, (i,), keepdims)


_argmax = planned("argmax", functools.partial(_index_of, "argmax", reductions.argmax))
_argmin = planned("argmin", functools.partial(_index_of, "argmin", reductions.argmin))


def argmax(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum along an axis, or in the flattened array; NaN counts as maximum.

    Args:
      a: array of any shape.
      axis: one axis; None flattens the array.
      out: not supported.
      keepdims: keep the reduced axes, with length one.
    Returns: int32 array without the axis.
    Example:
      >>> np.argmax(np.array([1, 3, 2]))
      Array(1, dtype=int32)
    """
    no_out("argmax", out)
    return _argmax(a, axis, keepdims)


def argmin(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum along an axis, or in the flattened array; NaN counts as minimum.

    Args: as in `argmax`.
    Returns: int32 array without the axis.
    Example:
      >>> np.argmin(np.array([3, 1, 2]))
      Array(1, dtype=int32)
    """
    no_out("argmin", out)
    return _argmin(a, axis, keepdims)
