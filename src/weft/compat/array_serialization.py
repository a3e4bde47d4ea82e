"""`jax.experimental.array_serialization.serialization`: arrays in files of tensorstore.

Each process writes the parts of an array that its devices hold, and reads those that a sharding
gives them. tensorstore is loaded at the first use.
"""

import abc
import asyncio
import functools
import importlib
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from ..core.array import Array
from ..numpy import asarray
from ..sharding import Sharding
from ..transforms.devices.make_array import make_array_from_callback

DRIVER = "file"


@functools.cache
def tensorstore() -> Any:
    """The package tensorstore."""
    return importlib.import_module("tensorstore")


@functools.cache
def default_context() -> Any:
    """The default context: it limits the number of open files."""
    return tensorstore().Context({"file_io_concurrency": {"limit": 128}})


class LimitInFlightBytes:
    """Limits the bytes that are read at the same time; further reads wait."""

    def __init__(self, num_bytes: int) -> None:
        self._max_bytes = self._available_bytes = num_bytes
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Waits until this number of bytes is available, and reserves them."""
        if requested_bytes > self._max_bytes:
            raise ValueError(
                f"wait_for_bytes: {requested_bytes} bytes are asked for; the limit is "
                f"{self._max_bytes}\n  fix: a larger limit"
            )
        async with self._changed:
            await self._changed.wait_for(lambda: self._available_bytes >= requested_bytes)
            self._available_bytes -= requested_bytes

    async def release_bytes(self, requested_bytes: int) -> None:
        """Releases reserved bytes."""
        async with self._changed:
            self._available_bytes += requested_bytes
            self._changed.notify_all()


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """The interface of a manager that writes checkpoints in the background."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raises an error from the background."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Waits until everything is written."""


def get_tensorstore_spec(path: str | PurePath, ocdbt: bool = False) -> dict[str, Any]:
    """The specification for tensorstore of an array in a zarr file."""
    if not ocdbt:
        return {"driver": "zarr", "kvstore": {"driver": DRIVER, "path": str(path)}}
    base = f"{DRIVER}://{PurePath(path).parent}"
    return {
        "driver": "zarr",
        "kvstore": {"driver": "ocdbt", "base": base, "path": PurePath(path).name},
    }


def has_metadata(spec: dict[str, Any]) -> bool:
    """True if a specification, or the one inside it, contains metadata such as shape and chunks."""
    return "metadata" in spec or ("base" in spec and has_metadata(spec["base"]))


async def async_serialize(
    arr_inp: Any,
    tensorstore_spec: dict[str, Any],
    commit_future: list[Any] | None = None,
    context: Any = None,
    primary_host: int | None = 0,
    replica_id: int = 0,
    transaction: Any = None,
) -> None:
    """Writes the parts of an array that this process holds; see `run_serialization`.

    Args:
      arr_inp: the array.
      tensorstore_spec: where and how to write; without metadata, the chunks are the parts.
      commit_future: a list to which the futures of the writes are added; without it, the function
        waits for them.
      context: a tensorstore context.
      primary_host: not used, because each process can make the file.
      replica_id: the number of the copy of each part to write.
      transaction: a tensorstore transaction for the writes.
    """
    spec = dict(tensorstore_spec)
    if not has_metadata(spec):
        parts = arr_inp.sharding.shard_shape(arr_inp.shape)
        chunks = [max(1, n) for n in parts]
        shape = list(arr_inp.shape)
        spec["metadata"] = {"shape": shape, "chunks": chunks, "compressor": {"id": "zstd"}}
    spec.setdefault("dtype", str(arr_inp.dtype))
    store = await tensorstore().open(
        tensorstore().Spec(spec), create=True, open=True,
        context=context or default_context(), transaction=transaction,
    )  # fmt: skip
    shards = [s for s in arr_inp.addressable_shards if s.replica_id == replica_id]
    writings = [store[s.index].write(np.asarray(s.data)) for s in shards]
    for writing in writings:
        await writing.copy
    if commit_future is not None:
        commit_future += [writing.commit for writing in writings]
    elif transaction is None:
        for writing in writings:
            await writing.commit


async def async_deserialize(
    user_in_sharding: Any,
    tensorstore_spec: Any,
    global_shape: Sequence[int] | None = None,
    dtype: Any = None,
    byte_limiter: LimitInFlightBytes | None = None,
    context: Any = None,
    assume_metadata: bool = False,
) -> Array:
    """Reads the parts of an array that a sharding gives this process; see `run_deserialization`.

    Args:
      user_in_sharding: the sharding of the result, or a format with one.
      tensorstore_spec: the place of the array.
      global_shape: the shape of the result; by default, the file's. Elements that the file lacks
        are 0.
      dtype: the dtype of the result; by default, the file's.
      byte_limiter: limits the bytes that are read at the same time.
      context: a tensorstore context.
      assume_metadata: whether to use the specification's metadata instead of reading the file's.
    Returns: the array.
    """
    sharding = getattr(user_in_sharding, "sharding", user_in_sharding)
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"async_deserialize: user_in_sharding must be a sharding; got {user_in_sharding!r:.80}"
        )
    store = await tensorstore().open(
        tensorstore().Spec(tensorstore_spec), open=True, assume_metadata=assume_metadata,
        context=context or default_context(),
    )  # fmt: skip
    shape = tuple(store.shape if global_shape is None else global_shape)
    parts: dict[Any, Any] = {}
    for index in sharding.addressable_devices_indices_map(shape).values():
        if bounds(index, shape) not in parts:
            parts[bounds(index, shape)] = part(store, bounds(index, shape), byte_limiter)
    arrays = dict(zip(parts, await asyncio.gather(*parts.values()), strict=True))

    def part_at(index: Any) -> Any:
        stored_part = arrays[bounds(index, shape)]
        return stored_part if dtype is None else np.asarray(asarray(stored_part, dtype))

    return make_array_from_callback(shape, sharding, part_at)


def bounds(index: Sequence[slice], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The bounds of the slices of an index."""
    return tuple([s.indices(n)[:2] for s, n in zip(index, shape, strict=True)])


