"""Connections between processes: addresses, JSON messages over TCP, and a relay to XLA's service.

XLA aborts a process the moment its connection to process 0 breaks, with a message that does not say
which process was lost. The relay keeps XLA's connection open, so that there is time to report the
lost process.
"""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def split_address(address: str, what: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`.

    Raises: ValueError: not such an address. The message begins with `what`.
    Example:
      >>> split_address("[::1]:80", "here"), split_address("node-1:1234", "here")
      (('::1', 80), ('node-1', 1234))
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{what}: expected host:port, such as 10.0.0.1:1234; got {address!r}")
    return host, int(port)


def joined_address(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """True for an IP address that is reachable from the same machine only."""
    return host.startswith("127.") or host == "::1"


MAX_MESSAGE_BYTES = 1 << 16
"""The limit of a line in bytes. Longer lines come from other programs."""


class MessageSocket:
    """One end of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._unread = b""

    def send(self, **message: object) -> None:
        """Sends a message, without waiting for a process that does not read.

        A lost process is noticed by reading, so errors are ignored here.
        """
        with suppress(OSError):
            self.socket.send(json.dumps(message).encode() + b"\n", socket.MSG_DONTWAIT)

    def receive(self) -> dict[str, Any] | None:
        """Waits for a message. Returns `None` if the connection has ended, or if what arrived is
        not a message.
        """
        while b"\n" not in self._unread:
            try:
                data = self.socket.recv(MAX_MESSAGE_BYTES)
            except OSError:
                return None
            self._unread += data
            if not data or len(self._unread) > MAX_MESSAGE_BYTES:
                return None
        text, _, self._unread = self._unread.partition(b"\n")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def close(self) -> None:
        """Ends the connection. A thread that waits for a message returns from `receive`."""
        close_socket(self.socket)

    def close_in_child(self) -> None:
        """Closes this end in a forked child, which would keep it open after the parent's death."""
        self.socket.close()


def close_socket(connected: socket.socket) -> None:
    """Closes a socket, and wakes the threads that wait for it."""
    with suppress(OSError):  # the other end closed it first
        connected.shutdown(socket.SHUT_RDWR)
    connected.close()


class Relay:
    """A port of this machine that forwards to a port of another host."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        _start(self._accept)

    def _accept(self) -> None:
        with suppress(OSError):  # closed, or process 0 is lost
            while True:
                local, _ = self._listener.accept()
                self._open.append(local)
                remote = socket.create_connection(self._target)
                self._open.append(remote)
                _start(_copy, local, remote)
                _start(_copy, remote, local)

    def close(self) -> None:
        """Ends the relay. Call it after XLA has disconnected."""
        for each in self._open:
            close_socket(each)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # a broken connection counts as ended
        while data := source.recv(1 << 16):
            target.sendall(data)


def _start(function: Callable[..., None], *args: socket.socket) -> None:
    threading.Thread(target=function, args=args, name="weft-relay", daemon=True).start()
