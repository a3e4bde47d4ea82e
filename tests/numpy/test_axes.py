"""Axes and lengths as users write them: ranges, lists, booleans, arrays, older names."""

import numpy as onp
import pytest

import weft.numpy as np
from weft import lax

X = onp.arange(24.0, dtype="f").reshape(2, 3, 4)
RANGES = {
    "expand_dims": lambda axes: np.expand_dims(X, axes),
    "sum": lambda axes: np.sum(X, axis=axes),
    "mean": lambda axes: np.mean(X, axis=axes),
    "var": lambda axes: np.var(X, axis=axes),
    "max": lambda axes: np.max(X, axis=axes, keepdims=True),
    "any": lambda axes: np.any(X > 3, axis=axes),
    "ptp": lambda axes: np.ptp(X, axis=axes),
    "nansum": lambda axes: np.nansum(X, axis=axes),
    "count_nonzero": lambda axes: np.count_nonzero(X, axis=axes),
    "average": lambda axes: np.average(X, axis=axes),
    "median": lambda axes: np.median(X, axis=axes),
    "quantile": lambda axes: np.quantile(X, 0.3, axis=axes),
    "flip": lambda axes: np.flip(X, axes),
    "roll": lambda axes: np.roll(X, 1, axes),
    "moveaxis": lambda axes: np.moveaxis(X, axes, axes[::-1]),
    "rot90": lambda axes: np.rot90(X, 1, axes),
    "squeeze": lambda axes: np.squeeze(X[:1, :1], axes),
    "tensordot": lambda axes: np.tensordot(X, X, (axes, axes)),
    "apply_over_axes": lambda axes: np.apply_over_axes(np.sum, X, axes),
    "gradient": lambda axes: np.gradient(X, axis=axes)[1],
    "lax.reduce_sum": lambda axes: lax.reduce_sum(X, axes),
    "lax.expand_dims": lambda axes: lax.expand_dims(X, axes),
    "lax.rev": lambda axes: lax.rev(X, axes),
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("axes", [range(2), onp.arange(2), onp.array([0, 1], "int8")], ids=repr)
def test_axes_may_be_a_range_or_an_array(name, axes):
    f = RANGES[name]
    expected = f((0, 1))
    for _ in range(3):
        assert np.array_equal(f(axes), expected)


def test_orders_of_axes_may_be_ranges():
    assert np.transpose(X, range(3)).shape == X.shape
    assert np.transpose(X, range(2, -1, -1)).shape == (4, 3, 2)
    assert np.array(X).transpose(range(2, -1, -1)).shape == (4, 3, 2)
    assert lax.transpose(X, range(2, -1, -1)).shape == (4, 3, 2)
    assert np.transpose(X, onp.array([2, 0, 1])).shape == (4, 2, 3)
    assert np.array(X).transpose(onp.array([2, 0, 1])).shape == (4, 2, 3)
    assert np.tensordot(X, X, onp.array([[0, 1], [0, 1]])).shape == (4, 4)
    assert np.linalg.norm(X, axis=onp.array([0, 2])).shape == (3,)
    assert np.sum(X, onp.array(1)).shape == (2, 4)
    with pytest.raises(TypeError, match="sum: axis must be an int; got float"):
        np.sum(X, onp.array([0.0, 1.0]))


BOOLEANS = {
    "reshape": lambda: np.reshape(X, (True, -1, 1)),
    "reshape to one": lambda: np.reshape(X[0, 0, 0], onp.True_),
    "method": lambda: np.array(X).reshape(-1, True),
    "sum": lambda: np.sum(X, axis=False),
    "sums": lambda: np.sum(X, axis=(False, 1)),
    "zeros": lambda: np.zeros((True, 2)),
    "concatenate": lambda: np.concatenate([X, X], axis=True),
    "broadcast_to": lambda: np.broadcast_to(X[:, :, :1], (2, 3, True)),
}


@pytest.mark.parametrize("name", BOOLEANS)
def test_a_boolean_is_no_axis_and_no_length(name):
    with pytest.raises(TypeError, match="must be an int; got the boolean"):
        BOOLEANS[name]()


def test_newshape_is_an_older_name():
    assert np.reshape(X, newshape=(4, 6)).shape == (4, 6)
    assert np.reshape(X, newshape=-1, order="F").shape == (24,)
    with pytest.raises(TypeError, match="got both"):
        np.reshape(X, (4, 6), newshape=(4, 6))
    with pytest.raises(TypeError, match="must be an int"):
        np.reshape(X)


@pytest.mark.parametrize("make", [onp.array, np.array, tuple, list])
def test_tile_takes_arrays_of_numbers(make):
    for reps in ([2, 1], [2], [1, 3, 1, 2]):
        assert np.array_equal(np.tile(X, make(reps)), onp.tile(X, reps))
