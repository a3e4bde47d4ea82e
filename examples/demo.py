"""Trains two networks of layers: one reads handwritten digits, the other writes Python.

The first is the residual network of `resnet.py`, on scikit-learn's 1,797 scans. Its loss curve and
the digits that it misreads are drawn. The second is the language model of `language_model.py`, in
small: it learns the standard library's own source text for at most a minute, and goes on with a
line of its own. The exit status says whether both goals were met.

    python examples/demo.py [--picture digits.png]
"""

import argparse
import functools
import sys
import time
from collections.abc import Iterator
from typing import Any

import language_model
import numpy as onp
import pictures
import resnet
import scans

from weft import layers as tl, optimizers
from weft.supervised import lr_schedules, training

ACCURACY, BITS = 0.985, 2.6
SIZES: dict[str, Any] = {"d_model": 96, "n_blocks": 1, "n_heads": 4, "table_bits": 12}
BATCH, RATE = 16, 6e-3


def read_digits(picture: str, quick: bool) -> float:
    """Trains the residual network, draws, and returns the accuracy on the test's digits."""
    data, steps = scans.load(), 3 if quick else 30 * (1437 // resnet.BATCH)
    loop = resnet.loop(data, 1 if quick else 2, steps)
    loop.run(steps)
    losses = loop.history.get("train", "metrics/CategoryCrossEntropy")
    guesses = onp.argmax(loop.eval_model(data.test_images), axis=1)
    pictures.save(picture, functools.partial(draw, losses, data, guesses), (10, 4))
    return float((guesses == data.test_labels).mean())


def draw(losses: list[Any], data: scans.Scans, guesses: onp.ndarray, figure: Any) -> None:
    """The loss curve, and up to fifteen digits that were misread."""
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(*zip(*losses, strict=True))
    axes.set(xlabel="step", ylabel="loss", title="Training")
    wrong = onp.flatnonzero(guesses != data.test_labels)
    right.suptitle(f"{len(wrong)} of {len(guesses)} misread")
    for i, place in enumerate(right.subplots(3, 5).flat):
        place.set_axis_off()
        if i < len(wrong):
            place.imshow(data.test_images[wrong[i], :, :, 0], cmap="gray_r")
            label, guess = data.test_labels[wrong[i]], guesses[wrong[i]]
            place.set_title(f"{label} read as {guess}", fontsize=8)


def for_a_while(batches: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The batches that are asked for within so many seconds, from the second on."""
    yield next(batches)
    ends = time.perf_counter() + seconds
    for batch in batches:
        yield batch
        if time.perf_counter() > ends:
            return


def write_python(seconds: float, quick: bool) -> tuple[float, str]:
    """Trains the language model; returns its bits per byte of held-out text, and a sample."""
    learnt, test = language_model.load(3 if quick else None)
    steps = 3 if quick else 600
    task = training.TrainTask(
        for_a_while(language_model.batches(learnt, BATCH), seconds),
        tl.CategoryCrossEntropy(),
        optimizers.Adam(RATE, weight_decay_rate=0.0, b2=0.99, clip_grad_norm=1.0),
        lr_schedules.warmup_and_cosine(min(50, steps), RATE, steps, RATE / 50),
        n_steps_per_checkpoint=max(steps // 4, 1),
    )
    measure, _ = language_model.evaluation(test, 4096 if quick else 50_000)
    network = language_model.model(**(language_model.SMALL if quick else SIZES))
    loop = training.Loop(network, task, eval_tasks=measure, random_seed=0, n_devices=1)
    loop.run(steps)
    if loop.step < steps:
        loop.run_evals()
    bits = loop.history.get("eval", "metrics/BitsPerByte")[-1][1]
    return bits, language_model.sample(loop.model, "class Loop:\n    def __init__(self")


def main(picture: str = "digits.png", seconds: float = 60, quick: bool = False) -> tuple[Any, ...]:
    """Trains both, prints what was achieved, and returns it: the accuracy, and bits per byte."""
    begun = time.perf_counter()
    print("A residual network of layers learns to read digits:\n")
    accuracy = read_digits(picture, quick)
    between = time.perf_counter()
    print("\nA language model learns to write Python, from the standard library:\n")
    bits, text = write_python(seconds, quick)
    ended = time.perf_counter()
    print(f"\ndigits               test accuracy {accuracy:.4f} (goal {ACCURACY}), "
          f"{between - begun:.0f} s")  # fmt: skip
    print(f"Python               {bits:.3f} bits per byte of modules that were held out "
          f"(goal {BITS}), {ended - between:.0f} s")  # fmt: skip
    print(f"\n{text}")
    return accuracy, bits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", default="digits.png", help="where to draw the digits")
    parser.add_argument("--seconds", type=float, default=60, help="of learning Python, at most")
    parser.add_argument("--quick", action="store_true", help="three steps of smaller models")
    reached = main(**vars(parser.parse_args()))
    sys.exit(0 if reached[0] >= ACCURACY and reached[1] < BITS else 1)
