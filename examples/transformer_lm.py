"""A Transformer language model learns Python from the standard library's own source text.

The text and the tables of character pairs and triples that it is compared with are those of
`char_lm.py`; the model is `weft.models.TransformerLM`. It is trained on all characters of a piece
at once, and writes in mode "predict", a character after the other.

    python examples/transformer_lm.py [--steps 1500]
"""

import argparse
import math
import time
from typing import Any

import char_lm
import numpy as onp

from weft import data, layers as tl, models, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.decoding import autoregressive_sample

LENGTH, BATCH = 128, 16
SIZES = {"d_model": 128, "d_ff": 256, "n_heads": 4, "n_layers": 2}
VOCABULARY = len(char_lm.CHARACTERS) + 1  # 0 is padding, with which the model begins


def loop(network: tl.Layer, learnt: onp.ndarray, test: onp.ndarray, steps: int) -> training.Loop:
    """The training loop of a language model; it measures bits per character of the test."""
    pieces = data.Windows(1 + learnt, LENGTH, shuffle=True, epochs=None, seed=0)
    stream = data.Serial(pieces, data.Batch(BATCH), data.Prefetch(2))
    tests = list(data.Serial(data.Windows(1 + test, LENGTH), data.Batch(BATCH))())
    bits = tl.Serial(tl.CategoryCrossEntropy(), tl.Fn("Bits", lambda nats: nats / math.log(2)))
    task = training.TrainTask(
        stream(),
        tl.CategoryCrossEntropy(),
        optimizers.Adam(weight_decay_rate=0.0, clip_grad_norm=1.0),
        lr_schedules.warmup_and_polynomial_decay(0, 3e-3, steps),
        n_steps_per_checkpoint=max(steps // 5, 1),
    )
    measure = training.EvalTask(tests, [bits], ["Bits"], n_eval_batches=len(tests))
    return training.Loop(network, task, eval_tasks=measure, random_seed=0)


def written(trained: tl.Layer, start: str, length: int, **options: Any) -> str:
    """A text that begins with `start`, which the model goes on with."""
    codes = [1 + char_lm.CHARACTERS.index(c) for c in start]
    tokens = autoregressive_sample(
        trained, [codes], temperature=0.7, eos_id=-1, max_length=length - len(start), **options
    )
    return start + "".join(char_lm.CHARACTERS[code - 1] for code in tokens[0] if code)


def report(
    trained: training.Loop, learnt: onp.ndarray, test: onp.ndarray, seconds: float
) -> tuple[float, float]:
    """Prints bits per character; returns the model's and the table's."""
    score = trained.history.get("eval", "metrics/Bits")[-1][1]
    pairs, triples = (char_lm.table_bits(learnt, test, n) for n in (2, 3))
    characters = f"{BATCH} × {LENGTH} characters"
    print(f"text                 {len(learnt):,} characters; held out: {len(test):,}")
    print(f"training             {trained.step} steps of {characters}, {seconds:.1f} s")
    print(f"bits per character   {score:.3f}; tables of pairs {pairs:.3f}, triples {triples:.3f}")
    return score, triples


def main(steps: int = 1500, quick: bool = False) -> tuple[float, float]:
    """Learns; prints a text and bits per character; returns the model's and the table's."""
    learnt, test = char_lm.load(3 if quick else None)
    steps, test = (3, test[:4096]) if quick else (steps, test)
    network = models.TransformerLM(VOCABULARY, max_len=LENGTH, dropout=0.0, **SIZES)
    begun = time.perf_counter()
    trained = loop(network, learnt, test, steps)
    trained.run(steps)
    scores = report(trained, learnt, test, time.perf_counter() - begun)
    print(written(trained.model, "def main(", 16 if quick else LENGTH))
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--quick", action="store_true", help="three steps on three modules")
    main(**vars(parser.parse_args()))
