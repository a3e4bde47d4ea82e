"""The data of several examples: scikit-learn's 1,797 real scans of handwritten digits."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as onp
from sklearn.datasets import load_digits

from weft import data

Images = onp.ndarray
"""Scans [n, 8, 8, 1] of float32, from 0 (paper) to 1 (ink)."""


class Scans(NamedTuple):
    """Images and their labels, apart for learning and for the test."""

    images: Images
    labels: onp.ndarray
    """The digits: int32 [n]."""
    test_images: Images
    test_labels: onp.ndarray


def load(seed: int = 0, test: int = 360) -> Scans:
    """All scans, shuffled; `test` of them are held out, and never learnt from."""
    digits = load_digits()
    order = onp.random.RandomState(seed).permutation(len(digits.target))
    images = (digits.images[order, :, :, None] / 16).astype("float32")
    labels = digits.target[order].astype("int32")
    return Scans(images[:-test], labels[:-test], images[-test:], labels[-test:])


def batches(count: int, size: int, epochs: int, seed: int = 0) -> Iterator[onp.ndarray]:
    """Indices of batches: in each epoch all of `count` examples once, but for the last few."""
    random = onp.random.RandomState(seed)
    for _ in range(epochs):
        order = random.permutation(count)
        yield from order[: count // size * size].reshape(-1, size)


def moved(images: Images, random: onp.random.RandomState) -> Images:
    """The images, each shifted by up to one pixel either way: more examples of the same digits."""
    padded = onp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = (random.randint(3, size=(2, len(images), 1)) + onp.arange(8)).astype(int)
    n = onp.arange(len(images))[:, None, None]
    return padded[n, rows[:, :, None], columns[:, None, :]]


def stream(images: Images, labels: onp.ndarray, size: int, seed: int = 0) -> Any:
    """Batches (images, labels) without end, in each epoch in another order and shifted anew."""

    def shifted(batches: Iterator[Any], rng: onp.random.Generator) -> Iterator[Any]:
        random = onp.random.RandomState(rng.integers(2**31))
        return ((moved(images, random), labels) for images, labels in batches)

    return data.Serial(
        data.Arrays(images, labels, shuffle=True, epochs=None, seed=seed),
        data.Batch(size),
        data.RandomFlow("Shift", shifted, seed),
        data.Prefetch(2),
    )()
