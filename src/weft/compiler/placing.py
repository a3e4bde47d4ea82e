"""Puts arrays on devices, moves them between devices, and gathers them on the host.

These functions never run a program. A new sharding needs one (`compiled.py: reshard`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from ..core.array import Array, as_value, unshared
from ..core.aval import aval
from ..core.kernels import cast_on_host
from ..core.placement import ArrayType, Layout, joined_placement, on_device, same_parts, type_on
from ..dtypes import canonicalize_dtype
from ..extended_dtypes import host_dtype, is_extended, readable, stored
from ..runtime import buffer as buffers, client, parts, transfers
from ..runtime.client import Device
from ..runtime.executable import RawBuffer
from ..runtime.group import Group
from ..sharding import NamedSharding
from ..user_lines import noted
from .layout import layout_of, local_sharding

# --- one device ---


def buffer_on(array: Array, device: Device) -> RawBuffer:
    """The array's buffer on a device. An uncommitted array keeps its copy on the default device."""
    placement, buffer = array.type.placement, array._buffer
    if placement.group is not None:
        transfers.copying(array.aval, placement.sharding, device)
        return buffers.put(array.host(), device, alias=True)
    home = placement.device or client.default_device()
    if buffer is None:
        transfers.sending(array.aval, device)
        buffer = buffers.put(np.asarray(array.host()), device, alias=True)
        if home is device:
            array._buffer = buffer
        return buffer
    if home is device:
        return buffer
    if array._host is not None and not array.aval.ndim:  # a literal that is already on a device
        transfers.sending(array.aval, device)
        return buffers.put(np.asarray(array._host), device, alias=True)
    transfers.copying(array.aval, home, device)
    return buffers.copy_to(buffer, device, array.aval.shape, stored(array.aval.dtype))


def platform_of_types(name: str, types: Sequence[ArrayType]) -> str:
    """The platform on which an operation `name` with arguments of these types runs."""
    where = joined_placement(name, types, range(len(types)))
    if where.committed:
        return str(where.devices[0].platform)
    return (client.chosen_device() or client.default_device()).platform


def argument_buffer(x: object, device: Device) -> RawBuffer:
    """The buffer of an argument of a call, which may be any array-like value."""
    if x.__class__ is np.ndarray:
        dtype = canonicalize_dtype(x.dtype)
        return buffers.put(x if x.dtype == dtype else cast_on_host(x, dtype), device, alias=False)
    return buffer_on(as_value(x), device)


def put_on_accelerator(host: object, device: Device | None) -> Array | None:
    """Copies a NumPy array to an accelerator at once; returns `None` for other devices.

    Args:
      device: the device to which the array is committed; `None` for the default device.
    """
    to = device or client.chosen_device() or client.default_device()
    if host.__class__ is not np.ndarray or to.platform == "cpu" or not host.dtype.isbuiltin:
        return None
    array_aval = aval(host.shape, canonicalize_dtype(host.dtype))
    kind: ArrayType = array_aval
    if device is not None or to is not client.default_device():
        kind = type_on(array_aval, on_device(to, device is not None))
    transfers.sending(array_aval, to)
    return Array(None, kind, argument_buffer(host, to))


def move(x: Array, device: Device, committed: bool = True) -> Array:
    """The array on a device, committed to it."""
    to = type_on(x.aval, on_device(device, committed))
    return x if x.type is to else Array(x._host, to, buffer_on(unshared(x), device))


def with_default_device(x: Any) -> Any:
    """Puts an uncommitted value on the device that the switch `default_device` names."""
    chosen = client.chosen_device()
    if chosen is None or x.type is not x.aval:
        return x
    return move(x, chosen, committed=False)


def duplicate(x: Array) -> Array:
    """The same array as a new object. Deleting or donating the new object does not affect this
    one."""
    if x._host is not None:  # XLA never writes to NumPy's memory
        return Array(x._host, x.type)
    buffer, placement = live_buffer(x), x.type.placement
    if placement.group is None:
        device = placement.device or client.default_device()
        return Array(None, x.type, buffers.copy_to(buffer, device, x.aval.shape, x.aval.dtype))
    mine = [placement.group.devices[i] for i in placement.group.local]
    parts_of_x = zip(shard_arrays(x), mine, strict=True)
    copies = [buffers.copy_to(p._buffer, d, p.aval.shape, p.aval.dtype) for p, d in parts_of_x]
    return of_parts(copies, layout_of(x.aval, x.sharding, placement.group))


# --- several devices ---


def put_array(host: np.ndarray[Any, Any], to: Layout, *, alias: bool = False) -> Array:
    """Puts an array on devices, each of which gets its part. Copying may continue after the call.

    Args:
      alias: True if `host` is never written to again.
    """
    return Array(None, to, sharded_buffer(host, to, alias=alias))


def sharded_buffer(host: np.ndarray[Any, Any], to: Layout, *, alias: bool) -> RawBuffer:
    """Puts an array on devices and returns its buffer; see `put_array`."""
    transfers.sending(to.aval, to.group)
    host = readable(host)
    mine = [host[index] for index in to.local_indices]
    return parts.put_parts(mine, host.shape, host.dtype, to.group, to.tiling, alias=alias)


LARGE_ARRAY_BYTES = 1 << 16  # bytes


