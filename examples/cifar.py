"""A wide residual network learns CIFAR-10, 60,000 photographs of ten kinds of things.

Its files must be there: the binary version of https://www.cs.toronto.edu/~kriz/cifar.html, whose
folder `cifar-10-batches-bin` has `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`.
This program downloads nothing. (Krizhevsky, Learning Multiple Layers of Features from Tiny Images,
2009; Zagoruyko and Komodakis, Wide Residual Networks, 2016.)

    python examples/cifar.py cifar-10-batches-bin [--epochs 20] [--wide 2] [--folder run]

A run that was stopped goes on when the same command is given again with the same --folder.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as onp

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training

BATCH, RECORD = 128, 1 + 3 * 32 * 32
FILES = [f"data_batch_{i}.bin" for i in range(1, 6)]
MISSING = """cifar.py: {path} {what}
  fix: download "CIFAR-10 binary version" from https://www.cs.toronto.edu/~kriz/cifar.html, unpack
       it, and give this program its folder, cifar-10-batches-bin"""


def load(path: Path) -> tuple[onp.ndarray, onp.ndarray]:
    """Images [n, 32, 32, 3] of uint8 and labels [n] of a file: a byte for the label, 3,072 for red,
    green and blue.

    Raises: SystemExit: there is no such file, or it is another one.
    """
    if not path.is_file():
        raise SystemExit(MISSING.format(path=path, what="is not there"))
    content = onp.fromfile(path, "uint8")
    if len(content) == 0 or len(content) % RECORD or content[::RECORD].max() > 9:
        raise SystemExit(MISSING.format(path=path, what=f"has no records of {RECORD} bytes"))
    records = content.reshape(-1, RECORD)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, records[:, 0].astype("int32")


def scaled(images: onp.ndarray) -> onp.ndarray:
    """Pixels as numbers of mean 0 and deviation 1, roughly."""
    return (images.astype("float32") - 120) / 64


def changed(batches: Iterator[Any], rng: onp.random.Generator) -> Iterator[Any]:
    """Each image is shifted by up to four pixels either way, and half of them are mirrored."""
    for images, labels in batches:
        padded = onp.pad(scaled(images), ((0, 0), (4, 4), (4, 4), (0, 0)))
        n = onp.arange(len(images))[:, None, None]
        rows, columns = rng.integers(9, size=(2, len(images), 1)) + onp.arange(32)
        columns = onp.where(rng.integers(2, size=(len(images), 1)), columns, columns[:, ::-1])
        yield padded[n, rows[:, :, None], columns[:, None, :]], labels


def main(
    path: str = "cifar-10-batches-bin",
    epochs: int = 20,
    blocks: int = 1,
    wide: int = 2,
    folder: str = "",
    quick: bool = False,
) -> tuple[float, float]:
    """Learns; prints the accuracy on the test; returns it, and how far the loss fell."""
    parts = [load(Path(path) / name) for name in (FILES[:1] if quick else FILES)]
    images, labels = (onp.concatenate(part) for part in zip(*parts, strict=True))
    tests, answers = load(Path(path) / "test_batch.bin")
    size = min(BATCH, len(images))
    batches = data.Serial(
        data.Arrays(images, labels, shuffle=True, epochs=None, seed=0),
        data.Batch(size),
        data.RandomFlow("Change", changed, 0),
        data.Prefetch(2),
    )
    steps = 10 if quick else epochs * (len(images) // size)
    task = training.TrainTask(
        batches(),
        tl.CategoryCrossEntropy(),
        optimizers.Momentum(weight_decay_rate=5e-5),
        lr_schedules.warmup_and_cosine(steps // 20, 0.1, steps),
        n_steps_per_checkpoint=max(steps // (2 * epochs), 1),
    )
    held_out = data.Serial(data.Arrays(scaled(tests), answers), data.Batch(min(80, len(tests))))
    held_out = list(held_out())
    measure = training.EvalTask(
        held_out, [tl.CategoryAccuracy()], ["Accuracy"], n_eval_batches=len(held_out)
    )
    network = models.WideResnet(blocks, wide)
    begun = time.perf_counter()
    loop = training.Loop(
        network, task, eval_tasks=measure, output_dir=folder or None, random_seed=0
    )
    loop.run(steps - loop.step)
    seconds = time.perf_counter() - begun
    losses = [x for _, x in loop.history.get("train", "metrics/CategoryCrossEntropy")]
    score = loop.history.get("eval", "metrics/Accuracy")[-1][1]
    print(f"training             {steps} steps of {size} images, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.3f}, at the end {losses[-1]:.3f}")
    print(f"test accuracy        {score:.4f} of {len(tests):,} images")
    return score, losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", nargs="?", default="cifar-10-batches-bin", help="of the files")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=1, help="of each of the three sizes")
    parser.add_argument("--wide", type=int, default=2, help="times 16 channels in the first blocks")
    parser.add_argument("--folder", default="", help="for checkpoints and logs, to go on later")
    parser.add_argument("--quick", action="store_true", help="ten steps on the first file")
    main(**vars(parser.parse_args()))
