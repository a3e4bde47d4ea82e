"""Reductions over axes: sums, products, extremes, logic.

Knows identities, masks and which dtype to compute in; knows nothing of order statistics.
"""

import math
from typing import Any

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.trace import current
from ..primitives import arithmetic, comparison, extremes, reduction, selection, structural
from ..typing import ArrayLike, Axes, DTypeLike
from .axes import all_axes
from .creation import wanted_dtype
from .promotion import binary, cast, no_out, noted, plan_cache, planned_call, run_plan, value

__all__ = [
    "all",
    "alltrue",
    "amax",
    "amin",
    "any",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "product",
    "ptp",
    "sometrue",
    "sum",
]

_base = current.base
_sums, _prods, _maxs, _mins, _alls, _anys = [plan_cache() for _ in range(6)]

# --- what all of them do ---


def keep_axes(x: Any, source: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """A reduced value, with the reduced axes put back with length one if wished."""
    if not keepdims or not axes:
        return x
    shape = tuple([1 if i in axes else n for i, n in enumerate(source.aval.shape)])
    return structural.reshape(x, shape=shape)


def masked(name: str, x: Any, where: Any, identity: Any) -> Any:
    """`x` where the condition holds, the identity of the reduction elsewhere."""
    if where is None:
        return x
    return selection.select_n(truth(name, where, "where"), constant(identity, x.aval.dtype), x)


def truth(name: str, x: Any, argument: str = "a") -> Any:
    """Whether elements aren't zero."""
    x = value(name, x, argument)
    if x.aval.dtype == dtypes.bool_:
        return x
    return _differs(x, 0)


_differs = binary(comparison.ne, "not_equal")


def constant(number: Any, dtype: Any) -> Any:
    """A scalar of a dtype."""
    return literal(number.item() if hasattr(number, "item") else number, dtype)


def wide_of(dtype: Any) -> Any:
    """The dtype to compute sums in: float32 for 16-bit and 8-bit floats."""
    if dtypes.is_float(dtype) and dtype.itemsize < 4:
        return dtypes.float32
    return dtype


def summed_dtype(dtype: Any, promote_integers: bool) -> Any:
    """The dtype of a sum or product of elements."""
    if dtypes.is_bool(dtype):
        return dtypes.default_int()
    if promote_integers and dtypes.is_integer(dtype):
        default = dtypes.default_int()
        if dtypes.bit_width(dtype) < dtypes.bit_width(default):
            if dtypes.is_signed(dtype):
                return default
            return dtypes.uint64 if default == dtypes.int64 else dtypes.uint32
    return dtype


def folded(
    name: str,
    primitive: Any,
    combine: Any,
    identity: int,
    x: Any,
    axis: Any,
    dtype: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    """A sum or a product."""
    weak = x.aval.weak_type and dtype is None
    found = summed_dtype(x.aval.dtype, promote_integers) if dtype is None else dtype
    wide = wide_of(found)
    if x.aval.dtype != wide:
        x = cast(x, wide, weak)
    x = masked(name, x, where, identity)
    axes = all_axes(name, axis, x)
    result = primitive(x, axes=axes) if axes else x
    result = keep_axes(result, x, axes, keepdims)
    if initial is not None:
        start = cast(value(name, initial, "initial"), wide, weak)
        result = combine(scalar_only(name, start, "initial"), result)
    if result.aval.dtype != found or result.aval.weak_type != weak:
        result = cast(result, found, weak)
    return result


def scalar_only(name: str, x: Any, argument: str) -> Any:
    """Refuses what has axes."""
    if x.aval.ndim:
        raise noted(ValueError(f"{name}: {argument} must be a scalar; got {x.aval}"))
    return x


# --- sums and products ---


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
    """Sum over axes.

    Args:
      a: array of any shape. Sums of 16-bit floats are kept in float32.
      axis: an axis or several; all of them by default.
      dtype: that of the sum; by default that of `a`, with booleans and small integers promoted.
      out: not supported.
      keepdims: keep the reduced axes with length one.
      initial: a scalar to begin with.
      where: booleans that broadcast to `a`: which elements to sum.
      promote_integers: False keeps small integers as they are.
    Returns: array without the reduced axes.
    Raises: ValueError: an axis is out of range. TypeError: `a` is a list.
    Example:
      >>> np.sum(np.ones((2, 3)), axis=1)
      Array([3., 3.], dtype=float32)
    """
    plain = dtype is None and out is None and initial is None and where is None
    if plain and promote_integers:
        try:
            kernel, known = _sums[a.type, axis, keepdims, thread.x64]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("sum", out)
    x = value("sum", a, "a")
    wanted = wanted_dtype("sum", dtype)

    def compute(x: Any) -> Any:
        return folded(
            "sum", structural.reduce_sum, structural.add, 0, x, axis, wanted, keepdims,
            initial, where, promote_integers,
        )  # fmt: skip

    if plain and promote_integers:
        return planned_call(_sums, (x.aval, axis, keepdims, thread.x64), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


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
    """Product over axes.

    Args: as in `sum`.
    Returns: array without the reduced axes.
    Example:
      >>> np.prod(np.array([2, 3, 4]))
      Array(24, dtype=int32)
    """
    plain = dtype is None and out is None and initial is None and where is None
    if plain and promote_integers:
        try:
            kernel, known = _prods[a.type, axis, keepdims, thread.x64]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("prod", out)
    x = value("prod", a, "a")
    wanted = wanted_dtype("prod", dtype)

    def compute(x: Any) -> Any:
        return folded(
            "prod", reduction.reduce_prod, arithmetic.mul, 1, x, axis, wanted, keepdims,
            initial, where, promote_integers,
        )  # fmt: skip

    if plain and promote_integers:
        return planned_call(_prods, (x.aval, axis, keepdims, thread.x64), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


product = prod

# --- extremes ---


def _extreme(
    name: str, x: Any, axis: Any, keepdims: Any, initial: Any, where: Any, largest: bool
) -> Any:
    if where is not None and initial is None:
        raise noted(
            ValueError(
                f"{name}: where needs an initial value, for there may be no element left\n"
                f"  fix: {name}(x, where=mask, initial={'-np.inf' if largest else 'np.inf'})"
            )
        )
    axes = all_axes(name, axis, x)
    if initial is None and not math.prod(x.aval.shape[i] for i in axes):
        raise noted(
            ValueError(
                f"{name}: an empty {x.aval} has no {'max' if largest else 'min'}imum\n"
                "  fix: pass initial="
            )
        )
    primitive = reduction.reduce_max if largest else reduction.reduce_min
    identity = extremes.lowest(x.aval.dtype) if largest else extremes.highest(x.aval.dtype)
    x = masked(name, x, where, identity)
    result = primitive(x, axes=axes) if axes else x
    result = keep_axes(result, x, axes, keepdims)
    if initial is not None:
        start = cast(value(name, initial, "initial"), x.aval.dtype, x.aval.weak_type)
        combine = arithmetic.max_ if largest else arithmetic.min_
        result = combine(scalar_only(name, start, "initial"), result)
    return result


def max(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes; NaN if there is one among the elements.

    Args:
      a: array of any shape.
      axis: an axis or several; all of them by default.
      out: not supported.
      keepdims: keep the reduced axes with length one.
      initial: a scalar that the result is not below.
      where: booleans that broadcast to `a`: which elements count; needs `initial`.
    Returns: array without the reduced axes.
    Raises: ValueError: there is no element, and no `initial`.
    Example:
      >>> np.max(np.array([3, 1, 2]))
      Array(3, dtype=int32)
    """
    plain = out is None and initial is None and where is None
    if plain:
        try:
            kernel, known = _maxs[a.type, axis, keepdims]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("max", out)
    x = value("max", a, "a")

    def compute(x: Any) -> Any:
        return _extreme("max", x, axis, keepdims, initial, where, True)

    if plain:
        return planned_call(_maxs, (x.aval, axis, keepdims), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


def min(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes; NaN if there is one among the elements.

    Args: as in `max`.
    Returns: array without the reduced axes.
    Raises: ValueError: there is no element, and no `initial`.
    Example:
      >>> np.min(np.array([3, 1, 2]))
      Array(1, dtype=int32)
    """
    plain = out is None and initial is None and where is None
    if plain:
        try:
            kernel, known = _mins[a.type, axis, keepdims]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("min", out)
    x = value("min", a, "a")

    def compute(x: Any) -> Any:
        return _extreme("min", x, axis, keepdims, initial, where, False)

    if plain:
        return planned_call(_mins, (x.aval, axis, keepdims), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


amax, amin = max, min


def ptp(a: ArrayLike, axis: Axes = None, out: None = None, keepdims: bool = False) -> Array:
    """Maximum minus minimum over axes.

    Args: as in `max`.
    Example:
      >>> np.ptp(np.array([3, 1, 7]))
      Array(6, dtype=int32)
    """
    no_out("ptp", out)
    x = value("ptp", a, "a")
    return arithmetic.sub(max(x, axis, None, keepdims), min(x, axis, None, keepdims))  # type: ignore[no-any-return]


# --- logic ---


def _logic(name: str, a: Any, axis: Any, out: Any, keepdims: Any, where: Any, cache: Any) -> Any:
    no_out(name, out)
    x = value(name, a, "a")
    primitive = reduction.reduce_and if name == "all" else reduction.reduce_or

    def compute(x: Any) -> Any:
        flags = masked(name, truth(name, x), where, name == "all")
        axes = all_axes(name, axis, flags)
        result = primitive(flags, axes=axes) if axes else flags
        return keep_axes(result, flags, axes, keepdims)

    if where is None:
        return planned_call(cache, (x.aval, axis, keepdims), compute, x)
    return compute(x)


def all(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements are true (not zero), over axes.

    Args:
      a: array of any shape.
      axis: an axis or several; all of them by default.
      out: not supported.
      keepdims: keep the reduced axes with length one.
      where: booleans that broadcast to `a`: which elements count.
    Returns: boolean array without the reduced axes.
    Example:
      >>> np.all(np.array([True, False]))
      Array(False, dtype=bool)
    """
    if where is None and out is None:
        try:
            kernel, known = _alls[a.type, axis, keepdims]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    return _logic("all", a, axis, out, keepdims, where, _alls)  # type: ignore[no-any-return]


def any(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether any element is true (not zero), over axes.

    Args: as in `all`.
    Returns: boolean array without the reduced axes.
    Example:
      >>> np.any(np.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    if where is None and out is None:
        try:
            kernel, known = _anys[a.type, axis, keepdims]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    return _logic("any", a, axis, out, keepdims, where, _anys)  # type: ignore[no-any-return]


alltrue, sometrue = all, any


def count_nonzero(a: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Array:
    """How many elements aren't zero, over axes.

    Args:
      a: array of any shape.
      axis: an axis or several; all of them by default.
      keepdims: keep the reduced axes with length one.
    Returns: int32 array without the reduced axes.
    Example:
      >>> np.count_nonzero(np.array([1, 0, 2]))
      Array(2, dtype=int32)
    """
    return sum(truth("count_nonzero", a), axis, None, None, keepdims)
