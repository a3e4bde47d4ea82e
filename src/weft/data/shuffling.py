"""Shuffle and shuffle: put examples in a random order, using a buffer."""

import itertools
import logging
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import option_checks
from .stages import RandomFlow, Stage, rows_below

__all__ = ["Shuffle", "shuffle"]


def Shuffle(queue_size: int = 1024, *, seed: int | None = None) -> Stage:
    """A stage that shuffles examples with a buffer.

    It first fills the buffer. Then each new example replaces a random one in the buffer, which is
    returned. At the end it returns the remaining examples in a random order.

    Args:
      queue_size: the number of examples in the buffer.
      seed: the random seed; None draws one from NumPy's global generator for each stream and keeps
        it in the stream's state. Each epoch has another order.
    Returns: a stage.
    Raises: TypeError, ValueError: `queue_size` is not an int of at least 1.
    Example:
      >>> sorted(Shuffle(3, seed=0)(range(6)))
      [0, 1, 2, 3, 4, 5]
    Source: Trax documentation, `data.Shuffle`.
    """
    size = checked_size("Shuffle", queue_size)
    return RandomFlow("Shuffle", lambda examples, rng: _shuffled(examples, size, rng), seed)


def shuffle(samples: Iterable[Any], queue_size: int, *, seed: int | None = None) -> Iterator[Any]:
    """Shuffles examples with a buffer, like `Shuffle`.

    Args:
      samples: the examples.
      queue_size: the number of examples in the buffer.
      seed: the random seed; None draws one from NumPy's global generator.
    Returns: an iterator of the same examples.
    Raises: TypeError, ValueError: `queue_size` is not an int of at least 1.
    Example:
      >>> sorted(shuffle(range(6), 3, seed=0))
      [0, 1, 2, 3, 4, 5]
    Source: Trax documentation, `data.shuffle`.
    """
    size = checked_size("shuffle", queue_size)
    return RandomFlow("shuffle", lambda examples, rng: _shuffled(examples, size, rng), seed)(
        samples
    )


def checked_size(name: str, queue_size: Any) -> int:
    """The size of a buffer. Logs a size of 1, because nothing is shuffled then."""
    size = option_checks.whole_number(name, "queue_size", queue_size)
    if size == 1:
        logging.getLogger(__name__).warning("%s: a buffer of one example changes no order", name)
    return size


def _shuffled(examples: Iterator[Any], size: int, rng: np.random.Generator) -> Iterator[Any]:
    buffer = list(itertools.islice(examples, size))
    if len(buffer) < size:
        logging.getLogger(__name__).info(
            "Shuffle: all %d examples fit into the buffer of %d", len(buffer), size
        )
    for example, row in zip(examples, rows_below(rng, size), strict=False):
        yield buffer[row]
        buffer[row] = example
    for row in rng.permutation(len(buffer)):
        yield buffer[row]
