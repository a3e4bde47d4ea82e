"""The coordinator in process 0: admits processes, receives heartbeats, and reports lost processes.

Every process is connected to it, process 0 included; `watch.py` is the other end.
"""

import socket
import threading
import time
from contextlib import suppress

from .connection import MessageSocket, close_socket, is_loopback
from .members import (
    FAILED,
    GONE,
    LEAVING,
    RUNNING,
    Limits,
    Member,
    Status,
    Welcome,
    listed,
    member_in,
)

GRACE = 1.0
"""Seconds to wait for a lost process that may have caused an exception in another process."""

FAREWELL = 3.0
"""Seconds for the other processes, including late ones, to read the last message."""

ENDED = "it ended by "

DIED = "its connection broke: it was killed, or crashed, or its machine ran out of memory"


class Seat:
    """A process that has connected."""

    def __init__(self, member: Member, line: MessageSocket) -> None:
        self.member = member
        self.line = line
        self.heard = time.monotonic()
        self.status = Status()
        self.disconnected = False


class Coordinator:
    """The coordinator of `count` processes, at a listening socket.

    Args:
      port: the port of XLA's service.
    """

    def __init__(
        self, listener: socket.socket, count: int, jaxlib: str, limits: Limits, port: int
    ) -> None:
        self.over = threading.Event()
        self._listener = listener
        self._count = count
        self._jaxlib = jaxlib
        self._limits = limits
        self._port = port
        self._seats: dict[int, Seat] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._looked = self._began = time.monotonic()
        self._complete = False
        self._last_word: dict[str, str] = {}
        for run in (self._accept, self._run):
            threading.Thread(target=run, name="weft-coordinator", daemon=True).start()

    def close_in_child(self) -> None:
        """Closes the connections in a forked child, which would hide the death of this process."""
        self._listener.close()
        for seat in self._seats.values():
            seat.line.close_in_child()

    def _run(self) -> None:
        over = False
        while not over:
            self._wake.wait(self._limits.interval)
            self._wake.clear()
            with self._lock:
                over = self._look(time.monotonic())
        deadline = time.monotonic() + FAREWELL
        while not self._alone() and time.monotonic() < deadline:
            time.sleep(0.01)
        close_socket(self._listener)
        for seat in self._seats.values():
            seat.line.close()
        self.over.set()

    def _alone(self) -> bool:
        """True if every process has connected and disconnected."""
        with self._lock:
            seats = self._seats.values()
            return len(seats) == self._count and all(seat.disconnected for seat in seats)

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                line = MessageSocket(self._listener.accept()[0])
                threading.Thread(target=self._serve, args=[line], daemon=True).start()

    def _serve(self, line: MessageSocket) -> None:
        """Reads the messages of a process that has connected."""
        member = member_in(line.receive())
        if member is not None:  # other connections do not come from our processes
            seat = Seat(member, line)
            with self._lock:
                self._admit(seat)
            while message := line.receive():
                seat.heard, seat.status = time.monotonic(), Status(*message["status"])
                if member.rank == 0 or seat.status.state != RUNNING:
                    self._wake.set()  # the others are informed
            seat.disconnected = True
            self._wake.set()
        line.close()

    # --- admission ---

    def _admit(self, seat: Seat) -> None:
        if self._complete:
            seat.line.send(
                refused=f"{self._count} processes are here already, so {seat.member} is one too "
                f"many: {self._present()}\n"
                "  fix: end the processes of an earlier run, or use another port"
            )
            return
        if not self._last_word and (objection := self._objection(seat.member)):
            self._tell_last(refused=objection)
        self._seats.setdefault(seat.member.rank, seat)
        if self._last_word:
            seat.line.send(**self._last_word)
        elif len(self._seats) == self._count:
            self._complete = True
            self._welcome()

    def _objection(self, member: Member) -> str:
        if member.processes != self._count:
            return (
                f"process 0 expects {self._count} processes, {member} expects that there "
                f"are {member.processes}\n  fix: the same num_processes for all"
            )
        if holder := self._seats.get(member.rank):
            return (
                f"two processes have process_id {member.rank}: {holder.member} and {member}\n"
                "  fix: give each process its own number, from 0"
            )
        if member.jaxlib != self._jaxlib:
            return (
                f"process 0 has jaxlib {self._jaxlib}, {member} has {member.jaxlib}\n"
                "  fix: the same version on all hosts"
            )
        return ""

    def _welcome(self) -> None:
        seats = self._seats.values()
        hosts = [seat.line.socket.getsockname()[0] for seat in seats]
        outward = next((host for host in hosts if not is_loopback(host)), "")
        for seat in seats:
            address = seat.member.address
            if outward and is_loopback(address):
                address = outward  # only processes on the same machine can reach it there
            first = self._seats[0].member
            seat.line.send(welcome=Welcome(first, self._limits, self._port, address))

    def _present(self) -> str:
        return listed([seat.member for _, seat in sorted(self._seats.items())])

    def _missing(self) -> str:
        missing = [str(rank) for rank in range(self._count) if rank not in self._seats]
        which = f"process {missing[0]}" if len(missing) == 1 else f"processes {', '.join(missing)}"
        return (
            f"{which} of {self._count} did not come within {self._limits.initialization:g} s; "
            f"here: {self._present()}\n  fix: start it, or allow more by initialization_timeout"
        )

    # --- heartbeats ---

    def _look(self, now: float) -> bool:
        """Informs all processes of changes. Returns True when the coordinator has finished."""
        seats = [seat for _, seat in sorted(self._seats.items())]
        states = {seat.status.state for seat in seats}
        gap, self._looked = now - self._looked, now
        if not self._complete and not self._last_word:
            if broken := [seat for seat in seats if seat.disconnected]:
                self._tell_last(refused=f"{broken[0].member} ended before all processes had come")
            elif now - self._began > self._limits.initialization:
                self._tell_last(refused=self._missing())
        elif not self._last_word and (verdict := self._verdict(seats, now, gap)):
            lost, why = verdict
            self._tell_last(lost=str(lost.member), why=why)
        self._tell(at=seats[0].status.at if seats else "")
        return bool(self._last_word) or states == {GONE}

    def _verdict(self, seats: list[Seat], now: float, gap: float) -> tuple[Seat, str] | None:
        """The lost process, and the reason; `gap` is the time since the last look, in seconds."""
        limits = self._limits
        if gap > limits.heartbeat:  # process 0 was paused, and the others have given it up
            return seats[0], silent(limits)
        late = 2 * limits.interval  # losses are detected this much later
        present = [seat for seat in seats if seat.status.state != GONE]
        running = [seat for seat in seats if seat.status.state == RUNNING]
        left = [seat for seat in seats if seat.status.state in (LEAVING, GONE)]
        for seat in present:
            if seat.disconnected:
                return seat, DIED + last_seen(seat.status.at)
        for seat in present:
            if now - seat.heard > limits.heartbeat - late:
                return seat, silent(limits) + last_seen(seat.status.at)
            if seat.status.state == FAILED and seat.status.since > GRACE:
                return seat, ENDED + seat.status.failure
        for seat in running:
            waiting = [other.status.waiting for other in running if other is not seat]
            if min(seat.status.still, max(waiting, default=0.0)) > limits.stall - late:
                return seat, (
                    f"it hangs at {seat.status.at}: there it has done nothing for "
                    f"{seat.status.still:.3g} s, while others wait for it\n"
                    "  fix: if that is meant to take so long, raise stall_timeout_seconds"
                )
        longest = max((seat.status.since for seat in left), default=0.0)
        if running and longest > limits.shutdown - late:
            return running[0], (
                f"it continues, at {running[0].status.at}, {longest:.3g} s after "
                f"{listed([seat.member for seat in left])} left\n"
                "  fix: if that is meant to take so long, raise shutdown_timeout_seconds"
            )
        return None

    def _tell(self, **message: object) -> None:
        for seat in self._seats.values():
            seat.line.send(**message)

    def _tell_last(self, **message: str) -> None:
        self._last_word = message
        self._tell(**message)
        self._wake.set()


def silent(limits: Limits) -> str:
    """The reason why a process that sends nothing counts as lost."""
    return (
        f"it gave no sign of life for {limits.heartbeat:g} s: it is stopped, or its machine or the "
        "network is down\n  fix: if it is only slow, raise heartbeat_timeout_seconds"
    )


def last_seen(at: str) -> str:
    """A line of a message: the last known line of a lost process; empty if unknown."""
    return f"\n  it was last at {at}" if at else ""
