"""Averages, variances and correlations: mean, average, var, std, cov, corrcoef."""

import functools
import math
import numbers
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..primitives import arithmetic, complex_numbers, creation, structural
from ..typing import ArrayLike, Axes, DTypeLike
from .axes import all_axes
from .creation import broadcast, dtype_argument
from .extrema import clip
from .joining import concatenate
from .matrices import diagonal
from .plans import planned
from .products import contracted
from .promotion import as_inexact, cast, no_out, noted, promote_values, value
from .reductions import reduce_elements, sum, truth, wide_of
from .shapes import atleast_2d, reshape

__all__ = ["average", "corrcoef", "cov", "mean", "std", "var"]


def number_of(x: Any, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one element."""
    return math.prod([x.aval.shape[i] for i in axes])


def mean_dtypes(x: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype of a mean, and the dtype of its accumulation."""
    if dtype is not None:
        out_dtype = dtype
    else:
        out_dtype = x.aval.dtype if dtypes.is_inexact(x.aval.dtype) else dtypes.default_float()
    return out_dtype, wide_of(out_dtype)


def _mean_of(
    x: Value, axis: Any, keepdims: Any, dtype: np.dtype[Any] | None = None, where: Any = None
) -> Array:
    out_dtype, sum_dtype = mean_dtypes(x, dtype)
    axes = all_axes("mean", axis, x)
    x = cast(x, sum_dtype, x.aval.weak_type)
    total = reduce_elements(
        "mean", structural.reduce_sum, None, 0, x, axes, keepdims,
        sum_dtype if dtypes.is_bool(sum_dtype) else None, None, where, False,
    )  # fmt: skip
    if dtypes.is_bool(sum_dtype):  # the count would be 1 or 0, so the sum is the mean
        return total
    if where is None:
        element_count = number_of(x, axes)
        count = literal(
            float(element_count) if dtypes.is_inexact(sum_dtype) else element_count, sum_dtype
        )
    else:
        count = masked_count("mean", x, axes, where, keepdims, sum_dtype)
    result: Array = cast(arithmetic.div(total, count), out_dtype)
    return result


def masked_count(name: str, x: Any, axes: Any, where: Any, keepdims: Any, dtype: Any) -> Any:
    """The number of elements where a mask is true."""
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
    """Arithmetic mean over axes.

    Args:
      a: array of any shape; integers become float32. Means of 16-bit floats are computed in
        float32.
      axis: one axis or several; by default all of them.
      dtype: dtype of the result and of the accumulation; an integer result is rounded towards zero.
      out: not supported.
      keepdims: keep the reduced axes, with length one.
      where: boolean mask that broadcasts to `a`: the elements to include.
    Returns: array without the reduced axes; NaN where there are no elements.
    Example:
      >>> np.mean(np.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    if dtype is None and out is None and where is None:
        return _mean(a, axis, keepdims)
    no_out("mean", out)
    return _mean_of(value("mean", a, "a"), axis, keepdims, dtype_argument("mean", dtype), where)


def weights_along(name: str, weights: Any, x: Any, axis: Any) -> Any:
    """Weights broadcast to the shape of an array; they have that shape, or one for `axis`."""
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
    """Variance, or standard deviation if `root`."""
    out_dtype, _ = mean_dtypes(x, dtype)
    if dtype is not None and not dtypes.is_inexact(out_dtype):
        raise noted(ShapeError(f"{name}: dtype must be inexact; got {out_dtype.name}"))
    if dtypes.is_complex(x.aval.dtype) and not dtypes.is_complex(out_dtype):
        raise noted(ShapeError(f"{name}: dtype must be complex for {x.aval}; got {out_dtype.name}"))
    real_dtype = dtypes.real_of(out_dtype) if dtype is None else out_dtype
    sum_dtype = wide_of(out_dtype)
    axes = all_axes(name, axis, x)
    x = cast(x, sum_dtype, x.aval.weak_type)
    centre = (
        _mean_of(x, axes, True, None, where)
        if mean is None
        else cast(value(name, mean, "mean"), sum_dtype)
    )
    deviations = arithmetic.sub(x, centre)
    if dtypes.is_complex(sum_dtype):
        parts = complex_numbers.real(deviations), complex_numbers.imag(deviations)
        squares = structural.add(*(arithmetic.mul(p, p) for p in parts))
    else:
        squares = arithmetic.mul(deviations, deviations)
    dtype = squares.aval.dtype
    total = reduce_elements(
        name, structural.reduce_sum, None, 0, squares, axes, keepdims, None, None, where, False
    )
    if where is None:
        count = literal(float(number_of(x, axes) - ddof), dtype)
    else:
        count = arithmetic.sub(
            masked_count(name, x, axes, where, keepdims, dtype), literal(float(ddof), dtype)
        )
    result: Array = arithmetic.div(total, count)
    if root:
        result = arithmetic.sqrt(result)
    result = cast(result, real_dtype)
    return result


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
    """Variance over axes: the mean of the squared deviations from the mean.

    Args:
      a: array of any shape; integers become float32.
      axis: one axis or several; by default all of them.
      dtype: dtype of the result and of the accumulation.
      out: not supported.
      ddof: the divisor is the number of elements minus `ddof`.
      keepdims: keep the reduced axes, with length one.
      where: boolean mask that broadcasts to `a`: the elements to include.
      mean: the mean, if it is known, with the reduced axes kept.
      correction: another name for `ddof`.
    Returns: array without the reduced axes; real unless `dtype` is complex.
    Example:
      >>> np.var(np.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    if dtype is None and out is None and where is None and mean is None and correction is None:
        if ddof.__class__ is not int:  # plans are looked up by equality
            ddof = _degrees_of_freedom("var", ddof)
        return _var(a, axis, ddof, keepdims)
    no_out("var", out)
    x, out_dtype = value("var", a, "a"), dtype_argument("var", dtype)
    degrees = _degrees_of_freedom("var", _correction("var", ddof, correction))
    return _var_of(x, axis, degrees, keepdims, out_dtype, where, mean)


def _degrees_of_freedom(name: str, ddof: Any) -> float:
    """`ddof` as a Python float."""
    is_number = not isinstance(ddof, (str, numbers.Complex)) or isinstance(ddof, numbers.Real)
    if (
        not is_number
        or isinstance(ddof, type)
        or not (hasattr(ddof, "__float__") or hasattr(ddof, "__index__"))
    ):
        raise noted(TypeError(f"{name}: ddof must be a real number; got {ddof!r:.60}"))
    return float(ddof)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if ddof != 0:
        raise noted(ValueError(f"{name}: correction is another name of ddof; got both"))
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
        if ddof.__class__ is not int:  # plans are looked up by equality
            ddof = _degrees_of_freedom("std", ddof)
        return _std(a, axis, ddof, keepdims)
    no_out("std", out)
    x, out_dtype = value("std", a, "a"), dtype_argument("std", dtype)
    degrees = _degrees_of_freedom("std", _correction("std", ddof, correction))
    return _std_of(x, axis, degrees, keepdims, out_dtype, where, mean)


@located
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean over axes.

    Args:
      a: array of any shape.
      axis: one axis or several; by default all of them.
      weights: array of the shape of `a`, or with the lengths of the reduced axes.
      returned: also return the sum of the weights.
      keepdims: keep the reduced axes, with length one.
    Returns: array without the reduced axes; with `returned` a pair.
    Example:
      >>> np.average(np.array([1.0, 4.0]), weights=np.array([2, 1]))
      Array(2., dtype=float32)
    """
    x = value("average", a, "a")
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        count = math.prod([x.shape[i] for i in all_axes("average", axis, x)])
        total: Any = creation.full(result.aval.strong(), count)
    else:
        x, w = promote_values("average", x, weights, to_inexact=True)
        w = weights_along("average", w, x, axis)
        products = arithmetic.mul(x, w)
        total = sum(w, axis, keepdims=keepdims)
        result = arithmetic.div(sum(products, axis, keepdims=keepdims), total)
    return (result, total) if returned else result


@located
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Covariance matrix of variables.

    Args:
      m: array [variables, observations], or [observations] of a single variable.
      y: additional variables of the same form.
      rowvar: False if rows are observations.
      bias: divide by the number of observations instead of one less.
      ddof: divide by the number of observations minus `ddof`.
      fweights: integer weights: the number of times each observation is repeated.
      aweights: the relative weight of each observation.
      dtype: dtype of the result.
    Returns: array [variables, variables]; a scalar for one variable.
    Example:
      >>> np.cov(np.array([1.0, 3.0]))
      Array(2., dtype=float32)
    """
    out_dtype = dtype_argument("cov", dtype)
    x = as_inexact("cov", m)
    if x.ndim > 2:
        raise ShapeError(f"cov: expected one or two axes; got {x.aval}")
    x = atleast_2d(x)
    if not rowvar and x.shape[0] != 1:
        x = structural.transpose(x, permutation=(1, 0))
    if y is not None:
        z = as_inexact("cov", y)
        if z.ndim > 2:
            raise ShapeError(f"cov: expected one or two axes; got y {z.aval}")
        z = atleast_2d(z)
        if not rowvar and z.shape[0] != 1:
            z = structural.transpose(z, permutation=(1, 0))
        x = concatenate([x, z])
    if out_dtype is not None:
        x = cast(x, out_dtype)
    n = x.shape[1]
    delta = (0 if bias else 1) if ddof is None else _degrees_of_freedom("cov", ddof)
    w: Any = None
    for name, option in (("fweights", fweights), ("aweights", aweights)):
        if option is not None:
            v = cast(value("cov", option, name), dtypes.real_of(x.dtype))
            if v.shape != (n,):
                raise ShapeError(f"cov: {name} must be of shape ({n},); got {v.aval}")
            w = v if w is None else arithmetic.mul(w, v)
    if w is None:
        centre = mean(x, 1, keepdims=True)
        divisor: Any = literal(float(n - delta), dtypes.real_of(x.dtype))
    else:
        total = sum(w)
        centre = sum(x * w, 1, keepdims=True) / total
        if not delta:
            divisor = total
        elif aweights is None:
            divisor = total - delta
        else:
            a = cast(value("cov", aweights, "aweights"), w.dtype)
            divisor = total - delta * sum(w * a) / total
    divisor = arithmetic.max_(
        divisor, literal(0.0, divisor.aval.dtype)
    )  # too few observations: division by 0
    x = arithmetic.sub(x, centre)
    weighted = x if w is None else x * w
    if dtypes.is_complex(x.dtype):
        weighted = complex_numbers.conj(weighted)
    product = contracted("cov", x, weighted, (((1,), (1,)), ((), ())))
    result = product / divisor
    return reshape(result, ()) if result.shape == (1, 1) else result


@located
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Pearson correlation coefficients of variables.

    Args: as in `cov`.
    Returns: array [variables, variables]; a scalar for one variable.
    Example:
      >>> np.corrcoef(np.array([[1.0, 2.0], [2.0, 1.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    coefficients = cov(x, y, rowvar, dtype=dtype)
    if not coefficients.ndim:
        return arithmetic.div(coefficients, coefficients)
    variances = diagonal(coefficients)
    if dtypes.is_complex(coefficients.dtype):
        variances = complex_numbers.real(variances)
    deviations = arithmetic.sqrt(variances)
    n = deviations.size
    coefficients = coefficients / reshape(deviations, (n, 1)) / reshape(deviations, (1, n))
    if dtypes.is_complex(coefficients.dtype):
        return complex_numbers.complex_(
            clip(complex_numbers.real(coefficients), -1, 1),
            clip(complex_numbers.imag(coefficients), -1, 1),
        )
    return clip(coefficients, -1, 1)
