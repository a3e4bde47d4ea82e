"""A Reformer learns to reverse sequences of several lengths, and writes reversed ones itself.

Encoder and decoder are `weft.models.Reformer`. What is decoded comes token by token, in mode
"predict", each as the likeliest after those before; the encoder runs once.

    python examples/reverse_task.py [--steps 400]
"""

import argparse
import time
from typing import Any

import numpy as onp

import weft.numpy as np
from weft import fastmath, jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

SHORTEST, LONGEST, KINDS, BATCH = 5, 12, 12, 32
PADDING, END = 0, 1
SIZES = {
    "d_model": 64, "d_ff": 128, "n_heads": 4, "n_encoder_layers": 1, "n_decoder_layers": 1,
    "max_len": LONGEST + 1, "dropout": 0.0,
}  # fmt: skip


def model_of(mode: str) -> Any:
    """The network; its tokens are padding, the end, and those of words."""
    return models.Reformer(KINDS + 2, mode=mode, **SIZES)


def sequences(drawn: onp.random.RandomState, count: int) -> tuple[onp.ndarray, onp.ndarray]:
    """Words and reversed words with an end, int32 [count, LONGEST + 1], padded."""
    source = onp.zeros((count, LONGEST + 1), "int32")
    target = onp.zeros((count, LONGEST + 1), "int32")
    for i in range(count):
        n = drawn.randint(SHORTEST, LONGEST + 1)
        word = drawn.randint(2, KINDS + 2, n)
        source[i, :n], target[i, :n], target[i, n] = word, word[::-1], END
    return source, target


def decoded(weights: Any, source: Any) -> onp.ndarray:
    """The likeliest tokens, one after the other; padding after the end of each sequence."""
    model = model_of("predict")
    _, state = model.init((source, source[:, :1]))
    weights, _ = fastmath.tree_unflatten(fastmath.tree_flatten(weights), model.weights)

    @jit
    def step(weights: Any, state: Any, token: Any) -> tuple[Any, Any]:
        (logits, _), state = model.pure_fn((source, token), weights, state, None)
        return np.argmax(logits, axis=2), state

    token, columns = onp.zeros((len(source), 1), "int32"), []
    for _ in range(LONGEST + 1):
        token, state = step(weights, state, token)
        columns.append(token)
    written = onp.concatenate(columns, axis=1)
    has_ended = onp.cumsum(written == END, axis=1) - (written == END) > 0
    return onp.where(has_ended, PADDING, written)


def main(steps: int = 400, quick: bool = False) -> tuple[float, float]:
    """Learns; prints how many new sequences come out right; returns that, and the loss's fall."""
    steps = 3 if quick else steps
    drawn, key = onp.random.RandomState(0), random.PRNGKey(0)
    model = model_of("train")
    weights, state = model.init(sequences(drawn, BATCH), rng=key)
    opt_init, opt_update, get_params = optimizers.adam(optimizers.polynomial_decay(3e-3, steps, 0))

    @jit
    def step(i: Any, opt_state: Any, source: Any, target: Any) -> tuple[Any, Any]:
        def loss(weights: Any) -> Any:
            (logits, _), _ = model.pure_fn((source, target), weights, state, key)
            chosen = np.take_along_axis(tl.log_softmax(logits), target[..., None], axis=2)[..., 0]
            return -np.sum(chosen * (target != PADDING)) / np.sum(target != PADDING)

        value, gradient = value_and_grad(loss)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value

    begun, opt_state, losses = time.perf_counter(), opt_init(weights), []
    for i in range(steps):
        opt_state, value = step(i, opt_state, *sequences(drawn, BATCH))
        losses.append(float(value))
        if (i + 1) % max(steps // 6, 1) == 0:
            print(f"step {i + 1:5d}  loss {losses[-1]:.4f}", flush=True)
    seconds = time.perf_counter() - begun

    source, target = sequences(onp.random.RandomState(1), 8 if quick else 256)
    written = decoded(get_params(opt_state), source)
    right = float(onp.mean((written == target).all(axis=1)))
    print(f"training             {steps} steps of {BATCH} sequences, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"decoded without flaw {right:.4f} of {len(source)} new sequences")
    return right, losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
