"""Buffers on several devices, made of parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import versions
from .buffer import aligned_empty, not_put
from .client import Device, elsewhere, process
from .executable import BufferType, RawBuffer
from .failures import fork_error
from .group import Group, Tiling


def put_parts(
    parts: Sequence[Any],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    group: Group,
    tiling: Tiling,
    *,
    alias: bool = False,
) -> RawBuffer:
    """Starts to copy parts of an array to this process's devices of a group, in their order.

    Args:
      parts: a NumPy array for each device of this process.
      shape, dtype: of the whole array.
      alias: True if the parts are never written to again, so that their memory may be used.
    """
    if process.forked:
        raise fork_error()
    if not group.local:
        raise elsewhere(", ".join(map(str, group.devices)))
    if not alias and len({p.ctypes.data for p in parts}) < len(parts):
        # XLA fails if it has to copy one block of memory for several devices
        parts, alias = own_copies(parts), True
    devices = [group.devices[i].raw for i in group.local]
    try:
        return group.lib.xla.batched_device_put(
            BufferType(shape, dtype),
            group.sharding_of(tiling),
            list(parts),
            devices,
            True,
            not alias,
            enable_x64=True,
        )
    except RuntimeError as error:
        raise not_put(error, dtype) from None


def own_copies(parts: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Copies that devices can use in place. A part that several devices share is copied once, which
    is much faster than a copy for each."""
    copy_at: dict[Any, np.ndarray[Any, Any]] = {}
    copies = []
    for part in parts:
        place = part.ctypes.data, part.shape, part.strides
        if place not in copy_at:
            copy_at[place] = aligned_empty(part.shape, part.dtype)
            copy_at[place][...] = part
        copies.append(copy_at[place])
    return copies


def joined(
    parts: Sequence[RawBuffer],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    group: Group,
    tiling: Tiling,
) -> RawBuffer:
    """One buffer of those that this process's devices have, in their order; nothing is copied."""
    xla = group.lib.xla
    return xla.ArrayImpl(
        BufferType(shape, dtype), group.sharding_of(tiling), list(parts), True, True
    )


def parts_of(buffer: RawBuffer) -> list[RawBuffer]:
    """The buffers of this process's devices, in their order; nothing is copied."""
    with versions.without_jax():
        return list(buffer._arrays)


def as_own(
    part: RawBuffer, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device
) -> RawBuffer:
    """A part as an ordinary buffer of its device; nothing is copied."""
    return part._rewrap_with_aval_and_sharding(BufferType(shape, dtype), device.sharding)
