"""prefetch_to_device: puts batches on the devices before they are needed. A thread makes the
batches. Without a thread, Python also makes the next batch while the devices compute, but not in a
loop that reads a result in every step.
"""

import atexit
import contextlib
import functools
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..compiler.placing import buffer_on
from ..config import config, overrides
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..runtime import client, transfers
from ..runtime.client import Device
from ..sharding import Mesh, NamedSharding, PartitionSpec
from ..transforms.devices.device_put import checked_devices, device_put
from ..tree_util import keystr, tree_flatten_with_path, tree_leaves
from ..user_lines import noted

__all__ = ["prefetch_to_device"]


@located
def prefetch_to_device(
    iterator: Iterable[Any],
    size: int = 2,
    *,
    sharding: Any = None,
    devices: Sequence[Device] | None = None,
) -> "Ahead":
    """An iterator that puts batches on devices while earlier batches are in use.

    Args:
      iterator: yields batches, trees of NumPy's or weft's arrays. It may be infinite, and reuse its
        NumPy arrays, because the devices have copies. It runs in its own thread, with the switches
        of the caller.
      size: the number of batches to keep ready on the devices.
      sharding: the destination, as in `device_put`: a sharding, a device, or a tree of them.
      devices: for `pmap`, the devices instead of a sharding. The first axis of every array has one
        row for each device. Without either, batches go to the default device, and arrays that are
        already on a device stay there.
    Returns: an iterator of the same trees, with weft's arrays. If making or copying a batch fails,
      the iterator returns the batches before it, and then raises the exception. To stop early,
      delete the iterator or call its `close()`, which waits for the thread to end. If `iterator`
      has `get_state` and `set_state`, as the streams of `weft.data` do, the result has them too;
      the state is the position after the last batch returned.
    Raises: ValueError: `size` is less than 1; both `sharding` and `devices` are given; an array's
      first axis does not have the length of `devices`.
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
    if devices is not None and sharding is not None:
        raise ValueError("prefetch_to_device: got both sharding and devices; pass one of them")
    put: Callable[[Any], Any] = on_default_device
    if sharding is not None:
        put = functools.partial(device_put, device=sharding)
    elif devices is not None:
        put = over(devices)
    examples: Any = iter(iterator)
    if hasattr(examples, "get_state") and hasattr(examples, "set_state"):
        return PositionedAhead(examples, size, put)
    return Ahead(examples, size, put)


class Ahead(Iterator[Any]):
    """The iterator that `prefetch_to_device` returns.

    Args:
      iterator: yields the batches.
      size: the number of batches to keep ready.
      put: moves a batch to the devices.
      where: returns the iterator's position. `position` is the one after the last batch returned.
    """

    def __init__(
        self,
        iterator: Iterator[Any],
        size: int,
        put: Callable[[Any], Any],
        where: Callable[[], Any] | None = None,
    ) -> None:
        self.position = None if where is None else where()
        self.work = Work(iterator, size, put, where)
        self.thread = threading.Thread(
            target=self.work.run, args=(overrides(),), name="weft-prefetch", daemon=True
        )
        self.thread.start()
        _threads[self.thread] = self.work
        weakref.finalize(self, self.work.stop).atexit = False

    def __next__(self) -> Any:
        work = self.work
        if work.stopped:
            raise StopIteration
        if not self.thread.is_alive() and work.done.empty():
            raise noted(RuntimeError("prefetch: the thread is not in this forked child"))
        batch, position, failure = work.done.get()
        work.free.put(None)
        if failure is None:
            self.position = position
            return batch
        work.stop()
        try:
            raise failure
        finally:
            del failure  # the exception refers to this frame

    def close(self) -> None:
        """Drops the waiting batches, and ends the thread after its current batch."""
        self.work.stop()
        if self.thread is not threading.current_thread():
            self.thread.join()
        self.work.stop()


class PositionedAhead(Ahead):
    """An `Ahead` whose iterator has a position."""

    def __init__(self, iterator: Any, size: int, put: Callable[[Any], Any]) -> None:
        self.iterator = iterator
        self.options = size, put
        self.ended = False
        super().__init__(iterator, size, put, iterator.get_state)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except StopIteration:
            self.ended = True
            raise

    def __iter__(self) -> "PositionedAhead":
        if self.ended:  # a stream of weft.data begins its next epoch
            self.begin(iter(self.iterator))
        return self

    def get_state(self) -> Any:
        """The position after the last batch returned."""
        return self.position

    def set_state(self, state: Any) -> None:
        """Sets the position; the next batch is the one after it."""
        self.close()
        self.iterator.set_state(state)
        self.begin(self.iterator)

    def begin(self, iterator: Any) -> None:
        """Starts reading ahead from the position of an iterator."""
        PositionedAhead.__init__(self, iterator, *self.options)


class Work:
    """The work of the thread. It does not refer to the iterator, so that the iterator can be
    garbage collected."""

    def __init__(
        self,
        iterator: Iterator[Any],
        size: int,
        put: Callable[[Any], Any],
        where: Callable[[], Any] | None,
    ) -> None:
        self.iterator: Iterator[Any] | None = iterator
        self.put = put
        self.where = where
        # SimpleQueue, because a finalizer may interrupt its methods at any point
        self.free: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(size):
            self.free.put(None)
        self.done: queue.SimpleQueue[tuple[Any, Any, BaseException | None]] = queue.SimpleQueue()
        self.stopped = False

    def run(self, switches: dict[str, Any]) -> None:
        """Makes batches until the iterator ends or fails, or is closed."""
        with config.temporarily(**switches):
            while self.make_one():
                pass
        self.iterator = self.where = None  # closes a generator in the thread in which it ran

    def make_one(self) -> bool:
        """Makes a batch when there is room for it. Returns True if there may be another."""
        self.free.get()
        if self.stopped:
            return False
        assert self.iterator is not None
        try:
            batch = self.put(next(self.iterator))
            self.done.put((batch, None if self.where is None else self.where(), None))
        except BaseException as failure:  # passed to the consumer; includes StopIteration
            self.done.put((None, None, failure))
            return False
        return True

    def stop(self) -> None:
        """Drops the waiting batches, and ends the thread."""
        self.stopped = True
        self.free.put(None)
        with contextlib.suppress(queue.Empty):
            while True:
                self.done.get_nowait()


_threads: "weakref.WeakKeyDictionary[threading.Thread, Work]" = weakref.WeakKeyDictionary()


@atexit.register
def end_all() -> None:
    """Ends all threads at exit, because a thread in XLA would crash the process."""
    alive = list(_threads.items())
    for _, work in alive:
        work.stop()
    for thread, _ in alive:
        thread.join(1)  # with a time limit, because its iterator may be waiting


def on_default_device(batch: Any) -> Any:
    """Puts a batch on the default device, except arrays that are already on a device."""
    batch = device_put(batch)
    with transfers.explicitly():
        for x in tree_leaves(batch):
            if x.__class__ is Array and x.type is x.aval:
                buffer_on(x, client.default_device())
    return batch


def over(devices: Sequence[Device]) -> Callable[[Any], Any]:
    """A function that divides batches among devices, one row for each."""
    checked = checked_devices("prefetch_to_device", devices)
    sharding = NamedSharding(Mesh(checked, ("batch",)), PartitionSpec("batch"))

    def put(batch: Any) -> Any:
        for path, x in tree_flatten_with_path(batch)[0]:
            shape = np.shape(x)
            if shape[:1] != (len(checked),):
                raise ShapeError(
                    f"prefetch_to_device: the first axis must have one row for each of the "
                    f"{len(checked)} devices; batch{keystr(path)} has the shape {shape}\n"
                    f"  fix: x.reshape({len(checked)}, -1, *x.shape[1:])"
                )
        return device_put(batch, sharding)

    return put
