"""A connection between process 0 and a process: JSON objects, one a line, over TCP."""

import json
import socket
from contextlib import suppress
from typing import Any

LONGEST = 1 << 16
"""Bytes of a message. A stranger may send longer lines."""


class Line:
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
        """Waits for a message. None: the connection has ended, or this is no message."""
        while b"\n" not in self._unread:
            try:
                data = self.socket.recv(LONGEST)
            except OSError:
                return None
            self._unread += data
            if not data or len(self._unread) > LONGEST:
                return None
        text, _, self._unread = self._unread.partition(b"\n")
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def close(self) -> None:
        """Ends the connection. A thread that waits for a message returns."""
        end(self.socket)

    def forget(self) -> None:
        """Closes this end in a forked child, which would keep it open after the parent's death."""
        self.socket.close()


def end(connected: socket.socket) -> None:
    """Closes a socket, and wakes the threads that wait for it."""
    with suppress(OSError):  # the other end was faster
        connected.shutdown(socket.SHUT_RDWR)
    connected.close()
