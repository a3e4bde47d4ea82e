"""The persistent compilation cache: executables in a folder, kept between runs.

An executable is machine code, so entries are read only from a folder that other users cannot write.
A damaged entry is compiled again. No failure here stops a program.

An entry is a file `<key>.xla`: a header (`_HEADER`), then the compressed executable.
"""

import contextlib
import itertools
import os
import stat
import struct
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from .. import runtime
from ..config import thread
from ..runtime import custom_calls

try:  # as in the standard library's `random`, since hashlib loads OpenSSL
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256

FORMAT = 1
"""Part of every key. Increase it when the format of entries or their use changes."""

_MAGIC = b"weft.xla"
_HEADER = struct.Struct("<8sIQQ32s32s")
"""Magic, format, bytes unpacked, bytes packed, key, and the SHA-256 of the rest of the file."""
_SUFFIX = ".xla"
_TEMPORARY = ".new"
_LOG = "written"
"""A file that grows by one byte for each `_BLOCK` bytes written. Its size shows when to sweep the
folder, without listing it."""
_BLOCK = 4096
_LARGEST = 2**31


class _Cache:
    """The only cache of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # reentrant: a signal handler may compile too
        self.directory: str | None = None  # None: follows the switches
        self.size: int | None = None
        self.hits = 0
        self.misses = 0
        self.refused: set[str] = set()  # folders with a warning already
        self.machines: dict[Any, bytes] = {}
        self.serial = itertools.count()


_cache = _Cache()


def configure(directory: str | os.PathLike[str] | None = None, size: int | None = None) -> None:
    """Sets the folder for executables and its size in bytes.

    Args:
      directory: '' turns the cache off; `None` follows the switch `cache_dir`.
      size: -1 is unlimited; `None` follows the switch `cache_size`.
    """
    _cache.directory = None if directory is None else os.fspath(directory)
    _cache.size = size


def compile_or_load(
    text: str,
    outputs: Sequence[runtime.Output],
    device: runtime.Target,
    options: Mapping[str, object] = {},
    callbacks: Sequence[runtime.Callback] = (),
) -> runtime.Executable:
    """Like `runtime.compile_text`, but loads an executable that an earlier run compiled.

    Callbacks are not stored: a program refers to them by their position in the list.
    """
    path = _path()
    if not path:
        return runtime.compile_text(text, outputs, device, options, callbacks)
    key = _key(text, device, options)
    blob = _read_entry(path, key)
    if blob is not None:
        if custom_calls.LAPACK in text:
            custom_calls.register_mentioned(text)
        with contextlib.suppress(runtime.XlaError):  # XLA rejects it, so it counts as damaged
            executable = runtime.load_executable(blob, outputs, device, options, callbacks)
            with _cache.lock:
                _cache.hits += 1
            return executable
    with _cache.lock:
        _cache.misses += 1
    if callbacks:
        blob = runtime.compile_code(text, device, options)
        _write(path, key, blob)
        return runtime.load_executable(blob, outputs, device, options, callbacks)
    executable = runtime.compile_text(text, outputs, device, options)
    with contextlib.suppress(runtime.XlaError):  # some platforms cannot serialize
        _write(path, key, executable.serialize())
    return executable


def info() -> dict[str, Any]:
    """The cache's path (`None` if it is off), entries and bytes, and this process's hits and
    misses."""
    path = _path()
    sizes = [size for _, _, size in _entries(path)] if path else []
    return {
        "path": path or None,
        "entries": len(sizes),
        "bytes": sum(sizes),
        "hits": _cache.hits,
        "misses": _cache.misses,
    }


def clear() -> None:
    """Removes all entries, and files that an interrupted process may have left."""
    path = _path()
    folder = _open_folder(path) if path else None
    if folder is not None:
        try:
            for name in os.listdir(folder):
                if name.endswith((_SUFFIX, _TEMPORARY)) or name == _LOG:
                    _remove(folder, name)
        finally:
            os.close(folder)


# --- the key ---


def _key(text: str, device: runtime.Target, options: Mapping[str, object]) -> str:
    """Everything that the machine code depends on."""
    machine = _cache.machines.get(device.client)
    if machine is None:
        machine = _cache.machines[device.client] = _machine(device)
    fields = [machine, device.device_kind.encode(), repr(sorted(options.items())).encode()]
    if device.is_partitioned:  # code for one device is the same for all of them
        fields.append(repr(device).encode())
    digest = sha256()
    for field in (*fields, text.encode()):  # the name is included, because profiles show it
        digest.update(
            len(field).to_bytes(8, "little")
        )  # so that different lists give different texts
        digest.update(field)
    return str(digest.hexdigest())


def _machine(device: runtime.Target) -> bytes:
    lib = runtime.load()
    fields = (
        FORMAT,
        lib.version,
        device.client.name,
        device.client.raw.platform_version,
        _processor(),
        os.environ.get("XLA_FLAGS", ""),
    )
    return repr(fields).encode()


def _processor() -> str:
    """The model of the CPU and its features, for which XLA compiles."""
    lines = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                break  # the first processor is enough
            if not line.startswith(("processor", "cpu MHz", "bogomips", "BogoMIPS", "apicid")):
                lines.append(" ".join(line.split()))
    return "\n".join(lines) or repr((os.uname().machine, os.uname().release))


# --- the folder ---


def _path() -> str:
    """The folder's path; empty if the cache is off."""
    path = _cache.directory if _cache.directory is not None else thread.cache_dir
    if os.name != "posix" or path == "" or not thread.enable_compilation_cache:
        return ""
    if path is None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the XDG specification ignores relative paths
            base = os.path.join(os.path.expanduser("~"), ".cache")
        if not os.path.isabs(base):
            return ""  # no home
        return os.path.join(base, "weft")
    return os.path.abspath(os.path.expanduser(path))


