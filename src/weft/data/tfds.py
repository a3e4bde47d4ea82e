"""Data sets of TensorFlow Datasets: TFDS, data_streams and dataset_to_stream. They need
TensorFlow's packages. They download nothing: `data_dir` is a folder with the prepared data set.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..option_checks import optional
from ..user_lines import noted
from .shuffling import Shuffle
from .sources import Source, fields_of_item
from .stages import Prefetch
from .streams import Serial
from .tf_preprocessing import Preprocess, no_preprocess

__all__ = [
    "TFDS",
    "data_streams",
    "dataset_to_stream",
]


def TFDS(
    dataset_name: str,
    data_dir: str | os.PathLike[str] | None = None,
    tfds_preprocess_fn: Callable[[Any], Any] | None = None,
    keys: Sequence[str] | None = None,
    train: bool = True,
    use_alt_eval: bool = False,
    shuffle_train: bool = True,
    host_id: int | None = None,
    n_hosts: int | None = None,
    eval_holdout_size: float = 0,
    *,
    seed: int | None = None,
) -> Source:
    """An endless source of the examples of a data set of TensorFlow Datasets.

    Args:
      dataset_name: the name, such as "mnist" or "glue/mnli".
      data_dir: the folder in which the data set was prepared; nothing is downloaded.
      tfds_preprocess_fn: a function that maps the tf.data data set to another one.
      keys: the features that become the fields of examples, in this order; None returns dicts.
      train: whether the examples are for training. Examples for evaluation come from the split
        "validation", or if there is none, "test".
      use_alt_eval: for "glue/mnli", whether to evaluate on the mismatched split.
      shuffle_train: whether to read the files of the training data in a random order.
      host_id: the number of this process; None means 0.
      n_hosts: the number of processes, each of which gets a part of the examples; None means 1.
      eval_holdout_size: the fraction at the end of the training data to use for evaluation.
      seed: the seed of the order of files; None draws one from NumPy's global generator for each
        stream.
    Returns: a source of tuples of strings or bytes and NumPy arrays.
    Raises:
      ImportError: tensorflow_datasets or TensorFlow is not installed.
      TypeError, ValueError: an option is invalid; there is no `data_dir`.
    Example::

        train = data.Serial(data.TFDS("mnist", "folder", keys=("image", "label")), data.Batch(64))
        for images, labels in train():
            ...

    Source: Trax documentation, `data.TFDS`, which downloads.
    """
    name = "TFDS"
    builder = _builder(name, dataset_name, data_dir)
    tfds = optional("tensorflow_datasets", name, "tensorflow-datasets")
    for option, value in (("train", train), ("shuffle_train", shuffle_train)):
        option_checks.flag(name, option, value)
    n = option_checks.whole_number(name, "n_hosts", 1 if n_hosts is None else n_hosts)
    host = option_checks.whole_number(name, "host_id", host_id or 0, 0)
    if host >= n:
        raise option_checks.wrong_value(name, "host_id", f"less than n_hosts={n}", host_id)
    split = _split(name, builder, dataset_name, train, use_alt_eval, eval_holdout_size)
    if n > 1:
        split = tfds.even_splits(split, n)[host]

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        options = {}
        if seed is not None:
            options = {
                "shuffle_files": True,
                "read_config": tfds.ReadConfig(shuffle_seed=(seed + number) % 2**31),
            }
        dataset = builder.as_dataset(split=split, **options)
        if tfds_preprocess_fn is not None:
            dataset = tfds_preprocess_fn(dataset)
        examples: Iterator[Any] = dataset.skip(start).as_numpy_iterator()
        return examples

    shuffle = train and shuffle_train
    convert = lambda item: fields_of_item(name, item, keys)  # noqa: E731
    return Source(f"{name}({dataset_name!r})", read, convert, None, shuffle, seed)


def _builder(name: str, dataset_name: Any, data_dir: Any) -> Any:
    if data_dir is None:
        raise noted(
            ValueError(
                f"{name}: expected data_dir, the folder in which {dataset_name!r} was prepared\n"
                f"  fix: tensorflow_datasets.load({dataset_name!r}, data_dir=…) downloads it "
                "there; weft never does"
            )
        )
    tfds = optional("tensorflow_datasets", name, "tensorflow-datasets")
    builder = tfds.builder(dataset_name, data_dir=os.fspath(data_dir))
    if not builder.info.splits:
        raise noted(
            ValueError(
                f"{name}: {dataset_name!r} was not prepared in {os.fspath(data_dir)!r}\n"
                f"  fix: tensorflow_datasets.load({dataset_name!r}, data_dir=…) downloads it there"
            )
        )
    return builder


def _split(
    name: str, builder: Any, dataset_name: str, train: bool, alternative: bool, holdout: float
) -> str:
    """The name of the split of examples for training or evaluation."""
    splits = builder.info.splits
    option_checks.number(name, "eval_holdout_size", holdout, 0.0, 1.0)
    if holdout:
        n = splits["train"].num_examples
        n_train = n - int(n * holdout)
        return f"train[:{n_train}]" if train else f"train[{n_train}:]"
    if train:
        return "train"
    if dataset_name == "glue/mnli":
        return "validation_mismatched" if alternative else "validation_matched"
    for split in ("validation", "test"):
        if split in splits:
            return split
    raise noted(
        ValueError(
            f"{name}: {dataset_name!r} has the splits {sorted(splits)}, none for evaluation\n"
            "  fix: eval_holdout_size=0.1"
        )
    )


def data_streams(
    dataset_name: str,
    data_dir: str | os.PathLike[str] | None = None,
    preprocess_fn: Preprocess = no_preprocess,
    bare_preprocess_fn: Preprocess | None = None,
    shuffle_buffer_size: int = 1024,
    eval_holdout_size: float = 0,
    input_name: str | None = None,
    target_name: str | None = None,
    *,
    seed: int | None = None,
) -> tuple[Serial, Serial]:
    """Two functions that make endless streams from a data set of TensorFlow Datasets.

    Args:
      dataset_name: as for `TFDS`.
      data_dir: as for `TFDS`.
      preprocess_fn: (dataset, training) -> dataset, for data sets of ({input_name: x}, y).
      bare_preprocess_fn: (dataset, training) -> dataset, applied first, to data sets of dicts.
      shuffle_buffer_size: the buffer in which examples for training are shuffled.
      eval_holdout_size: as for `TFDS`.
      input_name: the feature that is the input; None means the data set's own input.
      target_name: the feature that is the target; None means the data set's own target.
      seed: the seed of the order; None draws one from NumPy's global generator for each stream.
    Returns: a function for training and one for evaluation, which make streams of (input, target).
    Raises: as `TFDS`.
    Example::

        train, evaluation = data.data_streams("mnist", "folder")
        image, label = next(train())

    Source: Trax documentation, `data.data_streams`.
    """
    name = "data_streams"
    builder = _builder(name, dataset_name, data_dir)
    supervised_keys = builder.info.supervised_keys or (None, None)
    inputs, target = input_name or supervised_keys[0], target_name or supervised_keys[1]
    if inputs is None or target is None:
        raise noted(ValueError(f"{name}: {dataset_name!r} needs input_name and target_name"))

    def source(training: bool) -> Source:
        def preprocessed(dataset: Any) -> Any:
            if bare_preprocess_fn is not None:
                dataset = bare_preprocess_fn(dataset, training)
            pairs = dataset.map(lambda x: ({inputs: x[inputs]}, x[target]))
            return preprocess_fn(pairs, training)

        split = _split(name, builder, dataset_name, training, False, eval_holdout_size)

        def read(seed: Any, number: int, start: int) -> Iterator[Any]:
            dataset = preprocessed(builder.as_dataset(split=split)).skip(start)
            return iter(dataset.as_numpy_iterator())

        return Source(name, read, lambda item: _pair(item, inputs), epochs=None)

    shuffled = Shuffle(shuffle_buffer_size, seed=seed)
    return Serial(source(True), shuffled, Prefetch(8)), Serial(source(False), Prefetch(8))


def dataset_to_stream(dataset: Any, input_name: str) -> Iterator[Any]:
    """The examples of a data set of ({input_name: x}, y).

    Args:
      dataset: a data set of tf.data, or another iterable of such pairs.
      input_name: the name of the input.
    Returns: an iterator of (x, y), or of (x, y, mask) if the inputs have a "mask"; uint8 and int64
      become int32.
    Example:
      >>> import numpy
      >>> list(dataset_to_stream([({"image": numpy.uint8([3])}, numpy.int64(1))], "image"))
      [(array([3], dtype=int32), array(1, dtype=int32))]
    Source: Trax documentation, `data.tf_inputs.dataset_to_stream`.
    """
    has_arrays = hasattr(dataset, "as_numpy_iterator")
    items: Iterable[Any] = dataset.as_numpy_iterator() if has_arrays else dataset
    return (_pair(item, input_name) for item in items)


def _pair(item: Any, input_name: str) -> tuple[Any, ...]:
    inputs, target = item
    fields = [inputs[input_name], target]
    if "mask" in inputs:
        fields.append(inputs["mask"])
    return tuple(map(_as_int32, fields))


def _as_int32(x: Any) -> Any:
    array = np.asarray(x)
    return array.astype(np.int32) if array.dtype in (np.uint8, np.int64) else array
