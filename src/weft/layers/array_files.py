"""np_to_file and np_from_file: gzipped files of arrays, which are checked when read."""

import contextlib
import gzip
import io
import os
import threading
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..user_lines import noted


@contextlib.contextmanager
def replaced(path: Any, compresslevel: int) -> Iterator[IO[bytes]]:
    """A context with a stream. Its gzipped bytes replace the file if the block ends without an
    error.

    They are on the disk before they get the file's name, so a process that is killed at any moment
    leaves the complete old or new file.
    """
    path = os.fspath(path)
    beside = f"{path}._tmp_{os.getpid()}_{threading.get_ident()}"
    try:
        with open(beside, "wb") as file:
            with gzip.GzipFile("", "wb", compresslevel, file, mtime=0) as stream:
                yield stream  # type: ignore[misc]
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(beside)
        raise
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)  # syncs the name too
    finally:
        os.close(folder)


def content(path: Any) -> bytes:
    """The content of a gzipped file. Checks its checksum and length.

    Raises: FileNotFoundError; ValueError: the file is truncated, or bits have changed.
    """
    path = os.fspath(path)
    try:
        with gzip.open(path) as file:
            if os.path.getsize(path):
                return file.read()
        wrong = "it is empty"
    except EOFError:
        wrong = "it is truncated"
    except (zlib.error, gzip.BadGzipFile) as error:
        wrong = f"it is not a gzip file, or bits of it have changed ({error})"
    raise noted(ValueError(f"{path}: the file is damaged: {wrong}\n  fix: use another copy of it"))


def np_to_file(list_of_nparrays: Any, file_path: Any, compresslevel: int) -> None:
    """Writes arrays to a gzipped file, each in NumPy's format.

    Args:
      list_of_nparrays: the arrays, of any backend.
      file_path: path of the file; an old file is replaced when the new one is complete.
      compresslevel: 0 to 9, as for gzip.
    Raises: ValueError: an array has a dtype that NumPy's format does not have, such as objects.
    Example:
      >>> from weft import layers as tl
      >>> tl.np_to_file([np.arange(3), np.eye(2)], "arrays.gz", compresslevel=6)
      >>> [array.shape for array in tl.np_from_file("arrays.gz", compresslevel=6)]
      [(3,), (2, 2)]
    Source: Trax documentation, `layers.base.np_to_file`.
    """
    with replaced(file_path, compresslevel) as stream:
        for array in list_of_nparrays:
            np.save(stream, np.asarray(array), allow_pickle=False)


def np_from_file(file_path: Any, compresslevel: int) -> list[np.ndarray[Any, Any]]:
    """Reads the arrays from a file written by `np_to_file`.

    Args:
      file_path: path of the file.
      compresslevel: not used.
    Raises: FileNotFoundError; ValueError: the file is damaged, or holds Python objects.
    Example:
      >>> from weft import layers as tl
      >>> tl.np_to_file([np.arange(3)], "arrays.gz", compresslevel=6)
      >>> tl.np_from_file("arrays.gz", compresslevel=6)
      [array([0, 1, 2], dtype=int32)]
    Source: Trax documentation, `layers.base.np_from_file`.
    """
    data = content(file_path)
    stream = io.BytesIO(data)
    arrays = []
    while stream.tell() < len(data):
        try:
            arrays.append(np.load(stream, allow_pickle=False))
        except (ValueError, EOFError, OSError) as error:
            raise noted(
                ValueError(f"{os.fspath(file_path)}: array {len(arrays)} can't be read: {error}")
            ) from None
    return arrays
