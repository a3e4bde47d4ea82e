"""Joins several processes into one set of devices, through XLA's coordination service.

The processes meet at an address, where process 0 runs the service. If a process dies, XLA aborts
the others when its heartbeats have been missed.
"""

import ctypes
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from . import versions
from .client import process
from .failures import PlatformError, code_of, text_of


class Service:
    """The coordination service, which process 0 runs while the others compute."""

    __slots__ = ("address", "raw")

    def __init__(self, raw: Any, address: str) -> None:
        self.raw = raw
        self.address = address

    def shutdown(self) -> None:
        """Ends the service. Call it when every process has left: it does not wait for them."""
        if self.raw is not None:
            self.raw.shutdown()
            self.raw = None

    def abandon(self) -> None:
        """Leaves the service open until the process ends. Closing it would wait for all other
        processes, and then XLA would abort because they are gone."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.raw))


class Connection:
    """This process's membership. It also gives access to a small key-value store that all share."""

    __slots__ = ("exchanges", "host", "local_device_ids", "process_count", "process_index", "raw")

    def __init__(
        self,
        raw: Any,
        process_index: int,
        process_count: int,
        host: str | None = None,
        local_device_ids: Sequence[int] | None = None,
    ) -> None:
        self.raw = raw
        self.process_index = process_index
        self.process_count = process_count
        self.host = host
        self.local_device_ids = local_device_ids
        self.exchanges = 0

    def put(self, key: str, value: str) -> None:
        """Stores a string under a key."""
        self.raw.key_value_set(key, value, True)

    def get(self, key: str, timeout: float) -> str:
        """The string under a key; waits until some process has stored it.

        Raises: TimeoutError: no process stores it in time.
        """
        try:
            return str(self.raw.blocking_key_value_get(key, round(timeout * 1000)))
        except RuntimeError as error:
            if "DEADLINE_EXCEEDED" in code_of(error) or "DEADLINE_EXCEEDED" in str(error):
                raise TimeoutError(
                    f"get({key!r}): other processes did not come within {timeout:g} s"
                ) from None
            raise PlatformError(f"get({key!r}): {text_of(error)}") from None

    def exchange(self, text: str, name: str = "") -> list[str]:
        """The texts of all processes, in their order. Waits until all processes have called it.

        It is meant for short texts, not for data. Ctrl-C interrupts the wait.

        Args:
          name: the name of an exchange that can be called again after Ctrl-C. By default exchanges
            are numbered.
        """
        self.exchanges += not name
        key = f"weft/{name or self.exchanges}"
        mine = f"{key}/{self.process_index}"
        self.put(mine, text)
        if (
            self.process_index == 0
        ):  # process 0 collects the texts, so that the others need one request each
            places = (f"{key}/{i}" for i in range(self.process_count))
            self.put(f"{key}/all", json.dumps([self._awaited(place) for place in places]))
            # all are here, so all have read the texts of the last exchange
            self.raw.key_value_delete(f"weft/{self.exchanges - 1}/all")
        texts: list[str] = json.loads(self._awaited(f"{key}/all"))
        if not name:
            self.raw.key_value_delete(mine)
        return texts

    def _awaited(self, key: str) -> str:
        while True:
            with suppress(TimeoutError):
                return self.get(key, 1)

    def shutdown(self) -> None:
        """Leaves at once: XLA does not wait for the others (jaxlib 0.10.2, 0.12)."""
        self.raw.shutdown()


def start_service(
    address: str,
    process_count: int,
    *,
    heartbeat_timeout: int = 100,
    shutdown_timeout: int = 300,
) -> Service:
    """Starts the service in process 0; `address` is `[::]:port` or `host:port`."""
    xla = versions.load().xla
    try:
        raw = xla.get_distributed_runtime_service(
            address,
            process_count,
            heartbeat_timeout=heartbeat_timeout,
            shutdown_timeout=shutdown_timeout,
        )
    except RuntimeError as error:
        raise PlatformError(f"start_service: {address}: {text_of(error)}") from None
    return Service(raw, address)


def connect(
    address: str,
    process_index: int,
    process_count: int,
    *,
    init_timeout: int = 300,
    heartbeat_timeout: int = 100,
    shutdown_timeout: int = 300,
    host: str | None = None,
    local_device_ids: Sequence[int] | None = None,
) -> Connection:
    """Joins the processes at `address`. Devices opened afterwards include all processes' devices.

    Args:
      host: this host, as the other processes reach it; by default the address of its name.
      local_device_ids: the accelerators of this host that this process uses; by default all.
    Raises: PlatformError: devices are open already, or there is no service.
    """
    if not 0 <= process_index < process_count:
        raise ValueError(f"connect: process {process_index} is not one of {process_count}")
    require_unopened("connect")
    if process.connection is not None:
        raise PlatformError("connect: this process is connected already")
    xla = versions.load().xla
    try:
        raw = xla.get_distributed_runtime_client(
            address,
            process_index,
            init_timeout=init_timeout,
            heartbeat_timeout=heartbeat_timeout,
            shutdown_timeout=shutdown_timeout,
            # at the end of the interpreter it would wait for processes that may be dead
            shutdown_on_destruction=False,
            use_compression=True,
        )
        raw.connect()
    except RuntimeError as error:
        raise PlatformError(f"connect: {address}: {text_of(error)}") from None
    joined = Connection(raw, process_index, process_count, host, local_device_ids)
    process.connection = joined
    return joined


def require_unopened(operation: str) -> None:
    """Raises PlatformError if this process has opened its devices already."""
    if process.clients:
        raise PlatformError(
            f"{operation}: devices are open already\n  fix: initialize before the first computation"
        )


def connection() -> Connection | None:
    """This process's membership, if it has connected."""
    return process.connection


def disconnect() -> None:
    """Leaves the other processes. Open devices of this process stay usable."""
    if process.connection is not None:
        process.connection.shutdown()
        process.connection = None
