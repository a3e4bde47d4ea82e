"""Summary statistics along an axis: rankdata, mode (with ModeResult), sem; and `nan_policy`."""

from typing import Any, NamedTuple

from ... import dtypes, numpy as np
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax.cumulative import cummax, cummin
from ...numpy.axes import one_axis
from ...numpy.promotion import value
from ...typing import ArrayLike

__all__ = ["ModeResult", "mode", "rankdata", "sem"]


METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The result of `mode`.

    Attributes:
      mode: the most frequent element; the smallest one if there are several.
      count: the number of times it occurs.
    Example:
      >>> from weft.scipy import stats
      >>> stats.mode(np.array([1, 5, 5, 2]))
      ModeResult(mode=Array(5, dtype=int32), count=Array(2, dtype=int32))
    """

    mode: Array
    count: Array  # type: ignore[assignment]


def check_policy(name: str, policy: Any) -> bool:
    """True if NaNs are ignored."""
    if policy == "raise":
        raise ValueError(
            f"{name}: nan_policy 'raise' needs the elements, which a traced array does not have\n"
            "  fix: assert not np.isnan(a).any() before, or the switch debug_nans"
        )
    if policy not in ("propagate", "omit"):
        raise ValueError(f"{name}: nan_policy must be 'propagate' or 'omit'; got {policy!r}")
    return bool(policy == "omit")


def last_axis(name: str, a: Any, axis: Any) -> tuple[Any, int | None]:
    """A real array with the axis moved to the end, and the axis. `None` flattens the array."""
    x = value(name, a, "a")
    if dtypes.is_complex(x.dtype):
        raise ShapeError(f"{name}: a must be real; got {x.aval}")
    if axis is None:
        return np.ravel(x), None
    axis_position = one_axis(name, axis, x.ndim)
    return np.moveaxis(x, axis_position, -1), axis_position


def first_flags(x: Any) -> Array:
    """True where an element of a sorted array differs from the element before. NaNs are equal."""
    predecessors, successors = x[..., :-1], x[..., 1:]
    change = predecessors != successors
    if dtypes.is_float(x.dtype):
        change = change & ~(np.isnan(predecessors) & np.isnan(successors))
    return np.concatenate([np.ones_like(x[..., :1], bool), change], -1)


@located
def rankdata(
    a: ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:
    """The ranks of elements, which start at 1.

    Args:
      a: real array of any shape.
      method: the rank of equal elements: the "average", "min" or "max" of their positions in sorted
        order; "dense", like "min" but the next rank is one more; or "ordinal", by their order in
        the array.
      axis: the axis along which to rank; by default all elements are ranked together.
      nan_policy: "propagate" makes all ranks NaN where there is a NaN; "omit" ranks the others.
    Returns: array of the shape of `a`, or a vector for axis=None. Floats for "average" and for
      arrays of floats, which may have NaNs; integers otherwise.
    Raises: ValueError: the method or policy is unknown, or the axis is out of range.
    Example:
      >>> from weft.scipy.stats import rankdata
      >>> rankdata(np.array([10, 30, 20, 20]))
      Array([1. , 4. , 2.5, 2.5], dtype=float32)
    Source: SciPy documentation, `scipy.stats.rankdata`.
    """
    if method not in METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(METHODS)}; got {method!r}")
    omit = check_policy("rankdata", nan_policy)
    x, axis_position = last_axis("rankdata", a, axis)
    order = np.argsort(x, -1)
    inverse_order = np.argsort(order, -1)
    positions = np.arange(1, x.shape[-1] + 1)
    if method == "ordinal":
        ranks = inverse_order + 1
    else:
        is_first = first_flags(np.take_along_axis(x, order, -1))
        is_last = np.concatenate([is_first[..., 1:], np.ones_like(is_first[..., :1])], -1)
        axis_of = max(x.ndim - 1, 0)
        lowest = cummax(np.where(is_first, positions, 0), axis_of)
        highest = cummin(np.where(is_last, positions, x.shape[-1] + 1), axis_of, reverse=True)
        ranks = {
            "average": lambda: (lowest + highest) / 2,
            "min": lambda: lowest,
            "max": lambda: highest,
            "dense": lambda: np.cumsum(is_first, -1),
        }[method]()
        ranks = np.take_along_axis(ranks, inverse_order, -1)
    if dtypes.is_float(x.dtype):
        nan = np.isnan(x)
        is_undefined = nan if omit else np.any(nan, -1, keepdims=True)
        ranks = np.where(is_undefined, np.nan, ranks.astype(np.result_type(x.dtype, np.float32)))
    return ranks if axis_position is None else np.moveaxis(ranks, -1, axis_position)


@located
def mode(
    a: ArrayLike,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ModeResult:
    """The most frequent element along an axis; the smallest one if there are several.

    Args:
      a: real array of any shape.
      axis: the axis to reduce; `None` means all axes.
      nan_policy: "propagate" counts NaN like any other element; "omit" ignores it.
      keepdims: keep the reduced axes with length one.
    Returns: `ModeResult`, a pair (mode, count): arrays of a's dtype and of the default integer.
      Without elements, they are NaN and 0.
    Raises: ValueError: the policy is unknown, the axis is out of range, or the array is empty and
      its dtype lacks NaN.
    Example:
      >>> from weft.scipy.stats import mode
      >>> mode(np.array([2, 4, 1, 1, 3, 4, 4, 2, 3]))
      ModeResult(mode=Array(4, dtype=int32), count=Array(3, dtype=int32))
    Source: SciPy documentation, `scipy.stats.mode`.
    """
    omit = check_policy("mode", nan_policy)
    x, axis_position = last_axis("mode", a, axis)
    x = x[None] if not x.ndim else x
    n, floats = x.shape[-1], dtypes.is_float(x.dtype)
    if not n:
        if not floats:
            raise ShapeError(f"mode: expected at least one element; got {x.aval}")
        empty_result = np.full(x.shape[:-1], np.nan, x.dtype), np.zeros(x.shape[:-1], int)
        return ModeResult(*[restore_axes(m, a, axis_position, keepdims) for m in empty_result])
    sorted_x = np.sort(x, -1)
    positions = np.arange(n)
    start = cummax(np.where(first_flags(sorted_x), positions, 0), x.ndim - 1)
    run = positions - start + 1
    if floats and omit:
        run = np.where(np.isnan(sorted_x), 0, run)
    run_end = np.argmax(run, -1, keepdims=True)
    modes = np.take_along_axis(sorted_x, run_end, -1)[..., 0]
    count = np.max(run, -1)
    if floats and omit:
        modes = np.where(count == 0, np.nan, modes)
    return ModeResult(
        restore_axes(modes, a, axis_position, keepdims),
        restore_axes(count, a, axis_position, keepdims),
    )


def restore_axes(x: Any, a: Any, axis_position: int | None, keepdims: bool) -> Any:
    """A result, with the reduced axes if `keepdims` is True."""
    if not keepdims:
        return x
    return (
        x.reshape((1,) * np.ndim(a)) if axis_position is None else np.expand_dims(x, axis_position)
    )


@located
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean: the standard deviation divided by the square root of the
    number of elements.

    Args:
      a: real array of any shape.
      axis: the axis to reduce; `None` means all axes.
      ddof: the divisor of the variance is the number of elements minus ddof.
      nan_policy: "propagate", or "omit" to ignore NaNs.
      keepdims: keep the reduced axes with length one.
    Returns: float array without the reduced axis.
    Raises: ValueError: an unknown policy, or the axis is out of range.
    Example:
      >>> from weft.scipy.stats import sem
      >>> sem(np.array([1.0, 2.0, 3.0, 4.0]))
      Array(0.6454972, dtype=float32)
    Source: SciPy documentation, `scipy.stats.sem`.
    """
    omit = check_policy("sem", nan_policy)
    x, axis_position = last_axis("sem", a, axis)
    if omit and dtypes.is_float(x.dtype):
        count = np.sum(~np.isnan(x), -1)
        result = np.nanstd(x, -1, ddof=ddof) / np.sqrt(count).astype(x.dtype)
    else:
        result = np.std(x, -1, ddof=ddof)
        result = result / np.sqrt(np.asarray(x.shape[-1], result.dtype))
    return restore_axes(result, a, axis_position, keepdims)
