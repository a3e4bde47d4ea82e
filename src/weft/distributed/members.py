"""The messages that the processes send each other, and the time limits."""

from typing import Any, NamedTuple

LOST = 75
"""Exit status of a process that ends because another was lost: try again (EX_TEMPFAIL)."""

RUNNING, LEAVING, GONE, FAILED = "running", "leaving", "gone", "failed"
"""The states of a process: before `shutdown`, in it, after it; or an exception ends it."""


class Member(NamedTuple):
    """One of the processes, as it introduces itself to process 0."""

    rank: int
    host: str
    pid: int
    processes: int = 0
    """The number of processes that it expects."""
    jaxlib: str = ""
    """Its version."""
    address: str = ""
    """The IP address from which it reaches process 0."""

    def __str__(self) -> str:
        return f"process {self.rank} (host {self.host}, pid {self.pid})"


class Limits(NamedTuple):
    """Seconds after which a process counts as lost; inf is never."""

    initialization: float
    """For a process that has not connected."""
    heartbeat: float
    """For a process that sends no heartbeat."""
    shutdown: float
    """For a process that continues after another one has left."""
    stall: float
    """For a process that is blocked outside weft while another one waits inside."""

    @property
    def interval(self) -> float:
        """Seconds between two heartbeats: several fit into every limit."""
        return max(0.02, min(2.0, min(self[1:]) / 20))


class Welcome(NamedTuple):
    """The answer of process 0 when all have come."""

    first: Member
    """Process 0."""
    limits: Limits
    port: int
    """The port of XLA's service at process 0's host."""
    address: str
    """An IP address at which the others reach the process."""


class Status(NamedTuple):
    """A heartbeat: the state of a process and of its main thread."""

    still: float = 0.0
    """Seconds since the main thread last ran, outside weft, in a process that computes nothing."""
    waiting: float = 0.0
    """Seconds for which it has waited inside weft, for a device or for other processes."""
    at: str = ""
    """The user's line that it is at."""
    state: str = RUNNING
    since: float = 0.0
    """Seconds for which the process has been in this state."""
    failure: str = ""
    """The exception, if it has failed."""


def member_in(message: dict[str, Any] | None) -> Member | None:
    """The introduction of a process; None if the message is something else."""
    match message:
        case {"member": [int(), str(), int(), int(), str(), str()] as fields}:
            return Member(*fields)
    return None


def listed(members: list[Member]) -> str:
    """Several processes as text.

    Example:
      >>> listed([Member(0, "a", 11), Member(1, "b", 12)])
      'process 0 (host a, pid 11), process 1 (host b, pid 12)'
    """
    return ", ".join(map(str, members))
