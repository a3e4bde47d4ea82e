"""Differentially private SGD: what is learnt hardly depends on any one example.

`vmap(grad(loss))` gives a gradient for each example. Each is clipped to norm C, noise of deviation
σC is added to their sum, and examples come to a step independently, with probability q (Abadi et
al., Deep Learning with Differential Privacy, 2016). The accountant below adds up Rényi divergences
of the sampled Gaussian mechanism, and turns them to (ε, δ).

    python examples/private_sgd.py [--noise 1.5] [--epochs 15]
"""

import argparse
import functools
import math
from typing import Any

import numpy as onp
import scans

import weft.numpy as np
from weft import grad, jit, random, tree_util, vmap
from weft.experimental import stax
from weft.experimental.optimizers import clip_grads

TRAINING = 1437  # examples
RATE = 0.1  # q: the probability with which an example takes part in a step
CAPACITY = 256  # shapes are fixed: room for so many (9 deviations above the mean)
CLIP = 1.0  # C
STEP_SIZE = 2.0
DELTA = 1e-4  # less than one in 1,437 examples

INIT, APPLY = stax.serial(stax.Flatten, stax.Dense(64), stax.Tanh, stax.Dense(10), stax.LogSoftmax)


def loss(params: Any, image: Any, label: Any) -> Any:
    """Cross-entropy of one example."""
    return -APPLY(params, image[None])[0, label]


def clipped_gradient(params: Any, image: Any, label: Any, present: Any) -> Any:
    """The gradient of one example, of norm C at most; 0 for one that only fills up the batch."""
    gradient = clip_grads(grad(loss)(params, image, label), CLIP)
    return tree_util.tree_map(lambda g: g * present, gradient)


@functools.partial(jit, static_argnums=5)
def step(params: Any, images: Any, labels: Any, present: Any, key: Any, noise: float) -> Any:
    """The parameters after a private step."""
    gradients = vmap(clipped_gradient, (None, 0, 0, 0))(params, images, labels, present)
    leaves, tree = tree_util.tree_flatten(gradients)
    noisy = [
        np.sum(g, axis=0) + noise * CLIP * random.normal(k, g.shape[1:])
        for g, k in zip(leaves, random.split(key, len(leaves)), strict=True)
    ]
    size = STEP_SIZE / (RATE * TRAINING)  # by the expected number: the true one is private too
    return tree_util.tree_map(lambda p, g: p - size * g, params, tree.unflatten(noisy))


def renyi(order: int, rate: float, noise: float) -> float:
    """The Rényi divergence of a whole order of one step of the sampled Gaussian mechanism.

    Source: Mironov, Talwar, Zhang: Rényi Differential Privacy of the Sampled Gaussian Mechanism
    (2019), section 3.3.
    """
    terms = [
        math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        + k * math.log(rate) + (order - k) * math.log1p(-rate) + k * (k - 1) / (2 * noise**2)
        for k in range(order + 1)
    ]  # fmt: skip
    largest = max(terms)
    return (largest + math.log(sum(math.exp(t - largest) for t in terms))) / (order - 1)


def epsilon(steps: int, rate: float, noise: float, delta: float) -> float:
    """The ε of (ε, δ)-differential privacy after some steps (Mironov 2017, proposition 3)."""
    return min(
        steps * renyi(order, rate, noise) + math.log(1 / delta) / (order - 1)
        for order in range(2, 256)
    )


def main(
    noise: float = 1.5, epochs: int = 15, seed: int = 0, quick: bool = False
) -> tuple[float, float]:
    """Trains privately; prints and returns the test accuracy and ε."""
    data = scans.load(seed)
    assert len(data.images) == TRAINING
    _, params = INIT(random.PRNGKey(seed), (-1, 8, 8, 1))
    drawn = onp.random.RandomState(seed)
    steps = 3 if quick else int(epochs / RATE)
    for i in range(steps):
        chosen = onp.flatnonzero(drawn.rand(TRAINING) < RATE)
        assert len(chosen) <= CAPACITY
        batch = onp.resize(chosen, CAPACITY)
        present = (onp.arange(CAPACITY) < len(chosen)).astype("float32")
        key = random.fold_in(random.PRNGKey(seed + 1), i)
        params = step(params, data.images[batch], data.labels[batch], present, key, noise)
    guesses = onp.argmax(APPLY(params, data.test_images), axis=1)
    score = float(onp.mean(guesses == data.test_labels))
    spent = epsilon(steps, RATE, noise, DELTA)
    print(f"training             {steps} steps, each example in a step with probability {RATE}")
    print(f"noise                deviation {noise} × clipping norm {CLIP}")
    print(
        f"privacy              (ε, δ) = ({spent:.2f}, {DELTA}), for adding or removing an example"
    )
    print(f"test accuracy        {score:.4f}")
    return score, spent


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--noise", type=float, default=1.5, help="σ, in clipping norms")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
