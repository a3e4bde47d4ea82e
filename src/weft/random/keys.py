"""Keys and their bits: PRNGKey, key, split, fold_in, clone, bits, key_data, wrap_key_data,
key_impl, key_dtype.

A key is an array without axes of dtype `key<fry>` or, in the older style, a uint32[2] array of its
two words. Keys of the generators `rbg` and `unsafe_rbg` have four words and their own dtypes. A
typed key and its words give the same streams.
"""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..config import thread
from ..core.array import Array, literal
from ..core.aval import aval
from ..core.source import located
from ..core.value import Value
from ..errors import ShapeError
from ..numpy.axes import shape_tuple
from ..numpy.creation import dtype_argument
from ..numpy.plans import composite
from ..numpy.promotion import cast, noted, value
from ..primitives import bitwise, conversion, random_bits, slicing, structural
from ..primitives.prng_keys import check_words, random_clone, random_unwrap, random_use
from ..typing import ArrayLike, DTypeLike, ShapeLike
from . import generators
from .generators import THREEFRY, Generator, generator_of_name, is_typed, of_dtype, wrapped

__all__ = [
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "wrap_key_data",
]


_WORD, _LONG = dtypes.uint32, dtypes.uint64
ONE_KEY = aval((), THREEFRY.dtype)


# --- making keys ---


@located
def PRNGKey(seed: int | ArrayLike, *, impl: str | None = None) -> Array:
    """Makes a key from an integer.

    The key's words are the upper and lower 32 bits of the seed as a 64-bit integer. Unless 64-bit
    types are on (`config.update("enable_x64", True)`) the upper word is zero for every seed.

    Args:
      seed: an int from -2**63 to 2**64 - 1, or an integer scalar array.
      impl: the generator: "threefry2x32", "rbg" or "unsafe_rbg". `None` uses the switch
        `default_prng_impl`, which also determines the generator of raw keys.
    Returns: uint32[2]; uint32[4] for "rbg" and "unsafe_rbg".
    Raises: TypeError: not an integer scalar. OverflowError: more than 64 bits. ValueError: `impl`
      is unknown.
    Example:
      >>> random.PRNGKey(7).tolist()
      [0, 7]
    """
    generator = generator_of_name("PRNGKey", impl)
    data = generators.seeded(_seed_words("PRNGKey", seed), generator)
    return wrapped(data, generator) if thread.enable_custom_prng else data  # type: ignore


@located
def key(seed: int | ArrayLike, *, impl: str | None = None, dtype: DTypeLike | None = None) -> Array:
    """Makes a typed key: an array without axes whose dtype marks it as a key.

    Keys can be indexed, reshaped, joined, mapped over and carried through loops like other arrays.
    Their only operators are `==` and `!=`; `key_data` returns the words.

    Args:
      seed, impl: as in `PRNGKey`, which makes the same key.
      dtype: the dtype of keys, as `random.key_dtype` returns it, instead of `impl`.
    Returns: key<fry>[]; key<rbg>[] or key<urbg>[] for the other generators.
    Raises: as `PRNGKey`. ValueError: both `impl` and `dtype` are specified.
    Example:
      >>> keys = random.split(random.key(0), 3)
      >>> keys.shape, keys.dtype, keys[1].shape
      ((3,), key<fry>, ())
      >>> weft.vmap(random.uniform)(keys).shape
      (3,)
    Source: JAX documentation, `jax.random.key`.
    """
    generator = _requested_generator("key", impl, dtype)
    data = generators.seeded(_seed_words("key", seed), generator)
    return wrapped(data, generator)


def _requested_generator(name: str, impl: Any, dtype: Any) -> Generator:
    if impl is not None and dtype is not None:
        raise ValueError(
            f"{name}: impl and dtype both name the generator: give one; got {impl!r} and {dtype}"
        )
    return generator_of_name(name, dtype if impl is None else impl)


