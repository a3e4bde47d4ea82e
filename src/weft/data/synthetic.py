"""Synthetic batches: sequence_copy_inputs, simple_sequence_copy_inputs, addition_inputs and
addition_input_stream, sine_inputs and random_inputs.

Numbers as digits, the lowest digit first: number_to_lower_endian, lower_endian_to_number and
random_number_lower_endian.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..typing import DTypeLike
from ..user_lines import noted
from .batching import pad_to_max_dims
from .input_streams import Inputs
from .stages import checked_seed, drawn_seed

__all__ = [
    "addition_input_stream",
    "addition_inputs",
    "lower_endian_to_number",
    "number_to_lower_endian",
    "random_inputs",
    "random_number_lower_endian",
    "sequence_copy_inputs",
    "simple_sequence_copy_inputs",
    "sine_inputs",
]


def sequence_copy_inputs(
    vocab_size: int,
    batch_size: int,
    train_length: int,
    eval_min_length: int,
    eval_max_length: int,
    reverse: bool = False,
    pad_to_multiple: int = 32,
    *,
    seed: int | None = None,
) -> Inputs:
    """Batches for learning to copy: each row is 0 w 0 w, for a random word w.

    Args:
      vocab_size: the number of symbols; words use 1 to vocab_size - 2.
      batch_size: the number of rows in a batch; all have the same length.
      train_length: training rows are at most twice this long.
      eval_min_length: the minimal length of evaluation words.
      eval_max_length: evaluation words are shorter than this.
      reverse: whether the second word is reversed.
      pad_to_multiple: rows are padded with zeros to a multiple of this length.
      seed: the seed of the words; None draws one from NumPy's global generator for each stream.
    Returns: inputs with endless streams of (x, x, weights), int32 and float32 [batch, length]; the
      weights are 1 on the second word.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> inputs = sequence_copy_inputs(10, 2, 4, 1, 3, pad_to_multiple=8, seed=0)
      >>> next(inputs.train_stream(1))[0].shape
      (2, 8)
    Source: Trax documentation, `data.sequence_copy_inputs`.
    """
    name = "sequence_copy_inputs"
    option_checks.flag(name, "reverse", reverse)

    def rows(word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        zeros = np.zeros((len(word), 1), np.int32)
        second = word[:, ::-1] if reverse else word
        x = np.concatenate([zeros, word, zeros, second], axis=1)
        weights = np.zeros(x.shape, np.float32)
        weights[:, x.shape[1] - word.shape[1] :] = 1
        return x, weights

    options = (vocab_size, batch_size, train_length, eval_min_length, eval_max_length)
    return _words(name, rows, lambda total: total // 2 - 1, options, pad_to_multiple, seed)


def simple_sequence_copy_inputs(
    vocab_size: int,
    batch_size: int,
    train_length: int,
    eval_min_length: int,
    eval_max_length: int,
    pad_to_multiple: int = 32,
    *,
    seed: int | None = None,
) -> Inputs:
    """Batches of random words, for an encoder and a decoder that copy.

    Args:
      vocab_size: the number of symbols; words use 1 to vocab_size - 2.
      batch_size: the number of rows in a batch; all have the same length.
      train_length: training words are at most twice this long.
      eval_min_length: evaluation words are at least twice this long.
      eval_max_length: evaluation words are at most twice this long.
      pad_to_multiple: words are padded with zeros to a multiple of this length.
      seed: the seed of the words; None draws one from NumPy's global generator for each stream.
    Returns: inputs with endless streams of (x, x, weights), int32 and float32 [batch, length]; the
      weights are 1 on the words.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> inputs = simple_sequence_copy_inputs(10, 2, 4, 1, 3, pad_to_multiple=8, seed=0)
      >>> next(inputs.train_stream(1))[0].shape
      (2, 8)
    Source: Trax documentation, `data.simple_sequence_copy_inputs`.
    """

    def rows(word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return word, np.ones(word.shape, np.float32)

    options = (vocab_size, batch_size, train_length, eval_min_length, eval_max_length)
    name = "simple_sequence_copy_inputs"
    return _words(name, rows, lambda total: total, options, pad_to_multiple, seed)


def _words(
    name: str,
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    word_length: Callable[[int], int],
    options: tuple[Any, ...],
    pad_to_multiple: int,
    seed: int | None,
) -> Inputs:
    """Inputs with batches made from random words."""
    option_names = ("vocab_size", "batch_size", "train_length", "eval_min_length")
    least = (3, 1, 2, 1)
    symbols, batch_size, train_length, eval_min = (
        option_checks.whole_number(name, option, value, n)
        for option, value, n in zip(option_names, options, least, strict=False)
    )
    eval_max = option_checks.whole_number(name, "eval_max_length", options[4], eval_min + 1)
    multiple = option_checks.whole_number(name, "pad_to_multiple", pad_to_multiple)
    checked_seed(name, seed)

    def stream(totals: Sequence[int], number: int) -> Iterator[Any]:
        rng = np.random.default_rng([drawn_seed(seed), number])
        while True:
            shape = batch_size, word_length(int(rng.choice(totals)))
            x, weights = rows(rng.integers(1, symbols - 1, shape, np.int32))
            x, weights = (_to_multiple(array, multiple) for array in (x, weights))
            yield x, x, weights

    train = range(4, 2 * train_length + 1, 2)
    evaluation = range(2 * (eval_min + 1), 2 * (eval_max + 1), 2)
    return Inputs(lambda _: stream(train, 0), lambda _: stream(evaluation, 1))


def _to_multiple(batch: np.ndarray, multiple: int) -> np.ndarray:
    return pad_to_max_dims(list(batch), [multiple] * (batch.ndim - 1))


def addition_inputs(
    vocab_size: int,
    batch_size: int,
    train_length: int,
    eval_min_length: int,
    eval_max_length: int,
    pad_to_multiple: int = 32,
    encdec: bool = False,
    *,
    seed: int | None = None,
) -> Inputs:
    """Batches for learning to add: rows of two numbers and their sum.

    Args:
      vocab_size: the number of symbols; see `addition_input_stream`.
      batch_size: the number of rows in a batch.
      train_length: the maximal length of `x+y`, in symbols, in training; at least 3.
      eval_min_length: the minimal length of `x+y` in evaluation, at least 3.
      eval_max_length: the maximal length of `x+y` in evaluation.
      pad_to_multiple: rows are padded with zeros to a multiple of this length.
      encdec: whether the sum is a separate sequence, for an encoder and a decoder.
      seed: the seed of the numbers; None draws one from NumPy's global generator for each stream.
    Returns: inputs with endless streams of the batches of `addition_input_stream`.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> inputs = addition_inputs(13, 2, 6, 3, 5, pad_to_multiple=8, seed=0)
      >>> next(inputs.train_stream(1))[0].shape
      (2, 16)
    Source: Trax documentation, `data.addition_inputs`.
    """
    checked_seed("addition_inputs", seed)

    def stream(least: int, most: int, number: int) -> Iterator[Any]:
        rng = np.random.default_rng([drawn_seed(seed), number])
        options = (vocab_size, batch_size, least, most, pad_to_multiple, encdec)
        return _additions("addition_inputs", *options, rng)

    return Inputs(
        lambda _: stream(3, train_length, 0),
        lambda _: stream(eval_min_length, eval_max_length, 1),
    )


def addition_input_stream(
    vocab_size: int,
    batch_size: int,
    min_length: int,
    max_length: int,
    pad_to_multiple: int = 32,
    encdec: bool = False,
    *,
    seed: int | None = None,
) -> Iterator[Any]:
    """An endless stream of batches of two numbers and their sum.

    In the base b = vocab_size - 3, a digit d is written as d + 1, the lowest digit first; b + 1 is
    the plus sign, b + 2 stands before both numbers and before the sum, and 0 is padding.

    Args:
      vocab_size: the number of symbols.
      batch_size: the number of rows in a batch.
      min_length: the minimal length of `x+y`, in symbols; at least 3.
      max_length: the maximal length of `x+y`.
      pad_to_multiple: rows are padded with zeros to a multiple of this length.
      encdec: whether the sum is a separate sequence, for an encoder and a decoder.
      seed: the seed of the numbers; None draws one from NumPy's global generator.
    Returns: an iterator of (x, x, weights), int32 and float32 [batch, length], with weights of 1 on
      the sum; with `encdec`, of (`x+y`, sum, weights), without the symbol b + 2.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> x, _, weights = next(addition_input_stream(13, 1, 3, 3, pad_to_multiple=8, seed=3))
      >>> print(x, weights)
      [[12  9 11  1 12  9  0  0]] [[0. 0. 0. 0. 0. 1. 0. 0.]]
    Source: Trax documentation, `data.addition_input_stream`.
    """
    rng = np.random.default_rng(drawn_seed(checked_seed("addition_input_stream", seed)))
    options = (vocab_size, batch_size, min_length, max_length, pad_to_multiple, encdec)
    return _additions("addition_input_stream", *options, rng)


def _additions(
    name: str,
    vocab_size: int,
    batch_size: int,
    min_length: int,
    max_length: int,
    pad_to_multiple: int,
    encdec: bool,
    rng: np.random.Generator,
) -> Iterator[Any]:
    base = option_checks.whole_number(name, "vocab_size", vocab_size, 5) - 3
    option_checks.whole_number(name, "batch_size", batch_size)
    option_checks.whole_number(name, "min_length", min_length, 3)
    option_checks.whole_number(name, "max_length", max_length, min_length)
    option_checks.whole_number(name, "pad_to_multiple", pad_to_multiple)
    option_checks.flag(name, "encdec", encdec)

    def row() -> list[list[int]]:
        digits = int(rng.integers(min_length - 1, max_length))
        first = int(rng.integers(1, digits))
        x, y = _random_digits(first, base, rng), _random_digits(digits - first, base, rng)
        total = lower_endian_to_number(x, base) + lower_endian_to_number(y, base)
        left = [*(d + 1 for d in x), base + 1, *(d + 1 for d in y)]
        result = [d + 1 for d in number_to_lower_endian(total, base)]
        if encdec:
            return [left, result, [1] * len(result)]
        whole = [base + 2, *left, base + 2, *result]
        return [whole, whole, [0] * (len(whole) - len(result)) + [1] * len(result)]

    def batches() -> Iterator[Any]:
        while True:
            rows = [row() for _ in range(batch_size)]
            x, y, weights = (
                pad_to_max_dims(column, [pad_to_multiple]) for column in zip(*rows, strict=True)
            )
            yield x.astype(np.int32), y.astype(np.int32), weights.astype(np.float32)

    return batches()


def _random_digits(length: int, base: int, rng: np.random.Generator) -> list[int]:
    """The digits of a random number. The highest digit is not 0, unless it is the only one."""
    digits: list[int] = rng.integers(base, size=length).tolist()
    if length > 1:
        digits[-1] = int(rng.integers(1, base))
    return digits


def random_number_lower_endian(length: int, base: int, *, seed: int | None = None) -> list[int]:
    """The digits of a random number, lowest first; the highest digit is not 0, unless it is the
    only one.

    Args:
      length: the number of digits.
      base: the base of the number.
      seed: the seed of the digits; None draws one from NumPy's global generator.
    Returns: a list of ints.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> len(random_number_lower_endian(3, 10))
      3
    Source: Trax documentation, `data.inputs.random_number_lower_endian`.
    """
    name = "random_number_lower_endian"
    option_checks.whole_number(name, "length", length)
    option_checks.whole_number(name, "base", base, 2)
    rng = np.random.default_rng(drawn_seed(checked_seed(name, seed)))
    return _random_digits(length, base, rng)


def number_to_lower_endian(n: int, base: int) -> list[int]:
    """The digits of a number, lowest first.

    Args:
      n: an int of at least 0.
      base: the base of the number.
    Returns: a list of ints, [0] for 0.
    Raises: TypeError, ValueError: an argument is invalid.
    Example:
      >>> number_to_lower_endian(120, 10)
      [0, 2, 1]
    Source: Trax documentation, `data.inputs.number_to_lower_endian`.
    """
    rest = option_checks.whole_number("number_to_lower_endian", "n", n, 0)
    option_checks.whole_number("number_to_lower_endian", "base", base, 2)
    digits = [rest % base]
    while rest >= base:
        rest //= base
        digits.append(rest % base)
    return digits


def lower_endian_to_number(l: Sequence[int], base: int) -> int:  # noqa: E741  # as Trax has it
    """Converts digits, lowest first, to a number.

    Args:
      l: the digits.
      base: the base of the number.
    Returns: an int.
    Raises: TypeError, ValueError: `base` is not an int of at least 2.
    Example:
      >>> lower_endian_to_number([0, 2, 1], 10)
      120
    Source: Trax documentation, `data.inputs.lower_endian_to_number`.
    """
    option_checks.whole_number("lower_endian_to_number", "base", base, 2)
    number = 0
    for digit in reversed(l):
        number = number * base + int(digit)
    return number


def sine_inputs(
    batch_size: int,
    length: int,
    max_phase: float = 2 * math.pi,
    min_period: float = 0.1,
    max_period: float = 10.0,
    *,
    seed: int | None = None,
) -> Inputs:
    """Batches of sine waves with random phases and periods: sin((t - phase) / period), t = 0, 1, ….

    Args:
      batch_size: the number of waves in a batch.
      length: the number of points of a wave.
      max_phase: the maximal phase; phases are uniform from 0.
      min_period: the shortest period; the logarithms of periods are uniform.
      max_period: the longest period.
      seed: the seed of phases and periods; None draws one from NumPy's global generator for each
        stream.
    Returns: inputs with endless streams of (waves, zeros, waves, ones): the observations with
      actions of 0, and weights of 1; float32 [batch, length], zeros int32.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> next(sine_inputs(2, 5, seed=0).train_stream(1))[0].shape
      (2, 5)
    Source: Trax documentation, `data.sine_inputs`.
    """
    name = "sine_inputs"
    shape = tuple(
        option_checks.whole_number(name, option, value)
        for option, value in (("batch_size", batch_size), ("length", length))
    )
    option_checks.number(name, "max_phase", max_phase)
    option_checks.number(name, "min_period", min_period, above=0.0)
    option_checks.number(name, "max_period", max_period, min_period)
    checked_seed(name, seed)

    def stream(number: int) -> Iterator[Any]:
        rng = np.random.default_rng([drawn_seed(seed), number])
        times = np.arange(shape[1])
        while True:
            phases = rng.uniform(0.0, max_phase, (shape[0], 1))
            periods = np.exp(rng.uniform(math.log(min_period), math.log(max_period), (shape[0], 1)))
            waves = np.sin((times - phases) / periods).astype(np.float32)
            yield waves, np.zeros(shape, np.int32), waves, np.ones(shape, np.float32)

    return Inputs(lambda _: stream(0), lambda _: stream(1))


def random_inputs(
    input_shape: Sequence[int],
    input_dtype: DTypeLike = np.int32,
    input_range: tuple[float, float] = (0, 255),
    output_shape: Sequence[int] | None = None,
    output_dtype: DTypeLike = np.int32,
    output_range: tuple[float, float] = (0, 9),
    *,
    seed: int | None = None,
) -> Inputs:
    """Batches of random numbers, for testing a model.

    Args:
      input_shape: the shape of the inputs, with the batch axis.
      input_dtype: the dtype of the inputs, an integer or float dtype.
      input_range: the smallest and the largest input.
      output_shape: the shape of the targets, with the batch axis.
      output_dtype: the dtype of the targets.
      output_range: the smallest and the largest target.
      seed: the seed of the numbers; None draws one from NumPy's global generator for each stream.
    Returns: inputs with endless streams of (inputs, targets, ones like the targets).
    Raises: TypeError, ValueError: an option is invalid; there is no `output_shape`.
    Example:
      >>> x, y, weights = next(random_inputs((2, 3), output_shape=(2,), seed=0).train_stream(1))
      >>> x.shape, y.shape, weights
      ((2, 3), (2,), array([1., 1.], dtype=float32))
    Source: Trax documentation, `data.random_inputs`.
    """
    name = "random_inputs"
    shapes = [
        option_checks.lengths(name, option, shape)
        for option, shape in (("input_shape", input_shape), ("output_shape", output_shape))
    ]
    ranges = [
        _checked_range(name, option, interval)
        for option, interval in (("input_range", input_range), ("output_range", output_range))
    ]
    dtypes = [np.dtype(input_dtype), np.dtype(output_dtype)]
    checked_seed(name, seed)

    def draw(rng: np.random.Generator, i: int) -> np.ndarray:
        low, high = ranges[i]
        if dtypes[i].kind in "iu":
            return rng.integers(int(low), int(high) + 1, shapes[i]).astype(dtypes[i])
        return rng.uniform(low, high, shapes[i]).astype(dtypes[i])

    def stream(number: int) -> Iterator[Any]:
        rng = np.random.default_rng([drawn_seed(seed), number])
        while True:
            yield draw(rng, 0), draw(rng, 1), np.ones(shapes[1], np.float32)

    return Inputs(lambda _: stream(0), lambda _: stream(1))


def _checked_range(name: str, option: str, interval: Any) -> tuple[float, float]:
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise option_checks.wrong_type(name, option, "two numbers such as (0, 255)", interval)
    low, high = (option_checks.number(name, option, x) for x in interval)
    if low > high:
        raise noted(ValueError(f"{name}: {option} must ascend; got {interval}"))
    return low, high
