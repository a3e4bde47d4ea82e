"""Categories by their log-probabilities: categorical. The category is the argmax of the logits
plus Gumbel noise; without replacement, the largest k (Gumbel top-k trick).
"""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import one_axis, shape_tuple
from ..numpy.promotion import as_inexact, value
from ..primitives import reductions, sorting, structural
from ..typing import ArrayLike, ShapeLike
from .arguments import drawing_mode, sampler
from .continuous import gumbels
from .keys import one_key

__all__ = ["categorical"]


@located
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Random indices with probabilities softmax(logits).

    Args:
      key: a key.
      logits: float array, the logarithms of probabilities, up to a constant.
      axis: the axis of the categories in `logits`.
      shape: the shape of the result, which must end with the shape of `logits` without that axis;
        by default this shape.
      replace: whether a category may be drawn more than once from the same logits.
      mode: "low", the default, or "high", which draws twice as many random numbers: in float32, the
        frequency of categories is inexact for probabilities below 1e-7 with "low", and below
        1e-14 with "high".
    Returns: int32 array of `shape`.
    Raises: TypeError: not a key. ValueError: the axis is out of range, the shape or `mode` is
      invalid, or there are too few categories to draw without replacement.
    Source: the Gumbel-max trick, and without replacement the Gumbel-top-k trick: Kool, van Hoof,
      Welling, Stochastic beams and where to find them, ICML 2019.
    Example:
      >>> random.categorical(random.PRNGKey(0), np.log(np.array([0.0, 1.0])), shape=(3,)).tolist()
      [1, 1, 1]
    """
    data = one_key("categorical", key)
    x = as_inexact("categorical", value("categorical", logits, "logits"))
    axis = one_axis("categorical", axis, x)
    other_axes = (*x.shape[:axis], *x.shape[axis + 1 :])
    result_shape = other_axes if shape is None else shape_tuple("categorical", shape)
    if result_shape[len(result_shape) - len(other_axes) :] != other_axes:
        raise ShapeError(
            f"categorical: shape must end with {other_axes}, the shape of the logits {x.aval} "
            f"without axis {axis}; got {result_shape}"
        )
    leading_shape, mode = (
        result_shape[: len(result_shape) - len(other_axes)],
        drawing_mode("categorical", mode),
    )
    if replace:
        return gumbel_argmax(data, x, axis=axis, shape=(*leading_shape, *x.shape), mode=mode)
    count = math.prod(leading_shape)
    if count > x.shape[axis]:
        raise ShapeError(
            f"categorical: can't draw {count} of {x.shape[axis]} categories without replacement"
        )
    indices = gumbel_top_k(data, x, axis=axis, k=count, shape=x.shape, mode=mode)
    return structural.reshape(indices, shape=result_shape)


@sampler
def gumbel_top_k(
    key: Any, logits: Any, *, axis: int, k: int, shape: tuple[int, ...], mode: str
) -> Any:
    """The indices of the k largest sums of a logit and a Gumbel sample, along axis 0."""
    scores = gumbels(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    last_axis = len(shape) - 1
    _, indices = sorting.top_k(structural.move_axis(scores, axis, last_axis), k=k)
    return structural.move_axis(indices, last_axis, 0)


@sampler
def gumbel_argmax(key: Any, logits: Any, *, axis: int, shape: tuple[int, ...], mode: str) -> Any:
    """The index of the largest sum of a logit and a Gumbel sample."""
    scores = gumbels(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    axis += len(shape) - logits.ndim
    return reductions.argmax(scores, axis=axis, dtype=dtypes.int32)
