"""Arguments that NumPy refuses are refused, not taken for something else; errors are readable."""

import numpy as onp
import pytest

import weft
import weft.numpy as np

ONES = np.ones(3)
REFUSED = {
    "bincount of a matrix": (
        lambda: np.bincount(np.ones((2, 2), int)),
        r"bincount: expected one axis; got int32\[2,2\]",
    ),
    "bincount of a number": (lambda: np.bincount(np.int32(1)), "bincount: expected one axis"),
    "bincount of floats": (lambda: np.bincount(ONES), "bincount: expected integers"),
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
    "places of a scalar": (lambda: np.unravel_index(np.array([0]), ()), "has no flat indices"),
    "vsplit of a row": (lambda: np.vsplit(ONES, [1]), "at least 2 axes"),
    "hsplit of a scalar": (lambda: np.hsplit(np.ones(()), 1), "at least 1 axis"),
    "dsplit of a matrix": (lambda: np.dsplit(np.ones((2, 2)), 1), "at least 3 axes"),
    "repeating nothing": (
        lambda: np.repeat(np.zeros((2, 0)), 2, axis=1, total_repeat_length=4),
        "has no element to pad to total_repeat_length 4",
    ),
    "bytes of floats": (lambda: np.packbits(ONES), "packbits: a must be integer or boolean"),
    "bytes of complex numbers": (lambda: np.packbits(ONES * 1j), "packbits: a must be integer"),
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


FILLS = {
    "get": lambda x, fill: x.at[np.array(5)].get(mode="fill", fill_value=fill),
    "take": lambda x, fill: np.take(x, np.array(5), mode="fill", fill_value=fill),
    "take_along_axis": lambda x, fill: np.take_along_axis(x, np.array([5]), 0, "fill", fill),
}


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize("name", FILLS)
def test_fill_values_that_do_not_fit(name, wrap):
    for dtype, fill, kind, says in (
        ("uint8", -1, OverflowError, "-1 does not fit uint8"),
        ("uint8", 300, OverflowError, "300 does not fit uint8"),
        ("int32", onp.int64(2**40), OverflowError, "does not fit int32"),
        ("int8", 1j, TypeError, "a number of int8; got 1j"),
        ("float32", 1j, TypeError, "a number of float32; got 1j"),
        ("float32", "1", TypeError, "a number of float32; got '1'"),
    ):
        with pytest.raises(kind, match=f"{name}.*{says}"):
            wrap(lambda x: FILLS[name](x, fill))(np.ones(3, dtype))  # noqa: B023


def test_what_a_program_does_not_know_is_not_refused():
    counts, _ = weft.jit(lambda x, low: np.histogram(x, 2, range=(low, 4.0)))(onp.arange(4.0), 0.0)
    assert counts.tolist() == [2, 2]
    assert np.unravel_index(0, ()) == onp.unravel_index(0, ())
    edges = onp.array([0.0, 2.0, 2.0, 5.0])
    assert (
        np.histogram(onp.arange(4.0), edges)[0].tolist()
        == onp.histogram(onp.arange(4.0), edges)[0].tolist()
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.sum(ONES, 4),
        lambda: np.reshape(ONES, (2, 2)),
        lambda: np.transpose(ONES, (1,)),
        lambda: np.remainder(ONES, np.ones(2)),
    ],
)
def test_the_error_of_a_call_without_a_plan_is_shown_alone(call):
    with pytest.raises(ValueError, match="fix: ") as info:
        call()
    assert info.value.__context__ is None or info.value.__suppress_context__


def test_an_error_of_the_users_iterator_is_not_changed():
    def items():
        yield 1
        raise ValueError("no more items")

    with pytest.raises(ValueError, match=r"^no more items"):
        np.fromiter(items(), dtype=int)
    with pytest.raises(ValueError, match=r"^no more items"):
        np.choose(np.array([0]), items())
