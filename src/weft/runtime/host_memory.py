"""Has the C library keep freed memory for the next array, up to a bound. Knows no arrays.

By default glibc maps a large array's memory anew each time and gives it back when it is freed, and
to have its pages filled in again takes longer than most operations. It moves its two thresholds
by itself as large arrays are freed; how far depends on what the process happened to do before.
Here they are put where they go at most: that is the state of every process that has freed an array
of 32 MB, and it holds for NumPy and XLA too.

Threads have heaps of 64 MB. One that an array has emptied is unmapped, unless the heap before has
less room than a third parameter, the padding: with that of 128 kB, each operation of a loop whose
array doesn't fit the first heap maps and fills in a new one. So the padding is as much as the
largest array that lies in a heap, which has no room before wherever it begins a new one.

What glibc doesn't do is to give back what lies between blocks that are in use. So a full collection
(`gc.collect()`) does, if that is much.
"""

import ctypes
import gc
import os
from typing import Any

from ..config import config

MAPPED = 32 << 20
"""The bytes from which on an array's memory is mapped, and given back when it is freed: glibc takes
no more than that."""

KEPT = 64 << 20
"""The free bytes at the end of the heap that stay with the process."""

MUCH = 128 << 20
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


def keep() -> None:
    """Sets glibc's thresholds, once, unless the user has set them. Elsewhere it does nothing."""
    if heap.library is not None or not config.keep_host_memory or _is_tuned():
        return
    try:
        if not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"):
            return
    except (AttributeError, ValueError):  # not Linux, or not glibc
        return
    heap.library = ctypes.CDLL(None)
    heap.library.mallopt(_MMAP_THRESHOLD, MAPPED)
    heap.library.mallopt(_TRIM_THRESHOLD, KEPT)
    heap.library.mallopt(_TOP_PAD, MAPPED)
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
    """Gives free memory back to the system, if that is much."""
    if _beside() - heap.beside > MUCH:
        heap.library.malloc_trim(KEPT)
        heap.beside = _beside()


def _beside() -> int:
    """The resident bytes of the process beside the blocks that are in use."""
    with open(_PAGES) as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    usage = heap.library.mallinfo2()
    return int(resident - usage.used - usage.mapped)
