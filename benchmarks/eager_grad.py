"""The un-jitted gradient of an MLP, again and again."""

from collections.abc import Callable, Iterator
from typing import Any

from models import MODELS

KIND = "steady"
TARGETS = {"MLP 50": 25}


def cases(P: Any) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """(name, what to time, how often in a row)."""
    for name in ("MLP 5", "MLP 50", "MLP 200"):
        make_loss, make_args = MODELS[name]
        step, args = P.value_and_grad(make_loss(P)), make_args(P)
        yield name, lambda step=step, args=args: P.wait(step(*args)), 3
