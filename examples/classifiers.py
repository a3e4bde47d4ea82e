"""Five models of `weft.models` read handwritten digits, each in the form that it takes.

mlp          the 64 pixels of a scan
wide_resnet  an image of 32 × 32: each pixel becomes a square of 4 × 4
resnet50     an image of 200 × 200, with a sixteenth of the usual channels
encoder      a sequence of 64 tokens: how dark each pixel is, in 17 steps
decoder      a sequence of 8 vectors, the rows: it tells the digit after each, from those so far

    python examples/classifiers.py [--model mlp|wide_resnet|resnet50|encoder|decoder]
"""

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as onp
import scans

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training

BATCH = 32
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_layers": 2, "dropout": 0.0}

# statistics of some ten batches: with the usual momentum of 0.999 they need thousands
normalized = functools.partial(tl.BatchNorm, momentum=0.9)


class Kind(NamedTuple):
    """A model, and what it needs."""

    make: Callable[[], tl.Layer]
    """The model, whose outputs are logits of the ten digits."""
    given: Callable[[Any], Any]
    """From scans [n, 8, 8, 1] to what the model takes."""
    epochs: int


def enlarged(times: int) -> Callable[[Any], Any]:
    """Images in which each pixel is a square."""
    return lambda images: onp.repeat(onp.repeat(images, times, axis=1), times, axis=2)


KINDS = {
    "mlp": Kind(lambda: models.MLP((256, 128, 10)), lambda images: images, 60),
    "wide_resnet": Kind(lambda: models.WideResnet(n_blocks=1), enlarged(4), 6),
    "resnet50": Kind(
        lambda: models.Resnet50(4, n_output_classes=10, norm=normalized),
        enlarged(25),
        6,
    ),
    "encoder": Kind(
        lambda: models.TransformerEncoder(18, max_len=64, **SIZES),
        lambda images: (1 + 16 * onp.reshape(images, (-1, 64))).astype("int32"),  # 0 is padding
        30,
    ),
    "decoder": Kind(
        lambda: tl.Serial(models.TransformerDecoder(max_len=8, **SIZES), tl.Dense(10)),
        lambda images: onp.reshape(images, (-1, 8, 8)),
        60,
    ),
}


def main(model: str = "mlp", quick: bool = False) -> tuple[float, float]:
    """Trains; prints the accuracy on scans that were held out; returns it, and how far the loss
    fell."""
    found, kind = scans.load(), KINDS[model]
    n_rows = 8 if model == "decoder" else 1  # the decoder tells the digit after each row

    def example(images: onp.ndarray, labels: onp.ndarray) -> tuple[onp.ndarray, onp.ndarray]:
        return kind.given(images), onp.repeat(labels[:, None], n_rows, axis=1)

    def rows(network: tl.Layer) -> tl.Layer:
        """Logits [n, rows, 10]."""
        return tl.Serial(network, tl.Fn("Rows", lambda x: x.reshape(len(x), n_rows, 10)))

    batches = scans.stream(found.images, found.labels, BATCH)
    steps = 10 if quick else kind.epochs * (len(found.images) // BATCH)
    task = training.TrainTask(
        data.Serial(data.Map(lambda batch: example(*batch)), data.Prefetch(2))(batches),
        tl.CategoryCrossEntropy(),
        optimizers.Adam(weight_decay_rate=0.0, clip_grad_norm=1.0),
        lr_schedules.warmup_and_polynomial_decay(0, 2e-3, steps),
        n_steps_per_checkpoint=max(steps // 10, 1),
    )
    begun = time.perf_counter()
    loop = training.Loop(rows(kind.make()), task, random_seed=0)
    loop.run(steps)
    seconds = time.perf_counter() - begun
    losses = [x for _, x in loop.history.get("train", "metrics/CategoryCrossEntropy")]

    network = tl.Accelerate(loop.eval_model, 1)
    tests = (kind.given(found.test_images[i : i + 40]) for i in range(0, 360, 40))
    guesses = onp.concatenate([onp.argmax(network(test), axis=2) for test in tests])
    scores = (guesses == found.test_labels[:, None]).mean(axis=0)
    print(f"model                {model}")
    print(f"training             {steps} steps of {BATCH} scans, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.3f}, at the end {losses[-1]:.3f}")
    if n_rows > 1:
        print("after each row       " + " ".join(f"{score:.2f}" for score in scores))
    print(f"test accuracy        {scores[-1]:.4f}")
    return float(scores[-1]), losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=KINDS, default="mlp")
    parser.add_argument("--quick", action="store_true", help="ten steps")
    main(**vars(parser.parse_args()))
