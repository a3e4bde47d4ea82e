"""Datasets of TensorFlow as streams of NumPy arrays. Knows datasets by their methods only."""

from collections.abc import Iterator
from typing import Any


def dataset_as_numpy(ds: Any, batch_size: int | None = None) -> Iterator[Any]:
    """A stream of a dataset's elements, see `weft.fastmath.dataset_as_numpy`."""
    if not hasattr(ds, "as_numpy_iterator"):
        raise TypeError(
            f"dataset_as_numpy: expected a tf.data.Dataset; got {type(ds).__name__}"
            "\n  fix: iterate over other things as they are"
        )
    return iter(ds.as_numpy_iterator())