def host_buffer(x: object, to: Layout) -> RawBuffer:
    """The buffer of an argument on the host. Copying may continue after the call."""
    if x.__class__ is not np.ndarray:
        return sharded_buffer(np.asarray(as_value(x).host()), to, alias=True)
    # The caller may write to a NumPy array. XLA copies its parts, but a small one is copied faster
    # here, as a whole.
    dtype = stored(to.aval.dtype)
    host = x if x.dtype == dtype else cast_on_host(x, dtype)
    large = x.nbytes >= LARGE_ARRAY_BYTES
    return sharded_buffer(host if large or host is not x else x.copy(), to, alias=not large)


def shard(x: Array, to: Layout) -> Array:
    """Puts an array that this process holds entirely on devices, by way of the host."""
    if same_parts(x.type, to):
        return x if x.type is to else Array(None, to, live_buffer(x))
    # a literal stays on the host, even if it was once on a device
    if x._buffer is not None and (x._host is None or x.aval.ndim):
        transfers.copying(x.aval, x.sharding, to.sharding)
    return put_array(np.asarray(x.host()), to, alias=True)


def reorder(x: Array, group: Group) -> Array:
    """The same array with its devices in the order of a group. The data does not move."""
    current_group = x.type.placement.group
    raw = parts.parts_of(live_buffer(x))
    on = {current_group.devices[i]: part for i, part in zip(current_group.local, raw, strict=True)}
    to = layout_of(x.aval, x.sharding, group)
    return of_parts([on[group.devices[i]] for i in group.local], to)


def of_parts(raw: Sequence[RawBuffer], to: Layout) -> Array:
    """Makes an array of the parts on this process's devices, in their order, without copying."""
    a = to.aval
    return Array(None, to, parts.joined(raw, a.shape, stored(a.dtype), to.group, to.tiling))


def live_buffer(x: Array) -> RawBuffer:
    """The array's buffer. Raises an error if its memory was freed."""
    if x._buffer is None or buffers.is_deleted(x._buffer):
        where = x.type.placement
        on = "" if where.group is None else f" on {len(where.devices)} devices"
        raise noted(
            errors.DeletedArrayError(
                f"a {x.aval} array{on} has been deleted or donated: its memory is gone\n"
                "  fix: don't use an array after passing it in donate_argnums or calling delete()"
            )
        )
    return x._buffer


# --- back ---


def shard_arrays(x: Array) -> list[Array]:
    """The parts on this process's devices, in their order; for one device, the whole array."""
    placement = x.type.placement
    if placement.group is None:
        if x._host is None:
            live_buffer(x)
        return [x]
    raw = parts.parts_of(live_buffer(x))
    part = aval(x.sharding.shard_shape(x.aval.shape), x.aval.dtype, x.aval.weak_type)
    arrays, dtype = [], stored(part.dtype)
    for r, i in zip(raw, placement.group.local, strict=True):
        device = placement.group.devices[i]
        if part.size:
            buffer = parts.as_own(r, part.shape, dtype, device)
        else:  # XLA does not divide empty arrays
            buffer = buffers.put(np.empty(part.shape, dtype), device)
        arrays.append(Array(None, type_on(part, on_device(device)), buffer))
    return arrays


def gather(x: Array) -> np.ndarray[Any, Any]:
    """The elements of an array as a NumPy array."""
    placement = x.type.placement
    group = placement.group
    if group is None:
        buffer = live_buffer(x)
        transfers.fetching(x.aval, x.device)
        dtype = x.aval.dtype
        host = buffers.to_host(buffer, x.aval.shape, stored(dtype))
        return host.view(host_dtype(dtype)) if is_extended(dtype) else host
    if not group.is_local and not x.is_fully_replicated:
        raise noted(
            ValueError(
                f"this {x.aval} array is on devices of several processes: this one doesn't have "
                "all of its elements\n  fix: x.addressable_shards has the local parts; "
                "experimental.multihost_utils.process_allgather(x) fetches the rest"
            )
        )
    transfers.fetching(x.aval, group)
    if x.is_fully_replicated:
        return np.asarray(shard_arrays(x)[0].host())
    host = np.empty(x.aval.shape, host_dtype(x.aval.dtype))
    for shard in x.addressable_shards:
        if not shard.replica_id:
            host[shard.index] = shard.data.host()
    host.flags.writeable = False
    return host


# --- several processes: the part of one process as an array ---


def from_processes(x: Array, sharding: NamedSharding, axis: int | None, count: int) -> Array:
    """This process's part of an array that lies on devices of several processes.

    Args:
      x: the part: along `axis`, one element for each device of this process; all of it if `None`.
      sharding: the sharding of the whole array, over the devices of all processes.
    """
    x = shard(x, layout_of(x.aval, local_sharding(sharding)))
    shape = tuple(n * count if i == axis else n for i, n in enumerate(x.aval.shape))
    return of_parts(parts.parts_of(live_buffer(x)), layout_of(x.aval.update(shape=shape), sharding))


def to_process(x: Array, axis: int | None, count: int) -> Array:
    """The part of an array on this process's devices, as an array."""
    sharding: Any = x.sharding
    shape = tuple(n // count if i == axis else n for i, n in enumerate(x.aval.shape))
    to = layout_of(x.aval.update(shape=shape), local_sharding(sharding))
    return of_parts(parts.parts_of(live_buffer(x)), to)
