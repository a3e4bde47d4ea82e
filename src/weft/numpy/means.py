"""Means, variances and weighted averages over axes. Knows masks and which dtype to compute in."""

import functools
import math
import numbers
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import arithmetic, complex_numbers, structural
from ..typing import ArrayLike, Axes, DTypeLike
from .axes import all_axes
from .creation import broadcast, wanted_dtype
from .plans import planned
from .promotion import cast, no_out, noted, value
from .reductions import folded, sum, truth, wide_of

__all__ = ["mean", "std", "var"]


def number_of(x: Any, axes: tuple[int, ...]) -> int:
    """The number of elements that a reduction combines into one."""
    return math.prod([x.aval.shape[i] for i in axes])


def mean_dtypes(x: Any, dtype: Any) -> tuple[Any, Any]:
    """(the dtype of a mean, the dtype to compute it in)."""
    if dtype is not None:
        found = dtype
    else:
        found = x.aval.dtype if dtypes.is_inexact(x.aval.dtype) else dtypes.default_float()
    return found, wide_of(found)


def _mean_of(
    x: Value, axis: Any, keepdims: Any, dtype: np.dtype[Any] | None = None, where: Any = None
) -> Array:
    found, wide = mean_dtypes(x, dtype)
    axes = all_axes("mean", axis, x)
    weak = x.aval.weak_type and dtype is None
    total = folded(
        "mean", structural.reduce_sum, None, 0, x if x.aval.dtype == wide else cast(x, wide, weak),
        axes, keepdims, wide if dtypes.is_bool(wide) else None, None, where, False,
    )  # fmt: skip
    if dtypes.is_bool(wide):  # the number is 1, or 0: the sum is the mean
        return total
    if where is None:
        number = number_of(x, axes)
        count = literal(float(number) if dtypes.is_inexact(wide) else number, wide)
    else:
        count = counted("mean", x, axes, where, keepdims, wide)
    result: Array = arithmetic.div(total, count)
    return (
        result
        if result.aval.dtype == found and result.aval.weak_type == weak
        else cast(result, found, weak)
    )


def counted(name: str, x: Any, axes: Any, where: Any, keepdims: Any, dtype: Any) -> Any:
    """The number of elements that a mask leaves."""
    mask = truth(name, where, "where")
    mask = broadcast(name, mask, x.aval.shape)
    return cast(sum(mask, axes, None, None, keepdims), dtype)


_mean = planned("mean", _mean_of)


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
      dtype: that to compute in, and of the mean; a whole number is rounded towards zero.
      out: not supported.
      keepdims: keep the reduced axes with length one.
      where: booleans that broadcast to `a`: which elements count.
    Returns: array without the reduced axes; NaN where there is no element.
    Example:
      >>> np.mean(np.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    if dtype is None and out is None and where is None:
        return _mean(a, axis, keepdims)
    no_out("mean", out)
    return _mean_of(value("mean", a, "a"), axis, keepdims, wanted_dtype("mean", dtype), where)


def weights_along(name: str, weights: Any, x: Any, axis: Any) -> Any:
    """Weights of the shape of an array, from such ones, or from one for each place along axes."""
    if weights.shape == x.shape:
        return weights
    axes = all_axes(name, axis, x)
    if axis is None or weights.shape != tuple([x.shape[i] for i in axes]):
        raise noted(
            ShapeError(
                f"{name}: weights must be of the shape of `a`, or of the axes that `axis` names; "
                f"got {weights.aval} for {x.aval}"
            )
        )
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    if order != list(range(len(axes))):
        weights = structural.transpose(weights, permutation=tuple(order))
    return structural.broadcast_in_dim(weights, shape=x.shape, dims=tuple(sorted(axes)))


def deviation(
    name: str,
    root: bool,
    x: Value,
    axis: Any,
    ddof: float,
    keepdims: Any,
    dtype: np.dtype[Any] | None = None,
    where: Any = None,
    mean: Any = None,
) -> Array:
    """A variance, or its square root."""
    found, _ = mean_dtypes(x, dtype)
    if dtype is not None and not dtypes.is_inexact(found):
        raise noted(ShapeError(f"{name}: dtype must be inexact; got {found.name}"))
    if dtypes.is_complex(x.aval.dtype) and not dtypes.is_complex(found):
        raise noted(ShapeError(f"{name}: dtype must be complex for {x.aval}; got {found.name}"))
    real = dtypes.real_of(found) if dtype is None else found
    wide = wide_of(found)
    weak = x.aval.weak_type and dtype is None
    axes = all_axes(name, axis, x)
    x = x if x.aval.dtype == wide else cast(x, wide, weak)
    middle = (
        _mean_of(x, axes, True, None, where)
        if mean is None
        else cast(value(name, mean, "mean"), wide)
    )
    centred = arithmetic.sub(x, middle)
    if dtypes.is_complex(wide):
        parts = complex_numbers.real(centred), complex_numbers.imag(centred)
        squares = structural.add(*(arithmetic.mul(p, p) for p in parts))
    else:
        squares = arithmetic.mul(centred, centred)
    dtype = squares.aval.dtype
    total = folded(
        name, structural.reduce_sum, None, 0, squares, axes, keepdims, None, None, where, False
    )
    if where is None:
        count = literal(float(number_of(x, axes) - ddof), dtype)
    else:
        count = arithmetic.sub(
            counted(name, x, axes, where, keepdims, dtype), literal(float(ddof), dtype)
        )
    result: Array = arithmetic.div(total, count)
    if root:
        result = arithmetic.sqrt(result)
    return (
        result
        if result.aval.dtype == real and result.aval.weak_type == weak
        else cast(result, real, weak)
    )


_var_of = functools.partial(deviation, "var", False)
_var = planned("var", _var_of)


def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
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
      dtype: that to compute in, and of the result.
      out: not supported.
      ddof: the divisor is the number of elements minus this.
      keepdims: keep the reduced axes with length one.
      where: booleans that broadcast to `a`: which elements count.
      mean: the mean, if it is known, with the reduced axes kept.
      correction: another name for `ddof`.
    Returns: array without the reduced axes; real, but for a complex `dtype`.
    Example:
      >>> np.var(np.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    if dtype is None and out is None and where is None and mean is None and correction is None:
        if ddof.__class__ is not int:  # plans are found by what equals it
            ddof = _freedom("var", ddof)
        return _var(a, axis, ddof, keepdims)
    no_out("var", out)
    x, wanted = value("var", a, "a"), wanted_dtype("var", dtype)
    less = _freedom("var", _correction("var", ddof, correction))
    return _var_of(x, axis, less, keepdims, wanted, where, mean)


def _freedom(name: str, ddof: Any) -> float:
    """The number of elements minus the divisor, as a Python number."""
    if isinstance(ddof, (str, numbers.Complex)) and not isinstance(ddof, numbers.Real):
        raise noted(TypeError(f"{name}: ddof must be a real number; got {ddof!r}"))
    return float(ddof)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if ddof != 0:
        raise noted(ValueError(f"{name}: ddof and correction are one thing; got both"))
    return correction


_std_of = functools.partial(deviation, "std", True)
_std = planned("std", _std_of)


def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
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
    if dtype is None and out is None and where is None and mean is None and correction is None:
        if ddof.__class__ is not int:  # plans are found by what equals it
            ddof = _freedom("std", ddof)
        return _std(a, axis, ddof, keepdims)
    no_out("std", out)
    x, wanted = value("std", a, "a"), wanted_dtype("std", dtype)
    less = _freedom("std", _correction("std", ddof, correction))
    return _std_of(x, axis, less, keepdims, wanted, where, mean)
