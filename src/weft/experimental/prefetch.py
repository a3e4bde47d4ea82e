"""Batches on the devices before they are asked for. Knows iterators and trees, not what they are of.

There is no thread. Programs run while Python goes on: a loop that asks for the next batch after it
has begun a step has it made and copied while the devices compute. Measured with batches that take
as long as a step: a loop takes as long as the steps alone if it doesn't look at results in every
one, and as long as both if it does. Then a thread would help, but cost an order of events that one
can follow: errors, Ctrl-C, switches of the thread and random state are those of the loop here.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..compiler.program import buffer_on
from ..core.array import Array
from ..core.source import located
from ..runtime import client, transfers
from ..runtime.client import Device
from ..sharding import Mesh, NamedSharding, PartitionSpec
from ..transforms.devices import device_put
from ..tree_util import keystr, tree_flatten_with_path, tree_leaves

__all__ = ["prefetch_to_device"]


@located
def prefetch_to_device(
    iterator: Iterable[Any],
    size: int = 2,
    *,
    sharding: Any = None,
    devices: Sequence[Device] | None = None,
) -> Iterator[Any]:
    """The elements of an iterator, put on devices while earlier ones are in use.

    Args:
      iterator: gives batches: trees of arrays, NumPy's or weft's. It may be infinite, and may reuse
        its NumPy arrays: what is on a device doesn't change with them.
      size: how many batches are on the devices, that which was given last not counted.
      sharding: where to, as for `device_put`: a sharding, a device, or a tree of them.
      devices: several devices instead, as `pmap` takes batches: the first axis of every array is as
        long, and each device gets one row. Without either, batches go to the default device, and
        arrays that are on some device stay there.
    Returns: an iterator of the same trees, of weft's arrays. The first `size` batches are asked for
      when its first element is. If a batch can't be made, or put on the devices, those before it
      come first. To stop early, leave the loop.
    Raises: ValueError: `size` is less than 1; both `sharding` and `devices` are given; an array's
      first axis hasn't the length of `devices`.
    Example:
      >>> import numpy, weft
      >>> batches = ({"x": numpy.full(2, i)} for i in range(3))
      >>> for batch in prefetch_to_device(batches, sharding=weft.devices()[0]):
      ...     print(batch["x"] * 10)
      [0 0]
      [10 10]
      [20 20]
    Source: the public documentation of `flax.jax_utils.prefetch_to_device`.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"prefetch_to_device: size must be an int of at least 1; got {size!r}")
    if devices is None:
        put = on_default_device if sharding is None else lambda batch: device_put(batch, sharding)
    elif sharding is not None:
        raise ValueError("prefetch_to_device: got both sharding and devices; pass one of them")
    else:
        put = over(list(devices))
    return ahead(iter(iterator), size, put)


def ahead(iterator: Iterator[Any], size: int, put: Callable[[Any], Any]) -> Iterator[Any]:
    """The elements, each put somewhere when it is the `size`-th after the one that is in use."""
    waiting: deque[Any] = deque()
    failure: Exception | None = None
    while True:
        while failure is None and len(waiting) <= size:
            try:
                waiting.append(put(next(iterator)))
            except Exception as error:  # also the end, StopIteration: what came before is good
                failure = error
        if not waiting:
            break
        yield waiting.popleft()
    if not isinstance(failure, StopIteration):
        raise failure


def on_default_device(batch: Any) -> Any:
    """A batch on the default device, unless it is on some already."""
    batch = device_put(batch)
    with transfers.explicitly():
        for x in tree_leaves(batch):
            if x.__class__ is Array:
                buffer_on(x, client.default_device())
    return batch


def over(devices: Sequence[Device]) -> Callable[[Any], Any]:
    """Puts batches on several devices, a row on each."""
    for device in devices:
        if not isinstance(device, Device):
            raise TypeError(
                f"prefetch_to_device: devices must be a sequence of devices; got {device!r:.60}"
            )
    sharding = NamedSharding(Mesh(devices, ("batch",)), PartitionSpec("batch"))

    def put(batch: Any) -> Any:
        for path, x in tree_flatten_with_path(batch)[0]:
            shape = np.shape(x)
            if shape[:1] != (len(devices),):
                raise ValueError(
                    f"prefetch_to_device: the first axis must have one row for each of the "
                    f"{len(devices)} devices; batch{keystr(path)} has the shape {shape}\n"
                    "  fix: x.reshape(devices, x.shape[0] // devices, *x.shape[1:])"
                )
        return device_put(batch, sharding)

    return put
