"""Means, variances and weighted averages over axes. Knows masks and which dtype to compute in."""

import math
from typing import Any

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.trace import current
from ..primitives import arithmetic, complex_numbers, structural
from ..typing import ArrayLike, Axes, DTypeLike
from .axes import all_axes
from .creation import broadcast, wanted_dtype
from .promotion import cast, no_out, noted, plan_cache, planned_call, run_plan, value
from .reductions import folded, sum, truth, wide_of

__all__ = ["mean", "std", "var"]

_base = current.base
_means, _vars, _stds = plan_cache(), plan_cache(), plan_cache()


def number_of(x: Any, axes: tuple[int, ...]) -> int:
    """How many elements come together in a reduction."""
    return math.prod([x.aval.shape[i] for i in axes])


def mean_dtypes(x: Any, dtype: Any) -> tuple[Any, Any]:
    """(the dtype of a mean, the dtype to compute it in)."""
    if dtype is not None:
        found = dtype
    else:
        found = x.aval.dtype if dtypes.is_inexact(x.aval.dtype) else dtypes.default_float()
    return found, wide_of(found) if dtypes.is_inexact(found) else dtypes.default_float()


def _mean(x: Any, axis: Any, dtype: Any, keepdims: Any, where: Any) -> Any:
    found, wide = mean_dtypes(x, dtype)
    axes = all_axes("mean", axis, x)
    weak = x.aval.weak_type and dtype is None
    total = folded(
        "mean", structural.reduce_sum, None, 0, x if x.aval.dtype == wide else cast(x, wide, weak),
        axes, None, keepdims, None, where, False,
    )  # fmt: skip
    if where is None:
        count = literal(float(number_of(x, axes)), wide)
    else:
        count = counted("mean", x, axes, where, keepdims, wide)
    result = arithmetic.div(total, count)
    return (
        result
        if result.aval.dtype == found and result.aval.weak_type == weak
        else cast(result, found, weak)
    )


def counted(name: str, x: Any, axes: Any, where: Any, keepdims: Any, dtype: Any) -> Any:
    """How many elements a mask leaves, as a float."""
    mask = truth(name, where, "where")
    mask = broadcast(name, mask, x.aval.shape)
    return cast(sum(mask, axes, None, None, keepdims), dtype)


def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Mean over axes.

    Args:
      a: array of any shape; integers become float32. Means of 16-bit floats are computed in
        float32.
      axis: an axis or several; all of them by default.
      dtype: that of the mean.
      out: not supported.
      keepdims: keep the reduced axes with length one.
      where: booleans that broadcast to `a`: which elements count.
    Returns: array without the reduced axes; NaN where there is no element.
    Example:
      >>> np.mean(np.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    plain = dtype is None and out is None and where is None
    if plain:
        try:
            kernel, known = _means[a.type, axis, keepdims, thread.x64]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("mean", out)
    x = value("mean", a, "a")
    wanted = wanted_dtype("mean", dtype)

    def compute(x: Any) -> Any:
        return _mean(x, axis, wanted, keepdims, where)

    if plain:
        return planned_call(_means, (x.aval, axis, keepdims, thread.x64), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


def deviation(
    name: str, x: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, root: bool,
    mean: Any = None,
) -> Any:  # fmt: skip
    """A variance, or its square root."""
    found, _ = mean_dtypes(x, dtype)
    if dtype is not None and not dtypes.is_inexact(found):
        raise noted(ValueError(f"{name}: dtype must be inexact; got {found.name}"))
    if dtypes.is_complex(found) and not dtypes.is_complex(x.aval.dtype) and dtype is not None:
        found = dtypes.real_of(found)
    real = dtypes.real_of(found)
    wide = wide_of(found)
    weak = x.aval.weak_type and dtype is None
    axes = all_axes(name, axis, x)
    x = x if x.aval.dtype == wide else cast(x, wide, weak)
    middle = (
        _mean(x, axes, None, True, where) if mean is None else cast(value(name, mean, "mean"), wide)
    )
    centred = arithmetic.sub(x, middle)
    if dtypes.is_complex(wide):
        parts = complex_numbers.real(centred), complex_numbers.imag(centred)
        squares = structural.add(*(arithmetic.mul(p, p) for p in parts))
    else:
        squares = arithmetic.mul(centred, centred)
    dtype = squares.aval.dtype
    total = folded(
        name, structural.reduce_sum, None, 0, squares, axes, None, keepdims, None, where, False
    )
    if where is None:
        count = literal(float(number_of(x, axes) - ddof), dtype)
    else:
        count = arithmetic.sub(
            counted(name, x, axes, where, keepdims, dtype), literal(float(ddof), dtype)
        )
    result = arithmetic.div(total, count)
    if root:
        result = arithmetic.sqrt(result)
    return (
        result
        if result.aval.dtype == real and result.aval.weak_type == weak
        else cast(result, real, weak)
    )


def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Variance over axes: the mean of squared distances from the mean.

    Args:
      a: array of any shape; integers become float32.
      axis: an axis or several; all of them by default.
      dtype: that to compute in.
      out: not supported.
      ddof: the divisor is the number of elements minus this.
      keepdims: keep the reduced axes with length one.
      where: booleans that broadcast to `a`: which elements count.
      mean: the mean, if it is known, with the reduced axes kept.
      correction: another name for `ddof`.
    Returns: real array without the reduced axes.
    Example:
      >>> np.var(np.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    plain = dtype is None and out is None and where is None and mean is None and correction is None
    if plain:
        try:
            kernel, known = _vars[a.type, axis, ddof, keepdims, thread.x64]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("var", out)
    x = value("var", a, "a")
    less = _correction("var", ddof, correction)
    wanted = wanted_dtype("var", dtype)

    def compute(x: Any) -> Any:
        return deviation("var", x, axis, wanted, less, keepdims, where, False, mean)

    if plain:
        return planned_call(_vars, (x.aval, axis, ddof, keepdims, thread.x64), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if ddof != 0:
        raise noted(ValueError(f"{name}: ddof and correction are one thing; got both"))
    return correction


def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Standard deviation over axes: the square root of the variance.

    Args: as in `var`.
    Returns: real array without the reduced axes.
    Example:
      >>> np.std(np.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    plain = dtype is None and out is None and where is None and mean is None and correction is None
    if plain:
        try:
            kernel, known = _stds[a.type, axis, ddof, keepdims, thread.x64]  # type: ignore[union-attr]
            if kernel is not None and current.trace is _base:
                return run_plan(a, kernel, known)  # type: ignore[no-any-return]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    no_out("std", out)
    x = value("std", a, "a")
    less = _correction("std", ddof, correction)
    wanted = wanted_dtype("std", dtype)

    def compute(x: Any) -> Any:
        return deviation("std", x, axis, wanted, less, keepdims, where, True, mean)

    if plain:
        return planned_call(_stds, (x.aval, axis, ddof, keepdims, thread.x64), compute, x)  # type: ignore[no-any-return]
    return compute(x)  # type: ignore[no-any-return]
