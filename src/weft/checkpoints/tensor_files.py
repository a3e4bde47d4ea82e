"""Files of arrays in the safetensors format: write_tensors, read_tensors."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ..option_checks import optional
from ..runtime.buffer import aligned_empty
from .manifest import damaged, regular_file
from .stored_dtypes import StoredType

_LENGTH_BYTES = 8
"""The bytes before the header; they contain its length."""


@dataclass(frozen=True)
class Tensor:
    """The description of an array in a file."""

    type: StoredType
    sha256: str


def digest(array: np.ndarray[Any, Any]) -> str:
    """The checksum of an array's bytes in row-major order."""
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def require_library(operation: str) -> Any:
    """The library safetensors. If it is not installed, raises an error with instructions."""
    return optional("safetensors", operation, "safetensors")


def write_tensors(path: str, tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes arrays to a file, and waits until they are on the disk.

    Args:
      tensors: arrays in row-major order, of dtypes that the format supports.
    Raises: OSError: the disk is full, for example.
    """
    library = require_library("save")
    try:
        optional("safetensors.numpy", "save", "safetensors").save_file(dict(tensors), path)
    except library.SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise OSError(errno.EIO, str(error), path) from None
        raise OSError(int(number[1]), os.strerror(int(number[1])), path) from None
    # the library makes files that only their owner can read
    os.chmod(path, os.stat(os.path.dirname(path)).st_mode & 0o666)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def read_tensors(
    operation: str, path: str, tensors: Mapping[str, Tensor], names: Collection[str]
) -> dict[str, np.ndarray[Any, Any]]:
    """Reads the bytes of arrays in a file, and compares their checksums.

    Args:
      operation: the function that the user called, for messages.
      tensors: all arrays that the file must contain, by name.
      names: the names of the arrays to read.
    Returns: arrays of uint8, in memory that XLA can use without a copy.
    Raises: CheckpointError: the file does not match `tensors`, or is damaged.
    """
    library = require_library(operation)
    content = sum(tensor.type.nbytes for tensor in tensors.values())
    with regular_file(operation, path) as (file, size):
        header = size - content - _LENGTH_BYTES
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length != header or header > _longest_header(tensors):
            raise damaged(
                operation,
                path,
                f"it has {size:,} bytes, which do not fit its {len(tensors)} arrays",
            )
        try:
            # the library checks the header: arrays do not overlap, and there are no gaps
            with library.safe_open(path, "np") as opened:
                types = {name: _type_in(opened, name) for name in opened.keys()}  # noqa: SIM118
        except library.SafetensorError as error:
            raise damaged(operation, path, str(error)) from None
        if types != {name: (t.type.code, t.type.shape) for name, t in tensors.items()}:
            raise damaged(operation, path, "its arrays differ from the description in tree.json")
        entries = json.loads(file.read(header))
        arrays = {}
        for name in names:
            start = min(entries[name]["data_offsets"][0], content)
            file.seek(_LENGTH_BYTES + header + start)
            arrays[name] = _bytes_of(operation, path, file, name, tensors[name])
    return arrays


def _longest_header(tensors: Mapping[str, Tensor]) -> int:
    """The maximal length of a header for these arrays, from any writer."""
    return 256 + sum(
        len(json.dumps(name)) + 128 + 24 * len(tensor.type.shape)
        for name, tensor in tensors.items()
    )


def _type_in(opened: Any, name: str) -> tuple[str, tuple[int, ...]]:
    part = opened.get_slice(name)
    return part.get_dtype(), tuple(part.get_shape())


def _bytes_of(
    operation: str, path: str, file: IO[bytes], name: str, tensor: Tensor
) -> np.ndarray[Any, Any]:
    try:
        array = aligned_empty((tensor.type.nbytes,), np.uint8)
    except MemoryError:
        wrong = (
            f"its array {name!r:.60} takes {tensor.type.nbytes:,} bytes: there is no such memory"
        )
        raise damaged(operation, path, wrong) from None
    if file.readinto(array.data) != array.nbytes or digest(array) != tensor.sha256:  # type: ignore[attr-defined]
        raise damaged(operation, path, f"the bytes of its array {name!r:.60} were changed")
    return array
