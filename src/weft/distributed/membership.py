"""Joining and leaving: the steps of `initialize` and `shutdown`, and `is_initialized`.

The processes connect to process 0 (`coordinator.py`), which checks that all are present and agree.
Then they join XLA's coordination service, which tells each of them the devices of the others. The
connection to process 0 stays open, to notice lost processes (`watch.py`). At exit a process leaves
as by `shutdown`.
"""

import atexit
import math
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..config import config
from ..runtime import distributed as runtime, versions
from ..runtime.failures import PlatformError
from .cluster import HIDDEN_DEVICES, detect
from .connection import Relay, is_loopback, joined_address, split_address
from .coordinator import Coordinator
from .members import Limits, Member
from .watch import Refused, Unanswered, Watch, attend

__all__ = ["initialize", "is_initialized", "shutdown"]

NEVER = 10**6
"""Seconds that stand for infinity where XLA expects an integer."""

BEHIND = 3
"""The factor from weft's time limits to XLA's. XLA aborts without naming a process; its limits only
apply if Python hangs."""


class Membership(NamedTuple):
    """The open connections of this process, from `initialize` to `shutdown`."""

    connection: runtime.Connection
    watch: Watch
    service: runtime.Service | None
    """XLA's service; only in process 0."""
    relay: Relay | None
    """The relay to the service; only in the other processes."""


class Settings(NamedTuple):
    """The settings with which this process joins."""

    host: str
    port: int
    processes: int
    rank: int
    local_device_ids: Sequence[int] | None


_current: Membership | None = None


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: float | None = None,
    heartbeat_timeout_seconds: float | None = None,
    shutdown_timeout_seconds: float | None = None,
    coordinator_bind_address: str | None = None,
    *,
    stall_timeout_seconds: float | None = None,
) -> None:
    """Makes this process one of several that compute together and share all devices.

    Call it in each process, before the first computation. It returns when all processes have
    connected. Missing arguments are taken from the switches `coordinator`, `num_processes` and
    `process_id` (WEFT_COORDINATOR, WEFT_NUM_PROCESSES, WEFT_PROCESS_ID), and then from Open MPI or
    Slurm. From then on, if a process dies, hangs or stops sending heartbeats, the others end within
    a time limit, with status 75 and a message on stderr that names the process.

    Args:
      coordinator_address: `host:port` of process 0, with a free port.
      num_processes: the number of processes.
      process_id: the number of this process, from 0.
      local_device_ids: the GPUs of this host that the process uses. The default is all; under Open
        MPI and Slurm it is the one with the process's number on the host, unless
        CUDA_VISIBLE_DEVICES is set. No effect on the CPU.
      cluster_detection_method: 'ompi', 'slurm', or 'deactivate'; by default all are tried.
      initialization_timeout: seconds to wait for processes that start late. The default of all
        times is the switch `fault_timeout`, 60. The times of process 0 apply to all processes;
        infinity means no limit.
      heartbeat_timeout_seconds: a process counts as lost after this time without a heartbeat.
      shutdown_timeout_seconds: how long a process may continue after another one has left.
      coordinator_bind_address: `host:port` at which process 0 listens; by default all addresses of
        its host, or only the loopback address if `coordinator_address` is a loopback address.
      stall_timeout_seconds: a process counts as hanging after this time in one blocking call
        outside weft, while others wait in weft.
    Raises:
      ValueError: a setting is missing, or settings contradict each other.
      PlatformError: (a RuntimeError) devices are open already; the port is taken; processes are
        missing, are too many, or have different settings.
    Example::

        weft.distributed.initialize("10.0.0.1:1234", num_processes=2, process_id=0)

    Source: JAX's documentation, `jax.distributed.initialize`.
    """
    global _current
    if _current is not None:
        raise PlatformError("initialize: this process has been initialized already")
    settings = settings_from(
        coordinator_address, num_processes, process_id, local_device_ids, cluster_detection_method
    )
    limits = Limits(
        _seconds("initialization_timeout", initialization_timeout),
        _seconds("heartbeat_timeout_seconds", heartbeat_timeout_seconds),
        _seconds("shutdown_timeout_seconds", shutdown_timeout_seconds),
        _seconds("stall_timeout_seconds", stall_timeout_seconds),
    )
    runtime.require_unopened("initialize")
    _current = _joined(settings, limits, coordinator_bind_address)


