"""XLA's profiler: sessions that record events, and profiles of memory.

A process has one session at a time, and one server: XLA has no more.
"""

import os
import threading
from typing import Any

from . import versions
from .client import devices

_lock = threading.RLock()
_state: dict[str, Any] = {"session": None, "folder": None, "server": None}


def options(values: dict[str, Any]) -> Any:
    """XLA's object for options, by their names."""
    result = versions.profiler().ProfileOptions()
    for name, value in values.items():
        setattr(result, name, value)
    return result


def start(folder: str, chosen: object = None) -> None:
    """Starts to record; the files go to `folder`.

    Raises: RuntimeError: the profiler is recording already.
    """
    profiler = versions.profiler()
    with _lock:
        if _state["session"] is not None:
            raise RuntimeError(
                f"start_trace: a trace is being recorded already, to {_state['folder']}\n"
                "  fix: stop_trace() first; there is one trace at a time in a process"
            )
        devices()  # libraries that are loaded later are not recorded
        session = profiler.ProfilerSession() if chosen is None else profiler.ProfilerSession(chosen)
        _state["session"], _state["folder"] = session, folder


def stop() -> str:
    """Stops recording, writes the files, and returns their folder.

    Raises: RuntimeError: nothing is being recorded.
    """
    with _lock:
        session, folder = _state["session"], _state["folder"]
        if session is None:
            raise RuntimeError("stop_trace: no trace is being recorded\n  fix: start_trace() first")
        _state["session"] = _state["folder"] = None
    session.stop_and_export(os.fspath(folder))
    return str(folder)


def stop_in_memory() -> bytes:
    """Stops recording, and returns the trace for `read_trace`, without writing files."""
    with _lock:
        session = _state["session"]
        _state["session"] = _state["folder"] = None
    return bytes(session.stop())


def event(name: str, values: dict[str, Any]) -> Any:
    """A context manager that records the time spent in it."""
    return versions.profiler().TraceMe(name, **values)


def is_recording() -> bool:
    """True if the profiler of this process records, for a trace or for a server."""
    return bool(versions.profiler().TraceMe.is_enabled())


def start_server(port: int) -> Any:
    """Starts the server from which other processes get traces.

    Raises: RuntimeError: there is one already.
    """
    with _lock:
        if _state["server"] is not None:
            raise RuntimeError(
                "start_server: there is a server already\n  fix: stop_server() first"
            )
        _state["server"] = versions.profiler().start_server(port)
        return _state["server"]


def stop_server() -> None:
    """Stops the server.

    Raises: RuntimeError: there is none.
    """
    with _lock:
        if _state["server"] is None:
            raise RuntimeError("stop_server: there is no server\n  fix: start_server(port) first")
        _state["server"] = None


def register_subprocess(pid: int, port: int) -> Any:
    """Includes the traces of another process's server in the traces of this process."""
    return versions.profiler().register_subprocess(pid, port)


def memory_profile(platform: str | None = None) -> bytes:
    """The content of the memory of a platform's devices, in the format of pprof."""
    client = devices(platform)[0].client
    return bytes(client.raw.heap_profile())


def read_trace(serialized: bytes) -> Any:
    """XLA's reader of a recorded trace."""
    return versions.profile_data().from_serialized_xspace(serialized)
