"""Which of many combinations of parameters a run takes: a sample that is the same in every run.

`--sample-seed=N` takes another sample, `--whole` everything. A sample is never a matter of luck
alone: what each parameter can be, and any two of them, are in it.
"""

import itertools
import random
import zlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

whole = False
"""True if the run takes everything: `--whole`."""

seed = 0
"""Chooses the sample: `--sample-seed`."""


def chance(about: str) -> random.Random:
    """Returns the random numbers of a sample, which depend on its name and on the seed."""
    return random.Random(zlib.crc32(f"{about}/{seed}".encode()))


def covering(rows: Sequence[Sequence[Hashable]], strength: int, about: str) -> list[int]:
    """Returns the places of rows that together have all that any `strength` columns have.

    A greedy choice: each row brings as many new combinations as a row still can, and chance
    decides among equals.
    """
    draw = chance(about)
    parameters = list(dict.fromkeys(zip(*rows, strict=True)))  # those that vary together are one
    columns = list(itertools.combinations(parameters, min(strength, len(parameters))))
    brings = [
        {(k, *(column[i] for column in some)) for k, some in enumerate(columns)}
        for i in range(len(rows))
    ]
    missing = set().union(*brings)
    order = draw.sample(range(len(rows)), len(rows))
    chosen: list[int] = []
    while missing:
        # what a row brings only shrinks, so a row that brings as much as the last one did is best
        best = max(order, key=lambda i: len(brings[i] & missing))
        chosen.append(best)
        missing -= brings[best]
    return sorted(chosen)


def some(values: Iterable[Any], count: int, about: str) -> list[Any]:
    """Returns `count` of the values, in their order; with `--whole` all of them."""
    values = list(values)
    if whole or count >= len(values):
        return values
    return [values[i] for i in sorted(chance(about).sample(range(len(values)), count))]
