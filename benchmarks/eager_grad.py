"""How long does the gradient of an MLP take that isn't jitted, again and again?"""

from collections.abc import Callable, Iterator
from typing import Any

from models import MLPS, MODELS

TITLE = "Un-jitted gradient, steady"
UNIT = "µs for value_and_grad, results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "torch")
TARGETS = {"jax": {"MLP 50": 25}, "torch": {"MLP 50": 1.0}}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    for name in MLPS:
        make_loss, make_args = MODELS[name]
        step, args = peer.value_and_grad(make_loss(peer)), make_args(peer)
        yield name, lambda step=step, args=args: peer.wait(step(*args))
