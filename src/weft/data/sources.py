"""Sources of examples, from memory or from loaders: Arrays and Examples; Source is their class.

A source goes through its data in passes. Its position consists of the number of the pass and the
number of the example in it, so it can start anywhere without reading the examples before.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..errors import CheckpointError, ShapeError
from ..user_lines import noted
from .stages import Stage, checked_seed, drawn_seed

__all__ = ["Arrays", "Examples", "Source"]


class Source(Stage):
    """A stage that reads data, and can start at any position.

    Args:
      name: the name for errors and saved positions.
      read: called with a seed, the number of a pass and the number of an example; returns an
        iterator of the examples of the pass, starting with that one.
      convert: converts an item of `read` to an example; None leaves it unchanged.
      epochs: the number of passes of an epoch of the stream; None for an endless stream.
      shuffle: whether `read` depends on the seed.
      seed: an int of at least 0; None draws one from NumPy's global generator for each stream.

    Example:
      >>> countdown = Source("countdown", lambda seed, n, start: iter(range(3 - start, 0, -1)))
      >>> list(countdown())
      [3, 2, 1]
    """

    def __init__(
        self,
        name: str,
        read: Callable[[Any, int, int], Iterator[Any]],
        convert: Callable[[Any], Any] | None = None,
        epochs: int | None = 1,
        shuffle: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(name)
        self.read = read
        self.convert = convert
        self.epochs = None if epochs is None else option_checks.whole_number(name, "epochs", epochs)
        self.shuffle = option_checks.flag(name, "shuffle", shuffle)
        self.seed = checked_seed(name, seed)

    def begin(self) -> int | None:
        return drawn_seed(self.seed) if self.shuffle else None

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> "Reading":
        first = 0 if self.epochs is None else epoch * self.epochs
        return Reading(self, begun, first)


class Reading(Iterator[Any]):
    """An iterator of the examples of a source, starting at a pass, with a position."""

    def __init__(self, source: Source, seed: Any, first: int) -> None:
        self.source = source
        self.seed = seed
        self.end = None if source.epochs is None else first + source.epochs
        self.number = first
        self.index = 0
        self.items: Iterator[Any] | None = None

    def __next__(self) -> Any:
        while self.number != self.end:
            if self.items is None:
                self.items = self.source.read(self.seed, self.number, self.index)
            for item in self.items:
                self.index += 1
                return item if self.source.convert is None else self.source.convert(item)
            if self.index == 0:
                return self._nothing()
            self.number, self.index, self.items = self.number + 1, 0, None
        raise StopIteration

    def _nothing(self) -> Any:
        if self.end is None or self.number < self.end - 1:
            raise noted(ValueError(f"{self.source.name}: pass {self.number} has no examples"))
        raise StopIteration

    def get_state(self) -> dict[str, Any]:
        """The number of the pass and of the next example, and a loader's own position."""
        state: dict[str, Any] = {"pass": self.number, "index": self.index}
        items: Any = self.items
        if hasattr(items, "get_state") and hasattr(items, "set_state"):
            state["loader"] = items.get_state()
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Sets the position."""
        if not isinstance(state, Mapping) or not {"pass", "index"} <= set(state):
            raise noted(
                CheckpointError(
                    f"{self.source.name}: expected a position {{'pass': …, 'index': …}}; "
                    f"got {state}"
                )
            )
        self.number, self.index = state["pass"], state["index"]
        if "loader" in state:
            self.items = self.source.read(self.seed, self.number, 0)
            self.items.set_state(state["loader"])  # type: ignore[attr-defined]
        else:
            self.items = None


def Arrays(
    *arrays: Any, shuffle: bool = False, epochs: int | None = 1, seed: int | None = None
) -> Source:
    """A source of the rows of arrays.

    Args:
      *arrays: arrays [n, …] of NumPy, or objects that convert to one. They are not copied.
      shuffle: whether each pass has its own random order.
      epochs: the number of passes until the stream ends; None for an endless stream.
      seed: the seed of the order; None draws one from NumPy's global generator for each stream.
    Returns: a source of tuples of arrays […]. Its position can be set without reading examples.
    Raises:
      TypeError, ValueError: an option is invalid.
      ShapeError: there is no array, or the first axes differ in their lengths.
    Example:
      >>> import numpy
      >>> x, y = numpy.arange(6).reshape(3, 2), numpy.array([0, 1, 0])
      >>> list(Arrays(x, y)())
      [(array([0, 1]), np.int64(0)), (array([2, 3]), np.int64(1)), (array([4, 5]), np.int64(0))]
    """
    rows = [np.asanyarray(x) for x in arrays]
    if len({x.shape[:1] for x in rows}) != 1 or not rows[0].ndim:
        raise noted(
            ShapeError(
                "Arrays: expected arrays with equal numbers of rows; got the shapes "
                f"{[x.shape for x in rows]}"
            )
        )

    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        order = range(len(rows[0])) if seed is None else _order(seed, number, len(rows[0]))
        return (tuple(x[i] for x in rows) for i in order[start:])

    return Source("Arrays", read, None, epochs, shuffle, seed)


def _order(seed: int, number: int, n: int) -> Sequence[int]:
    order: list[int] = np.random.default_rng([seed, number]).permutation(n).tolist()
    return order


def Examples(
    dataset: Iterable[Any],
    keys: Sequence[Any] | None = None,
    shuffle: bool = False,
    epochs: int | None = 1,
    seed: int | None = None,
) -> Source:
    """A source of the examples of a list, or of another library's data set or loader.

    It takes data sets of tf.data, grain, PyTorch and Hugging Face, loaders of PyTorch and grain,
    and any other iterable. It imports no library. A data set with a length and numbered examples is
    read by number, so its position can be set without reading examples. An iterator with
    `get_state` and `set_state`, such as grain's, sets its own position; other iterators are read up
    to the position.

    Args:
      dataset: an object that returns an iterator for each pass, or has `__len__` and `__getitem__`.
      keys: the fields of examples (dicts or tuples) in the order of the result. None takes all
        fields, and does not change dicts.
      shuffle: whether each pass has its own random order; needs numbered examples.
      epochs: the number of passes until the stream ends; None for an endless stream.
      seed: the seed of the order; None draws one from NumPy's global generator for each stream. A
        loader's own random order is reproducible only if the loader makes it so.
    Returns: a source of tuples of NumPy arrays, or of dicts of them; strings and bytes are
      unchanged.
    Raises:
      TypeError, ValueError: an option is invalid.
      ShapeError (while it runs): an example does not have a key.
    Example:
      >>> rows = [{"text": "a", "label": 1}, {"text": "b", "label": 0}]
      >>> list(Examples(rows, keys=["text", "label"])())
      [('a', array(1)), ('b', array(0))]
    """
    name = "Examples"
    is_numbered = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
    if isinstance(dataset, Mapping | str | bytes) or hasattr(dataset, "iloc"):
        raise option_checks.wrong_type(name, "dataset", "a collection of examples", dataset)
    if not is_numbered and not hasattr(dataset, "__iter__"):
        raise option_checks.wrong_type(name, "dataset", "a collection of examples", dataset)
    if hasattr(dataset, "__next__"):
        raise noted(
            TypeError(
                f"{name}: expected a data set that can be read again; got an iterator, "
                f"{type(dataset).__name__}\n  fix: Serial(…)(iterator)"
            )
        )
    if isinstance(keys, str):
        raise option_checks.wrong_type(name, "keys", "a list such as ['text', 'label']", keys)
    if shuffle and not is_numbered:
        raise noted(
            ValueError(
                f"{name}: shuffle=True needs a data set with numbered examples; got "
                f"{type(dataset).__name__}\n  fix: Shuffle after it"
            )
        )
    read = _numbered(dataset) if is_numbered else _iterated(dataset)
    return Source(name, read, lambda item: fields_of_item(name, item, keys), epochs, shuffle, seed)


def _numbered(dataset: Any) -> Callable[[Any, int, int], Iterator[Any]]:
    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        n = len(dataset)
        order = range(n) if seed is None else _order(seed, number, n)
        return (dataset[i] for i in order[start:])

    return read


def _iterated(dataset: Any) -> Callable[[Any, int, int], Iterator[Any]]:
    def read(seed: Any, number: int, start: int) -> Iterator[Any]:
        if hasattr(dataset, "set_epoch"):  # data sets of Hugging Face use it to shuffle
            dataset.set_epoch(number)
        has_arrays = hasattr(dataset, "as_numpy_iterator")  # data sets of tf.data
        items: Iterator[Any] = dataset.as_numpy_iterator() if has_arrays else iter(dataset)
        return itertools.islice(items, start, None) if start else items

    return read


def fields_of_item(name: str, item: Any, keys: Sequence[Any] | None) -> Any:
    """An item of a data set as a tuple or dict of strings and NumPy arrays."""
    if keys is not None:
        try:
            item = tuple(item[key] for key in keys)
        except (LookupError, TypeError):
            there = sorted(item, key=str) if isinstance(item, Mapping) else type(item).__name__
            raise noted(
                ShapeError(f"{name}: expected an example with the keys {list(keys)}; got {there}")
            ) from None
    if isinstance(item, Mapping):
        return {key: _array(x) for key, x in item.items()}
    return tuple(map(_array, item)) if isinstance(item, tuple | list) else (_array(item),)


def _array(x: Any) -> Any:
    return x if isinstance(x, str | bytes) else np.asarray(x)
