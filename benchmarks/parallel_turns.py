"""What does it cost that programs with collectives take turns?

On the CPU, jaxlib before 0.12 waits for ever with two of them under way; weft begins each when the
last one has ended (`weft.runtime.executors.Turns`). Where that isn't needed, on jaxlib
0.12, the same programs are measured both ways:

- `in turns`: 200 calls, the last one awaited; weft waits in between.
- `awaited`: 200 calls, each awaited by the caller, as jax needs it.
- `free`: 200 calls, the last one awaited; nobody waits in between. Only on jaxlib 0.12 and later,
  but for the program without collectives.

`psum` sums 8 small arrays; `MLP` is a training step, each on the results of the last one.
"""

import importlib
import statistics
from collections.abc import Callable
from typing import Any

import numpy

from compile import clocked
from parallel_models import DEVICES, mapped, perceptron_by_pmap

TITLE = "Programs with collectives, in turns"
UNIT = "µs a call on 8 devices, of 200"
KIND = "fresh"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "newest")
CASES = ("psum", "MLP", "no collectives")
TARGETS: dict[str, dict[str, float]] = {}
COMPARED = (
    "free",
    {f"{case} {way}": f"{case} free" for case in CASES for way in ("in turns", "awaited")},
)
CALLS, REPEATS = 200, 5

Calls = Callable[[Callable[[Any], Any]], Any]  # all calls, each result given to a function


def psum(peer: Any) -> Calls:
    """The same call again and again."""
    return again(mapped(peer, lambda x: peer.package.lax.psum(x, "i")))


def no_collectives(peer: Any) -> Calls:
    """Nothing that devices wait for."""
    return again(mapped(peer, lambda x: x * 2.0))


def again(f: Callable[[Any], Any]) -> Calls:
    """A function of a small array, called on the same one."""
    x = f(numpy.ones((DEVICES, 4), "float32"))

    def calls(then: Callable[[Any], Any]) -> Any:
        for _ in range(CALLS):
            y = f(x)
            then(y)
        return y

    return calls


def training(peer: Any) -> Calls:
    """Steps on what the last one gave."""
    step, (first, x, y) = perceptron_by_pmap(peer)

    def calls(then: Callable[[Any], Any]) -> Any:
        params = first
        for _ in range(CALLS):
            params, value = step(params, x, y)
            then(value)
        return params

    return calls


MAKERS = dict(zip(CASES, (psum, training, no_collectives), strict=True))


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """One program, in all ways that this jaxlib can."""
    group = importlib.import_module("weft.runtime.group").group_of(peer.package.devices())
    is_needed = group.lib.block_after_collectives
    ways = {}
    if case != "no collectives":
        # read when a program is compiled
        group.lib = group.lib._replace(block_after_collectives=True)
        ways["in turns"] = MAKERS[case](peer), lambda result: None
        peer.wait(ways["in turns"][0](ways["in turns"][1]))
    group.lib = group.lib._replace(block_after_collectives=is_needed)
    calls = MAKERS[case](peer)
    ways["awaited"] = calls, peer.wait
    if case == "no collectives" or not is_needed:
        ways["free"] = calls, lambda result: None
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(REPEATS):
        for way, (calls, then) in ways.items():
            _, measurement = clocked(lambda calls=calls, then=then: peer.wait(calls(then)))
            found[way].append(measurement)
    scale = 1e3 / CALLS
    return {
        way: {c: statistics.median(m[c] for m in found[way][1:]) * scale for c in CLOCKS}
        for way in found
    }
