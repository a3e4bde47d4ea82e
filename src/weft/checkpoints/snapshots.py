"""Snapshots of trees, which are written while the program continues: snapshot, Snapshot. weft's
arrays are immutable, but a program may write its results into an array that is donated to it. So on
the CPU a snapshot has a view of each array's memory, which XLA then does not reuse; on other
devices it has a copy on the device, which is also made in the background. NumPy arrays are mutable,
so they are copied. (benchmarks/train_checkpoint.py)
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.array import Array, Tracer
from ..errors import DeletedArrayError
from ..tree_util import keystr
from ..user_lines import noted
from .manifest import checked_int, part_name
from .stored_dtypes import DTYPES, to_stored
from .structure import Node, nodes_of
from .tensor_files import digest

Elements = Callable[[], np.ndarray[Any, Any]]
"""A function that returns the elements of an array on the host, called when it is written."""


@dataclass
class Piece:
    """A part of an array."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    owner: int
    """The process that saves it."""
    elements: Elements | None
    """None for the part of another process."""


@dataclass
class HeldArray:
    """An array of the tree."""

    node: int
    """The index of its node."""
    name: str
    dtype: str
    shape: tuple[int, ...]
    pieces: list[Piece]

    @property
    def is_whole(self) -> bool:
        """True if process 0 saves the whole array."""
        return all(piece.owner == 0 for piece in self.pieces)

    def whole(self) -> np.ndarray[Any, Any]:
        """All elements as one array."""
        first, *others = self.pieces
        assert first.elements is not None
        if not others:
            return first.elements()
        host = first.elements()
        result = np.empty(self.shape, host.dtype)
        for piece in self.pieces:
            assert piece.elements is not None
            ranges = (slice(i, i + n) for i, n in zip(piece.start, piece.shape, strict=True))
            result[tuple(ranges)] = piece.elements()
        return result


@dataclass
class Snapshot:
    """A copy of a tree: its nodes, and the sources of the elements of its arrays."""

    nodes: list[Node]
    arrays: list[HeldArray] = field(default_factory=list)

    @property
    def owners(self) -> set[int]:
        """The processes that save parts."""
        return {0} | {p.owner for a in self.arrays if not a.is_whole for p in a.pieces}

    def tensors(self, process: int) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]]:
        """The arrays of a process's file, by name, and their checksums."""
        stored = {}
        for array in self.arrays:
            if array.is_whole and process == 0:
                stored[array.name] = to_stored(array.whole(), array.dtype)
            elif not array.is_whole:
                for piece in array.pieces:
                    if piece.owner == process and piece.elements is not None:
                        name = part_name(array.name, piece.start, piece.shape)
                        stored[name] = to_stored(piece.elements(), array.dtype)
        return stored, {name: digest(tensor) for name, tensor in stored.items()}

    def described(self, sums: dict[int, dict[str, str]]) -> list[Node]:
        """The nodes for tree.json.

        Args:
          sums: the checksums of the arrays in each process's file, by process.
        """
        nodes = list(self.nodes)
        for array in self.arrays:
            if array.is_whole:
                more: Node = {"sha256": sums[0][array.name]}
            else:
                more = {"parts": [
                    {"file": p.owner, "start": list(p.start), "shape": list(p.shape),
                     "sha256": sums[p.owner][part_name(array.name, p.start, p.shape)]}
                    for p in array.pieces
                ]}  # fmt: skip
            nodes[array.node] = nodes[array.node] | more
        return nodes


def snapshot(tree: Any) -> Snapshot:
    """A snapshot of the current state of a tree. It does not wait for computations on an
    accelerator.

    Raises: TypeError: a leaf cannot be saved. DeletedArrayError: an array was donated or deleted.
    """
    nodes, leaves = nodes_of(tree)
    result = Snapshot(nodes)
    for index, path, value in leaves:
        node, place = nodes[index], f"tree{keystr(path)}"
        kind = type(value)
        if kind in (bool, str, float):
            node["value"] = value
        elif kind is int:
            node["value"] = checked_int(value, place)
        elif kind is complex:
            node["complex"] = [value.real, value.imag]
        else:
            of, weak, dtype, shape, pieces = _described(value, place)
            node |= {"array": dtype, "shape": list(shape), "of": of}
            node |= {"weak": True} if weak else {}
            result.arrays.append(HeldArray(index, node["name"], dtype, shape, pieces))
    return result


def _described(value: Any, place: str) -> tuple[str, bool, str, tuple[int, ...], list[Piece]]:
    """(kind, weak type, dtype, shape, pieces) of an array."""
    if isinstance(value, Array):
        if value.is_deleted():
            raise noted(
                DeletedArrayError(
                    f"save: {place} was donated to a program, or deleted\n"
                    "  fix: save what the program returned"
                )
            )
        if value.aval.dtype.name in DTYPES:
            a = value.aval
            return "weft", a.weak_type, a.dtype.name, a.shape, _pieces(value)
    elif isinstance(value, np.ndarray | np.generic):
        dtype = value.dtype.newbyteorder("=").name
        if dtype in DTYPES:
            host = np.array(value, order="C")
            of = "numpy" if isinstance(value, np.ndarray) else "scalar"
            return of, False, dtype, host.shape, [_piece_of(host.shape, lambda: host)]
    got = f"a {type(value).__name__}"
    if isinstance(value, Tracer):
        got = f"a traced value, {value.aval}"
    elif isinstance(value, Array | np.ndarray | np.generic):
        got = f"an array of dtype {value.dtype}"
    raise noted(
        TypeError(
            "save: leaves must be arrays of numbers, random keys, Python's numbers, strings or "
            f"bools; got {got} at {place}\n  fix: leave it out of the tree, or convert it"
        )
    )


def _piece_of(shape: tuple[int, ...], elements: Elements) -> Piece:
    return Piece((0,) * len(shape), shape, 0, elements)


def _pieces(array: Array) -> list[Piece]:
    """The pieces of a weft array, each of which is saved by one process."""
    shape = array.aval.shape
    if array.type.placement.group is None or not array.size:
        everything = array if array.size else Array(np.empty(shape, host_type(array)), array.aval)
        return [_piece_of(shape, _reference(everything))]
    here = {_range(s.index, shape): s.data for s in array.addressable_shards}
    owners: dict[Any, int] = {}
    for device, index in array.sharding.devices_indices_map(shape).items():
        place = _range(index, shape)
        owners[place] = min(owners.get(place, device.process_index), device.process_index)
    if array.is_fully_addressable:  # then process 0 has its own array of this kind
        owners = dict.fromkeys(owners, 0)
    return [
        Piece(
            start,
            length,
            owner,
            _reference(here[start, length]) if (start, length) in here else None,
        )
        for (start, length), owner in owners.items()
    ]


def host_type(array: Array) -> np.dtype[Any]:
    """The dtype of an array's elements as a NumPy array."""
    dtype = array.aval.dtype
    return getattr(dtype, "host", dtype)


def _range(
    index: tuple[slice, ...], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The start and the lengths of a part."""
    ranges = [range(*part.indices(n)) for part, n in zip(index, shape, strict=True)]
    return tuple(r.start for r in ranges), tuple(map(len, ranges))


def _reference(array: Array) -> Elements:
    """A function that returns the elements of an array, even if the array is donated or deleted."""
    if array._host is None and array.platform() != "cpu":
        array = copy.copy(array)
        return lambda: np.asarray(array.host())
    host = np.asarray(array.host())
    return lambda: host
