"""A Reformer that sees one vector for four characters learns Python from the standard library.

The blocks of `weft.models.ReformerShortenLM` work on a sequence a quarter as long as the text. What
counts is bits per character on modules that were held out, beside tables of character pairs and
triples.

    python examples/short_lm.py [--steps 1200]
"""

import argparse
import time
from typing import Any

import char_lm
import numpy as onp

import weft.numpy as np
from weft import jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

LENGTH, BATCH, FACTOR = 128, 16, 4
VOCABULARY = len(char_lm.CHARACTERS) + 1  # 0 is padding
SIZES = {
    "d_embedding": 96, "d_model": 96, "d_ff": 192, "d_attention_key": 24, "d_attention_value": 24,
    "n_heads": 4, "n_layers": 2, "max_len": LENGTH, "dropout": 0.0,
}  # fmt: skip


def model_of(mode: str) -> Any:
    """The network."""
    return models.ReformerShortenLM(VOCABULARY, FACTOR, mode=mode, **SIZES)


def bits(model: Any, weights: Any, state: Any, tokens: Any) -> Any:
    """Bits per character of rows of tokens."""
    logits, _ = model.pure_fn(tokens, weights, state, random.PRNGKey(0))
    return -np.mean(np.take_along_axis(tl.log_softmax(logits), tokens[..., None], 2)) / np.log(2.0)


def written(model: Any, weights: Any, state: Any, key: Any, start: str, length: int) -> str:
    """A text that the model goes on with: a character at a time, of the whole text before it."""
    tokens = onp.zeros((1, LENGTH), "int32")
    codes = [char_lm.CHARACTERS.index(c) + 1 for c in start]
    tokens[0, : len(codes)] = codes

    @jit
    def next_token(tokens: Any, at: Any) -> Any:
        logits, _ = model.pure_fn(tokens, weights, state, key)
        logits = logits.at[..., 0].set(-np.inf)  # no padding
        return random.categorical(random.fold_in(key, at), logits[0, at] / 0.7)

    for at in range(len(codes), min(len(codes) + length, LENGTH)):
        tokens[0, at] = next_token(tokens, at)
        codes.append(int(tokens[0, at]))
    return "".join(char_lm.CHARACTERS[code - 1] for code in codes)


def main(steps: int = 1200, quick: bool = False) -> tuple[float, float]:
    """Learns; prints a text and bits per character; returns the model's and the table's."""
    learnt, test = char_lm.load(3 if quick else None)
    opt_init, opt_update, get_params = optimizers.adam(optimizers.polynomial_decay(3e-3, steps, 0))
    steps = 2 if quick else steps
    drawn, model = onp.random.RandomState(0), model_of("train")

    def batch() -> onp.ndarray:
        starts = drawn.randint(len(learnt) - LENGTH, size=BATCH)
        return learnt[starts[:, None] + onp.arange(LENGTH)].astype("int32") + 1

    weights, state = model.init(batch(), rng=random.PRNGKey(0))

    @jit
    def step(i: Any, opt_state: Any, tokens: Any) -> tuple[Any, Any]:
        def loss(weights: Any) -> Any:
            return bits(model, weights, state, tokens)

        value, gradient = value_and_grad(loss)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    begun, opt_state = time.perf_counter(), opt_init(weights)
    for i in range(steps):
        opt_state, value = step(i, opt_state, batch())
        if (i + 1) % max(steps // 6, 1) == 0:
            print(f"step {i + 1:5d}  bits {float(value):.3f}", flush=True)
    seconds, weights = time.perf_counter() - begun, get_params(opt_state)

    model = model_of("eval")
    rows = test[: len(test) // LENGTH * LENGTH].reshape(-1, LENGTH).astype("int32") + 1
    rows = rows[: BATCH if quick else None]
    score = float(jit(lambda weights, rows: bits(model, weights, state, rows))(weights, rows))
    pairs, triples = (char_lm.table_bits(learnt, test, n) for n in (2, 3))
    print(f"text                 {len(learnt):,} characters; held out: {len(test):,}")
    print(f"training             {steps} steps of {BATCH} × {LENGTH} characters, {seconds:.1f} s")
    print(
        f"bits per character   {score:.3f}; tables of pairs {pairs:.3f}, of triples {triples:.3f}"
    )
    print(written(model, weights, state, random.PRNGKey(1), "def main(", 4 if quick else 119))
    return score, triples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--quick", action="store_true", help="two steps on three modules")
    main(**vars(parser.parse_args()))
