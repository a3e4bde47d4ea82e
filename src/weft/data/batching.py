"""Batches of examples: Batch and BucketByLength, with the functions batch, bucket_by_length and
pad_to_max_dims.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..errors import ShapeError
from ..user_lines import noted
from .lengths import length_function
from .stages import Flow, Stage, Unsuitable, bad_example, described

__all__ = ["Batch", "BucketByLength", "batch", "bucket_by_length", "pad_to_max_dims"]


def Batch(batch_size: int) -> Stage:
    """A stage that stacks examples into batches. Shorter arrays are padded with zeros at the end.
    Examples at the end that do not fill a batch are dropped.

    Args:
      batch_size: the number of examples in a batch.
    Returns: a stage from tuples of arrays […] to tuples of arrays [batch_size, …]. Dicts become
      dicts, and bare arrays become bare arrays.
    Raises:
      TypeError, ValueError: `batch_size` is not an int of at least 1.
      ShapeError (while it runs): examples differ in form or number of axes.
    Example:
      >>> import numpy
      >>> list(Batch(2)([(numpy.array([1, 2]), 3), (numpy.array([4]), 5), (numpy.array([6]), 7)]))
      [(array([[1, 2],
             [4, 0]]), array([3, 5]))]
    Source: Trax documentation, `data.Batch`.
    """
    size = option_checks.whole_number("Batch", "batch_size", batch_size)
    return Flow("Batch", lambda examples: _batches(examples, size), passes=True)


def batch(generator: Iterable[Any], batch_size: int) -> Iterator[Any]:
    """Stacks examples into batches, like `Batch`.

    Args:
      generator: the examples.
      batch_size: the number of examples in a batch.
    Returns: an iterator of batches.
    Raises: TypeError, ValueError: `batch_size` is not an int of at least 1.
    Example:
      >>> list(batch([(1, 2), (3, 4), (5, 6)], 2))
      [(array([1, 3]), array([2, 4]))]
    Source: Trax documentation, `data.batch`.
    """
    size = option_checks.whole_number("batch", "batch_size", batch_size)
    return _batches(iter(generator), size)


def _batches(examples: Iterator[Any], size: int) -> Iterator[Any]:
    number, waiting = 0, []
    for example in examples:
        waiting.append(example)
        if len(waiting) == size:
            yield stacked("Batch", range(number, number + size), waiting, pad_to_max_dims)
            number, waiting = number + size, []


def stacked(
    stage: str,
    numbers: Sequence[int],
    examples: list[Any],
    stack: Callable[[list[Any]], np.ndarray],
) -> Any:
    """Stacks examples of one form: returns one example, whose arrays a function stacks."""
    first = examples[0]
    columns: dict[Any, Sequence[Any]]
    if {x.__class__ for x in examples} == {tuple} and len(set(map(len, examples))) == 1:
        columns = dict(enumerate(zip(*examples, strict=True)))
    elif not all(_form(example) == _form(first) for example in examples):
        raise _unlike(stage, numbers, examples, _form)
    elif isinstance(first, tuple | list | Mapping):
        keys = first if isinstance(first, Mapping) else range(len(first))
        columns = {key: [example[key] for example in examples] for key in keys}
    else:
        columns = {None: examples}
    result: dict[Any, np.ndarray] = {}
    for key, column in columns.items():
        arrays = [np.asarray(x) for x in column]
        if len({x.ndim for x in arrays}) > 1:
            raise _unlike(stage, numbers, examples, functools.partial(_rank, key))
        result[key] = stack(arrays)
    if isinstance(first, tuple | list):
        return tuple(result.values())
    return result if isinstance(first, Mapping) else result[None]


def _form(example: Any) -> Any:
    if isinstance(example, Mapping):
        return set(example)
    return len(example) if isinstance(example, tuple | list) else None


def _rank(key: Any, example: Any) -> int:
    return np.ndim(example if key is None else example[key])


def _unlike(
    stage: str, numbers: Sequence[int], examples: list[Any], form: Callable[[Any], Any]
) -> ShapeError:
    """The error for the first example that differs in form from the first one."""
    at = next(i for i, example in enumerate(examples) if form(example) != form(examples[0]))
    expected = f"the fields and axes of example {numbers[0]}, {described(examples[0])}"
    return bad_example(stage, numbers[at], examples[at], expected)


def pad_to_max_dims(
    tensors: Sequence[Any], boundary: Any = None, strict_pad_on_len: bool = False
) -> np.ndarray:
    """Stacks arrays, padding shorter ones with zeros at the end.

    Args:
      tensors: arrays with the same number of axes.
      boundary: None gives each axis the largest length M among the arrays. An int b gives each axis
        the length max(M, b), or, if 2M is less, the next power of two after M. A list has a number
        for each axis: the length becomes the next multiple of it; 0 and None give M.
      strict_pad_on_len: whether an int means multiples too.
    Returns: an array [number of arrays, …].
    Raises:
      TypeError, ValueError: `boundary` is invalid, or its length is not the number of axes.
      ShapeError: there is no array, or the numbers of axes differ.
    Example:
      >>> pad_to_max_dims([[1, 2, 3], [4]])
      array([[1, 2, 3],
             [4, 0, 0]])
      >>> pad_to_max_dims([[1, 2, 3], [4]], boundary=2, strict_pad_on_len=True).shape
      (2, 4)
    Source: Trax documentation, `data.pad_to_max_dims`.
    """
    name = "pad_to_max_dims"
    arrays = [np.asarray(x) for x in tensors]
    if boundary is None and len({x.shape for x in arrays}) == 1:
        return np.stack(arrays)
    if len({x.ndim for x in arrays}) != 1:
        raise noted(
            ShapeError(
                f"{name}: expected arrays with equal numbers of axes; got {described(arrays)}"
            )
        )
    longest = [max(lengths) for lengths in zip(*(x.shape for x in arrays), strict=True)]
    if isinstance(boundary, list | tuple) and len(boundary) != len(longest):
        raise noted(
            ValueError(
                f"{name}: boundary must have one number for each of the {len(longest)} axes; got "
                f"{boundary}"
            )
        )
    if boundary is None:
        lengths = longest
    elif isinstance(boundary, list | tuple):
        lengths = [_multiple(n, _bound(name, b)) for n, b in zip(longest, boundary, strict=True)]
    else:
        to_bound = _multiple if strict_pad_on_len else _bounded
        lengths = [to_bound(n, _bound(name, boundary)) for n in longest]
    return _padded_stack(arrays, lengths)


def _bound(name: str, boundary: Any) -> int:
    return 0 if boundary is None else option_checks.whole_number(name, "boundary", boundary, 0)


def _multiple(n: int, of: int) -> int:
    return -(-n // of) * of if of else n


def _bounded(n: int, boundary: int) -> int:
    if 2 * n < boundary:
        return 1 << max(n - 1, 0).bit_length()
    return max(n, boundary)


def _padded_stack(arrays: list[np.ndarray], lengths: Sequence[int]) -> np.ndarray:
    if all(x.shape == tuple(lengths) for x in arrays):
        return np.stack(arrays)
    result = np.zeros((len(arrays), *lengths), np.result_type(*arrays))
    for row, x in zip(result, arrays, strict=True):
        row[tuple(map(slice, x.shape))] = x
    return result


def BucketByLength(
    boundaries: Sequence[int],
    batch_sizes: Sequence[int],
    length_keys: Sequence[Any] | None = None,
    length_axis: int = 0,
    strict_pad_on_len: bool = False,
) -> Stage:
    """A stage that makes batches of examples of similar lengths.

    An example goes into the bucket of the first boundary that its length does not exceed; longer
    examples go into the last bucket. A full bucket becomes a batch, padded with zeros. At the end,
    examples in buckets that are not full are dropped.

    The axis of the length is padded to the bucket's boundary, or, if the longest example has less
    than half of that length, to the next power of two. Other axes, and the last bucket, are padded
    to the longest example.

    Args:
      boundaries: the boundaries, ascending.
      batch_sizes: the batch size of each bucket, one more than there are boundaries. Without the
        last one, longer examples are an error.
      length_keys: the positions of the arrays whose length counts, as in `FilterByLength`.
      length_axis: the axis of the length.
      strict_pad_on_len: whether to always pad to a multiple of the boundary.
    Returns: a stage from tuples of arrays […] to tuples of arrays [batch, …].
    Raises:
      TypeError, ValueError: an option is invalid, or the numbers of boundaries and sizes do not
        fit.
      ShapeError (while it runs): an example is too long, or does not have the axis.
    Example:
      >>> import numpy
      >>> examples = [(numpy.ones(n),) for n in (2, 7, 3, 5)]
      >>> [x.shape for (x,) in BucketByLength([4, 8], [2, 2, 1])(examples)]
      [(2, 4), (2, 8)]
    Source: Trax documentation, `data.BucketByLength`. There, all axes get the length.
    """
    name = "BucketByLength"
    length = length_function(name, length_keys, length_axis)
    run = _bucketer(name, length, boundaries, batch_sizes, strict_pad_on_len, length_axis)
    return Flow(name, run)


def bucket_by_length(
    generator: Iterable[Any],
    length_fn: Callable[[Any], int],
    boundaries: Sequence[int],
    batch_sizes: Sequence[int],
    strict_pad_on_len: bool = False,
    *,
    length_axis: int = 0,
) -> Iterator[Any]:
    """Makes batches of examples of similar lengths, like `BucketByLength`.

    Args:
      generator: the examples.
      length_fn: a function from an example to its length.
      boundaries: the boundaries of lengths, ascending.
      batch_sizes: the batch size of each bucket.
      strict_pad_on_len: whether to always pad to a multiple of the boundary.
      length_axis: the axis of the length.
    Returns: an iterator of batches.
    Raises:
      TypeError, ValueError: an option is invalid, or the numbers of boundaries and sizes do not
        fit.
      ShapeError (while it runs): an example is too long.
    Example:
      >>> import numpy
      >>> examples = [(numpy.ones(n),) for n in (2, 3)]
      >>> [x.shape for (x,) in bucket_by_length(examples, lambda e: len(e[0]), [4], [2, 1])]
      [(2, 4)]
    Source: Trax documentation, `data.bucket_by_length`.
    """
    name = "bucket_by_length"
    option_checks.function(name, "length_fn", length_fn, "of an example")
    run = _bucketer(name, length_fn, boundaries, batch_sizes, strict_pad_on_len, length_axis)
    return run(iter(generator))


def _bucketer(
    name: str,
    length: Callable[[Any], int],
    boundaries: Sequence[int],
    batch_sizes: Sequence[int],
    strict: bool,
    axis: int,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    bounds = option_checks.lengths(name, "boundaries", boundaries)
    sizes = option_checks.lengths(name, "batch_sizes", batch_sizes)
    if list(bounds) != sorted(set(bounds)):
        raise option_checks.wrong_value(name, "boundaries", "ascending", boundaries)
    if len(sizes) - len(bounds) not in (0, 1):
        raise noted(
            ValueError(
                f"{name}: batch_sizes must have one number more than boundaries; got "
                f"{len(sizes)} and {len(bounds)}"
            )
        )
    option_checks.flag(name, "strict_pad_on_len", strict)
    option_checks.whole_number(name, "length_axis", axis, 0)

    def run(examples: Iterator[Any]) -> Iterator[Any]:
        buckets: list[dict[int, Any]] = [{} for _ in sizes]
        for number, example in enumerate(examples):
            try:
                n = length(example)
            except Unsuitable as problem:
                raise bad_example(name, number, example, *problem.args) from None
            at = next((i for i, bound in enumerate(bounds) if n <= bound), len(bounds))
            if at == len(sizes):
                raise bad_example(
                    name,
                    number,
                    example,
                    f"a length of at most {bounds[-1] if bounds else 0}, not {n}",
                    "one more number in batch_sizes, or FilterByLength before it",
                )
            buckets[at][number] = example
            if len(buckets[at]) == sizes[at]:
                stack = _stacker(axis, bounds[at] if at < len(bounds) else 0, strict)
                yield stacked(name, list(buckets[at]), list(buckets[at].values()), stack)
                buckets[at] = {}

    return run


def _stacker(axis: int, boundary: int, strict: bool) -> Callable[[list[Any]], np.ndarray]:
    """A function that stacks arrays and pads the length axis to a boundary."""

    def stack(tensors: list[Any]) -> np.ndarray:
        arrays = [np.asarray(x) for x in tensors]
        lengths = [max(ns) for ns in zip(*(x.shape for x in arrays), strict=True)]
        if axis < len(lengths):
            to_bound = _multiple if strict else _bounded
            lengths[axis] = to_bound(lengths[axis], boundary)
        return _padded_stack(arrays, lengths)

    return stack
