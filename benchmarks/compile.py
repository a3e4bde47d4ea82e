"""How long do tracing, lowering and compiling take, and the whole first call?

In a new process, after a small function has been jitted (so that XLA is loaded):

- `first call`: jit(value_and_grad(loss)) called on its arguments for the first time, awaited;
- then, of the same loss in fresh functions, the median of three: `trace`, `jit(f).trace(*args)`;
  `lower`, `.lower()` of that; and `compile`, `.compile()` of the last one.

Disk caches are off.
"""

import statistics
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

from models import MODELS

TITLE = "Trace, lower, compile, first call"
UNIT = "ms for jit(value_and_grad(loss)); disk caches off"
KIND = "fresh"
CLOCKS = ("cpu", "wall")
PEERS = ("weft", "jax")
CASES = tuple(MODELS)
TARGETS = {
    "jax": {
        "MLP 50 trace": 20,
        "MLP 50 lower": 15,
        "MLP 50 first call": 1.5,
        "MLP 200 first call": 1.5,
        "transformer 12 trace": 20,
        "transformer 12 lower": 15,
        "transformer 12 first call": 1.5,
        "recurrent 100 first call": 3.0,
        "scaled 60 first call": 4.0,
        "chain 40 first call": 4.0,
        "dropout 8 first call": 1.5,
    }
}


def clocked(run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call gives, and its milliseconds."""
    cpu, wall = process_time(), perf_counter()
    result = run()
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return result, {"cpu": cpu * 1e3, "wall": wall * 1e3}


def median(measurements: list[dict[str, float]]) -> dict[str, float]:
    """Of each clock."""
    return {clock: statistics.median(m[clock] for m in measurements) for clock in measurements[0]}


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """All stages of one model."""
    make_loss, make_args = MODELS[case]
    loss, args = make_loss(peer), make_args(peer)
    peer.wait(args)
    peer.wait(peer.jit(lambda x: x + 1.0)(args[1]))

    def fresh() -> Any:
        step = peer.value_and_grad(loss)
        return peer.jit(lambda *xs: step(*xs))

    _, first = clocked(lambda: peer.wait(fresh()(*args)))
    traces, lowers = [], []
    for _ in range(3):
        traced, measurement = clocked(lambda: fresh().trace(*args))
        traces.append(measurement)
        lowered, measurement = clocked(traced.lower)
        lowers.append(measurement)
    _, compiled = clocked(lowered.compile)
    return {
        "trace": median(traces),
        "lower": median(lowers),
        "compile": compiled,
        "first call": first,
    }
