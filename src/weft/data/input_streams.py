"""Inputs: streams for training and evaluation in one object, for programs written for Trax. batcher
makes them from streams of examples, and batch_fn makes batches from one stream; make_inputs,
make_additional_stream and make_parallel_stream are for configuration files. New programs pass the
streams of `Serial` to the tasks of `weft.supervised`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..errors import ShapeError
from ..shapes import ShapeDtype
from ..user_lines import noted
from .batching import bucket_by_length, pad_to_max_dims, stacked
from .fields import add_loss_weights
from .mixing import Parallel
from .shuffling import shuffle
from .stages import as_stage, described

__all__ = [
    "Inputs",
    "batch_fn",
    "batcher",
    "make_additional_stream",
    "make_inputs",
    "make_parallel_stream",
]


class Inputs:
    """Streams for training and evaluation.

    Args:
      train_stream: a function from the number of devices to an iterator of batches.
      eval_stream: the same, for evaluation; None means `train_stream`.
      train_eval_stream: the same, for evaluation on training data; None means `train_stream`.

    Raises: TypeError: a stream is not a function.

    Shapes come from the first training batch, which is drawn from a separate stream when a shape is
    first read.

    Example:
      >>> import numpy
      >>> batch = numpy.ones((8, 3), numpy.float32), numpy.zeros(8, numpy.int32)
      >>> inputs = Inputs(lambda n_devices: iter([batch]))
      >>> inputs.input_shape, inputs.target_dtype
      ((3,), dtype('int32'))

    Source: Trax documentation, `data.Inputs`.
    """

    def __init__(
        self,
        train_stream: Callable[[int], Iterator[Any]],
        eval_stream: Callable[[int], Iterator[Any]] | None = None,
        train_eval_stream: Callable[[int], Iterator[Any]] | None = None,
    ) -> None:
        form = "of the number of devices"
        self._train = option_checks.function("Inputs", "train_stream", train_stream, form)
        self._eval = option_checks.function(
            "Inputs", "eval_stream", eval_stream or train_stream, form
        )
        self._train_eval = option_checks.function(
            "Inputs", "train_eval_stream", train_eval_stream or train_stream, form
        )
        self._example: tuple[Any, Any] | None = None

    def train_stream(self, n_devices: int) -> Iterator[Any]:
        """The batches for training."""
        stream: Iterator[Any] = self._train(n_devices)
        return stream

    def eval_stream(self, n_devices: int) -> Iterator[Any]:
        """The batches for evaluation."""
        stream: Iterator[Any] = self._eval(n_devices)
        return stream

    def train_eval_stream(self, n_devices: int) -> Iterator[Any]:
        """The batches for evaluation on training data."""
        stream: Iterator[Any] = self._train_eval(n_devices)
        return stream

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs, or a tuple of shapes, without the batch axis."""
        return _mapped(lambda x: tuple(np.shape(x)[1:]), self._batch()[0])

    @property
    def target_shape(self) -> Any:
        """The shape of the targets, or a tuple of shapes, without the batch axis."""
        return _mapped(lambda x: tuple(np.shape(x)[1:]), self._batch()[1])

    @property
    def input_dtype(self) -> Any:
        """The dtype of the inputs, or a tuple of dtypes."""
        return _mapped(lambda x: np.asarray(x).dtype, self._batch()[0])

    @property
    def target_dtype(self) -> Any:
        """The dtype of the targets, or a tuple of dtypes."""
        return _mapped(lambda x: np.asarray(x).dtype, self._batch()[1])

    @property
    def example_shape_dtype(self) -> Any:
        """The shapes and dtypes of inputs and targets, without the batch axis."""
        return tuple(
            _mapped(lambda x: ShapeDtype(np.shape(x)[1:], np.asarray(x).dtype), part)
            for part in self._batch()
        )

    def _batch(self) -> tuple[Any, Any]:
        if self._example is None:
            batch = next(iter(self._train(1)), None)
            if not isinstance(batch, tuple | list) or len(batch) < 2:
                raise noted(
                    ShapeError(
                        "Inputs: expected batches (inputs, targets, …) of train_stream; got "
                        f"{described(batch)}"
                    )
                )
            self._example = batch[0], batch[1]
        return self._example


def _mapped(function: Callable[[Any], Any], arrays: Any) -> Any:
    if isinstance(arrays, tuple | list):
        return tuple(_mapped(function, x) for x in arrays)
    return function(arrays)


