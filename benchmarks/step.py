"""The time of a compiled training step's value and gradient, results awaited."""

from collections.abc import Callable, Iterator
from typing import Any

from models import MODELS

KIND = "steady"
TARGETS = dict.fromkeys(MODELS, 1.0)


def cases(P: Any) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """(name, what to time, how often in a row)."""
    for name, (make_loss, make_args) in MODELS.items():
        step, args = P.jit(P.value_and_grad(make_loss(P))), make_args(P)
        yield name, lambda step=step, args=args: P.wait(step(*args)), 20
