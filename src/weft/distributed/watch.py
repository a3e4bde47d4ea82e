"""A process's connection to process 0: sends heartbeats; ends the process if another is lost."""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .connection import MessageSocket, joined_address
from .coordinator import DIED, ENDED, Coordinator, last_seen, silent
from .hang_detector import HangDetector, whereabouts
from .members import FAILED, GONE, LEAVING, LOST, RUNNING, Limits, Member, Status, Welcome

RETRY = 0.1
"""Seconds between attempts to reach process 0, which may start later."""

SILENCE = 10.0
"""Seconds within which process 0 sends a message, even if it only waits for others."""

PATIENCE = 60.0
"""The time limit in seconds for process 0 to confirm that this process has failed."""

TRACEBACK = 0.3
"""Seconds for the main thread to print an exception caused by the loss, before the reason is
printed."""

FLUSH = 3.0
"""The time limit in seconds for writing the output and informing the others."""


class Refused(Exception):
    """Process 0 rejected this process, for this reason."""


class Unanswered(Refused):
    """No process 0 answered at the address."""


def attend(host: str, port: int, me: Member, timeout: float) -> tuple[MessageSocket, Welcome]:
    """Connects to process 0 and waits for the others.

    Raises: Refused: the process is late or surplus, or disagrees about the number of processes.
    """
    line = MessageSocket(_reach(host, port, timeout))
    line.socket.settimeout(min(timeout, SILENCE))
    line.send(member=me._replace(address=line.socket.getsockname()[0]))
    while message := line.receive():
        match message:
            case {"refused": str(reason)}:
                line.close()
                raise Refused(reason)
            case {"welcome": [first, limits, port, address]}:
                line.socket.settimeout(None)
                return line, Welcome(Member(*first), Limits(*limits), port, address)
    line.close()
    raise Unanswered(
        f"the program at {joined_address(host, port)} does not answer like process 0\n"
        "  fix: see whether process 0 has failed; if the port is another program's, choose another"
    )


def _reach(host: str, port: int, timeout: float) -> socket.socket:
    """Connects to process 0, which may start later than this process."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return socket.create_connection((host, port), timeout=SILENCE)
        except OSError as error:
            if time.monotonic() > deadline:
                raise Unanswered(
                    f"found no process 0 at {joined_address(host, port)} within "
                    f"{timeout:g} s: {error}\n"
                    "  fix: start it, check coordinator_address, or allow more by "
                    "initialization_timeout"
                ) from None
        time.sleep(RETRY)


class Watch:
    """The threads that maintain the connection, from the welcome to the end.

    Args:
      coordinator: in process 0, which must inform the others before it ends.
    """

    def __init__(
        self, line: MessageSocket, welcome: Welcome, me: Member, coordinator: Coordinator | None
    ) -> None:
        self.me = me
        self._line = line
        self._limits = welcome.limits
        self._first = str(welcome.first)
        self._first_at = ""
        self._coordinator = coordinator
        self._heard = time.monotonic()
        self._state = RUNNING
        self._since = self._heard
        self._failure = ""
        self._wake = threading.Event()
        self._given_up = threading.Event()
        self._ending = threading.Event()
        self._one_end = threading.Lock()
        # started now, because Python 3.12 starts no threads at exit, when processes may still be
        # lost
        self._flushing = self._thread(self._flush)
        self._beating = self._thread(self._beat)
        self._thread(self._listen)

    def _thread(self, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"weft{run.__name__}", daemon=True)
        thread.start()
        return thread

    def leave(self) -> None:
        """Reports that this process is ready to leave; the others must follow soon."""
        self._enter(LEAVING)

    def fail(self, reason: str) -> None:
        """Reports that this process ends with an exception, and waits until the others are
        informed."""
        self._failure = reason
        self._enter(FAILED)
        self._given_up.wait(PATIENCE)
        self._given_up.set()
        self._part()

    def close(self) -> None:
        """Disconnects after all have left."""
        self._enter(GONE)
        self._beating.join()
        self._ending.set()
        self._line.close()
        if self._coordinator is not None:
            self._coordinator.over.wait()

    def close_in_child(self) -> None:
        """Closes the connection in a forked child, which would hide this process's death."""
        self._line.close_in_child()
        if self._coordinator is not None:
            self._coordinator.close_in_child()

    def _enter(self, state: str) -> None:
        self._state, self._since = state, time.monotonic()
        self._wake.set()

    def _part(self) -> None:
        """Disconnects, and gives the others time to read the reason."""
        self._line.close()
        if self._coordinator is not None:
            self._coordinator.over.wait(FLUSH)

    def _beat(self) -> None:
        hang_detector, limits = HangDetector(), self._limits
        while not self._given_up.is_set():
            seconds = time.monotonic() - self._since
            status = Status(*hang_detector.poll(), self._state, seconds, self._failure)
            self._line.send(status=status)
            if status.state == GONE:
                return
            if time.monotonic() - self._heard > limits.heartbeat - 2 * limits.interval:
                self._lose(self._first, silent(limits) + last_seen(self._first_at))
            self._wake.wait(limits.interval)
            self._wake.clear()

    def _listen(self) -> None:
        while message := self._line.receive():
            self._heard = time.monotonic()
            match message:
                case {"at": str(at)}:
                    self._first_at = at
                case {"lost": str(lost), "why": str(why)}:
                    if self._state == FAILED and why.startswith(ENDED):
                        self._given_up.set()  # this process already ends with its own exception
                    else:
                        self._lose(lost, why)
        if self._state != GONE and not self._given_up.is_set():
            self._lose(self._first, DIED + last_seen(self._first_at))

    def _lose(self, lost: str, why: str) -> None:
        """Ends this process, whose main thread may be blocked."""
        self._one_end.acquire()  # only the first thread continues; another one waits
        time.sleep(TRACEBACK)
        _, at = whereabouts(threading.main_thread().ident or 0)
        where = f", at {at}" if at else ""
        text = f"weft: {lost} is lost: {why}\n  {self.me} ends with status {LOST}{where}\n"
        with suppress(OSError):  # there may be no reader any more
            os.write(2, text.encode())
        self._ending.set()
        self._flushing.join(FLUSH)  # with a time limit: the main thread may be stuck in a write
        self._part()
        os._exit(LOST)

    def _flush(self) -> None:
        """Writes the buffered output when this process ends."""
        self._ending.wait()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed
                stream.flush()
