"""Incomplete functions: an element's value doesn't depend on how slowly its neighbours converge."""

import numpy as np
import pytest

import weft
from weft import lax
from weft.config import eager_tier

# function, arguments of elements that converge in a few steps, arguments of one that takes hundreds
CASES = {
    "igamma": (lax.igamma, [(1.5, 4.0), (8.0, 9.0), (3.0, 1.2), (0.3, 2.2)], (1e5, 1.0005e5)),
    "igammac": (lax.igammac, [(1.5, 4.0), (8.0, 9.0), (3.0, 5.0), (0.3, 2.2)], (1e5, 1.0005e5)),
    "igamma_grad_a": (
        lax.igamma_grad_a, [(1.5, 4.0), (8.0, 9.0), (3.0, 1.2), (0.3, 2.2)], (1e4, 1.001e4),
    ),
    "betainc": (lax.betainc, [(1.5, 4.0, 0.2), (8.0, 9.0, 0.4), (3.0, 1.2, 0.7), (2.0, 0.3, 0.2)],
                (3e5, 3e5, 0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_slow_neighbours_change_nothing(name):
    function, few, slow = CASES[name]
    quick = [np.float32(column) for column in zip(*few, few[0], strict=True)]
    beside = [np.float32(column) for column in zip(*few, slow, strict=True)]
    compiled = weft.jit(function)
    for tier in (compiled, eagerly(function)):
        alone, together = (np.asarray(tier(*xs)) for xs in (quick, beside))
        assert 0 < together[-1] < 1 or name == "igamma_grad_a"
        np.testing.assert_array_equal(together[:-1], alone[:-1])


def eagerly(function):
    def run(*xs):
        with eager_tier("host"):
            return function(*xs)

    return run
