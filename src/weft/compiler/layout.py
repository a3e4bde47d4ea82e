"""Arrays on several devices: how they lie, how they get there and back.

A `Layout` is an array's aval and its division among devices. There is one object for equal ones, so
that a compiled program can be looked up by those of its arguments (`transforms/jit/dispatch.py`).
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from ..core.array import Array, PlacedArray
from ..core.aval import Aval, aval
from ..core.bounded import remember
from ..core.sharded_array import ShardedArray
from ..core.source import noted
from ..runtime import buffer as buffers, group as groups, parts, transfers
from ..runtime.group import Group, Tiling
from ..sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding


class Layout:
    """An aval, and which part of such arrays each device of a group has."""

    __slots__ = ("__weakref__", "aval", "group", "mine", "tiling")

    def __init__(self, aval: Aval, group: Group, tiling: Tiling) -> None:
        self.aval, self.group, self.tiling = aval, group, tiling
        lengths = [n // parts for n, parts in zip(aval.shape, tiling.parts, strict=True)]
        places = list(np.ndindex(*tiling.parts))
        self.mine = []  # which part each device of this process has, in their order
        for i in group.local:
            place = places[tiling.owners.index(i) // tiling.copies]
            self.mine.append(
                tuple(slice(k * n, (k + 1) * n) for k, n in zip(place, lengths, strict=True))
            )


_layouts: dict[Any, Layout] = {}
_of_sharding: dict[Any, Layout] = {}


def layout(a: Aval, group: Group, tiling: Tiling) -> Layout:
    """The one object for this aval and division."""
    found = _layouts.get((a, group, tiling))
    if found is None:
        found = _layouts.setdefault((a, group, tiling), Layout(a, group, tiling))
    return found


def layout_of(a: Aval, sharding: Sharding, group: Group | None = None) -> Layout:
    """The layout of arrays of an aval with a sharding.

    Args:
      group: the devices of the sharding, perhaps in another order.
    Raises: ValueError: the sharding can't divide such arrays.
    """
    found = _of_sharding.get((a, sharding, group))
    if found is None:
        next(sharding.indices(a.shape))  # refuses what can't be divided
        by = group or groups.group_of(sharding.devices)
        made = layout(a, by, tiling_of(sharding, a.ndim, by))
        found = remember(_of_sharding, (a, sharding, group), made)
    return found


def tiling_of(sharding: Sharding, ndim: int, group: Group) -> Tiling:
    """The division that a sharding says, with devices counted as in a group."""
    parts, owners = sharding.division(ndim)
    if sharding.devices != group.devices:
        owners = np.array([group.devices.index(d) for d in sharding.devices])[owners]
    return groups.tiling(parts, owners)


def sharding_of(tiling: Tiling, group: Group, meshes: Sequence[Mesh]) -> Sharding:
    """A division in terms of one of these meshes if there is a way, else of a mesh of its own."""
    for mesh in meshes:
        if set(mesh.devices.flat) == set(group.devices):
            for spec in _specs(mesh, tiling.parts, 0, ()):
                sharding = NamedSharding(mesh, PartitionSpec(*spec))
                if tiling_of(sharding, len(tiling.parts), group) == tiling:
                    return sharding
    if len(group.devices) == 1:
        return SingleDeviceSharding(group.devices[0])
    split = [(i, n) for i, n in enumerate(tiling.parts) if n > 1]
    devices = np.array(group.devices, object)[list(tiling.owners)]
    own = Mesh(
        devices.reshape([n for _, n in split] + [tiling.copies]),
        (*[f"axis{i}" for i, _ in split], "copies"),
    )
    names = dict((i, f"axis{i}") for i, _ in split)
    return NamedSharding(own, PartitionSpec(*[names.get(i) for i in range(len(tiling.parts))]))


def _specs(mesh: Mesh, parts: Sequence[int], axis: int, used: tuple[Any, ...]) -> Any:
    """All specs in which the mesh divides the axes from number `axis` on into so many parts."""
    if all(n == 1 for n in parts[axis:]):
        yield ()
        return
    for names in _products(mesh, parts[axis], used):
        part = None if not names else names[0] if len(names) == 1 else names
        for rest in _specs(mesh, parts, axis + 1, used + names):
            yield (part, *rest)


def _products(mesh: Mesh, count: int, used: tuple[Any, ...]) -> Any:
    """All sequences of unused axes of the mesh whose lengths multiply to `count`."""
    if count == 1:
        yield ()
        return
    for name, n in mesh.shape.items():
        if n > 1 and name not in used and count % n == 0:
            for rest in _products(mesh, count // n, (*used, name)):
                yield (name, *rest)


# --- to devices and back ---


def spread(
    host: np.ndarray[Any, Any], to: Layout, sharding: Sharding, *, alias: bool = False
) -> ShardedArray:
    """An array put on devices, each of which gets its part; the copying may go on afterwards.

    Args:
      alias: `host` will not be written to any more.
    """
    return ShardedArray(to.aval, sharding, to, put(host, to, alias=alias))


def put(host: np.ndarray[Any, Any], to: Layout, *, alias: bool) -> Any:
    """The buffer of an array put on devices; see `spread`."""
    transfers.sending(to.aval, to.group)
    mine = [host[index] for index in to.mine]
    return parts.put_parts(mine, host.shape, host.dtype, to.group, to.tiling, alias=alias)


def spread_array(x: Array, sharding: Sharding, group: Group | None = None) -> ShardedArray:
    """Any array that this process has all of, put on devices as said; see `layout_of`."""
    to = layout_of(x.aval, sharding, group)
    if x.__class__ is ShardedArray and x.layout is to:
        return ShardedArray(x.aval, sharding, to, live_buffer(x))
    # a literal stays on the host, even if it was once on a device
    if x._buffer is not None and (x._host is None or x.aval.ndim):
        transfers.copying(x.aval, x.sharding, sharding)
    return spread(np.asarray(x.host()), to, sharding, alias=True)


def reordered(x: ShardedArray, group: Group) -> ShardedArray:
    """The same array, with its devices counted in the order of a group of them; nothing moves."""
    own = x.layout.group
    raw = parts.parts_of(live_buffer(x))
    on = {own.devices[i]: part for i, part in zip(own.local, raw, strict=True)}
    to = layout_of(x.aval, x._sharding, group)
    there = [on[group.devices[i]] for i in group.local]
    return of_parts(there, to, x._sharding)


def of_parts(raw: Sequence[Any], to: Layout, sharding: Sharding) -> ShardedArray:
    """The array whose parts this process's devices have, in their order; nothing is copied."""
    a = to.aval
    return ShardedArray(a, sharding, to, parts.joined(raw, a.shape, a.dtype, to.group, to.tiling))


