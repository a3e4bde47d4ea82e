"""Placements of arrays. An aval and a placement make an array's type, the key of compiled programs.

An `Aval` is itself the type of arrays that may be anywhere. Equal types are one object, and so are
equal placements.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..sharding import Sharding, SingleDeviceSharding

if TYPE_CHECKING:
    from .aval import Aval


class Placement:
    """The place of an array: anywhere, on one device, or divided among a group of devices."""

    __slots__ = ()

    committed: bool = False
    """True if computations with the array run where it is."""
    device: Any = None
    """The value of `x.device`; for an array on several devices, its sharding."""
    devices: tuple[Any, ...] = ()
    """The devices, in the order of the shards."""
    group: Any = None
    """The devices as a group of `weft.runtime` if they are one."""
    sharding: Sharding | None = None

    def join(self, other: "Placement") -> "Placement | None":
        """The placement of a computation with arrays of both; `None` if they conflict."""
        if other is self or not other.committed:
            return self
        if not self.committed:
            return other
        if set(self.devices) != set(other.devices):
            return None
        return self if self.group is not None else other


class Anywhere(Placement):
    """The placement of arrays on the host or the default device, which are copied as needed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ANYWHERE"


ANYWHERE = Anywhere()


class OnDevice(Placement):
    """On one device. It is uncommitted if only the switch `default_device` put the array there."""

    __slots__ = ("committed", "device", "devices", "sharding")

    def __init__(self, device: Any, committed: bool) -> None:
        self.device, self.committed = device, committed
        self.devices = (device,)
        self.sharding = SingleDeviceSharding(device)

    def __repr__(self) -> str:
        return str(self.device)


class OnGroup(Placement):
    """On a group of devices, each of which holds a part of the array, or all of it.

    Args:
      sharding: the part that each device holds.
      group: the devices, perhaps in another order.
    """

    __slots__ = ("device", "devices", "group", "sharding")
    committed = True

    def __init__(self, sharding: Sharding, group: Any) -> None:
        self.sharding = self.device = sharding
        self.group, self.devices = group, sharding.devices

    def __repr__(self) -> str:
        return str(self.sharding)


@functools.lru_cache(4096)
def on_device(device: object, committed: bool = True) -> OnDevice:
    """The placement on a device."""
    return OnDevice(device, committed)


# --- types ---


class ArrayType(Protocol):
    """The type of an array: an `Aval`, a `Located` or a `Layout`."""

    @property
    def aval(self) -> "Aval": ...

    @property
    def placement(self) -> Placement: ...


class Located:
    """The type of an array on one device."""

    __slots__ = ("aval", "placement")

    def __init__(self, aval: "Aval", placement: Placement) -> None:
        self.aval, self.placement = aval, placement

    def __repr__(self) -> str:
        return f"{self.aval} on {self.placement}"


class Layout(Located):
    """The type of an array on a group of devices, with the part that each device holds.

    `tiling` describes the parts by device numbers, however the sharding is written. `local_indices`
    are the indices of the parts on this process's devices, in their order.
    """

    __slots__ = ("local_indices", "tiling")

    def __init__(
        self,
        aval: "Aval",
        placement: OnGroup,
        tiling: Any,
        local_indices: Sequence[tuple[slice, ...]],
    ) -> None:
        super().__init__(aval, placement)
        self.tiling, self.local_indices = tiling, local_indices

    @property
    def group(self) -> Any:
        """The devices."""
        return self.placement.group

    @property
    def sharding(self) -> Sharding:
        """The sharding as it was written."""
        assert self.placement.sharding is not None
        return self.placement.sharding


def same_parts(a: ArrayType, b: ArrayType) -> bool:
    """True if arrays of both types have the same parts on the same devices."""
    if a is b:
        return True
    group = a.placement.group
    return (
        group is not None
        and a.aval is b.aval
        and group is b.placement.group
        and a.tiling == b.tiling  # type: ignore[attr-defined]
    )


@functools.lru_cache(4096)
def type_on(aval: "Aval", placement: Placement) -> ArrayType:
    """The type of arrays of an aval anywhere, or on one device."""
    return aval if placement is ANYWHERE else Located(aval, placement)


def joined_placement(name: str, types: Sequence[ArrayType], used: Iterable[int]) -> Placement:
    """The placement that the arguments of a computation are committed to, else `ANYWHERE`.

    Args:
      name: of the computation, for messages.
      used: the numbers of the arguments that count.
    Raises: ValueError: two are committed to different devices.
    """
    result: Placement = ANYWHERE
    first = 0
    for i in used:
        placement = types[i].placement
        if placement is result or not placement.committed:
            continue
        joined = result.join(placement)
        if joined is None:
            one = result.group is None and placement.group is None
            way = "with device_put(x, device)" if one else "sharding with device_put(x, sharding)"
            raise ValueError(
                f"{name}: arguments are committed to different devices: {types[first].aval} "
                f"(argument {first}) to {result}, {types[i].aval} (argument {i}) to {placement}\n"
                f"  fix: move them to one {way}"
            )
        if result is ANYWHERE:
            first = i
        result = joined
    return result
