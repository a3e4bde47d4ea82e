"""Groups of devices that run one program together, and the division of arrays among them."""

import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import versions
from .client import Client, Device
from .failures import PlatformError


class Tiling(NamedTuple):
    """A division of arrays among devices, independent of the lengths of their axes."""

    parts: tuple[int, ...]
    """The number of parts of each axis."""
    owners: tuple[int, ...]
    """The numbers of the devices that hold the parts, in row-major order. Devices with copies of
    one part follow each other, in ascending order."""

    @property
    def is_replicated(self) -> bool:
        """True if each device has all of the array."""
        return all(n == 1 for n in self.parts)

    @property
    def copies(self) -> int:
        """The number of devices that have the same part."""
        return len(self.owners) // math.prod(self.parts)


def tiling(parts: Sequence[int], owners: object) -> Tiling:
    """The tiling with these owners; the order of copies doesn't matter."""
    rows = np.sort(np.asarray(owners, int).reshape(math.prod(parts), -1), axis=1)
    return Tiling(tuple(parts), tuple(rows.ravel().tolist()))


class Group:
    """Devices of one client, in an order. Equal groups are one object.

    A program for a group is written for whole arrays, and XLA partitions it.
    """

    is_partitioned = True

    __slots__ = (
        "_shardings",
        "client",
        "device_list",
        "devices",
        "is_local",
        "lib",
        "local",
        "platform",
    )

    def __init__(self, devices: tuple[Device, ...]) -> None:
        self.devices = devices
        self.client: Client = devices[0].client
        self.lib, self.platform = self.client.lib, self.client.platform
        self.device_list = self.lib.xla.DeviceList(tuple(d.raw for d in devices))
        mine = self.client.process_index
        self.local = tuple(i for i, d in enumerate(devices) if d.process_index == mine)
        self.is_local = len(self.local) == len(devices)
        self._shardings: dict[Tiling, Any] = {}

    @property
    def device_kind(self) -> str:
        """The model of the devices, which is the same for all."""
        return self.devices[0].device_kind

    def sharding_of(self, tiling: Tiling) -> Any:
        """XLA's object for a tiling over these devices."""
        xla_sharding = self._shardings.get(tiling)
        if xla_sharding is None:
            hlo = self.lib.hlo
            if tiling.is_replicated:
                sharding = hlo.HloSharding.replicate()
            else:
                owners = np.array(tiling.owners).reshape(*tiling.parts, tiling.copies)
                sharding = hlo.HloSharding.subgroup_with_device_ordering(
                    owners, [hlo.OpSharding.Type.REPLICATED]
                )
            xla_sharding = self.lib.xla.GSPMDSharding(self.device_list, sharding)
            self._shardings[tiling] = xla_sharding
        return xla_sharding

    def __repr__(self) -> str:
        return f"{len(self.devices)} devices {', '.join(map(str, self.devices))}"


_groups: dict[tuple[Device, ...], Group] = {}
_lock = threading.RLock()


def group_of(devices: Sequence[Device]) -> Group:
    """The group of these devices.

    Raises: PlatformError: they are not of one platform.
    """
    key = tuple(devices)
    group = _groups.get(key)
    if group is None:
        with _lock:
            if len({d.client for d in key}) > 1:
                raise PlatformError(
                    "devices that work together must be of one platform; got "
                    f"{', '.join(map(str, key))}"
                )
            group = _groups.setdefault(key, Group(key))
    return group


def tiling_of(raw: object, ndim: int, count: int) -> Tiling:
    """The tiling that XLA chose for an output, from its `OpSharding`.

    Args:
      ndim: the array's number of axes.
      count: the number of devices.
    """
    sharding = versions.load().hlo.HloSharding.from_proto(raw)
    if not sharding.is_tiled():  # every device has all of it
        return tiling((1,) * ndim, range(count))
    dims = sharding.tile_assignment_dimensions()
    return tiling(dims[:ndim], sharding.tile_assignment_devices())
