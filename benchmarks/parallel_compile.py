"""How long does the first call of a training step on 8 devices take: trace, lower, compile, run?

In a new process, after a small function has run on the devices (so that XLA is loaded). Disk caches
are off.
"""

from typing import Any

import numpy

from compile import clocked
from parallel_models import DEVICES, STEPS, mapped

TITLE = "First training step on 8 devices"
UNIT = "ms for the first call; disk caches off"
KIND = "fresh"
CLOCKS = ("cpu", "wall")
PEERS = ("weft", "jax")
CASES = tuple(STEPS)
TARGETS = {"jax": dict.fromkeys(STEPS, 1.0)}


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """One step."""
    step, args = STEPS[case](peer)
    peer.wait(args)
    peer.wait(mapped(peer, lambda x: x + 1.0)(numpy.ones(DEVICES, "float32")))
    _, first = clocked(lambda: peer.wait(step(*args)))
    return {"": first}
