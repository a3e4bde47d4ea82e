"""Parallel: combines several streams into one, with chosen numbers of examples from each."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from .. import option_checks
from ..user_lines import noted
from .stages import Stage, as_stage

__all__ = ["Parallel"]


class Parallel(Stage):
    """Combines streams: takes examples from each in turn.

    Args:
      fns: stages or other functions from an iterator to an iterator, usually sources.
      counters: the number of examples of each stream in a round; None means 1 for each. A stream
        with 0 is ignored.
      reweight_by_minimum: whether to divide the numbers by the smallest one, and round down.
      gradually_reweight: whether a round is nested: one example of the stream with the smallest
        number c₀, then ⌊c₁/c₀⌋ times one example of the next stream, each followed by ⌊c₂/c₁⌋ of
        the one after it, and so on.
      use_remainders: with `gradually_reweight`, whether to append the examples that rounding down
        dropped.

    Without these options, a round cycles through the streams, and skips those that have reached
    their number: (2, 1, 3) gives the streams 1, 2, 3, 1, 3, 3. The next round continues with the
    stream after the last one. The combined stream ends when the stream whose turn it is has ended.

    Raises: TypeError, ValueError: an option is invalid, or the number of counters differs.

    Example:
      >>> from weft import data
      >>> both = data.Parallel([lambda: iter("aaaa"), lambda: iter("bbbb")], counters=(2, 1))
      >>> "".join(itertools.islice(both(), 6))
      'ababaa'

    Source: Trax documentation, `data.Parallel`, where the end of a stream is an error.
    """

    def __init__(
        self,
        fns: Sequence[Any] | None = None,
        counters: Sequence[int] | None = None,
        reweight_by_minimum: bool = False,
        gradually_reweight: bool = False,
        use_remainders: bool = False,
    ) -> None:
        name = "Parallel"
        if not isinstance(fns, list | tuple) or not fns:
            raise option_checks.wrong_type(name, "fns", "a list of functions", fns)
        if counters is None:
            counters = (1,) * len(fns)
        numbers = option_checks.lengths(name, "counters", counters, least=0)
        if len(numbers) != len(fns) or not any(numbers):
            raise noted(
                ValueError(
                    f"{name}: counters must have one number for each of {len(fns)} streams, "
                    f"not all 0; got {counters}"
                )
            )
        for option, value in (
            ("reweight_by_minimum", reweight_by_minimum),
            ("gradually_reweight", gradually_reweight),
            ("use_remainders", use_remainders),
        ):
            option_checks.flag(name, option, value)
        stages = [as_stage(name, i, fn) for i, fn in enumerate(fns)]
        self.stages = [stage for stage, n in zip(stages, numbers, strict=True) if n]
        counts = [n for n in numbers if n]
        if reweight_by_minimum:
            counts = [n // min(counts) for n in counts]
        self.counts = counts
        self.gradually = gradually_reweight
        self.use_remainders = use_remainders
        super().__init__(f"{name}({', '.join(stage.name for stage in self.stages)})")

    def begin(self) -> list[Any]:
        return [stage.begin() for stage in self.stages]

    def again(self, begun: Any) -> list[Any]:
        return [stage.again(b) for stage, b in zip(self.stages, begun, strict=True)]

    def open(self, examples: Iterator[Any] | None, begun: Any, epoch: int) -> Iterator[Any]:
        streams = [
            stage.open(examples, b, epoch) for stage, b in zip(self.stages, begun, strict=True)
        ]
        order = self._nested() if self.gradually else _in_turn(self.counts)
        return _in_order(streams, order)

    def _nested(self) -> Iterator[int]:
        ascending = sorted(range(len(self.counts)), key=self.counts.__getitem__)
        counts = [self.counts[i] for i in ascending]
        floors = [b // a for a, b in itertools.pairwise([counts[0], *counts])]
        one_round = list(_levels(ascending, floors))
        if self.use_remainders:
            for level, i in enumerate(ascending):
                rest = counts[level] - math.prod(floors[: level + 1])
                one_round += [i] * rest
        return itertools.cycle(one_round)


def _in_turn(counts: Sequence[int]) -> Iterator[int]:
    counted = [0] * len(counts)
    for i in itertools.cycle(range(len(counts))):
        if counted[i] < counts[i]:
            yield i
            counted[i] += 1
        if counted == counts:
            counted = [0] * len(counts)


def _levels(streams: Sequence[int], floors: Sequence[int]) -> Iterator[int]:
    """The order of streams in a nested round: the first one `floors[0]` times, each followed by the
    other streams."""
    if streams:
        for _ in range(floors[0]):
            yield streams[0]
            yield from _levels(streams[1:], floors[1:])


def _in_order(streams: Sequence[Iterator[Any]], order: Iterator[int]) -> Iterator[Any]:
    for i in order:
        for example in streams[i]:
            yield example
            break
        else:
            return
