"""trace, start_trace and stop_trace: traces of Python and XLA, for TensorBoard and Perfetto.

ProfileOptions selects the events, ProfileData reads a trace; start_server and stop_server let
another program request a trace; register_subprocess adds processes that this one starts.
"""

import glob
import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.source import located
from ..runtime import profiling
from ..runtime.client import devices

__all__ = [
    "ProfileData",
    "ProfileOptions",
    "register_subprocess",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]

_wishes: dict[str, bool] = {"perfetto": False}  # of the trace that is being recorded


@dataclass
class ProfileOptions:
    """Options of a trace.

    Attributes:
      host_tracer_level: 0 to 3: the level of detail for the host; 1 records the user's events only.
      python_tracer_level: 0 omits calls of Python functions, which make traces large.
      enable_hlo_proto: record the compiled programs.
      include_dataset_ops: record operations of input pipelines.
      duration_ms: the duration of the recording; 0 means until `stop_trace`.
      start_timestamp_ns: the start time; 0 means now.
      repository_path, session_id: names for the files.
      raise_error_on_start_failure: raise an error if the profiler cannot start.
      advanced_configuration: options of a device's own profiler, by name.
    Example:
      >>> from weft import profiler
      >>> options = profiler.ProfileOptions(python_tracer_level=0)
      >>> with profiler.trace("profile", profiler_options=options):
      ...     _ = np.ones(3) + 1
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 1
    enable_hlo_proto: bool = True
    include_dataset_ops: bool = True
    duration_ms: int = 0
    start_timestamp_ns: int = 0
    repository_path: str = ""
    session_id: str = ""
    raise_error_on_start_failure: bool = False
    advanced_configuration: dict[str, Any] = field(default_factory=dict)


@located
def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Records the events of Python and XLA until `stop_trace`.

    Args:
      log_dir: the folder for the files; each trace makes its own folder in it:
        `plugins/profile/<time>`, with a `.xplane.pb` (TensorBoard, XProf) and a `.trace.json.gz`.
      create_perfetto_link: must be False: nothing waits for a browser here.
      create_perfetto_trace: also write `perfetto_trace.json.gz`, for https://ui.perfetto.dev.
      profiler_options: the `ProfileOptions`.
    Raises: RuntimeError: a trace is being recorded already. TypeError, ValueError: an argument is
      invalid.
    Example:
      >>> from weft import profiler
      >>> options = profiler.ProfileOptions(python_tracer_level=0)
      >>> profiler.start_trace("trace", profiler_options=options)
      >>> y = weft.jit(np.sin)(1.0).block_until_ready()
      >>> profiler.stop_trace()
    Source: JAX documentation, `jax.profiler.start_trace`.
    """
    folder = os.fspath(log_dir)
    if create_perfetto_link:
        raise ValueError(
            "start_trace: create_perfetto_link must be False: nothing waits for a browser here\n"
            "  fix: create_perfetto_trace=True, and open the file at https://ui.perfetto.dev"
        )
    chosen = None
    if profiler_options is not None:
        if not isinstance(profiler_options, ProfileOptions):
            raise TypeError(
                f"start_trace: profiler_options must be ProfileOptions; got {profiler_options!r}"
            )
        chosen = profiling.options(asdict(profiler_options))
    profiling.start(str(folder), chosen)
    _wishes["perfetto"] = bool(create_perfetto_trace)


@located
def stop_trace() -> None:
    """Stops recording, and writes the files.

    Raises: RuntimeError: no trace is being recorded.
    Example:
      >>> import pathlib
      >>> from weft import profiler
      >>> profiler.start_trace("sums")
      >>> _ = np.ones(3) + 1
      >>> profiler.stop_trace()
      >>> len(list(pathlib.Path("sums").rglob("*.xplane.pb")))
      1
    Source: JAX documentation, `jax.profiler.stop_trace`.
    """
    folder = profiling.stop()
    if _wishes["perfetto"]:
        _write_perfetto(folder)


