"""Directories that appear atomically: partial_directory, place, place_of, names_in, remove,
remove_all, sweep.

A checkpoint is written to a hidden directory next to its place, and renamed when all of it is on
the disk. An existing checkpoint is renamed to a hidden name first; if the process is killed between
the two renames, readers find it under that name. So a kill at any moment leaves the old or the new
checkpoint.
"""

import contextlib
import errno
import os
import re
import shutil
import socket
import zlib
from collections.abc import Iterator

from .manifest import TREE

_HIDDEN = re.compile(
    r"\.(?P<name>.+)\.(partial|replaced)-(?P<host>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{8}(-\d+)?",
    re.DOTALL,
)


def new_token() -> str:
    """A token for hidden names: it identifies this host, this process and this call."""
    return f"{_host()}-{os.getpid()}-{os.urandom(4).hex()}"


def _host() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def partial_directory(target: str, token: str) -> str:
    """The hidden directory, next to `target`, to which it is written."""
    parent, name = os.path.split(target)
    return os.path.join(parent, f".{name}.partial-{token}")


def sync_directory(path: str) -> None:
    """Flushes the names in a directory to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # network file systems may not support it
            raise
    finally:
        os.close(handle)


def place(partial: str, target: str, overwrite: bool) -> None:
    """Renames a written directory to its final name.

    Raises: FileExistsError: the name exists, and `overwrite` is False.
    """
    parent, name = os.path.split(target)
    replaced = []
    while True:
        try:
            os.rename(partial, target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            if not overwrite or error.errno == errno.ENOTDIR:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        # Each process moves the old checkpoint to its own hidden name, and removes it after the new
        # one is in place. So a complete checkpoint exists at all times, even if several processes
        # write.
        old = os.path.join(parent, f".{name}.replaced-{new_token()}")
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            os.rename(target, old)
            replaced.append(old)
    sync_directory(parent)
    for old in replaced:
        remove(old)


def place_of(target: str) -> str:
    """The directory of a checkpoint: `target`, or the hidden one that a killed process left."""
    if os.path.lexists(target):
        return target
    parent, name = os.path.split(target)
    left = []
    for hidden, _ in _hidden(parent, name, "replaced"):
        tree = os.path.join(parent, hidden, TREE)
        with contextlib.suppress(OSError):
            left.append((os.stat(tree).st_mtime_ns, hidden))
    return os.path.join(parent, max(left)[1]) if left else target


def names_in(directory: str) -> set[str]:
    """The names of the checkpoints in a directory, including those that a killed process left."""
    try:
        entries = os.listdir(directory)
    except FileNotFoundError:
        return set()
    names = {n for n in entries if not n.startswith(".")}
    names |= {m["name"] for n in entries if (m := _HIDDEN.fullmatch(n)) and m[2] == "replaced"}
    return {
        n for n in names if os.path.isfile(os.path.join(place_of(os.path.join(directory, n)), TREE))
    }


def remove(directory: str) -> None:
    """Removes a checkpoint; for a link, removes the link. An incompletely removed directory is not
    a checkpoint."""
    if os.path.islink(directory):
        os.unlink(directory)
        return
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(directory, TREE))
    shutil.rmtree(directory, ignore_errors=True)


def remove_all(target: str) -> None:
    """Removes a checkpoint, and replaced copies of it that killed processes left."""
    remove(target)
    parent, name = os.path.split(target)
    for hidden, _ in _hidden(parent, name, "replaced"):
        remove(os.path.join(parent, hidden))


def sweep(directory: str, name: str | None = None) -> None:
    """Removes incomplete or replaced copies of checkpoints that killed processes of this host left.

    Args:
      directory: the directory of the checkpoints.
      name: the name of a checkpoint; None means all of them.
    """
    for hidden, match in _hidden(directory, name, "partial|replaced"):
        if match["host"] != _host() or _is_alive(int(match["pid"])):
            continue
        if match[2] == "partial" or os.path.lexists(os.path.join(directory, match["name"])):
            remove(os.path.join(directory, hidden))


def _hidden(parent: str, name: str | None, kinds: str) -> Iterator[tuple[str, re.Match[str]]]:
    try:
        entries = os.listdir(parent or ".")
    except OSError:
        return
    for entry in entries:
        match = _HIDDEN.fullmatch(entry)
        if match and name in (None, match["name"]) and match[2] in kinds.split("|"):
            yield entry, match


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # a process of another user; not a process number
        return True
    return True
