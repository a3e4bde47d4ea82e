"""A call of a compiled function: two arrays, and a tree of 100 arrays in and out."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

KIND = "steady"
TARGETS = {"2 arguments": 1.0, "100 leaves": 1 / 1.1}


def cases(P: Any) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """(name, what to time, how often in a row)."""
    x, y = (P.array(numpy.ones(8, "float32")) for _ in range(2))
    f = P.jit(lambda a, b: a * b + a)
    yield "2 arguments", lambda: f(x, y), 2000
    tree = [
        {"w": P.array(numpy.ones(8, "float32")), "b": P.array(numpy.ones(8, "float32"))}
        for _ in range(50)
    ]
    g = P.jit(lambda t: [{k: v * 2.0 for k, v in layer.items()} for layer in t])
    yield "100 leaves", lambda: g(tree), 100
