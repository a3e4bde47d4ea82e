"""Un-jitted operations on 8, 10⁴ and 10⁶ elements, results awaited."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

KIND = "steady"
TARGETS = {
    "x+y 8": 8, "x*2.0+1 8": 8, "x[0] 8": 60, "x[1:3] 8": 60, "sin(x) 8": 3, "sum(x) 8": 3,
    **{f"{op} {n}": t for n, t in (("1e4", 1.8), ("1e6", 1.0))
       for op in ("x+y", "x*2.0+1", "x[0]", "x[1:3]", "sin(x)", "sum(x)")},
}  # fmt: skip


def cases(P: Any) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """(name, what to time, how often in a row)."""
    np, wait = P.np, P.wait
    for label, n, times in (("8", 8, 2000), ("1e4", 10**4, 300), ("1e6", 10**6, 5)):
        r = numpy.random.RandomState(0)
        x = P.array(r.rand(n).astype("float32"))
        y = P.array(r.rand(n).astype("float32"))
        yield f"x+y {label}", lambda x=x, y=y: wait(x + y), times
        yield f"x*2.0+1 {label}", lambda x=x: wait(x * 2.0 + 1), times
        yield f"x[0] {label}", lambda x=x: wait(x[0]), times
        yield f"x[1:3] {label}", lambda x=x: wait(x[1:3]), times
        yield f"sin(x) {label}", lambda x=x: wait(np.sin(x)), times
        yield f"sum(x) {label}", lambda x=x: wait(np.sum(x)), times
