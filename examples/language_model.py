"""A language model of bytes, of 10 million weights, learns Python from the standard library.

Most weights are vectors of runs of two to five bytes, in tables of which a byte reads one row each
(hashed n-grams). A Transformer on their sums does the rest. What counts is bits per byte on modules
that are held out, beside those of `xz -9`, which is given the same modules.

    python examples/language_model.py [--steps 3000] [--hours 8] [--folder lm] [--picture lm.png]

A run that was stopped, also by --hours, goes on when the same command is given again.

After 3,000 steps (12.3 million bytes, 12 minutes of CPU time) it needs 1.84 bits per byte, and xz
2.04. It needs fewer than xz from 1,200 steps on.
"""

import argparse
import functools
import lzma
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as onp
import pictures

import weft.numpy as np
from weft import data, layers as tl, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.decoding import autoregressive_sample
from weft.tree_util import tree_leaves

HELD_OUT = ("heapq.py", "json/decoder.py", "statistics.py", "textwrap.py", "wave.py")
LENGTH, BATCH, RATE = 128, 32, 4e-3
SIZES = {"d_model": 144, "n_blocks": 2, "n_heads": 4, "table_bits": 14}
SMALL = {"d_model": 16, "n_blocks": 1, "n_heads": 2, "table_bits": 6}


def load(files: int | None = None) -> tuple[bytes, bytes]:
    """The text of the modules to learn from, and of those that are held out."""
    folder = Path(os.__file__).parent
    held_out = [folder / name for name in HELD_OUT]
    others = {"site-packages", "test", "tests", "idle_test"}
    learnt = [path for path in folder.rglob("*.py") if not others.intersection(path.parts)]
    learnt = sorted(set(learnt) - set(held_out))[:files]
    text, test = (b"".join(path.read_bytes() for path in paths) for paths in (learnt, held_out))
    return text, test


def runs(n: int, bits: int) -> tl.Layer:
    """A layer that numbers the runs of n bytes which end at each byte: hashes of so many bits."""

    def hashed(tokens: Any) -> Any:
        number = tokens.astype(np.uint32)
        for i in range(1, n):
            before = np.pad(tokens, ((0, 0), (i, 0)))[:, :-i].astype(np.uint32)
            number = number * np.uint32(1540483477) + before + np.uint32(1)
        return (number * np.uint32(2654435761) >> np.uint32(32 - bits)).astype(np.int32)

    return tl.Fn(f"Runs{n}", hashed)


def model(
    d_model: int,
    n_blocks: int,
    n_heads: int,
    table_bits: int,
    orders: Sequence[int] = (2, 3, 4, 5),
) -> tl.Layer:
    """The model, from bytes [batch, length] to logits [batch, length, 256] of the same bytes."""
    tables = [[runs(n, table_bits), tl.Embedding(2**table_bits, d_model)] for n in orders]

    def block() -> Any:
        return [
            tl.Residual(tl.LayerNorm(), tl.CausalAttention(d_model, n_heads)),
            tl.Residual(
                tl.LayerNorm(), tl.Dense(4 * d_model), tl.Relu(), tl.Dense(d_model)
            ),
        ]  # fmt: skip

    return tl.Serial(
        tl.ShiftRight(),
        tl.Branch(tl.Embedding(256, d_model), *tables),
        [tl.Add() for _ in tables],
        tl.PositionalEncoding(max_len=LENGTH),
        [block() for _ in range(n_blocks)],
        tl.LayerNorm(),
        tl.Dense(256),
    )


def batches(text: bytes, batch: int, seed: int = 0) -> Any:
    """Batches of pieces from random places of a text, without end: (bytes, bytes to predict)."""
    pieces = data.Windows(text, LENGTH, shuffle=True, epochs=None, seed=seed)
    return data.Serial(pieces, data.Batch(batch), data.Prefetch(2))()