def _seed_words(name: str, seed: Any) -> Any:
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
    return generators.pair(cast(high, _WORD), low)


def one_key(name: str, key: Any, marks_use: bool = True) -> Any:
    """One key in weft.random's form: the uint32[2] array of a Threefry key, or a typed key of
    another generator. Anything else raises an error.

    Args:
      marks_use: whether this use consumes the key, for `debug_key_reuse`.
    """
    if not isinstance(key, Value):
        if not isinstance(key, np.ndarray):
            raise noted(_not_a_key(name, type(key).__name__))
        key = value(name, key, "key")
    key_aval = key.aval
    if marks_use and thread.debug_key_reuse and is_typed(key):
        key = random_use(key, by=name)
    if key_aval is ONE_KEY:
        return random_unwrap(key)
    has_key_dtype = is_typed(key)
    generator = of_dtype(key_aval.dtype) if has_key_dtype else generator_of_name(name, None)
    if not has_key_dtype and (
        key_aval.dtype != _WORD or not key_aval.ndim or key_aval.shape[-1] != generator.words
    ):
        raise noted(_not_a_key(name, f"{key_aval}"))
    if key_aval.ndim > (not has_key_dtype):
        form = f"{generator.dtype}[]" if has_key_dtype else f"uint32[{generator.words}]"
        raise noted(
            TypeError(
                f"{name}: expected one key, {form}; got an array of them, {key_aval}\n"
                f"  fix: vmap(lambda key: {name}(key, …))(keys) for all, or keys[0] for one"
            )
        )
    return key if has_key_dtype or generator is THREEFRY else wrapped(key, generator)


def _not_a_key(name: str, description: str) -> Exception:
    form = generator_of_name(name, None).form
    return TypeError(
        f"{name}: expected a key, {form}, for the first argument; got {description}\n"
        "  fix: key = random.key(0), or random.PRNGKey(0)"
    )


def like(original: Any, data: Any) -> Any:
    """New keys in the style of the original key: typed or raw."""
    if is_typed(original):
        return data if is_typed(data) else wrapped(data, THREEFRY)
    return random_unwrap(data) if is_typed(data) else data


def raw_bits(key: Any, shape: tuple[int, ...], width: int) -> Any:
    """Random bits for a key; the switch `threefry_partitionable` selects Threefry's stream."""
    if key.aval.dtype != _WORD:
        return generators.philox(random_unwrap(key), shape, width)
    if not thread.threefry_partitionable and (
        random_bits.words_of_bits(shape, width) >= random_bits.MAX_KEY_WORDS
    ):
        return far_bits(key, shape, width, random_bits.MAX_KEY_WORDS)
    return random_bits.random_bits(
        key, shape=shape, width=width, partitionable=thread.threefry_partitionable
    )


def far_bits(key: Any, shape: tuple[int, ...], width: int, block_words: int) -> Any:
    """The bits of Threefry's classic stream for an array of more than `block_words` words. Each
    block of `block_words` words has its own key, and so has the remainder."""
    n = math.prod(shape)
    blocks, remainder = divmod(random_bits.words_of_bits(shape, width), block_words)
    block_keys = subkeys(key, (blocks + 1,))
    words = []
    for start, stop, length in ((0, blocks, block_words), (blocks, blocks + 1, remainder)):
        part_keys = slicing.slice_(block_keys, start=(start, 0), limit=(stop, 2), strides=(1, 1))
        part = random_bits.random_bits(part_keys, shape=(length,), width=32, partitionable=False)
        words.append(structural.reshape(part, shape=(part.size,)))
    bits = slicing.concatenate(*words, dimension=0)
    if width == 64:
        high, low = [
            cast(slicing.slice_(bits, start=(i * n,), limit=(i * n + n,), strides=(1,)), _LONG)
            for i in (0, 1)
        ]
        bits = bitwise.bitwise_or(bitwise.shift_left(high, literal(32, _LONG)), low)
    elif width < 32:
        parts = conversion.bitcast_convert_type(bits, dtype=np.dtype(f"u{width // 8}"))
        flat_parts = structural.reshape(parts, shape=(parts.size,))
        bits = slicing.slice_(flat_parts, start=(0,), limit=(n,), strides=(1,))
    return structural.reshape(bits, shape=shape)


