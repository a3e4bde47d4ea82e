"""restore and read_metadata: read a checkpoint after checking all of it."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.aval import aval
from ..errors import CheckpointError, ShapeError
from ..transforms.devices.device_put import device_put
from ..tree_util import keystr, tree_flatten_with_path
from ..user_lines import noted
from . import structure
from .manifest import (
    TREE,
    Manifest,
    SavedArray,
    array_of,
    damaged,
    file_of,
    read_manifest,
)
from .places import place_of
from .saving import checked_path
from .stored_dtypes import DTYPES, from_stored
from .structure import Malformed, Node
from .tensor_files import Tensor, read_tensors

__all__ = ["read_metadata", "restore"]


def restore(path: Any, like: Any = None, *, strict: bool = True) -> Any:
    """Reads a tree that `save` wrote. It runs no code from the files.

    Args:
      path: the directory.
      like: a tree of the same structure, of arrays or of `ShapeDtypeStruct`s. The result has its
        classes, and the placement of its arrays. Without `like`, namedtuples, dataclasses and other
        registered nodes become dicts, lists, tuples and None; weft's arrays are on the default
        device, and NumPy arrays are restored as NumPy arrays.
      strict: False restores the leaves that both have: other leaves of `like` do not change, and
        other leaves of the checkpoint are ignored.
    Returns: the tree.
    Raises: FileNotFoundError: there is no such directory. CheckpointError: a file is damaged,
      truncated or foreign. ShapeError: leaves, shapes or dtypes differ from those of `like`; the
      message names them.
    Example:
      >>> from weft import checkpoints, numpy as np
      >>> checkpoints.save("model", {"w": np.arange(3.0), "step": 7})
      >>> checkpoints.restore("model", {"w": np.zeros(3), "step": 0})
      {'step': 7, 'w': Array([0., 1., 2.], dtype=float32)}
    """
    return _read("restore", path, lambda directory: _restored(directory, like, strict))


TRIES = 10
"""The number of attempts to read a checkpoint that is replaced while it is read."""


def _read(operation: str, path: Any, read: Callable[[str], Any]) -> Any:
    """Reads a checkpoint; reads it again if another process has replaced it meanwhile."""
    for tries_left in reversed(range(TRIES)):
        version = None
        try:
            directory = existing(operation, path)
            version = _version(directory)
            return read(directory)
        except (CheckpointError, FileNotFoundError):
            now = _version(place_of(checked_path(operation, path)))
            if not tries_left or (version is not None and version == now):
                raise
    return None


def _version(directory: str) -> tuple[str, int, int] | None:
    """Identifies a checkpoint: a replacement has another value, and so has a moved one."""
    try:
        status = os.stat(os.path.join(directory, TREE))
    except OSError:
        return None
    return directory, status.st_ino, status.st_mtime_ns


def _restored(directory: str, like: Any, strict: bool) -> Any:
    content = read_manifest("restore", directory)
    leaves = described_leaves("restore", directory, content)
    if like is None:
        values = [leaf.value for leaf in loaded("restore", directory, leaves, range(len(leaves)))]
        return structure.plain_tree(content.nodes, values)
    entries, treedef = tree_flatten_with_path(like)
    at = {leaf.path: i for i, leaf in enumerate(leaves)}
    matches = [at.get(tuple(map(structure.key_of, keys))) for keys, _ in entries]
    if strict:
        _check_same_leaves(directory, leaves, entries, matches)
    for (keys, value), i in zip(entries, matches, strict=True):
        if i is not None:
            _check_like(directory, leaves[i], value, keystr(keys))
    chosen = {i for i in matches if i is not None}
    loaded("restore", directory, leaves, chosen)
    return treedef.unflatten(
        value if i is None else _placed(leaves[i], value)
        for (_, value), i in zip(entries, matches, strict=True)
    )


def read_metadata(path: Any) -> dict[str, Any]:
    """The metadata of a checkpoint; its arrays are not read.

    Args:
      path: the directory.
    Returns: the `metadata` of `save`.
    Raises: FileNotFoundError: there is no such directory. CheckpointError: tree.json is missing,
      damaged or foreign.
    Example:
      >>> from weft import checkpoints, numpy as np
      >>> checkpoints.save("best", {"w": np.arange(3.0)}, metadata={"loss": 0.25})
      >>> checkpoints.read_metadata("best")
      {'loss': 0.25}
    """
    name = "read_metadata"
    metadata: dict[str, Any] = _read(
        name, path, lambda directory: read_manifest(name, directory).metadata
    )
    return metadata


def existing(operation: str, path: Any) -> str:
    """The directory of an existing checkpoint."""
    target = checked_path(operation, path)
    directory = place_of(target)
    if not os.path.lexists(directory):
        parent = os.path.dirname(target)
        raise noted(
            FileNotFoundError(
                f"{operation}: there is no checkpoint {target}\n"
                f"  fix: a path of one; weft.checkpoints.Checkpoints({parent!r}) lists those beside"
            )
        )
    return directory


# --- reading ---


@dataclass
class Leaf:
    """A leaf of a saved tree."""

    path: structure.Path
    node: Node
    array: SavedArray | None
    value: Any = None

    @property
    def text(self) -> str:
        """A description of the leaf, for messages."""
        if self.array is None:
            return f"a Python {type(self.value).__name__}"
        return _text(self.array.dtype, self.array.shape)


def described_leaves(operation: str, directory: str, content: Manifest) -> list[Leaf]:
    """The leaves of a tree.json, with the values of all leaves except arrays.

    Raises: CheckpointError: `save` did not write them.
    """
    try:
        leaves = [
            Leaf(path, node, array_of(node)) for path, node in structure.leaf_paths(content.nodes)
        ]
        for leaf in leaves:
            if leaf.array is None:
                leaf.value = _plain_value(leaf.node)
    except Malformed as error:
        raise damaged(operation, os.path.join(directory, TREE), str(error)) from None
    return leaves


def _plain_value(node: Node) -> Any:
    """A number, bool or string."""
    match node:
        case {"value": bool() | int() | float() | str() as value}:
            return value
        case {"complex": [float() as real, float() as imaginary]}:
            return complex(real, imaginary)
    raise Malformed(f"the leaf {node.get('name')!r:.60} has no value")


def loaded(
    operation: str, directory: str, leaves: Sequence[Leaf], chosen: Collection[int]
) -> Sequence[Leaf]:
    """Reads the arrays of some leaves into their `value`; returns all leaves.

    Raises: CheckpointError: a file is damaged, or does not match tree.json.
    """
    files: dict[int, dict[str, Tensor]] = {0: {}}
    names_by_file: dict[int, set[str]] = {0: set()}
    for i, leaf in enumerate(leaves):
        for part in leaf.array.parts if leaf.array else ():
            tensors = files.setdefault(part.file, {})
            if part.name in tensors:
                wrong = f"two arrays have the name {part.name!r:.60}"
                raise damaged(operation, os.path.join(directory, TREE), wrong)
            assert leaf.array is not None
            tensors[part.name] = Tensor(leaf.array.stored(part), part.sha256)
            if i in chosen:
                names_by_file.setdefault(part.file, set()).add(part.name)
    raw = {
        file: read_tensors(
            operation, os.path.join(directory, file_of(file)), tensors, names_by_file.get(file, ())
        )
        for file, tensors in files.items()
    }
    for i in chosen:
        array = leaves[i].array
        if array is not None:
            try:
                leaves[i].value = _assembled(array, raw)
            except ValueError as error:
                path = os.path.join(directory, file_of(array.parts[0].file))
                raise damaged(operation, path, f"{array.name!r:.60} has {error}") from None
    return leaves


def _assembled(array: SavedArray, raw: dict[int, dict[str, np.ndarray[Any, Any]]]) -> Any:
    """The array from its parts."""
    blocks = [from_stored(raw[p.file].pop(p.name), array.dtype, p.shape) for p in array.parts]
    host = blocks[0]
    if len(blocks) > 1:
        host = np.empty(array.shape, host.dtype)
        for part, block in zip(array.parts, blocks, strict=True):
            ranges = (slice(i, i + n) for i, n in zip(part.start, part.shape, strict=True))
            host[tuple(ranges)] = block
    if array.of == "weft":
        return _array(host, array.dtype, array.weak)
    return host[()] if array.of == "scalar" else host


def _array(host: np.ndarray[Any, Any], dtype: str, weak: bool = False) -> Array:
    """A weft array with the elements of a NumPy array. The current precision does not change its
    dtype."""
    host.flags.writeable = False
    return Array(host, aval(host.shape, DTYPES[dtype], weak))


# --- comparison with a tree ---


def _text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def _type_of(value: Any) -> tuple[str, tuple[int, ...]] | None:
    """(dtype, shape) of an array or of a description of one; None for other objects."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return None
    return getattr(dtype, "name", None) or np.dtype(dtype).name, tuple(shape)


