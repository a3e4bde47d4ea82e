"""Arrays put on several devices at once, a part on each. Knows trees and shards."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.layout import layout_of
from ...compiler.placing import put_array
from ...core.array import Array, Tracer, as_value, own
from ...core.aval import aval
from ...core.source import located
from ...errors import ShapeError
from ...runtime import transfers
from ...runtime.client import Device
from ...sharding import Mesh, NamedSharding, PartitionSpec
from ...tree_util import keystr, tree_flatten_with_path, tree_map_with_path

__all__ = ["device_put_replicated", "device_put_sharded"]


@located
def device_put_sharded(shards: Sequence[object], devices: Sequence[Device]) -> Any:
    """Arrays stacked along a new first axis, each on its device.

    Args:
      shards: for each device, an array, a scalar, or a container of them; of one structure, shapes
        and dtypes.
      devices: where each goes.
    Returns: a tree like each shard, of arrays with a new first axis as long as `devices`. Their
      values are those of `numpy.stack(shards)`.
    Raises: ValueError: the numbers of shards and devices differ, or the shards' structures, shapes
      or dtypes do. TypeError: a device is none, or a leaf is no array.
    Example:
      >>> import weft
      >>> x = weft.device_put_sharded([weft.numpy.ones(2)], weft.devices()[:1])
      >>> x.shape, len(x.addressable_shards)
      ((1, 2), 1)
    Source: JAX documentation, `jax.device_put_sharded`.
    """
    devices = checked_devices("device_put_sharded", devices)
    if not isinstance(shards, Sequence):
        raise TypeError(
            f"device_put_sharded: shards must be a list or tuple, one for each device; got "
            f"{type(shards).__name__}\n  fix: list(x) for an array x, or device_put_replicated"
        )
    if len(shards) != len(devices):
        raise ShapeError(
            f"device_put_sharded: one shard for each device; got {len(shards)} shards for "
            f"{len(devices)} devices"
        )
    found = [tree_flatten_with_path(shard) for shard in shards]
    tree = found[0][1]
    for i, (_, other) in enumerate(found):
        if other != tree:
            raise ShapeError(
                "device_put_sharded: all shards must have one structure; got "
                f"{tree} (shard 0) and {other} (shard {i})"
            )
    outs = []
    for entries in zip(*[leaves for leaves, _ in found], strict=True):
        path = keystr(entries[0][0])
        values = [array_of("device_put_sharded", f"shards[{i}]{path}", x)
                  for i, (_, x) in enumerate(entries)]  # fmt: skip
        first = values[0].aval
        for i, value in enumerate(values):
            if (value.aval.shape, value.aval.dtype) != (first.shape, first.dtype):
                raise ShapeError(
                    f"device_put_sharded: shards[…]{path}: all shards must have one shape and "
                    f"dtype; got {first} (shard 0) and {value.aval} (shard {i})"
                )
        outs.append(stacked(values, devices))
    return tree.unflatten(outs)


@located
def device_put_replicated(x: Any, devices: Sequence[Device]) -> Any:
    """Arrays repeated along a new first axis, a copy on each device.

    Args:
      x: an array, a scalar, or a container of them.
      devices: where the copies go.
    Returns: a tree like `x`, of arrays with a new first axis as long as `devices`.
    Raises: ValueError: no devices. TypeError: an item isn't a device, or a leaf isn't an array.
    Example:
      >>> import weft
      >>> weft.device_put_replicated(weft.numpy.arange(3), weft.devices()[:1])
      Array([[0, 1, 2]], dtype=int32)
    Source: JAX documentation, `jax.device_put_replicated`.
    """
    devices = checked_devices("device_put_replicated", devices)

    def put_leaf(path: Any, leaf: Any) -> Array:
        value = array_of("device_put_replicated", f"x{keystr(path)}", leaf)
        return stacked([value] * len(devices), devices)

    return tree_map_with_path(put_leaf, x)


def stacked(values: Sequence[Array], devices: Sequence[Device]) -> Array:
    """One array of arrays on as many devices."""
    a = values[0].aval
    sharding = NamedSharding(Mesh(devices, ("shards",)), PartitionSpec("shards"))
    host = np.stack([np.asarray(v.host()) for v in values])
    with transfers.explicitly():
        return put_array(host, layout_of(aval(host.shape, a.dtype), sharding), alias=True)


def checked_devices(operation: str, devices: Any) -> list[Device]:
    """The devices as a list; anything else is refused."""
    found: list[Device] = list(devices)
    if not found:
        raise ValueError(f"{operation}: expected at least one device; got none")
    for device in found:
        if not isinstance(device, Device):
            raise TypeError(f"{operation}: expected devices, of devices(); got {device!r}")
    if len(set(found)) != len(found):
        raise ValueError(f"{operation}: a device is named twice in {found}")
    return found


def array_of(operation: str, path: str, leaf: object) -> Array:
    """A leaf as an array."""
    try:
        value = own(as_value(leaf))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{operation}: {path}: {error}") from None
    if isinstance(value, Tracer):
        raise TypeError(
            f"{operation}: {path} is traced, {value.aval}: arrays are put on several devices "
            "outside of jit and other transformations"
        )
    return value
