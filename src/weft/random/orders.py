"""Random orders and choices among the elements of an array."""

import math
from typing import Any

from .. import dtypes
from ..core.array import Array
from ..core.aval import aval
from ..core.source import located
from ..errors import ShapeError
from ..numpy.axes import one_axis, shape_tuple, whole_number
from ..numpy.promotion import inexact, value
from ..numpy.sorting import searchsorted
from ..numpy.taking import take
from ..primitives import (
    creation,
    cumulative,
    reduction,
    slicing,
    sorting,
    structural,
    transcendental,
)
from ..typing import ArrayLike, ShapeLike
from .continuous import gumbels
from .distributions import drawing_mode, randint, unit
from .prng import one_key, raw_bits, sampler, several

__all__ = ["categorical", "choice", "permutation", "shuffle"]


@located
def permutation(
    key: ArrayLike, x: int | ArrayLike, axis: int = 0, independent: bool = False
) -> Array:
    """The slices of an array in a random order, or a random order of 0 … n-1.

    Args:
      key: a key.
      x: an array, or a number n, which stands for `arange(n)`.
      axis: the axis along which slices are moved.
      independent: whether each vector along the axis gets an order of its own.
    Returns: array of x's shape (int32[n] for a number).
    Raises: TypeError: not a key, or x is neither. ValueError: the axis is out of range.
    Example:
      >>> sorted(random.permutation(random.PRNGKey(0), 4).tolist())
      [0, 1, 2, 3]
    """
    data, elements = one_key("permutation", key), _elements("permutation", x, "x")
    axis = one_axis("permutation", axis, elements.ndim)
    if independent or elements.ndim == 1:
        return shuffled(data, elements, axis=axis, shape=elements.shape)
    n = elements.shape[axis]
    order = shuffled(data, _range(n), axis=0, shape=(n,))
    return take(elements, order, axis)


@located
def shuffle(key: ArrayLike, x: ArrayLike, axis: int = 0) -> Array:
    """Each vector along an axis in a random order of its own: `permutation`, independently.

    Args:
      key: a key.
      x: an array with at least one axis.
      axis: the axis.
    Returns: array of x's shape and dtype.
    Raises: TypeError: not a key. ValueError: the axis is out of range.
    Example:
      >>> sorted(random.shuffle(random.PRNGKey(0), np.array([2, 7, 1])).tolist())
      [1, 2, 7]
    """
    data, elements = one_key("shuffle", key), value("shuffle", x)
    axis = one_axis("shuffle", axis, elements.ndim)
    return shuffled(data, elements, axis=axis, shape=elements.shape)


