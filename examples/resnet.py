"""A small residual network of digits, with Stax's combinators.

A residual block is a fork and a sum: `FanOut(2)` gives the input to two branches, `parallel` runs
them, `FanInSum` adds what they return. `shape_dependent` makes a block that asks how many channels
come in. (He et al., Identity Mappings in Deep Residual Networks, 2016.)

    python examples/resnet.py [--epochs 12]
"""

import argparse
import time
from typing import Any

import numpy as onp
import scans

import weft.numpy as np
from weft import jit, random, tree_util, value_and_grad
from weft.experimental import optimizers, stax
from weft.experimental.stax import (
    AvgPool,
    BatchNorm,
    Conv,
    Dense,
    FanInSum,
    FanOut,
    Flatten,
    Identity,
    LogSoftmax,
    Relu,
)

BATCH = 64
WIDTH = 32


def residual(channels: int, stride: int = 1) -> Any:
    """x + f(x), where f is normalise, rectify, convolve, twice; a stride makes images smaller."""

    def block(input_shape: tuple[int, ...]) -> Any:
        branch = stax.serial(
            BatchNorm(), Relu, Conv(channels, (3, 3), (stride, stride), padding="SAME"),
            BatchNorm(), Relu, Conv(channels, (3, 3), padding="SAME"),
        )  # fmt: skip
        same = stride == 1 and input_shape[-1] == channels
        shortcut = Identity if same else Conv(channels, (1, 1), (stride, stride), padding="SAME")
        return stax.serial(FanOut(2), stax.parallel(branch, shortcut), FanInSum)

    return stax.shape_dependent(block)


def network(blocks: int) -> Any:
    """`blocks` blocks on 8 × 8 pixels, as many on 4 × 4 with twice the channels."""
    return stax.serial(
        Conv(WIDTH, (3, 3), padding="SAME"),
        *[residual(WIDTH) for _ in range(blocks)],
        residual(2 * WIDTH, stride=2),
        *[residual(2 * WIDTH) for _ in range(blocks - 1)],
        BatchNorm(), Relu, AvgPool((4, 4)), Flatten, Dense(10), LogSoftmax,
    )  # fmt: skip


def main(blocks: int = 2, epochs: int = 12, quick: bool = False) -> float:
    """Trains, prints what was achieved, and returns the accuracy on scans that were held out."""
    data = scans.load()
    init_fun, apply_fun = network(1 if quick else blocks)
    steps = 3 if quick else epochs * (len(data.images) // BATCH)
    schedule = optimizers.polynomial_decay(0.1, steps, 0.0)
    opt_init, opt_update, get_params = optimizers.nesterov(schedule, 0.9)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        chosen = np.take_along_axis(apply_fun(params, images), labels[:, None], axis=1)
        squares = sum(np.sum(w**2) for w in tree_util.tree_leaves(params) if w.ndim > 1)
        return -np.mean(chosen) + 2e-4 * squares

    @jit
    def step(i: int, opt_state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
        value, gradient = value_and_grad(loss)(get_params(opt_state), images, labels)
        return opt_update(i, gradient, opt_state), value

    begun = time.perf_counter()
    _, params = init_fun(random.PRNGKey(0), (-1, 8, 8, 1))
    opt_state = opt_init(params)
    shifting, losses = onp.random.RandomState(0), []
    for i, batch in enumerate(scans.batches(len(data.images), BATCH, epochs)):
        if i == steps:
            break
        images = scans.moved(data.images[batch], shifting)
        opt_state, value = step(i, opt_state, images, data.labels[batch])
        losses.append(float(value))
    seconds = time.perf_counter() - begun
    params = get_params(opt_state)
    # Stax's BatchNorm takes its statistics of the batch at hand: the test is one batch
    guesses = np.argmax(jit(apply_fun)(params, data.test_images), axis=1)
    score = float(np.mean(guesses == data.test_labels))
    count = sum(leaf.size for leaf in tree_util.tree_leaves(params))
    print(f"network              {2 * blocks} residual blocks, {count:,} parameters")
    print(f"training             {len(losses)} steps of {BATCH} scans, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.3f}, at the end {losses[-1]:.3f}")
    print(f"test accuracy        {score:.4f}")
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--quick", action="store_true", help="three steps of a smaller network")
    main(**vars(parser.parse_args()))
