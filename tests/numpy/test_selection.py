"""where, select and piecewise against NumPy, and the gradients of pieces."""

import numpy as onp
import pytest
from agreement import agree, assert_close, assert_gradient
from tests.numpy.test_calculus import X

import weft
import weft.numpy as np


def test_where():
    agree("where", X > 0, X, 0.0)
    agree("where", X > 0, X, X[0])
    agree("where", X[0] > 0, 1, onp.arange(5))
    agree("where", onp.arange(5), X, 2.0)
    assert np.where(X > 0, 1, 2).weak_type
    assert_close(np.where(X > 1)[0], onp.where(X > 1)[0])
    assert_gradient(lambda x: np.where(x > 0, x * x, -x), X)
    with pytest.raises(ValueError, match="needs both x and y"):
        np.where(X > 0, X)


def test_gradients_of_pieces_are_not_spoilt_by_others():
    pieces = [lambda v: np.sqrt(v - 1), lambda v: v**2, lambda v: np.log(0 * v)]
    f = lambda x: np.piecewise(x, [x > 0, x == 1], pieces).sum()  # noqa: E731
    x = onp.float32([1.0, 2.0, 5.0])
    for way in (lambda f: f, weft.jit):
        assert_close(way(weft.grad(f))(x), onp.float32([2, 0.5, 0.25]))


def test_select_and_piecewise():
    agree("select", [X < -1, X < 0, X < 1], [X, 2 * X, -X], -7.0, compiled=False)
    conditions = [X < 0, X >= 1]
    assert_close(np.piecewise(X, conditions, [-1, 1]), onp.piecewise(X, conditions, [-1, 1]))
    functions = [lambda v: -v, lambda v: v * v, 7.0]
    ours = weft.jit(lambda x: np.piecewise(x, [x < 0, x >= 1], functions))(X)
    assert_close(ours, onp.piecewise(X, conditions, functions))
    with pytest.raises(ValueError, match="2 conditions need 2 or 3 functions"):
        np.piecewise(X, conditions, [1])
