"""What is measured on several devices, written once for all peers: arguments, and training steps.

`n` devices are the first n of the process. All have a copy of the parameters of the multi-layer
perceptron, and a part of the batch. The transformer block is on a mesh of 2 × 4: the batch is
divided in two; its heads and its hidden units in four.
"""

from collections.abc import Callable
from typing import Any

import numpy

from models import mlp, transformer

DEVICES = 8
RATE = 0.01  # of learning
PERCEPTRON = mlp(4, width=128, batch=256)
BLOCK = transformer(1, width=128, sequences=8)

Step = tuple[Callable[..., Any], tuple[Any, ...]]  # a function, and arguments where it wants them


def mesh(peer: Any, **sizes: int) -> Any:
    """The first devices, with axes of these names and lengths."""
    count = numpy.prod(list(sizes.values()))
    devices = numpy.array(peer.package.devices()[:count], dtype=object)
    return peer.package.sharding.Mesh(devices.reshape(*sizes.values()), tuple(sizes))


def over(peer: Any, devices: Any, *spec: Any) -> Any:
    """A sharding over a mesh."""
    sharding = peer.package.sharding
    return sharding.NamedSharding(devices, sharding.PartitionSpec(*spec))


def mapped(peer: Any, f: Callable[..., Any], n: int = DEVICES, **options: Any) -> Any:
    """pmap over n devices."""
    return peer.package.pmap(f, axis_name="i", devices=peer.package.devices()[:n], **options)


def as_numpy(peer: Any, tree: Any) -> Any:
    """A tree of arrays, as NumPy arrays."""
    return peer.package.tree_util.tree_map(numpy.asarray, tree)


def training(peer: Any, loss: Any, reduced: Callable[[Any], Any]) -> Callable[..., Any]:
    """A step of gradient descent: new parameters, and the loss."""

    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = reduced(peer.value_and_grad(loss)(params, x, y))
        moved = peer.package.tree_util.tree_map(lambda p, g: p - RATE * g, params, grads)
        return moved, value

    return step


def perceptron_by_pmap(peer: Any, n: int = DEVICES) -> Step:
    """Each device has its rows of the batch; gradients are averaged by a collective."""
    make_loss, make_args = PERCEPTRON
    average = lambda tree: peer.package.lax.pmean(tree, "i")  # noqa: E731
    step = mapped(peer, training(peer, make_loss(peer), average), n)
    params, x, y = as_numpy(peer, make_args(peer))
    copies = peer.package.tree_util.tree_map(lambda p: numpy.stack([p] * n), params)
    rows = [a.reshape(n, -1, a.shape[-1]) for a in (x, y)]
    return step, mapped(peer, lambda *args: args, n)(copies, *rows)


def perceptron_by_jit(peer: Any, n: int = DEVICES) -> Step:
    """The same, said by how the arguments are divided."""
    make_loss, make_args = PERCEPTRON
    devices = mesh(peer, data=n)
    everywhere, rows = over(peer, devices), over(peer, devices, "data")
    step = peer.jit(
        training(peer, make_loss(peer), lambda tree: tree),
        in_shardings=(everywhere, rows, rows),
        out_shardings=(everywhere, everywhere),
    )
    params, x, y = as_numpy(peer, make_args(peer))
    put = peer.package.device_put
    return step, (put(params, everywhere), put(x, rows), put(y, rows))


def block_by_jit(peer: Any) -> Step:
    """A transformer block on 2 × 4 devices."""
    make_loss, make_args = BLOCK
    devices = mesh(peer, data=2, model=4)
    everywhere, batch = over(peer, devices), over(peer, devices, "data")
    columns, rows = over(peer, devices, None, "model"), over(peer, devices, "model", None)
    block = {
        "norm1": (everywhere, everywhere),
        "query": columns,
        "key": columns,
        "value": columns,
        "mix": rows,
        "norm2": (everywhere, everywhere),
        "up": (columns, over(peer, devices, "model")),
        "down": (rows, everywhere),
    }
    divided = {"blocks": [block], "norm": (everywhere, everywhere), "head": everywhere}
    step = peer.jit(
        training(peer, make_loss(peer), lambda tree: tree),
        in_shardings=(divided, batch, batch),
        out_shardings=(divided, everywhere),
    )
    params, x, y = as_numpy(peer, make_args(peer))
    put = peer.package.device_put
    return step, (put(params, divided), put(x, batch), put(y, batch))


STEPS: dict[str, Callable[[Any], Step]] = {
    "MLP, data parallel, pmap": perceptron_by_pmap,
    "MLP, data parallel, jit": perceptron_by_jit,
    "transformer block, 2 × 4, jit": block_by_jit,
}
