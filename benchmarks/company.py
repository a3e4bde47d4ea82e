"""How long does usual un-jitted code take in a process that has done nothing before, alone on the
machine and in company: beside as many busy processes as there are cores?"""

import os
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy

TITLE = "Un-jitted code in a fresh process, alone and in company"
UNIT = "µs a call, result awaited; the first five calls aren't counted"
KIND = "fresh"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "torch", "numpy")
ALWAYS = ("numpy",)

WARM_UP, SECONDS, LEAST = 5, 0.2, 10
SIZES = {"1e5": (100, 1000), "1e6": (1000, 1000)}


def chain(np: Any) -> Any:
    """Two operations, a temporary."""
    return lambda x, y, m, v: x * 2 + 1


def softmax(np: Any) -> Any:
    """Over the last axis."""

    def f(x: Any, y: Any, m: Any, v: Any) -> Any:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    return f


def layer_norm(np: Any) -> Any:
    """Over the last axis."""

    def f(x: Any, y: Any, m: Any, v: Any) -> Any:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        return centred / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)

    return f


def mse(np: Any) -> Any:
    """A loss: everything is summed."""
    return lambda x, y, m, v: np.mean((x - y) ** 2)


def adam(np: Any) -> Any:
    """Adam's update of parameters x by a gradient y."""

    def f(x: Any, y: Any, m: Any, v: Any) -> Any:
        m = 0.9 * m + 0.1 * y
        v = 0.999 * v + 0.001 * y * y
        return x - 1e-3 * m / (np.sqrt(v) + 1e-8), m, v

    return f


def products(np: Any) -> Any:
    """What BLAS may share among threads: a matrix-vector product, and sums of everything."""
    return lambda x, y, m, v: (np.dot(x, y[0]), np.sum(x), np.mean(x), np.var(x))


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "x * 2 + 1": chain,
    "softmax": softmax,
    "layer norm": layer_norm,
    "mse": mse,
    "Adam's update": adam,
    "products, sums": products,
}
CASES = {
    f"{operation} at {size}, {where}": (operation, size, where == "busy")
    for where in ("alone", "busy")
    for size in SIZES
    for operation in OPERATIONS
}
TARGETS = {"jax": dict.fromkeys(CASES, 1.0), "numpy": dict.fromkeys(CASES, 1 / 1.5)}


def company(case: str) -> int:
    """How many busy processes are to run beside."""
    return (os.cpu_count() or 1) if CASES[case][2] else 0


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """The mean of calls in a row."""
    operation, size, _ = CASES[case]
    random = numpy.random.RandomState(0)
    args = [peer.array(random.rand(*SIZES[size]).astype("float32")) for _ in range(4)]
    f = OPERATIONS[operation](peer.np)
    for _ in range(WARM_UP):
        result = f(*args)
        peer.wait(result)
    calls, cpu, wall = 0, process_time(), perf_counter()
    while calls < LEAST or perf_counter() - wall < SECONDS:
        result = f(*args)
        peer.wait(result)
        calls += 1
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return {"": {"wall": wall * 1e6 / calls, "cpu": cpu * 1e6 / calls}}
