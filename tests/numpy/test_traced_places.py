"""Places and shapes that are known at run time only: insert, unravel_index, lists in an index."""

import numpy as onp
import pytest

import weft
import weft.numpy as np

X = onp.arange(12).reshape(3, 4)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("places", [0, 1, -1, 3, [2, 0, 2], [-1, 1], [], [1], [[0, 1]]], ids=str)
def test_insert_at_traced_places(places, axis):
    places = onp.asarray(places, int)
    if places.ndim > 1:
        places = places[0]
    expected = onp.insert(X, places, 7, axis)
    found = weft.jit(lambda x, i: np.insert(x, i, 7, axis))(X, places)
    onp.testing.assert_array_equal(found, expected)


def test_inserted_rows_keep_their_order():
    rows = onp.array([[100], [200]])
    found = weft.jit(lambda i: np.insert(X, i, rows, 0))(onp.array([2, 0]))
    onp.testing.assert_array_equal(found, onp.insert(X, [2, 0], rows, 0))
    columns = onp.array([[100, 200, 300], [400, 500, 600]])
    found = weft.jit(lambda i: np.insert(X, i, columns, 1))(1)
    onp.testing.assert_array_equal(found, onp.insert(X, 1, columns, 1))


def test_insert_takes_lists_with_traced_places():
    found = weft.jit(lambda i: np.insert(X[0], [i, 0], 5))(2)
    assert found.tolist() == onp.insert(X[0], [2, 0], 5).tolist()


def test_masks_for_insert_must_be_known():
    with pytest.raises(weft.errors.ConcretizationTypeError, match="obj decides the shape"):
        weft.jit(lambda m: np.insert(X[0], m, 5))(onp.array([True, False, True, True]))
    with pytest.raises(TypeError, match="obj must be integers"):
        weft.jit(lambda m: np.insert(X[0], m, 5))(1.5)


def test_insert_has_a_derivative():
    f = weft.jit(lambda x, v, i: np.insert(x, i, v) * np.arange(1.0, 6.0))
    by_x, by_v = weft.grad(lambda x, v: f(x, v, 2).sum(), (0, 1))(np.ones(4), 3.0)
    assert by_x.tolist() == [1.0, 2.0, 4.0, 5.0]
    assert by_v == 3.0


@pytest.mark.parametrize("shape", [(2, 1, 3), (7,), (2, 3)])
def test_unravel_index_of_a_traced_shape(shape):
    places = onp.array([5, 0, -1, 100, -100])
    expected = np.unravel_index(places, shape)
    found = weft.jit(np.unravel_index)(places, shape)
    assert [f.tolist() for f in found] == [e.tolist() for e in expected]
    found = weft.jit(np.unravel_index)(places, onp.array(shape))
    assert [f.tolist() for f in found] == [e.tolist() for e in expected]


@pytest.mark.parametrize(
    "index",
    [
        lambda i: ([i, 0],),
        lambda i: ([i, 0], [0, i]),
        lambda i: ([[i], [0]], [0, 1]),
        lambda i: (slice(None), (i, 1)),
        lambda i: ([i], ...),
        lambda i: (..., [i, 2]),
        lambda i: (None, [i, i]),
    ],
)
def test_lists_in_an_index_may_have_traced_elements(index):
    expected = X[index(1)]
    onp.testing.assert_array_equal(weft.jit(lambda i: np.array(X)[index(i)])(1), expected)
    onp.testing.assert_array_equal(np.array(X)[index(np.array(1))], expected)
    changed = X.copy()
    changed[index(1)] = 99
    onp.testing.assert_array_equal(weft.jit(lambda i: np.array(X).at[index(i)].set(99))(1), changed)


def test_a_ragged_list_is_no_index():
    with pytest.raises(TypeError, match="ragged"):
        weft.jit(lambda i: np.array(X)[([i, [0, 1]],)])(1)