def is_initialized() -> bool:
    """True between `initialize` and `shutdown`: this process is one of several.

    Example:
      >>> is_initialized()
      False
    Source: JAX's documentation, `jax.distributed.is_initialized`.
    """
    return _current is not None


def shutdown() -> None:
    """Leaves the other processes when all are ready. It is also called at exit; a second call has
    no effect.

    It waits for the others, which may still need this process's devices. Arrays on devices of this
    process can be used afterwards.

    Example:
      >>> shutdown()
    Source: JAX's documentation, `jax.distributed.shutdown`.
    """
    global _current
    if _current is None:
        return
    _current.watch.leave()
    _current.connection.exchange("", "shutdown")
    left, _current = _current, None
    runtime.disconnect()
    left.watch.close()
    if left.relay is not None:
        left.relay.close()
    if left.service is not None:
        left.service.shutdown()


# --- settings ---


def settings_from(
    address: str | None,
    count: int | None,
    rank: int | None,
    local_device_ids: int | Sequence[int] | None = None,
    method: str | None = None,
) -> Settings:
    """The settings: arguments, completed by switches and by the cluster's variables.

    Raises: ValueError: a setting is missing, or settings contradict each other.
    """
    place = detect(os.environ, method)
    cluster_values = place or (None,) * 6
    named = place.names if place else ("",) * 3
    address, at = _chosen(
        address, "coordinator_address", "coordinator", cluster_values[1], named[0]
    )
    count, of = _chosen(count, "num_processes", "num_processes", cluster_values[2], named[1])
    rank, which = _chosen(rank, "process_id", "process_id", cluster_values[3], named[2])
    host, port = split_address(address, f"initialize: {at}")
    if count < 1:
        raise ValueError(f"initialize: {of}: expected at least one process; got {count}")
    if not 0 <= rank < count:
        raise ValueError(
            f"initialize: {which} is {rank}, but {of} says that there are {count} processes\n"
            "  fix: number them from 0; give all of them the same count"
        )
    if isinstance(local_device_ids, int):
        local_device_ids = [local_device_ids]
    elif local_device_ids is None and place is not None and place.local_id is not None:
        chosen_outside = any(name in os.environ for name in HIDDEN_DEVICES)
        local_device_ids = None if chosen_outside else [place.local_id]
    return Settings(host, port, count, rank, local_device_ids)


def _chosen(
    argument_value: object, argument: str, switch: str, cluster_value: object, variable: str
) -> tuple[Any, str]:
    """A value and the name of its source: the argument, the switch, or the cluster's variable."""
    switched = getattr(config, switch)
    if argument_value is not None:
        return argument_value, argument
    if switched is not None:
        return switched, f"WEFT_{switch.upper()}"
    if cluster_value is not None:
        return cluster_value, variable
    cluster = (
        f", and {variable} does not set it" if variable else ", nor a job of Slurm or Open MPI"
    )
    raise ValueError(
        f"initialize: no {argument}: neither the argument nor WEFT_{switch.upper()}{cluster}\n"
        "  fix: give it, or start with `python -m weft.distributed.run -n 4 script.py`"
    )


def _seconds(name: str, timeout: float | None) -> float:
    seconds = config.fault_timeout if timeout is None else timeout
    if not (isinstance(seconds, int | float) and seconds > 0):
        raise ValueError(f"initialize: {name}: expected seconds above 0; got {timeout!r}")
    return float(seconds)


# --- joining ---


