"""The bit generators behind keys: Threefry-2x32, `rbg` (Philox) and `unsafe_rbg`, each with its own
functions to seed, split and fold in.

Inside weft.random a key of Threefry is its two words, a uint32[2] array. A key of another generator
is a typed key, whose dtype names the generator.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array
from ..core.aval import aval
from ..core.trace import current
from ..core.value import Value
from ..extended_dtypes import KEY, RBG, UNSAFE_RBG
from ..primitives import bitwise, prng_keys, random_bits, slicing, structural
from ..primitives.bit_generators import rng_bit_generator

_WORD = dtypes.uint32


class Generator(NamedTuple):
    """A kind of generator.

    Attributes:
      name: as `impl` names it.
      dtype: the dtype of its typed keys.
      split: the words of a key and a shape, to the words of keys of that shape.
      fold_in: the words of a key and a word, to the words of a key.
    """

    name: str
    dtype: Any
    split: Callable[..., Any]
    fold_in: Callable[..., Any]

    @property
    def words(self) -> int:
        """Words of a key."""
        return self.dtype.words

    @property
    def form(self) -> str:
        """The typed and raw form of its keys, for messages."""
        return f"{self.dtype}[] or uint32[{self.words}]"


def pair(x: Any, y: Any) -> Any:
    """Stacks two arrays along a new last axis."""
    ends = [structural.reshape(a, shape=(*a.shape, 1)) for a in (x, y)]
    return slicing.concatenate(*ends, dimension=x.ndim)


def part(words: Any, start: int, limit: int) -> Any:
    """Some of the words along the last axis."""
    batch_shape = words.shape[:-1]
    return slicing.slice_(
        words,
        start=(*[0] * len(batch_shape), start),
        limit=(*batch_shape, limit),
        strides=(1,) * words.ndim,
    )


def two_words(data: Any) -> list[Any]:
    """The two words of a key as scalars."""
    return [structural.reshape(part(data, i, i + 1), shape=()) for i in (0, 1)]


# --- Threefry ---


def threefry_split(words: Any, shape: tuple[int, ...]) -> Any:
    """New keys of Threefry; the switch `threefry_partitionable` selects the stream."""
    if thread.threefry_partitionable:
        count = int(np.prod(shape, dtype=np.int64))
        counters = Array(np.arange(count, dtype=_WORD).reshape(shape), aval(shape, _WORD))
        zero = Array(_WORD.type(0), aval((), _WORD))
        return pair(*random_bits.threefry2x32(*two_words(words), zero, counters))
    return random_bits.random_bits(words, shape=(*shape, 2), width=32, partitionable=False)


def threefry_fold_in(words: Any, number: Any) -> Any:
    """A new key of Threefry."""
    zero = Array(_WORD.type(0), aval((), _WORD))
    return pair(*random_bits.threefry2x32(*two_words(words), zero, number))


# --- Philox, with keys made by Threefry or Philox ---


def _on_both_halves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Threefry, on both halves of four words."""

    def apply_to_halves(words: Any, argument: Any) -> Any:
        ends = [function(part(words, i, i + 2), argument) for i in (0, 2)]
        return slicing.concatenate(*ends, dimension=ends[0].ndim - 1)

    return apply_to_halves


def philox(words: Any, shape: tuple[int, ...], width: int) -> Any:
    """The random bits of four words."""
    _, bits = rng_bit_generator(
        words, shape=shape, dtype=np.dtype(f"u{width // 8}"), algorithm="philox"
    )
    return bits


_KEY_STRIDE = 10  # `unsafe_rbg` uses every tenth of the keys that it generates


def _unsafe_split(words: Any, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    words_of_keys = philox(words, (_KEY_STRIDE * count, 4), 32)
    key_words = slicing.slice_(
        words_of_keys,
        start=(0, 0),
        limit=(max(_KEY_STRIDE * count, 0), 4),
        strides=(_KEY_STRIDE, 1),
    )
    return structural.reshape(key_words, shape=(*shape, 4))


def _unsafe_fold_in(words: Any, number: Any) -> Any:
    zero = Array(_WORD.type(0), aval((), _WORD))
    seed = pair(zero, number)
    output = philox(slicing.concatenate(seed, seed, dimension=0), (_KEY_STRIDE, 4), 32)
    last_words = slicing.slice_(
        output, start=(_KEY_STRIDE - 1, 0), limit=(_KEY_STRIDE, 4), strides=(1, 1)
    )
    return bitwise.bitwise_xor(words, structural.reshape(last_words, shape=(4,)))


# --- the table ---

THREEFRY = Generator("threefry2x32", KEY, threefry_split, threefry_fold_in)
GENERATORS = {
    g.name: g
    for g in (
        THREEFRY,
        Generator("rbg", RBG, _on_both_halves(threefry_split), _on_both_halves(threefry_fold_in)),
        Generator("unsafe_rbg", UNSAFE_RBG, _unsafe_split, _unsafe_fold_in),
    )
}
_BY_DTYPE = {g.dtype: g for g in GENERATORS.values()}


def generator_of_name(name: str, impl: Any, argument: str = "impl") -> Generator:
    """The generator for an argument `impl`: a name, or the dtype of keys."""
    if impl is None:
        return GENERATORS[thread.default_prng_impl]
    try:
        generator = GENERATORS.get(impl) if isinstance(impl, str) else _BY_DTYPE.get(impl)
    except TypeError:  # not hashable
        generator = None
    if generator is None:
        raise ValueError(
            f"{name}: {argument} must be 'threefry2x32', 'rbg', 'unsafe_rbg' or None; got "
            f"{impl!r}\n"
            "  fix: leave it out"
        )
    return generator


def of_dtype(dtype: Any) -> Generator:
    """The generator of typed keys."""
    return _BY_DTYPE[dtype]


def is_typed(key: Any) -> bool:
    """True for typed keys, false for words."""
    return isinstance(key, Value) and key.aval.dtype in _BY_DTYPE


def wrapped(data: Any, generator: Generator) -> Any:
    """The typed keys with these words."""
    dtype = generator.dtype
    return current.trace.bind(
        prng_keys.random_wrap, (data,), (("dtype", dtype),), aval(data.shape[:-1], dtype)
    )


def seeded(words: Any, generator: Generator) -> Any:
    """The words of the key for a seed, from the seed's upper and lower word."""
    return words if generator.words == 2 else slicing.concatenate(words, words, dimension=0)
