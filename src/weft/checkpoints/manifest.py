"""The file tree.json of a checkpoint: Manifest, text_of, read_manifest, array_of, damaged.

Its first line is a digest of the other lines, which detects any changed bit. All of its content is
checked before it is used. Reading runs no code, and uses memory in proportion to the size of the
files.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ..errors import CheckpointError
from ..user_lines import noted
from . import structure
from .stored_dtypes import DTYPES, StoredType, stored_type
from .structure import Malformed, Node

TREE = "tree.json"
ARRAYS = "arrays.safetensors"
FORMAT, VERSION = "weft checkpoint", 1

MAX_BYTES = 64 << 20
"""The maximal size of a tree.json in bytes; its objects take some twenty times as much memory."""

MAX_JSON_DEPTH = 100
MAX_AXES = 64
MAX_SIZE = 1 << 58
"""The maximal number of elements of an array, so that its bytes can be counted in 64 bits."""

MAX_BITS = 8192
"""The maximal bits of a whole number. Python refuses to parse numbers with many more digits."""

_FIRST_LINE = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')
_OPEN, _CLOSE = list(b"[{"), list(b"]}")


@dataclass(frozen=True)
class Manifest:
    """The content of a tree.json."""

    nodes: list[Node]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of an array, as saved by one process."""

    file: int
    """The process that wrote the file."""
    name: str
    start: tuple[int, ...]
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class SavedArray:
    """The description of an array in a tree.json."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    of: str
    """"weft", "numpy", or "scalar" for a NumPy scalar."""
    weak: bool
    parts: tuple[Part, ...]

    def stored(self, part: Part) -> StoredType:
        """The type of a part in its file."""
        return stored_type(self.dtype, part.shape)


def file_of(process: int) -> str:
    """The name of the file with the arrays of a process."""
    return f"arrays-{process:05d}.safetensors" if process else ARRAYS


def part_name(name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The name of a part of an array: `w[0:4,8:16]`."""
    ranges = (f"{i}:{i + n}" for i, n in zip(start, shape, strict=True))
    return f"{name}[{','.join(ranges)}]"


def damaged(operation: str, path: str, wrong: str) -> CheckpointError:
    """The error for a file that cannot be read."""
    return noted(
        CheckpointError(
            f"{operation}: {path} is damaged, or not a checkpoint: {wrong}\n"
            "  fix: restore another checkpoint, or take another copy of this one"
        )
    )


# --- writing ---


def text_of(nodes: list[Node], metadata: dict[str, Any]) -> bytes:
    """The bytes of a tree.json. Equal nodes and metadata give equal bytes.

    Raises: ValueError: it would be too long to read.
    """
    lines = ",\n".join(json.dumps(node) for node in nodes)
    rest = (
        f'"format": "{FORMAT}", "version": {VERSION},\n'
        f'"tree": [\n{lines}\n],\n"metadata": {json.dumps(metadata)}}}\n'
    ).encode()
    if len(rest) > MAX_BYTES - 100:
        raise noted(
            ValueError(
                f"save: the structure and the metadata must take at most {MAX_BYTES:,} bytes; got "
                f"{len(rest):,}\n  fix: put numbers into arrays"
            )
        )
    return b'{"sha256": "%s",\n' % hashlib.sha256(rest).hexdigest().encode() + rest


def plain_json(value: Any, place: str, depth: int = 3) -> Any:
    """Metadata as JSON values: tuples become lists, NumPy numbers become Python numbers.

    Args:
      place: the place of the value for messages, such as `metadata['loss']`.
    Raises: TypeError: a value that JSON does not have. ValueError: it is nested too deep.
    """
    if isinstance(value, np.generic) or (getattr(value, "shape", None) == () and value.ndim == 0):
        value = value.item()
    if depth > MAX_JSON_DEPTH:
        raise noted(ValueError(f"save: metadata must not be nested so deep; got {place}"))
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise noted(
                    TypeError(f"save: keys of metadata must be strings; got {key!r:.60} in {place}")
                )
        return {k: plain_json(v, f"{place}[{k!r}]", depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v, f"{place}[{i}]", depth + 1) for i, v in enumerate(value)]
    if value is None or type(value) in (bool, str, float):
        return value
    if type(value) is int:
        return checked_int(value, place)
    raise noted(
        TypeError(
            "save: metadata must be strings, numbers, bools, None, and lists and dicts of those; "
            f"got a {type(value).__name__} for {place}\n  fix: put arrays into the tree"
        )
    )


def checked_int(value: int, place: str) -> int:
    """A whole number, checked to be small enough to read back."""
    if value.bit_length() > MAX_BITS:
        raise noted(
            ValueError(
                f"save: whole numbers must have at most {MAX_BITS} bits; got one of "
                f"{value.bit_length()} for {place}\n  fix: save it as a string"
            )
        )
    return value


# --- reading ---


