"""How long does a compiled training step on 8 devices take?

Each step is awaited: on jaxlib before 0.12, jax would wait for ever with two under way on the CPU.
"""

from collections.abc import Callable, Iterator
from typing import Any

from parallel_models import DEVICES, STEPS

__all__ = ["DEVICES"]
TITLE = "Training step on 8 devices"
UNIT = "µs a step, results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")
TARGETS = {"jax": dict.fromkeys(STEPS, 1.0)}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    for name, make in STEPS.items():
        step, args = make(peer)
        yield name, lambda step=step, args=args: peer.wait(step(*args))
