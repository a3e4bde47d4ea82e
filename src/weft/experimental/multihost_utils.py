"""Functions that all processes call together: broadcast_one_to_all, process_allgather,
sync_global_devices and assert_equal.

All processes must call them in the same order, with trees of the same structure, shapes and dtypes;
this is checked first. Data are sent as bytes, by collectives over one device of each process, so
every dtype arrives unchanged. A single process sends nothing.
"""

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.source import located
from ..lax import all_gather, psum
from ..runtime import client, distributed
from ..sharding import NamedSharding, PartitionSpec
from ..transforms.devices.pmap import pmap
from ..transforms.jit.function import jit
from ..tree_util import keystr, tree_flatten_with_path, tree_unflatten

__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]

CHUNK_BYTES = 1 << 26
"""The bytes per transfer. A device needs this memory for each process."""


@located
def sync_global_devices(name: str) -> None:
    """Waits until all processes have reached this call.

    Args:
      name: for messages; the same in all processes.
    Raises: ValueError: processes are at barriers of different names.
    Example:
      >>> sync_global_devices("end of the epoch")
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    _same("sync_global_devices", _exchange("sync_global_devices", name))


@located
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Sends the values of one process to all of them.

    Args:
      in_tree: arrays and scalars; only shapes and dtypes of the other processes' arrays matter.
      is_source: whether this process sends its values; by default process 0 does.
    Returns: the same tree, of NumPy arrays.
    Raises: ValueError: the trees differ in structure, shapes or dtypes, or the number of sources is
      not one.
    Example:
      >>> broadcast_one_to_all({"a": 1, "b": np.arange(2)})
      {'a': array(1), 'b': array([0, 1], dtype=int32)}
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    tree = Hosts(in_tree)
    if is_source is None:
        is_source = _rank() == 0
    _same("broadcast_one_to_all", _exchange("broadcast_one_to_all", tree.types))
    chosen = _exchange("broadcast_one_to_all: is_source", bool(is_source))
    if chosen.count(True) != 1:
        sources = [rank for rank, each in enumerate(chosen) if each]
        raise ValueError(
            f"broadcast_one_to_all: expected one source; got {len(sources)}, processes {sources}\n"
            "  fix: is_source=True in exactly one process"
        )
    leaves = tree.leaves if is_source else [np.zeros_like(leaf) for leaf in tree.leaves]
    if len(chosen) > 1:
        leaves = [_collected(leaf, _over_processes(psum)) for leaf in leaves]
    return tree_unflatten(tree.treedef, leaves)


@located
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Gathers the values of all processes, in each of them.

    Args:
      in_tree: arrays and scalars. An array on devices of several processes is fetched as one
        array.
      tiled: whether to join arrays along their first axis; otherwise, and for scalars, the result
        has a new first axis of the processes.
    Returns: the same tree, of NumPy arrays.
    Raises: ValueError: the trees of the processes differ in structure, shapes or dtypes.
    Example:
      >>> process_allgather({"a": 1, "b": np.arange(2)})
      {'a': array([1]), 'b': array([[0, 1]], dtype=int32)}
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    tree = Hosts(in_tree)
    count = len(_same("process_allgather", _exchange("process_allgather", tree.types)))
    leaves = []
    for leaf, is_whole in zip(tree.leaves, tree.is_whole, strict=True):
        if not is_whole:
            all_of_it = _collected(leaf, _over_processes(all_gather)) if count > 1 else leaf[None]
            leaf = np.concatenate(all_of_it) if tiled and leaf.ndim else all_of_it
        leaves.append(leaf)
    return tree_unflatten(tree.treedef, leaves)


@located
def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Checks that all processes have the same tree with bitwise equal values.

    Args:
      in_tree: arrays and scalars.
      fail_message: the beginning of the error's message.
    Raises: AssertionError: in all processes, if the values of any process differ from those of
      process 0.
    Example:
      >>> assert_equal({"step": 3}, "the checkpoints differ")
    Source: JAX's documentation, `jax.experimental.multihost_utils`.
    """
    tree = Hosts(in_tree)
    sums = [hashlib.sha256(leaf.tobytes()).hexdigest() for leaf in tree.leaves]
    mine = [[*types, digest] for types, digest in zip(tree.types, sums, strict=True)]
    first, *others = _exchange("assert_equal", mine)
    differences = [
        f"process {rank} differs from process 0: {_difference(first, each)}"
        for rank, each in enumerate(others, 1)
        if each != first
    ]
    if differences:
        raise AssertionError("\n  ".join([fail_message or "assert_equal", *differences]))


