"""The dtypes of arrays in files: stored_type, to_stored and from_stored.

Dtypes that every release of safetensors reads are stored unchanged, so that other libraries can
read them. Other elements are stored in one of these dtypes: complex numbers as pairs of floats,
small integers as 8-bit integers, other small floats as their bits, and random keys as their words.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes
from ..extended_dtypes import KEYS

DTYPES: dict[str, Any] = {d.name: d for d in (*dtypes.DTYPES, *KEYS)}
"""The dtypes that a checkpoint may contain, by name."""

_CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "bfloat16": "BF16",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}
"""The dtypes that are stored unchanged, with their names in safetensors."""

_AS = {
    "complex64": "float32",
    "complex128": "float64",
    "int2": "int8",
    "int4": "int8",
    "uint2": "uint8",
    "uint4": "uint8",
}
"""The dtypes in which other dtypes are stored. Floats of 8 bits or fewer are stored as bits."""

_RANGES = {
    "bool": (0, 1),
    "int2": (-2, 1),
    "int4": (-8, 7),
    "uint2": (0, 3),
    "uint4": (0, 15),
    "float4_e2m1fn": (0, 15),
}
"""The valid bytes of an element, for dtypes that do not use all of them."""


@dataclass(frozen=True)
class StoredType:
    """The type of an array in a file."""

    dtype: np.dtype[Any]
    code: str
    """The name of the dtype in safetensors."""
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def stored_type(name: str, shape: tuple[int, ...]) -> StoredType:
    """The type in which an array of the dtype with this name is stored.

    Example:
      >>> stored_type("complex64", (3,))
      StoredType(dtype=dtype('float32'), code='F32', shape=(3, 2))
    """
    dtype = DTYPES[name]
    if dtype in KEYS:
        return StoredType(np.dtype(np.uint32), "U32", (*shape, dtype.words))
    stored = name if name in _CODES else _AS.get(name, "uint8")
    last = (2,) if name.startswith("complex") else ()
    return StoredType(np.dtype(DTYPES[stored]), _CODES[stored], (*shape, *last))


def to_stored(host: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """The elements of a NumPy array as stored in a file: in row-major order and this machine's byte
    order.

    Args:
      host: the array; keys are opaque bytes, as in `Array.host()`.
      name: the name of its dtype.
    """
    target = stored_type(name, host.shape)
    if name in _AS and not name.startswith("complex"):
        return np.asarray(host.astype(target.dtype), order="C")
    native = host if host.dtype.isnative else host.astype(host.dtype.newbyteorder("="))
    return _viewed(np.asarray(native, order="C"), target.dtype, target.shape)


def from_stored(raw: np.ndarray[Any, Any], name: str, shape: tuple[int, ...]) -> Any:
    """An array from its bytes in a file; the inverse of `to_stored`.

    Args:
      raw: uint8, as many as `stored_type(name, shape).nbytes`.
    Raises: ValueError: a byte is invalid for the dtype, such as 7 for booleans.
    """
    stored = stored_type(name, shape)
    dtype = DTYPES[name]
    if name in _RANGES and raw.size:
        least, most = _RANGES[name]
        numbers = raw.view(np.int8 if least < 0 else np.uint8)
        if numbers.min() < least or numbers.max() > most:
            raise ValueError(f"a byte that is not a {name}")
    if name in _AS and not name.startswith("complex"):
        return _viewed(raw, stored.dtype, stored.shape).astype(dtype)
    return _viewed(raw, np.dtype(dtype.host if dtype in KEYS else dtype), shape)


def _viewed(
    array: np.ndarray[Any, Any], dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """The same bytes as an array of another dtype and shape."""
    if array.dtype == dtype and array.shape == shape:
        return array
    if not array.size:  # NumPy can't view an empty array in every dtype
        return np.empty(shape, dtype)
    return array.reshape(-1).view(dtype).reshape(shape)
