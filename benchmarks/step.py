"""How long does a compiled step take, once it is compiled?"""

from collections.abc import Callable, Iterator
from typing import Any

from models import MODELS

TITLE = "Compiled step"
UNIT = "µs for jit(value_and_grad(loss)), results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")
TARGETS = {"jax": dict.fromkeys(MODELS, 1.0)}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    for name, (make_loss, make_args) in MODELS.items():
        step, args = peer.jit(peer.value_and_grad(make_loss(peer))), make_args(peer)
        yield name, lambda step=step, args=args: peer.wait(step(*args))