def live_buffer(x: ShardedArray) -> Any:
    """Its buffer; an error if its memory was given back."""
    if x._buffer is None or buffers.is_deleted(x._buffer):
        raise noted(
            errors.DeletedArrayError(
                f"a {x.aval} array on {len(x.layout.group.devices)} devices has been deleted or "
                "donated: its memory is gone\n  fix: don't use an array after passing it in "
                "donate_argnums or calling delete()"
            )
        )
    return x._buffer


def part_arrays(x: ShardedArray) -> list[PlacedArray]:
    """The parts that this process's devices have, in their order."""
    group = x.layout.group
    raw = parts.parts_of(live_buffer(x))
    part = aval(x._sharding.shard_shape(x.aval.shape), x.aval.dtype, x.aval.weak_type)
    arrays = []
    for r, i in zip(raw, group.local, strict=True):
        device = group.devices[i]
        if part.size:
            own = parts.as_own(r, part.shape, part.dtype, device)
        else:  # XLA doesn't divide arrays without elements
            own = buffers.put(np.empty(part.shape, part.dtype), device)
        arrays.append(PlacedArray(None, part, own, device))
    return arrays


def gathered(x: ShardedArray) -> np.ndarray[Any, Any]:
    """The elements of all parts, on the host."""
    if not x.layout.group.is_local and not x.is_fully_replicated:
        raise noted(
            ValueError(
                f"this {x.aval} array is on devices of several processes: this one doesn't have "
                "all of its elements\n  fix: x.addressable_shards has what is here; "
                "experimental.multihost_utils.process_allgather(x) fetches the rest"
            )
        )
    transfers.fetching(x.aval, x.layout.group)
    if x.is_fully_replicated:
        first = part_arrays(x)[0]
        return np.asarray(first.host())
    host = np.empty(x.aval.shape, x.aval.dtype)
    for shard in x.addressable_shards:
        if not shard.replica_id:
            host[shard.index] = shard.data.host()
    host.flags.writeable = False
    return host


# --- several processes: what one of them has, as an array of its own ---


def from_processes(x: Array, sharding: NamedSharding, axis: int | None, count: int) -> ShardedArray:
    """This process's part of an array that lies on devices of several processes.

    Args:
      x: the part: along `axis`, one element for each device of this process; all of it if `None`.
      sharding: of the whole, over the devices of all processes.
    """
    local = local_sharding(sharding)
    if x.__class__ is not ShardedArray or layout_of(x.aval, local) is not x.layout:
        x = spread_array(x, local)
    shape = tuple(n * count if i == axis else n for i, n in enumerate(x.aval.shape))
    to = layout_of(x.aval.update(shape=shape), sharding)
    return of_parts(parts.parts_of(live_buffer(x)), to, sharding)


def to_process(x: ShardedArray, axis: int | None, count: int) -> ShardedArray:
    """The part of an array that this process's devices have, as an array."""
    local = local_sharding(x._sharding)
    shape = tuple(n // count if i == axis else n for i, n in enumerate(x.aval.shape))
    to = layout_of(x.aval.update(shape=shape), local)
    return of_parts(parts.parts_of(live_buffer(x)), to, local)


def local_sharding(sharding: NamedSharding) -> NamedSharding:
    """The same sharding over this process's devices, which are along the mesh's first axis."""
    return NamedSharding(_local_mesh(sharding.mesh), sharding.spec)


@functools.lru_cache(1024)
def _local_mesh(mesh: Mesh) -> Mesh:
    mine = [d for d in mesh.devices.flat if d.process_index == d.client.process_index]
    return Mesh(np.array(mine, object).reshape(-1, *mesh.devices.shape[1:]), mesh.axis_names)
