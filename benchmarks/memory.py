"""How much memory does a process need at its peak that compiles and runs a model's step?"""

import resource
from typing import Any

from models import MODELS

TITLE = "Peak memory"
UNIT = "MB resident, of a process that compiles a step and runs it three times; disk caches off"
KIND = "fresh"
CLOCKS = ("peak",)
PEERS = ("weft", "jax")
CASES = ("MLP 5", "MLP 50", "transformer 12")
TARGETS: dict[str, dict[str, float]] = {}


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """The peak up to the end."""
    make_loss, make_args = MODELS[case]
    step, args = peer.jit(peer.value_and_grad(make_loss(peer))), make_args(peer)
    for _ in range(3):
        peer.wait(step(*args))
    # Kilobytes on Linux.
    return {"": {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}
