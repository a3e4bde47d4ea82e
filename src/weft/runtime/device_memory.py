"""Shares an accelerator's memory with other libraries by DLPack."""

from typing import Any

import numpy as np

from . import capsules, versions
from .buffer import block_until_ready, device_of, dlpack_capsule
from .client import Device, local_devices
from .executable import BufferType, RawBuffer
from .failures import PlatformError, text_of

KINDS = {"cuda": 2, "rocm": 10}
"""DLPack's numbers for the memory of accelerators, by the names of clients."""


def place_of(buffer: RawBuffer) -> tuple[int, int] | None:
    """DLPack's name of the device that holds a buffer; `None` if DLPack has no name for it."""
    device = device_of(buffer)
    kind = KINDS.get(device.client.name)
    return None if kind is None else (kind, device.local_hardware_id or 0)


def shared(buffer: RawBuffer, stream: int | None) -> Any:
    """A capsule of a buffer on an accelerator, which shares its memory and keeps it alive.

    Args:
      stream: the consumer's stream, which then waits for the buffer. Without one the host waits.
    """
    if stream is None or stream < 0:
        block_until_ready(buffer)
        return dlpack_capsule(buffer)
    return dlpack_capsule(buffer, int(stream))


def received(x: Any) -> tuple[RawBuffer, tuple[int, ...], np.dtype[Any], Device]:
    """A buffer that shares the memory of another library's array on an accelerator.

    Returns: the buffer, its shape, its dtype, its device.
    Raises: BufferError: weft has no such device, or XLA cannot use the memory without a copy.
    """
    kind, number = x.__dlpack_device__()
    device = _device_named(int(kind), int(number))
    try:
        stream = device.raw.get_stream_for_external_ready_events()
        capsule = x.__dlpack__(stream=stream)
        shape, dtype = capsules.type_in(capsule)
        with versions.without_jax():
            foreign = versions.load().xla.dlpack_managed_tensor_to_buffer(
                capsule, device.raw, stream
            )
        copy = device.transfer(
            BufferType(shape, dtype),
            device.sharding,
            [foreign],
            [device.raw],
            True,
            False,
            enable_x64=True,
        )
    except RuntimeError as error:
        raise BufferError(
            f"from_dlpack: XLA can't use the memory of this {type(x).__name__}: {text_of(error)}\n"
            "  fix: make it contiguous, x.contiguous(), or copy it"
        ) from None
    return copy, shape, dtype, device


def _device_named(kind: int, number: int) -> Device:
    names = [name for name, k in KINDS.items() if k == kind]
    if names:
        try:
            devices = local_devices("gpu")
        except PlatformError:
            devices = []
        for device in devices:
            if device.client.name in names and device.local_hardware_id == number:
                return device
    raise BufferError(
        f"from_dlpack: the array is on device {number} of DLPack's kind {kind}, which weft doesn't "
        "use here\n  fix: copy it to the CPU first, x.cpu()"
    )
