"""Does a process grow that does the same again and again?

Resident memory before and after, once what is used has been used a hundred times. The functions
are fresh each time, where that is said: what is kept of them would add up. `tests/transforms/
test_memory.py` counts objects.
"""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

TITLE = "Endurance"
UNIT = "MB resident before and after"
KIND = "fresh"
CLOCKS = ("before", "after")
PEERS = ("weft", "jax")
CASES = (
    "100,000 calls of a jitted function",
    "10,000 retraces of fresh functions",
    "10,000 un-jitted gradients of fresh functions",
    "300 compilations of fresh functions",
)
TARGETS: dict[str, dict[str, float]] = {}
PAGE = 4096 / 1e6  # megabytes; Linux


def resident() -> float:
    """Megabytes, after a collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def work(peer: Any, case: str) -> tuple[Callable[[], Any], int]:
    """What to do, and how often."""
    np = peer.np
    x = np.linspace(0.1, 1.0, 3)
    jitted = peer.jit(lambda x: np.sin(x) * 2.0)
    whats: tuple[Callable[[], Any], ...] = (
        lambda: jitted(x),
        lambda: peer.jit(lambda x: np.sin(x) * 2.0).trace(x),
        lambda: peer.grad(lambda x: np.sum(np.sin(x) * 2.0))(x),
        lambda: peer.jit(lambda x: np.sin(x) * 2.0)(x),
    )
    return dict(zip(CASES, zip(whats, (100_000, 10_000, 10_000, 300), strict=True), strict=True))[
        case
    ]


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """One case."""
    run, times = work(peer, case)
    for _ in range(100):
        run()
    before = resident()
    for _ in range(times):
        run()
    return {"": {"before": before, "after": resident()}}
