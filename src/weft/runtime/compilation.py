"""Runs XLA's compiler so that Ctrl-C is safe at any moment.

A compilation cannot be cancelled, only abandoned: XLA continues it in its own threads. Signal
handlers run in the main thread only, so other threads just call XLA. In the main thread:

- jaxlib 0.10 checks for signals while it compiles, and raises. If it has parsed the program from
  text for that call, its threads then use freed memory and the process crashes. So the program is
  parsed beforehand, and XLA owns it as long as it compiles.
- Later versions do not check: Ctrl-C would wait for the end, which may be a minute away. So another
  thread calls XLA, and the main thread waits, which Ctrl-C interrupts.
"""

import _thread
import atexit
import ctypes
import functools
import threading
import time
from typing import Any

from . import versions


def compiled(raw: Any, text: str, device_list: Any, options: Any) -> Any:
    """XLA's executable for a StableHLO text.

    Args:
      raw, device_list, options: XLA's client, devices and options.
    Raises: RuntimeError: from XLA, for a text or an option that it refuses.
    """
    if threading.current_thread() is not threading.main_thread():
        return raw.compile_and_load(text, device_list, options)
    way = _owned if versions.load().compiling_raises else _in_thread
    _at_exit()
    return way(raw, text, device_list, options)


_under_way: dict[object, Any] = {}
"""The clients of compilations that have begun and may still run."""


def _owned(raw: Any, text: str, device_list: object, options: Any) -> Any:
    xla = versions.load().xla
    program = xla.ifrt_programs.make_hlo_program(text)
    options = xla.ifrt_programs.make_xla_compile_options(options, device_list, [])
    number = object()
    _under_way[number] = raw
    try:
        executable = raw.compile_and_load_ifrt_program(program, options)
    except xla.JaxRuntimeError:  # any other error comes from a signal handler, and XLA goes on
        del _under_way[number]
        raise
    del _under_way[number]
    return executable


def _in_thread(raw: Any, text: str, device_list: Any, options: Any) -> Any:
    outcome: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            outcome.append(raw.compile_and_load(text, device_list, options))
        except BaseException as error:  # it belongs to the thread that waits
            outcome.append(error)
        finally:
            _under_way.pop(done, None)
            done.release()

    _under_way[done] = raw
    try:
        _thread.start_new_thread(work, ())  # not one of `threading`: exit would wait for it
    except RuntimeError:  # there are too many, or Python is about to end
        work()
    done.acquire()
    result = outcome.pop()
    if isinstance(result, BaseException):
        try:
            raise result
        finally:
            del result  # it refers to this frame
    return result


# --- the end of the process ---

PATIENCE = 1.0
"""The seconds that exit waits for abandoned compilations."""


@functools.cache
def _at_exit() -> None:
    atexit.register(_leave)


def _leave() -> None:
    """Makes the process end soon, although XLA may still compile."""
    try:
        _wait()
    finally:
        if _under_way:
            _skip_destructors()


def _wait() -> None:
    deadline = time.monotonic() + PATIENCE
    while _under_way and not versions.load().compiling_raises and time.monotonic() < deadline:
        time.sleep(0.01)


def _skip_destructors() -> None:
    """Makes C's `exit` end the process at once, with its status.

    Otherwise it destroys C++'s global objects, which XLA's threads use. Python's own shutdown is
    not affected.
    """
    for raw in _under_way.values():  # destroying a client waits for its threads
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(raw))
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc's; the last function that is registered runs first
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)
        on_exit = getattr(libc, "__cxa_atexit")
        on_exit(ctypes.cast(libc.fflush, ctypes.c_void_p), None, None)
