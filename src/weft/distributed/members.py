"""The processes that compute together, and how long they wait for each other."""

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
    """Seconds after which a process is taken for lost; inf is never."""

    initialization: float
    """… that has not come."""
    heartbeat: float
    """… that gives no sign of life."""
    shutdown: float
    """… that goes on when another one has left."""
    stall: float
    """… that is blocked outside weft while another one waits in it."""

    @property
    def interval(self) -> float:
        """Seconds between two signs of life: several fit into every limit."""
        return max(0.02, min(2.0, min(self[1:]) / 20))


def listed(members: list[Member]) -> str:
    """Processes in a sentence.

    Example:
      >>> listed([Member(0, "a", 11), Member(1, "b", 12)])
      'process 0 (host a, pid 11), process 1 (host b, pid 12)'
    """
    return ", ".join(map(str, members))
