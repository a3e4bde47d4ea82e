"""What does a call of a compiled function cost? Two arrays; a tree of 100 arrays in and out.

Results aren't awaited: what is measured is the way to XLA and back, in the caller's thread.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Dispatch of compiled functions"
UNIT = "µs a call, result not awaited"
KIND = "steady"
CLOCKS = ("thread", "wall")
PEERS = ("weft", "jax")
TARGETS = {"jax": {"2 arguments": 1.0, "100 leaves": 1 / 1.1}}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""

    def ones() -> Any:
        return peer.array(numpy.ones(8, "float32"))

    x, y = ones(), ones()
    f = peer.jit(lambda a, b: a * b + a)
    yield "2 arguments", lambda: f(x, y)
    tree = [{"w": ones(), "b": ones()} for _ in range(50)]
    g = peer.jit(lambda t: [{k: v * 2.0 for k, v in layer.items()} for layer in t])
    yield "100 leaves", lambda: g(tree)
