"""A Transformer translates dates, written in four ways, into those of ISO 8601.

The encoder reads "Thu 5 Mar 1987" or "March 5, 1987", the decoder writes "1987-03-05", a character
after the other. Trained in mode "train", with all characters at once; asked in mode "predict",
where it keeps what it needs of the earlier ones in its state. Days of the test are never seen.

    python examples/dates.py [--steps 1000]
"""

import argparse
import datetime
import time
from typing import Any

import numpy as onp

import weft.numpy as np
from weft import fastmath, jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

BATCH, SOURCE, TARGET = 64, 20, 10
FORMS = ("%d/%m/%Y", "%B %d, %Y", "%a %d %b %Y", "%Y, %d %B")
CHARACTERS = ["", *sorted("0123456789/-, abcdefghijklmnopqrstuvwxyz")]  # 0 is padding
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_encoder_layers": 1, "n_decoder_layers": 1}
FIRST, DAYS = datetime.date(1900, 1, 1), 73_000  # until 2099


def model_of(mode: str) -> Any:
    """A Transformer whose source and target have the same characters."""
    return models.Transformer(len(CHARACTERS), max_len=SOURCE, dropout=0.0, mode=mode, **SIZES)


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


def translated(weights: Any, sources: Any) -> Any:
    """The model's translations, of the likeliest characters one after the other."""
    model = model_of("predict")
    last = onp.zeros((len(sources), 1), "int32")
    shaped, state = model.init((sources, last), rng=random.PRNGKey(0))
    # layers that run once are within another here: the same weights, nested otherwise
    weights = fastmath.tree_unflatten(fastmath.tree_flatten(weights), shaped)[0]
    step = jit(model.pure_fn)
    written = []
    for _ in range(TARGET):
        (logits, _), state = step((sources, last), weights, state, random.PRNGKey(0))
        last = np.argmax(logits, axis=2).astype("int32")
        written.append(onp.asarray(last))
    return onp.concatenate(written, axis=1)


def main(steps: int = 1000, quick: bool = False) -> tuple[float, float]:
    """Learns; prints translations; returns how many are right, and how far the loss fell."""
    steps = 3 if quick else steps
    days = onp.random.RandomState(0).permutation(DAYS)
    learnt, held_out = days[:-7300], days[-7300:]
    drawn, model = onp.random.RandomState(1), model_of("train")
    weights, state = model.init(pairs(drawn, learnt, BATCH), rng=random.PRNGKey(0))
    schedule = optimizers.polynomial_decay(3e-3, steps, 0)
    opt_init, opt_update, get_params = optimizers.adam(schedule)

    @jit
    def step(i: int, opt_state: Any, sources: Any, targets: Any) -> Any:
        def loss(weights: Any) -> Any:
            key = random.fold_in(random.PRNGKey(0), i)
            (logits, _), _ = model.pure_fn((sources, targets), weights, state, key)
            chosen = np.take_along_axis(tl.log_softmax(logits), targets[..., None], axis=2)
            return -np.mean(chosen)

        value, gradient = value_and_grad(loss)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    begun, opt_state, losses = time.perf_counter(), opt_init(weights), []
    for i in range(steps):
        opt_state, value = step(i, opt_state, *pairs(drawn, learnt, BATCH))
        losses.append(float(value))
        if (i + 1) % max(steps // 10, 1) == 0:
            print(f"step {i + 1:5d}  loss {losses[-1]:.4f}", flush=True)
    seconds = time.perf_counter() - begun

    sources, targets = pairs(onp.random.RandomState(2), held_out, 500)
    written = translated(get_params(opt_state), sources)
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
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
