"""Messages between processes: JSON objects, one a line, over TCP. Knows no meanings."""

import json
import socket
import threading
from typing import Any

SENDING = 2.0
"""Seconds after which a message to a process that doesn't read is given up."""

LONGEST = 1 << 20
"""Bytes of a line; who sends a longer one doesn't speak this."""


class Line:
    """One end of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(SENDING)
        self.socket = connected
        self._unfinished = b""
        self.unread: list[dict[str, Any]] = []  # received with a message that ended the waiting
        self._sending = threading.Lock()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, **message: object) -> None:
        """Sends a message. That the other end is gone shows in reading, not here."""
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._sending:
                self.socket.sendall(data)
        except OSError:
            return

    def receive(self) -> list[dict[str, Any]] | None:
        """The messages that are there, when something is; None at the end of the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            return []
        except OSError:
            return None
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        if not data or len(self._unfinished) > LONGEST:
            return None
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            return None
        return messages if all(isinstance(m, dict) for m in messages) else None

    def close(self) -> None:
        self.socket.close()


def split_address(address: str, what: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`.

    Raises: ValueError, which begins with `what`.
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
