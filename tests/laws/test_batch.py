"""The law of batches: a batch agrees with a Python loop, whichever arguments are batched."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from cases.case import Case, kind_of
from collect import under
from running import agree, eps, flat, function_of, values

import weft
from weft.config import eager_tier, enable_x64
from weft.core.primitive import Axis
from weft.interpreters.batch import batch

SIZE = 3


@pytest.fixture(autouse=True, scope="module")
def on_the_host() -> Iterator[None]:
    with eager_tier("host"):
        yield


def subsets(n: int) -> list[tuple[bool, ...]]:
    """Which arguments are batched: every choice of up to three arguments; each alone, and all,
    of more."""
    if n <= 3:
        return [s for s in itertools.product((True, False), repeat=n) if any(s)]
    return [tuple(i == j for j in range(n)) for i in range(n)] + [(True,) * n]


def looped(case: Case, args: Sequence[np.ndarray], batched: Sequence[bool]) -> list[np.ndarray]:
    rows = [
        [np.asarray(o.host()) for o in function_of(case)(
            *values([np.asarray(a[k]) if b else a for a, b in zip(args, batched, strict=True)])
        )]
        for k in range(SIZE)
    ]  # fmt: skip
    return [np.stack(column) for column in zip(*rows, strict=True)]


def compare(case: Case, actual: Sequence, expected: Sequence, about: str) -> None:
    for a, e in zip(actual, expected, strict=True):
        tolerance = case.ulp * eps(e.dtype) if kind_of(e.dtype) in "fc" else 0.0
        agree(np.asarray(a.host()), e, about, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", under("batch"), ids=lambda c: f"{c.family}.{c.name}")
def test_batch_agrees_with_loop(case: Case) -> None:
    arrays = [np.asarray(a) for a in case.arguments()]
    wide = any(a.dtype.itemsize == 8 and a.dtype.name != "complex64" for a in arrays)
    with enable_x64(wide):
        for batched in subsets(len(arrays)):
            args = [
                case.batch_of(a, i, SIZE) if b else a
                for i, (a, b) in enumerate(zip(arrays, batched, strict=True))
            ]
            outs = batch(function_of(case), values(args), batched, Axis(SIZE))
            expected = looped(case, args, batched)
            compare(case, outs, expected, f"{case.name} batched in {batched}")
        if arrays:  # along the last axis, and with the batch last in the outputs
            args = [case.batch_of(a, i, SIZE) for i, a in enumerate(arrays)]
            expected = looped(case, args, (True,) * len(args))
            moved = [np.moveaxis(a, 0, -1) for a in args]
            outs = flat(weft.vmap(function_of(case), in_axes=-1, out_axes=-1)(*values(moved)))
            last = [np.moveaxis(e, 0, -1) for e in expected]
            compare(case, outs, last, f"{case.name} along the last axis")
            # a batch of batches
            every = (True,) * len(arrays)
            twice = [np.stack([a, a[::-1]]) for a in args]
            outs = batch(
                lambda *xs: batch(function_of(case), xs, every, Axis(SIZE)),
                values(twice),
                every,
                Axis(2),
            )
            compare(case, outs, [np.stack([e, e[::-1]]) for e in expected], f"{case.name} twice")
