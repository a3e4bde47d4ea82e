"""How long does an operation take that isn't jitted? At 8, 10⁴ and 10⁶ elements."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Un-jitted operations"
UNIT = "µs a call, result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "torch")

OPERATIONS = ("x+y", "x*2.0+1", "x[0]", "x[1:3]", "sin(x)", "sum(x)")
SIZES = {"8": 8, "1e4": 10**4, "1e6": 10**6}
SMALL = dict(zip(OPERATIONS, (8, 8, 60, 60, 3, 3), strict=True))
TARGETS = {
    "jax": {
        **{f"{op} at 8": least for op, least in SMALL.items()},
        **{f"{op} at 1e4": 1.8 for op in OPERATIONS},
        **{f"{op} at 1e6": 1.0 for op in OPERATIONS},
        "unique(x) at 8": 8,
    },
    "torch": {f"{op} at 8": 1 / 1.2 for op in OPERATIONS},
}


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    np, ready = peer.np, peer.ready
    random = numpy.random.RandomState(0)
    for size, n in SIZES.items():
        x, y = (peer.array(random.rand(n).astype("float32")) for _ in range(2))
        yield f"x+y at {size}", lambda x=x, y=y: ready(x + y)
        yield f"x*2.0+1 at {size}", lambda x=x: ready(x * 2.0 + 1)
        yield f"x[0] at {size}", lambda x=x: ready(x[0])
        yield f"x[1:3] at {size}", lambda x=x: ready(x[1:3])
        yield f"sin(x) at {size}", lambda x=x: ready(np.sin(x))
        yield f"sum(x) at {size}", lambda x=x: ready(np.sum(x))
        yield f"unique(x) at {size}", lambda x=x: ready(np.unique(x))
