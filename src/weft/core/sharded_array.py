"""Arrays whose parts are on several devices. Knows parts and where they belong; moves nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .array import Array
from .aval import Aval
from .source import noted


@dataclass(frozen=True)
class Shard:
    """The part of an array that is on one device."""

    device: Any
    index: tuple[slice, ...]
    """Which part it is: `x[index]`."""
    data: Array
    replica_id: int
    """How many devices before this one have the same part."""


class ShardedArray(Array):
    """An array committed to several devices, each of which has a part of it, or all.

    Its elements are gathered on the host when an operation, printing or NumPy asks for them.
    """

    __slots__ = ("_sharding", "_shards")

    def __init__(self, aval: Aval, sharding: Any, shards: Sequence[Array]) -> None:
        """
        Args:
          sharding: of `weft.sharding`; says which part each device has.
          shards: the parts, each on its device, in the order of `sharding.devices`.
        """
        super().__init__(None, aval)
        self._sharding, self._shards = sharding, tuple(shards)

    def gathered(self) -> np.ndarray[Any, Any]:
        """The elements of all parts, on the host."""
        if self._sharding.is_fully_replicated:
            return np.asarray(self._shards[0].host())
        host = np.empty(self.aval.shape, self.aval.dtype)
        for shard in self.addressable_shards:
            if not shard.replica_id:
                host[shard.index] = shard.data.host()
        host.flags.writeable = False
        return host

    @property
    def sharding(self) -> Any:
        """How the array lies on its devices."""
        return self._sharding

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that this process has."""
        parts = []
        seen: dict[Any, int] = {}
        for device, index, data in zip(
            self._sharding.devices, self._sharding.indices(self.shape), self._shards, strict=True
        ):
            key = tuple((part.start, part.stop) for part in index)
            copies = seen[key] = seen.get(key, -1) + 1
            parts.append(Shard(device, index, data, copies))
        return parts

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of the array."""
        return bool(self._sharding.is_fully_replicated)

    @property
    def committed(self) -> bool:
        return True

    @property
    def device(self) -> Any:
        """How the array lies on its devices; `devices()` gives the set of them."""
        return self._sharding

    def devices(self) -> set[Any]:
        return set(self._sharding.devices)

    def block_until_ready(self) -> "ShardedArray":
        for shard in self._shards:
            shard.block_until_ready()
        return self

    def is_ready(self) -> bool:
        return all(shard.is_ready() for shard in self._shards)

    def delete(self) -> None:
        self._host = self._buffer = None
        for shard in self._shards:
            shard.delete()

    def is_deleted(self) -> bool:
        return any(shard.is_deleted() for shard in self._shards)

    def unsafe_buffer_pointer(self) -> int:
        raise noted(
            ValueError(
                f"unsafe_buffer_pointer: a {self.aval} array on {len(self._shards)} devices has no "
                "single address\n  fix: addressable_shards[i].data.unsafe_buffer_pointer()"
            )
        )
