"""The policy by which NumPy carries an operation out at once on the CPU.

A primitive names the class of its cost. Up to the limit of its class NumPy is the faster one, since
it needs no compiler, no other threads and no copy of its operands; beyond, XLA is. The limits are
numbers of elements, or of elementary operations where elements do not tell the work (a matrix
product). `make tune` measures them and writes them here; they are the same in every process, so an
operation of one signature is always carried out in the same way.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .aval import Aval

R = TypeVar("R", bound=Callable[..., Any])

# fmt: off
LIMITS = {
    "always": math.inf,  # views, and what NumPy does faster at every size
    "arithmetic": 1_500_000,
    "transcendental": 131_072,
    "other": 16_384,
    "never": 0,
}
# fmt: on
"""The limit of each class of cost."""


def passed_on(x: Any) -> Any:
    """The operand itself: NumPy's function of an operation that says something to a derivative or
    to the compiler only. A program on the host leaves it out."""
    return x


class HostPolicy:
    """The policy of one primitive: the class of its cost, and how its work is counted.

    Args:
      cost: the class of its cost, one of `LIMITS`.

    Attributes:
      work_rule: (avals, outs, **params) -> the number of elementary operations; by default that of
        the elements of the largest operand or output.
      unread: the operands, by number, that only `lower` reads: a program on the host does not
        compute what nothing else needs.
      execute_rule: (args, **params) -> the outputs, computed now, of an operation that is neither
        NumPy's nor a program of its own: it calls Python, or moves arrays, or has programs inside.
      kernel_rule: (*avals, **params) -> the function that `evaluate` is for one signature, where
        choosing it takes time.
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
        """The work of an operation as a share of the limit: NumPy is the faster one up to 1."""
        limit = LIMITS[self.cost]
        if not limit:
            return math.inf
        if self.work_rule is not None:
            return self.work_rule(avals, outs, **params) / limit
        return max([a.size for a in (*avals, *outs)], default=0) / limit
