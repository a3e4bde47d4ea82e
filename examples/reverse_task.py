"""A Reformer learns to reverse sequences of several lengths, and writes reversed ones itself.

Encoder and decoder are `weft.models.Reformer`. What is decoded comes token by token, in mode
"predict", each as the likeliest after those before; the encoder runs once.

    python examples/reverse_task.py [--steps 400]
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as onp

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.decoding import autoregressive_sample

SHORTEST, LONGEST, KINDS, BATCH = 5, 12, 12, 32
PADDING, END = 0, 1
SIZES = {
    "d_model": 64, "d_ff": 128, "n_heads": 4, "n_encoder_layers": 1, "n_decoder_layers": 1,
    "max_len": LONGEST + 1, "dropout": 0.0,
}  # fmt: skip


def sequences(drawn: onp.random.RandomState, count: int) -> tuple[onp.ndarray, onp.ndarray]:
    """Words and reversed words with an end, int32 [count, LONGEST + 1], padded."""
    source = onp.zeros((count, LONGEST + 1), "int32")
    target = onp.zeros((count, LONGEST + 1), "int32")
    for i in range(count):
        n = drawn.randint(SHORTEST, LONGEST + 1)
        word = drawn.randint(2, KINDS + 2, n)
        source[i, :n], target[i, :n], target[i, n] = word, word[::-1], END
    return source, target


def batches() -> Iterator[Any]:
    """Sequences to learn from, where padding does not count, without end."""
    drawn = onp.random.RandomState(0)
    while True:
        source, target = sequences(drawn, BATCH)
        yield source, target, (target != PADDING).astype("float32")


def decoded(model: tl.Layer, source: onp.ndarray) -> onp.ndarray:
    """The likeliest tokens, one after the other; padding after the end of each sequence."""
    written = autoregressive_sample(
        model, source, len(source), temperature=0.0, eos_id=END, fill_id=PADDING,
        max_length=LONGEST + 1,
    )  # fmt: skip
    return onp.pad(written, ((0, 0), (0, LONGEST + 1 - written.shape[1])))


def main(steps: int = 400, quick: bool = False) -> tuple[float, float]:
    """Learns; prints how many new sequences come out right; returns that, and the loss's fall."""
    steps = 3 if quick else steps
    task = training.TrainTask(
        data.Serial(batches, data.Prefetch(2))(),
        tl.WeightedCategoryCrossEntropy(),
        optimizers.Adam(weight_decay_rate=0.0, clip_grad_norm=1.0),
        lr_schedules.warmup_and_polynomial_decay(0, 3e-3, steps),
        n_steps_per_checkpoint=max(steps // 5, 1),
    )
    loop = training.Loop(models.Reformer(KINDS + 2, **SIZES), task, random_seed=0)
    begun = time.perf_counter()
    loop.run(steps)
    seconds = time.perf_counter() - begun
    losses = [x for _, x in loop.history.get("train", "metrics/WeightedCategoryCrossEntropy")]

    source, target = sequences(onp.random.RandomState(1), 8 if quick else 256)
    right = float(onp.mean((decoded(loop.model, source) == target).all(axis=1)))
    print(f"training             {steps} steps of {BATCH} sequences, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"decoded without flaw {right:.4f} of {len(source)} new sequences")
    return right, losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