def _joined(settings: Settings, limits: Limits, bind: str | None) -> Membership:
    """Connects to process 0, then joins XLA's service. Raises PlatformError."""
    host, port, me = settings.host, settings.port, _introduction(settings)
    coordinator = service = relay = None
    if settings.rank == 0:
        listener = _listener(settings, bind)
        bound, port, *_ = listener.getsockname()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bound, bound)
        service, xla = _open_service(settings.processes, bound, limits)
        coordinator = Coordinator(listener, settings.processes, me.jaxlib, limits, xla)
    try:
        line, welcome = attend(host, port, me, limits.initialization)
    except Refused as error:
        if coordinator is not None and service is not None:
            coordinator.over.wait()
            service.shutdown()
        raise PlatformError(f"initialize: {error}") from None
    watch = Watch(line, welcome, me, coordinator)
    if coordinator is None:
        relay = Relay(host, welcome.port)
    try:
        connection = runtime.connect(
            joined_address(host, welcome.port) if relay is None else relay.address,
            settings.rank,
            settings.processes,
            init_timeout=_whole_seconds(welcome.limits.initialization),
            heartbeat_timeout=_whole_seconds(BEHIND * welcome.limits.heartbeat),
            shutdown_timeout=_whole_seconds(BEHIND * welcome.limits.shutdown),
            host=welcome.address,
            local_device_ids=settings.local_device_ids,
        )
    except PlatformError as error:
        watch.fail(str(error))
        raise
    return Membership(connection, watch, service, relay)


def _introduction(settings: Settings) -> Member:
    jaxlib = versions.load().version
    return Member(settings.rank, socket.gethostname(), os.getpid(), settings.processes, jaxlib)


def _listener(settings: Settings, bind: str | None) -> socket.socket:
    """Process 0's listening socket. Raises PlatformError if it cannot be opened."""
    host, port = settings.host, settings.port
    if bind is not None:
        host, port = split_address(bind, "initialize: coordinator_bind_address")
    try:
        family, _, _, _, (address, *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if bind is None and not is_loopback(str(address)):
            address = "::" if family == socket.AF_INET6 else "0.0.0.0"
        return socket.create_server((str(address), port), family=family)
    except OSError as error:
        raise PlatformError(
            f"initialize: process 0 can't listen at {joined_address(host, port)}: "
            f"{error.strerror or error}{_who_has(settings)}\n"
            "  fix: choose a port that is free, on the host of process 0"
        ) from None


def _who_has(settings: Settings) -> str:
    """The answer of a process 0 that already uses the port; empty if another program does."""
    try:
        attend(settings.host, settings.port, _introduction(settings), timeout=1)
    except Unanswered:
        return ""
    except Refused as error:
        return f"; it is taken: {error}"
    return ""


def _open_service(count: int, host: str, limits: Limits) -> tuple[runtime.Service, int]:
    """XLA's coordination service, at a free port."""
    with socket.create_server((host, 0), family=_family(host)) as trial:
        port = trial.getsockname()[1]
    service = runtime.start_service(
        joined_address(host, port),
        count,
        heartbeat_timeout=_whole_seconds(BEHIND * limits.heartbeat),
        shutdown_timeout=_whole_seconds(BEHIND * limits.shutdown),
    )
    return service, port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _whole_seconds(seconds: float) -> int:
    return min(NEVER, math.ceil(min(seconds, NEVER)))


# --- leaving ---


def _leave_at_exit() -> None:
    """Leaves in order at exit. After an exception it informs the other processes, which would
    otherwise wait."""
    if _current is None:
        return
    error = getattr(sys, "last_value", None)  # ends a process that is not interactive
    if error is None or hasattr(sys, "ps1"):
        shutdown()
        return
    _current.watch.fail(f"{type(error).__name__}: {error}")
    if _current.service is not None:
        _current.service.abandon()


def _forget() -> None:
    """Drops the connections in a forked child, which is not one of the processes."""
    global _current
    if _current is not None:
        _current.watch.close_in_child()
        _current = None


atexit.register(_leave_at_exit)
os.register_at_fork(after_in_child=_forget)
