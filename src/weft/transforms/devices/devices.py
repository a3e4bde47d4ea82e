"""The devices of a program: devices, local_devices, device_count, local_device_count,
default_backend. Its processes: process_index, process_indices, process_count. make_mesh arranges
devices."""

import math
from collections.abc import Sequence

import numpy as np

from ...core.source import located
from ...runtime import client
from ...runtime.client import (
    Device,
    default_backend,
    device_count,
    devices,
    local_device_count,
    process_count,
    process_index,
)
from ...sharding import Mesh

__all__ = [
    "default_backend",
    "device_count",
    "devices",
    "local_device_count",
    "local_devices",
    "make_mesh",
    "process_count",
    "process_index",
    "process_indices",
]


# --- available devices ---


@located
def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of a platform that belong to one process.

    Args:
      process_index: the process; by default, this one.
      backend: as for `devices`.
      host_id: an older name of `process_index`.
    Raises: ValueError: there is no such process.
    Example:
      >>> import weft
      >>> weft.local_devices() == weft.devices()
      True
    Source: JAX documentation, `jax.local_devices`.
    """
    if host_id is not None:
        if process_index is not None:
            raise ValueError("local_devices: host_id is process_index by another name; got both")
        process_index = host_id
    count = client.process_count(backend)
    if process_index is not None and not 0 <= process_index < count:
        raise ValueError(
            f"local_devices: process_index must be below the number of processes, {count}; got "
            f"{process_index}"
        )
    return client.local_devices(backend, process_index)


@located
def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together.

    Example:
      >>> import weft
      >>> weft.process_indices()
      [0]
    Source: JAX documentation, `jax.process_indices`.
    """
    return list(range(client.process_count(backend)))


@located
def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[object],
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, or of the given devices, row by row.

    Devices of one process are neighbours, so communication is cheap along the last axes.

    Args:
      axis_shapes: the length of each axis.
      axis_names: the name of each axis.
      devices: the devices; by default, all devices of the preferred platform, of all processes.
    Raises: ValueError: there are fewer devices; or the numbers of lengths and names differ.
    Example:
      >>> import weft
      >>> weft.make_mesh((1, 1), ("data", "model"))
      Mesh(data=1, model=1)
    Source: the public documentation of `jax.make_mesh`.
    """
    shape = tuple(axis_shapes)
    available = list(client.devices() if devices is None else devices)
    count = math.prod(shape)
    if count > len(available):
        raise ValueError(
            f"make_mesh: {shape} are {count} devices; got {len(available)}\n"
            "  fix: shorter axes, or on the CPU set WEFT_CPU_DEVICES"
        )
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    return Mesh(np.array(available[:count], object).reshape(shape), names)
