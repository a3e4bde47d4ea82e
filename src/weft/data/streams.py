"""Serial composes stages; Stream is the iterator that it returns, with a position.

Some stages keep a part of their input, such as a buffer of examples or random numbers. The position
counts the outputs of the last such stage. The stages after it *pass*: each of their outputs depends
only on the inputs since the previous output. So a stream restores a position by opening its stages
again and skipping that number of outputs. If all stages after the source pass, and the source has
its own position, that position is saved instead, and no example is computed again. `Prefetch` reads
ahead, and keeps with each example the position of the stages before it.
"""

import base64
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import CheckpointError, WeftError
from ..experimental.prefetch import Ahead
from ..user_lines import note_user_line, noted
from .stages import PrefetchStage, Stage, as_stage

__all__ = ["Serial", "Stream"]


class Serial(Stage):
    """Stages in series.

    Args:
      *fns: stages, or lists of them: functions from an iterator of examples to an iterator. The
        first one is a source: it takes no argument, or ignores it. It may be any stage if the
        result is called with an iterator. A source must return a new iterator at each call.

    Raises: TypeError: an argument is not a function.

    A call without arguments, or with an iterable of examples, returns a `Stream`. A `Serial` is a
    stage, too.

    Example:
      >>> import numpy
      >>> from weft import data
      >>> squares = data.Serial(lambda: ((i, i * i) for i in range(5)), data.Batch(2))
      >>> for x, y in squares():
      ...     print(x, y)
      [0 1] [0 1]
      [2 3] [4 9]

    Source: Trax documentation, `data.Serial`.
    """

    def __init__(self, *fns: Any) -> None:
        self.stages = tuple(_stages(fns))
        super().__init__(f"Serial({', '.join(stage.name for stage in self.stages)})")
        self.passes = all(stage.passes for stage in self.stages)

    def begin(self) -> list[Any]:
        return [stage.begin() for stage in self.stages]

    def again(self, begun: Any) -> list[Any]:
        return [stage.again(b) for stage, b in zip(self.stages, begun, strict=True)]

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        for stage, b in zip(self.stages, begun, strict=True):
            examples = stage.open(examples, b, epoch)
        if examples is None:
            raise noted(ValueError("Serial: expected a source, or an iterator as the argument"))
        return examples

    def __call__(self, generator: Iterable[Any] | None = None) -> "Stream":
        return Stream(self, generator)


def _stages(fns: Iterable[Any]) -> Iterator[Stage]:
    for number, fn in enumerate(_flat(fns)):
        stage = as_stage("Serial", number, fn)
        yield from stage.stages if isinstance(stage, Serial) else (stage,)


def _flat(fns: Iterable[Any]) -> Iterator[Any]:
    for fn in fns:
        if isinstance(fn, list | tuple):
            yield from _flat(fn)
        else:
            yield fn


