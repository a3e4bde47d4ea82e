"""Stage: a step of a data pipeline, a function from an iterator of examples to another iterator.
Flow is a stage without random numbers, RandomFlow a stage with them. Map applies a function to each
example. Prefetch makes examples in advance, in a thread. Errors of stages name the stage, the
number of the example and its shapes.

A stage *passes* if it keeps nothing of its input between two of its outputs. The position of a
stream whose stages all pass is the position of its source: see `streams.py`.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import option_checks
from ..errors import ShapeError
from ..experimental.prefetch import Ahead
from ..user_lines import noted

__all__ = ["Flow", "Map", "Prefetch", "RandomFlow", "Stage"]


class Stage:
    """A step of a pipeline. It is called with an iterable of examples and returns an iterator.

    Args:
      name: the name for errors, and for comparing a saved position with a pipeline.

    Subclasses define `open`. A subclass with a seed, or another choice that is made when a stream
    begins, also defines `begin`, which returns it as a JSON value.
    Example:
      >>> from weft import data
      >>> class Squares(data.Stage):
      ...     def open(self, examples, begun, epoch):
      ...         return (x * x for x in examples)
      >>> list(Squares("Squares")([1, 2, 3]))
      [1, 4, 9]
    """

    passes = False

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self) -> Any:
        """The JSON values on which the stream's examples depend, such as a seed."""
        return None

    def again(self, begun: Any) -> Any:
        """The values of `begin` for the next epoch."""
        return begun

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        """The stage's output for the examples of an epoch, which counts from 0."""
        raise NotImplementedError

    def __call__(self, generator: Iterable[Any] | None = None) -> Iterator[Any]:
        return self.open(_iterator(self.name, generator), self.begin(), 0)

    def __repr__(self) -> str:
        return self.name


class Flow(Stage):
    """A stage that runs a generator function.

    Args:
      name: the stage's name.
      run: a function from an iterator of examples to another iterator.
      passes: True if it keeps no part of its input between two outputs.
    Example:
      >>> list(Flow("pairs", lambda examples: ((x, x) for x in examples))([1, 2]))
      [(1, 1), (2, 2)]
    """

    def __init__(
        self, name: str, run: Callable[[Iterator[Any]], Iterator[Any]], passes: bool = False
    ) -> None:
        super().__init__(name)
        self.run = run
        self.passes = passes

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        return self.run(_required(self.name, examples))


class RandomFlow(Stage):
    """A stage that runs a generator function with random numbers.

    Args:
      name: the stage's name.
      run: called with an iterator of examples and a NumPy generator; returns an iterator.
      seed: an int of at least 0. None draws one from NumPy's global generator for each stream; the
        stream's state has it. The n-th epoch uses `numpy.random.default_rng([seed, n])`.
    Example:
      >>> noise = RandomFlow("noise", lambda xs, rng: (x + rng.integers(10) for x in xs), seed=0)
      >>> [int(x) for x in noise([0, 0, 0])]
      [8, 6, 5]
    """

    def __init__(
        self,
        name: str,
        run: Callable[[Iterator[Any], np.random.Generator], Iterator[Any]],
        seed: int | None,
    ) -> None:
        super().__init__(name)
        self.run = run
        self.seed = checked_seed(name, seed)

    def begin(self) -> int:
        return drawn_seed(self.seed)

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        return self.run(_required(self.name, examples), np.random.default_rng([begun, epoch]))


