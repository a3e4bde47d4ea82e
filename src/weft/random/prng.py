"""Keys, made from seeds, split and folded, and the random bits that they determine.

A key is a uint32[2] array, or a `Key`, a thin wrapper around one. Knows nothing of distributions.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.eager_tiers import machine
from ..numpy.axes import shape_tuple
from ..numpy.creation import wanted_dtype
from ..numpy.plans import composite
from ..numpy.promotion import cast, noted, value
from ..primitives import bitwise, random_bits, slicing, structural
from ..transforms.jit.function import jit
from ..tree_util import register_pytree_node
from ..typing import ArrayLike, DTypeLike, ShapeLike

__all__ = [
    "Key",
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_impl",
    "split",
    "wrap_key_data",
]

_WORD = dtypes.uint32
# elements; larger arrays are made by one compiled program (0.1 s of compilation)
_PLANNED = 1 << 20


class Key:
    """One key or an array of keys, of a type of its own: the result of `key`.

    It is a pytree with one leaf, the uint32[…,2] array of `key_data`, so that it passes through
    `jit`, `vmap`, `scan` and containers (an `in_axes` counts the axes of that array).

    Example:
      >>> keys = random.split(random.key(0), 3)
      >>> keys
      Key(shape=(3,))
      >>> [k.shape for k in keys]
      [(), (), ()]
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of keys; () for a single one."""
        return tuple(self._data.shape[:-1])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len: expected an array of keys; got a single key")
        return self.shape[0]

    def __iter__(self) -> Iterator["Key"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> "Key":
        parts = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, Ellipsis)
        return Key(self._data[(*parts, slice(None))])

    def reshape(self, *shape: Any) -> "Key":
        """The same keys in another shape."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return Key(self._data.reshape(*given, 2))

    def __repr__(self) -> str:
        return (
            f"Key(shape={self.shape})" if hasattr(self._data, "shape") else f"Key({self._data!r})"
        )


register_pytree_node(Key, lambda k: ((k._data,), None), lambda _, leaves: Key(leaves[0]))


# --- making keys ---


@located
def PRNGKey(seed: int | ArrayLike, *, impl: str | None = None) -> Array:
    """A key, made from an integer.

    The key's words are the upper and lower 32 bits of the seed as a 64-bit integer. Unless 64-bit
    types are on (`config.update("enable_x64", True)`) the upper word is zero, whatever the seed.

    Args:
      seed: an int from -2**63 to 2**64 - 1, or an integer scalar array.
      impl: "threefry2x32", the only one, or None.
    Returns: uint32[2].
    Raises: TypeError: not an integer scalar. OverflowError: more than 64 bits.
    Example:
      >>> random.PRNGKey(7).tolist()
      [0, 7]
    """
    data = _seeded("PRNGKey", seed, impl)
    return Key(data) if thread.enable_custom_prng else data  # type: ignore[return-value]


@located
def key(seed: int | ArrayLike, *, impl: str | None = None) -> Key:
    """A key in the newer style: a `Key`, which can't be taken for an array of numbers.

    Args:
      seed, impl: as in `PRNGKey`, which makes the same key.
    Returns: Key of shape ().
    Example:
      >>> random.key(0)
      Key(shape=())
    """
    return Key(_seeded("key", seed, impl))


def _seeded(name: str, seed: Any, impl: str | None) -> Any:
    if impl not in (None, thread.default_prng_impl):  # of which there is one
        raise ValueError(
            f"{name}: impl must be 'threefry2x32' or None; got {impl!r}\n  fix: leave it out"
        )
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise noted(
                OverflowError(
                    f"{name}: seed must fit 64 bits; got {number}\n  fix: {name}(seed % 2**32)"
                )
            )
        upper = number >> 32 & 0xFFFFFFFF if thread.x64 else 0
        return Array(np.array([upper, number & 0xFFFFFFFF], _WORD), aval((2,), _WORD))
    x = value(name, seed, "seed")
    if x.aval.ndim or not dtypes.is_integer(x.aval.dtype):
        raise ShapeError(
            f"{name}: seed must be an integer scalar; got {x.aval}"
            + (
                f"\n  fix: vmap({name}) makes a key of each"
                if x.aval.ndim
                else f"\n  fix: a whole number, {name}(0)"
            )
        )
    low = cast(x, _WORD)
    high: Any = literal(0, _WORD)
    if dtypes.bit_width(x.aval.dtype) == 64:
        high = cast(bitwise.shift_right_logical(x, literal(32, x.aval.dtype)), _WORD)
    return pair(cast(high, _WORD), low)