def _check_same_leaves(
    directory: str, leaves: Sequence[Leaf], entries: Sequence[Any], matches: Sequence[int | None]
) -> None:
    """Raises ShapeError unless the checkpoint and `like` have the same leaves."""
    missing = [keystr(keys) for (keys, _), i in zip(entries, matches, strict=True) if i is None]
    used = set(matches)
    extra = [f"{leaf.node['name']!r}" for i, leaf in enumerate(leaves) if i not in used]
    if missing or extra:
        lines = [f"restore: {directory} has other leaves than `like`"]
        lines += [f"  only in like: {_some(missing)}"] if missing else []
        lines += [f"  only in the checkpoint: {_some(extra)}"] if extra else []
        lines.append("  fix: a tree like the one that was saved; strict=False takes what both have")
        raise noted(ShapeError("\n".join(lines)))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(name or "the tree itself" for name in names[:5])
    return shown + (f", … ({len(names)} in all)" if len(names) > 5 else "")


def _check_like(directory: str, leaf: Leaf, value: Any, path: str) -> None:
    """Raises ShapeError unless a leaf has the shape and the dtype of its counterpart."""
    like_type = _type_of(value)
    saved = None if leaf.array is None else (leaf.array.dtype, leaf.array.shape)
    if like_type != saved:
        expected = f"a Python {type(value).__name__}" if like_type is None else _text(*like_type)
        raise noted(
            ShapeError(
                f"restore: {directory}: expected {expected} at like{path}; the checkpoint has "
                f"{leaf.text}\n  fix: a tree like the one that was saved"
            )
        )


def _placed(leaf: Leaf, like: Any) -> Any:
    """Converts the value of a leaf to its counterpart's kind (NumPy or weft) and placement."""
    value, array = leaf.value, leaf.array
    if array is None:
        return value
    if isinstance(like, np.ndarray | np.generic):
        host = np.asarray(value.host()) if isinstance(value, Array) else np.asarray(value)
        if isinstance(like, np.generic):
            return host[()]
        return host if host.flags.writeable else _writeable(host)
    if not isinstance(value, Array):
        value = _array(np.asarray(value), array.dtype)
    sharding = getattr(like, "sharding", None)
    if sharding is None or (isinstance(like, Array) and not like.committed):
        return value
    return device_put(value, sharding)


def _writeable(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A writeable array; the argument was just read and has no other owner."""
    host.flags.writeable = True
    return host