# --- messages between processes ---


class Hosts:
    """The leaves of a tree on the host, with their paths and types, which must agree in all
    processes."""

    def __init__(self, tree: Any) -> None:
        paths, self.treedef = tree_flatten_with_path(tree)
        self.is_whole = [_is_spread(leaf) for _, leaf in paths]
        self.leaves = [_host(leaf) for _, leaf in paths]
        self.types = [
            [keystr(path), f"{host.dtype.name}{list(host.shape)}"]
            for (path, _), host in zip(paths, self.leaves, strict=True)
        ]


def _is_spread(leaf: Any) -> bool:
    """True for an array on devices of several processes."""
    return isinstance(leaf, Array) and not leaf.is_fully_addressable


def _host(leaf: Any) -> np.ndarray[Any, Any]:
    if _is_spread(leaf) and not leaf.is_fully_replicated:
        everywhere = NamedSharding(leaf.sharding.mesh, PartitionSpec())
        leaf = jit(_itself, out_shardings=everywhere)(leaf)
    return np.asarray(leaf)


def _itself(x: Any) -> Any:
    return x


def _rank() -> int:
    here = distributed.connection()
    return 0 if here is None else here.process_index


def _exchange(what: str, mine: Any) -> list[Any]:
    """The messages of all processes. All of them must be in the same call."""
    here = distributed.connection()
    if here is None:
        return [mine]
    messages = [json.loads(text) for text in here.exchange(json.dumps([what, mine]))]
    _same(what, [name for name, _ in messages])
    return [value for _, value in messages]


def _same(what: str, messages: list[Any]) -> list[Any]:
    """Returns `messages`; raises ValueError if they differ."""
    for rank, each in enumerate(messages):
        if each != messages[0]:
            raise ValueError(
                f"{what}: process {rank} differs from process 0: {_difference(messages[0], each)}\n"
                "  fix: the same calls in all processes, with the same structure, shapes and dtypes"
            )
    return messages


def _difference(first: Any, other: Any) -> str:
    """A description of how another process's message differs from process 0's."""
    if not isinstance(first, list):
        return f"{other!r}, not {first!r}"
    for (path, type_, *value), (its_path, its_type, *its_value) in zip(other, first, strict=False):
        if (path, type_) != (its_path, its_type):
            return (
                f"it has {type_} at {path or 'the top'}, not {its_type} at {its_path or 'the top'}"
            )
        if value != its_value:
            return f"the values at {path or 'the top'}, {type_}"
    return f"it has {len(other)} leaves, not {len(first)}"


def _leaf(message: list[str]) -> str:
    path, type_, *_ = message
    return f"{type_} at {path or 'the top'}"


# --- data ---


def _collected(leaf: np.ndarray[Any, Any], collect: Callable[[Any], Any]) -> Any:
    """An array after a collective on bytes, done in chunks. The collective may add a leading
    axis."""
    data = np.ascontiguousarray(leaf).reshape(-1).view(np.uint8)
    pieces = []
    for start in range(0, max(data.size, 1), CHUNK_BYTES):
        piece = data[start : start + CHUNK_BYTES]
        # padded to one of a few lengths, so that few programs are compiled
        padded = np.zeros((1, max(1024, 1 << (piece.size - 1).bit_length())), np.uint8)
        padded[0, : piece.size] = piece
        pieces.append(np.asarray(collect(padded))[0, ..., : piece.size])
    whole = np.ascontiguousarray(np.concatenate(pieces, -1))
    return whole.view(leaf.dtype).reshape((*whole.shape[:-1], *leaf.shape))


@functools.cache
def _over_processes(collective: Callable[..., Any]) -> Callable[[Any], Any]:
    """A collective over the first device of each process."""
    firsts = [client.local_devices(None, rank)[0] for rank in range(client.process_count())]
    return pmap(lambda x: collective(x, "processes"), axis_name="processes", devices=firsts)
