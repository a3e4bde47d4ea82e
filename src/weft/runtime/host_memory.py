"""Makes the C library keep freed memory for the next array, up to a bound.

By default glibc maps new memory for each large array and unmaps it when the array is freed, and
filling in the pages again takes longer than most operations. glibc raises its two thresholds by
itself as large arrays are freed, up to a maximum, so speed depends on what the process did before.
Here they are set to that maximum at once: the state of every process that has freed an array of
32 MB. This also affects the arrays of NumPy and XLA.

Threads have heaps of 64 MB. An emptied heap is unmapped unless the heap before it has less room
than a third parameter, the padding. With its default of 128 kB, each operation of a loop whose
array does not fit the first heap maps and fills in a new one. So the padding is set to the size of
the largest array that lies in a heap.

glibc does not return free memory between blocks in use. So a full collection (`gc.collect()`)
returns it, if there is much of it.
"""

import ctypes
import gc
import os
from typing import Any

from ..config import config

MIN_MAPPED_BYTES = 32 << 20
"""The size in bytes from which glibc maps an array's memory, and returns it when it is freed. It is
the largest value that glibc accepts."""

KEPT_BYTES = 64 << 20
"""The number of free bytes at the end of the heap that the process keeps."""

MIN_TRIM_BYTES = 128 << 20
"""The free bytes in the heap that a full collection gives back."""

_PAGES = "/proc/self/statm"
_MMAP_THRESHOLD, _TOP_PAD, _TRIM_THRESHOLD = -3, -2, -1  # the parameters' numbers in malloc.h
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")


class _Usage(ctypes.Structure):
    """glibc's `struct mallinfo2`, of all threads' parts of the heap."""

    _fields_ = [
        ("_before", ctypes.c_size_t * 4),
        ("mapped", ctypes.c_size_t),  # hblkhd: in blocks that are mapped alone
        ("_between", ctypes.c_size_t * 2),
        ("used", ctypes.c_size_t),  # uordblks: in other blocks
        ("_after", ctypes.c_size_t * 2),
    ]


class _Heap:
    """glibc's heap. There is one; `library` is None where it is left alone."""

    library: Any = None
    beside = 0
    """The resident bytes beside blocks in use, when free memory was given back last: code, stacks,
    and what was kept."""


heap = _Heap()


def set_thresholds() -> None:
    """Sets glibc's thresholds, once, unless the user has set them. On other systems it does
    nothing."""
    if heap.library is not None or not config.keep_host_memory or _is_tuned():
        return
    try:
        if not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"):
            return
    except (AttributeError, ValueError):  # not Linux, or not glibc
        return
    heap.library = ctypes.CDLL(None)
    heap.library.mallopt(_MMAP_THRESHOLD, MIN_MAPPED_BYTES)
    heap.library.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
    heap.library.mallopt(_TOP_PAD, MIN_MAPPED_BYTES)
    if hasattr(heap.library, "mallinfo2") and os.path.exists(_PAGES):  # glibc 2.33
        heap.library.mallinfo2.restype = _Usage
        heap.beside = _beside()
        gc.callbacks.append(_collected)


def _is_tuned() -> bool:
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return "glibc.malloc." in tunables or any(name in os.environ for name in _VARIABLES)


def _collected(phase: str, info: dict[str, int]) -> None:
    if info["generation"] == 2 and phase == "stop":
        give_back()


def give_back() -> None:
    """Returns free memory to the system, if there is much."""
    if _beside() - heap.beside > MIN_TRIM_BYTES:
        heap.library.malloc_trim(KEPT_BYTES)
        heap.beside = _beside()


def _beside() -> int:
    """The resident bytes of the process that are not in blocks in use."""
    with open(_PAGES) as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    usage = heap.library.mallinfo2()
    return int(resident - usage.used - usage.mapped)
