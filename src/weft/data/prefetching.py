"""Prefetch: a stage that makes examples on a thread, ahead of their use.

The thread is that of `weft.experimental.prefetch`, which puts batches on devices with it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ..experimental.prefetch import Ahead
from ..layers import option_checks
from .stages import Flow

__all__ = ["Prefetch"]


def Prefetch(n_prefetch: int = 2) -> "PrefetchStage":
    """A stage that makes examples on a thread, ahead of their use.

    Put it last: everything before it then runs while the model computes. NumPy and reading files
    release Python's lock; pure Python code does not gain.

    Args:
      n_prefetch: the number of examples that wait.
    Returns: a stage. The end of the examples, and an exception, come in their turn. The thread ends
      with the iterator. The position of the stream is that of the examples which were taken.
    Raises: TypeError, ValueError: `n_prefetch` is not an int of at least 1.
    Example:
      >>> list(Prefetch(2)(iter(range(4))))
      [0, 1, 2, 3]
    Source: Trax documentation, `data.Prefetch`.
    """
    return PrefetchStage(option_checks.whole_number("Prefetch", "n_prefetch", n_prefetch))


class PrefetchStage(Flow):
    """The stage that `Prefetch` makes."""

    def __init__(self, size: int) -> None:
        super().__init__("Prefetch", self.ahead, passes=True)
        self.size = size

    def ahead(self, examples: Iterator[Any], where: Callable[[], Any] | None = None) -> Ahead:
        """Examples made ahead; `where` gives the position of those behind them."""
        return Ahead(examples, self.size, lambda example: example, where)
