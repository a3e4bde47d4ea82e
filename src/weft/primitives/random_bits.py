"""Random bits: Threefry-2x32, a function of a key and a counter, and the streams of bits that it
makes.

The streams never change.

A key is two words of 32 bits: the last axis of a uint32[…,2] array. Threefry turns a key and a pair
of counters into a pair of random words (Salmon et al. 2011, “Parallel random numbers: as easy as
1, 2, 3”; 20 rounds). The streams differ in which counters they take:

- classic: for n words the counters are 0, 1, …, n-1, and the first half of them is paired with the
  second half (with a zero at the end if n is odd). The words are in the order of the counters. They
  are cut into elements, low bits first, or combined in pairs, with the word from the first half on
  top. Arrays of more than 2**32 - 1 words have several keys (`random/keys.py: far_bits`).
- partitionable: element i has the counters (i // 2**32, i % 2**32) and is made from the two words,
  so a device can make any part of the array without the others.

A typed key, of dtype `key<fry>`, is one element that holds its words (`prng_keys.py`).
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..extended_dtypes import KEY
from ..stablehlo import Block, Operand
from ..stablehlo.block import NOT_INLINED
from .prng_keys import check_words
from .rule_types import Avals, Batched, Host, Integers, Tangents, Values
from .structural import align, batch_in_front, broadcast_shape

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA  # so that no key is all zeros
_WORD = np.dtype(np.uint32)

_MAX_INT_WORDS = 8  # up to this many pairs, Python's integers are faster than NumPy
MAX_KEY_WORDS = 2**32 - 1  # words of one key in the classic stream, whose counters have 32 bits
_CHUNK = 32768  # pairs processed at a time, so that they stay in the cache


W = TypeVar("W")  # a word: a number, an array, or an operand


def _rounds(
    keys: Sequence[W],
    x0: W,
    x1: W,
    add: Callable[[W, W], W],
    xor: Callable[[W, W], W],
    rotate: Callable[[W, int], W],
    number: Callable[[int], W],
) -> tuple[W, W]:
    """Threefry-2x32, over any operations on words. `keys` are k0, k1 and k0 ^ k1 ^ _PARITY."""
    x0, x1 = add(x0, keys[0]), add(x1, keys[1])
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x0 = add(x0, x1)
            x1 = xor(rotate(x1, distance), x0)
        x0 = add(x0, keys[(i + 1) % 3])
        x1 = add(add(x1, keys[(i + 2) % 3]), number(i + 1))
    return x0, x1


# --- on the host ---


def threefry(k0: Host, k1: Host, x0: Host, x1: Host) -> tuple[Host, Host]:
    """Threefry on uint32 arrays that broadcast together."""
    operands = (k0, k1, x0, x1)
    broadcast = np.broadcast(*operands)
    shape, size = broadcast.shape, broadcast.size
    if size <= _MAX_INT_WORDS:
        lists = [_broadcast_list(a, shape, size) for a in operands]
        word_pairs = np.array([_on_ints(*words) for words in zip(*lists, strict=True)], _WORD)
        word_pairs = word_pairs.reshape(*shape, 2)
        return word_pairs[..., 0], word_pairs[..., 1]
    y0, y1 = np.empty(shape, _WORD), np.empty(shape, _WORD)
    k0, k1, x0, x1 = [np.broadcast_to(a, shape) for a in operands]
    _in_chunks(k0, k1, x0, x1, y0, y1)
    return y0, y1


def _broadcast_list(x: Host, shape: tuple[int, ...], size: int) -> list[int]:
    """The elements, broadcast to a shape, as a list."""
    if x.size == 1:
        return [x.item()] * size
    return (x if x.shape == shape else np.broadcast_to(x, shape)).reshape(-1).tolist()


def _on_ints(k0: int, k1: int, x0: int, x1: int) -> tuple[int, int]:
    """Threefry on Python's integers; for few words it is faster than NumPy's 200 operations."""
    return _rounds(
        (k0, k1, k0 ^ k1 ^ _PARITY), x0, x1,
        add=lambda a, b: a + b & 0xFFFFFFFF,
        xor=operator.xor,
        rotate=lambda a, n: a << n & 0xFFFFFFFF | a >> 32 - n,
        number=int,
    )  # fmt: skip


def _in_chunks(k0: Host, k1: Host, x0: Host, x1: Host, y0: Host, y1: Host) -> None:
    """Threefry on arrays of one shape with an axis or more, into y0 and y1."""
    operands = (k0, k1, x0, x1, y0, y1)
    if y0.size <= _CHUNK:
        _on_arrays(*operands)
        return
    row = y0.size // len(y0)
    if row > _CHUNK:
        for start in range(len(y0)):
            _in_chunks(*[a[start] for a in operands])
        return
    step = _CHUNK // row
    for start in range(0, len(y0), step):
        _on_arrays(*[a[start : start + step] for a in operands])


def _on_arrays(k0: Host, k1: Host, x0: Host, x1: Host, y0: Host, y1: Host) -> None:
    y0[...], y1[...] = x0, x1
    k0, k1 = _narrow(k0), _narrow(k1)
    rotated = np.empty_like(y1)
    add_ufunc, xor_ufunc, or_ufunc = np.add, np.bitwise_xor, np.bitwise_or
    left_shift, right_shift, numbers = np.left_shift, np.right_shift, _NUMBERS

    def add(x: Host, y: Host) -> Host:
        return add_ufunc(x, y, x)

    def xor(x: Host, y: Host) -> Host:
        return xor_ufunc(x, y, x)

    def rotate(x: Host, distance: int) -> Host:
        left_shift(x, numbers[distance], rotated)
        return or_ufunc(right_shift(x, numbers[32 - distance], x), rotated, x)

    keys = (k0, k1, np.asarray(k0 ^ k1 ^ numbers[33]))
    _rounds(keys, y0, y1, add, xor, rotate, numbers.__getitem__)


# Arrays without axes, because they take NumPy half as long as Python numbers or axes of length one.
_NUMBERS = [np.array(n, _WORD) for n in (*range(33), _PARITY)]


def _narrow(x: Host) -> Host:
    """A broadcast array with its repeated axes reduced to length one."""
    if not any(x.strides):
        return x[(0,) * x.ndim].reshape(())
    return x[tuple([slice(None, 1) if stride == 0 else slice(None) for stride in x.strides])]


# --- in a program ---


def lower_threefry(
    block: Block, k0: Operand, k1: Operand, x0: Operand, x1: Operand
) -> list[Operand]:
    """A call of Threefry's function for the operands' common shape."""
    out, name_stem = x0.aval.strong(), "threefry2x32"
    name = block.module.function((name_stem, out), name_stem, [out] * 4, _write_threefry)
    return block.call(name, (k0, k1, x0, x1), (out, out))


def _write_threefry(block: Block, operands: Sequence[Operand]) -> Sequence[Operand]:
    k0, k1, x0, x1 = operands
    out = x0.aval

    def binary(name: str) -> Callable[[Operand, Operand], Operand]:
        return lambda x, y: block.elementwise(name, (x, y), out)

    add, xor, either = binary("add"), binary("xor"), binary("or")
    left, right = binary("shift_left"), binary("shift_right_logical")

    def number(n: int) -> Operand:
        return block.full(n, out)

    def rotate(x: Operand, distance: int) -> Operand:
        return either(left(x, number(distance)), right(x, number(32 - distance)))

    keys = (k0, k1, xor(xor(k0, k1), number(_PARITY)))
    return _rounds(keys, x0, x1, add, xor, rotate, number)


# --- threefry2x32 ---

threefry2x32 = Primitive(
    "threefry2x32", "Two random words for two words of a key and two counters; elementwise.",
    multiple=True
)  # fmt: skip


@threefry2x32.type
def _(*operands: Aval) -> Avals:
    if any(a.dtype != _WORD for a in operands):
        raise ShapeError(
            f"threefry2x32: operands must be uint32; got {', '.join(map(str, operands))}"
        )
    out = aval(broadcast_shape("threefry2x32", operands), _WORD)
    return out, out


threefry2x32.evaluate(lambda *operands: threefry(*map(np.asarray, operands)))


@threefry2x32.lower
def _(block: Block, *operands: Operand, out: Avals) -> Sequence[Operand]:
    return lower_threefry(block, *[block.widen(x, out[0].shape) for x in operands])


@threefry2x32.jvp
def _(primals: Values, tangents: Tangents, out: Values) -> Tangents:
    return [None, None]


@threefry2x32.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return threefry2x32(*align(args, batched))


# --- random_bits ---

random_bits = Primitive("random_bits", "An array of random unsigned integers for each key.")


@random_bits.type
def _(key: Aval, *, shape: tuple[int, ...], width: int, partitionable: bool) -> Aval:
    check_words("random_bits", key, KEY)
    if width not in (8, 16, 32, 64):
        raise ValueError(f"random_bits: width must be 8, 16, 32 or 64; got {width}")
    if not partitionable and words_of_bits(shape, width) > MAX_KEY_WORDS:
        raise ValueError(
            f"random_bits: shape {shape} has more than 2**32 - 1 words, as many as one key reaches "
            "in the classic stream\n  fix: weft.random, which takes several keys for such arrays"
        )
    return aval((*key.shape[:-1], *shape), np.dtype(f"u{width // 8}"))


def words_of_bits(shape: Integers, width: int) -> int:
    """The number of words for an array of elements with `bits` bits."""
    return -(-math.prod(shape) * width // 32)


def counters(positions: Host) -> tuple[Host, Host]:
    """The two counters of the elements at these positions in the partitionable stream."""
    positions = positions.astype(np.uint64)
    return (positions >> np.uint64(32)).astype(_WORD), positions.astype(_WORD)


@random_bits.evaluate
def _(key: Host, *, shape: tuple[int, ...], width: int, partitionable: bool) -> Host:
    key, n = np.asarray(key), math.prod(shape)
    out_shape, dtype = (*key.shape[:-1], *shape), np.dtype(f"u{width // 8}")
    if not n or not key.size:
        return np.zeros(out_shape, dtype)
    k0, k1 = key[..., 0:1], key[..., 1:2]
    if partitionable:
        y0, y1 = threefry(k0, k1, *counters(np.arange(n)))
        bits = _uint64_of(y0, y1) if width == 64 else (y0 ^ y1).astype(dtype)
        return bits.reshape(out_shape)
    words = words_of_bits(shape, width)
    half = (words + 1) // 2
    counters_0 = np.arange(half, dtype=_WORD)
    counters_1 = np.arange(half, 2 * half, dtype=_WORD)
    if words % 2:
        counters_1[-1] = 0
    y0, y1 = threefry(k0, k1, counters_0, counters_1)
    if width == 64:
        return _uint64_of(y0, y1).reshape(out_shape)
    bits = np.concatenate((y0, y1), -1).astype("<u4").view(f"<u{width // 8}")
    return bits[..., :n].astype(dtype).reshape(out_shape)


def _uint64_of(high: Host, low: Host) -> Host:
    return high.astype(np.uint64) << np.uint64(32) | low


MAX_OUTLINED_SIZE = 128  # elements; splitting a key makes this many


@random_bits.lower
def _(block: Block, key: Operand, out: Aval, **params: Any) -> Operand:
    """Writes the bits. Those of few elements, such as keys, come from a function that XLA does not
    inline. If it did, it would recompute the keys for each element that they help to make, and
    compile a kernel for each key (benchmarks/compile.py, "dropout 8")."""
    module = block.module
    if module.platform != "cpu" or module.region is not None or out.size > MAX_OUTLINED_SIZE:
        return _write_bits(block, key, out, **params)
    signature = "random_bits", key.aval.strong(), *params.values()

    def write(block: Block, operands: Sequence[Operand]) -> Sequence[Operand]:
        return [_write_bits(block, operands[0], out, **params)]

    name = module.function(signature, "random_bits", [key.aval], write)
    return block.call(name, [key], [out], NOT_INLINED)[0]


def _write_bits(
    block: Block, key: Operand, out: Aval, shape: Integers, width: int, partitionable: bool
) -> Operand:
    n, keys = math.prod(shape), key.aval.shape[:-1]
    if not out.size:
        return block.full(0, out)
    words = n if partitionable else words_of_bits(shape, width)
    half = n if partitionable else (words + 1) // 2
    pairs, flat_aval = aval((*keys, half), _WORD), aval((*keys, n), out.dtype)
    if partitionable:
        counters_0, counters_1 = _write_counters(block, pairs)
    else:
        counters_0 = block.iota(pairs, len(keys))
        counters_1 = block.elementwise("add", (counters_0, block.full(half, pairs)), pairs)
        if words % 2:
            is_last = block.compare(
                "EQ", counters_1, block.full(words, pairs), aval(pairs.shape, dtypes.bool_)
            )
            counters_1 = block.select(is_last, block.full(0, pairs), counters_1)
    k0, k1 = _two_words(block, key, pairs)
    y0, y1 = lower_threefry(block, k0, k1, counters_0, counters_1)
    if width == 64:
        y0, y1 = block.convert(y0, out.dtype), block.convert(y1, out.dtype)
        y0 = block.elementwise("shift_left", (y0, block.full(32, flat_aval)), flat_aval)
        bits = block.elementwise("or", (y0, y1), flat_aval)
    elif partitionable:
        bits = block.convert(block.elementwise("xor", (y0, y1), pairs), out.dtype)
    else:
        end = f"dimension = {len(keys)} : i64"
        bits = block.op("concatenate", y0, y1, out=aval((*keys, 2 * half), _WORD), attributes=end)
        if width < 32:
            parts = aval((*keys, 2 * half, 32 // width), out.dtype)
            bits = block.op("bitcast_convert", bits, out=parts)
            bits = block.reshape(bits, (*keys, 2 * half * (32 // width)))
        if bits.aval.shape != flat_aval.shape:
            bits = block.slice(bits, [0] * flat_aval.ndim, flat_aval.shape)
    return block.reshape(bits, out.shape)


def _write_counters(block: Block, pairs: Aval) -> tuple[Operand, Operand]:
    """`counters` of 0, 1, 2, … along the last axis."""
    axis = pairs.ndim - 1
    if pairs.shape[axis] <= 2**32:
        return block.full(0, pairs), block.iota(pairs, axis)
    positions = block.iota(pairs.update(dtype=dtypes.uint64), axis)
    high = block.elementwise(
        "shift_right_logical", (positions, block.full(32, positions.aval)), positions.aval
    )
    return block.convert(high, _WORD), block.convert(positions, _WORD)


def _two_words(block: Block, key: Operand, pairs: Aval) -> list[Operand]:
    """The two words of each key, repeated over its pairs of counters."""
    keys = key.aval.shape[:-1]
    return [
        block.broadcast(block.reshape(word, keys), range(len(keys)), pairs.shape)
        for word in _words_of(block, key)
    ]


def _words_of(block: Block, words: Operand) -> list[Operand]:
    """The first word of each key, and the second; the last axis has length one."""
    keys = words.aval.shape[:-1]
    return [block.slice(words, [*[0] * len(keys), i], [*keys, i + 1]) for i in (0, 1)]


@random_bits.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: object) -> None:
    return None


random_bits.batch(batch_in_front(random_bits))
