"""What does a call of a program for 8 devices cost the one who calls? By pmap, and by SPMD jit.

Arguments lie on the devices already, but for those in NumPy. The 100 are one list. The programs
have no collectives, and a call is measured until it returns; its results are awaited before the
next one, off the clock: calls that fill the queues of 8 threads on fewer cores would be measured
waiting for those. (On jaxlib before 0.12, a program with collectives begins when the last one has
ended: they are in `parallel_call`, awaited on the clock.)
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from parallel_models import DEVICES, mapped, mesh, over

__all__ = ["DEVICES"]
TITLE = "Dispatch on 8 devices"
UNIT = "µs a call, result not awaited; no collectives"
KIND = "steady"
APART = True  # see worker.py
CLOCKS = ("thread", "wall")
PEERS = ("weft", "jax")
COUNTS = {"1": 1, "100": 100}
TARGETS = {"jax": {f"{how}, {n}": 1 / 1.15 for how in ("pmap", "jit") for n in COUNTS}}


def doubled(xs: Any) -> Any:
    """A list of arrays, each times two."""
    return [x * 2.0 for x in xs]


def donating(f: Callable[[Any], Any], x: Any) -> Callable[[], Any]:
    """Calls a function on what it gave the last time."""
    last = x

    def run() -> Any:
        nonlocal last
        last = f(last)
        return last

    return run


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    divided = over(peer, mesh(peer, data=DEVICES), "data")
    jitted = peer.jit(doubled)
    told = peer.jit(doubled, in_shardings=(divided,), out_shardings=divided)
    f = mapped(peer, doubled)
    for name, n in COUNTS.items():
        host = [numpy.ones((DEVICES, 4), "float32") for _ in range(n)]
        there = f(host)
        yield f"pmap, {name}", lambda there=there: f(there)
        give = mapped(peer, doubled, donate_argnums=0)
        yield f"pmap, {name} donated", donating(give, f(host))
        yield f"pmap, {name} in NumPy", lambda host=host: f(host)
        there = peer.package.device_put(host, divided)
        yield f"jit, {name}", lambda there=there: jitted(there)
        yield f"jit with shardings, {name}", lambda there=there: told(there)
        yield f"jit with shardings, {name} in NumPy", lambda host=host: told(host)
