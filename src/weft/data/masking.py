"""Masked spans, for training models to fill them in: MLM, its stages generate_random_noise_mask and
consume_noise_mask, and the function random_spans_noise_mask.

Source: Raffel et al., Exploring the Limits of Transfer Learning (2020), span corruption.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import option_checks
from .lengths import generate_sequential_chunks, sequence
from .stages import RandomFlow, Stage, Unsuitable, bad_example, checked_seed, each
from .streams import Serial

__all__ = ["MLM", "consume_noise_mask", "generate_random_noise_mask", "random_spans_noise_mask"]


def MLM(
    vocab_size: int | None = None,
    max_length: int | None = None,
    noise_density: float = 0.15,
    mean_noise_span_length: float = 3.0,
    *,
    seed: int | None = None,
) -> Stage:
    """Stages that make pairs of a text with gaps and the tokens of the gaps.

    They are `generate_sequential_chunks`, `generate_random_noise_mask` and `consume_noise_mask`.

    Args:
      vocab_size: the size of the vocabulary; its last ids mark the gaps.
      max_length: the length of the pieces into which texts are split.
      noise_density: the fraction of tokens in gaps.
      mean_noise_span_length: the mean length of gaps.
      seed: the seed of the gaps; None draws one for each stream from NumPy's global generator.
    Returns: a stage from sequences [n], bare or in tuples of one, to pairs (inputs, targets).
    Raises: TypeError, ValueError: an option is invalid; `vocab_size` or `max_length` is None.
    Example:
      >>> import numpy
      >>> for inputs, targets in MLM(100, 20, seed=0)([numpy.arange(10)]):
      ...     print(inputs, targets)
      [ 0  1  2  3  4  5  6  7 99] [99  8  9]
    Source: Trax documentation, `data.MLM`.
    """
    size = option_checks.whole_number("MLM", "vocab_size", vocab_size, 2)
    option_checks.whole_number("MLM", "max_length", max_length)
    return Serial(
        generate_sequential_chunks(max_length),
        generate_random_noise_mask(noise_density, mean_noise_span_length, seed=seed),
        consume_noise_mask(size),
    )


def generate_random_noise_mask(
    noise_density: float = 0.15,
    mean_noise_span_length: float = 3.0,
    seed1: int | None = None,
    seed2: int | None = None,
    *,
    seed: int | None = None,
) -> Stage:
    """A stage that draws a mask of gaps for each sequence, by `random_spans_noise_mask`.

    Args:
      noise_density: the fraction of tokens in gaps.
      mean_noise_span_length: the mean length of gaps.
      seed1: the seed of the lengths of gaps, the same for each sequence; None uses `seed`.
      seed2: the same for the lengths between gaps.
      seed: the seed of the stream; None draws one for each stream from NumPy's global generator.
    Returns: a stage from sequences [n], bare or in tuples of one, to pairs (sequence, mask).
    Raises:
      TypeError, ValueError: an option is invalid.
      ShapeError (while it runs): an example is not one array with one axis.
    Example:
      >>> import numpy
      >>> ((x, mask),) = generate_random_noise_mask(0.5, 2.0, seed=1)([numpy.arange(8)])
      >>> int(mask.sum())
      4
    Source: Trax documentation, `data.generate_random_noise_mask`.
    """
    name = "generate_random_noise_mask"
    _checked_noise(name, noise_density, mean_noise_span_length)
    for option, value in (("seed1", seed1), ("seed2", seed2)):
        checked_seed(name, value, option)

    def run(examples: Iterator[Any], rng: np.random.Generator) -> Iterator[Any]:
        for number, example in enumerate(examples):
            try:
                tokens = sequence(example)
            except Unsuitable as problem:
                raise bad_example(name, number, example, *problem.args) from None
            rngs = [np.random.default_rng(s) if s is not None else rng for s in (seed1, seed2)]
            yield tokens, _spans(len(tokens), noise_density, mean_noise_span_length, *rngs)

    return RandomFlow(name, run, seed)


def consume_noise_mask(vocab_size: int = 32100) -> Stage:
    """A stage that cuts gaps out of sequences: pairs (sequence, mask) become (inputs, targets).

    Each gap of the inputs becomes one id: the last id of the vocabulary for the first gap, the id
    before it for the second, and so on. The targets are made in the same way with the inverted
    mask.

    Args:
      vocab_size: the size of the vocabulary.
    Returns: a stage.
    Raises:
      TypeError, ValueError: `vocab_size` is not an int of at least 2.
      ShapeError (while it runs): an example is not two arrays [n].
    Example:
      >>> import numpy
      >>> tokens, mask = numpy.array([5, 6, 7, 8]), numpy.array([False, True, True, False])
      >>> list(consume_noise_mask(100)([(tokens, mask)]))
      [(array([ 5, 99,  8]), array([99,  6,  7, 98]))]
    Source: Trax documentation, `data.consume_noise_mask`.
    """
    size = option_checks.whole_number("consume_noise_mask", "vocab_size", vocab_size, 2)

    def consume(example: Any) -> tuple[Any, Any]:
        is_pair = isinstance(example, tuple | list) and len(example) == 2
        if not is_pair or np.ndim(example[0]) != 1 or np.shape(example[0]) != np.shape(example[1]):
            raise Unsuitable("a sequence and its mask, of one length", "generate_random_noise_mask")
        tokens, mask = np.asarray(example[0]), np.asarray(example[1], bool)
        return _without(tokens, mask, size), _without(tokens, ~mask, size)

    return each("consume_noise_mask", consume)


def _without(tokens: np.ndarray, mask: np.ndarray, vocab_size: int) -> np.ndarray:
    """Replaces each masked run of tokens by one id: vocab_size - 1 for the first run."""
    begins = mask & ~np.concatenate([[False], mask[:-1]])
    marked = np.where(begins, vocab_size - np.cumsum(begins), tokens).astype(tokens.dtype)
    return np.asarray(marked[~mask | begins])


def random_spans_noise_mask(
    length: int,
    noise_density: float = 0.15,
    mean_noise_span_length: float = 3.0,
    seed1: int | None = None,
    seed2: int | None = None,
    example: Any = None,
) -> np.ndarray:
    """A random mask of gaps for a sequence. The first element is not in a gap.

    round(length · noise_density) tokens, but at least one and not all, are in
    max(round(tokens / mean_noise_span_length), 1) gaps. The lengths of gaps, and of the spans
    between them, are uniformly distributed over all partitions of their sums.

    Args:
      length: the length of the sequence.
      noise_density: the fraction of tokens in gaps.
      mean_noise_span_length: the mean length of gaps.
      seed1: the seed of the lengths of gaps; None draws from NumPy's global generator.
      seed2: the seed of the lengths between gaps.
      example: not used.
    Returns: booleans [length], True in gaps.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> random_spans_noise_mask(8, 0.5, 4.0, seed1=0, seed2=0)
      array([False, False, False, False,  True,  True,  True,  True])
    Source: Trax documentation, `data.random_spans_noise_mask`.
    """
    del example
    name = "random_spans_noise_mask"
    n = option_checks.whole_number(name, "length", length, 0)
    _checked_noise(name, noise_density, mean_noise_span_length)
    seeds = (checked_seed(name, seed1, "seed1"), checked_seed(name, seed2, "seed2"))
    rngs = [np.random.default_rng(np.random.randint(2**31 - 1) if s is None else s) for s in seeds]
    return _spans(n, noise_density, mean_noise_span_length, *rngs)


def _checked_noise(name: str, density: Any, mean_length: Any) -> None:
    option_checks.number(name, "noise_density", density, 0.0, 1.0)
    option_checks.number(name, "mean_noise_span_length", mean_length, above=0.0)


def _spans(
    length: int,
    density: float,
    mean_length: float,
    noise_rng: np.random.Generator,
    text_rng: np.random.Generator,
) -> np.ndarray:
    n = max(length, 2)
    n_noise = min(max(round(n * density), 1), n - 1)
    n_spans = min(max(round(n_noise / mean_length), 1), n - n_noise, n_noise)
    noise = _parts(n_noise, n_spans, noise_rng)
    text = _parts(n - n_noise, n_spans, text_rng)
    lengths = np.stack([text, noise], axis=1).ravel()
    return np.repeat(np.arange(2 * n_spans) % 2 == 1, lengths)[:length]


def _parts(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` positive lengths with sum n. All partitions are equally likely."""
    cuts = np.sort(rng.choice(n - 1, count - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=n)
