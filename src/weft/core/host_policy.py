"""The policy that decides when NumPy computes an operation on the CPU instead of XLA.

A primitive names the class of its cost. NumPy needs no compiler, no other threads and no copy of
its operands, so it is faster up to the limit of that class; XLA is faster above it. Limits count
elements, or elementary operations where elements do not measure the work (a matrix product).
`make tune` measures the limits and writes them here. They are the same in every process, so that
calls of one signature always run in the same way.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .aval import Aval

R = TypeVar("R", bound=Callable[..., Any])

# fmt: off
LIMITS = {
    "always": math.inf,  # views, and operations in which NumPy is faster at every size
    "arithmetic": 1_500_000,
    "transcendental": 131_072,
    "other": 16_384,
    "never": 0,
}
# fmt: on
"""The limit of each class of cost."""


def passed_on(x: Any) -> Any:
    """Returns the operand: NumPy's function for an operation that only informs a derivative or the
    compiler. A program on the host leaves it out.
    """
    return x


class HostPolicy:
    """The policy of one primitive: its class of cost, and how its work is counted.

    Args:
      cost: the class of cost, one of `LIMITS`.

    Attributes:
      work_rule: (avals, outs, **params) -> the number of elementary operations. By default it is
        the number of elements of the largest operand or output.
      unread: the numbers of operands that only `lower` reads; a program on the host need not
        compute them.
      execute_rule: (args, **params) -> the outputs, computed now, for an operation that is neither
        a NumPy function nor a compiled program: it calls Python, moves arrays, or has programs
        inside.
      kernel_rule: (*avals, **params) -> the NumPy function for one signature, where choosing it
        takes time.
    """

    __slots__ = ("cost", "execute_rule", "kernel_rule", "unread", "work_rule")

    def __init__(self, cost: str) -> None:
        if cost not in LIMITS:
            classes = ", ".join(LIMITS)
            raise ValueError(f"Primitive: host must be one of {classes}; got {cost!r:.40}")
        self.cost = cost
        self.work_rule: Callable[..., Any] | None = None
        self.kernel_rule: Callable[..., Any] | None = None
        self.execute_rule: Callable[..., Any] | None = None
        self.unread: tuple[int, ...] = ()

    def work(self, rule: R) -> R:
        """Decorates the rule that counts elementary operations."""
        self.work_rule = rule
        return rule

    def kernel(self, rule: R) -> R:
        """Decorates the rule that chooses the function for a signature."""
        self.kernel_rule = rule
        return rule

    def execute(self, rule: R) -> R:
        """Decorates the rule that computes the outputs now."""
        self.execute_rule = rule
        return rule

    def share(self, avals: Sequence[Aval], outs: Sequence[Aval], params: dict[str, Any]) -> float:
        """The work of an operation as a fraction of the limit; up to 1, NumPy computes it."""
        limit = LIMITS[self.cost]
        if not limit:
            return math.inf
        if self.work_rule is not None:
            return self.work_rule(avals, outs, **params) / limit
        return max([a.size for a in (*avals, *outs)], default=0) / limit
