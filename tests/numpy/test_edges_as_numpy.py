"""Edges of numpy's functions, against NumPy itself: empty, scalar, complex and boolean operands."""

import numpy as onp
import pytest

import weft
import weft.numpy as np


@pytest.fixture(params=["host", "xla"])
def tier(request):
    before = weft.config.eager_tier
    weft.config.update("eager_tier", request.param)
    yield request.param
    weft.config.update("eager_tier", before)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("edges", [[3.0, 1.0, 0.0], [0.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
def test_digitize_closes_falling_bins_as_numpy(tier, edges, right):
    x = onp.array([5.0, 3.0, 2.0, 1.0, 0.5, 0.0, -1.0])
    found = np.digitize(np.array(x), np.array(edges), right)
    onp.testing.assert_array_equal(found, onp.digitize(x, edges, right))


def test_unique_of_nothing(tier):
    found = np.unique(np.zeros((2, 0)), return_index=True, return_inverse=True, return_counts=True)
    assert [x.shape for x in found] == [(0,), (0,), (2, 0), (0,)]
    assert np.unique(np.zeros((0, 4)), axis=0).shape == (0, 4)
    assert np.intersect1d(np.zeros(0), np.ones(2)).shape == (0,)
    assert np.setdiff1d(np.zeros(0), np.ones(2), size=2, fill_value=3).tolist() == [3.0, 3.0]


def test_unique_puts_complex_nans_last_as_one(tier):
    x = onp.array([complex(onp.inf, 1), complex(1, onp.nan), 2, complex(onp.nan, 3)], "complex64")
    onp.testing.assert_array_equal(np.unique(np.array(x)), onp.unique(x))
    onp.testing.assert_array_equal(  # here NaNs differ; NumPy promises no order
        np.unique_values(np.array(x)), onp.array([x[2], x[0], x[1], x[3]])
    )


def test_setdiff1d_keeps_the_first_dtype(tier):
    found = np.setdiff1d(np.array([3, 1, 2], np.uint8), np.array([2, 9]))
    assert found.dtype == np.uint8
    assert found.tolist() == [1, 3]


@pytest.mark.parametrize(("name", "of_ten"), [("log2", 3.3219280949), ("log10", 1.0)])
def test_logarithms_of_infinite_complex_numbers(tier, name, of_ten):
    x = np.array([complex(onp.inf, 0.0), complex(10.0, 0.0)])
    found = onp.asarray(getattr(np, name)(x))
    assert found[0] == complex(onp.inf, 0.0)
    assert found[1] == pytest.approx(of_ten, rel=1e-6)


def test_cov_of_too_few_observations_divides_by_zero(tier):
    assert onp.isnan(np.cov(np.zeros(0)))
    assert onp.isinf(np.cov(np.array([[1.0, 2.0]]), ddof=2))


TRIMMED = {"f": slice(1, None), "b": slice(0, 3), "fb": slice(1, 3), "BF": slice(1, 3)}


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), [1], ()])
@pytest.mark.parametrize("trim", TRIMMED)
def test_trim_zeros_of_several_axes(trim, axis):
    x = onp.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]])
    axes = (0, 1) if axis is None else onp.atleast_1d(axis) % 2
    index = tuple(TRIMMED[trim] if i in axes else slice(None) for i in range(2))
    assert np.trim_zeros(np.array(x), trim, axis).tolist() == x[index].tolist()
    empty = tuple(0 if i in axes else n for i, n in enumerate((3, 2)))
    assert np.trim_zeros(np.zeros((3, 2)), trim, axis=axis).shape == empty


def test_trim_zeros_refuses_other_sides_and_axes():
    with pytest.raises(ValueError, match="trim must be 'f', 'b' or 'fb'; got 'x'"):
        np.trim_zeros(np.ones(2), "x")
    with pytest.raises(ValueError, match="axis 1 is out of range"):
        np.trim_zeros(np.ones(2), axis=1)


def test_resize_and_repeat_of_what_has_no_elements_or_axes(tier):
    assert np.resize(np.zeros((0, 4), np.int8), (2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert np.repeat(np.array(3.5), 2, axis=0).tolist() == [3.5, 3.5]


@pytest.mark.parametrize(("mode", "options"), [("mean", {}), ("linear_ramp", {"end_values": 2})])
def test_pad_of_booleans(tier, mode, options):
    x = onp.array([[False, True, False], [True, True, False]])
    found = np.pad(np.array(x), 2, mode=mode, **options)
    onp.testing.assert_array_equal(found, onp.pad(x, 2, mode=mode, **options))


def test_ldexp_with_huge_exponents(tier):
    exponents = np.array([2**32 - 1, 1], np.uint32)
    assert np.ldexp(np.array([1.0, 1.0]), exponents).tolist() == [float("inf"), 2.0]


def test_indices_into_an_empty_axis_that_pick_nothing(tier):
    none = onp.zeros(0, bool)
    assert np.zeros((0, 3))[none, np.array(2)].shape == (0,)
    assert np.put(np.zeros((0, 4)), np.array([0, -1]), 3, inplace=False).shape == (0, 4)
    assert [i.dtype.kind for i in np.ix_(np.zeros(0))] == ["i"]


def test_python_booleans_are_not_weak_as_floats():
    assert not np.deg2rad(True).weak_type
    assert not np.log10(True).weak_type
