"""Extended dtypes, which NumPy does not have: the dtypes of random keys.

An element of an extended dtype is stored as one element of a NumPy dtype, so operations that move
elements work on the stored array, which has the same shape. In programs, an element is stored as an
unsigned integer; keys of four words are complex numbers, XLA's only elements of 128 bits. In NumPy
arrays on the host, it is opaque bytes, which NumPy can move but not compute with.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class extended(np.generic):
    """The abstract class of extended dtypes, for `issubdtype`.

    Example:
      >>> weft.dtypes.issubdtype(prng_key, extended), weft.dtypes.issubdtype("float32", extended)
      (True, False)
    """


class prng_key(extended):
    """The abstract class of the dtypes of keys, for `issubdtype`.

    Example:
      >>> weft.dtypes.issubdtype(KEY, prng_key), weft.dtypes.issubdtype("uint32", prng_key)
      (True, False)
    """


class ExtendedDType:
    """A dtype that NumPy does not have; all instances are made here, so `is` compares them.

    Attributes:
      name: its name in programs and arrays.
      type: its abstract class.
      stored: the dtype of an element in the memory of a device.
      host: the dtype of an element in NumPy arrays: opaque bytes.
      itemsize: the number of bytes.
      words: the number of words of 32 bits.
      kind: "V", as of NumPy's dtypes without arithmetic.
    """

    __slots__ = ("host", "name", "stored", "type")

    kind: ClassVar[str] = "V"
    by_name: ClassVar[dict[str, ExtendedDType]] = {}

    def __init__(self, name: str, type: object, stored: np.dtype[Any]) -> None:
        self.name, self.type, self.stored = name, type, stored
        self.host = np.dtype((np.void, stored.itemsize))
        self.by_name[name] = self

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.stored.itemsize

    @property
    def words(self) -> int:
        """Words of 32 bits of one element."""
        return self.stored.itemsize // 4

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.name,)


def _by_name(name: str) -> ExtendedDType:
    return ExtendedDType.by_name[name]


# The two words of Threefry's key are one element of 64 bits, the first word the lower half: as the
# words lie in memory, and as XLA's bitcast_convert has them.
KEY: Any = ExtendedDType("key<fry>", prng_key, np.dtype(np.uint64))
"""The dtype of keys: `random.key(0).dtype`."""

# The four words are the real and the imaginary part of a complex number, never computed with.
RBG: Any = ExtendedDType("key<rbg>", prng_key, np.dtype(np.complex128))
"""The dtype of keys of Philox's streams: `random.key(0, impl="rbg").dtype`."""

UNSAFE_RBG: Any = ExtendedDType("key<urbg>", prng_key, np.dtype(np.complex128))
"""The dtype of keys that Philox splits too: `random.key(0, impl="unsafe_rbg").dtype`."""

KEYS: tuple[Any, ...] = (KEY, RBG, UNSAFE_RBG)
"""The dtypes of keys."""


def is_extended(dtype: object) -> bool:
    """True for an extended dtype.

    Example:
      >>> is_extended(KEY), is_extended(np.dtype(np.uint32))
      (True, False)
    """
    return dtype.__class__ is ExtendedDType


def stored(dtype: Any) -> np.dtype[Any]:
    """The dtype in which devices store elements; NumPy's dtypes are returned unchanged.

    Example:
      >>> stored(KEY)
      dtype('uint64')
    """
    return dtype.stored if dtype.__class__ is ExtendedDType else dtype


def host_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of elements in NumPy arrays; NumPy's dtypes are returned unchanged.

    Example:
      >>> host_dtype(KEY)
      dtype('V8')
    """
    return dtype.host if dtype.__class__ is ExtendedDType else dtype


def readable(host: Any) -> Any:
    """The elements of a NumPy array as devices store them: keys as numbers, others unchanged.

    Example:
      >>> readable(weft.random.key(3).host())
      array(12884901888, dtype=uint64)
    """
    return host.view(_STORED[host.dtype]) if host.dtype in _STORED else host


_STORED = {dtype.host: dtype.stored for dtype in KEYS}


def no_numbers(operation: str, aval: object) -> TypeError:
    """The error for an operation on numbers that is called with keys.

    Args:
      aval: the aval of the keys.
    """
    return TypeError(
        f"{operation}: expected numbers; got keys, {aval}, which have no arithmetic\n"
        "  fix: random.key_data(keys) gives their uint32 words; random.split and random.fold_in "
        "make new keys"
    )
