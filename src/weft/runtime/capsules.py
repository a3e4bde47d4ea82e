"""DLPack capsules of NumPy arrays with dtypes that NumPy cannot export: bfloat16, float8.

A capsule is made for unsigned integers of the same width, and its dtype code is changed afterwards.
Source: dlpack.h, version 1.1.
"""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

CODES: dict[np.dtype[Any], int] = {
    np.dtype(ml_dtypes.bfloat16): 4,
    np.dtype(ml_dtypes.float8_e3m4): 7,
    np.dtype(ml_dtypes.float8_e4m3): 8,
    np.dtype(ml_dtypes.float8_e4m3b11fnuz): 9,
    np.dtype(ml_dtypes.float8_e4m3fn): 10,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 11,
    np.dtype(ml_dtypes.float8_e5m2): 12,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 13,
    np.dtype(ml_dtypes.float8_e8m0fnu): 14,
}
"""DLPack's number for a dtype."""

_NAMED = {(code, 8 * dtype.itemsize): dtype for dtype, code in CODES.items()}
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # of NumPy's dtypes, by DLPack's numbers
_UNSIGNED = {1: np.uint8, 2: np.uint16}
ON_HOST = (1, 3, 11, 13)
"""DLPack's numbers for memory that the CPU reads: its own, CUDA's and ROCm's pinned, managed."""


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
# A prototype of our own, because setting `argtypes` on `pythonapi`'s functions would affect others.
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _tensor_of(capsule: object) -> _Tensor:
    """The description of an array in a capsule, to be read or changed in place."""
    for name, kind in ((b"dltensor", _Tensor), (b"dltensor_versioned", _Versioned)):
        if _is_valid(capsule, name):
            struct: Any = kind.from_address(_get_pointer(capsule, name))
            return struct if kind is _Tensor else struct.tensor
    raise ValueError("from_dlpack: expected a DLPack capsule that was not read before")


def type_in(capsule: object) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of the array in a capsule.

    Raises: BufferError: NumPy and ml_dtypes have no such dtype.
    """
    tensor = _tensor_of(capsule)
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    letter = _LETTERS.get(code, "")
    dtype = _NAMED.get((code, bits))
    if dtype is None and letter and bits >= 8 and lanes == 1:
        dtype = np.dtype(f"{letter}{bits // 8}")
    if dtype is None or lanes != 1:
        raise BufferError(
            f"from_dlpack: expected an array of numbers; got DLPack's type {code} of {bits} bits"
        )
    return tuple(tensor.shape[: tensor.ndim]), dtype


def exported(host: np.ndarray[Any, Any], options: dict[str, Any]) -> Any:
    """A capsule of a NumPy array, which shares its memory.

    Args:
      options: as for `__dlpack__`.
    Raises: BufferError: DLPack has no such dtype.
    """
    code = CODES.get(host.dtype)
    if code is None and host.dtype.kind == "V":
        raise BufferError(
            f"__dlpack__: DLPack has no arrays of {host.dtype.name} with an element in each byte\n"
            "  fix: convert with .astype"
        )
    if code is None:
        return host.__dlpack__(**options)
    capsule = host.view(_UNSIGNED[host.dtype.itemsize]).__dlpack__(**options)
    _tensor_of(capsule).dtype.code = code
    return capsule


def imported(capsule: object) -> np.ndarray[Any, Any] | None:
    """The array in a capsule, if it is on the host and its dtype is in `CODES`; otherwise `None`.

    It shares the memory, and keeps the capsule, which frees the memory in the end.
    """
    tensor = _tensor_of(capsule)
    dtype = _NAMED.get((tensor.dtype.code, tensor.dtype.bits))
    if dtype is None or tensor.dtype.lanes != 1 or tensor.device_type not in ON_HOST:
        return None
    shape = tuple(tensor.shape[: tensor.ndim])
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = None
    reach = dtype.itemsize * (int(np.prod(shape, dtype=np.int64)) or 1)
    if tensor.strides:
        steps = tensor.strides[: tensor.ndim]
        if any(step < 0 for step in steps):
            return None
        strides = tuple(step * dtype.itemsize for step in steps)
        reach = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + dtype.itemsize
    memory = (ctypes.c_char * reach).from_address(tensor.data + tensor.byte_offset)
    memory._owner = capsule  # type: ignore[attr-defined]
    return np.ndarray(shape, dtype, memory, strides=strides)  # type: ignore[arg-type]
