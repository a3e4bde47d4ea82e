"""Random bits by StableHLO's `rng_bit_generator`: Philox, and Threefry in XLA's order.

A generator takes a state of two numbers of 64 bits, a key and a counter, and returns random bits
and the next state. The bits are equal to XLA's on CPUs and GPUs, on every device and tier; the
operations are written elementwise here, so a batch may have a state for each element.

- philox: Philox-4x32 with 10 rounds (Salmon et al. 2011, “Parallel random numbers: as easy as 1, 2,
  3”) makes four words for each of the counters c, c + 1, …; a counter's upper 64 bits are the key.
- three_fry: each counter makes two words, which are two neighbours along the first axis of even
  length (or the longest one), or the two halves of 64 bits.

Elements of fewer than 32 bits are the low bits of a word.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.primitive import Primitive
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from .prng_keys import join_halves
from .random_bits import lower_threefry, threefry
from .rule_types import Avals, DType, Host, Integers, Tangents, Values
from .structural import batch_in_front

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # of the paper, as the steps of the keys
_KEY_INCREMENTS = (0x9E3779B9, 0xBB67AE85)
_WORD_BITS = np.uint64(32)

W = TypeVar("W")  # a word: a number, an array, or an operand


def _philox_rounds(
    counter: Sequence[W],
    key: Sequence[W],
    multiply: Callable[[W, int], tuple[W, W]],
    xor: Callable[[W, W], W],
    add: Callable[[W, int], W],
) -> list[W]:
    """Philox-4x32, over any operations on words. `multiply` gives the upper and the lower word."""
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for i in range(10):
        if i:
            k0, k1 = add(k0, _KEY_INCREMENTS[0]), add(k1, _KEY_INCREMENTS[1])
        high0, low0 = multiply(x0, _MULTIPLIERS[0])
        high1, low1 = multiply(x2, _MULTIPLIERS[1])
        x0, x1, x2, x3 = xor(xor(high1, x1), k0), low1, xor(xor(high0, x3), k1), low0
    return [x0, x1, x2, x3]


# --- the arrangement of words ---


def _counters_of(shape: Integers, width: int, algorithm: str) -> int:
    """The number of counters needed for the bits of an array."""
    if algorithm == "philox":
        return -(-math.prod(shape) * (2 if width == 64 else 1) // 4)
    return math.prod(shape if width == 64 else _pair_layout(shape)[1])


def _pair_layout(shape: Integers) -> tuple[int, tuple[int, ...]]:
    """The axis along which words of one counter are neighbours, and the shape of the counters."""
    if not shape:
        return 0, (1,)
    even_axes = [i for i, n in enumerate(shape) if n % 2 == 0]
    axis = even_axes[0] if even_axes else int(np.argmax(shape))
    return axis, (*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :])


# --- on the host ---


def philox_counters(key: Host, counter: Host, n: int) -> list[Host]:
    """The four words of each of n counters in a row, for each state: uint32[…,n].

    Args:
      key, counter: uint64 arrays of one shape.
    """
    low = counter[..., None] + np.arange(n, dtype=_UINT64)
    high = key[..., None] + (low < counter[..., None])
    return [*_halves(low), *_halves(high)]


def _halves(x: Host) -> list[Host]:
    return [x.astype(_UINT32), (x >> _WORD_BITS).astype(_UINT32)]


def _philox(counter: Sequence[Host], key: Sequence[Host]) -> list[Host]:
    def multiply(x: Host, factor: int) -> tuple[Host, Host]:
        product = x.astype(_UINT64) * np.uint64(factor)
        return (product >> _WORD_BITS).astype(_UINT32), product.astype(_UINT32)

    return _philox_rounds(counter, key, multiply, np.bitwise_xor, lambda x, n: x + np.uint32(n))


def _host_state(state: Host) -> tuple[Host, Host]:
    if state.dtype == _UINT64:
        return state[..., 0], state[..., 1]
    words = state.astype(_UINT64)
    return tuple([words[..., i] | words[..., i + 1] << _WORD_BITS for i in (0, 2)])  # type: ignore


def _host_bits(key: Host, counter: Host, shape: Integers, width: int, algorithm: str) -> Host:
    """Random words for each state, uint32 or uint64: the states' shape, then `shape`."""
    batch, n = key.shape, math.prod(shape)
    key_halves = [x[..., None] for x in _halves(key)]
    m = _counters_of(shape, width, algorithm)
    if algorithm == "philox":
        words = np.stack(_philox(philox_counters(key, counter, m), key_halves), -1)
        if width == 64:
            words = words.astype(_UINT64)
            words = words[..., 0::2] | words[..., 1::2] << _WORD_BITS
        flat_words = words.reshape((*batch, words.size // max(key.size, 1)))
        return flat_words[..., :n].reshape((*batch, *shape))
    counter_halves = _halves(counter[..., None] + np.arange(m, dtype=_UINT64))
    low, high = threefry(*key_halves, *counter_halves)
    if width == 64:
        return (low.astype(_UINT64) | high.astype(_UINT64) << _WORD_BITS).reshape((*batch, *shape))
    axis, half_shape = _pair_layout(shape)
    if not shape:
        return low.reshape(batch)
    word_pair = [x.reshape((*batch, *half_shape)) for x in (low, high)]
    axis_of_pairs = len(batch) + axis
    interleaved = np.stack(word_pair, axis_of_pairs + 1).reshape(
        *batch, *half_shape[:axis], 2 * half_shape[axis], *half_shape[axis + 1 :]
    )
    return interleaved[(slice(None),) * axis_of_pairs + (slice(shape[axis]),)]


# --- in a program ---


def _lower_state(block: Block, state: Operand) -> tuple[Operand, Operand]:
    """The key and the counter of each state, as numbers of 64 bits."""
    batch = state.aval.shape[:-1]

    def part(i: int) -> Operand:
        word = block.slice(state, [*[0] * len(batch), i], [*batch, i + 1])
        return block.convert(block.reshape(word, batch), _UINT64)

    if state.aval.dtype == _UINT64:
        return part(0), part(1)
    return join_halves(block, part(0), part(1)), join_halves(block, part(2), part(3))


def _lower_halves(block: Block, x: Operand) -> list[Operand]:
    high = block.elementwise("shift_right_logical", (x, block.full(32, x.aval)), x.aval)
    return [block.convert(y, _UINT32) for y in (x, high)]


def _lower_philox(block: Block, operands: Sequence[Operand]) -> list[Operand]:
    """Philox's function for six words: four of counters, two of keys."""
    words = operands[0].aval
    words_uint64 = words.update(dtype=_UINT64)

    def multiply(x: Operand, factor: int) -> tuple[Operand, Operand]:
        pair = (block.convert(x, _UINT64), block.full(factor, words_uint64))
        low, high = _lower_halves(block, block.elementwise("multiply", pair, words_uint64))
        return high, low

    def xor(x: Operand, y: Operand) -> Operand:
        return block.elementwise("xor", (x, y), words)

    def add(x: Operand, n: int) -> Operand:
        return block.elementwise("add", (x, block.full(n, words)), words)

    return _philox_rounds(operands[:4], operands[4:], multiply, xor, add)


def _call_philox(block: Block, operands: Sequence[Operand]) -> list[Operand]:
    words, name_stem = operands[0].aval, "philox4x32"
    name = block.module.function((name_stem, words), name_stem, [words] * 6, _lower_philox)
    return block.call(name, operands, (words,) * 4)


def _lower_counters(
    block: Block, key: Operand, counter: Operand, m: int
) -> tuple[list[Operand], list[Operand]]:
    """The words of the key, and of m counters in a row with the key above, for each state."""
    batch = key.aval.shape
    counters_aval = aval((*batch, m), _UINT64)
    key, counter = [
        block.broadcast(x, range(len(batch)), counters_aval.shape) for x in (key, counter)
    ]
    low = block.elementwise("add", (counter, block.iota(counters_aval, len(batch))), counters_aval)
    wrapped = block.compare("LT", low, counter, aval(counters_aval.shape, dtypes.bool_))
    high = block.elementwise("add", (key, block.convert(wrapped, _UINT64)), counters_aval)
    return _lower_halves(block, key), [*_lower_halves(block, low), *_lower_halves(block, high)]


def _lower_bits(
    block: Block, key: Operand, counter: Operand, out: Aval, shape: Integers, algorithm: str
) -> Operand:
    batch, n, width = key.aval.shape, math.prod(shape), dtypes.bit_width(out.dtype)
    m = _counters_of(shape, width, algorithm)
    keys, counters = _lower_counters(block, key, counter, m)
    if algorithm == "philox":
        parts = _call_philox(block, [*counters, *keys])
        if width == 64:
            parts = [_lower_long(block, parts[i], parts[i + 1]) for i in (0, 2)]
        flat_words = _interleaved(block, parts, len(batch))
        bits = block.slice(flat_words, [0] * flat_words.aval.ndim, [*batch, n])
    else:
        parts = lower_threefry(block, *keys, *counters[:2])
        if width == 64:
            bits = _lower_long(block, *parts)
        elif not shape:
            bits = parts[0]
        else:
            axis, half_shape = _pair_layout(shape)
            bits = _interleaved(
                block, [block.reshape(x, (*batch, *half_shape)) for x in parts], len(batch) + axis
            )
            bits = block.slice(bits, [0] * bits.aval.ndim, out.shape)
    return block.convert(block.reshape(bits, out.shape), out.dtype)


def _lower_long(block: Block, low: Operand, high: Operand) -> Operand:
    return join_halves(block, block.convert(low, _UINT64), block.convert(high, _UINT64))


def _interleaved(block: Block, parts: Sequence[Operand], axis: int) -> Operand:
    """Interleaves arrays along an axis."""
    part_aval = parts[0].aval
    leading_shape, n, trailing_shape = (
        part_aval.shape[:axis],
        part_aval.shape[axis],
        part_aval.shape[axis + 1 :],
    )
    expanded = [block.reshape(x, (*leading_shape, n, 1, *trailing_shape)) for x in parts]
    out = part_aval.update(shape=(*leading_shape, n, len(parts), *trailing_shape))
    stacked = block.op(
        "concatenate", *expanded, out=out, attributes=f"dimension = {axis + 1} : i64"
    )
    return block.reshape(stacked, (*leading_shape, n * len(parts), *trailing_shape))


# --- rng_bit_generator ---

rng_bit_generator = Primitive(
    "rng_bit_generator",
    "The next state and an array of random unsigned integers, for each state.",
    multiple=True,
    host="transcendental",
)


@rng_bit_generator.type
def _(state: Aval, *, shape: tuple[int, ...], dtype: DType, algorithm: str) -> Avals:
    if not state.ndim or (state.dtype, state.shape[-1]) not in ((_UINT32, 4), (_UINT64, 2)):
        raise ShapeError(
            f"rng_bit_generator: the key must be uint32[4] or uint64[2]; got {state}\n"
            "  fix: random.PRNGKey(0, impl='rbg')"
        )
    if dtype not in dtypes.UNSIGNED or dtypes.bit_width(dtype) < 8:
        raise ShapeError(
            f"rng_bit_generator: dtype must be uint8, uint16, uint32 or uint64; got {dtype}"
        )
    return state.strong(), aval((*state.shape[:-1], *shape), dtype)


@rng_bit_generator.evaluate
def _(state: Host, *, shape: tuple[int, ...], dtype: DType, algorithm: str) -> Sequence[Host]:
    state = np.asarray(state)
    key, counter = _host_state(state)
    width = dtypes.bit_width(dtype)
    bits = _host_bits(key, counter, shape, width, algorithm)
    next_counter = counter + np.uint64(_counters_of(shape, width, algorithm))
    words = (
        (key, next_counter) if state.dtype == _UINT64 else (*_halves(key), *_halves(next_counter))
    )
    return np.stack(words, -1), np.asarray(bits).astype(dtype)


@rng_bit_generator.lower
def _(
    block: Block, state: Operand, out: Avals, shape: Integers, dtype: DType, algorithm: str
) -> Sequence[Operand]:
    key, counter = _lower_state(block, state)
    m = _counters_of(shape, dtypes.bit_width(dtype), algorithm)
    next_counter = block.elementwise("add", (counter, block.full(m, counter.aval)), counter.aval)
    words = [key, next_counter]
    if state.aval.dtype == _UINT32:
        words = [half for x in words for half in _lower_halves(block, x)]
    words = [block.reshape(x, (*x.aval.shape, 1)) for x in words]
    last_dimension = f"dimension = {out[0].ndim - 1} : i64"
    state = block.op("concatenate", *words, out=out[0], attributes=last_dimension)
    if not out[1].size:
        return state, block.full(0, out[1])
    return state, _lower_bits(block, key, counter, out[1], shape, algorithm)


@rng_bit_generator.jvp
def _(primals: Values, tangents: Tangents, out: Values, **params: object) -> Tangents:
    return [None, None]


rng_bit_generator.batch(batch_in_front(rng_bit_generator))