class Stream(Iterator[Any]):
    """The examples of a pipeline, an iterator with a position. `Serial(…)()` makes it.

    Args:
      serial: the pipeline.
      generator: an iterable of examples for the first stage, or None if the first stage is a
        source.

    At its end it raises StopIteration. `iter` of a stream that has ended begins the next epoch, so
    each `for` loop goes through the data once, in a new order if a stage is random. `get_state` and
    `set_state` work as for grain's iterators.

    Example:
      >>> import numpy
      >>> from weft import data
      >>> numbers = data.Serial(lambda: iter(range(100)), data.Shuffle(10, seed=0))
      >>> stream = numbers()
      >>> _ = next(stream), next(stream)
      >>> state = stream.get_state()
      >>> following = next(stream), next(stream)
      >>> again = numbers()
      >>> again.set_state(state)
      >>> (next(again), next(again)) == following
      True
    """

    def __init__(self, serial: Serial, generator: Iterable[Any] | None = None) -> None:
        self._serial = serial
        self._input = None if generator is None else Input(generator)
        self._begun = serial.begin()
        self._epoch = 0
        self._at: Any = None  # the position from which to open the stages
        self._source: Any = None
        self._place: Any = None
        self._examples: Any = None
        self._threads: list[Ahead] = []
        self._ended = False
        self._failure: BaseException | None = None

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        if self._failure is not None:
            raise self._failure  # a generator that raised an error would look exhausted
        if self._examples is None:
            self._open()
        try:
            return next(self._examples)
        except StopIteration:
            self._ended = True
            raise
        except BaseException as failure:
            interrupted = RuntimeError("the stream was interrupted\n  fix: set_state(state)")
            self._failure = failure if isinstance(failure, Exception) else interrupted
            if isinstance(failure, WeftError):
                note_user_line(failure)  # an error from `Prefetch`'s thread has no note yet
            raise

    def __iter__(self) -> "Stream":
        if self._ended:
            self.close()
            self._epoch += 1
            self._begun = self._serial.again(self._begun)
            self._at, self._place, self._source, self._ended = None, None, None, False
            if self._input is not None:
                self._input.begin_again()
        return self

    def get_state(self) -> dict[str, Any]:
        """The position as JSON values: strings, numbers, lists and dicts.

        Returns: a dict for `set_state` of a stream of the same pipeline.
        """
        return {
            "stages": [stage.name for stage in self._serial.stages],
            "epoch": self._epoch,
            "begun": self._begun,
            "input": None if self._input is None else self._input.begun,
            "at": self._at if self._examples is None else _json(self._where()),
            "ended": self._ended,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Sets the position; the next example is the one after it.

        Args:
          state: the result of `get_state` of this stream, or of another one of the same pipeline.
        Raises:
          CheckpointError: `state` is not a position, or of another pipeline; or the stream now has
            fewer examples.
          ValueError: the position is earlier, and the source is an iterator that cannot restart.
        """
        self._check(state)
        self.close()
        if state["epoch"] != self._epoch or state["begun"] != self._begun:
            self._place = None
        self._epoch, self._begun, self._at = state["epoch"], state["begun"], state["at"]
        self._ended, self._failure = state["ended"], None
        if self._input is not None and state["input"] != self._input.begun:
            self._place = None
            self._input.begin_at(state["input"])
        self._open()

    def close(self) -> None:
        """Ends the threads of `Prefetch`. The stream can still be used; it opens its stages
        again."""
        if self._examples is not None:
            self._at = _json(self._where())
        for ahead in reversed(self._threads):
            ahead.close()
        if any(isinstance(stage, PrefetchStage) for stage in self._serial.stages[: self._cut()]):
            self._place = None
        self._threads, self._examples = [], None

    def _cut(self) -> int:
        """The number of stages up to the last one that does not pass."""
        stages = enumerate(self._serial.stages, 1)
        return max((number for number, stage in stages if not stage.passes), default=0)

    def _open(self) -> None:
        """Opens the stages, and sets the position of the ones that need it."""
        stages, begun, cut = self._serial.stages, self._begun, self._cut()
        if self._place is None or not self._leads_to(self._at):
            self._place = self._opened_place(stages[:cut], begun[:cut])
        if self._at is not None:
            try:
                self._place.set_state(_unjson(self._at))
            except StopIteration:
                self._failure = self._too_short()
                raise self._failure from None
        self._where: Callable[[], Any] = self._place.get_state
        examples: Any = self._place
        for stage, b in zip(stages[cut:], begun[cut:], strict=True):
            if isinstance(stage, PrefetchStage):
                examples = stage.ahead(examples, self._where)
                self._where = functools.partial(getattr, examples, "position")
                self._threads.append(examples)
            else:
                examples = stage.open(examples, b, self._epoch)
        self._examples = examples

    def _leads_to(self, at: Any) -> bool:
        """True if the open examples can reach a position, by going forwards or by their own
        `set_state`."""
        if isinstance(self._place, Counted):
            return self._place.count <= (0 if at is None else _count(at))
        return at is not None

    def _opened_place(self, stages: tuple[Stage, ...], begun: list[Any]) -> Any:
        """The output of the last stage that keeps a part of its input, with its position."""
        examples: Any = None if self._input is None else self._input.opened()
        for i, (stage, b) in enumerate(zip(stages, begun, strict=True)):
            examples = stage.open(examples, b, self._epoch)
            if isinstance(examples, Ahead):
                self._threads.append(examples)
            if i == 0 and self._input is None:
                if examples is self._source:
                    raise _cannot_go_back(stage.name)
                self._source = examples
        if examples is None:
            raise noted(
                ValueError(
                    "Serial: expected a source as the first stage; got none\n"
                    "  fix: Serial(source, …)(), or Serial(…)(examples)"
                )
            )
        has_position = hasattr(examples, "get_state") and hasattr(examples, "set_state")
        is_source = len(stages) == (self._input is None)  # without stages after it
        return examples if has_position and is_source else Counted(examples)

    def _check(self, state: Any) -> None:
        keys = {"stages", "epoch", "begun", "input", "at", "ended"}
        if not isinstance(state, Mapping) or set(state) != keys:
            raise noted(
                CheckpointError(
                    f"set_state: expected a dict of get_state, with {sorted(keys)}; got "
                    f"{sorted(state) if isinstance(state, Mapping) else type(state).__name__}"
                )
            )
        names = [stage.name for stage in self._serial.stages]
        if state["stages"] != names:
            raise noted(
                CheckpointError(
                    f"set_state: the position is one of the stages {state['stages']}; this stream "
                    f"has {names}\n  fix: restore with the pipeline that was saved"
                )
            )

    def _too_short(self) -> CheckpointError:
        return noted(
            CheckpointError(
                f"set_state: the position {self._at} is past the end of this stream\n"
                "  fix: restore with the data that were there when it was saved"
            )
        )


class Counted(Iterator[Any]):
    """An iterator of examples whose position is their number."""

    def __init__(self, examples: Iterator[Any]) -> None:
        self.examples = examples
        self.count = 0

    def __next__(self) -> Any:
        example = next(self.examples)
        self.count += 1
        return example

    def get_state(self) -> dict[str, int]:
        return {"count": self.count}

    def set_state(self, state: Mapping[str, int]) -> None:
        count = _count(state)
        while self.count < count:
            next(self)


def _count(at: Any) -> int:
    if isinstance(at, Mapping) and isinstance(at.get("count"), int):
        return int(at["count"])
    raise noted(
        CheckpointError(
            f"set_state: expected a number of examples, {{'count': n}}; got {at}\n"
            "  fix: restore with the source that was saved"
        )
    )


class Input:
    """The iterable with which a pipeline is called. Each epoch restarts it, if possible."""

    def __init__(self, iterable: Any) -> None:
        if not hasattr(iterable, "__iter__"):
            raise noted(
                TypeError(
                    f"Serial: expected an iterable of examples; got {type(iterable).__name__}"
                )
            )
        self.iterable = iterable
        self.has_position = hasattr(iterable, "get_state") and hasattr(iterable, "set_state")
        self.begun = _json(self.iterable.get_state()) if self.has_position else None
        self.is_opened = False

    def opened(self) -> Iterator[Any]:
        """An iterator that starts at the beginning of the epoch."""
        if self.is_opened and self.has_position:
            self.iterable.set_state(_unjson(self.begun))
        elif self.is_opened and hasattr(self.iterable, "__next__"):
            raise _cannot_go_back(type(self.iterable).__name__)
        self.is_opened = True
        iterator: Iterator[Any] = iter(self.iterable)
        return iterator

    def begin_again(self) -> None:
        """Begins the next epoch; a stream that has ended restarts."""
        iter(self.iterable)
        self.begun = _json(self.iterable.get_state()) if self.has_position else None
        self.is_opened = False

    def begin_at(self, begun: Any) -> None:
        """Sets the position at which the epoch begins."""
        self.begun = begun
        self.is_opened = True


def _cannot_go_back(source: str) -> ValueError:
    return noted(
        ValueError(
            f"set_state: the position is earlier, and {source} can't begin again\n"
            "  fix: make a new stream; a source is a function that returns a new iterator"
        )
    )


def _json(state: Any) -> Any:
    """The position of a foreign iterator as JSON; grain's loaders return bytes."""
    if isinstance(state, Mapping):
        return {key: _json(x) for key, x in state.items()}
    return {"base64": base64.b64encode(state).decode()} if isinstance(state, bytes) else state


def _unjson(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    if set(state) == {"base64"}:
        return base64.b64decode(state["base64"])
    return {key: _unjson(x) for key, x in state.items()}
