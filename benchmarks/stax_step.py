"""How long does a training step of a convolutional network of digits take, with Stax?

The network of `examples/stax_digits.py` and momentum, on a batch of 64 scans of 8 × 8 pixels. jax
runs the same program on its own Stax; PyTorch the same network, eagerly, as its users write it.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Training step of the digits' convolutional network (Stax)"
UNIT = "µs a step, awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "torch")
CASES = ("convnet, compiled; PyTorch eager",)
TARGETS = {"jax": dict.fromkeys(CASES, 1.0)}
HOMES = {"weft": "weft.experimental", "jax": "jax.example_libraries"}

BATCH, STEP_SIZE, MASS = 64, 0.01, 0.9


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    random = numpy.random.RandomState(0)
    images = random.rand(BATCH, 8, 8, 1).astype("float32")
    labels = random.randint(10, size=BATCH).astype("int32")
    if peer.name == "torch":
        yield CASES[0], torch_step(peer, images, labels)
    else:
        yield CASES[0], stax_step(peer, images, labels)


def stax_step(peer: Any, images: Any, labels: Any) -> Callable[[], Any]:
    """A step from the state that the last one left, compiled."""
    home = HOMES.get(peer.name, HOMES["weft"])
    stax = importlib.import_module(f"{home}.stax")
    optimizers = importlib.import_module(f"{home}.optimizers")
    np, package = peer.np, peer.package

    def conv(channels: int) -> Any:
        return stax.Conv(channels, (3, 3), padding="SAME")

    pool = stax.MaxPool((2, 2), strides=(2, 2))
    init_fun, apply_fun = stax.serial(
        conv(32), stax.Relu, conv(64), stax.Relu, pool, conv(128), stax.Relu, pool,
        stax.Flatten, stax.Dense(128), stax.Relu, stax.Dense(10), stax.LogSoftmax,
    )  # fmt: skip
    opt_init, opt_update, get_params = optimizers.momentum(STEP_SIZE, MASS)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        log_probabilities = apply_fun(params, images)
        return -np.mean(np.take_along_axis(log_probabilities, labels[:, None], axis=1))

    @peer.jit
    def step(i: int, state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
        value, gradient = peer.value_and_grad(loss)(get_params(state), images, labels)
        return opt_update(i, gradient, state), value

    _, params = init_fun(package.random.PRNGKey(0), (-1, 8, 8, 1))
    state = opt_init(params)
    x, y = peer.array(images), peer.array(labels)

    def run() -> Any:
        nonlocal state
        state, value = step(0, state, x, y)
        return peer.ready(value)

    return run


def torch_step(peer: Any, images: Any, labels: Any) -> Callable[[], Any]:
    """The same network in PyTorch, eagerly."""
    torch = importlib.import_module("torch")
    nn = torch.nn
    network = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding="same"), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), STEP_SIZE, MASS)
    criterion = nn.CrossEntropyLoss()
    x = peer.array(images).permute(0, 3, 1, 2).contiguous()
    y = peer.array(labels).long()

    def run() -> Any:
        optimizer.zero_grad()
        value = criterion(network(x), y)
        value.backward()
        optimizer.step()
        return value

    return run
