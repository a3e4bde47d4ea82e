"""The first un-jitted gradient of an MLP in a process; CPU time."""

import time
from typing import Any

from models import MODELS

KIND = "fresh"
NAMES = ("MLP 5", "MLP 50", "MLP 200")
TARGETS = {"MLP 50": 100}


def measure(P: Any, name: str) -> dict[str, float]:
    """Milliseconds of the first call."""
    make_loss, make_args = MODELS[name]
    step, args = P.value_and_grad(make_loss(P)), make_args(P)
    P.wait(args)
    cpu, wall = time.process_time(), time.perf_counter()
    P.wait(step(*args))
    return {"cpu": (time.process_time() - cpu) * 1e3, "wall": (time.perf_counter() - wall) * 1e3}
