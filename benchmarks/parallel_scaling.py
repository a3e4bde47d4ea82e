"""How does a step's time change with the devices that share its work?

The same batch on 1, 2, 4 and 8 of 8 virtual devices. Those are threads of one processor: what is
more than its cores can only cost. The step on one device uses several cores as well, where XLA
divides single operations.
"""

from collections.abc import Callable, Iterator
from typing import Any

from parallel_models import DEVICES, perceptron_by_jit, perceptron_by_pmap

__all__ = ["DEVICES"]
TITLE = "Training step on 1 to 8 virtual devices"
UNIT = "µs a step of the same batch, results awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")
TARGETS: dict[str, dict[str, float]] = {}
MAKERS = {"pmap": perceptron_by_pmap, "jit": perceptron_by_jit}
COUNTS = (1, 2, 4, 8)
COMPARED = ("1 device", {f"{how}, {n}": f"{how}, 1" for how in MAKERS for n in COUNTS[1:]})


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    for how, make in MAKERS.items():
        for n in COUNTS:
            step, args = make(peer, n)
            yield f"{how}, {n}", lambda step=step, args=args: peer.wait(step(*args))