def pair(x: Any, y: Any) -> Any:
    """Two arrays as the last axis, of length two, of one."""
    ends = [structural.reshape(a, shape=(*a.shape, 1)) for a in (x, y)]
    return slicing.concatenate(*ends, dimension=x.ndim)


def one_key(name: str, key: Any) -> Any:
    """The uint32[2] array of a key; an error for what isn't one key."""
    data = key._data if key.__class__ is Key else key
    if not isinstance(data, Value):
        if not isinstance(data, np.ndarray):
            raise noted(_not_a_key(name, type(data).__name__))
        data = value(name, data, "key")
    known = data.aval
    if known.dtype != _WORD or not known.ndim or known.shape[-1] != 2:
        raise noted(_not_a_key(name, f"{known}"))
    if known.ndim > 1:
        raise noted(
            TypeError(
                f"{name}: expected one key, uint32[2]; got an array of them, {known}\n"
                f"  fix: vmap(lambda key: {name}(key, …))(keys) for all, or keys[0] for one"
            )
        )
    return data


def _not_a_key(name: str, got: str) -> Exception:
    return TypeError(
        f"{name}: expected a key, uint32[2], for the first argument; got {got}\n"
        "  fix: key = random.PRNGKey(0)"
    )


def like(original: Any, data: Any) -> Any:
    """Keys in the style of the key that they were made from."""
    return Key(data) if original.__class__ is Key else data


# --- running ---


