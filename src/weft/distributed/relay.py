"""Relays XLA's connection to process 0, and keeps this end open when the other one breaks.

XLA aborts a process the moment its connection to process 0 breaks, with a message that names
nobody. Through a relay it sees no break, so that there is time to report who was lost.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from .line import end


class Relay:
    """A port of this machine that stands for a port of another host."""

    def __init__(self, host: str, port: int) -> None:
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = [self._listener]
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        _start(self._accept)

    def _accept(self) -> None:
        with suppress(OSError):  # closed, or process 0 is lost
            while True:
                near, _ = self._listener.accept()
                self._open.append(near)
                far = socket.create_connection(self._target)
                self._open.append(far)
                _start(_copy, near, far)
                _start(_copy, far, near)

    def close(self) -> None:
        """Ends the relay; call it when XLA has left."""
        for each in self._open:
            end(each)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # a broken connection is the end of one, as a closed one is
        while data := source.recv(1 << 16):
            target.sendall(data)


def _start(function: Callable[..., None], *args: socket.socket) -> None:
    threading.Thread(target=function, args=args, name="weft-relay", daemon=True).start()
