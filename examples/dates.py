"""A Transformer translates dates, written in four ways, into those of ISO 8601.

The encoder reads "Thu 5 Mar 1987" or "March 5, 1987", the decoder writes "1987-03-05", a character
after the other. Trained in mode "train", with all characters at once; asked in mode "predict",
where it keeps what it needs of the earlier ones in its state. Days of the test are never seen.

    python examples/dates.py [--steps 1000]
"""

import argparse
import datetime
import itertools
import time
from typing import Any

import numpy as onp

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.decoding import autoregressive_sample

BATCH, SOURCE, TARGET = 64, 20, 10
FORMS = ("%d/%m/%Y", "%B %d, %Y", "%a %d %b %Y", "%Y, %d %B")
CHARACTERS = ["", *sorted("0123456789/-, abcdefghijklmnopqrstuvwxyz")]  # 0 is padding
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_encoder_layers": 1, "n_decoder_layers": 1}
FIRST, DAYS = datetime.date(1900, 1, 1), 73_000  # until 2099


def codes(texts: list[str], length: int) -> onp.ndarray:
    """The characters of texts by number, filled up with padding: int32 [texts, length]."""
    rows = [[CHARACTERS.index(c) for c in text.lower()] for text in texts]
    return onp.array([row + [0] * (length - len(row)) for row in rows], "int32")


def text_of(row: Any) -> str:
    """The text of a row of numbers."""
    return "".join(CHARACTERS[int(c)] for c in row)


def pairs(drawn: onp.random.RandomState, days: onp.ndarray, count: int) -> tuple[Any, Any]:
    """Random ones of the days, each in a random form, and what they are to become."""
    dates = [FIRST + datetime.timedelta(int(day)) for day in drawn.choice(days, count)]
    texts = [date.strftime(FORMS[drawn.randint(len(FORMS))]) for date in dates]
    return codes(texts, SOURCE), codes([date.isoformat() for date in dates], TARGET)


def main(steps: int = 1000, quick: bool = False) -> tuple[float, float]:
    """Learns; prints translations; returns how many are right, and how far the loss fell."""
    steps = 3 if quick else steps
    days = onp.random.RandomState(0).permutation(DAYS)
    learnt, held_out = days[:-7300], days[-7300:]
    drawn = onp.random.RandomState(1)
    batches = data.Serial(
        lambda: (pairs(drawn, learnt, BATCH) for _ in itertools.count()), data.Prefetch(2)
    )
    task = training.TrainTask(
        batches(),
        tl.CategoryCrossEntropy(),
        optimizers.Adam(weight_decay_rate=0.0, clip_grad_norm=1.0),
        lr_schedules.warmup_and_polynomial_decay(0, 3e-3, steps),
        n_steps_per_checkpoint=max(steps // 10, 1),
    )
    model = models.Transformer(len(CHARACTERS), max_len=SOURCE, dropout=0.0, **SIZES)
    loop = training.Loop(model, task, random_seed=0)
    begun = time.perf_counter()
    loop.run(steps)
    seconds = time.perf_counter() - begun
    losses = [x for _, x in loop.history.get("train", "metrics/CategoryCrossEntropy")]

    sources, targets = pairs(onp.random.RandomState(2), held_out, 32 if quick else 500)
    written = autoregressive_sample(
        loop.model, sources, len(sources), temperature=0.0, eos_id=-1, max_length=TARGET
    )
    score = float((written == targets).all(axis=1).mean())
    print(f"training             {steps} steps of {BATCH} dates, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    for source, row in zip(sources[:3], written, strict=False):
        print(f"{text_of(source):21}{text_of(row)}")
    print(f"wholly right         {score:.4f} of {len(sources)} dates that were held out")
    return score, losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="three steps and 32 translations")
    main(**vars(parser.parse_args()))
