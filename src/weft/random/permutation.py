"""Random orders: permutation, shuffle. They sort elements by random words, repeatedly, so that the
effect of equal words is negligible.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..numpy.axes import as_int, one_axis
from ..numpy.promotion import value
from ..numpy.taking import take
from ..primitives import creation, sorting
from ..typing import ArrayLike
from .arguments import sampler
from .keys import one_key, raw_bits, subkey_list

__all__ = ["permutation", "shuffle"]


@located
def permutation(
    key: ArrayLike, x: int | ArrayLike, axis: int = 0, independent: bool = False
) -> Array:
    """A random permutation of the slices of an array, or of 0 … n-1.

    Args:
      key: a key.
      x: an array, or a number n, which means `arange(n)`.
      axis: the axis along which slices are permuted.
      independent: whether each vector along the axis is permuted independently.
    Returns: array of x's shape (int32[n] for a number).
    Raises: TypeError: not a key, or x is not an array or int. ValueError: the axis is out of range.
    Example:
      >>> sorted(random.permutation(random.PRNGKey(0), 4).tolist())
      [0, 1, 2, 3]
    """
    data, elements = one_key("permutation", key), as_elements("permutation", x, "x")
    axis = one_axis("permutation", axis, elements.ndim)
    if independent or elements.ndim == 1:
        return shuffle_elements(data, elements, axis=axis, shape=elements.shape)
    n = elements.shape[axis]
    order = shuffle_elements(data, _range(n), axis=0, shape=(n,))
    return take(elements, order, axis)


@located
def shuffle(key: ArrayLike, x: ArrayLike, axis: int = 0) -> Array:
    """Permutes each vector along an axis at random: `permutation` with `independent=True`.

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
    return shuffle_elements(data, elements, axis=axis, shape=elements.shape)


@sampler
def shuffle_elements(key: Any, x: Any, *, axis: int, shape: tuple[int, ...]) -> Any:
    """Sorts by random words. Elements with equal words keep their order, which is not random. So
    the sort is repeated r times, with 2**(32 r) >= n**3."""
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, bits_key = subkey_list(key)
        random_words = raw_bits(bits_key, shape, 32)
        _, x = sorting.sort(random_words, x, dimension=axis, is_stable=True, num_keys=1)
    return x


def as_elements(name: str, x: Any, argument: str) -> Any:
    """The array, which must have an axis; `arange(x)` for a number x."""
    longest = int(dtypes.iinfo(dtypes.default_int()).max)
    if isinstance(x, (int, np.integer)) and x > longest:
        raise ValueError(
            f"{name}: {argument} must be at most {longest}, the largest {dtypes.default_int()}; "
            f"got {x}\n  fix: draw in two steps: a part of the range first, then a place in it"
        )
    v = value(name, x, argument)
    if v.ndim:
        return v
    if not dtypes.is_integer(v.dtype):
        raise TypeError(
            f"{name}: {argument} must be an array or an int; got {v.aval}\n  fix: int({argument})"
        )
    n = as_int(name, x, argument)
    if n < 0:
        raise ValueError(
            f"{name}: {argument} must not be negative; got {n}\n  fix: a length, 0 or more"
        )
    return _range(n)


def _range(n: int) -> Any:
    return creation.iota(dtype=dtypes.default_int(), shape=(n,), dimension=0)
