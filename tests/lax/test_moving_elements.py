"""The functions of lax that move elements: what they add to their primitives, and their errors."""

import numpy
import pytest

import weft
from weft import lax, numpy as np

X = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
V = numpy.arange(6, dtype=numpy.float32)


def same(actual, expected):
    expected = numpy.asarray(expected)
    assert actual.shape == expected.shape
    numpy.testing.assert_array_equal(numpy.asarray(actual), expected)


# --- slices ---


def test_slices_along_one_axis():
    same(lax.slice_in_dim(X, -2, None, axis=-1), X[:, -2:])
    same(lax.slice_in_dim(X, 0, -1, 2, axis=1), X[:, 0:-1:2])
    same(lax.index_in_dim(X, -1, 1), X[:, -1:])
    same(lax.index_in_dim(X, 2, keepdims=False), X[2])
    with pytest.raises(IndexError, match="out of bounds"):
        lax.index_in_dim(X, 9, 1)
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        lax.slice_in_dim(X, 0, 1, axis=2)


@pytest.mark.parametrize(
    ("start", "limit", "strides"),
    [
        ((4,), (2,), None),
        ((4,), (8,), None),
        ((-1,), (3,), None),
        ((0,), (6,), (0,)),
        ((0, 0), (1, 1), None),
    ],
)
def test_slices_that_do_not_fit(start, limit, strides):
    with pytest.raises(ValueError, match="slice"):
        lax.slice(V, start, limit, strides)


@pytest.mark.parametrize("start", [-1, -6, -9, 0, 3, 5, 99])
def test_dynamic_places_count_from_the_end(start):
    place = min(max(start + 6 if start < 0 else start, 0), 4)
    expected = V[place : place + 2]
    for index in (start, numpy.int32(start), numpy.int8(start), np.asarray(start)):
        same(lax.dynamic_slice(V, (index,), (2,)), expected)
    same(lax.dynamic_slice(V, np.array([start]), (2,)), expected)
    same(weft.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2))(V, start), expected)
    same(weft.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 2))(V, numpy.int8(start)), expected)
    same(
        weft.vmap(lambda i: lax.dynamic_slice_in_dim(V, i, 2))(numpy.array([start])), expected[None]
    )
    written = V.copy()
    written[place : place + 2] = 7
    update = numpy.full(2, 7, numpy.float32)
    same(lax.dynamic_update_slice(V, update, (start,)), written)
    same(weft.jit(lambda x, i: lax.dynamic_update_slice_in_dim(x, update, i, 0))(V, start), written)


def test_places_in_a_narrow_dtype():
    long = numpy.arange(300)
    for i in (numpy.int8(-5), numpy.int8(100), numpy.uint8(250)):
        at = int(i) + 300 if i < 0 else int(i)
        same(weft.jit(lambda x, i: lax.dynamic_slice_in_dim(x, i, 1))(long, i), [at])


def test_no_counting_from_the_end():
    same(lax.dynamic_slice(V, (-1,), (2,), allow_negative_indices=False), V[:2])
    jitted = weft.jit(lambda i: lax.dynamic_slice(V, (i,), (2,), allow_negative_indices=[False]))
    same(jitted(-1), V[:2])


def test_dynamic_rows():
    same(lax.dynamic_index_in_dim(X, 1, keepdims=False), X[1])
    same(lax.dynamic_index_in_dim(X, -1, 1), X[:, -1:])
    for update in (X[0], X[:1]):
        same(lax.dynamic_update_index_in_dim(X, update, 2, 0), [X[0], X[1], X[0]])


@pytest.mark.parametrize(
    ("indices", "sizes", "error", "words"),
    [
        ((1,), (7,), TypeError, "size 7 does not fit"),
        ((1.0,), (2,), TypeError, "integer"),
        ((1, 2), (2,), ValueError, "needs 1"),
        ((1,), (2, 3), ValueError, "needs 1"),
        (np.zeros((1, 1), int), (2,), ValueError, "one axis"),
    ],
)
def test_wrong_windows(indices, sizes, error, words):
    with pytest.raises(error, match=words) as caught:
        lax.dynamic_slice(V, indices, sizes)
    assert any("test_moving_elements.py" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError, match="update"):
        lax.dynamic_update_slice(V, numpy.zeros(7, numpy.float32), (0,))


# --- joining, shapes, creation ---


