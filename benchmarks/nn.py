"""How long do activations, normalization and attention take, eager and compiled?

Attention of weft never has all scores in memory from 1,024 queries and keys on; that of JAX on the
CPU does. The memory that a program needs is told by its own analysis, `temp_bytes`: see
tests/nn/test_attention.py.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Neural-network functions"
UNIT = "µs a call, result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")

FUNCTIONS = ("relu", "gelu", "softmax", "standardize")
LENGTHS = (1024, 2048)
TARGETS = {
    "jax": {
        **{f"{f} {how}": 1.0 for f in FUNCTIONS for how in ("eager", "compiled")},
        **{f"attention {n}{g}": 1.0 for n in LENGTHS for g in ("", ", gradient")},
    },
}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    nn, ready = importlib.import_module(f"{peer.package.__name__}.nn"), peer.ready
    random = numpy.random.RandomState(0)
    x = peer.array(random.standard_normal((64, 256)).astype("float32"))
    for name in FUNCTIONS:
        f = getattr(nn, name)
        compiled = peer.jit(f)
        yield f"{name} eager", lambda f=f: ready(f(x))
        yield f"{name} compiled", lambda f=compiled: ready(f(x))

    def loss(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v).sum()

    attention, slopes = peer.jit(nn.dot_product_attention), peer.jit(peer.grad(loss, (0, 1, 2)))
    for length in LENGTHS:
        shape = (3, 1, length, 4, 64)
        q, k, v = (peer.array(a) for a in random.standard_normal(shape).astype("float32"))
        yield f"attention {length}", lambda a=(q, k, v): ready(attention(*a))
        yield f"attention {length}, gradient", lambda a=(q, k, v): peer.wait(slopes(*a))
