"""Datasets of TensorFlow as streams of NumPy arrays. Knows datasets by their methods only."""

from collections.abc import Iterator
from typing import Any

from ..user_lines import noted


def dataset_as_numpy(ds: Any, batch_size: int | None = None) -> Iterator[Any]:
    """A stream of a dataset's elements; with a batch size, TensorFlow reads so many ahead."""
    if not hasattr(ds, "as_numpy_iterator"):
        raise noted(
            TypeError(
                f"dataset_as_numpy: expected a tf.data.Dataset; got {type(ds).__name__}"
                "\n  fix: iterate over other things as they are"
            )
        )
    if batch_size is not None and batch_size > 1:
        ds = ds.prefetch(batch_size)
    return iter(ds.as_numpy_iterator())