def make_inputs(
    train_stream: Iterable[Any] | Callable[[int], Iterator[Any]],
    eval_stream: Iterable[Any] | Callable[[int], Iterator[Any]] | None = None,
) -> Inputs:
    """Makes `Inputs` from two streams.

    Args:
      train_stream: an iterator of batches, or a function that makes one.
      eval_stream: the same, for evaluation; None means `train_stream`.
    Returns: the inputs.
    Raises: TypeError: a stream is of the wrong type.
    Example:
      >>> import numpy
      >>> make_inputs([(numpy.ones((2, 3)), numpy.zeros(2))]).input_shape
      (3,)
    Source: Trax documentation, `data.inputs.make_inputs`.
    """
    evaluation = None if eval_stream is None else _function("make_inputs", eval_stream)
    return Inputs(_function("make_inputs", train_stream), evaluation)


def _function(name: str, stream: Any) -> Callable[[int], Iterator[Any]]:
    """Converts a stream, or a function that makes one, to a function of the number of devices."""
    if callable(stream):
        return lambda n_devices: _called(stream)
    if not hasattr(stream, "__iter__"):
        raise option_checks.wrong_type(name, "a stream", "an iterator or a function", stream)
    return lambda n_devices: iter(stream)


def _called(function: Callable[..., Any]) -> Iterator[Any]:
    """Calls a function that takes no argument, or one, and returns its stream."""
    return as_stage("Inputs", 0, function).open(None, None, 0)


def make_additional_stream(stream: Any) -> Any:
    """Calls a function that makes a stream, for configuration files.

    Args:
      stream: a function that makes a stream.
    Returns: the stream.
    Raises: TypeError: `stream` is not a function.
    Example:
      >>> next(make_additional_stream(lambda: iter([1, 2])))
      1
    Source: Trax documentation, `data.inputs.make_additional_stream`.
    """
    return option_checks.function("make_additional_stream", "stream", stream, "that makes one")()


def make_parallel_stream(
    streams: Sequence[Any], counters: Sequence[int] | None = None
) -> Iterator[Any]:
    """Combines several streams with `Parallel`.

    Args:
      streams: functions that make streams.
      counters: the number of examples of each stream in a round; None means 1.
    Returns: an iterator.
    Raises: TypeError, ValueError: an argument is invalid.
    Example:
      >>> "".join(make_parallel_stream([lambda: iter("abc"), lambda: iter("xyz")]))
      'axbycz'
    Source: Trax documentation, `data.inputs.make_parallel_stream`.
    """
    return Parallel(streams, counters)()


def batcher(
    data_streams: Any,
    variable_shapes: bool = True,
    batch_size_per_device: int = 32,
    batch_size: int | None = None,
    eval_batch_size: int = 32,
    bucket_length: int = 32,
    buckets: Any = None,
    buckets_include_inputs_in_length: bool = False,
    batch_shuffle_size: int | None = None,
    max_eval_length: int | None = None,
    id_to_mask: int | None = None,
    strict_pad_on_len: bool = False,
) -> Inputs:
    """Makes `Inputs` of batches from two streams of examples, for training and for evaluation.

    Args:
      data_streams: two functions that make streams of (inputs, targets), or two iterables.
      variable_shapes: whether to make batches of examples of similar lengths.
      batch_size_per_device: the number of examples in a batch for each device.
      batch_size: the number of examples in a batch; None computes it from the number per device.
      eval_batch_size: the number of examples in a batch for evaluation.
      bucket_length: the length for which batches have this size; for half the length they have
        twice the size, and so on.
      buckets: the boundaries and batch sizes, as for `BucketByLength`; None derives them from
        `bucket_length`.
      buckets_include_inputs_in_length: whether the length of an example is the larger one of inputs
        and targets; otherwise it is the targets' length.
      batch_shuffle_size: the number of batches for training among which they are shuffled.
      max_eval_length: the largest length for evaluation; None is 32 · bucket_length.
      id_to_mask: the weight of targets with this value is 0.
      strict_pad_on_len: whether to always pad to a multiple of the boundary.
    Returns: inputs of (inputs, targets, weights).
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> import numpy
      >>> examples = [(numpy.ones(5), numpy.ones(5))] * 4
      >>> inputs = batcher((examples, examples), batch_size=2, variable_shapes=False)
      >>> inputs.input_shape
      (5,)
    Source: Trax documentation, `data.batcher`.
    """
    name = "batcher"
    if not isinstance(data_streams, tuple | list) or len(data_streams) != 2:
        raise option_checks.wrong_type(
            name, "data_streams", "two streams, for training and evaluation", data_streams
        )
    functions = [_function(name, stream) for stream in data_streams]

    def stream(training: bool) -> Callable[[int], Iterator[Any]]:
        return lambda n_devices: batch_fn(
            functions[not training](n_devices),
            training,
            n_devices,
            variable_shapes,
            batch_size_per_device,
            batch_size,
            eval_batch_size,
            bucket_length,
            buckets,
            buckets_include_inputs_in_length,
            batch_shuffle_size,
            max_eval_length,
            id_to_mask,
            strict_pad_on_len,
        )

    return Inputs(stream(True), stream(False))


