"""Cases of collectives, each with its model: a NumPy function on the stack of all elements."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft import lax

N, TWO = 4, (2, 2)  # elements of one axis, and the same number as those of two
PAIRS = [[3, 0], [1, 2]]
UNEQUAL = [[2], [0, 3, 1]]


class Case(NamedTuple):
    """A collective.

    Attributes:
      over: the function of (value, axis names).
      model: from the stack of values to the stack of results.
      shape: of one element's value.
      smooth: whether it has derivatives.
    """

    name: str
    over: Callable[[Any, Any], Any]
    model: Callable[[Any], Any]
    shape: tuple[int, ...] = (4, 8)
    smooth: bool = True

    def function(self, x: Any) -> Any:
        return self.over(x, "i")

    def __str__(self) -> str:
        return self.name


def stack_for(case: Case, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(N, *case.shape)).astype(np.float32)


def in_groups(groups: Any, model: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The model within each group."""

    def grouped(x: Any) -> Any:
        found: dict[int, Any] = {}
        for group in groups:
            found.update(zip(group, model(x[group]), strict=True))
        return np.stack([found[i] for i in range(len(x))])

    return grouped


def to_all(reduce: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.stack([reduce(x)] * len(x))


def total(x: Any) -> Any:
    return x.sum(0)


def permuted(pairs: Any) -> Callable[[Any], Any]:
    def model(x: Any) -> Any:
        out = np.zeros_like(x)
        for source, target in pairs:
            out[target] = x[source]
        return out

    return model


def exchanged(split: int, concat: int) -> Callable[[Any], Any]:
    """Tiled all_to_all."""

    def model(x: Any) -> Any:
        parts = [np.split(value, len(x), split) for value in x]
        return np.stack(
            [np.concatenate([part[to] for part in parts], concat) for to in range(len(x))]
        )

    return model


def swapped(split: int, concat: int) -> Callable[[Any], Any]:
    """Untiled all_to_all."""

    def model(x: Any) -> Any:
        return np.stack(
            [np.stack([np.take(value, to, split) for value in x], concat) for to in range(len(x))]
        )

    return model


def scattered(axis: int, tiled: bool) -> Callable[[Any], Any]:
    def model(x: Any) -> Any:
        parts = np.stack(np.split(x.sum(0), len(x), axis))
        return parts if tiled else np.squeeze(parts, axis + 1)

    return model


SHIFT = [(i, (i + 1) % N) for i in range(N)]
SOME = [(0, 2), (3, 1)]

CASES = [
    Case("psum", lax.psum, to_all(total)),
    Case("psum of a scalar", lax.psum, to_all(total), ()),
    Case("pmean", lax.pmean, to_all(lambda x: x.mean(0))),
    Case("pmax", lax.pmax, to_all(lambda x: x.max(0))),
    Case("pmin", lax.pmin, to_all(lambda x: x.min(0))),
    Case(
        "psum in pairs",
        lambda x, i: lax.psum(x, i, axis_index_groups=PAIRS),
        in_groups(PAIRS, to_all(total)),
    ),
    Case(
        "psum in unequal groups",
        lambda x, i: lax.psum(x, i, axis_index_groups=UNEQUAL),
        in_groups(UNEQUAL, to_all(total)),
    ),
    Case(
        "pmean in pairs",
        lambda x, i: lax.pmean(x, i, axis_index_groups=PAIRS),
        in_groups(PAIRS, to_all(lambda x: x.mean(0))),
    ),
    Case(
        "pmean in unequal groups",
        lambda x, i: lax.pmean(x, i, axis_index_groups=UNEQUAL),
        in_groups(UNEQUAL, to_all(lambda x: x.mean(0))),
    ),
    Case(
        "pmax in unequal groups",
        lambda x, i: lax.pmax(x, i, axis_index_groups=UNEQUAL),
        in_groups(UNEQUAL, to_all(lambda x: x.max(0))),
    ),
    Case("ppermute", lambda x, i: lax.ppermute(x, i, SHIFT), permuted(SHIFT)),
    Case("ppermute to some", lambda x, i: lax.ppermute(x, i, SOME), permuted(SOME)),
    Case("ppermute to none", lambda x, i: lax.ppermute(x, i, []), np.zeros_like),
    Case("pshuffle", lambda x, i: lax.pshuffle(x, i, [2, 0, 1, 3]), lambda x: x[[2, 0, 1, 3]]),
    Case("all_gather", lax.all_gather, to_all(lambda x: x)),
    Case("all_gather of a scalar", lax.all_gather, to_all(lambda x: x), ()),
    Case(
        "all_gather at the end",
        lambda x, i: lax.all_gather(x, i, axis=-1),
        to_all(lambda x: np.moveaxis(x, 0, -1)),
    ),
    Case(
        "all_gather tiled",
        lambda x, i: lax.all_gather(x, i, axis=1, tiled=True),
        to_all(lambda x: np.concatenate(list(x), 1)),
    ),
    Case(
        "all_gather in pairs",
        lambda x, i: lax.all_gather(x, i, axis=1, axis_index_groups=PAIRS),
        in_groups(PAIRS, to_all(lambda x: np.moveaxis(x, 0, 1))),
    ),
    Case("psum_scatter", lax.psum_scatter, scattered(0, False)),
    Case(
        "psum_scatter tiled",
        lambda x, i: lax.psum_scatter(x, i, scatter_dimension=1, tiled=True),
        scattered(1, True),
    ),
    Case(
        "psum_scatter in pairs",
        lambda x, i: lax.psum_scatter(x, i, tiled=True, axis_index_groups=PAIRS),
        in_groups(PAIRS, scattered(0, True)),
    ),
    Case("all_to_all", lambda x, i: lax.all_to_all(x, i, 0, 1), swapped(0, 1)),
    Case("all_to_all backwards", lambda x, i: lax.all_to_all(x, i, 1, 0), swapped(1, 0), (8, 4)),
    Case(
        "all_to_all tiled",
        lambda x, i: lax.all_to_all(x, i, 1, 0, tiled=True),
        exchanged(1, 0),
    ),
    Case(
        "all_to_all along one axis",
        lambda x, i: lax.all_to_all(x, i, 1, 1, tiled=True),
        exchanged(1, 1),
    ),
    Case(
        "all_to_all in pairs",
        lambda x, i: lax.all_to_all(x, i, 0, 1, tiled=True, axis_index_groups=PAIRS),
        in_groups(PAIRS, exchanged(0, 1)),
    ),
    Case("pswapaxes", lambda x, i: lax.pswapaxes(x, i, 0), swapped(0, 0)),
    Case(
        "index",
        lambda x, i: x * 0 + lax.axis_index(i),
        lambda x: x * 0 + np.arange(len(x)).reshape(-1, 1, 1),
        smooth=False,
    ),
]
