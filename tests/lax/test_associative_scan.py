"""`associative_scan`: along one axis of leaves of different ranks, against a loop."""

from typing import Any, NamedTuple

import numpy as onp
import pytest

import weft
from weft import lax

RNG = onp.random.default_rng(0)


class Line(NamedTuple):
    slope: Any
    offset: Any


def loop(x, axis, reverse):
    rows = list(onp.moveaxis(x, axis, 0))
    rows = rows[::-1] if reverse else rows
    for k in range(1, len(rows)):
        rows[k] = rows[k - 1] * rows[k]
    return onp.moveaxis(onp.array(rows[::-1] if reverse else rows), 0, axis)


@pytest.mark.parametrize("run", [lambda f: f, weft.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("axis", "shapes"), [(-1, [(7,), (2, 7), (3, 2, 7)]), (0, [(5,), (5, 2)]),
                                          (-2, [(3, 2), (2, 3, 4)])])  # fmt: skip
def test_each_leaf_is_scanned_along_its_own_axis(run, reverse, axis, shapes):
    xs = [RNG.uniform(0.5, 1.5, shape).astype("float32") for shape in shapes]
    combine = lambda a, b: [x * y for x, y in zip(a, b, strict=True)]  # noqa: E731
    got = run(lambda xs: lax.associative_scan(combine, xs, reverse=reverse, axis=axis))(xs)
    for x, y in zip(xs, got, strict=True):
        onp.testing.assert_allclose(y, loop(x, axis, reverse), rtol=1e-5)


def test_the_function_may_return_the_leaves_in_another_container():
    lines = Line(onp.float32([2, 3, 4]), onp.float32([1, 1, 1]))
    got = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), lines)
    assert isinstance(got, Line)
    assert got.slope.tolist() == [2, 6, 24]
    assert got.offset.tolist() == [1, 4, 17]