@sampler
def shuffled(key: Any, x: Any, *, axis: int, shape: tuple[int, ...]) -> Any:
    """Sorts by random words. Where two are equal, the elements keep their order, which is not
    random; so it is done r times, with 2**(32 r) >= n**3."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, for_bits = several(key)
        places = raw_bits(for_bits, shape, 32)
        _, x = sorting.sort(places, x, dimension=axis, is_stable=True, num_keys=1)
    return x


def _elements(name: str, x: Any, argument: str) -> Any:
    """An array with an axis; `arange` for a number."""
    v = value(name, x, argument)
    if v.ndim:
        return v
    if not dtypes.is_integer(v.dtype):
        raise TypeError(
            f"{name}: {argument} must be an array or an int; got {v.aval}\n  fix: int({argument})"
        )
    n = whole_number(name, x, argument)
    if n < 0:
        raise ValueError(
            f"{name}: {argument} must not be negative; got {n}\n  fix: a length, 0 or more"
        )
    return _range(n)


def _range(n: int) -> Any:
    return creation.iota(dtype=dtypes.default_int(), shape=(n,), dimension=0)


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
    """Slices of an array, chosen at random.

    Args:
      key: a key.
      a: an array, or a number n, which stands for `arange(n)`.
      shape: the shape of what is drawn.
      replace: whether a slice may be drawn more than once.
      p: float[n], the probabilities (or weights) of the slices; equal ones by default.
      axis: the axis along which slices lie.
      mode: "low", also by default, or "high": as in `gumbel`, whose samples are drawn where there
        is a p and no replacement. Elsewhere there is one way to draw, and both are the same.
    Returns: array of a's shape with `shape` in place of the axis.
    Raises: TypeError: not a key. ValueError: more is drawn than there is, p doesn't fit, or `mode`.
    Example:
      >>> random.choice(random.PRNGKey(0), 2, (3,), p=np.array([0.0, 1.0])).tolist()
      [1, 1, 1]
    """
    data, x = one_key("choice", key), _elements("choice", a, "a")
    shape, mode = shape_tuple("choice", shape), drawing_mode("choice", mode)
    axis = one_axis("choice", axis, x)
    n, draws = x.shape[axis], math.prod(shape)
    if not draws:
        empty = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
        return structural.zeros(aval(empty, x.dtype))
    if not n:
        raise ShapeError(
            f"choice: expected at least one element to choose from; got {x.aval}\n  fix: shape=(0,)"
        )
    if not replace and draws > n:
        raise ShapeError(
            f"choice: can't draw {draws} of {n} elements without replacement\n  fix: replace=True"
        )
    if p is None and not replace:
        mixed = permutation(data, x, axis)
        limit = [draws if i == axis else m for i, m in enumerate(x.shape)]
        part = slicing.slice_(mixed, start=(0,) * x.ndim, limit=tuple(limit), strides=(1,) * x.ndim)
        result = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
        return structural.reshape(part, shape=result)
    if p is None:
        return take(x, randint(data, shape, 0, n), axis)
    weights = inexact("choice", value("choice", p, "p"))
    if weights.shape != (n,):
        raise ShapeError(
            f"choice: p must have one element for each of the {n} slices; got {weights.aval}\n"
            f"  fix: p of shape ({n},)"
        )
    if replace:
        return take(x, weighted(data, weights, shape=shape), axis)
    return take(x, weighted_once(data, weights, shape=shape, mode=mode), axis)


@sampler
def weighted(key: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    """Indices with probabilities p: where the running sum of p passes a uniform number."""
    (n,) = p.shape
    sums = cumulative.cumsum(p, axis=0, reverse=False)
    total = structural.reshape(
        slicing.slice_(sums, start=(n - 1,), limit=(n,), strides=(1,)), shape=()
    )
    goals = total * (1.0 - unit(key, shape=(math.prod(shape),), dtype=p.dtype))
    return structural.reshape(searchsorted(sums, goals), shape=shape)


@sampler
def weighted_once(key: Any, p: Any, *, shape: tuple[int, ...], mode: str) -> Any:
    """Different indices: the largest of Gumbel samples, to which log p is added."""
    scores = gumbels(key, shape=p.shape, dtype=p.dtype, mode=mode) + transcendental.log(p)
    _, indices = sorting.top_k(scores, k=math.prod(shape))
    return structural.reshape(indices, shape=shape)


@located
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Indices, drawn with probabilities softmax(logits).

    Args:
      key: a key.
      logits: float array, the logarithms of probabilities, up to a constant.
      axis: the axis of `logits` along which the categories lie.
      shape: the shape of the result, which ends with the shape of `logits` without that axis; by
        default just that.
      replace: whether a category may come again among the draws for the same logits.
      mode: "low", also by default, or "high", which draws twice as many numbers: with "low",
        categories of float32 whose probability is below 1e-7 come too seldom or too often, with
        "high" those below 1e-14.
    Returns: int32 array of `shape`.
    Raises: TypeError: not a key. ValueError: the axis is out of range, the shape doesn't fit, or
      there are fewer categories than draws without replacement, or `mode`.
    Source: the Gumbel-max trick, and without replacement the Gumbel-top-k trick: Kool, van Hoof,
      Welling, Stochastic beams and where to find them, ICML 2019.
    Example:
      >>> random.categorical(random.PRNGKey(0), np.log(np.array([0.0, 1.0])), shape=(3,)).tolist()
      [1, 1, 1]
    """
    data = one_key("categorical", key)
    x = inexact("categorical", value("categorical", logits, "logits"))
    axis = one_axis("categorical", axis, x)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    wanted = rest if shape is None else shape_tuple("categorical", shape)
    if wanted[len(wanted) - len(rest) :] != rest:
        raise ShapeError(
            f"categorical: shape must end with {rest}, that of the logits {x.aval} without axis "
            f"{axis}; got {wanted}"
        )
    front, mode = wanted[: len(wanted) - len(rest)], drawing_mode("categorical", mode)
    if replace:
        return most(data, x, axis=axis, shape=(*front, *x.shape), mode=mode)
    count = math.prod(front)
    if count > x.shape[axis]:
        raise ShapeError(
            f"categorical: can't draw {count} of {x.shape[axis]} categories without replacement"
        )
    indices = foremost(data, x, axis=axis, k=count, shape=x.shape, mode=mode)
    return structural.reshape(indices, shape=wanted)


@sampler
def foremost(key: Any, logits: Any, *, axis: int, k: int, shape: tuple[int, ...], mode: str) -> Any:
    """The indices of the k largest sums of a logit and a Gumbel sample, along axis 0."""
    scores = gumbels(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    last = len(shape) - 1
    _, indices = sorting.top_k(structural.move_axis(scores, axis, last), k=k)
    return structural.move_axis(indices, last, 0)


@sampler
def most(key: Any, logits: Any, *, axis: int, shape: tuple[int, ...], mode: str) -> Any:
    """The index of the largest sum of a logit and a Gumbel sample."""
    scores = gumbels(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    axis += len(shape) - logits.ndim
    return reduction.argmax(scores, axis=axis, dtype=dtypes.int32)
