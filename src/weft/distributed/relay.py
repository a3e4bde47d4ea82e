"""Relays XLA's connection to process 0, and keeps this end open when the other one breaks.

XLA ends a process the moment its connection to process 0 breaks, with a message that names nobody.
Through a relay it sees no break, so that there is time to report who was lost.
Knows nothing of the data.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class Relay:
    """A port of this machine that stands for a port of another host."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        _start(self._accept)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:  # closed
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()  # XLA tries again
                continue
            self._open += near, far
            _start(self._pass_on, near, far)
            _start(self._hold, far, near)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        _copy(near, far)
        _end(far)

    def _hold(self, far: socket.socket, near: socket.socket) -> None:
        _copy(far, near)  # and `near` stays open

    def close(self) -> None:
        """Ends the relay; call it when XLA has left."""
        for each in self._open:
            _end(each)
            each.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # a broken connection is the end of one, as a closed one is
        while data := source.recv(1 << 16):
            target.sendall(data)


def _end(connected: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connected.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it


def _start(function: Callable[..., None], *args: socket.socket) -> None:
    threading.Thread(target=function, args=args, name="weft-relay", daemon=True).start()
