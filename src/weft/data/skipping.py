"""Stages that skip examples at the beginning: CountAndSkip with its counters, and UniformlySeek.

count_and_skip, save_data_counters and load_data_counters use the counters in `data_counters`: the
number of examples that each named stage has returned in this process. The state of a stream already
contains all positions; the counters are for programs written for Trax.
"""

import itertools
import json
import logging
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from .. import option_checks
from ..errors import CheckpointError
from ..user_lines import noted
from .stages import Flow, Stage

__all__ = [
    "CountAndSkip",
    "UniformlySeek",
    "count_and_skip",
    "data_counters",
    "load_data_counters",
    "save_data_counters",
]

data_counters: dict[str, int] = {}


def CountAndSkip(name: str) -> Stage:
    """A stage that first skips `data_counters[name]` examples, and then counts the examples in that
    counter.

    Args:
      name: the counter's name.
    Returns: a stage. `set_state` of the stream restores the counter.
    Raises: TypeError: `name` is not a string.
    Example:
      >>> list(CountAndSkip("numbers")(range(3)))
      [0, 1, 2]
      >>> data_counters["numbers"]
      3
      >>> list(CountAndSkip("numbers")(range(5)))
      [3, 4]
    Source: Trax documentation, `data.CountAndSkip`.
    """
    return CountingStage(_checked_name("CountAndSkip", name))


def count_and_skip(generator: Iterable[Any], name: str) -> Iterator[Any]:
    """Skips `data_counters[name]` examples, and counts the others in that counter.

    Args:
      generator: the examples.
      name: the counter's name.
    Returns: an iterator.
    Raises: TypeError: `name` is not a string.
    Example:
      >>> list(count_and_skip("abc", "letters"))
      ['a', 'b', 'c']
    Source: Trax documentation, `data.count_and_skip`.
    """
    return CountingStage(_checked_name("count_and_skip", name))(generator)


def _checked_name(stage: str, name: Any) -> str:
    if not isinstance(name, str):
        raise option_checks.wrong_type(stage, "name", "a string", name)
    return name


class CountingStage(Stage):
    """The stage that `CountAndSkip` returns. Its initial values are [examples to skip, counter]."""

    def __init__(self, counter: str) -> None:
        super().__init__(f"CountAndSkip({counter!r})")
        self.counter = counter

    def begin(self) -> list[int]:
        return [data_counters.get(self.counter, 0)] * 2

    def again(self, begun: Any) -> list[int]:
        return [0, data_counters.get(self.counter, 0)]

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        skip, count = begun

        def run(examples: Iterator[Any]) -> Iterator[Any]:
            data_counters[self.counter] = count
            for example in itertools.islice(examples, skip, None):
                data_counters[self.counter] += 1
                yield example

        return Flow(self.name, run).open(examples, None, epoch)


def save_data_counters(output_dir: str | os.PathLike[str], host_id: int | None = None) -> None:
    """Writes `data_counters` to a JSON file.

    Args:
      output_dir: the folder; None writes nothing.
      host_id: the number of this process; None means 0.
    Raises: OSError: the file can't be written.
    Example:
      >>> save_data_counters(".")
      >>> load_data_counters(".")
    Source: Trax documentation, `data.inputs.save_data_counters`, which writes a pickle.
    """
    if output_dir is not None:
        path = _counters_file(output_dir, host_id)
        temporary = path.with_name(path.name + ".new")
        temporary.write_text(json.dumps(data_counters))
        os.replace(temporary, path)


def load_data_counters(output_dir: str | os.PathLike[str], host_id: int | None = None) -> None:
    """Reads the file of `save_data_counters`, and replaces the current counters.

    Args:
      output_dir: the folder. If it has no such file, the counters do not change; None reads
        nothing.
      host_id: the number of this process; None means 0.
    Raises: CheckpointError: the file is damaged.
    Example:
      >>> load_data_counters(".", host_id=5)
    Source: Trax documentation, `data.inputs.load_data_counters`, which reads a pickle.
    """
    if output_dir is None or not (path := _counters_file(output_dir, host_id)).exists():
        return
    try:
        counters = json.loads(path.read_bytes())
        is_whole = isinstance(counters, dict) and all(
            isinstance(n, int) and n >= 0 for n in counters.values()
        )
    except ValueError:
        is_whole = False
    if not is_whole:
        raise noted(
            CheckpointError(f"load_data_counters: {path} is damaged: expected numbers of examples")
        )
    data_counters.clear()
    data_counters.update(counters)


def _counters_file(output_dir: str | os.PathLike[str], host_id: int | None) -> pathlib.Path:
    return pathlib.Path(output_dir) / f"data_counters{host_id or 0}.json"


def UniformlySeek(
    name: str | None = None,
    host_id: int | None = None,
    n_hosts: int | None = None,
    dataset_size: int | None = None,
) -> Stage:
    """A stage that skips the examples before this process's part of a data set.

    The process `host_id` begins at example host_id · ⌊dataset_size / n_hosts⌋.

    Args:
      name: the data set's name, for the log.
      host_id: the number of this process; None means 0.
      n_hosts: the number of processes; None means 1.
      dataset_size: the number of examples; None logs a warning and assumes 2¹⁸ per process.
    Returns: a stage.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> next(UniformlySeek("numbers", host_id=1, n_hosts=2, dataset_size=10)(range(10)))
      5
    Source: Trax documentation, `data.UniformlySeek`.
    """
    stage = "UniformlySeek"
    if name is not None:
        _checked_name(stage, name)
    n = option_checks.whole_number(stage, "n_hosts", 1 if n_hosts is None else n_hosts)
    host = option_checks.whole_number(stage, "host_id", host_id or 0, 0)
    if host >= n:
        raise option_checks.wrong_value(stage, "host_id", f"less than n_hosts={n}", host_id)
    if dataset_size is None:
        part = 2**18
        if host:
            logging.getLogger(__name__).warning(
                "UniformlySeek: the size of %s is not known; skips %d examples", name, host * part
            )
    else:
        part = option_checks.whole_number(stage, "dataset_size", dataset_size, 0) // n
    return Flow(stage, lambda examples: itertools.islice(examples, host * part, None))