async def part(
    store: Any, ends: Sequence[tuple[int, int]], byte_limiter: LimitInFlightBytes | None
) -> Any:
    """The elements between bounds; elements that the store lacks are 0."""
    inside = [(min(a, n), min(b, n)) for (a, b), n in zip(ends, store.shape, strict=True)]
    selection = store[tuple([slice(*pair) for pair in inside])]
    size = int(np.prod(selection.shape, dtype=int)) * store.dtype.numpy_dtype.itemsize
    if byte_limiter is not None:
        await byte_limiter.wait_for_bytes(size)
    try:
        elements = await selection.read()
    finally:
        if byte_limiter is not None:
            await byte_limiter.release_bytes(size)
    missing = [(0, (b - a) - n) for (a, b), n in zip(ends, elements.shape, strict=True)]
    return np.pad(elements, missing) if any(n for _, n in missing) else elements


def run_serialization(arrays: Iterable[Any], tensorstore_specs: Iterable[dict[str, Any]]) -> None:
    """Writes arrays to the places in their specifications.

    Example:
      >>> import tempfile, weft.numpy as np
      >>> from weft.compat import array_serialization as files
      >>> x = np.arange(6.0).reshape(2, 3)
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     specs = [files.get_tensorstore_spec(folder)]
      ...     files.run_serialization([x], specs)
      ...     [y] = files.run_deserialization([x.sharding], specs)
      >>> y
      Array([[0., 1., 2.],
             [3., 4., 5.]], dtype=float32)
    """

    async def run() -> None:
        pairs = zip(arrays, tensorstore_specs, strict=True)
        await asyncio.gather(*[async_serialize(x, spec) for x, spec in pairs])

    asyncio.run(run())


def run_deserialization(
    shardings: Sequence[Any],
    tensorstore_specs: Sequence[Any],
    global_shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    concurrent_gb: int = 32,
) -> list[Array]:
    """Reads arrays with their shardings; limits the gigabytes that are read at the same time."""
    defaults = [None] * len(shardings)

    async def run() -> list[Array]:
        limiter = LimitInFlightBytes(concurrent_gb * 10**9)
        calls = zip(
            shardings, tensorstore_specs, global_shapes or defaults, dtypes or defaults, strict=True
        )
        return await asyncio.gather(*[async_deserialize(*call, limiter) for call in calls])

    return asyncio.run(run())