class UserStage(Stage):
    """A stage that calls a user's function with an iterator; a source may take no argument."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self.function = function

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        nothing = examples is None and _takes_nothing(self.function)
        fix = f"\n  fix: data.Map({self.name}), if it is a function of one example"
        try:
            result = self.function() if nothing else self.function(examples)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            if not nothing:
                error.add_note(f"  {self.name} is a stage, which is given an iterator{fix}")
            raise
        if not hasattr(result, "__iter__") and not hasattr(result, "__next__"):
            raise noted(
                TypeError(
                    f"{self.name}: a stage must return an iterator of examples; got "
                    f"{type(result).__name__}{'' if nothing else fix}"
                )
            )
        return _iterator(self.name, result)


def Map(function: Callable[[Any], Any]) -> Stage:
    """A stage that applies a function to each example.

    Unlike a generator function, it allows the stream to restore its position without running the
    stages again.

    Args:
      function: maps an example to an example; it must be deterministic.
    Returns: a stage.
    Raises: TypeError: `function` can't be called.
    Example:
      >>> list(Map(lambda example: (example[0] + 1, example[1]))([(1, 5), (2, 6)]))
      [(2, 5), (3, 6)]
    """
    option_checks.function("Map", "function", function, "of an example")
    return Flow("Map", lambda examples: map(function, examples), passes=True)


def Prefetch(n_prefetch: int = 2) -> "PrefetchStage":
    """A stage that makes examples in advance, in a thread.

    Put it last: everything before it then runs while the model computes. NumPy and reading files
    release Python's lock; pure Python code does not gain.

    Args:
      n_prefetch: the number of examples to keep ready.
    Returns: a stage. An exception is raised after the examples before it have been returned. The
      thread ends with the iterator. The position of the stream counts the examples that were
      returned.
    Raises: TypeError, ValueError: `n_prefetch` is not an int of at least 1.
    Example:
      >>> list(Prefetch(2)(iter(range(4))))
      [0, 1, 2, 3]
    Source: Trax documentation, `data.Prefetch`.
    """
    return PrefetchStage(option_checks.whole_number("Prefetch", "n_prefetch", n_prefetch))


class PrefetchStage(Flow):
    """The stage that `Prefetch` returns."""

    def __init__(self, size: int) -> None:
        super().__init__("Prefetch", self.ahead, passes=True)
        self.size = size

    def ahead(self, examples: Iterator[Any], where: Callable[[], Any] | None = None) -> Ahead:
        """An iterator of examples made in advance; `where` returns the position after them."""
        return Ahead(examples, self.size, lambda example: example, where)


def each(name: str, function: Callable[[Any], Any]) -> Flow:
    """A stage that applies a function to each example. The function raises `Unsuitable` for an
    example that does not fit."""

    def run(examples: Iterator[Any]) -> Iterator[Any]:
        for number, example in enumerate(examples):
            yield _caught(name, number, function, example)

    return Flow(name, run, passes=True)


def filter_stage(name: str, predicate: Callable[[Any], bool]) -> Flow:
    """A stage that keeps the examples for which a function returns True."""

    def run(examples: Iterator[Any]) -> Iterator[Any]:
        for number, example in enumerate(examples):
            if _caught(name, number, predicate, example):
                yield example

    return Flow(name, run, passes=True)


def spread(name: str, function: Callable[[Any], Iterable[Any]]) -> Flow:
    """A stage that makes any number of examples from each one."""

    def run(examples: Iterator[Any]) -> Iterator[Any]:
        for number, example in enumerate(examples):
            yield from _caught(name, number, function, example)

    return Flow(name, run)


class Unsuitable(Exception):
    """Raised for an example that a stage cannot use: (expected, fix)."""


def _caught(name: str, number: int, function: Callable[[Any], Any], example: Any) -> Any:
    try:
        return function(example)
    except Unsuitable as problem:
        raise bad_example(name, number, example, *problem.args) from None


def bad_example(
    stage: str, number: int, example: Any, expected: str, fix: str = "", also: str = ""
) -> ShapeError:
    """The error for an example that a stage cannot use. The first example is number 0."""
    text = f"{stage}: example {number}: expected {expected}; got {described(example)}{also}"
    return noted(ShapeError(text + (f"\n  fix: {fix}" if fix else "")))


def described(example: Any) -> str:
    """The dtypes and shapes of an example, `(int64[5], float32[])`."""
    if isinstance(example, Mapping):
        return "{" + ", ".join(f"{k!r}: {described(v)}" for k, v in example.items()) + "}"
    if isinstance(example, tuple | list):
        inner = [described(x) for x in example[:8]] + ["…"] * (len(example) > 8)
        return f"({', '.join(inner)}{',' * (len(example) == 1)})"
    if isinstance(example, str | bytes) or example is None:
        return type(example).__name__
    if not hasattr(example, "shape") and not isinstance(example, int | float | complex | bool):
        return type(example).__name__
    array = np.asarray(example)
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def checked_seed(name: str, seed: Any, option: str = "seed") -> int | None:
    """A seed: None, or an int of at least 0."""
    return None if seed is None else option_checks.whole_number(name, option, seed, least=0)


def drawn_seed(seed: int | None) -> int:
    """A seed; None draws one from NumPy's global generator."""
    return int(np.random.randint(2**31 - 1)) if seed is None else seed


def rows_below(rng: np.random.Generator, n: int) -> Iterator[int]:
    """An endless iterator of uniform integers from 0 to n - 1."""
    while True:  # a call of `integers` takes as long for 256 numbers as for one
        yield from rng.integers(n, size=256).tolist()


def as_stage(owner: str, number: int, function: Any) -> Stage:
    """A function as a stage."""
    if isinstance(function, Stage):
        return function
    name = getattr(function, "__name__", type(function).__name__)
    of_data = str(getattr(function, "__module__", "")).startswith(__name__.rpartition(".")[0])
    if of_data and name[0].isupper():
        raise noted(
            TypeError(f"{owner}: stage {number} is {name} without its options\n  fix: {name}(…)")
        )
    if not callable(function):
        fix = ""
        if hasattr(function, "__next__"):
            fix = f"\n  fix: {owner}(…)(examples)"
        elif hasattr(function, "__iter__"):
            fix = f"\n  fix: {owner}(data.Examples(examples), …)"
        raise noted(
            TypeError(
                f"{owner}: stage {number} must be a function from an iterator to an iterator; "
                f"got {type(function).__name__}{fix}"
            )
        )
    return UserStage(name, function)


def _required(name: str, examples: Iterator[Any] | None) -> Iterator[Any]:
    if examples is None:
        raise noted(
            ValueError(
                f"{name}: expected a stream of examples; got none\n"
                "  fix: put a source before it in Serial, or call it with an iterable"
            )
        )
    return examples


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # it needs an argument; or it is built in, and has no signature
        return False
    return True


def _iterator(name: str, examples: Any) -> Any:
    """An iterator of examples, or None for no input."""
    if examples is None:
        return None
    if not hasattr(examples, "__iter__") and not hasattr(examples, "__next__"):
        raise noted(
            TypeError(f"{name}: expected an iterator of examples; got {type(examples).__name__}")
        )
    return examples if hasattr(examples, "__next__") else iter(examples)