def evaluation(test: bytes, n_bytes: int | None = None) -> tuple[training.EvalTask, bytes]:
    """Bits per byte of a text, and the bytes that count.

    Pieces overlap by a half, which is given; their other halves count, each byte once.
    """
    half, rows = LENGTH // 2, 16
    text = onp.frombuffer(test[:n_bytes], "uint8").astype("int32")
    pieces = onp.lib.stride_tricks.sliding_window_view(text, LENGTH)[::half]
    pieces = pieces[: len(pieces) // rows * rows].reshape(-1, rows, LENGTH)
    counts = onp.broadcast_to(onp.arange(LENGTH) >= half, pieces.shape[1:]).astype("float32")
    bits = tl.Serial(
        tl.WeightedCategoryCrossEntropy(), tl.Fn("Bits", lambda nats: nats / math.log(2))
    )
    batches = [(piece, piece, counts) for piece in pieces]
    task = training.EvalTask(batches, [bits], ["BitsPerByte"], n_eval_batches=len(batches))
    return task, test[half : half + pieces[..., half:].size]


def sample(trained: tl.Layer, start: str, temperature: float = 0.6) -> str:
    """A text that the model goes on with, until a piece is full."""
    tokens = autoregressive_sample(
        trained, [list(start.encode())], temperature=temperature, eos_id=-1, eval_mode=True,
        max_length=LENGTH - len(start), eval_min_length=LENGTH,
    )  # fmt: skip
    return start + bytes(tokens[0].astype("uint8")).decode(errors="replace")


def main(
    steps: int = 3000,
    hours: float = 0,
    folder: str = "",
    picture: str = "",
    quick: bool = False,
) -> tuple[float, float]:
    """Learns; prints a text and bits per byte; returns the model's and those of xz."""
    learnt, test = load(3 if quick else None)
    steps = 3 if quick else steps
    network = model(**(SMALL if quick else SIZES))
    task = training.TrainTask(
        batches(learnt, 8 if quick else BATCH),
        tl.CategoryCrossEntropy(),
        optimizers.Adam(RATE, weight_decay_rate=0.0, b2=0.99, clip_grad_norm=1.0),
        lr_schedules.warmup_and_cosine(min(100, steps), RATE, steps, RATE / 50),
        n_steps_per_checkpoint=max(steps // 10, 1),
    )
    measure, counted = evaluation(test, 4096 if quick else None)
    loop = training.Loop(
        network, task, eval_tasks=measure, output_dir=folder or None, random_seed=0
    )
    begun = time.perf_counter()
    ends = begun + 3600 * hours if hours else math.inf
    loop.run(min(20 if hours else steps, steps - loop.step))
    while loop.step < steps and time.perf_counter() < ends:
        loop.run(min(20, steps - loop.step))
    if folder and loop.step < steps:
        loop.save_checkpoint("model")
    seconds = time.perf_counter() - begun

    curve = loop.history.get("eval", "metrics/BitsPerByte")
    score, xz = curve[-1][1], 8 * len(lzma.compress(counted, preset=9)) / len(counted)
    n_weights = sum(onp.size(w) for w in tree_leaves(network.weights))
    print(f"text                 {len(learnt):,} bytes; held out: {len(counted):,}")
    print(f"model                {n_weights:,} weights")
    print(f"training             {loop.step} steps of {BATCH} × {LENGTH} bytes, {seconds:.0f} s")
    print(f"bits per byte        {score:.3f}; xz -9: {xz:.3f}")
    print(sample(network, "def main("))
    pictures.save(picture, functools.partial(draw, curve, xz))
    return score, xz


def draw(curve: list[tuple[int, float]], xz: float, figure: Any) -> None:
    """Bits per byte by step, with those of xz."""
    axes = figure.subplots()
    axes.plot(*zip(*curve, strict=True), label="the model")
    axes.axhline(xz, color="gray", linestyle="--", label="xz -9")
    axes.set(xlabel="step", ylabel="bits per byte, held out", ylim=(1.5, 4))
    axes.legend()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=3000, help="of the schedule, in all")
    parser.add_argument("--hours", type=float, default=0, help="stop after so many; 0 for never")
    parser.add_argument("--folder", default="", help="for checkpoints and logs, to go on later")
    parser.add_argument("--picture", default="", help="where to draw the curve")
    parser.add_argument("--quick", action="store_true", help="three steps of a smaller model")
    main(**vars(parser.parse_args()))
