"""A process's connection to process 0: heartbeats, and the end of this process if one is lost.

`hub.py` is the other end. Knows nothing of XLA.
"""

import os
import selectors
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

from .hub import DIED, ENDED, Hello, Hub, silent
from .lines import Line, joined_address
from .members import LOST, Limits, Member
from .stillness import Stillness, whereabouts

RETRY = 0.1
"""Seconds between attempts to reach process 0, which may not have started."""

SILENCE = 10.0
"""Seconds within which process 0 sends something, if only that it waits for others."""

PATIENCE = 60.0
"""Seconds at most for process 0 to answer that this one has failed."""

TRACEBACK = 0.3
"""Seconds for an exception that a loss leads to in the main thread to be printed before the reason.
"""

FLUSH = 3.0
"""Seconds at most for what is written yet to be written, and the others to be told."""


class Refused(Exception):
    """Process 0 refused this process, for this reason."""


class Unanswered(Refused):
    """No process 0 answered at the address."""


class Welcome(NamedTuple):
    """The message of process 0 when all have connected."""

    members: list[Member]
    limits: Limits
    port: int
    """Of XLA's service, at process 0's host."""
    address: str
    """An IP address at which the others reach this process."""


def attend(host: str, port: int, hello: Hello, timeout: float) -> tuple[Line, Welcome]:
    """Connects to process 0 and waits for the others.

    Raises: Refused: the process is late, one too many, or disagrees about the number of processes.
    """
    line = _reach(host, port, timeout)
    line.send(hello=hello._replace(address=line.socket.getsockname()[0]))
    patience = min(timeout, SILENCE)
    listening = _listening(line)
    while listening.select(patience):
        messages = line.receive()
        if messages is None:
            break
        for n, message in enumerate(messages, 1):
            match message:
                case {"refused": str(reason)}:
                    line.close()
                    raise Refused(reason)
                case {"members": members, "limits": limits, "port": service, "address": address}:
                    everyone = [Member(*member) for member in members]
                    line.unread = messages[n:]  # that one is lost already, perhaps
                    return line, Welcome(everyone, Limits(*limits), service, address)
    line.close()
    raise Unanswered(
        f"what is at {joined_address(host, port)} does not answer as process 0 would\n"
        "  fix: see whether process 0 has failed; if the port is another program's, choose another"
    )


def _reach(host: str, port: int, timeout: float) -> Line:
    """A connection to process 0, which may start later than this process."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return Line(socket.create_connection((host, port), timeout=SILENCE))
        except OSError as error:
            if time.monotonic() > deadline:
                raise Unanswered(
                    f"process 0 was not to be found at {joined_address(host, port)} within "
                    f"{timeout:g} s: {error}\n"
                    "  fix: start it, check coordinator_address, or allow more by "
                    "initialization_timeout"
                ) from None
        time.sleep(RETRY)


def _listening(line: Line) -> selectors.BaseSelector:
    """A selector that waits for messages."""
    selector = selectors.DefaultSelector()
    selector.register(line, selectors.EVENT_READ)
    return selector


class Spoke:
    """The thread that keeps the connection, from the welcome to the end.

    Args:
      hub: in process 0 the other end, which must tell the others before this process ends.
    """

    def __init__(self, line: Line, rank: int, welcome: Welcome, hub: Hub | None) -> None:
        self.members = welcome.members
        self.limits = welcome.limits
        self.me = welcome.members[rank]
        self._line = line
        self._hub = hub
        self._released = threading.Event()
        self._given_up = threading.Event()
        self._closing = self._failed = False
        self._ending = threading.Event()
        # Begun now: Python 3.12 starts no threads while it exits, when others may still be lost.
        self._flushing = threading.Thread(target=self._flush, name="weft-flush", daemon=True)
        self._flushing.start()
        self._thread = threading.Thread(target=self._run, name="weft-watch", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Waits until all processes have called this. Their other work goes on meanwhile."""
        self._line.send(leaves=True)
        self._released.wait()

    def fail(self, reason: str) -> None:
        """Reports that this process ends by an exception, and waits until the others know."""
        self._failed = True
        self._line.send(failed=reason)
        self._given_up.wait(PATIENCE)
        if self._hub is not None:
            self._hub.over.wait(FLUSH)
            self._hub.service.abandon()

    def close(self) -> None:
        """Disconnects after all have left."""
        self._closing = True
        self._line.send(bye=True)
        self._thread.join()
        self._ending.set()
        self._line.close()

    def forget(self) -> None:
        """Closes the connection in a forked child, which would keep it open after this process's
        death."""
        self._line.close()

    def _run(self) -> None:
        stillness, listening = Stillness(), _listening(self._line)
        interval = self.limits.interval
        heard = time.monotonic()
        next_beat = 0.0
        for message in self._line.unread:
            self._take(message)
        while True:
            now = time.monotonic()
            if now >= next_beat:
                next_beat = now + interval
                self._line.send(beat=stillness.look())
            if listening.select(interval):
                messages = self._line.receive()
                if messages is None:
                    if not self._closing:
                        self._end(self.members[0], DIED)
                    return
                heard = time.monotonic()
                for message in messages:
                    self._take(message)
                if self._given_up.is_set():
                    self._line.close()  # that is how the hub sees that this process knows
                    return
            elif time.monotonic() - heard > self.limits.heartbeat - 2 * interval:
                why = silent(self.limits.heartbeat)
                self._line.send(lost=0, why=why)  # for when it wakes up
                self._end(self.members[0], why)

    def _take(self, message: dict[str, Any]) -> None:
        match message:
            case {"released": True}:
                self._released.set()
            case {"lost": int(rank), "why": str(why)}:
                if self._failed and why.startswith(ENDED):
                    self._given_up.set()  # it goes on ending, by its own exception
                else:
                    self._end(self.members[rank], why)

    def _end(self, lost: Member, why: str) -> None:
        """Ends this process, whose main thread may be waiting for ever."""
        time.sleep(TRACEBACK)
        _, at = whereabouts(threading.main_thread().ident or 0)
        where = f", at {at}" if at else ""
        text = f"weft: {lost} is lost: {why}\n  {self.me} ends with status {LOST}{where}\n"
        with suppress(OSError):  # nobody may be left to read it
            os.write(2, text.encode())
        self._ending.set()
        self._flushing.join(FLUSH)  # for ever, if the main thread is stuck in writing
        self._line.close()
        if self._hub is not None:
            self._hub.over.wait(FLUSH)
        os._exit(LOST)

    def _flush(self) -> None:
        """Writes what is written yet, when this process ends."""
        self._ending.wait()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed
                stream.flush()