def batch_fn(
    dataset: Iterable[Any],
    training: bool,
    n_devices: int,
    variable_shapes: bool,
    batch_size_per_device: int = 32,
    batch_size: int | None = None,
    eval_batch_size: int = 32,
    bucket_length: int = 32,
    buckets: Any = None,
    buckets_include_inputs_in_length: bool = False,
    batch_shuffle_size: int | None = None,
    max_eval_length: int | None = None,
    id_to_mask: int | None = None,
    strict_pad_on_len: bool = False,
) -> Iterator[Any]:
    """Makes batches from a stream of examples; for the options, see `batcher`.

    Args:
      dataset: an iterable of (inputs, targets).
      training: whether the batches are for training.
      n_devices: the number of devices; the sizes of batches are multiples of it.
      variable_shapes: whether to make batches of examples of similar lengths.
      batch_size_per_device: as for `batcher`.
      batch_size: as for `batcher`.
      eval_batch_size: as for `batcher`.
      bucket_length: as for `batcher`.
      buckets: as for `batcher`.
      buckets_include_inputs_in_length: as for `batcher`.
      batch_shuffle_size: as for `batcher`.
      max_eval_length: as for `batcher`.
      id_to_mask: as for `batcher`.
      strict_pad_on_len: as for `batcher`.
    Returns: an iterator of (inputs, targets, weights).
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> import numpy
      >>> examples = [(numpy.ones(5), numpy.ones(3))] * 4
      >>> x, y, weights = next(batch_fn(examples, True, 1, False, batch_size=2))
      >>> x.shape, y.shape, weights.shape
      ((2, 5), (2, 3), (2, 3))
    Source: Trax documentation, `data.inputs.batch_fn`.
    """
    name = "batch_fn"
    n = option_checks.whole_number(name, "n_devices", n_devices)
    sizes = {"batch_size_per_device": batch_size_per_device, "eval_batch_size": eval_batch_size}
    for option, value in (*sizes.items(), ("bucket_length", bucket_length)):
        option_checks.whole_number(name, option, value)
    total = eval_batch_size
    if training:
        total = batch_size_per_device * n
        if batch_size is not None:
            total = option_checks.whole_number(name, "batch_size", batch_size)
    size = max(total // n, 1) * n
    if variable_shapes:
        boundaries, batch_sizes = buckets or _buckets(
            bucket_length, size, None if training else max_eval_length or 32 * bucket_length
        )
        batch_sizes = [max(b // n, 1) * n for b in batch_sizes]

        def length(example: Any) -> int:
            lengths = [len(x) for x in (example[1], example[0]) if np.ndim(x)]
            return max(lengths if buckets_include_inputs_in_length else lengths[:1], default=0)

        batches = bucket_by_length(dataset, length, boundaries, batch_sizes, strict_pad_on_len)
    else:
        batches = _fixed(iter(dataset), size, strict_pad_on_len, bucket_length)
    if training and batch_shuffle_size is not None:
        batches = shuffle(batches, batch_shuffle_size)
    return add_loss_weights(batches, id_to_mask)


def _buckets(bucket_length: int, size: int, max_length: int | None) -> tuple[list[int], list[int]]:
    """Boundaries and batch sizes for which all batches have about the same number of elements."""
    ratios = [(1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1)]
    boundaries = [max(bucket_length * a // b, 1) for a, b in ratios]
    sizes = [max(size * b // a, 1) for a, b in ratios]
    if max_length is not None:
        smaller = [b for b in boundaries if b < max_length]
        return [*smaller, max_length], [*sizes[: len(smaller)], 1]
    unique = dict(zip(boundaries, sizes, strict=True))  # boundaries may repeat
    return list(unique), [*unique.values(), 1]


def _fixed(examples: Iterator[Any], size: int, strict: bool, bucket_length: int) -> Iterator[Any]:
    def stack(arrays: list[Any]) -> np.ndarray:
        return pad_to_max_dims(arrays, bucket_length if strict else None, strict)

    number, waiting = 0, []
    for example in examples:
        waiting.append(example)
        if len(waiting) == size:
            yield stacked("batch_fn", range(number, number + size), waiting, stack)
            number, waiting = number + size, []