# --- using keys ---


@located
def split(key: ArrayLike, num: int | tuple[int, ...] = 2) -> Any:
    """New keys from a key, which should not be used again.

    Args:
      key: a key.
      num: the number of keys, or the shape of the array of keys.
    Returns: keys of shape `num`, in the key's style: typed, or uint32[num,2].
    Raises: TypeError: not a key, or `num` is not an int or a shape.
    Example:
      >>> random.split(random.PRNGKey(0)).tolist()
      [[4146024105, 967050713], [2718843009, 1272950319]]
    """
    data, shape = one_key("split", key), shape_tuple("split", num, "num")
    return like(key, subkeys(data, shape))


def subkeys(data: Any, shape: tuple[int, ...] = (2,)) -> Any:
    """`split` for keys in the form that `one_key` returns."""
    if data.aval.dtype != _WORD:
        return _split_of(data, shape=shape)
    if thread.threefry_partitionable:
        return _partitionable_split(data, shape=shape)
    return raw_bits(data, (*shape, 2), 32)


@composite
def _split_of(key: Any, *, shape: tuple[int, ...]) -> Any:
    generator = of_dtype(key.aval.dtype)
    return wrapped(generator.split(random_unwrap(key), shape), generator)


_partitionable_split = composite(generators.threefry_split)


def subkey_list(data: Any, n: int = 2) -> list[Any]:
    """The keys that `subkeys` returns, as a list."""
    keys = subkeys(data, (n,))
    key_shape = keys.shape[1:]
    parts = [
        slicing.slice_(
            keys,
            start=(i, *[0] * len(key_shape)),
            limit=(i + 1, *key_shape),
            strides=(1,) * keys.ndim,
        )
        for i in range(n)
    ]
    return [structural.reshape(part, shape=key_shape) for part in parts]


@located
def fold_in(key: ArrayLike, data: int | ArrayLike) -> Any:
    """A new key from a key and an integer, such as the number of a step.

    Args:
      key: a key.
      data: an int or an integer scalar, taken modulo 2**32.
    Returns: key<fry>[]; uint32[2] for a uint32[2] key.
    Raises: TypeError: not a key, or not an integer scalar.
    Example:
      >>> random.fold_in(random.PRNGKey(0), 1).tolist()
      [928981903, 3453687069]
    """
    words = one_key("fold_in", key, marks_use=False)
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        number = Array(np.array(int(data) & 0xFFFFFFFF, _WORD), aval((), _WORD))
    else:
        x = value("fold_in", data, "data")
        if x.aval.ndim or not dtypes.is_integer(x.aval.dtype):
            raise ShapeError(
                f"fold_in: data must be an integer scalar; got {x.aval}\n"
                "  fix: a number, such as the number of a step; vmap over data for a key of each"
            )
        number = cast(x, _WORD)
    return like(key, _fold_in(words, number))


@composite
def _fold_in(key: Any, number: Any) -> Any:
    if key.aval.dtype == _WORD:
        return generators.threefry_fold_in(key, number)
    generator = of_dtype(key.aval.dtype)
    return wrapped(generator.fold_in(random_unwrap(key), number), generator)


