"""Converts between users' shardings and the types of arrays on several devices."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Jaxpr, subjaxprs
from ..core.placement import ArrayType, Layout, OnGroup, Placement, on_device, type_on
from ..runtime import group as groups
from ..runtime.client import Device
from ..runtime.group import Group, Tiling
from ..sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding


@functools.lru_cache(4096)
def layout_of(a: Aval, sharding: Sharding, group: Group | None = None) -> Layout:
    """The type of arrays of an aval with a sharding.

    Args:
      group: the devices of the sharding, perhaps in another order.
    Raises: ValueError: the sharding cannot divide such arrays.
    """
    next(sharding.indices(a.shape))  # raises an error for arrays that cannot be divided
    group = group or groups.group_of(sharding.devices)
    tiling = sharding_tiling(sharding, a.ndim, group)
    lengths = [n // parts for n, parts in zip(a.shape, tiling.parts, strict=True)]
    places = list(np.ndindex(*tiling.parts))
    indices = []
    for i in group.local:
        place = places[tiling.owners.index(i) // tiling.copies]
        indices.append(
            tuple(slice(k * n, (k + 1) * n) for k, n in zip(place, lengths, strict=True))
        )
    return Layout(a, OnGroup(sharding, group), tiling, indices)


def type_with(a: Aval, sharding: Sharding | None) -> ArrayType:
    """The type of arrays of an aval with a sharding; the aval itself if the sharding is `None`."""
    if sharding is None:
        return a
    if isinstance(sharding, SingleDeviceSharding):
        return type_on(a, on_device(sharding.device))
    return layout_of(a, sharding)


def sharding_tiling(sharding: Sharding, ndim: int, group: Group) -> Tiling:
    """The tiling of a sharding, with devices counted as in a group."""
    parts, owners = sharding.division(ndim)
    if sharding.devices != group.devices:
        owners = np.array([group.devices.index(d) for d in sharding.devices])[owners]
    return groups.tiling(parts, owners)


def sharding_of(tiling: Tiling, group: Group, meshes: Sequence[Mesh]) -> Sharding:
    """A tiling as a sharding over the first of these meshes that can express it, or over a new
    mesh."""
    for mesh in meshes:
        if set(mesh.devices.flat) == set(group.devices):
            for spec in _specs(mesh, tiling.parts, 0, ()):
                sharding = NamedSharding(mesh, PartitionSpec(*spec))
                if sharding_tiling(sharding, len(tiling.parts), group) == tiling:
                    return sharding
    if len(group.devices) == 1:
        return SingleDeviceSharding(group.devices[0])
    divided = [(i, n) for i, n in enumerate(tiling.parts) if n > 1]
    devices = np.array(group.devices, object)[list(tiling.owners)]
    mesh_of_tiling = Mesh(
        devices.reshape([n for _, n in divided] + [tiling.copies]),
        (*[f"axis{i}" for i, _ in divided], "copies"),
    )
    names = dict((i, f"axis{i}") for i, _ in divided)
    return NamedSharding(
        mesh_of_tiling, PartitionSpec(*[names.get(i) for i in range(len(tiling.parts))])
    )


def _specs(
    mesh: Mesh, parts: Sequence[int], axis: int, used: tuple[object, ...]
) -> Iterator[tuple[Any, ...]]:
    """All specs by which the mesh divides the axes, from number `axis` on, into these parts."""
    if all(n == 1 for n in parts[axis:]):
        yield ()
        return
    for names in _products(mesh, parts[axis], used):
        part = None if not names else names[0] if len(names) == 1 else names
        for later in _specs(mesh, parts, axis + 1, used + names):
            yield (part, *later)


def _products(mesh: Mesh, count: int, used: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
    """All sequences of unused axes of the mesh whose lengths multiply to `count`."""
    if count == 1:
        yield ()
        return
    for name, n in mesh.shape.items():
        if n > 1 and name not in used and count % n == 0:
            for later in _products(mesh, count // n, (*used, name)):
                yield (name, *later)


_COPIES = ("copies",)  # the mesh axis along which arrays are replicated


@functools.lru_cache(256)
def replicated(group: Group) -> NamedSharding:
    """The layout with the whole array on each device of a group."""
    return NamedSharding(Mesh(group.devices, _COPIES), PartitionSpec())


def meshes_named(shardings: Sequence[Sharding | None], jaxpr: Jaxpr) -> list[Mesh]:
    """The meshes for the shardings of a program's results, the best first."""
    named = [s.mesh for s in shardings if isinstance(s, NamedSharding)]
    return [*[m for m in named if m.axis_names != _COPIES], *meshes_inside(jaxpr)]


@cached_on_program
def meshes_inside(jaxpr: Jaxpr) -> tuple[Mesh, ...]:
    """The meshes that a program's operations name."""
    meshes: dict[Mesh, None] = {}
    for e in jaxpr.equations:
        for name, value in e.params:
            if name == "mesh" and isinstance(value, Mesh):
                meshes[value] = None
            elif isinstance(value, NamedSharding):
                meshes[value.mesh] = None
        if e.primitive.effects is not None:
            for inner in subjaxprs(e.params):
                meshes.update(dict.fromkeys(meshes_inside(inner)))
    return tuple(meshes)


# --- placements of programs inside ---


@cached_on_program
def placement_inside(jaxpr: Jaxpr) -> Placement | None:
    """The devices for which functions called inside were jitted, or the devices of meshes named
    inside. Raises an error if there are two different ones."""
    placement: Placement | None = None
    for mesh in meshes_inside(jaxpr):
        placement = one_placement(jaxpr.name, placement, group_placement(mesh.device_tuple))
    for e in jaxpr.equations:
        if e.primitive.effects is not None:
            device = dict(e.params).get("device")
            if device is not None:
                placement = one_placement(jaxpr.name, placement, on_device(device))
            for inner in subjaxprs(e.params):
                placement = one_placement(jaxpr.name, placement, placement_inside(inner))
    return placement


def one_placement(name: str, outer: Placement | None, inner: Placement | None) -> Placement | None:
    """The placement that either one names. Raises an error if they name different ones."""
    if outer is None or inner is None:
        return outer or inner
    joined = outer.join(inner)
    if joined is None:
        outside, inside = [p.device if p.group is None else p.group for p in (outer, inner)]
        raise ValueError(
            f"jit: {name} is compiled as one program, for one device; it is to run on {outside}, "
            f"and a function that it calls on {inside}\n  fix: jit the outermost function for a "
            "device, or call the functions one after the other, outside jit"
        )
    return joined


@functools.lru_cache(256)
def group_placement(devices: tuple[Device, ...]) -> OnGroup:
    """The placement on a set of devices."""
    group = groups.group_of(devices)
    return OnGroup(replicated(group), group)


# --- several processes ---


def local_sharding(sharding: NamedSharding) -> NamedSharding:
    """The same sharding over this process's devices, along the mesh's first axis."""
    return NamedSharding(_local_mesh(sharding.mesh), sharding.spec)


@functools.lru_cache(1024)
def _local_mesh(mesh: Mesh) -> Mesh:
    mine = [d for d in mesh.devices.flat if d.process_index == d.client.process_index]
    return Mesh(np.array(mine, object).reshape(-1, *mesh.devices.shape[1:]), mesh.axis_names)
