"""An MLP and a convolutional network read handwritten digits, with Stax and Minmax.

Stax makes a network of layers, each a pair of functions: `init_fun` makes parameters, `apply_fun`
uses them. Minmax makes an optimizer of such a pair too. Nothing has state, so the training step is
a function like any other, and `jit` compiles it whole.

    python examples/stax_digits.py [--model mlp] [--epochs 50]
"""

import argparse
import time
from typing import Any

import numpy as onp
import scans

import weft.numpy as np
from weft import grad, jit, random
from weft.experimental import minmax, stax
from weft.experimental.stax import Conv, Dense, Flatten, LogSoftmax, MaxPool, Relu

BATCH = 64

MODELS = {
    "mlp": stax.serial(
        Flatten, Dense(256), Relu, Dense(128), Relu, Dense(10), LogSoftmax
    ),
    "conv": stax.serial(
        Conv(32, (3, 3), padding="SAME"), Relu,
        Conv(64, (3, 3), padding="SAME"), Relu,
        MaxPool((2, 2), strides=(2, 2)),
        Conv(128, (3, 3), padding="SAME"), Relu,
        MaxPool((2, 2), strides=(2, 2)),
        Flatten, Dense(128), Relu, Dense(10), LogSoftmax,
    ),
}  # fmt: skip


def trained(model: str, data: scans.Scans, epochs: int, seed: int = 0) -> tuple[Any, list[float]]:
    """The parameters of a model after some epochs, and the loss on the batch of every step."""
    init_fun, apply_fun = MODELS[model]
    steps = epochs * (len(data.images) // BATCH)
    falling = minmax.piecewise_constant([steps * 2 // 3, steps * 9 // 10], [1e-3, 3e-4, 1e-4])
    opt_init, opt_update = minmax.adam(falling)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        log_probabilities = apply_fun(params, images)
        return -np.mean(np.take_along_axis(log_probabilities, labels[:, None], axis=1))

    @jit
    def step(i: int, opt_state: Any, images: Any, labels: Any) -> tuple[Any, Any]:
        params = minmax.get_params(opt_state)
        gradient = grad(loss)(params, images, labels)
        return opt_update(i, gradient, opt_state), loss(params, images, labels)

    out_shape, params = init_fun(random.PRNGKey(seed), (-1, *data.images.shape[1:]))
    assert out_shape == (-1, 10)
    opt_state = opt_init(params)
    shifting, losses = onp.random.RandomState(seed), []
    for i, batch in enumerate(scans.batches(len(data.images), BATCH, epochs, seed)):
        images = scans.moved(data.images[batch], shifting)
        opt_state, value = step(i, opt_state, images, data.labels[batch])
        losses.append(float(value))
    return minmax.get_params(opt_state), losses


def accuracy(model: str, params: Any, images: Any, labels: Any) -> float:
    """The part of the images that a model reads right."""
    _, apply_fun = MODELS[model]
    return float(np.mean(np.argmax(jit(apply_fun)(params, images), axis=1) == labels))


def main(model: str = "conv", epochs: int = 50, seed: int = 0, quick: bool = False) -> float:
    """Trains, prints what was achieved, and returns the accuracy on scans that were held out."""
    data = scans.load(seed)
    begun = time.perf_counter()
    params, losses = trained(model, data, 1 if quick else epochs, seed)
    seconds = time.perf_counter() - begun
    score = accuracy(model, params, data.test_images, data.test_labels)
    print(f"model                {model}")
    print(f"training             {len(losses)} steps of {BATCH} scans, {seconds:.1f} s")
    print(f"loss, first and last {losses[0]:.4f}, {onp.mean(losses[-20:]):.4f}")
    print(f"test accuracy        {score:.4f} of {len(data.test_labels)} scans that were held out")
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=MODELS, default="conv")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one epoch")
    main(**vars(parser.parse_args()))
