"""The messages that the processes send each other, and the time limits."""

from typing import Any, NamedTuple

LOST = 75
"""The exit status of a process that ends because another was lost. EX_TEMPFAIL means: try again."""

RUNNING, LEAVING, GONE, FAILED = "running", "leaving", "gone", "failed"
"""The states of a process: before, during and after `shutdown`, or ended by an exception."""


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
    """The IP address that it uses to reach process 0."""

    def __str__(self) -> str:
        return f"process {self.rank} (host {self.host}, pid {self.pid})"


class Limits(NamedTuple):
    """Seconds after which a process counts as lost; inf is never."""

    initialization: float
    """Until a process connects."""
    heartbeat: float
    """Until a process sends a heartbeat."""
    shutdown: float
    """Until a process ends after another one has left."""
    stall: float
    """Until a process that is blocked outside weft, while another waits inside, continues."""

    @property
    def interval(self) -> float:
        """Seconds between two heartbeats. Several heartbeats fit into every limit."""
        return max(0.02, min(2.0, min(self[1:]) / 20))


class Welcome(NamedTuple):
    """The answer of process 0 when all processes have connected."""

    first: Member
    """Process 0."""
    limits: Limits
    port: int
    """The port of XLA's service at process 0's host."""
    address: str
    """An IP address at which the others reach this process."""


class Status(NamedTuple):
    """A heartbeat: the state of a process and of its main thread."""

    still: float = 0.0
    """Seconds since the main thread last ran, for a process that is outside weft and does not
    compute."""
    waiting: float = 0.0
    """Seconds for which the main thread has waited inside weft, for a device or for other
    processes."""
    at: str = ""
    """The user's line at which the main thread is."""
    state: str = RUNNING
    since: float = 0.0
    """Seconds for which the process has been in this state."""
    failure: str = ""
    """The exception with which the process failed; empty if there is none."""


def member_in(message: dict[str, Any] | None) -> Member | None:
    """The introduction of a process; None if the message is something else."""
    match message:
        case {"member": [int(), str(), int(), int(), str(), str()] as fields}:
            return Member(*fields)
    return None


def listed(members: list[Member]) -> str:
    """A list of processes as text.

    Example:
      >>> listed([Member(0, "a", 11), Member(1, "b", 12)])
      'process 0 (host a, pid 11), process 1 (host b, pid 12)'
    """
    return ", ".join(map(str, members))
