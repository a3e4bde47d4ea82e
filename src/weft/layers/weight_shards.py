"""Divides arrays among devices, one part on each, and gathers them again (unshard_in_pmap)."""

from typing import Any

import numpy as np

from .. import fastmath, lax
from ..fastmath import nested_map, numpy as jnp
from ..option_checks import whole_number
from ..user_lines import noted


def _axis(rank: int) -> int:
    """The axis along which an array is divided: the first, or the last for arrays with three or
    more axes."""
    return 0 if rank < 3 else -1


def parts(tensors: Any, n: int) -> Any:
    """Nested arrays with a new first axis: part i % n for device i."""
    n = whole_number("shard", "n_shards", n, least=0)
    devices = fastmath.global_device_count()

    def of_one(tensor: Any) -> Any:
        axis = _axis(len(tensor.shape))
        if n < 1 or not tensor.shape or tensor.shape[axis] % n:
            raise noted(ValueError(f"Cannot split x with shape {tuple(tensor.shape)} into {n}."))
        cut = jnp.split(tensor, n, axis=axis)
        return jnp.stack([cut[device % n] for device in range(devices)])

    return nested_map(of_one, tensors)


def wholes(tensors: Any, n: int) -> Any:
    """The inverse of `parts`, as NumPy arrays."""

    def of_one(tensor: Any) -> Any:
        cut = np.asarray(tensor)[:n]
        return np.concatenate([*cut], axis=_axis(cut.ndim - 1))

    return nested_map(of_one, tensors)


def unshard_in_pmap(tensors: Any, n_shards: int) -> tuple[Any, bool]:
    """Gathers arrays of which each device has a part, inside a `pmap` over the axis 'batch'.

    Args:
      tensors: nested arrays, the parts of one device.
      n_shards: the number of parts of each array.
    Returns: (whole arrays, True); outside of a `pmap`, (tensors, False).
    Example:
      >>> from weft import layers as tl
      >>> tl.unshard_in_pmap(np.arange(3), n_shards=1)
      (Array([0, 1, 2], dtype=int32), False)
    Source: Trax documentation, `layers.base.unshard_in_pmap`.
    """
    n = n_shards
    devices = fastmath.global_device_count()
    groups = [list(range(first, first + n)) for first in range(0, devices, n)]

    def of_one(tensor: Any) -> Any:
        axis = _axis(len(tensor.shape)) % len(tensor.shape)
        return lax.all_gather(tensor, "batch", axis=axis, tiled=True, axis_index_groups=groups)

    try:
        return nested_map(of_one, tensors), True
    except NameError:  # there is no such axis, so arrays are not divided
        return tensors, False
