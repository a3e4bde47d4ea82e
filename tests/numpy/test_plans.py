"""Calls for which a plan is kept refuse what they refused before they had one."""

import numpy as onp
import pytest

import weft.numpy as np

X = np.ones((2, 3))

CALLS = {  # a function of an argument; one that it takes, and an equal one that it refuses
    "sum": (lambda axis: np.sum(X, axis), 1, 1.0),
    "max of axes": (lambda axis: np.max(X, axis), (0, 1), (0, 1.0)),
    "mean": (lambda axis: np.mean(X, axis), 0, 0.0),
    "argmax": (lambda axis: np.argmax(X, axis), 1, 1.0),
    "reshape": (lambda shape: np.reshape(X, shape), (3, 2), (3.0, 2)),
    "reshape to one axis": (lambda shape: np.reshape(X, shape), 6, 6.0),
    "transpose": (lambda order: np.transpose(X, order), (1, 0), (1.0, 0)),
    "squeeze": (lambda axis: np.squeeze(X[None], axis), 0, 0.0),
    "expand_dims": (lambda axis: np.expand_dims(X, axis), 1, 1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_is_equal_to_an_integer_is_none(name):
    f, good, bad = CALLS[name]
    expected = onp.asarray(f(good))
    for _ in range(3):
        onp.testing.assert_array_equal(f(good), expected)
        with pytest.raises(TypeError):
            f(bad)
