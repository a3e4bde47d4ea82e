"""Transformers and Reformers learn to copy: of sequences 0w0w, w random, they tell the second w.

The task of the Reformer paper (Kitaev, Kaiser, Levskaya, 2020), in small. With attention "lsh" a
position sees only those that share a hash bucket with it, in any of so many rounds of hashing:
where it copies from may not be among them. More rounds miss less, in training and afterwards.

    python examples/copy_task.py [--attention transformer|full|lsh] [--hashes 4] [--word 31]
    python examples/copy_task.py --curves FILE --picture FILE     # adds a curve, draws them all
"""

import argparse
import functools
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as onp
import pictures

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.run_log import RunLog

VOCABULARY, BATCH, TEST_BATCHES = 16, 32, 8
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_layers": 1, "dropout": 0.0}
LEARNING_RATE, EVERY = 3e-3, 50


class Setting(NamedTuple):
    """A task, and the attention that learns it."""

    attention: str
    """"transformer" or "full" for full attention, "lsh" for attention over hash buckets."""
    word: int
    """The number of tokens of w."""
    hashes: int
    """Rounds of hashing."""
    chunk: int
    """A round shows each position so many others of like hashes, and the chunk before them."""

    def model(self) -> tl.Layer:
        """The language model."""
        length = 2 * self.word + 2
        if self.attention == "transformer":
            return models.TransformerLM(VOCABULARY, max_len=length, **SIZES)
        hashed = functools.partial(
            tl.LSHSelfAttention, chunk_len=self.chunk, n_hashes=self.hashes, n_parallel_heads=16
        )
        return models.ReformerLM(
            VOCABULARY,
            d_attention_key=16,
            d_attention_value=16,
            max_len=length,
            attention_type=tl.SelfAttention if self.attention == "full" else hashed,
            **SIZES,
        )


def sequences(seed: int, word: int) -> Iterator[Any]:
    """Batches of 0w0w, int32 [BATCH, 2 word + 2], of which the second w is to be told."""
    drawn = onp.random.RandomState(seed)
    counts = onp.broadcast_to(onp.arange(2 * word + 2) > word + 1, (BATCH, 2 * word + 2))
    while True:
        words = drawn.randint(1, VOCABULARY, (BATCH, word))
        half = onp.concatenate([onp.zeros((BATCH, 1), int), words], axis=1)
        tokens = onp.concatenate([half, half], axis=1).astype("int32")
        yield tokens, tokens, counts.astype("float32")


def loop_of(setting: Setting, steps: int, seed: int, **options: Any) -> training.Loop:
    """A training loop; it measures the accuracy on new sequences, always the same ones."""
    task = training.TrainTask(
        data.Serial(lambda: sequences(seed, setting.word), data.Prefetch(2))(),
        tl.WeightedCategoryCrossEntropy(),
        optimizers.Adam(weight_decay_rate=0.0, clip_grad_norm=1.0),
        lr_schedules.warmup_and_polynomial_decay(0, LEARNING_RATE, steps),
        n_steps_per_checkpoint=min(EVERY, steps),
    )
    tests = training.EvalTask(
        list(itertools.islice(sequences(seed + 1, setting.word), TEST_BATCHES)),
        [tl.WeightedCategoryAccuracy()],
        ["Accuracy"],
        n_eval_batches=TEST_BATCHES,
    )
    return training.Loop(setting.model(), task, eval_tasks=tests, random_seed=seed, **options)


def accuracies(loop: training.Loop) -> list[tuple[int, float]]:
    """The curve: pairs of a step and the accuracy after it."""
    return loop.history.get("eval", "metrics/Accuracy")


def with_hashes(trained: training.Loop, setting: Setting, n_hashes: int) -> float:
    """The accuracy with so many rounds of hashing: the weights are of no number of them."""
    loop = loop_of(setting._replace(hashes=n_hashes), 1, 0, log=RunLog(stdout=False))
    loop.update_weights_and_state(trained.model.weights)
    loop.run_evals()
    return accuracies(loop)[-1][1]


def draw(curves: dict[str, Any], figure: Any) -> None:
    """Accuracy by step, a line for each way of training."""
    axes = figure.subplots()
    for name, curve in curves.items():
        axes.plot(*zip(*curve["accuracy"], strict=True), label=name)
    axes.set(xlabel="step", ylabel="accuracy on the second half", ylim=(0, 1.02))
    axes.legend()


def main(
    attention: str = "full",
    word: int = 31,
    hashes: int = 4,
    chunk: int = 4,
    steps: int = 1000,
    seed: int = 0,
    curves: str = "",
    picture: str = "",
    quick: bool = False,
) -> tuple[float, float]:
    """Learns; prints the accuracy on the second half; returns it, and how far the loss fell."""
    steps = 3 if quick else steps
    setting = Setting(attention, word, hashes, chunk)
    begun = time.process_time()
    loop = loop_of(setting, steps, seed)
    loop.run(steps)
    seconds, curve = time.process_time() - begun, accuracies(loop)
    losses = [x for _, x in loop.history.get("train", "metrics/WeightedCategoryCrossEntropy")]
    name = f"{attention}, hashes: {hashes}" if attention == "lsh" else attention
    tokens = f"{BATCH} × {2 * word + 2} tokens"
    print(f"attention            {name}")
    print(f"training             {steps} steps of {tokens}, {seconds:.0f} s of CPU time")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"accuracy             {curve[-1][1]:.4f} of {TEST_BATCHES * BATCH} new second halves")
    others = {}
    if attention == "lsh":
        others = {n: with_hashes(loop, setting, n) for n in (1, 2, 4, 8)}
        print("by hashes            " + ", ".join(f"{n}: {x:.4f}" for n, x in others.items()))
    if curves:
        path = Path(curves)
        known = json.loads(path.read_text()) if path.exists() else {}
        known[name] = {**setting._asdict(), "seed": seed, "accuracy": curve, "by hashes": others}
        path.write_text(json.dumps(known) + "\n")
        pictures.save(picture, functools.partial(draw, known), (7, 4))
    return curve[-1][1], losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attention", choices=("transformer", "full", "lsh"), default="full")
    parser.add_argument("--word", type=int, default=31, help="tokens of w")
    parser.add_argument("--hashes", type=int, default=4, help="rounds of hashing")
    parser.add_argument("--chunk", type=int, default=4, help="length of its chunks")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--curves", default="", help="a JSON file, to which the curve is added")
    parser.add_argument("--picture", default="", help="a picture of all curves in that file")
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
