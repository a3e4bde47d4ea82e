"""Random elements of an array, with or without replacement: choice."""

import math
from typing import Any

from ..core.array import Array
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import one_axis, shape_tuple
from ..numpy.promotion import as_inexact, value
from ..numpy.sorting import searchsorted
from ..numpy.taking import take
from ..primitives import creation, cumulative, exponential, slicing, sorting, structural
from ..typing import ArrayLike, ShapeLike
from .arguments import drawing_mode, sampler
from .continuous import gumbels
from .keys import one_key
from .permutation import as_elements, permutation
from .randint import randint
from .uniform import unit_uniform

__all__ = ["choice"]


@located
def choice(
    key: ArrayLike,
    a: int | ArrayLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Random slices of an array, with or without replacement.

    Args:
      key: a key.
      a: an array, or a number n, which means `arange(n)`.
      shape: the shape of the draws.
      replace: whether a slice may be drawn more than once.
      p: float[n], the probabilities (or weights) of the slices; equal ones by default.
      axis: the axis along which slices are taken.
      mode: "low", the default, or "high": as in `gumbel`, which is used for `p` without
        replacement. Otherwise it has no effect.
    Returns: array of a's shape with `shape` in place of the axis.
    Raises: TypeError: not a key. ValueError: there are too few slices, p has the wrong shape, or
      `mode` is invalid.
    Example:
      >>> random.choice(random.PRNGKey(0), 2, (3,), p=np.array([0.0, 1.0])).tolist()
      [1, 1, 1]
    """
    data, x = one_key("choice", key), as_elements("choice", a, "a")
    shape, mode = shape_tuple("choice", shape), drawing_mode("choice", mode)
    axis = one_axis("choice", axis, x)
    n, draws = x.shape[axis], math.prod(shape)
    if not draws:
        empty_shape = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
        return creation.zeros(aval(empty_shape, x.dtype))
    if not n:
        raise ShapeError(
            f"choice: expected at least one element to choose from; got {x.aval}\n  fix: shape=(0,)"
        )
    if not replace and draws > n:
        raise ShapeError(
            f"choice: can't draw {draws} of {n} elements without replacement\n  fix: replace=True"
        )
    if p is None and not replace:
        permuted = permutation(data, x, axis)
        limit = [draws if i == axis else m for i, m in enumerate(x.shape)]
        part = slicing.slice_(
            permuted, start=(0,) * x.ndim, limit=tuple(limit), strides=(1,) * x.ndim
        )
        result = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
        return structural.reshape(part, shape=result)
    if p is None:
        return take(x, randint(data, shape, 0, n), axis)
    weights = as_inexact("choice", value("choice", p, "p"))
    if weights.shape != (n,):
        raise ShapeError(
            f"choice: p must have one element for each of the {n} slices; got {weights.aval}\n"
            f"  fix: p of shape ({n},)"
        )
    if replace:
        return take(x, weighted_indices(data, weights, shape=shape), axis)
    return take(x, distinct_weighted_indices(data, weights, shape=shape, mode=mode), axis)


@sampler
def weighted_indices(key: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    """Indices with probabilities p: where the cumulative sum of p passes a uniform number."""
    (n,) = p.shape
    sums = cumulative.cumsum(p, axis=0, reverse=False)
    total = structural.reshape(
        slicing.slice_(sums, start=(n - 1,), limit=(n,), strides=(1,)), shape=()
    )
    goals = total * (1.0 - unit_uniform(key, shape=(math.prod(shape),), dtype=p.dtype))
    return structural.reshape(searchsorted(sums, goals), shape=shape)


@sampler
def distinct_weighted_indices(key: Any, p: Any, *, shape: tuple[int, ...], mode: str) -> Any:
    """Indices without repetition: the indices of the largest sums of log p and a Gumbel sample."""
    scores = gumbels(key, shape=p.shape, dtype=p.dtype, mode=mode) + exponential.log(p)
    _, indices = sorting.top_k(scores, k=math.prod(shape))
    return structural.reshape(indices, shape=shape)
