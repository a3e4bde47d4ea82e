"""make_mesh: devices in an array of a shape. Knows devices and meshes."""

import math
from collections.abc import Sequence

import numpy as np

from ...core.source import located
from ...runtime import client
from ...runtime.client import Device
from ...sharding import Mesh

__all__ = ["make_mesh"]


@located
def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[object],
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of devices: the first ones, or those that are given, row by row.

    Devices of one process follow each other, so that the last axes are the ones along which
    communication is cheap.

    Args:
      axis_shapes: the length of each axis.
      axis_names: the name of each axis.
      devices: by default all devices of the preferred platform, of all processes.
    Raises: ValueError: there are fewer devices; or the numbers of lengths and names differ.
    Example:
      >>> import weft
      >>> weft.make_mesh((1, 1), ("data", "model"))
      Mesh(data=1, model=1)
    Source: the public documentation of `jax.make_mesh`.
    """
    shape = tuple(axis_shapes)
    known = list(client.devices() if devices is None else devices)
    count = math.prod(shape)
    if count > len(known):
        raise ValueError(
            f"make_mesh: {shape} are {count} devices; got {len(known)}\n  fix: shorter axes, or on "
            "the CPU set WEFT_CPU_DEVICES"
        )
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    return Mesh(np.array(known[:count], object).reshape(shape), names)
