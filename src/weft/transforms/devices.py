"""Devices, and arrays moved to and from them.

Knows trees and the runtime; knows nothing of tracing.
"""

from typing import Any

import numpy as np

from ..compiler.program import buffer_on
from ..core.array import Array, PlacedArray, Tracer, as_value
from ..core.source import located
from ..runtime import buffer as buffers, client
from ..runtime.client import Device
from ..tree_util import keystr, tree_leaves, tree_map, tree_map_with_path

__all__ = [
    "block_until_ready",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]

devices = client.devices
local_devices = client.local_devices
device_count = client.device_count
local_device_count = client.local_device_count
process_index = client.process_index
process_count = client.process_count
default_backend = client.default_backend


@located
def device_put(x: Any, device: Any = None) -> Any:
    """Arrays on a device.

    Args:
      x: an array, a scalar, or a container of them.
      device: where to; the result is committed to it. Without one, arrays stay where they are and
        others go to the default device, uncommitted.
    Returns: the same tree of arrays.
    Example:
      >>> import weft
      >>> y = weft.device_put(weft.numpy.ones(2), weft.devices()[0])
      >>> y.device
      CpuDevice(id=0)
    Source: seed 002, `jax.device_put`.
    """
    if device is not None and not isinstance(device, Device):
        raise TypeError(f"device_put: expected a device, one of devices(); got {device!r}")

    def put(path: Any, leaf: Any) -> Any:
        try:
            value = as_value(leaf)
        except (TypeError, ValueError) as error:
            raise TypeError(f"device_put: x{keystr(path)}: {error}") from None
        if device is None or isinstance(value, Tracer):
            return value
        return PlacedArray(value._host, value.aval, buffer_on(value, device), device)

    return tree_map_with_path(put, x)


def device_get(x: Any) -> Any:
    """Arrays on the host, as NumPy arrays.

    Args:
      x: an array, a scalar, or a container of them.
    Returns: the same tree; scalars of Python stay as they are.
    Example:
      >>> import weft
      >>> weft.device_get(weft.numpy.array([1., 2., 3.]))
      array([1., 2., 3.], dtype=float32)
    Source: seed 002, `jax.device_get`.
    """

    def get(leaf: Any) -> Any:
        if isinstance(leaf, Array):
            return leaf.__array__()
        return leaf if not hasattr(leaf, "__array__") else np.asarray(leaf)

    return tree_map(get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until all arrays of a tree have been computed; gives the tree.

    Example:
      >>> import weft
      >>> weft.block_until_ready({"a": weft.numpy.ones(2)})
      {'a': Array([1., 1.], dtype=float32)}
    """
    if x.__class__ is Array:
        if x._buffer is not None:
            buffers.block_until_ready(x._buffer)
        elif x._host is None:
            x.host()  # says that it was deleted
        return x
    pending = []
    for leaf in tree_leaves(x):
        if leaf.__class__ is Array and leaf._buffer is not None:
            pending.append(leaf._buffer)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if len(pending) == 1:
        buffers.block_until_ready(pending[0])
    elif pending:
        buffers.block_all_until_ready(pending)
    return x
