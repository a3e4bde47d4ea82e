"""How long does an operation of `fastmath` take on each of its backends, directly and through
`fastmath`, and a training step of a small network?

The peer `tensorflow` is the backend `tensorflow-numpy`, left out where TensorFlow isn't installed,
and `host` is the backend `numpy`, which has no training step. `dispatch of a name` is the look-up
of `np.negative` alone.
"""

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "fastmath on its backends"
UNIT = "µs a call, result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
WITH_TENSORFLOW = ("tensorflow",) if importlib.util.find_spec("tensorflow") else ()
PEERS = ("weft", "host", "tensorflow")
ALWAYS = ("host", *WITH_TENSORFLOW)

BACKENDS = {"weft": "jax", "before": "jax", "host": "numpy", "tensorflow": "tensorflow-numpy"}
TARGETS = {"tensorflow": {"training step": 1.0}}
WIDTH, BATCH = 64, 32


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    from weft import fastmath
    from weft.fastmath import numpy as np

    fastmath.set_backend(BACKENDS[peer.name])
    operations = fastmath.backend()
    x = np.asarray(numpy.linspace(-1, 1, 8, dtype="float32"))

    negative, expit = operations.np.negative, operations.expit
    yield "negative", lambda: negative(x)
    yield "negative through fastmath", lambda: np.negative(x)
    yield "expit", lambda: expit(x)
    yield "expit through fastmath", lambda: fastmath.expit(x)
    yield "dispatch of a name", lambda: np.negative
    if peer.name != "host":
        yield "training step", training_step(peer, fastmath, np)


def training_step(peer: Any, fastmath: Any, np: Any) -> Callable[[], Any]:
    """Value, gradient and update of two layers of 64 units, compiled."""
    random = numpy.random.RandomState(0)

    def normal(*shape: int) -> Any:
        return np.asarray(random.standard_normal(shape).astype("float32"))

    weights = [normal(WIDTH, WIDTH) / 8, normal(WIDTH), normal(WIDTH, 1) / 8]
    inputs, targets = normal(BATCH, WIDTH), normal(BATCH, 1)

    def loss(weights: Any) -> Any:
        hidden = np.tanh(inputs @ weights[0] + weights[1])
        return np.mean((hidden @ weights[2] - targets) ** 2)

    @fastmath.jit
    def step(weights: Any) -> Any:
        value, slopes = fastmath.value_and_grad(loss)(weights)
        return value, [w - 0.01 * g for w, g in zip(weights, slopes, strict=True)]

    return lambda: peer.wait(step(weights))
