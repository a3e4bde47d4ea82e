"""The exceptions of the runtime, and the conversion of XLA's own exceptions to them.

WeftError, RuntimeError
├── XlaError                 XLA rejected a request; `code` is XLA's name for the kind
│   ├── XlaCompileError      the program text could not be compiled: a CompilationError
│   └── XlaRuntimeError      a compiled program, or a transfer, failed: an ExecutionError
├── DeletedArrayError        (weft.errors) the array was donated or deleted
├── BusyDevicesError         a callback of a program on several devices ran another such program
├── ForkError                a forked child used the runtime of its parent
└── PlatformError            no such platform, or its devices could not be reached
"""

import functools
import os
import re
from collections.abc import Iterable
from typing import Any

from ..core.source_location import living_arrays_text
from ..errors import (
    CompilationError,
    DeletedArrayError as DeletedArrayError,
    ExecutionError,
    WeftError,
)


class XlaError(WeftError, RuntimeError):
    """XLA rejected a request; `code` is XLA's name for the kind of failure."""

    def __init__(self, message: str, code: str = "UNKNOWN") -> None:
        super().__init__(message)
        self.code = code


class XlaCompileError(XlaError, CompilationError):
    """A program could not be compiled."""


class XlaRuntimeError(XlaError, ExecutionError):
    """A compiled program or a transfer failed."""


class BusyDevicesError(WeftError, RuntimeError):
    """A callback of a program on several devices ran a program on several devices."""


class ForkError(WeftError, RuntimeError):
    """A forked child used the runtime of its parent."""


class PlatformError(WeftError, RuntimeError):
    """No such platform, or its devices could not be reached."""


DELETED = (
    "Array has been deleted: it was donated to an earlier call (donate_argnums) or its delete() "
    "was called\n  fix: keep the array by not donating it, or use the call's result instead"
)


def text_of(error: BaseException) -> str:
    """XLA's message without its C++ source locations and boilerplate."""
    text = str(error).partition("=== Source Location Trace")[0].rstrip()
    lines = [line for line in text.splitlines() if "Failed to parse using StableHLO" not in line]
    return "\n".join(lines).rstrip()


def code_of(error: BaseException) -> str:
    """XLA's name for the kind of a failure, such as INVALID_ARGUMENT."""
    return str(getattr(error, "error_code_string", None) or str(error).partition(":")[0])


def run_failure(operation: str, error: BaseException) -> XlaRuntimeError:
    """weft's exception for an exception that XLA raised in a run or a transfer."""
    code, text = code_of(error), text_of(error)
    if code == "RESOURCE_EXHAUSTED":
        size_match = re.search(r"(\d+) bytes", text)
        size = f" for {size_of(int(size_match[1]))}" if size_match else ""
        text = f"out of memory{size}\n{more_memory()}\n  XLA says: {text}"
    return XlaRuntimeError(f"{operation}: {text}", code)


def size_of(count: float) -> str:
    """A number of bytes in words.

    Example:
      >>> size_of(160e9)
      '149.0 GiB'
    """
    units = iter(("bytes", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while count >= 1024 and unit != "TiB":
        count, unit = count / 1024, next(units)
    return f"{count:.1f} {unit}" if unit != "bytes" else f"{count:.0f} bytes"


@functools.cache
def machine_memory() -> int:
    """The bytes of memory of this machine; 0 if unknown."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return 0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


MORE_MEMORY = (
    "  fix: smaller arrays or batches; weft.checkpoint around layers, donate_argnums; `del` what "
    "is no longer needed"
)
MORE_INSIGHT = "; jit(f).memory(x) shows a program's buffers by line, debug_lines living arrays"


def more_memory() -> str:
    """The end of an error's message: what to do, and the largest arrays if their lines are known
    (the switch `debug_lines`)."""
    living = living_arrays_text(size_of)
    return f"{living}\n{MORE_MEMORY}" if living else MORE_MEMORY + MORE_INSIGHT


def too_large(name: str, size: int, types: Iterable[Any]) -> XlaRuntimeError:
    """The error for results that exceed the machine's memory and swap. It is raised while the
    user's line is known; XLA would fail later, in the background."""
    return XlaRuntimeError(
        f"{name}: out of memory: the results, {', '.join(str(t.aval) for t in types)}, "
        f"take {size_of(size)}; this machine has {size_of(machine_memory())}\n{more_memory()}",
        "RESOURCE_EXHAUSTED",
    )


def fork_error() -> ForkError:
    return ForkError(
        "weft's runtime was started before this process was forked; its threads do not exist "
        "here, and using it would hang\n"
        "  fix: use multiprocessing.get_context('spawn'), or fork before the first weft computation"
    )
