"""Arrays whose parts are on several devices. Knows parts and where they belong; moves nothing."""

from typing import Any

from .array import Array, Shard
from .aval import Aval
from .source import noted
from .trace import current


class ShardedArray(Array):
    """An array committed to several devices, each of which has a part of it, or all.

    What is computed with it is computed there. Its elements are gathered on the host when printing
    or NumPy asks for them.
    """

    __slots__ = ("_sharding", "layout")

    def __init__(self, aval: Aval, sharding: Any, layout: Any, buffer: Any) -> None:
        """
        Args:
          sharding: of `weft.sharding`; says which part each device has.
          layout: the same for programs to look up: of `weft.compiler.layout`. It may count the
            devices in another order.
          buffer: XLA's, on all of the devices.
        """
        self._host = None
        self._buffer = buffer
        self.aval = aval
        self._sharding, self.layout = sharding, layout

    @property
    def sharding(self) -> Any:
        """How the array lies on its devices."""
        return self._sharding

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that this process has."""
        parts = {part.device: part for part in current.base.parts_of(self)}
        shards = []
        seen: dict[Any, int] = {}
        placed = zip(self._sharding.devices, self._sharding.indices(self.shape), strict=True)
        for device, index in placed:
            key = tuple((part.start, part.stop) for part in index)
            copies = seen[key] = seen.get(key, -1) + 1
            if device in parts:
                shards.append(Shard(device, index, parts[device], copies))
        return shards

    def addressable_data(self, index: int) -> Array:
        """The part on the device of this number among those of this process."""
        return self.addressable_shards[index].data

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of the array."""
        return bool(self.layout.tiling.is_replicated)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process has all of the array's devices."""
        return bool(self.layout.group.is_local)

    @property
    def committed(self) -> bool:
        return True

    @property
    def device(self) -> Any:
        """How the array lies on its devices; `devices()` gives the set of them."""
        return self._sharding

    def devices(self) -> set[Any]:
        return set(self._sharding.devices)

    def unsafe_buffer_pointer(self) -> int:
        raise noted(
            ValueError(
                f"unsafe_buffer_pointer: a {self.aval} array on {len(self.devices())} devices has "
                "no single address\n  fix: addressable_shards[i].data.unsafe_buffer_pointer()"
            )
        )
