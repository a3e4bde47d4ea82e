"""Five models of `weft.models` read handwritten digits, each in the form that it takes.

mlp          the 64 pixels of a scan
wide_resnet  an image of 32 × 32: each pixel becomes a square of 4 × 4
resnet50     an image of 200 × 200, with a sixteenth of the usual channels
encoder      a sequence of 64 tokens: how dark each pixel is, in 17 steps
decoder      a sequence of 8 vectors, the rows: it tells the digit after each, from those so far

    python examples/classifiers.py [--model mlp|wide_resnet|resnet50|encoder|decoder]
"""

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as onp
import scans

import weft.numpy as np
from weft import jit, layers as tl, models, random, value_and_grad
from weft.experimental import optimizers

BATCH = 32
SIZES = {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_layers": 2, "dropout": 0.0}

# statistics of some ten batches: with the usual momentum of 0.999 they need thousands
normalized = functools.partial(tl.BatchNorm, momentum=0.9)


class Kind(NamedTuple):
    """A model, and what it needs."""

    make: Callable[[str], Any]
    """From the mode to the model, whose outputs are logits of the ten digits."""
    given: Callable[[Any], Any]
    """From scans [n, 8, 8, 1] to what the model takes."""
    epochs: int


def enlarged(times: int) -> Callable[[Any], Any]:
    """Images in which each pixel is a square."""
    return lambda images: np.repeat(np.repeat(images, times, axis=1), times, axis=2)


KINDS = {
    "mlp": Kind(lambda mode: models.MLP((256, 128, 10), mode=mode), lambda images: images, 60),
    "wide_resnet": Kind(lambda mode: models.WideResnet(n_blocks=1, mode=mode), enlarged(4), 6),
    "resnet50": Kind(
        lambda mode: models.Resnet50(4, n_output_classes=10, mode=mode, norm=normalized),
        enlarged(25),
        6,
    ),
    "encoder": Kind(
        lambda mode: models.TransformerEncoder(18, max_len=64, mode=mode, **SIZES),
        lambda images: (1 + 16 * np.reshape(images, (-1, 64))).astype("int32"),  # 0 is padding
        30,
    ),
    "decoder": Kind(
        lambda mode: tl.Serial(
            models.TransformerDecoder(max_len=8, mode=mode, **SIZES), tl.Dense(10)
        ),
        lambda images: np.reshape(images, (-1, 8, 8)),
        60,
    ),
}


def logits_of(model: Any, kind: Kind, weights: Any, state: Any, images: Any, key: Any) -> Any:
    """Logits [n, rows, 10], where only the decoder has more than one row; the new state."""
    logits, state = model.pure_fn(kind.given(images), weights, state, key)
    return np.reshape(logits, (len(images), -1, 10)), state


def main(model: str = "mlp", quick: bool = False) -> tuple[float, float]:
    """Trains; prints the accuracy on scans that were held out; returns it, and how far the loss
    fell."""
    data, kind, key = scans.load(), KINDS[model], random.PRNGKey(0)
    network = kind.make("train")
    weights, state = network.init(kind.given(data.images[:BATCH]), rng=key)
    steps = 10 if quick else kind.epochs * (len(data.images) // BATCH)
    schedule = optimizers.polynomial_decay(2e-3, steps, 0)
    opt_init, opt_update, get_params = optimizers.adam(schedule)

    @jit
    def step(i: int, opt_state: Any, state: Any, images: Any, labels: Any) -> Any:
        def loss(weights: Any) -> Any:
            step_key = random.fold_in(key, i)
            logits, new = logits_of(network, kind, weights, state, images, step_key)
            chosen = np.take_along_axis(tl.log_softmax(logits), labels[:, None, None], axis=2)
            return -np.mean(chosen), new

        (value, new), gradient = value_and_grad(loss, has_aux=True)(get_params(opt_state))
        return opt_update(i, optimizers.clip_grads(gradient, 1.0), opt_state), new, value

    begun, opt_state = time.perf_counter(), opt_init(weights)
    shifting, losses = onp.random.RandomState(0), []
    for i, batch in enumerate(scans.batches(len(data.images), BATCH, kind.epochs)):
        if i == steps:
            break
        images = scans.moved(data.images[batch], shifting)
        opt_state, state, value = step(i, opt_state, state, images, data.labels[batch])
        losses.append(float(value))
        if (i + 1) % max(steps // 10, 1) == 0:
            print(f"step {i + 1:5d}  loss {onp.mean(losses[-20:]):.4f}", flush=True)
    seconds, weights = time.perf_counter() - begun, get_params(opt_state)

    network = kind.make("eval")
    guess = jit(
        lambda images: np.argmax(logits_of(network, kind, weights, state, images, key)[0], 2)
    )
    tests = range(0, len(data.test_images), 40)
    guesses = onp.concatenate([guess(data.test_images[i : i + 40]) for i in tests])
    scores = (guesses == data.test_labels[:, None]).mean(axis=0)
    print(f"model                {model}")
    print(f"training             {steps} steps of {BATCH} scans, {seconds:.1f} s")
    print(f"loss                 {losses[0]:.3f}, at the end {onp.mean(losses[-20:]):.3f}")
    if len(scores) > 1:
        print("after each row       " + " ".join(f"{score:.2f}" for score in scores))
    print(f"test accuracy        {scores[-1]:.4f}")
    return float(scores[-1]), losses[0] - losses[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=KINDS, default="mlp")
    parser.add_argument("--quick", action="store_true", help="ten steps")
    main(**vars(parser.parse_args()))
