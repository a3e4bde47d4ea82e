"""The groups of devices of a collective, from HLO's notations and from the axes of a mesh.

Devices are numbered by their place in the program's group of devices.
"""

import itertools
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

Groups: TypeAlias = tuple[tuple[int, ...], ...]

_IOTA = re.compile(r"\[([\d,]+)\](?:<=\[([\d,]+)\])?(?:T\(([\d,]+)\))?")
_AXIS = re.compile(r"'?([^',:=]+)'?(?::\((\d+)\)(\d+))?")


def integers(text: str) -> list[int]:
    """All numbers in a text."""
    return [int(n) for n in re.findall(r"\d+", text)]


def numbered(text: str) -> np.ndarray | None:
    """The array of `[2,4]<=[4,2]T(1,0)`: 0, 1, 2, … in the shape on the right, its axes permuted,
    then in the shape on the left. `[4,2]T(1,0)` leaves out the last step."""
    match = _IOTA.match(text)
    if match is None or (match[0].endswith("]") and "<=" not in match[0]):
        return None
    shape, counted, order = (integers(part or "") for part in match.groups())
    counted = counted or shape
    array = np.arange(math.prod(counted)).reshape(counted)
    array = array.transpose(order or range(len(counted)))
    return array.reshape(shape) if "<=" in match[0] else array


def parse_groups(text: str, count: int) -> Groups:
    """The device groups in an operation's attributes.

    Args:
      text: what follows `replica_groups=`: a list of lists `{{0,1},{2,3}}`, an array of numbers
        `[2,4]<=[4,2]T(1,0)`, or axes of a mesh `mesh['x'=2,'y'=4] {'y'}`.
      count: the number of devices of the program; `{}` is a group of all.
    """
    if text.startswith("mesh"):
        return _along_axes(text)
    array = numbered(text)
    if array is not None:
        return _rows(array)
    lists = re.match(r"\{((?:\{[\d, ]*\},? *)*)\}", text)
    if lists is None:
        raise ValueError(f"collectives: expected groups of devices; got {text[:80]!r}")
    groups = tuple(tuple(integers(part)) for part in re.findall(r"\{([\d, ]*)\}", lists[1]))
    return groups or (tuple(range(count)),)


def parse_pairs(text: str) -> tuple[tuple[int, int], ...]:
    """(from, to) pairs from text such as `{{0,1},{1,0}}`."""
    lists = re.match(r"\{((?:\{\d+,\d+\},? *)*)\}", text)
    pairs = re.findall(r"\{(\d+),(\d+)\}", lists[1]) if lists else []
    return tuple((int(source), int(target)) for source, target in pairs)


def _along_axes(text: str) -> Groups:
    """Groups of `mesh['x'=2,'y'=4] {'y'}`; an axis `'y':(2)2` is a part of one: after the first 2
    of its factors, the next 2."""
    match = re.match(r"mesh\[([^\]]*)\](?:, device_ids=\((\S*)\))? \{([^}]*)\}", text)
    if match is None:
        raise ValueError(f"collectives: expected axes of a mesh; got {text[:80]!r}")
    sizes = {name: int(n) for name, n in re.findall(r"'?([^',=]+)'?=(\d+)", match[1])}
    devices = np.arange(math.prod(sizes.values()))
    if match[2]:
        array = numbered(match[2])
        devices = np.array(integers(match[2])) if array is None else array.reshape(-1)
    parts: dict[str, list[tuple[int, int]]] = {}  # of each axis: (size before, size) of parts
    for name, before, size in _AXIS.findall(match[3]):
        part = (int(before), int(size)) if size else (1, sizes[name])
        parts.setdefault(name, []).append(part)
    shape: list[int] = []
    inside: list[int] = []
    for name, size in sizes.items():
        done = 1
        for before, length in sorted(parts.get(name, [])):
            shape.append(before // done)
            inside.append(len(shape))
            shape.append(length)
            done = before * length
        shape.append(size // done)
    outside = [axis for axis in range(len(shape)) if axis not in inside]
    array = devices.reshape(shape).transpose(outside + inside)
    return _rows(array.reshape(-1, math.prod(shape[axis] for axis in inside)))


def _rows(array: np.ndarray) -> Groups:
    return tuple(tuple(row) for row in array.tolist())


# --- meshes ---


def groups_along(mesh: Mapping[Hashable, int], axes: Sequence[Hashable]) -> Groups:
    """The groups of devices whose positions differ only along some axes of a mesh.

    Args:
      mesh: the length of each axis by name, as `Mesh.shape`.
    """
    names, sizes = list(mesh), list(mesh.values())
    inside = [i for i, name in enumerate(names) if name in axes]
    outside = [i for i, name in enumerate(names) if name not in axes]
    array = np.arange(math.prod(sizes)).reshape(sizes).transpose(outside + inside)
    return _rows(array.reshape(-1, math.prod(sizes[i] for i in inside)))


def axes_of(mesh: Mapping[Hashable, int], groups: Groups) -> tuple[Hashable, ...] | None:
    """The axes of a mesh that give these groups; `None` if no axes do."""
    group_sets = {frozenset(group) for group in groups}
    long = [name for name, size in mesh.items() if size > 1]
    for count in range(len(long) + 1):
        for names in itertools.combinations(long, count):
            size = math.prod(mesh[name] for name in names)
            if any(len(group) == size for group in groups) and group_sets == {
                frozenset(group) for group in groups_along(mesh, names)
            }:
                return names
    return None


def axes_of_pairs(
    mesh: Mapping[Hashable, int], pairs: Sequence[tuple[int, int]]
) -> tuple[Hashable, ...]:
    """The axes of a mesh along which devices send; `pairs` are (from, to)."""
    sizes = list(mesh.values())
    moves = np.array([np.unravel_index(pair, sizes) for pair in pairs if pair[0] != pair[1]])
    return tuple(
        name
        for i, name in enumerate(mesh)
        if len(moves) and (moves[:, i, 0] != moves[:, i, 1]).any()
    )
