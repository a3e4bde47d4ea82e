"""Arguments that NumPy refuses are refused, not taken for something else."""

import numpy as onp
import pytest

import weft
import weft.numpy as np

ONES = np.ones(3)
REFUSED = {
    "histogram of no bins": (lambda: np.histogram(ONES, bins=0), "bins must be positive"),
    "histogram of -1 bins": (lambda: np.histogram(ONES, bins=-1), "bins must be positive"),
    "range with NaN": (lambda: np.histogram(ONES, range=(np.nan, 1)), "two finite numbers"),
    "infinite range": (lambda: np.histogram(ONES, range=(0, np.inf)), "two finite numbers"),
    "range backwards": (lambda: np.histogram(ONES, range=(2, 1)), "the lower one first"),
    "falling edges": (lambda: np.histogram(ONES, bins=[3, 2, 1]), "must increase"),
    "edges of two axes": (lambda: np.histogram(ONES, bins=np.ones((1, 2))), "one axis"),
    "histogramdd": (lambda: np.histogramdd(np.ones((2, 1)), bins=0), "bins must be positive"),
    "histogram2d": (
        lambda: np.histogram2d(ONES, ONES, range=[(2, 1), (0, 1)]),
        "the lower one first",
    ),
    "places of a scalar": (lambda: np.unravel_index(np.array([0]), ()), "has no places"),
    "vsplit of a row": (lambda: np.vsplit(ONES, [1]), "at least 2 axes"),
    "hsplit of a scalar": (lambda: np.hsplit(np.ones(()), 1), "at least 1 axis"),
    "dsplit of a matrix": (lambda: np.dsplit(np.ones((2, 2)), 1), "at least 3 axes"),
    "variance of complex numbers as real": (
        lambda: np.var(np.array([1j]), dtype="float32"),
        "dtype must be complex",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        call()


def test_what_a_program_does_not_know_is_not_refused():
    counts, _ = weft.jit(lambda x, low: np.histogram(x, 2, range=(low, 4.0)))(onp.arange(4.0), 0.0)
    assert counts.tolist() == [2, 2]
    assert np.unravel_index(0, ()) == onp.unravel_index(0, ())
    edges = onp.array([0.0, 2.0, 2.0, 5.0])
    assert (
        np.histogram(onp.arange(4.0), edges)[0].tolist()
        == onp.histogram(onp.arange(4.0), edges)[0].tolist()
    )