def sampler(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of values (a key first) with hashable options by keyword, `shape` among
    them. Eager calls run a plan of it (see `composite`); those that make large arrays, or run on an
    accelerator, one compiled program.
    """
    planned = {False: composite(function), True: composite(function)}  # one for each stream
    compiled: dict[tuple[str, ...], Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*xs: Any, shape: tuple[int, ...], **options: Any) -> Any:
        if current.trace is not current.base:
            return function(*xs, shape=shape, **options)
        size = 1
        for n in shape:
            size *= n
        if size <= _PLANNED and not machine.accelerated:
            return planned[thread.threefry_partitionable](*xs, shape=shape, **options)
        names = ("shape", *options)
        if names not in compiled:
            compiled[names] = jit(function, static_argnames=names)
        return compiled[names](*xs, shape=shape, **options)

    return call


def raw_bits(key: Any, shape: tuple[int, ...], width: int) -> Any:
    """Random bits for a uint32[2] array, by the stream that the switch chooses."""
    return random_bits.random_bits(
        key, shape=shape, width=width, partitionable=thread.threefry_partitionable
    )


# --- using keys ---


@located
def split(key: ArrayLike | Key, num: int | tuple[int, ...] = 2) -> Any:
    """New keys from a key, which shouldn't be used again.

    Args:
      key: a key, uint32[2].
      num: how many, or the shape of the array of keys.
    Returns: uint32[num,2] (a `Key` of shape `num` for one).
    Raises: TypeError: not a key, or `num` isn't an int or a shape.
    Example:
      >>> random.split(random.PRNGKey(0)).tolist()
      [[4146024105, 967050713], [2718843009, 1272950319]]
    """
    data, shape = one_key("split", key), shape_tuple("split", num, "num")
    return like(key, subkeys(data, shape))


def subkeys(data: Any, shape: tuple[int, ...] = (2,)) -> Any:
    """`split` of a uint32[2] array."""
    if thread.threefry_partitionable:
        return _partitionable_split(data, shape=shape)
    return raw_bits(data, (*shape, 2), 32)


@composite
def _partitionable_split(data: Any, *, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape, dtype=np.int64))
    counters = Array(np.arange(size, dtype=_WORD).reshape(shape), aval(shape, _WORD))
    zero = Array(_WORD.type(0), aval((), _WORD))
    return pair(*random_bits.threefry2x32(*two_words(data), zero, counters))


def several(data: Any, n: int = 2) -> list[Any]:
    """`split` of a uint32[2] array, as a list of such arrays."""
    keys = subkeys(data, (n,))
    parts = [slicing.slice_(keys, start=(i, 0), limit=(i + 1, 2), strides=(1, 1)) for i in range(n)]
    return [structural.reshape(part, shape=(2,)) for part in parts]


def two_words(data: Any) -> list[Any]:
    """The two words of a key as scalars."""
    words = [slicing.slice_(data, start=(i,), limit=(i + 1,), strides=(1,)) for i in (0, 1)]
    return [structural.reshape(w, shape=()) for w in words]


@located
def fold_in(key: ArrayLike | Key, data: int | ArrayLike) -> Any:
    """A new key from a key and an integer, such as the number of a step.

    Args:
      key: a key, uint32[2].
      data: an int or an integer scalar, taken modulo 2**32.
    Returns: uint32[2] (a `Key` for one).
    Raises: TypeError: not a key, or not an integer scalar.
    Example:
      >>> random.fold_in(random.PRNGKey(0), 1).tolist()
      [928981903, 3453687069]
    """
    words = one_key("fold_in", key)
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        number = Array(np.array(int(data) & 0xFFFFFFFF, _WORD), aval((), _WORD))
    else:
        x = value("fold_in", data, "data")
        if x.aval.ndim or not dtypes.is_integer(x.aval.dtype):
            raise ShapeError(
                f"fold_in: data must be an integer scalar; got {x.aval}\n"
                "  fix: a number, such as that of a step; vmap over data for a key of each"
            )
        number = cast(x, _WORD)
    return like(key, _fold_in(words, number))


@composite
def _fold_in(words: Any, number: Any) -> Any:
    zero = Array(_WORD.type(0), aval((), _WORD))
    return pair(*random_bits.threefry2x32(*two_words(words), zero, number))


@located
def bits(key: ArrayLike | Key, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Random bits, as unsigned integers: each value is as likely as any other.

    Args:
      key: a key, uint32[2].
      shape: the shape of the result.
      dtype: an unsigned integer dtype of 8 bits or more; uint32 by default (uint64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not an unsigned dtype.
    Example:
      >>> random.bits(random.PRNGKey(0), (2,)).tolist()
      [928981903, 3453687069]
    """
    data = one_key("bits", key)
    wanted = wanted_dtype("bits", dtype)
    if wanted is None:
        wanted = dtypes.uint64 if thread.x64 else dtypes.uint32
    if wanted.kind != "u" or wanted.name == "uint4":
        raise ShapeError(
            f"bits: dtype must be an unsigned integer of 8 bits or more; got {wanted}\n"
            "  fix: uint8, uint16, uint32 or uint64; randint for other integers"
        )
    return raw_bits(data, shape_tuple("bits", shape), dtypes.bit_width(wanted))


# --- keys in the newer style ---


@located
def key_data(keys: ArrayLike | Key) -> Array:
    """The uint32[…,2] array of keys.

    Args:
      keys: a `Key`; an array of words is returned as it is.
    Returns: uint32[…,2].
    Example:
      >>> random.key_data(random.key(3)).tolist()
      [0, 3]
    """
    if isinstance(keys, Key):
        return keys._data
    return _key_array("key_data", keys)


@located
def wrap_key_data(key_bits_array: ArrayLike, *, impl: str | None = None) -> Key:
    """The `Key` for an array of words: the inverse of `key_data`.

    Args:
      key_bits_array: uint32[…,2].
      impl: "threefry2x32" or None.
    Returns: Key of shape […].
    Raises: TypeError: of another dtype or shape.
    Example:
      >>> random.wrap_key_data(random.PRNGKey(0))
      Key(shape=())
    """
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"wrap_key_data: impl must be 'threefry2x32' or None; got {impl!r}")
    return Key(_key_array("wrap_key_data", key_bits_array))


def _key_array(name: str, keys: Any) -> Any:
    x = value(name, keys, "keys")
    if x.aval.dtype != _WORD or not x.aval.ndim or x.aval.shape[-1] != 2:
        raise TypeError(f"{name}: expected keys, uint32[…,2]; got {x.aval}")
    return x


def key_impl(keys: ArrayLike | Key) -> str:
    """The name of the generator that keys are for: always "threefry2x32".

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    key_data(keys)
    return "threefry2x32"


def clone(key: ArrayLike | Key) -> Any:
    """The key itself; it tells readers that a key is reused on purpose.

    Example:
      >>> random.clone(random.key(0))
      Key(shape=())
    """
    key_data(key)
    return key
