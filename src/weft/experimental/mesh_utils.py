"""create_device_mesh and create_hybrid_device_mesh: arrays of devices for meshes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.source import located
from ..runtime import client
from ..runtime.client import Device

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


@located
def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of devices with the given shape, for `sharding.Mesh`.

    Devices of one process are adjacent, so communication is cheapest along the last axes.

    Args:
      mesh_shape: the length of each axis; their product is the number of devices.
      devices: by default all devices of the preferred platform, of all processes.
      contiguous_submeshes, allow_split_physical_axes: accepted for compatibility; they apply to
        TPUs only.
    Returns: a NumPy array of devices, of this shape.
    Raises: ValueError: the number of devices is wrong.
    Example:
      >>> import weft
      >>> from weft.experimental import mesh_utils
      >>> devices = mesh_utils.create_device_mesh((1, 1), weft.devices()[:1])
      >>> weft.sharding.Mesh(devices, ("data", "model"))
      Mesh(data=1, model=1)
    Source: JAX documentation, `jax.experimental.mesh_utils.create_device_mesh`.
    """
    device_list = list(client.devices() if devices is None else devices)
    return arranged("create_device_mesh", device_list, tuple(mesh_shape))


@located
def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of devices. Each axis is divided among processes first, then within each process.

    Args:
      mesh_shape: the length of each axis inside a process.
      dcn_mesh_shape: the number of processes that divide each axis.
      devices: by default all devices of the preferred platform, of all processes.
      process_is_granule: no effect; a process is always the unit within which the network is fast.
      should_sort_granules_by_key: True orders the processes by number; False in the order in which
        they first occur in `devices`.
      allow_split_physical_axes: accepted for compatibility; it applies to TPUs only.
    Returns: a NumPy array of devices; the length of each axis is the product of the two entries.
    Raises: ValueError: the number of processes, or of devices in one, is wrong.
    Example:
      >>> import weft
      >>> from weft.experimental import mesh_utils
      >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), weft.devices()[:1]).shape
      (1, 1)
    Source: JAX documentation, `jax.experimental.mesh_utils.create_hybrid_device_mesh`.
    """
    inner, outer = tuple(mesh_shape), tuple(dcn_mesh_shape)
    if len(inner) != len(outer):
        raise ValueError(
            "create_hybrid_device_mesh: mesh_shape and dcn_mesh_shape must have one entry for each "
            f"axis; got {inner} and {outer}"
        )
    device_list = list(client.devices() if devices is None else devices)
    by_process: dict[int, list[Device]] = {}
    for device in device_list:
        by_process.setdefault(device.process_index, []).append(device)
    numbers = sorted(by_process) if should_sort_granules_by_key else list(by_process)
    if len(numbers) != math.prod(outer):
        raise ValueError(
            f"create_hybrid_device_mesh: dcn_mesh_shape {outer} is {math.prod(outer)} processes; "
            f"the devices belong to {len(numbers)}"
        )
    result = np.empty(tuple(a * b for a, b in zip(outer, inner, strict=True)), object)
    for place, number in zip(np.ndindex(*outer), numbers, strict=True):
        part = arranged("create_hybrid_device_mesh", by_process[number], inner)
        result[tuple(slice(i * n, (i + 1) * n) for i, n in zip(place, inner, strict=True))] = part
    return result


def arranged(
    operation: str, devices: Sequence[Device], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """The devices, row by row, as an array of the given shape."""
    if math.prod(shape) != len(devices):
        raise ValueError(
            f"{operation}: mesh_shape {shape} is {math.prod(shape)} devices; got {len(devices)}\n"
            "  fix: pass devices[:n], or on the CPU set WEFT_CPU_DEVICES"
        )
    result = np.empty(len(devices), object)
    result[:] = devices
    return result.reshape(shape)
