"""log(sum(exp(a))) over axes, without overflow: what `weft.nn` and `weft.scipy.special` export.

The largest element is taken out of the sum first. Where it is infinite nothing is, so that no
difference of infinities is made: its derivative is that of the elements that are as large.
"""

from typing import Any, Literal, overload

from .. import dtypes
from ..core.array import Array
from ..primitives import arithmetic, comparison, complex_numbers, reduction, selection, structural
from ..primitives.transcendental import exp, log
from ..typing import ArrayLike, Axes
from .axes import all_axes
from .creation import broadcast
from .plans import composite
from .promotion import cast, inexact, promote_values, value
from .reductions import keep_axes, truth, wide_of

like, where = arithmetic.like, selection.where


def largest(x: Any, axes: tuple[int, ...], mask: Any = None) -> Any:
    """The largest element (by real part) along axes, kept with length one.

    Its derivative counts as zero: what is subtracted here is added again, or cancels.
    """
    x = selection.stop_gradient(x)
    x = complex_numbers.real(x) if dtypes.is_complex(x.aval.dtype) else x
    lowest = like(x, -float("inf"))
    x = x if mask is None else where(mask, x, lowest)
    return keep_axes(reduction.reduce_max(x, axes=axes), x, axes, True)


@composite
def _sum_of_exponentials(
    x: Any, *more: Any, axes: tuple[int, ...], keepdims: bool, signed: bool, scaled: bool
) -> Any:
    """`more` has the factors, if `scaled`, and the mask, if there is one."""
    dtype, weak = x.aval.dtype, x.aval.weak_type
    wide = wide_of(dtype)
    x = cast(x, wide, weak)
    b = cast(more[0], wide) if scaled else None
    mask = more[-1] if len(more) > scaled else None
    nothing = like(x, 0)
    if scaled:  # what has no weight may be infinite
        counts = comparison.ne(b, nothing)
        mask = counts if mask is None else mask & counts
    top = largest(x, axes, mask)
    top = where(arithmetic.is_finite(top), top, like(top, 0))
    top = cast(top, wide) if dtypes.is_complex(wide) else top
    distance = x - top
    if mask is not None:
        distance = where(mask, distance, nothing)
    terms = exp(distance)
    if scaled:
        terms = terms * b
    if mask is not None:
        terms = where(mask, terms, nothing)
    total = keep_axes(structural.reduce_sum(terms, axes=axes), x, axes, True)
    outs = [total]
    if signed:
        outs = [arithmetic.abs_(total), arithmetic.sign(total)]
        top = complex_numbers.real(top) if dtypes.is_complex(wide) else top
    none = comparison.eq(outs[0], like(outs[0], 0))  # its derivative is that of a constant
    rest = where(none, like(outs[0], 1), outs[0])
    outs[0] = where(none, like(top, -float("inf")), log(rest) + top)
    if not keepdims:
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        outs = [structural.reshape(v, shape=shape) for v in outs]
    outs = [cast(v, dtype, weak) if v.aval.dtype == wide else v for v in outs]
    return tuple(outs) if signed else outs[0]


@overload
def logsumexp(
    a: ArrayLike, axis: Axes = ..., b: ArrayLike | None = ..., keepdims: bool = ...,
    return_sign: Literal[False] = ..., where: ArrayLike | None = ...,
) -> Array: ...  # fmt: skip


@overload
def logsumexp(
    a: ArrayLike, axis: Axes = ..., b: ArrayLike | None = ..., keepdims: bool = ...,
    *, return_sign: Literal[True], where: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...  # fmt: skip


def logsumexp(
    a: ArrayLike,
    axis: Axes = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """The logarithm of the sum of b exp(a) over axes, without overflow.

    Args:
      a: array of any shape; integers become float32.
      axis: an axis or several; all of them by default.
      b: factors that broadcast with `a`; 1 by default. What has factor 0 doesn't count, be it
        infinite.
      keepdims: keep the reduced axes with length one.
      return_sign: return the logarithm of the size of the sum, and its sign.
      where: booleans that broadcast to `a`: which elements count.
    Returns: array without the reduced axes: -inf where there is nothing, NaN for a negative sum;
      or a pair of them with `return_sign`.
    Raises: ValueError: an axis is out of range. TypeError: `a` is a list.
    Example:
      >>> from weft import nn
      >>> nn.logsumexp(np.array([1000.0, 1000.0]))
      Array(1000.6932, dtype=float32)
    Source: SciPy documentation, `scipy.special.logsumexp`.
    """
    name = "logsumexp"
    if b is None:
        x, more = inexact(name, value(name, a, "a")), []
    else:
        x, factor = promote_values(name, value(name, a, "a"), value(name, b, "b"), to_inexact=True)
        more = [factor]
    if where is not None:
        more.append(truth(name, where, "where"))
    if more:
        shape = structural.broadcast_shape(name, [v.aval for v in (x, *more)])
        x = broadcast(name, x, shape)
    axes = all_axes(name, axis, x)
    return _sum_of_exponentials(
        x, *more, axes=axes, keepdims=bool(keepdims), signed=bool(return_sign),
        scaled=b is not None,
    )  # fmt: skip
