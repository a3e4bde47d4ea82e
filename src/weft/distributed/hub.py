"""The coordinator, in process 0: enrols processes, listens to heartbeats, reports who is lost.

A thread that listens at the coordinator's address. Every process is connected to it, process 0
included; `spoke.py` is the other end. Knows nothing of XLA.
"""

import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .lines import Line, is_loopback
from .members import Limits, Member, listed
from .stillness import Report

GRACE = 1.0
"""Seconds to wait for a death that explains an exception in another process."""

FAREWELL = 3.0
"""Seconds for the others, late ones included, to read the last message."""

ENDED = "it ended by "

DIED = "its connection broke: it was killed, or crashed, or its machine ran out of memory"


class Hello(NamedTuple):
    """The first message of a process."""

    member: Member
    processes: int
    """The number of processes, as it was told."""
    jaxlib: str
    """Its version."""
    address: str = ""
    """The IP address from which it reaches process 0."""


class Seat:
    """A process that has connected."""

    def __init__(self, line: Line, hello: Hello, now: float) -> None:
        self.line = line
        self.member = hello.member
        self.address = hello.address
        self.heard = now
        self.report = Report()
        self.left: float | None = None
        self.failed: tuple[float, str] | None = None
        self.gone = self.done = False


class Hub:
    """The coordinator of `count` processes, at a listening socket.

    Args:
      open_service: starts XLA's own coordination service when all have connected; returns it and
        its port.
    """

    def __init__(
        self,
        listener: socket.socket,
        count: int,
        jaxlib: str,
        limits: Limits,
        open_service: Callable[[], tuple[Any, int]],
    ) -> None:
        self.count = count
        self.jaxlib = jaxlib
        self.limits = limits
        self.service: Any = None
        self.over = threading.Event()
        self._listener = listener
        self._open_service = open_service
        self._seats: dict[int, Seat] = {}
        self._complete = self._released = self._ended = False
        self._refusal = ""
        self._last_beat = self._began = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        threading.Thread(target=self._run, name="weft-hub", daemon=True).start()

    def forget(self) -> None:
        """Closes all connections in a forked child, where they would outlive this process."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _run(self) -> None:
        while not self._ended:
            self._hear(self.limits.interval)
            self._judge(time.monotonic())
        deadline = time.monotonic() + FAREWELL
        while not self._all_know() and (remaining := deadline - time.monotonic()) > 0:
            self._hear(remaining)
        for key in list(self._selector.get_map().values()):
            self._close(key.fileobj)
        self._selector.close()
        self.over.set()

    def _all_know(self) -> bool:
        """True if every process has disconnected."""
        seats = self._seats.values()
        return len(seats) == self.count and all(seat.gone for seat in seats)

    def _close(self, source: Any) -> None:
        self._selector.unregister(source)
        source.close()

    def _hear(self, timeout: float) -> None:
        """Reads messages, or waits for some."""
        for key, _ in self._selector.select(timeout):
            source: Any = key.fileobj
            if source is self._listener:
                self._selector.register(Line(source.accept()[0]), selectors.EVENT_READ)
                continue
            messages = source.receive()
            for message in messages or ():
                self._take(source, message)
            if messages is None:
                self._close(source)
                seat = self._seat_of(source)
                if seat is not None:
                    seat.gone = True

    def _seat_of(self, line: Line) -> Seat | None:
        return next((seat for seat in self._seats.values() if seat.line is line), None)

    def _take(self, line: Line, message: dict[str, Any]) -> None:
        now = time.monotonic()
        seat = self._seat_of(line)
        if seat is None:
            hello = hello_in(message)  # anything else isn't one of our processes
            if hello is not None:
                self._enrol(line, hello, now)
            return
        seat.heard = now
        match message:
            case {"beat": [still, waiting, at]}:
                seat.report = Report(still, waiting, at)
            case {"failed": str(reason)}:
                seat.failed = seat.failed or (now, reason)
            case {"leaves": True}:
                seat.left = now
            case {"bye": True}:
                seat.done = seat.gone = True
                self._close(line)
            case {"lost": int(rank), "why": str(why)}:  # process 0 itself, given up while stopped
                self._end(rank, why)

    # --- enrolment ---

    def _enrol(self, line: Line, hello: Hello, now: float) -> None:
        member = hello.member
        taken = self._seats.get(member.rank)
        if self._refusal:
            self._seats[member.rank] = Seat(line, hello, now)
            line.send(refused=self._refusal)
        elif self._complete:
            line.send(
                refused=f"{self.count} processes are here already, so {member} is one too many: "
                f"{self._present()}\n  fix: end what is left of an earlier run, or use another port"
            )
        elif hello.processes != self.count:
            self._refuse(
                f"process 0 was told that there are {self.count} processes, {member} that there "
                f"are {hello.processes}\n  fix: the same num_processes for all"
            )
        elif taken is not None:
            self._refuse(
                f"two processes have process_id {member.rank}: {taken.member} and {member}\n"
                "  fix: number the processes from 0, each its own"
            )
        elif hello.jaxlib != self.jaxlib:
            self._refuse(
                f"process 0 has jaxlib {self.jaxlib}, {member} has {hello.jaxlib}\n"
                "  fix: the same version on all hosts"
            )
        else:
            self._seats[member.rank] = Seat(line, hello, now)
            if len(self._seats) == self.count:
                self._welcome()

    def _present(self) -> str:
        return listed([seat.member for _, seat in sorted(self._seats.items())])

    def _welcome(self) -> None:
        try:
            self.service, port = self._open_service()
        except RuntimeError as error:
            self._refuse(str(error))
            return
        self._complete = True
        members = [seat.member for _, seat in sorted(self._seats.items())]
        lines = [seat.line.socket.getsockname()[0] for seat in self._seats.values()]
        outward = next((host for host in lines if not is_loopback(host)), "")
        for seat in self._seats.values():
            seat.line.send(
                members=members,
                limits=self.limits,
                port=port,
                # where its neighbours on this machine reach it, others may not
                address=outward if outward and is_loopback(seat.address) else seat.address,
            )

    def _refuse(self, reason: str) -> None:
        """Refuses all processes before the computation has begun."""
        self._ended, self._refusal = True, reason
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, Line):
                key.fileobj.send(refused=reason)

    # --- heartbeats ---

    def _judge(self, now: float) -> None:
        if self._ended:
            return
        seats = self._seats.values()
        broken = [seat for seat in seats if seat.gone and not seat.done]
        if not self._complete:
            if broken:
                self._refuse(f"{broken[0].member} ended before all processes had come")
            elif now - self._began > self.limits.initialization:
                self._refuse(self._who_is_missing())
        elif broken:
            self._end(broken[0].member.rank, DIED)
        else:
            self._judge_the_living(now)
            if all(seat.left is not None for seat in seats) and not self._released:
                self._released = True
                self._tell(released=True)
            self._ended |= all(seat.done for seat in seats)
        if now - self._last_beat >= self.limits.interval:
            self._last_beat = now
            self._tell(beat=True)

    def _who_is_missing(self) -> str:
        missing = [str(rank) for rank in range(self.count) if rank not in self._seats]
        which = f"process {missing[0]}" if len(missing) == 1 else f"processes {', '.join(missing)}"
        return (
            f"{which} of {self.count} did not come within {self.limits.initialization:g} s; here: "
            f"{self._present() or 'none'}\n  fix: start it, or allow more by initialization_timeout"
        )

    def _judge_the_living(self, now: float) -> None:
        late = 2 * self.limits.interval  # what is found is found this much later
        busy = [seat for seat in self._seats.values() if seat.left is None]
        for seat in self._seats.values():
            rank = seat.member.rank
            if not seat.done and now - seat.heard > self.limits.heartbeat - late:
                self._end(rank, silent(self.limits.heartbeat))
            if seat.failed and now - seat.failed[0] > GRACE:
                self._end(rank, ENDED + seat.failed[1])
        for seat in busy:
            stalled = seat.report.still > self.limits.stall - late
            waits = (s.report.waiting for s in busy if s is not seat)
            if stalled and any(seconds > self.limits.stall - late for seconds in waits):
                self._end(
                    seat.member.rank,
                    f"it hangs at {seat.report.at}: there it has done nothing for "
                    f"{seat.report.still:.3g} s, while others wait for it\n"
                    "  fix: if that is meant to take so long, raise stall_timeout_seconds",
                )
        first = min((s.left for s in self._seats.values() if s.left is not None), default=now)
        if busy and now - first > self.limits.shutdown - late:
            left = listed([s.member for s in self._seats.values() if s.left is not None])
            self._end(
                busy[0].member.rank,
                f"it goes on, at {busy[0].report.at}, {now - first:.3g} s after {left} left\n"
                "  fix: if that is meant to take so long, raise shutdown_timeout_seconds",
            )

    def _tell(self, **message: object) -> None:
        for seat in self._seats.values():
            if not seat.gone:
                seat.line.send(**message)

    def _end(self, rank: int, why: str) -> None:
        if not self._ended:
            self._ended = True
            self._tell(lost=rank, why=why)


def silent(seconds: float) -> str:
    """Why a process is given up of which nothing was heard."""
    return (
        f"it gave no sign of life for {seconds:g} s: it is stopped, or its machine or the network "
        "is down\n  fix: if it is only slow, raise heartbeat_timeout_seconds"
    )


def hello_in(message: dict[str, Any]) -> Hello | None:
    """The hello in a message; None if the message is none."""
    match message:
        case {
            "hello": [
                [int(rank), str(host), int(pid)],
                int(count),
                str(jaxlib),
                str(address),
            ]
        }:
            return Hello(Member(rank, host, pid), count, jaxlib, address)
    return None
