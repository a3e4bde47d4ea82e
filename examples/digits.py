"""Trains a convolutional classifier on scikit-learn's handwritten digits, in plain weft.

1,797 real scans of 8×8 pixels. Prints progress, a table of results and the test accuracy, and writes
a picture of the loss curve and of the digits that were misread.

    python examples/digits.py [--epochs 30] [--out out]
"""

import argparse
import sys
import time
from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits

import numpy as onp
import weft.numpy as np
from weft import grad, jit, lax, random, value_and_grad, vmap
from weft.tree_util import tree_leaves, tree_map

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BATCH = 64
MASS = 0.9


def data(key):
    """Images [n, 8, 8, 1] in 0…1 and labels [n], split into training and test sets."""
    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[..., None]
    order = onp.asarray(random.permutation(key, len(images)))
    images, labels = images[order], digits.target[order].astype("int32")
    n = 1437
    return (images[:n], labels[:n]), (images[n:], labels[n:])


def init(key):
    """The weights: two convolutions and two dense layers, scaled as He et al. (2015) advise."""
    shapes = [(3, 3, 1, 32), (3, 3, 32, 64), (2 * 2 * 64, 128), (128, 10)]
    params = []
    for k, shape in zip(random.split(key, len(shapes)), shapes, strict=True):
        fan_in = onp.prod(shape[:-1])
        weights = random.normal(k, shape) * float(onp.sqrt(2.0 / fan_in))
        params.append((weights, np.zeros(shape[-1])))
    return params


def relu(x):
    return np.maximum(x, 0.0)


def convolve(x, layer):
    """A 3×3 convolution, and the largest of each 2×2 window."""
    weights, bias = layer
    x = lax.conv_general_dilated(
        x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return lax.reduce_window(
        relu(x + bias), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )


def predict(params, images):
    """Log probabilities [n, 10] of images [n, 8, 8, 1]."""
    first, second, (w1, b1), (w2, b2) = params
    x = convolve(convolve(images, first), second)
    x = relu(np.dot(x.reshape(x.shape[0], -1), w1) + b1)
    logits = np.dot(x, w2) + b2
    logits = logits - np.max(logits, axis=-1, keepdims=True)
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def loss(params, images, labels):
    """Mean cross-entropy, with a little weight decay."""
    chosen = np.take_along_axis(predict(params, images), labels[:, None], axis=1)
    decay = sum(np.sum(w * w) for w, _ in params)
    return -np.mean(chosen) + 1e-4 * decay


@jit
def update(params, velocity, images, labels, step_size):
    """One step of gradient descent with momentum."""
    value, gradient = value_and_grad(loss)(params, images, labels)
    velocity = tree_map(lambda v, g: MASS * v - step_size * g, velocity, gradient)
    return tree_map(np.add, params, velocity), velocity, value


@jit
def gradient_norms(params, images, labels):
    """The norm of the loss's gradient for each example by itself."""

    def norm(image, label):
        g = grad(loss)(params, image[None], label[None])
        return np.sqrt(sum(np.sum(x * x) for x in tree_leaves(g)))

    return vmap(norm)(images, labels)


@jit
def classify(params, images):
    return np.argmax(predict(params, images), axis=-1)


def show(done, total, text):
    """A progress bar; a line at the end when nobody watches."""
    if sys.stdout.isatty():
        bar = "█" * (30 * done // total)
        sys.stdout.write(f"\r{bar:30s} {100 * done // total:3d} % {text}")
        if done == total:
            sys.stdout.write("\n")
    elif done == total or done % max(1, total // 10) == 0:
        sys.stdout.write(f"{100 * done // total:3d} % {text}\n")
    sys.stdout.flush()


def train(params, images, labels, epochs, key):
    """The trained weights, and the loss of every step."""
    velocity = tree_map(np.zeros_like, params)
    steps = len(images) // BATCH
    losses = []
    for epoch in range(epochs):
        key, subkey = random.split(key)
        order = onp.asarray(random.permutation(subkey, len(images)))
        for i in range(steps):
            chosen = order[i * BATCH : (i + 1) * BATCH]
            progress = (epoch * steps + i) / (epochs * steps)
            step_size = onp.float32(0.05 * (1.0 - progress))
            params, velocity, value = update(
                params, velocity, images[chosen], labels[chosen], step_size
            )
            losses.append(value)
        show(epoch + 1, epochs, f"epoch {epoch + 1}, loss {float(losses[-1]):.4f}")
    return params, onp.array([float(v) for v in losses])


def picture(path, losses, images, labels, guesses):
    """The loss curve, and the digits that were misread."""
    wrong = onp.flatnonzero(guesses != labels)[:10]
    figure = plt.figure(figsize=(10, 4.5))
    axes = figure.add_axes((0.07, 0.12, 0.42, 0.8))
    axes.semilogy(losses, lw=0.7)
    axes.set(xlabel="step", ylabel="training loss", title="Loss")
    for place, i in enumerate(wrong):
        row, column = divmod(place, 5)
        small = figure.add_axes((0.54 + 0.09 * column, 0.52 - 0.42 * row, 0.08, 0.3))
        small.imshow(images[i, :, :, 0], cmap="gray_r")
        small.set(xticks=[], yticks=[], title=f"{labels[i]} read as {guesses[i]}")
        small.title.set_fontsize(8)
    figure.text(0.54, 0.92, f"Misread: {int((guesses != labels).sum())} of {len(labels)}")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    begun = time.perf_counter()
    data_key, init_key, order_key = random.split(random.PRNGKey(0), 3)
    (images, labels), (test_images, test_labels) = data(data_key)
    params = init(init_key)
    params, losses = train(params, images, labels, options.epochs, order_key)
    seconds = time.perf_counter() - begun
    guesses = onp.asarray(classify(params, test_images))
    accuracy = float((guesses == test_labels).mean())
    norms = onp.asarray(gradient_norms(params, test_images, test_labels))
    right, wrong = norms[guesses == test_labels], norms[guesses != test_labels]
    rows = [
        ("training examples", f"{len(images)}"),
        ("steps", f"{len(losses)}"),
        ("time", f"{seconds:.1f} s"),
        ("last training loss", f"{losses[-20:].mean():.4f}"),
        ("gradient norm, digits read right", f"{onp.median(right):.4f} (median)"),
        ("gradient norm, digits misread", f"{onp.median(wrong):.4f} (median)" if len(wrong) else "-"),
        ("test accuracy", f"{accuracy:.4f}"),
    ]
    for name, value in rows:
        sys.stdout.write(f"{name:34s} {value}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "digits.png"
    picture(path, losses, test_images, test_labels, guesses)
    sys.stdout.write(f"wrote {path}\n")
    return 0 if accuracy >= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
