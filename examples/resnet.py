"""A small residual network of digits, of layers, trained by the training loop.

A residual block normalizes, rectifies and convolves, twice, and adds what it was given: this is
`tl.Residual`. (He et al., Identity Mappings in Deep Residual Networks, 2016.)

    python examples/resnet.py [--epochs 16]
"""

import argparse
import time
from typing import Any

import numpy as onp
import scans

from weft import layers as tl, optimizers
from weft.supervised import lr_schedules, training
from weft.tree_util import tree_leaves

BATCH = 64
WIDTH = 32


def convolution(channels: int, size: int = 3, stride: int = 1) -> tl.Layer:
    """A convolution that keeps the size of images, or divides it by its stride."""
    return tl.Conv(channels, (size, size), (stride, stride), padding="SAME")


def residual(channels: int, stride: int = 1) -> tl.Layer:
    """x + f(x), where f is normalize, rectify, convolve, twice; a stride makes images smaller."""
    # statistics of some ten batches: with the usual momentum of 0.999 they need thousands
    return tl.Residual(
        tl.BatchNorm(momentum=0.9), tl.Relu(), convolution(channels, stride=stride),
        tl.BatchNorm(momentum=0.9), tl.Relu(), convolution(channels),
        shortcut=None if stride == 1 else convolution(channels, 1, stride),
    )  # fmt: skip


def network(blocks: int) -> tl.Layer:
    """`blocks` blocks on 8 × 8 pixels, as many on 4 × 4 with twice the channels."""
    return tl.Serial(
        convolution(WIDTH),
        [residual(WIDTH) for _ in range(blocks)],
        residual(2 * WIDTH, stride=2),
        [residual(2 * WIDTH) for _ in range(blocks - 1)],
        tl.BatchNorm(momentum=0.9), tl.Relu(), tl.AvgPool((4, 4)), tl.Flatten(), tl.Dense(10),
    )  # fmt: skip


def loop(data: scans.Scans, blocks: int, steps: int, **options: Any) -> training.Loop:
    """The training loop of a network."""
    images, labels, *test = data
    task = training.TrainTask(
        scans.stream(images, labels, BATCH),
        tl.CategoryCrossEntropy(),
        optimizers.Momentum(weight_decay_rate=2e-5),
        lr_schedules.warmup_and_polynomial_decay(steps // 20, 0.1, steps),
        n_steps_per_checkpoint=max(steps // 10, 1),
    )
    tests = training.EvalTask([tuple(test)], [tl.CategoryAccuracy()])
    return training.Loop(
        network(blocks), task, eval_tasks=tests, random_seed=0, n_devices=1, **options
    )


def main(blocks: int = 2, epochs: int = 16, quick: bool = False) -> float:
    """Trains, prints what was achieved, and returns the accuracy on scans that were held out."""
    data = scans.load()
    steps = 20 if quick else epochs * (len(data.images) // BATCH)
    begun = time.perf_counter()
    trained = loop(data, 1 if quick else blocks, steps)
    trained.run(steps)
    seconds = time.perf_counter() - begun
    losses = trained.history.get("train", "metrics/CategoryCrossEntropy")
    score = trained.history.get("eval", "metrics/CategoryAccuracy")[-1][1]
    count = sum(onp.size(leaf) for leaf in tree_leaves(trained.model.weights))
    print(f"network              {2 * blocks} residual blocks, {count:,} weights")
    print(f"training             {steps} steps of {BATCH} scans, {seconds:.1f} s")
    print(f"loss                 {losses[0][1]:.3f}, at the end {losses[-1][1]:.3f}")
    print(f"test accuracy        {score:.4f}")
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--quick", action="store_true", help="twenty steps of a smaller network")
    main(**vars(parser.parse_args()))