def _size() -> int:
    size = int(_cache.size if _cache.size is not None else thread.cache_size)
    return size if size >= 0 else sys.maxsize


def _open_folder(path: str, create: bool = False) -> int | None:
    """A descriptor of the folder if other users cannot write to it; otherwise `None`, with one
    warning."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder = os.open(path, flags)
    except FileNotFoundError:
        if not create:
            return None
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
            folder = os.open(path, flags)
        except OSError:
            return None
    except OSError:
        if os.path.islink(path) or os.path.exists(path):
            _refuse(path, "is not a folder, or is a link")
        return None
    status = os.fstat(folder)
    if status.st_uid != os.geteuid():
        reason = "belongs to another user"
    elif status.st_mode & 0o077:
        reason = f"can be entered by others (mode {stat.S_IMODE(status.st_mode):o}, not 700)"
    else:
        return folder
    os.close(folder)
    _refuse(path, reason)
    return None


def _refuse(path: str, reason: str) -> None:
    with _cache.lock:
        if path in _cache.refused:
            return
        _cache.refused.add(path)
    warnings.warn(
        f"weft: compiled programs are not kept: the folder {path} {reason}\n"
        f"  fix: chmod 700 it, or name another one in WEFT_CACHE_DIR",
        RuntimeWarning,
        stacklevel=3,
    )


# --- entries ---


def _read_entry(path: str, key: str) -> bytes | None:
    """The executable stored under a key; `None` if it is missing or damaged."""
    folder = _open_folder(path)
    if folder is None:
        return None
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with open(os.open(key + _SUFFIX, flags, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            if not _HEADER.size < status.st_size < _LARGEST:
                return None
            data = file.read()
            blob = _unpacked_entry(data, key)
            if blob is not None:
                with contextlib.suppress(OSError):  # a read-only file system
                    os.utime(file.fileno())  # it is in use: see `_sweep`
            return blob
    except OSError:
        return None
    finally:
        os.close(folder)


def _packed(blob: bytes, key: str) -> bytes:
    body = zlib.compress(blob, 1)
    fields = (_MAGIC, FORMAT, len(blob), len(body), bytes.fromhex(key))
    digest = sha256(_HEADER.pack(*fields, b"") + body).digest()
    return _HEADER.pack(*fields, digest) + body


def _unpacked_entry(data: bytes, key: str) -> bytes | None:
    magic, version, size, packed_size, owner, digest = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or version != FORMAT or owner != bytes.fromhex(key):
        return None
    if len(body) != packed_size or size >= _LARGEST:
        return None
    expected = sha256(_HEADER.pack(magic, version, size, packed_size, owner, b""))
    expected.update(body)
    if expected.digest() != digest:
        return None
    try:
        unpacker = zlib.decompressobj()
        blob = unpacker.decompress(body, size + 1)
    except zlib.error:
        return None
    return blob if len(blob) == size and unpacker.eof else None


def _write(path: str, key: str, blob: bytes) -> None:
    """Stores an executable. Readers see either the old entry or the complete new one."""
    data = _packed(blob, key)
    limit = _size()
    if len(data) > limit:
        return
    folder = _open_folder(path, create=True)
    if folder is None:
        return
    temporary = f"{key[:16]}-{os.getpid()}-{next(_cache.serial)}-{os.urandom(4).hex()}{_TEMPORARY}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(data)
            os.replace(temporary, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(folder, temporary)
            raise
        if _log(folder, len(data)) > limit // 8:
            _sweep(folder, limit - limit // 4)
    except OSError:
        pass  # a full disk, for instance
    finally:
        os.close(folder)


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


# --- eviction ---


def _log(folder: int, size: int) -> int:
    """Records that an entry was written; returns the bytes written since the last sweep."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(_LOG, flags, 0o600, dir_fd=folder)
    try:
        os.write(descriptor, b"." * -(-size // _BLOCK))
        return os.fstat(descriptor).st_size * _BLOCK
    finally:
        os.close(descriptor)


def _sweep(folder: int, target: int) -> None:
    """Removes the least recently used entries, down to a total of `target` bytes."""
    _remove(folder, _LOG)
    entries = sorted(_uses_and_sizes(folder))
    total = sum(size for _, _, size in entries)
    for _, name, size in entries:
        if total <= target:
            break
        _remove(folder, name)
        total -= size


def _entries(path: str) -> list[tuple[int, str, int]]:
    folder = _open_folder(path)
    if folder is None:
        return []
    try:
        return _uses_and_sizes(folder)
    finally:
        os.close(folder)


def _uses_and_sizes(folder: int) -> list[tuple[int, str, int]]:
    """The time of last use, name and size of each entry. Removes files left by a crash."""
    entries = []
    an_hour_ago = time.time() - 3600
    with os.scandir(folder) as files:
        for file in files:
            try:
                status = file.stat(follow_symlinks=False)
            except OSError:
                continue  # another process has just removed it
            if file.name.endswith(_TEMPORARY) and status.st_mtime < an_hour_ago:
                _remove(folder, file.name)
            elif file.name.endswith(_SUFFIX):
                entries.append((status.st_mtime_ns, file.name, status.st_size))
    return entries
