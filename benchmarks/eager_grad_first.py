"""How long does the first un-jitted gradient in a process take? The library is imported, and the
arguments are there; nothing else has run."""

from time import perf_counter, process_time
from typing import Any

from models import MLPS, MODELS

TITLE = "Un-jitted gradient, the first in a process"
UNIT = "ms for value_and_grad, results awaited; disk caches off"
KIND = "fresh"
CLOCKS = ("cpu", "wall")
PEERS = ("weft", "jax", "torch")
CASES = MLPS
TARGETS = {"jax": {"MLP 50": 100}, "torch": {"MLP 50": 1.0}}


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """The first call."""
    make_loss, make_args = MODELS[case]
    step, args = peer.value_and_grad(make_loss(peer)), make_args(peer)
    peer.wait(args)
    cpu, wall = process_time(), perf_counter()
    peer.wait(step(*args))
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return {"": {"cpu": cpu * 1e3, "wall": wall * 1e3}}
