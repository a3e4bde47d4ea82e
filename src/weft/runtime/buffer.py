"""Buffers: moves NumPy arrays to devices, between devices, and back."""

import ctypes
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..extended_dtypes import readable
from . import versions
from .client import Device, process
from .executable import BufferType, Executable, RawBuffer, compile_text
from .failures import DELETED, DeletedArrayError, fork_error, run_failure

ALIGNMENT = 64
"""XLA uses the memory of a NumPy array in place if it begins at a multiple of this."""


def aligned_empty(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Like `numpy.empty`, in memory that `put(…, alias=True)` need not copy."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def put(host: np.ndarray[Any, Any], device: Device, *, alias: bool = False) -> RawBuffer:
    """Copies a NumPy array (any strides, any byte order) to a device.

    Args:
      alias: True if the array is never written to again, so that its memory may be used in place.
    Raises: TypeError: XLA has no such dtype.
    """
    if process.forked:
        raise fork_error()
    dtype = host.dtype
    if not dtype.isbuiltin:  # keys, or XLA would read the bytes in the wrong order
        host = readable(host)
        dtype = host.dtype.newbyteorder("=")
        host = host.astype(dtype, copy=False)
    try:
        return device.transfer(
            BufferType(host.shape, dtype),
            device.sharding,
            [host],
            [device.raw],
            True,
            not alias,
            enable_x64=True,
        )
    except RuntimeError as error:
        raise not_put(error, dtype) from None


def not_put(error: RuntimeError, dtype: np.dtype[Any]) -> Exception:
    """weft's exception for one that XLA raised while an array was put on devices."""
    if "NumPy dtype" in str(error):
        return TypeError(f"put: arrays of dtype {dtype} can't be put on a device")
    return run_failure("put", error)


def copy_to(
    buffer: RawBuffer, device: Device, shape: Sequence[int], dtype: np.dtype[Any]
) -> RawBuffer:
    """Copies a buffer to a device, which may be its own, without waiting for it."""
    if process.forked:
        raise fork_error()
    try:
        if device.client is not device_of(buffer).client:
            return put(to_host(buffer, shape, dtype), device)
        return device.transfer(
            BufferType(tuple(shape), dtype),
            device.sharding,
            [buffer],
            [device.raw],
            True,
            True,
            enable_x64=True,
        )
    except RuntimeError as error:
        raise _failure("copy_to", error, buffer) from None


def device_of(buffer: RawBuffer) -> Device:
    """The device that holds a buffer."""
    return process.by_sharding[id(buffer._sharding)]


def to_host(buffer: RawBuffer, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Waits for a buffer and returns its elements as a read-only NumPy array.

    On the CPU the array shares the buffer's memory. Ctrl-C interrupts the wait.
    """
    if process.forked:
        _require_ready(buffer)
    try:
        buffer.block_until_ready()  # Ctrl-C works here, not in memoryview
        return np.asarray(memoryview(buffer))
    except RuntimeError as error:
        raise _failure("to_host", error, buffer) from None
    except BufferError:  # a dtype that Python's buffer protocol has no letter for, or no CPU memory
        return _to_host_otherwise(buffer, tuple(shape), dtype)


def _to_host_otherwise(
    buffer: RawBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    if buffer.is_deleted():
        raise DeletedArrayError(DELETED)
    lib = versions.load()
    if lib.has_to_np_array:
        host, _ = buffer._to_np_array_did_copy()
    elif buffer.platform() != "cpu":
        with versions.without_jax():
            host, _ = buffer._single_device_array_to_np_array_did_copy()
    elif dtype.name in _PACKED:
        host = _unpacked(buffer, shape, dtype)
    else:
        host = _through_pointer(buffer, shape, dtype)
    host.flags.writeable = False
    return host


# --- reading dtypes that jaxlib 0.10 cannot export ---

_PACKED = {
    "int2": ("i2", "i8"),
    "int4": ("i4", "i8"),
    "uint2": ("ui2", "ui8"),
    "uint4": ("ui4", "ui8"),
    "float4_e2m1fn": ("f4E2M1FN", "f32"),
}
"""Dtypes with several elements in a byte on the device, and the dtypes in which they are read."""

_unpackers: dict[Any, Executable] = {}
_unpackers_lock = threading.RLock()


def _unpacked(
    buffer: RawBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """Converts on the device to a type with whole bytes, and back here."""
    narrow, wide = _PACKED[dtype.name]
    wide_dtype = np.dtype({"i8": "int8", "ui8": "uint8", "f32": "float32"}[wide])
    device = device_of(buffer)
    key = shape, narrow, device
    with _unpackers_lock:
        program = _unpackers.get(key)
        if program is None:
            dims = "".join(f"{n}x" for n in shape)
            source, target = f"tensor<{dims}{narrow}>", f"tensor<{dims}{wide}>"
            text = (
                f"func.func public @main(%0: {source}) -> {target} {{\n"
                f"  %1 = stablehlo.convert %0 : ({source}) -> {target}\n"
                f"  return %1 : {target}\n}}"
            )
            if len(_unpackers) >= 64:
                _unpackers.clear()
            program = _unpackers[key] = compile_text(text, [(shape, wide_dtype)], device)
    (converted,) = program.execute([buffer])
    return to_host(converted, shape, wide_dtype).astype(dtype)


def _through_pointer(
    buffer: RawBuffer, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    size = math.prod(shape) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    capsule = dlpack_capsule(buffer)
    memory = (ctypes.c_char * size).from_address(_pointer(capsule))
    memory._owner = buffer, capsule  # type: ignore[attr-defined]
    return np.ndarray(shape, dtype, memory)  # type: ignore[arg-type]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _pointer(capsule: object) -> int:
    """The address of the elements: the first field of a DLTensor."""
    tensor = ctypes.cast(_get_pointer(capsule, b"dltensor"), ctypes.POINTER(ctypes.c_void_p))
    return tensor[0] or 0


# --- the state of a buffer ---


def block_until_ready(buffer: RawBuffer) -> None:
    """Waits until the buffer has been computed. Ctrl-C interrupts the wait.

    Raises: XlaRuntimeError: its computation failed. DeletedArrayError: it was deleted.
    """
    if process.forked:
        _require_ready(buffer)
    try:
        buffer.block_until_ready()
    except RuntimeError as error:
        raise _failure("block_until_ready", error, buffer) from None


def block_all_until_ready(buffers: Sequence[RawBuffer]) -> None:
    """Waits until all buffers have been computed: one call into XLA instead of one for each.

    Raises: XlaRuntimeError: a computation failed. DeletedArrayError: a buffer was deleted.
    """
    if not process.forked:
        try:
            versions.load().xla.batched_block_until_ready(buffers)
            return
        except RuntimeError:
            pass  # finds out which of them failed
    for buffer in buffers:
        block_until_ready(buffer)


def is_ready(buffer: RawBuffer) -> bool:
    """True if the computation of the buffer has ended or failed."""
    if buffer.is_deleted():  # jaxlib 0.10 would end the process with a segmentation fault
        raise DeletedArrayError(DELETED)
    return bool(buffer.is_ready())


def is_deleted(buffer: RawBuffer) -> bool:
    """True if the memory was freed or donated."""
    return bool(buffer.is_deleted())


def delete(buffer: RawBuffer) -> None:
    """Frees the memory once nothing reads it any more. A second call does nothing."""
    buffer.delete()


def on_device_size(buffer: RawBuffer) -> int:
    """The size in bytes, as the device stores the buffer."""
    try:
        return int(buffer.on_device_size_in_bytes())
    except RuntimeError as error:
        raise _failure("on_device_size", error, buffer) from None


def dlpack_capsule(buffer: RawBuffer, stream: int | None = None) -> Any:
    """The buffer as a DLPack capsule, which shares its memory and keeps it.

    Args:
      stream: of an accelerator: it waits until the buffer has been computed.
    """
    if buffer.is_deleted():
        raise DeletedArrayError(DELETED)
    try:
        return versions.load().xla.buffer_to_dlpack_managed_tensor(buffer, stream)
    except RuntimeError as error:
        raise _failure("dlpack", error, buffer) from None


def unsafe_pointer(buffer: RawBuffer) -> int:
    """The address of the memory; valid while the buffer lives and is not donated."""
    if buffer.is_deleted():
        raise DeletedArrayError(DELETED)
    lib = versions.load()
    try:
        return _pointer(lib.xla.buffer_to_dlpack_managed_tensor(buffer))
    except RuntimeError:  # a dtype that DLPack does not know
        with versions.without_jax():
            return int(buffer.unsafe_buffer_pointer())


def _require_ready(buffer: RawBuffer) -> None:
    """In a forked child, refuses buffers that are not ready: waiting for them would never end."""
    if not buffer.is_deleted() and not buffer.is_ready():
        raise fork_error()


def _failure(operation: str, error: RuntimeError, buffer: RawBuffer) -> RuntimeError:
    if buffer.is_deleted():
        return DeletedArrayError(f"{operation}: {DELETED}")
    return run_failure(operation, error)
