"""How does tracing time grow with what there is to trace?

Each case is traced at one size and at four times that size, as a fresh function each time, after
the smaller one has been traced: what is linear takes four times as long. `tests/transforms/
test_growth.py` counts the work.
"""

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

TITLE = "Growth of tracing time"
UNIT = "ms for jit(f).trace(x) of a fresh function, at two sizes; linear is four times as long"
KIND = "fresh"
CLOCKS = ("cpu", "wall")
PEERS = ("weft", "jax")
TARGETS: dict[str, dict[str, float]] = {}


def nested(peer: Any, depth: int) -> Callable[[Any], Any]:
    """jit of jit of …, each a little more than the one inside."""

    def level(inner: Any, x: Any) -> Any:
        return inner(x) * 1.5 + 1.0

    f: Callable[[Any], Any] = lambda x: peer.np.sin(x) * x  # noqa: E731
    for _ in range(depth):
        f = peer.jit(partial(level, f))
    return f


def chain(peer: Any, length: int) -> Callable[[Any], Any]:
    """sin(sin(sin(x) * 2) * 2) * 2 …"""

    def f(x: Any) -> Any:
        for _ in range(length):
            x = peer.np.sin(x) * 2.0
        return x

    return f


def calls(peer: Any, count: int) -> Callable[[Any], Any]:
    """One jitted function, called again and again."""
    g = peer.jit(lambda x: peer.np.sin(x) * 2.0)

    def f(x: Any) -> Any:
        for _ in range(count):
            x = g(x)
        return x

    return f


def derivatives(peer: Any, order: int) -> Callable[[Any], Any]:
    """grad of grad of … of a jitted function, whose derivatives have ever more terms."""
    f: Callable[[Any], Any] = peer.jit(lambda x: peer.np.sin(x) * x)
    for _ in range(order):
        f = peer.grad(f)
    return f


def gradient(make: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    """The gradient of what is made."""
    return lambda peer, size: peer.grad(make(peer, size))


def second(make: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    """The second derivative of what is made."""
    return lambda peer, size: peer.grad(peer.grad(make(peer, size)))


MAKERS: dict[str, tuple[Callable[[Any, int], Any], tuple[int, int]]] = {
    "nested jit": (nested, (10, 40)),
    "grad of nested jit": (gradient(nested), (10, 40)),
    "grad of grad of nested jit": (second(nested), (10, 40)),
    "chain": (chain, (250, 1000)),
    "grad of chain": (gradient(chain), (250, 1000)),
    "grad of grad of chain": (second(chain), (250, 1000)),
    "calls of one function": (calls, (250, 1000)),
    "grad of calls of one function": (gradient(calls), (250, 1000)),
    "grad of grad of … of jit": (derivatives, (1, 4)),
}
CASES = tuple(MAKERS)


def traced(peer: Any, make: Callable[[Any, int], Any], size: int) -> dict[str, float]:
    """Milliseconds of one trace of a fresh function."""
    f = make(peer, size)
    fresh = peer.jit(lambda x: f(x))
    cpu, wall = process_time(), perf_counter()
    fresh.trace(0.5)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return {"cpu": cpu * 1e3, "wall": wall * 1e3}


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """The median of five at each size."""
    make, sizes = MAKERS[case]
    traced(peer, make, sizes[0])
    found = {}
    for size in sizes:
        times = [traced(peer, make, size) for _ in range(5)]
        found[f"{size}"] = {c: statistics.median(t[c] for t in times) for c in CLOCKS}
    return found
