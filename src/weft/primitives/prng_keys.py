"""Typed keys and their words: random_wrap, random_unwrap, random_use, random_clone.

A key is one element of an extended dtype, and words along the last axis."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..extended_dtypes import KEY, ExtendedDType, is_extended
from ..stablehlo import Block, Operand
from .rule_types import Host, Tangents, Values
from .structural import batch_in_front

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_FLOAT = np.dtype(np.float64)  # half of a complex number; only its bits are used


def check_words(name: str, words: Aval, dtype: ExtendedDType) -> None:
    """Raises an error if an array cannot be the words of keys of a dtype."""
    n = dtype.words
    if words.dtype != _UINT32 or not words.ndim or words.shape[-1] != n:
        raise TypeError(f"{name}: expected keys, as words uint32[…,{n}]; got {words}")


# --- random_wrap ---

random_wrap = Primitive(
    "random_wrap",
    "The keys of a dtype that have these words, along the last axis.",
    host="always",
)


@random_wrap.type
def _(words: Aval, *, dtype: ExtendedDType = KEY) -> Aval:
    check_words("random_wrap", words, dtype)
    return aval(words.shape[:-1], dtype)


@random_wrap.evaluate
def _(words: Host, *, dtype: ExtendedDType = KEY) -> Host:
    elements = np.ascontiguousarray(words).reshape(-1)
    return elements.view(dtype.host).reshape(words.shape[:-1])


@random_wrap.lower
def _(block: Block, words: Operand, out: Aval, dtype: ExtendedDType = KEY) -> Operand:
    # avoids bitcast_convert of words, because some backends lack it for 64 bits
    ends = [
        block.convert(block.reshape(_word(block, words, i), out.shape), _UINT64)
        for i in range(dtype.words)
    ]
    halves = [join_halves(block, *ends[i : i + 2]) for i in range(0, dtype.words, 2)]
    if len(halves) == 1:
        return Operand(halves[0].name, out)
    bits = aval(out.shape, _FLOAT)
    parts = [block.op("bitcast_convert", x, out=bits) for x in halves]
    complex_words = block.op("complex", *parts, out=aval(out.shape, dtype.stored))
    return Operand(complex_words.name, out)


@random_wrap.jvp
def _(primals: Values, tangents: Tangents, out: Value, *, dtype: ExtendedDType = KEY) -> None:
    return None


random_wrap.batch(batch_in_front(random_wrap))


# --- uses ---


def _identity_of_keys(keys: object, **params: object) -> Any:
    return keys


def _lower_identity(block: Block, keys: Operand, out: Aval, **params: object) -> Operand:
    return keys


def _no_tangent(primals: Values, tangents: Tangents, out: Value, **params: object) -> None:
    return None


def _use_of_keys(name: str, doc: str) -> Primitive:
    """A primitive that returns its operand."""
    primitive = Primitive(name, doc, host="always")
    primitive.takes_keys = True
    primitive.type(_identity_of_keys)
    primitive.evaluate(_identity_of_keys)
    primitive.lower(_lower_identity)
    primitive.jvp(_no_tangent)
    primitive.batch(lambda args, batched, batch_size, **params: primitive(*args, **params))
    return primitive


random_use = _use_of_keys("random_use", "Returns the keys, and marks them as used.")
random_clone = _use_of_keys("random_clone", "The keys, as new ones.")


def _word(block: Block, words: Operand, i: int) -> Operand:
    """The i-th word of each key; the last axis has length one."""
    key_shape = words.aval.shape[:-1]
    return block.slice(words, [*[0] * len(key_shape), i], [*key_shape, i + 1])


def join_halves(block: Block, low: Operand, high: Operand) -> Operand:
    """64-bit numbers, from their halves, which are also 64-bit numbers."""
    array_aval = low.aval
    high = block.elementwise("shift_left", (high, block.full(32, array_aval)), array_aval)
    return block.elementwise("or", (high, low), array_aval)


# --- random_unwrap ---

random_unwrap = Primitive("random_unwrap", "The words of keys, uint32[…,n].", host="always")
random_unwrap.takes_keys = True


@random_unwrap.type
def _(keys: Aval) -> Aval:
    if not is_extended(keys.dtype):
        raise TypeError(f"random_unwrap: expected keys; got {keys}")
    dtype: Any = keys.dtype
    return aval((*keys.shape, dtype.words), _UINT32)


@random_unwrap.evaluate
def _(keys: Host) -> Host:
    elements = np.ascontiguousarray(keys).reshape(-1)
    return elements.view(_UINT32).reshape((*keys.shape, keys.dtype.itemsize // 4))


@random_unwrap.lower
def _(block: Block, keys: Operand, out: Aval) -> Operand:
    ends = []
    for x in halves_of(block, keys):
        high = block.elementwise("shift_right_logical", (x, block.full(32, x.aval)), x.aval)
        ends += [block.reshape(block.convert(y, _UINT32), (*x.aval.shape, 1)) for y in (x, high)]
    return block.op("concatenate", *ends, out=out, attributes=f"dimension = {out.ndim - 1} : i64")


def halves_of(block: Block, keys: Operand) -> list[Operand]:
    """The 64-bit numbers that keys are stored as: one, or the bits of a complex number's parts."""
    shape, stored_dtype = keys.aval.shape, keys.aval.dtype.stored
    numbers = Operand(keys.name, aval(shape, stored_dtype))
    if not dtypes.is_complex(stored_dtype):
        return [numbers]
    parts = [block.op(name, numbers, out=aval(shape, _FLOAT)) for name in ("real", "imag")]
    return [block.op("bitcast_convert", x, out=aval(shape, _UINT64)) for x in parts]


@random_unwrap.jvp
def _(primals: Values, tangents: Tangents, out: Value) -> None:
    return None


random_unwrap.batch(batch_in_front(random_unwrap))
