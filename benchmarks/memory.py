"""Peak memory of a process that compiles and runs the 12-layer transformer's step."""

import resource
from typing import Any

from models import MODELS

KIND = "fresh"
NAMES = ("transformer 12",)
TARGETS = {"transformer 12": 1.0}


def measure(P: Any, name: str) -> dict[str, float]:
    """Peak resident memory, in MB (in the column of wall time too)."""
    make_loss, make_args = MODELS[name]
    step, args = P.jit(P.value_and_grad(make_loss(P))), make_args(P)
    for _ in range(3):
        P.wait(step(*args))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": peak, "wall": peak}