def read_manifest(operation: str, directory: str) -> Manifest:
    """The content of the tree.json in a directory.

    Raises: CheckpointError: the file is missing or damaged. OSError: it cannot be read.
    """
    path = os.path.join(directory, TREE)
    with regular_file(operation, path) as (file, size):
        if size > MAX_BYTES:
            raise damaged(operation, path, f"it has {size:,} bytes, more than {MAX_BYTES:,}")
        data = file.read(size)  # Python allocates this much
    first = _FIRST_LINE.match(data)
    if first is None:
        raise damaged(operation, path, "it does not begin with a checksum")
    rest = memoryview(data)[first.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != first[1]:
        raise damaged(operation, path, "its checksum differs: it was changed or cut off")
    try:
        _check_depth(data)
        content = json.loads(data)
        return _manifest(operation, path, content)
    except (Malformed, ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise damaged(operation, path, str(error)) from None


@contextlib.contextmanager
def regular_file(operation: str, path: str) -> Iterator[tuple[IO[bytes], int]]:
    """An open file and its size. A pipe raises an error, because reading from it could block
    forever."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise damaged(operation, path, "it is not a regular file")
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(operation, path, "the file is missing") from None
    except OSError as error:
        text = f"{operation}: {path} could not be read: {error.strerror or error}"
        explained = type(error)(f"{text}\n  fix: a file that you may read, on a disk that is sound")
        explained.errno = error.errno
        raise noted(explained) from None


def _check_depth(data: bytes) -> None:
    """Raises an error for deeply nested JSON, before it is parsed."""
    text = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    letters = np.frombuffer(text, np.uint8)
    steps = np.isin(letters, _OPEN).astype(np.int8) - np.isin(letters, _CLOSE)
    steps[np.logical_xor.accumulate(letters == ord('"'))] = 0  # inside strings
    if np.cumsum(steps, dtype=np.int32).max() > MAX_JSON_DEPTH:
        raise Malformed(f"it is nested more than {MAX_JSON_DEPTH} levels deep")


def _manifest(operation: str, path: str, content: dict[str, Any]) -> Manifest:
    if content.get("format") != FORMAT:
        raise Malformed(f"its format is {content.get('format')!r:.60}, not {FORMAT!r}")
    if content.get("version") != VERSION:
        raise noted(
            CheckpointError(
                f"{operation}: {path} has version {content.get('version')!r:.60} of the format; "
                f"this weft reads version {VERSION}\n  fix: a newer weft"
            )
        )
    nodes, metadata = content.get("tree"), content.get("metadata")
    if not isinstance(nodes, list) or not nodes or not isinstance(metadata, dict):
        raise Malformed("it has no tree, or no metadata")
    return Manifest(nodes, metadata)


def array_of(node: Node) -> SavedArray | None:
    """The array of a leaf; None for a number or a string.

    Raises: structure.Malformed: the description of the array is invalid.
    """
    if "array" not in node:
        return None
    name, dtype, of = node.get("name"), node["array"], node.get("of")
    if not isinstance(name, str) or not isinstance(dtype, str) or not isinstance(of, str):
        raise Malformed(f"the array {name!r:.60} is described by values that are not strings")
    if dtype not in DTYPES or of not in ("weft", "numpy", "scalar"):
        raise Malformed(f"the array {name!r:.60} is {dtype!r:.60} of {of!r:.60}, which is unknown")
    shape = _lengths(node.get("shape"), name)
    if "parts" not in node:
        parts = [Part(0, name, (0,) * len(shape), shape, _digest(node, name))]
    elif isinstance(node["parts"], list):
        parts = [_part(part, name, shape) for part in node["parts"]]
        _check_tiling(parts, name, shape)
    else:
        raise Malformed(f"the parts of the array {name!r:.60} are not a list")
    if of == "scalar" and shape:
        raise Malformed(f"the scalar {name!r:.60} has the shape {shape}")
    return SavedArray(name, dtype, shape, of, node.get("weak") is True, tuple(parts))


def _lengths(shape: Any, name: str) -> tuple[int, ...]:
    """A shape, or the position of a part in an array."""
    is_shape = isinstance(shape, list) and all(type(n) is int and 0 <= n < MAX_SIZE for n in shape)
    if is_shape and len(shape) < MAX_AXES and math.prod(max(n, 1) for n in shape) < MAX_SIZE:
        return tuple(shape)
    raise Malformed(f"the array {name!r:.60} has an impossible shape")


def _digest(entry: dict[str, Any], name: str) -> str:
    digest = entry.get("sha256")
    if not isinstance(digest, str) or len(digest) != 64:
        raise Malformed(f"the array {name!r:.60} has no checksum")
    return digest


def _part(entry: Any, name: str, whole: tuple[int, ...]) -> Part:
    if not isinstance(entry, dict):
        raise Malformed(f"a part of the array {name!r:.60} is not an object")
    start, shape = _lengths(entry.get("start"), name), _lengths(entry.get("shape"), name)
    file = entry.get("file")
    if (
        type(file) is not int
        or not 0 <= file < 100_000
        or not len(start) == len(shape) == len(whole)
    ):
        raise Malformed(f"a part of the array {name!r:.60} has no valid position")
    return Part(file, part_name(name, start, shape), start, shape, _digest(entry, name))


def _check_tiling(parts: list[Part], name: str, whole: tuple[int, ...]) -> None:
    """Checks that the parts form the whole array: equal blocks of a grid, each once."""
    block = parts[0].shape if parts else whole
    fits = bool(parts) and all(n and total % n == 0 for n, total in zip(block, whole, strict=True))
    if fits:
        count = math.prod(total // n for n, total in zip(block, whole, strict=True))
        starts = {
            part.start
            for part in parts
            if part.shape == block
            and all(
                i % n == 0 and i < total
                for i, n, total in zip(part.start, block, whole, strict=True)
            )
        }
        fits = len(starts) == len(parts) == count
    if not fits:
        raise Malformed(f"the parts of the array {name!r:.60} are not the whole")


def checked_leaves(manifest: Manifest) -> list[tuple[structure.Path, Node]]:
    """The paths and nodes of all leaves. Checks the structure."""
    return list(structure.leaf_paths(manifest.nodes))
