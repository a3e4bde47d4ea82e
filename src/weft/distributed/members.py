"""The processes that compute together, and their time limits."""

from typing import NamedTuple

LOST = 75
"""Exit status of a process that ends because another was lost: try again (EX_TEMPFAIL)."""


class Member(NamedTuple):
    """One of the processes."""

    rank: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.rank} (host {self.host}, pid {self.pid})"


class Limits(NamedTuple):
    """Seconds after which a process counts as lost; inf is never."""

    initialization: float
    """Of a process that has not connected."""
    heartbeat: float
    """Of a process that sends no heartbeat."""
    shutdown: float
    """Of a process that continues after another one has left."""
    stall: float
    """Of a process that is blocked outside weft while another one waits inside."""

    @property
    def interval(self) -> float:
        """Seconds between two heartbeats: several fit into every limit."""
        return max(0.02, min(2.0, min(self[1:]) / 20))


def listed(members: list[Member]) -> str:
    """Processes in a sentence.

    Example:
      >>> listed([Member(0, "a", 11), Member(1, "b", 12)])
      'process 0 (host a, pid 11), process 1 (host b, pid 12)'
    """
    return ", ".join(map(str, members))
