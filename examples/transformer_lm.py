"""A Transformer language model learns Python from the standard library's own source text.

The text and the tables of character pairs and triples that it is compared with are those of
`char_lm.py`; the model is `weft.models.TransformerLM`. It is trained on all characters of a piece
at once, and writes in mode "predict", a character after the other.

    python examples/transformer_lm.py [--steps 1500]
"""

import argparse
import time
from typing import Any

import char_lm
import numpy as onp

import weft.numpy as np
from weft import jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

LENGTH, BATCH = 128, 16
SIZES = {"d_model": 128, "d_ff": 256, "n_heads": 4, "n_layers": 2}
VOCABULARY = len(char_lm.CHARACTERS) + 1  # 0 is padding, with which the model begins


def model_of(mode: str) -> Any:
    """The language model."""
    return models.TransformerLM(VOCABULARY, max_len=LENGTH, dropout=0.0, mode=mode, **SIZES)


def bits(model: Any, weights: Any, state: Any, tokens: Any, key: Any) -> Any:
    """Bits per character of pieces of text, tokens [n, length]."""
    logits, _ = model.pure_fn(tokens, weights, state, key)
    chosen = np.take_along_axis(tl.log_softmax(logits), tokens[..., None], axis=2)
    return -np.mean(chosen) / np.log(2.0)


def written(weights: Any, start: str, length: int) -> str:
    """A text that begins with `start`, which the model goes on with."""
    model, keys = model_of("predict"), random.split(random.PRNGKey(1), length)
    token = onp.zeros((1, 1), "int32")
    _, state = model.init(token, rng=keys[0])
    step, text = jit(model.pure_fn), ""
    for key in keys:
        logits, state = step(token, weights, state, key)
        if len(text) < len(start):
            code = char_lm.CHARACTERS.index(start[len(text)])
        else:
            code = int(random.categorical(key, logits[0, 0, 1:] / 0.7))
        text += char_lm.CHARACTERS[code]
        token = onp.full((1, 1), code + 1, "int32")
    return text


def main(steps: int = 1500, quick: bool = False) -> tuple[float, float]:
    """Learns; prints a text and bits per character; returns the model's and the table's."""
    learnt, test = char_lm.load(3 if quick else None)
    steps = 3 if quick else steps
    drawn, key, model = onp.random.RandomState(0), random.PRNGKey(0), model_of("train")
    weights, state = model.init(onp.ones((BATCH, LENGTH), "int32"), rng=key)
    schedule = optimizers.polynomial_decay(3e-3, steps, 0)
    opt_init, opt_update, get_params = optimizers.adam(schedule)

    @jit
    def step(i: int, opt_state: Any, tokens: Any) -> Any:
        def loss(weights: Any) -> Any:
            return bits(model, weights, state, tokens, random.fold_in(key, i))

        value, gradient = value_and_grad(loss)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    begun, opt_state = time.perf_counter(), opt_init(weights)
    for i in range(steps):
        starts = drawn.randint(len(learnt) - LENGTH, size=BATCH)
        tokens = 1 + learnt[starts[:, None] + onp.arange(LENGTH)].astype("int32")
        opt_state, value = step(i, opt_state, tokens)
        if (i + 1) % max(steps // 10, 1) == 0:
            print(f"step {i + 1:5d}  bits {float(value):.3f}", flush=True)
    seconds, weights = time.perf_counter() - begun, get_params(opt_state)

    pieces = 1 + test[: len(test) // LENGTH * LENGTH].reshape(-1, LENGTH).astype("int32")
    pieces = pieces[: len(pieces) // BATCH * BATCH].reshape(-1, BATCH, LENGTH)
    measure, network = jit(bits, static_argnums=0), model_of("eval")
    scores = [measure(network, weights, state, x, key) for x in pieces[: 2 if quick else None]]
    score = float(onp.mean([float(x) for x in scores]))
    pairs, triples = (char_lm.table_bits(learnt, test, n) for n in (2, 3))
    print(f"text                 {len(learnt):,} characters; held out: {len(test):,}")
    print(f"training             {steps} steps of {BATCH} × {LENGTH} characters, {seconds:.1f} s")
    print(f"bits per character   {score:.3f}; tables of pairs {pairs:.3f}, triples {triples:.3f}")
    print(written(weights, "def main(", 16 if quick else LENGTH))
    return score, triples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--quick", action="store_true", help="three steps on three modules")
    main(**vars(parser.parse_args()))