def test_joining():
    same(lax.concatenate([X, X[:1]], 0), numpy.concatenate([X, X[:1]]))
    same(lax.concatenate(X, 0), X.reshape(-1))
    same(lax.pad(V, 0, [(1, -2, 1)]), [0, 0, 0, 1, 0, 2, 0, 3, 0, 4])
    same(lax.rev(X, [0, 1]), X[::-1, ::-1])
    for part, expected in zip(lax.split(X, (1, 0, 3), -1), numpy.split(X, [1, 1], 1), strict=True):
        same(part, expected)
    for attempt, words in [
        (lambda: lax.concatenate([], 0), "at least one"),
        (lambda: lax.concatenate([V, X], 0), "number of axes"),
        (lambda: lax.concatenate([V, V.astype(int)], 0), "one dtype"),
        (lambda: lax.concatenate([X, X[:, :1]], 0), "differ in length"),
        (lambda: lax.pad(V, 0, [(-4, -3, 0)]), "cuts off more"),
        (lambda: lax.pad(V, 0, [(0, 0, -1)]), "negative"),
        (lambda: lax.pad(V, 0, [(0, 0)]), "before, after, between"),
        (lambda: lax.pad(V.astype(int), 0.5, [(0, 0, 0)]), "one dtype"),
        (lambda: lax.rev(X, (0, 0)), "repeated"),
        (lambda: lax.split(V, (1, 2)), "add up"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            attempt()


def test_shapes():
    same(lax.reshape(X, (4, 3), (1, 0)), X.T)
    same(lax.squeeze(X[None, :, None], (0, -2)), X)
    same(lax.expand_dims(X, (0, -1)), X[None, :, :, None])
    same(lax.collapse(X[None], 1), X.reshape(1, 12))
    same(lax.collapse(X[None], 0, -1), X)
    for start, stop, lengths in [
        (0, 2, (6,)),
        (1, 1, (6, 1)),
        (5, 6, (6, 1)),
        (0, 0, (1, 6)),
        (-5, 1, (6,)),
    ]:
        same(lax.collapse(V, start, stop), V.reshape(lengths))
    same(lax.collapse(1.0, 0, 2), numpy.float32([1]))
    same(lax.broadcast(V, (2, 3)), numpy.broadcast_to(V, (2, 3, 6)))
    same(lax.broadcast_in_dim(V, (6, 2), (0,)), numpy.stack([V, V], 1))
    same(lax.broadcast_to_rank(V, 3), V[None, None])
    like = numpy.zeros((2, 6, 3))
    same(lax.broadcast_like(V[:, None], like), numpy.tile(V[:, None], (2, 1, 3)))
    same(lax.tile(X, (2, 3)), numpy.tile(X, (2, 3)))
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert lax.broadcast_shapes() == ()
    for attempt, words in [
        (lambda: lax.reshape(X, (5,)), "12 elements"),
        (lambda: lax.reshape(X, (-1,)), "negative"),
        (lambda: lax.squeeze(X, (0,)), "length 1"),
        (lambda: lax.expand_dims(X, (0, 0)), "different axes"),
        (lambda: lax.collapse(X, 2, 1), "start_dimension"),
        (lambda: lax.collapse(X, 0.5), "an axis must be an int"),
        (lambda: lax.broadcast_shapes((2,), (3,)), "differ on axis -1"),
        (lambda: lax.broadcast_to_rank(X, 1), "more than 1"),
        (lambda: lax.broadcast_like(X, V), "can't be broadcast to the shape"),
        (lambda: lax.tile(X, (2,)), "needs 2 reps"),
        (lambda: lax.broadcast_in_dim(V, (5,), (0,)), "does not fit"),
        (lambda: lax.transpose(X, (1, 1)), "permutation"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            attempt()


def test_creation():
    same(lax.iota("int32", 3), [0, 1, 2])
    same(lax.broadcasted_iota(np.uint8, (2, 3), 0), [[0] * 3, [1] * 3])
    assert lax.full((2,), 1).weak_type
    assert lax.full((2,), 1.5, int).tolist() == [1, 1]
    for make in (
        lambda: lax.full((2,), 1j, "float32"),
        lambda: lax.full_like(np.arange(3), 1j),
        lambda: lax.convert_element_type(1j, "int8"),
    ):
        with pytest.raises(TypeError, match="1j can't become"):
            make()
    assert lax.convert_element_type(1j, bool).item() is True
    assert lax.full_like(np.arange(3), 1.5).tolist() == [1, 1, 1]
    assert lax.full_like(V, 2, shape=(2,)).dtype == numpy.float32
    assert lax.full_like(2, 7.5).weak_type
    for attempt, words in [
        (lambda: lax.iota(bool, 3), "integer, float or complex"),
        (lambda: lax.iota(int, -1), "negative"),
        (lambda: lax.broadcasted_iota(int, (2, 3), 2), "out of range"),
        (lambda: lax.full((2,), X), "scalar"),
        (lambda: weft.jit(lambda n: lax.iota(int, n))(3), "traced|static"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            attempt()


# --- gather and scatter ---


ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))


def test_gather_modes():
    far = numpy.array([[1], [9], [-1]])

    def rows(**options):
        return lax.gather(X, far, ROWS, (1, 4), **options)

    same(rows(mode="clip"), X[[1, 2, 0]])
    same(rows(), X[[1, 2, 0]])
    assert numpy.isnan(numpy.asarray(rows(mode="fill"))[1:]).all()
    same(rows(fill_value=7)[1:], numpy.full((2, 4), 7))
    same(rows(mode=lax.GatherScatterMode.CLIP)[0], X[1])
    with pytest.raises(ValueError, match="promise_in_bounds"):
        rows(mode="wrap")
    for numbers, sizes, words in [
        (ROWS, (1, 5), "does not fit"),
        (ROWS, (2, 4), "must be 1"),
        (ROWS, (1,), "slice sizes"),
        (lax.GatherDimensionNumbers((2,), (0,), (0,)), (1, 4), "offset_dims"),
        (lax.GatherDimensionNumbers((1,), (0,), (0, 1)), (1, 4), "start_index_map"),
        (((1,), (0,), (0,)), (1, 4), "GatherDimensionNumbers"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            lax.gather(X, far, numbers, sizes)
    with pytest.raises(TypeError, match="integers"):
        lax.gather(X, far.astype(float), ROWS, (1, 4))


def test_scatters():
    single = lax.ScatterDimensionNumbers((), (0,), (0,))
    i, u = numpy.array([[1], [1], [9]]), numpy.array([2.0, 3.0, 4.0], numpy.float32)
    for function, expected in [
        (lax.scatter, 3), (lax.scatter_add, 6), (lax.scatter_sub, -4), (lax.scatter_mul, 6),
        (lax.scatter_min, 1), (lax.scatter_max, 3),
    ]:  # fmt: skip
        wanted = [0, expected, 2, 3, 4, 5]
        assert function(V, i, u, single).tolist() == wanted
        assert weft.jit(lambda *a, f=function: f(*a, single))(V, i, u).tolist() == wanted
    assert lax.scatter(V, i, u, single, mode="clip").tolist() == [0, 3, 2, 3, 4, 4]
    for attempt, words in [
        (lambda: lax.scatter(V, i, u[:2], single), "for each of the indices"),
        (lambda: lax.scatter(V, i, u.astype(int), single), "one dtype"),
        (lambda: lax.scatter(V, i, u, lax.ScatterDimensionNumbers((), (), (0,))), "window"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            attempt()


def test_scatter_apply():
    single = lax.ScatterDimensionNumbers((), (0,), (0,))
    i = numpy.array([[1], [1], [9]])

    def applied(x, i, **options):
        return lax.scatter_apply(x, i, lambda e: e * 10, single, update_shape=(3,), **options)

    assert applied(V, i).tolist() == [0, 100, 2, 3, 4, 5]
    assert weft.jit(applied)(V, i).tolist() == [0, 100, 2, 3, 4, 5]
    assert weft.jit(applied)(V, numpy.array([[1], [2], [4]])).tolist() == [0, 10, 20, 3, 40, 5]
    gradient = weft.grad(lambda x: applied(x, i).sum())(V)
    assert gradient.tolist() == [1, 100, 1, 1, 1, 1]


def test_index_take():
    rows, columns = numpy.array([0, -1]), numpy.array([1, 2])
    same(lax.index_take(X, (rows, columns), (0, 1)), X[rows, columns])
    same(weft.jit(lambda r: lax.index_take(X, (r,), (0,)))(rows), X[rows])
