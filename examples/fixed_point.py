"""Implicit differentiation: the gradient of a fixed point, without its iteration.

A network of one layer that is applied until nothing changes, z = tanh(W z + U x + b), reads digits.
By the implicit function theorem the gradient is a fixed point too, u = ∂z/∂z u + v, so a backward
pass needs neither memory nor the steps of the forward one (Bai et al., Deep Equilibrium Models,
2019). `custom_vjp` says so to weft; the gradient is compared with that through an unrolled loop.

    python examples/fixed_point.py [--epochs 15]
"""

import argparse
from functools import partial
from typing import Any

import scans

import weft.numpy as np
from weft import custom_vjp, grad, jit, lax, nn, random, tree_util, vjp
from weft.experimental import optimizers

WIDTH, BATCH, TOLERANCE, MOST = 64, 64, 1e-5, 200


@partial(custom_vjp, nondiff_argnums=(0,))
def fixed_point(f: Any, params: Any, x: Any, start: Any) -> Any:
    """The z with f(params, x, z) = z, by iteration from `start`."""

    def unsettled(state: Any) -> Any:
        before, z, count = state
        return (np.max(np.abs(z - before)) > TOLERANCE) & (count < MOST)

    def step(state: Any) -> Any:
        _, z, count = state
        return z, f(params, x, z), count + 1

    return lax.while_loop(unsettled, step, (start, f(params, x, start), 1))[1]


def forward(f: Any, params: Any, x: Any, start: Any) -> tuple[Any, Any]:
    """The fixed point, and what the backward pass needs: nothing of the iteration."""
    z = fixed_point(f, params, x, start)
    return z, (params, x, z)


def backward(f: Any, kept: Any, cotangent: Any) -> tuple[Any, Any, Any]:
    """u = cotangent + (∂f/∂z)ᵀ u is found as z was; then u goes back to parameters and inputs."""
    params, x, z = kept
    _, to_z = vjp(lambda z: f(params, x, z), z)
    u = fixed_point(lambda _, v, u: v + to_z(u)[0], None, cotangent, cotangent)
    _, to_inputs = vjp(lambda params, x: f(params, x, z), params, x)
    return (*to_inputs(u), np.zeros_like(z))


fixed_point.defvjp(forward, backward)


def layer(params: Any, x: Any, z: Any) -> Any:
    """One application; the norm of W, below 1, makes it contract, so that there is one z."""
    w = params["W"] * 0.9 / np.maximum(1.0, np.linalg.norm(params["W"]))
    return np.tanh(z @ w + x @ params["U"] + params["b"])


def loss(params: Any, images: Any, labels: Any, unrolled: bool = False) -> Any:
    """Cross-entropy; `unrolled` applies the layer 200 times and differentiates through them."""
    x = np.reshape(images, (len(images), -1))
    z = np.zeros((len(images), WIDTH))
    if unrolled:
        z, _ = lax.scan(lambda z, _: (layer(params, x, z), None), z, None, length=MOST)
    else:
        z = fixed_point(layer, params, x, z)
    log_probabilities = nn.log_softmax(z @ params["V"])
    return -np.mean(np.take_along_axis(log_probabilities, labels[:, None], axis=1))


def classify(params: Any, images: Any) -> Any:
    """The likeliest digits."""
    x = np.reshape(images, (len(images), -1))
    z = fixed_point(layer, params, x, np.zeros((len(images), WIDTH)))
    return np.argmax(z @ params["V"], axis=1)


def main(epochs: int = 15, quick: bool = False) -> tuple[float, float]:
    """Trains; prints and returns the test accuracy, and how far the gradient is from unrolled."""
    data = scans.load()
    shapes = {"W": (WIDTH, WIDTH), "U": (64, WIDTH), "b": (WIDTH,), "V": (WIDTH, 10)}
    keys = random.split(random.PRNGKey(0), len(shapes))
    params = {n: random.normal(k, s) * 0.1 for k, (n, s) in zip(keys, shapes.items(), strict=True)}
    opt_init, opt_update, get_params = optimizers.adam(3e-3)
    gradient_of = jit(grad(loss), static_argnums=3)
    update = jit(opt_update)

    opt_state = opt_init(params)
    for i, batch in enumerate(scans.batches(len(data.images), BATCH, epochs)):
        if quick and i == 3:
            break
        gradient = gradient_of(get_params(opt_state), data.images[batch], data.labels[batch], False)
        opt_state = update(i, gradient, opt_state)
    params = get_params(opt_state)
    images, labels = data.images[:BATCH], data.labels[:BATCH]
    implicit, through = (gradient_of(params, images, labels, u) for u in (False, True))
    size = optimizers.l2_norm(through)
    apart = optimizers.l2_norm(tree_util.tree_map(np.subtract, implicit, through))
    error = float(apart / size)
    score = float(np.mean(jit(classify)(params, data.test_images) == data.test_labels))
    temporary = [gradient_of.lower(params, images, labels, u).compile().memory_analysis()
                 for u in (False, True)]  # fmt: skip
    a, b = (m.temp_bytes / 1e6 for m in temporary)
    print(f"test accuracy        {score:.4f}")
    print(f"gradient             {error:.1e} from the unrolled loop's, of its norm")
    print(f"temporary memory     {a:.2f} MB; unrolled {b:.2f} MB")
    return score, error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="three steps")
    main(**vars(parser.parse_args()))
