"""Trains a convolutional classifier of handwritten digits, in plain weft.

The data are scikit-learn's: 1,797 real scans of 8 × 8 pixels. Prints progress and a table of
results, and draws the loss curve and the digits that were misread. The exit status says whether
the goal was met.

    python examples/digits.py [--epochs 20] [--seed 0] [--picture digits.png]
"""

import argparse
import functools
import sys
import time

import numpy as onp
import pictures
from sklearn.datasets import load_digits

import weft.numpy as np
from weft import grad, jit, lax, random, value_and_grad, vmap
from weft.tree_util import tree_leaves, tree_map

TRAINING = 1437  # scans to learn from; the other 360 are for the test
BATCH = 64
STEP_SIZE = 0.05  # at first; it falls to zero in a straight line
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
GOAL = 0.97


# ---- the model ----


def init_params(key):
    """Weights and biases: two convolutions, two dense layers; scaled after He et al. (2015)."""
    shapes = [(3, 3, 1, 32), (3, 3, 32, 64), (2 * 2 * 64, 128), (128, 10)]
    params = []
    for layer_key, shape in zip(random.split(key, len(shapes)), shapes, strict=True):
        inputs = onp.prod(shape[:-1])
        weights = random.normal(layer_key, shape) * float((2.0 / inputs) ** 0.5)
        params.append((weights, np.zeros(shape[-1])))
    return params


def relu(x):
    return np.maximum(x, 0.0)


def convolve(x, weights, bias):
    """A 3 × 3 convolution, and the largest of each 2 × 2: [n, 2h, 2w, c] to [n, h, w, c']."""
    x = lax.conv_general_dilated(
        x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    window = (1, 2, 2, 1)
    return lax.reduce_window(relu(x + bias), -np.inf, lax.max, window, window, "VALID")


def predict(params, images):
    """Logarithms of the probabilities [n, 10] of the digits in images [n, 8, 8, 1]."""
    conv1, conv2, (w1, b1), (w2, b2) = params
    x = convolve(convolve(images, *conv1), *conv2)
    x = relu(np.dot(np.reshape(x, (len(x), -1)), w1) + b1)
    logits = np.dot(x, w2) + b2
    logits = logits - np.max(logits, axis=1, keepdims=True)
    return logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))


def loss(params, images, labels):
    """Cross-entropy, and a little weight decay."""
    chosen = np.take_along_axis(predict(params, images), labels[:, None], axis=1)
    squares = sum(np.sum(weights**2) for weights, _ in params)
    return -np.mean(chosen) + WEIGHT_DECAY * squares


# ---- what is compiled ----

loss_and_gradient = jit(value_and_grad(loss))


@jit
def descend(params, velocity, gradient, step_size):
    """A step of gradient descent with momentum."""
    velocity = tree_map(lambda v, g: MOMENTUM * v - step_size * g, velocity, gradient)
    return tree_map(lambda p, v: p + v, params, velocity), velocity


@jit
def gradient_norms(params, images, labels):
    """For each example by itself, the norm of the gradient that it alone would give."""

    def norm(image, label):
        gradient = grad(loss)(params, image[None], label[None])
        return np.sqrt(sum(np.sum(g**2) for g in tree_leaves(gradient)))

    return vmap(norm)(images, labels)


@jit
def classify(params, images):
    """The likeliest digits."""
    return np.argmax(predict(params, images), axis=1)


# ---- data, training, report ----


def load(key):
    """Images [n, 8, 8, 1] from 0 to 1 and labels [n], shuffled, for training and for the test."""
    digits = load_digits()
    order = onp.asarray(random.permutation(key, len(digits.target)))
    images = digits.images[order, :, :, None].astype("float32") / 16
    labels = digits.target[order].astype("int32")
    return (images[:TRAINING], labels[:TRAINING]), (images[TRAINING:], labels[TRAINING:])


def train(params, images, labels, epochs, key):
    """The trained parameters, and the loss at each step."""
    velocity = tree_map(np.zeros_like, params)
    per_epoch = len(images) // BATCH
    steps = epochs * per_epoch
    losses = []
    for epoch, epoch_key in enumerate(random.split(key, epochs), 1):
        order = onp.asarray(random.permutation(epoch_key, len(images)))
        for batch in order[: per_epoch * BATCH].reshape(per_epoch, BATCH):
            step_size = STEP_SIZE * (1 - len(losses) / steps)
            value, gradient = loss_and_gradient(params, images[batch], labels[batch])
            params, velocity = descend(params, velocity, gradient, step_size)
            losses.append(float(value))
            show_progress(len(losses), steps, f"epoch {epoch:2d}  loss {losses[-1]:.3f}")
    return params, onp.array(losses)


def show_progress(done, total, text):
    """A bar that grows in place; ten plain lines where the output is no terminal."""
    if sys.stdout.isatty():
        bar = ("█" * (30 * done // total)).ljust(30, "░")
        print(f"\r{bar} {100 * done // total:3d} %  {text}", end="\n" if done == total else "")
    elif done % -(-total // 10) == 0 or done == total:
        print(f"{100 * done // total:3d} %  {text}", flush=True)


def draw(losses, images, labels, guesses, figure):
    """The loss curve, and up to fifteen digits that were misread."""
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss on the batch", title="Training")
    wrong = onp.flatnonzero(guesses != labels)
    right.suptitle(f"{len(wrong)} of {len(labels)} misread")
    columns = min(max(len(wrong), 1), 5)
    rows = min(max(-(-len(wrong) // columns), 1), 3)
    for i, place in enumerate(right.subplots(rows, columns, squeeze=False).flat):
        place.set_axis_off()
        if i < len(wrong):
            place.imshow(images[wrong[i], :, :, 0], cmap="gray_r")
            place.set_title(f"{labels[wrong[i]]} read as {guesses[wrong[i]]}", fontsize=8)


def main(epochs=20, seed=0, picture="digits.png", quick=False):
    """Trains, tests and reports; returns the accuracy on the test."""
    begun = time.perf_counter()
    data_key, init_key, order_key = random.split(random.PRNGKey(seed), 3)
    (images, labels), (test_images, test_labels) = load(data_key)
    epochs = 1 if quick else epochs
    params, losses = train(init_params(init_key), images, labels, epochs, order_key)
    seconds = time.perf_counter() - begun

    guesses = onp.asarray(classify(params, test_images))
    right = guesses == test_labels
    norms = onp.asarray(gradient_norms(params, test_images, test_labels))
    accuracy = right.mean()

    rows = {
        "training": f"{len(images)} scans, {len(losses)} steps of {BATCH}, {seconds:.1f} s",
        "loss, first and last epoch": f"{losses[:22].mean():.3f}, {losses[-22:].mean():.3f}",
        "parameters": f"{sum(onp.size(leaf) for leaf in tree_leaves(params)):,}",
        "gradient norm, median of those read right": f"{onp.median(norms[right]):.3f}",
        "gradient norm, median of those misread": (
            f"{onp.median(norms[~right]):.3f}" if not right.all() else "none was misread"
        ),
        "test accuracy": f"{accuracy:.4f} ({right.sum()} of {len(right)}; goal {GOAL})",
    }
    for name, value in rows.items():
        print(f"{name:42s} {value}")
    drawn = functools.partial(draw, losses, test_images, test_labels, guesses)
    pictures.save(picture, drawn, (10, 4))
    return float(accuracy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", default="digits.png", help="where to write the picture")
    parser.add_argument("--quick", action="store_true", help="one epoch")
    sys.exit(0 if main(**vars(parser.parse_args())) >= GOAL else 1)
