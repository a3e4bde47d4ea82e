"""Mesh, PartitionSpec, NamedSharding, SingleDeviceSharding, and Sharding, their base: the division
of arrays among devices, as plain values.

A mesh is an array of devices whose axes have names; a partition names the axes of the mesh that
split each axis of an array.
"""

import math
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ShapeError
from .scope import MESH, named_axis

__all__ = ["Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding"]

Index = tuple[slice, ...]


class Unconstrained:
    """An entry of a spec that lets the compiler decide about an axis."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = Unconstrained()

_entered = threading.local()  # the scopes that `with mesh:` has opened in this thread


class Mesh:
    """Devices in an array whose axes have names.

    Args:
      devices: an array (or nested list) of devices, one axis for each name.
      axis_names: names, or a single name. `Mesh((), ())` is not a mesh.
    Raises: ValueError: a device or a name is repeated, or the numbers of axes differ.
    Example:
      >>> import weft
      >>> Mesh(weft.devices()[:1], "x")
      Mesh(x=1)
    """

    def __init__(self, devices: object, axis_names: Any) -> None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        array = np.array(devices, dtype=object)
        if array.ndim != len(names) and (names or array.size):
            raise ValueError(
                f"Mesh: one name for each axis of the devices; got {len(names)} names {names} for "
                f"{array.ndim} axes {array.shape}"
            )
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh: axis names are repeated in {names}")
        if len(set(array.flat)) != array.size:
            raise ValueError("Mesh: a device is repeated")
        array.flags.writeable = False
        self.devices, self.axis_names = array, names
        self.device_tuple = tuple(array.flat)
        self._key = names, array.shape, self.device_tuple
        self._hash = hash(self._key)

    def __enter__(self) -> "Mesh":
        """Within the block, a `PartitionSpec` means a sharding over this mesh."""
        scope = named_axis(MESH, self)
        scope.__enter__()
        _entered.scopes = [*getattr(_entered, "scopes", ()), scope]
        return self

    def __exit__(self, *error: object) -> None:
        *_entered.scopes, scope = _entered.scopes
        scope.__exit__(*error)

    @property
    def empty(self) -> bool:
        """True if the mesh has no devices."""
        return not self.devices.size

    @property
    def are_all_axes_explicit(self) -> bool:
        """False: weft has no explicit axes, which make shardings a part of array types in JAX."""
        return False

    @property
    def device_ids(self) -> Any:
        """The numbers of the devices, in an array of the same shape."""
        return np.vectorize(lambda d: d.id, otypes=[int])(self.devices)

    @property
    def shape(self) -> Mapping[Hashable, int]:
        """The length of each axis."""
        return dict(zip(self.axis_names, self.devices.shape, strict=False))

    @property
    def size(self) -> int:
        """The number of devices."""
        return self.devices.size

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Mesh) and self._hash == other._hash and self._key == other._key
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{n}={size}' for n, size in self.shape.items())})"


class PartitionSpec(tuple[Any, ...]):
    """The axes of a mesh that split each axis of an array: a name, a tuple of names, or `None`.

    Axes without an entry are not split.

    Example:
      >>> PartitionSpec("x", None)
      PartitionSpec('x', None)
    """

    __slots__ = ()

    UNCONSTRAINED = UNCONSTRAINED
    """An entry for `with_sharding_constraint`: the compiler decides about this axis."""

    def __new__(cls, *parts: object) -> "PartitionSpec":
        return super().__new__(cls, parts)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)


class Sharding:
    """The assignment of the parts of an array to devices.

    Example:
      >>> import weft
      >>> isinstance(np.ones(3).sharding, weft.sharding.Sharding)
      True
    """

    memory_kind: str | None = None
    """The kind of memory: weft uses only the device's own."""

    @property
    def devices(self) -> tuple[Any, ...]:
        """The devices, in the order of the shards."""
        raise TypeError(f"{type(self).__name__}: expected one of its kinds, as NamedSharding")

    def indices(self, shape: Sequence[int]) -> Iterator[Index]:
        """The indices of each device's part of an array of this shape."""
        raise TypeError(f"{type(self).__name__}: expected one of its kinds, as NamedSharding")

    @property
    def is_open(self) -> bool:
        """True if XLA chooses the division of some axis."""
        return False

    @property
    def is_fully_addressable(self) -> bool:
        """True if all devices belong to this process."""
        return all(d.process_index == d.client.process_index for d in self.devices)

    @property
    def addressable_devices(self) -> set[Any]:
        """The devices that belong to this process."""
        return {d for d in self.devices if d.process_index == d.client.process_index}

    def is_equivalent_to(self, other: "Sharding", ndim: int) -> bool:
        """True if both put the same parts of arrays with `ndim` axes on the same devices."""
        if set(self.devices) != set(other.devices):
            return False
        divisions = []
        for sharding in (self, other):
            parts, owners = sharding.division(ndim)
            devices = np.array([d.id for d in sharding.devices])
            divisions.append((parts, np.sort(devices[owners], axis=-1).tolist()))
        return bool(divisions[0] == divisions[1])

    def division(self, ndim: int) -> tuple[tuple[int, ...], np.ndarray[Any, Any]]:
        """The number of parts of each axis of arrays with `ndim` axes, and the numbers of the
        `devices` that have each part: an array with one more axis, for copies."""
        return (1,) * ndim, np.arange(len(self.devices)).reshape(*[1] * ndim, -1)

    @property
    def _addressable_device_assignment(self) -> tuple[Any, ...]:
        """The devices of this process, in order. orbax asks for them by this name."""
        return tuple([device for device in self.devices if device in self.addressable_devices])

    @property
    def device_set(self) -> set[Any]:
        """The devices."""
        return set(self.devices)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.devices)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """The index of each device's part of an array of this shape."""
        return dict(zip(self.devices, self.indices(global_shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """The index of the part of each device of this process."""
        indices = self.devices_indices_map(global_shape)
        return {device: i for device, i in indices.items() if device in self.addressable_devices}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each part."""
        index = next(self.indices(global_shape))
        return tuple(
            len(range(*part.indices(n))) for part, n in zip(index, global_shape, strict=True)
        )

    @property
    def is_fully_replicated(self) -> bool:
        """True if each device has all of the array."""
        return len(self.devices) == 1


def check_memory(name: str, kind: str | None) -> None:
    """Refuses memory other than the device's own."""
    if kind not in (None, "device"):
        raise ValueError(
            f"{name}: memory_kind must be None or 'device', since weft keeps arrays in the memory "
            f"of their device; got {kind!r}\n  fix: leave it out"
        )


class SingleDeviceSharding(Sharding):
    """A whole array on one device.

    Args:
      device: the device.
      memory_kind: None or "device", the memory that weft keeps arrays in.

    Example:
      >>> import weft
      >>> from weft.sharding import SingleDeviceSharding
      >>> weft.device_put(np.ones(3), SingleDeviceSharding(weft.devices()[0])).sharding
      SingleDeviceSharding(CpuDevice(id=0))
    """

    def __init__(self, device: object, memory_kind: str | None = None) -> None:
        check_memory("SingleDeviceSharding", memory_kind)
        self.device = device

    @property
    def devices(self) -> tuple[Any, ...]:
        """The device."""
        return (self.device,)

    def indices(self, shape: Sequence[int]) -> Iterator[Index]:
        """The indices of the whole array."""
        yield (slice(None),) * len(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding({self.device!r})"


class NamedSharding(Sharding):
    """The division of an array over a mesh by a spec; replicated over the other axes of the mesh.

    Args:
      mesh: the devices.
      spec: the axes of the mesh that split each axis of the array.
    Raises: ValueError: `spec` names an axis that the mesh doesn't have, or names one twice.
    Example:
      >>> import weft
      >>> s = NamedSharding(Mesh(weft.devices()[:1], "x"), PartitionSpec("x"))
      >>> s.shard_shape((4, 2))
      (4, 2)
    """

    def __init__(self, mesh: Mesh, spec: PartitionSpec, memory_kind: str | None = None) -> None:
        check_memory("NamedSharding", memory_kind)
        if not isinstance(mesh, Mesh) or not isinstance(spec, PartitionSpec):
            raise TypeError(
                "NamedSharding: expected a Mesh and a PartitionSpec; got "
                f"{type(mesh).__name__} and {type(spec).__name__}"
            )
        names = [n for part in spec for n in _names(part)]
        unknown = [n for n in names if n not in mesh.axis_names]
        if unknown:
            raise ValueError(
                f"NamedSharding: {spec} names {unknown[0]!r}, which {mesh} does not have"
            )
        if len(set(names)) != len(names):
            raise ValueError(
                f"NamedSharding: an axis of the mesh can be named once; got {spec} for {mesh}"
            )
        self.mesh, self.spec = mesh, spec
        self._hash = hash((mesh, _trimmed(spec)))

    def update(
        self, *, mesh: Mesh | None = None, spec: PartitionSpec | None = None
    ) -> "NamedSharding":
        """The same sharding with another mesh or another spec."""
        return NamedSharding(mesh or self.mesh, self.spec if spec is None else spec)

    def of_batch(self, mesh_axes: Sequence[Hashable] = ()) -> "NamedSharding":
        """The sharding of batches of such arrays.

        Args:
          mesh_axes: the axes of the mesh that divide the new first axis; without any, XLA chooses.
        """
        first = tuple(mesh_axes) if mesh_axes else UNCONSTRAINED
        return NamedSharding(self.mesh, PartitionSpec(first, *self.spec))

    @property
    def is_open(self) -> bool:
        """True if XLA chooses the division of some axis."""
        return UNCONSTRAINED in self.spec

    def closed(self) -> "NamedSharding":
        """The same sharding with the unconstrained axes undivided."""
        if not self.is_open:
            return self
        spec = [None if part is UNCONSTRAINED else part for part in self.spec]
        return NamedSharding(self.mesh, PartitionSpec(*spec))

    @property
    def devices(self) -> tuple[Any, ...]:
        """The devices of the mesh, row by row."""
        return self.mesh.device_tuple

    def division(self, ndim: int) -> tuple[tuple[int, ...], np.ndarray[Any, Any]]:
        """See `Sharding.division`."""
        mesh = self.mesh
        parts = [_names(p) for p in self.spec] + [()] * (ndim - len(self.spec))
        counts = tuple(math.prod(mesh.shape[n] for n in names) for names in parts)
        used = [mesh.axis_names.index(n) for names in parts for n in names]
        unused = [i for i in range(len(mesh.axis_names)) if i not in used]
        numbers = np.arange(mesh.size).reshape(mesh.devices.shape).transpose(used + unused)
        return counts, numbers.reshape(*counts, -1)

    def indices(self, shape: Sequence[int]) -> Iterator[Index]:
        """The index of each device's part of an array of this shape."""
        sizes = self.mesh.shape
        if self.mesh.empty:
            raise ShapeError(
                "the sharding is over no devices: it belongs to a type, not to an array\n"
                "  fix: pass the sharding of an array, x.sharding"
            )
        if self.is_open:
            raise ValueError(
                f"{self.spec}: UNCONSTRAINED leaves a choice to XLA, which only "
                "lax.with_sharding_constraint can do"
            )
        if len(self.spec) > len(shape):
            raise ShapeError(
                f"{self.spec} has {len(self.spec)} entries, for an array of {len(shape)} axes"
            )
        parts = [_names(p) for p in self.spec] + [()] * (len(shape) - len(self.spec))
        counts = [math.prod(sizes[n] for n in names) for names in parts]
        for axis, (n, count) in enumerate(zip(shape, counts, strict=True)):
            if n % count:
                raise ShapeError(
                    f"{self.spec} splits axis {axis}, of length {n}, into {count} parts: it must "
                    "be a multiple"
                )
        for place in np.ndindex(*self.mesh.devices.shape):
            at = dict(zip(self.mesh.axis_names, place, strict=True))
            index = []
            for n, names, count in zip(shape, parts, counts, strict=True):
                i = 0
                for name in names:
                    i = i * sizes[name] + at[name]
                index.append(
                    slice(i * (n // count), (i + 1) * (n // count)) if names else slice(None)
                )
            yield tuple(index)

    @property
    def is_fully_replicated(self) -> bool:
        """True if each device has all of the array."""
        return all(self.mesh.shape[n] == 1 for part in self.spec for n in _names(part))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self._hash == other._hash
            and self.mesh == other.mesh
            and _trimmed(self.spec) == _trimmed(other.spec)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"NamedSharding({self.mesh}, {self.spec})"


NO_MESH = Mesh((), ())


def is_unstated(sharding: object) -> bool:
    """True for the sharding of a type, which names no devices."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def _names(part: object) -> tuple[Any, ...]:
    """The names in one entry of a partition."""
    if part is None or part is UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _trimmed(spec: PartitionSpec) -> tuple[Any, ...]:
    """The entries in canonical form: tuples, without empty ones at the end."""
    parts = [p if p is UNCONSTRAINED else _names(p) for p in spec]
    while parts and parts[-1] == ():
        parts.pop()
    return tuple(parts)
