"""A Transformer or a Reformer learns to copy: of sequences 0w0w, w random, it tells the second w.

The task of the Reformer paper (Kitaev, Kaiser, Levskaya, 2020), in small. The models are those of
`weft.models`; the kinds of attention are full attention and attention over hash buckets.

    python examples/copy_task.py [--attention full|lsh|transformer] [--steps 400]
"""

import argparse
import functools
import time
from typing import Any

import numpy as onp

import weft.numpy as np
from weft import jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

WORD, VOCABULARY, BATCH = 15, 16, 32
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_layers": 2, "dropout": 0.0}
HASHES = 4


def model_of(attention: str, mode: str) -> Any:
    """A language model, whose attention is full in "transformer" and "full", else hashed."""
    if attention == "transformer":
        return models.TransformerLM(VOCABULARY, max_len=2 * WORD + 2, mode=mode, **SIZES)
    hashed = functools.partial(tl.LSHSelfAttention, chunk_len=8, n_buckets=4, n_hashes=HASHES)
    return models.ReformerLM(
        VOCABULARY,
        d_attention_key=16,
        d_attention_value=16,
        max_len=2 * WORD + 2,
        attention_type=tl.SelfAttention if attention == "full" else hashed,
        mode=mode,
        **SIZES,
    )


def sequences(drawn: onp.random.RandomState, count: int) -> onp.ndarray:
    """0w0w, int32 [count, 2 WORD + 2]."""
    words = drawn.randint(1, VOCABULARY, (count, WORD))
    half = onp.concatenate([onp.zeros((count, 1), int), words], axis=1)
    return onp.concatenate([half, half], axis=1).astype("int32")


def second_half(model: Any, weights: Any, state: Any, tokens: Any, key: Any) -> Any:
    """The mean cross-entropy of the second w, and how many of its tokens are the likeliest ones."""
    logits, _ = model.pure_fn(tokens, weights, state, key)
    logits, targets = logits[:, WORD + 2 :], tokens[:, WORD + 2 :]
    chosen = np.take_along_axis(tl.log_softmax(logits), targets[..., None], axis=2)
    return -np.mean(chosen), np.mean(np.argmax(logits, axis=2) == targets)


def main(attention: str = "full", steps: int = 400, quick: bool = False) -> tuple[float, float]:
    """Learns; prints the accuracy on the second half; returns it, and how far the loss fell."""
    steps = 3 if quick else steps
    drawn, key = onp.random.RandomState(0), random.PRNGKey(0)
    model = model_of(attention, "train")
    weights, state = model.init(sequences(drawn, BATCH), rng=key)
    opt_init, opt_update, get_params = optimizers.adam(optimizers.polynomial_decay(3e-3, steps, 0))

    @jit
    def step(i: Any, opt_state: Any, tokens: Any, key: Any) -> tuple[Any, Any, Any]:
        def loss(weights: Any) -> Any:
            return second_half(model, weights, state, tokens, key)

        (value, right), gradient = value_and_grad(loss, has_aux=True)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), value, right

    begun, opt_state, losses = time.perf_counter(), opt_init(weights), []
    for i in range(steps):
        tokens, step_key = sequences(drawn, BATCH), random.fold_in(key, i)
        opt_state, value, right = step(i, opt_state, tokens, step_key)
        losses.append(float(value))
        if (i + 1) % max(steps // 10, 1) == 0:
            print(f"step {i + 1:5d}  loss {losses[-1]:.4f}  right {float(right):.4f}", flush=True)
    seconds = time.perf_counter() - begun

    test = sequences(onp.random.RandomState(1), 256)
    evaluate = jit(functools.partial(second_half, model_of(attention, "eval")))
    if attention == "lsh":  # the state holds the buckets of a batch
        batches = [test[i : i + BATCH] for i in range(0, len(test), BATCH)]
    else:
        batches = [test]
    rights = [evaluate(get_params(opt_state), state, tokens, key)[1] for tokens in batches]
    accuracy = float(onp.mean([float(right) for right in rights]))
    print(f"attention            {attention}, {SIZES['n_layers']} layers")
    print(f"training             {steps} steps of {BATCH} sequences, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.4f}, at the end {losses[-1]:.4f}")
    print(f"accuracy             {accuracy:.4f} on the second half of {len(test)} new sequences")
    return accuracy, losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attention", choices=("full", "lsh", "transformer"), default="full")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
