"""Tracing, lowering and compiling `jit(value_and_grad(loss))`; disk caches off.

`trace` is make_jaxpr of a fresh function, the best of three (the library is warm); `lower` is
jit(f).lower(…) of a fresh function, less the trace; `compile` is the executable from that;
`first call` is everything from a fresh function to its first result.
"""

import time
from typing import Any

from models import MODELS

KIND = "fresh"
STAGES = ("trace", "lower", "compile", "first call")
NAMES = tuple(MODELS)
TARGETS = {
    "MLP 50: trace": 20, "MLP 50: lower": 15, "MLP 50: first call": 1.5,
    "MLP 200: first call": 1.5, "transformer 12: trace": 20, "transformer 12: lower": 15,
    "transformer 12: first call": 1.5,
}  # fmt: skip


def measure(P: Any, name: str) -> dict[str, Any]:
    """Milliseconds of each stage."""
    make_loss, make_args = MODELS[name]
    args = make_args(P)
    P.wait(args)
    P.devices()  # XLA itself is loaded: that is cold_start's question
    loss = make_loss(P)

    def fresh() -> Any:
        step = P.value_and_grad(loss)
        return lambda *xs: step(*xs)

    def clock(run: Any) -> tuple[Any, float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        result = run()
        return result, (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3

    _, cpu_first, wall_first = clock(lambda: P.wait(P.jit(fresh())(*args)))
    traces = [clock(lambda: P.make_jaxpr(fresh())(*args))[1:] for _ in range(3)]
    lowers = [clock(lambda: P.jit(fresh()).lower(*args)) for _ in range(3)]
    trace, lower = min(t[0] for t in traces), min(t[1] for t in lowers)
    trace_wall, lower_wall = min(t[1] for t in traces), min(t[2] for t in lowers)
    _, cpu_compile, wall_compile = clock(lowers[-1][0].compile)
    return {
        "trace": {"cpu": trace, "wall": trace_wall},
        "lower": {"cpu": lower - trace, "wall": lower_wall - trace_wall},
        "compile": {"cpu": cpu_compile, "wall": wall_compile},
        "first call": {"cpu": cpu_first, "wall": wall_first},
    }
