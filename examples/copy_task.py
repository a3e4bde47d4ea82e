"""Transformers and Reformers learn to copy: of sequences 0w0w, w random, they tell the second w.

The task of the Reformer paper (Kitaev, Kaiser, Levskaya, 2020), in small. With attention "lsh" a
position sees only those that share a hash bucket with it, in any of so many rounds of hashing:
where it copies from may not be among them. More rounds miss less, in training and afterwards.

    python examples/copy_task.py [--attention transformer|full|lsh] [--hashes 4] [--word 31]
    python examples/copy_task.py --curves FILE --picture FILE     # adds a curve, draws them all
"""

import argparse
import functools
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as onp
import pictures

import weft.numpy as np
from weft import jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

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

    def model(self, mode: str) -> Any:
        """The language model."""
        length = 2 * self.word + 2
        if self.attention == "transformer":
            return models.TransformerLM(VOCABULARY, max_len=length, mode=mode, **SIZES)
        hashed = functools.partial(
            tl.LSHSelfAttention, chunk_len=self.chunk, n_hashes=self.hashes, n_parallel_heads=16
        )
        return models.ReformerLM(
            VOCABULARY,
            d_attention_key=16,
            d_attention_value=16,
            max_len=length,
            attention_type=tl.SelfAttention if self.attention == "full" else hashed,
            mode=mode,
            **SIZES,
        )


def sequences(drawn: onp.random.RandomState, word: int, count: int = BATCH) -> onp.ndarray:
    """0w0w, int32 [count, 2 word + 2]."""
    words = drawn.randint(1, VOCABULARY, (count, word))
    half = onp.concatenate([onp.zeros((count, 1), int), words], axis=1)
    return onp.concatenate([half, half], axis=1).astype("int32")


def second_half(model: Any, weights: Any, state: Any, tokens: Any, key: Any) -> Any:
    """The cross-entropy of the second w; how many of its tokens are the likeliest; the state."""
    logits, state = model.pure_fn(tokens, weights, state, key)
    begin = tokens.shape[1] // 2 + 1
    logits, targets = logits[:, begin:], tokens[:, begin:]
    chosen = np.take_along_axis(tl.log_softmax(logits), targets[..., None], axis=2)
    return -np.mean(chosen), (np.mean(np.argmax(logits, axis=2) == targets), state)


def evaluation(setting: Setting) -> Any:
    """A function from weights to the accuracy on new sequences, always the same ones."""
    drawn, key = onp.random.RandomState(1), random.PRNGKey(1)
    batches = [sequences(drawn, setting.word) for _ in range(TEST_BATCHES)]
    model = setting.model("eval")
    _, first = model.init(batches[0], rng=key)
    run = jit(functools.partial(second_half, model))

    def accuracy(weights: Any) -> float:
        rights, state = [], first
        for tokens in batches:  # the state chooses other rotations for each
            _, (right, state) = run(weights, state, tokens, key)
            rights.append(float(right))
        return float(onp.mean(rights))

    return accuracy


def trained(setting: Setting, steps: int, seed: int) -> tuple[Any, Any, Any]:
    """The weights, the curve as pairs (step, accuracy), and the losses."""
    drawn, key = onp.random.RandomState(seed), random.PRNGKey(seed)
    model, accuracy = setting.model("train"), evaluation(setting)
    weights, state = model.init(sequences(drawn, setting.word), rng=key)
    schedule = optimizers.polynomial_decay(LEARNING_RATE, steps, 0)
    opt_init, opt_update, get_params = optimizers.adam(schedule)

    @jit
    def step(i: Any, opt_state: Any, state: Any, tokens: Any, key: Any) -> Any:
        def loss(weights: Any) -> Any:
            return second_half(model, weights, state, tokens, key)

        (value, (_, new)), gradient = value_and_grad(loss, has_aux=True)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), new, value

    opt_state, curve, losses = opt_init(weights), [], []
    for i in range(steps):
        tokens, step_key = sequences(drawn, setting.word), random.fold_in(key, i)
        opt_state, state, value = step(i, opt_state, state, tokens, step_key)
        losses.append(float(value))
        if (i + 1) % EVERY == 0 or i + 1 == steps:
            curve.append((i + 1, accuracy(get_params(opt_state))))
            print(
                f"step {i + 1:5d}  loss {losses[-1]:.4f}  accuracy {curve[-1][1]:.4f}", flush=True
            )
    return get_params(opt_state), curve, losses


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
    weights, curve, losses = trained(setting, steps, seed)
    seconds = time.process_time() - begun
    name = f"{attention}, hashes: {hashes}" if attention == "lsh" else attention
    tokens = f"{BATCH} × {2 * word + 2} tokens"
    print(f"attention            {name}")
    print(f"training             {steps} steps of {tokens}, {seconds:.0f} s of CPU time")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"accuracy             {curve[-1][1]:.4f} of {TEST_BATCHES * BATCH} new second halves")
    others = {}
    if attention == "lsh":  # the weights are of no number of hashes
        others = {n: evaluation(setting._replace(hashes=n))(weights) for n in (1, 2, 4, 8)}
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