def _write_perfetto(folder: str) -> None:
    """Writes the latest trace for Perfetto, without empty events."""
    trace_files = glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.trace.json.gz"))
    latest = max(trace_files, key=os.path.getmtime)
    with gzip.open(latest, "rt", encoding="utf-8") as file:
        content = json.load(file)
    events = [event for event in content.get("traceEvents", ()) if event]
    path = os.path.join(os.path.dirname(latest), "perfetto_trace.json.gz")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"displayTimeUnit": "ns", "traceEvents": events}, file)


@contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """A context manager that records a trace of its block.

    Args: as in `start_trace`.
    Raises: RuntimeError: a trace is being recorded already.
    Example:
      >>> from weft import profiler
      >>> with profiler.trace("trace", profiler_options=profiler.ProfileOptions(1, 0)):
      ...     y = weft.jit(np.sin)(1.0).block_until_ready()
    Source: JAX documentation, `jax.profiler.trace`.
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


@located
def start_server(port: int, requires_backend: bool = True) -> Any:
    """Starts a server from which TensorBoard or XProf can request traces of this process.

    Args:
      port: a port of this machine.
      requires_backend: open the devices first, since a backend that is loaded later is not
        recorded.
    Returns: the server, which runs until `stop_server`.
    Raises: RuntimeError: there is a server already. TypeError: the port is not an int.
    Example:
      >>> from weft import profiler
      >>> server = profiler.start_server(0)
      >>> profiler.stop_server()
    Source: JAX documentation, `jax.profiler.start_server`.
    """
    if not isinstance(port, int) or isinstance(port, bool):
        raise TypeError(f"start_server: port must be an int; got {port!r}")
    if requires_backend:
        devices()
    return profiling.start_server(port)


@located
def stop_server() -> None:
    """Stops the server.

    Raises: RuntimeError: there is none.
    Example:
      >>> from weft import profiler
      >>> server = profiler.start_server(0)
      >>> profiler.stop_server()
    Source: JAX documentation, `jax.profiler.stop_server`.
    """
    profiling.stop_server()


@located
def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Adds another process's events to the traces of this process.

    Args:
      pid: the number of the process.
      port: the port of its profiler server.
    Returns: a function that removes them again.
    Raises: RuntimeError: the server cannot be reached.
    Example::

        worker = subprocess.Popen([sys.executable, "worker.py"])  # starts a server on port 9012
        end = weft.profiler.register_subprocess(worker.pid, 9012)
        with weft.profiler.trace("profile"):        # has the events of both processes
            train()
        end()

    Source: JAX documentation, `jax.profiler.register_subprocess`.
    """
    return profiling.register_subprocess(pid, port)


class ProfileData:
    """A recorded trace: planes (a device or the host), their lines (threads), and events.

    Args:
      serialized: the content of an `.xplane.pb` file.
    Example:
      >>> import pathlib
      >>> from weft import profiler
      >>> with profiler.trace("recorded"):
      ...     _ = np.ones(3) + 1
      >>> file = next(pathlib.Path("recorded").rglob("*.xplane.pb"))
      >>> data = profiler.ProfileData.from_file(str(file))
      >>> "/host:CPU" in [plane.name for plane in data.planes]
      True
    Source: JAX documentation, `jax.profiler.ProfileData`.
    """

    def __init__(self, serialized: bytes) -> None:
        self._raw = profiling.read_trace(serialized)

    @classmethod
    def from_serialized_xspace(cls, serialized_xspace: bytes) -> "ProfileData":
        """The trace in the content of an `.xplane.pb` file."""
        return cls(serialized_xspace)

    @classmethod
    def from_file(cls, proto_file_path: str | os.PathLike[str]) -> "ProfileData":
        """The trace in an `.xplane.pb` file."""
        with open(proto_file_path, "rb") as file:
            return cls(file.read())

    @property
    def planes(self) -> list[Any]:
        """The planes, with `name` and `lines`; those have `name` and `events`, which have `name`,
        `start_ns`, `duration_ns` and `stats`."""
        return list(self._raw.planes)

    def find_plane_with_name(self, name: str) -> Any:
        """The plane with a name, or `None`."""
        return next((plane for plane in self.planes if plane.name == name), None)
