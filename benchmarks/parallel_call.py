"""How long does a small program on 8 devices take, from the call to its result?

Arguments lie on the devices already; the 100 are one list. With collectives, each array is summed
over the devices. A call on 8 devices is the work of 8 threads: where there are fewer cores, most of
the time is theirs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from parallel_dispatch import COUNTS, doubled
from parallel_models import DEVICES, mapped, mesh, over

TITLE = "Small programs on 8 devices"
UNIT = "µs a call, result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")
KINDS = ("pmap", "pmap, psum", "jit", "jit, sum")
TARGETS = {"jax": {f"{kind}, {n}": 1 / 1.15 for kind in KINDS for n in COUNTS}}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    np, lax, wait = peer.np, peer.package.lax, peer.wait
    divided = over(peer, mesh(peer, data=DEVICES), "data")
    functions = (
        mapped(peer, doubled),
        mapped(peer, lambda xs: lax.psum(xs, "i")),
        peer.jit(doubled),
        peer.jit(lambda xs: [np.sum(x, axis=0) for x in xs]),
    )
    for name, n in COUNTS.items():
        host = [numpy.ones((DEVICES, 4), "float32") for _ in range(n)]
        for kind, f in zip(KINDS, functions, strict=True):
            xs = functions[0](host) if "pmap" in kind else peer.package.device_put(host, divided)
            yield f"{kind}, {name}", lambda f=f, xs=xs: wait(f(xs))
