"""A Reformer that sees one vector for four characters learns Python from the standard library.

The blocks of `weft.models.ReformerShortenLM` work on a sequence a quarter as long as the text. What
counts is bits per character on modules that were held out, beside tables of character pairs and
triples. It is trained like the model of `transformer_lm.py`, and writes in mode "eval", of the
whole text before a character.

    python examples/short_lm.py [--steps 1200]
"""

import argparse
import time

import char_lm
import transformer_lm
from transformer_lm import LENGTH, VOCABULARY

from weft import models

FACTOR = 4
SIZES = {
    "d_embedding": 96, "d_model": 96, "d_ff": 192, "d_attention_key": 24, "d_attention_value": 24,
    "n_heads": 4, "n_layers": 2, "max_len": LENGTH, "dropout": 0.0,
}  # fmt: skip


def main(steps: int = 1200, quick: bool = False) -> tuple[float, float]:
    """Learns; prints a text and bits per character; returns the model's and the table's."""
    learnt, test = char_lm.load(3 if quick else None)
    steps, test = (2, test[:4096]) if quick else (steps, test)
    network = models.ReformerShortenLM(VOCABULARY, FACTOR, **SIZES)
    begun = time.perf_counter()
    trained = transformer_lm.loop(network, learnt, test, steps)
    trained.run(steps)
    scores = transformer_lm.report(trained, learnt, test, time.perf_counter() - begun)
    length = 12 if quick else LENGTH
    print(
        transformer_lm.written(
            trained.model, "def main(", length, eval_mode=True, eval_min_length=LENGTH
        )
    )
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--quick", action="store_true", help="two steps on three modules")
    main(**vars(parser.parse_args()))
