"""What several processes do together besides computing: wait for each other, tell, gather, compare.

All processes call these functions, in the same order, with trees of one structure whose leaves have
the same shapes and dtypes: that this is so is checked first. Data of any size go by collectives over
one device of each process, as bytes, so that every dtype arrives as it was. Where there is only one
process, there is nothing to be done.
"""

from typing import Any

import numpy as np

from ..core.source import located
from ..lax import psum
from ..tree_util import tree_unflatten

__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]

CHUNK = 1 << 26
"""Bytes that are sent at once: what a device must have room for, once for each process."""


@located
def sync_global_devices(name: str) -> None:
    """Waits until all processes have come here.

    Args:
      name: for messages; the same in all processes.
    Raises: ValueError: processes have come to barriers of different names.
    Example:
      >>> sync_global_devices("end of the epoch")
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    names = _exchange(["sync_global_devices", name])
    _check_same("sync_global_devices", names, lambda said: f"is at {said[0]}, {said[1:]}")


@located
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, in all of them.

    Args:
      in_tree: arrays and scalars; those of the other processes are only looked at for their shapes
        and dtypes.
      is_source: whether the values of this process are the ones; by default those of process 0 are.
    Returns: the same tree, of NumPy arrays.
    Raises: ValueError: the trees differ in more than values, or there isn't exactly one source.
    Example:
      >>> broadcast_one_to_all({"a": 1, "b": np.arange(2)})
      {'a': array(1), 'b': array([0, 1])}
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    leaves, _, treedef = _hosts(in_tree)
    if is_source is None:
        is_source = _rank() == 0
    said = _exchange(["broadcast_one_to_all", _signature(in_tree), bool(is_source)])
    _check_same("broadcast_one_to_all", [each[:2] for each in said], _has)
    sources = [rank for rank, each in enumerate(said) if each[2]]
    if len(sources) != 1:
        raise ValueError(
            f"broadcast_one_to_all: expected one source; got processes {sources}\n"
            "  fix: is_source=True in exactly one process"
        )
    if len(said) > 1:
        add = _over_processes(psum)
        mine = leaves if is_source else [np.zeros_like(leaf) for leaf in leaves]
        leaves = [_sent(leaf, lambda part: np.asarray(add(part))[0]) for leaf in mine]
    return tree_unflatten(treedef, leaves)