@located
def bits(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None) -> Array:
    """Random bits: uniformly distributed unsigned integers.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: an unsigned integer dtype of 8 bits or more; uint32 by default (uint64 with x64 on).
    Returns: array of `shape`.
    Raises: TypeError: not a key, or not an unsigned dtype.
    Example:
      >>> random.bits(random.PRNGKey(0), (2,)).tolist()
      [928981903, 3453687069]
    """
    data = one_key("bits", key)
    result_dtype = dtype_argument("bits", dtype)
    if result_dtype is None:
        result_dtype = dtypes.uint64 if thread.x64 else dtypes.uint32
    if result_dtype.kind != "u" or result_dtype.name == "uint4":
        raise ShapeError(
            f"bits: dtype must be an unsigned integer of 8 bits or more; got {result_dtype}\n"
            "  fix: uint8, uint16, uint32 or uint64; randint for other integers"
        )
    return raw_bits(data, shape_tuple("bits", shape), dtypes.bit_width(result_dtype))


# --- typed keys and their words ---


@located
def key_data(keys: ArrayLike) -> Array:
    """The words of keys: uint32[…,2] for Threefry, uint32[…,4] for the other generators.

    Args:
      keys: typed keys; an array of words is returned unchanged.
    Returns: uint32[…,2] or uint32[…,4].
    Raises: TypeError: `keys` are neither keys nor words.
    Example:
      >>> random.key_data(random.key(3)).tolist()
      [0, 3]
    Source: JAX documentation, `jax.random.key_data`.
    """
    x = _keys("key_data", keys)
    return random_unwrap(x) if is_typed(x) else x


@located
def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: str | None = None, dtype: DTypeLike | None = None
) -> Array:
    """The typed keys with these words: the inverse of `key_data`.

    Args:
      key_bits_array: uint32[…,2] for Threefry, uint32[…,4] for the other generators.
      impl: "threefry2x32", "rbg" or "unsafe_rbg"; `None` uses the switch `default_prng_impl`.
      dtype: the dtype of keys, instead of `impl`.
    Returns: key<fry>[…], key<rbg>[…] or key<urbg>[…].
    Raises: TypeError: the dtype or shape is wrong. ValueError: `impl` is unknown, or `dtype` is
      specified too.
    Example:
      >>> random.wrap_key_data(random.PRNGKey(0)).dtype
      key<fry>
    Source: JAX documentation, `jax.random.wrap_key_data`.
    """
    generator = _requested_generator("wrap_key_data", impl, dtype)
    x = value("wrap_key_data", key_bits_array, "key_bits_array")
    check_words("wrap_key_data", x.aval, generator.dtype)
    return wrapped(x, generator)


def _keys(name: str, keys: Any) -> Any:
    x = value(name, keys, "keys")
    if not is_typed(x):
        check_words(name, x.aval, generator_of_name(name, None).dtype)
    return x


def _generator_of(name: str, keys: Any) -> Generator:
    x = _keys(name, keys)
    return of_dtype(x.aval.dtype) if is_typed(x) else generator_of_name(name, None)


def key_impl(keys: ArrayLike) -> str:
    """The name of the generator of keys: "threefry2x32", "rbg" or "unsafe_rbg".

    Raises: TypeError: `keys` are not keys.
    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    Source: JAX documentation, `jax.random.key_impl`.
    """
    return _generator_of("key_impl", keys).name


def key_dtype(impl_spec: str | None = None) -> Any:
    """The dtype of the typed keys of a generator.

    Args:
      impl_spec: its name; `None` uses the switch `default_prng_impl`.
    Raises: ValueError: no generator has that name.
    Example:
      >>> random.key_dtype("rbg")
      key<rbg>
    Source: JAX documentation, `jax.random.key_dtype`.
    """
    return generator_of_name("key_dtype", impl_spec, "impl_spec").dtype


def clone(key: ArrayLike) -> Any:
    """The same key, marked as reused on purpose, for readers and `debug_key_reuse`.

    Raises: TypeError: not keys.
    Example:
      >>> random.clone(random.key(0)).dtype
      key<fry>
    """
    x = _keys("clone", key)
    return random_clone(x) if thread.debug_key_reuse and is_typed(x) else x
