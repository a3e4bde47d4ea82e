"""What does checkpoint save, and what does it cost?

The compiled gradient of a chain of equal layers, x + sin(tanh(x A)) B, with respect to x:

- `none`: no checkpoint; XLA keeps what it likes.
- `each layer`: every layer under checkpoint: the layers' inputs are kept.
- `halves`: the recursive scheme of the documentation of checkpoint: log n inputs are kept.
- `scan`, `scan, each layer`: the chain as a loop, its body under checkpoint or not.

`memory` is the temporary memory that the executable needs, by XLA's memory analysis, in multiples
of a layer's input. It is a plan and not a measurement: the same every time.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as onp

TITLE = "Checkpoint"
UNIT = "memory in inputs of a layer; ms a step; ms to trace, lower and compile"
KIND = "fresh"
CLOCKS = ("memory", "step", "compile")
PEERS = ("weft", "jax")
DEPTHS = (8, 16, 32, 64, 128, 256)
CASES = (
    *(f"{how} {n}" for how in ("none", "each layer", "halves") for n in DEPTHS),
    "scan 64",
    "scan, each layer 64",
)
TARGETS = {"jax": {"each layer 64": 1, "halves 64": 1}}
ROWS, WIDTH, HIDDEN = 512, 32, 128

Layer = Callable[[Any], Any]


def chain(layers: Sequence[Layer]) -> Layer:
    """One layer after the other."""

    def run(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    return run


def halves(peer: Any, layers: Sequence[Layer]) -> Layer:
    """The first half under checkpoint, and each half so in itself."""
    if len(layers) == 1:
        return layers[0]
    middle = len(layers) // 2
    first, second = halves(peer, layers[:middle]), halves(peer, layers[middle:])
    return chain([peer.checkpoint(first), second])


def looped(peer: Any, layer: Layer, n: int) -> Layer:
    """A layer n times, as a loop."""
    return lambda x: peer.scan(lambda x, _: (layer(x), None), x, None, length=n)[0]


def network(peer: Any, how: str, n: int, layer: Layer) -> Layer:
    """The chain of one case."""
    if how == "halves":
        return halves(peer, [layer] * n)
    if how.endswith("each layer"):
        layer = peer.checkpoint(layer)
    return looped(peer, layer, n) if how.startswith("scan") else chain([layer] * n)


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """One case: compiled, its plan read, and run."""
    how, _, count = case.rpartition(" ")
    np = peer.np
    random = onp.random.default_rng(0)
    x = peer.array(random.normal(size=(ROWS, WIDTH)).astype("float32"))
    a = peer.array(random.normal(size=(WIDTH, HIDDEN)).astype("float32") / HIDDEN)
    b = peer.array(random.normal(size=(HIDDEN, WIDTH)).astype("float32") / HIDDEN)
    peer.wait(peer.jit(lambda x: x + 1.0)(x))

    def loss(x: Any, a: Any, b: Any) -> Any:
        layer = lambda x: x + np.sin(np.tanh(x @ a)) @ b  # noqa: E731
        return np.sum(network(peer, how, int(count), layer)(x))

    begun = perf_counter()
    compiled = peer.jit(peer.grad(loss)).lower(x, a, b).compile()
    took = perf_counter() - begun
    memory = compiled.memory_analysis()
    temporary = memory.temp_bytes if peer.name == "weft" else memory.temp_size_in_bytes
    steps = []
    for _ in range(10):
        begun = perf_counter()
        peer.wait(compiled(x, a, b))
        steps.append(perf_counter() - begun)
    return {
        "": {
            "memory": temporary / (4 * ROWS * WIDTH),
            "step": min(steps) * 1e3,
            "compile": took * 1e3,
        }
    }
