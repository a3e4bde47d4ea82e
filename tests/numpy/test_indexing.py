"""Indexing agrees with NumPy, eagerly and traced; functions of indices and masks."""

import numpy
import pytest
from random_indices import dynamic_parts, random_index

import weft
from weft import errors, numpy as np
from weft.config import eager_tier
from weft.core.array import from_host
from weft.interpreters.stage import stage
from weft.numpy.indexing import read

X = numpy.random.default_rng(0).standard_normal((4, 3, 5)).astype(numpy.float32)
V = numpy.arange(6, dtype=numpy.float32)
SEEDS = range(60)


def host(x):
    return numpy.asarray(x)


def same(actual, expected):
    expected = numpy.asarray(expected)
    assert actual.shape == expected.shape
    assert host(actual).shape == expected.shape
    numpy.testing.assert_array_equal(host(actual), expected)


# --- x[index] ---


@pytest.mark.parametrize("chunk", range(5))
def test_random_indices_agree_with_numpy(chunk):
    x = from_host(X)
    for seed in range(chunk * 60, chunk * 60 + 60):
        index = random_index(X.shape, seed)
        try:
            expected = X[index]
        except IndexError:
            continue
        same(x[index], expected)
        same(read("test", x, index), expected)
        parts, rebuilt = dynamic_parts(index)
        same(x[rebuilt(map(from_host, parts))], expected)


@pytest.mark.parametrize("seed", [s for s in SEEDS if s % 5 == 0])
def test_random_indices_traced(seed):
    index = random_index(X.shape, seed)
    try:
        expected = X[index]
    except IndexError:
        pytest.skip("arrays that don't broadcast")
    parts, rebuilt = dynamic_parts(index)
    same(weft.jit(lambda x, *places: x[rebuilt(places)])(X, *parts), expected)
    same(weft.vmap(lambda x: x[index])(np.array([X, 2 * X])), numpy.stack([expected, 2 * expected]))
    out, pullback = weft.vjp(lambda x: x[index], X)
    same(out, expected)
    ct = numpy.random.default_rng(seed).standard_normal(expected.shape).astype(numpy.float32)
    wanted = numpy.zeros_like(X)
    numpy.add.at(wanted, index, ct)
    numpy.testing.assert_allclose(host(pullback(ct)[0]), wanted, atol=1e-5)


def test_batched_places():
    rows = numpy.array([2, 0, 3])
    same(weft.vmap(lambda i: np.asarray(X)[i])(rows), X[rows])
    places = numpy.array([2, 0, 1, 1])
    same(weft.vmap(lambda x, i: x[i, 1:])(X, places), X[range(4), places, 1:])
    same(weft.vmap(lambda x, i: x[:, i])(X, numpy.array([[2], [0], [4], [-1]])),
         numpy.stack([X[k][:, [i]] for k, i in enumerate([2, 0, 4, -1])]))  # fmt: skip


def test_masks():
    x = np.asarray(X)
    mask = X > 0
    same(x[mask], X[mask])
    same(x[np.asarray(mask)], X[mask])
    rows = numpy.array([True, False, True, False])
    same(x[rows], X[rows])
    same(x[rows, 1], X[rows, 1])
    same(x[rows, numpy.array([0, 2])], X[rows, numpy.array([0, 2])])
    same(x[:, :, numpy.array([True] * 5)], X)
    same(x[True], X[True])
    same(x[False], X[False])
    same(x[..., None, numpy.bool_(True)], X[..., None, True])


@pytest.mark.parametrize(
    ("index", "expected"),
    [(10, 5), (-7, 0), (numpy.array([10, -7, -1]), [5, 0, 5]), (numpy.uint32(2**32 - 1), 5)],
)
def test_places_out_of_range_are_moved_inside(index, expected):
    x = np.asarray(V)
    same(x[index], V[expected])
    same(weft.jit(lambda x, i: x[i])(x, index), V[expected])
    same(weft.jit(lambda x: x[index])(x), V[expected])


def test_dtypes_and_weak_types():
    for dtype in ("bool", "int4", "bfloat16", "float8_e4m3fn", "complex64", "uint8"):
        x = np.array([0, 1, 1, 0]).astype(dtype)
        assert x[1].dtype == x.dtype
        assert x[1:3].dtype == x.dtype
        assert host(x[np.array([1, 3])]).astype(complex).tolist() == [1, 0]
        traced = weft.jit(lambda x, i: x[i])(x, np.array([1, 3]))
        assert host(traced).astype(complex).tolist() == [1, 0]
    assert np.asarray(3.0)[None].weak_type
    assert not np.asarray(V)[0].weak_type


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ([1, 2], TypeError, ["list", "np.array"]),
        (1.0, TypeError, ["integer", "float"]),
        ("a", TypeError, ["integer", "str"]),
        (numpy.array([1.0]), TypeError, ["float64[1]"]),
        ((1, 2, 3), IndexError, ["too many", "float32[4,3]", "3 were indexed"]),
        ((..., ...), IndexError, ["ellipsis"]),
        (numpy.ones((3, 4), bool), IndexError, ["mask", "(4, 3)"]),
        ((numpy.array([0, 1]), numpy.array([0, 1, 2])), IndexError, ["broadcast", "(2,), (3,)"]),
        ({}, IndexError, ["dict"]),
        (slice(1.5, None), TypeError, ["slice(1.5"]),
        (slice(None, None, 0), ValueError, ["slice step"]),
    ],
)
def test_wrong_indices(index, error, words):
    x = np.asarray(X[:, :, 0])
    traced = weft.jit(lambda x: x[index])
    for attempt in (lambda: x[index], lambda: traced(x), lambda: x.at[index].set(0)):
        with pytest.raises(error) as caught:
            attempt()
        for word in words:
            assert word in str(caught.value)
        assert any("test_indexing.py" in note for note in caught.value.__notes__)


def test_errors_while_traced():
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"size=n"):
        weft.jit(lambda x: x[x > 2])(V)
    with pytest.raises(IndexError, match="dynamic_slice_in_dim"):
        weft.jit(lambda x, i: x[i:])(V, 2)
    with pytest.raises(IndexError, match="no elements"):
        np.zeros((0, 3))[0]
    with pytest.raises(TypeError, match="one axis"):
        iter(np.float32(3))


def test_few_equations():
    def equations(function, *args):
        values = [from_host(numpy.asarray(a)) for a in args]
        jaxpr = stage(lambda *xs: [function(*xs)], [v.aval for v in values])
        return [e.primitive.name for e in jaxpr.equations]

    i = numpy.int32(1)
    assert equations(lambda x: x[1], X) == ["slice", "reshape"]
    assert equations(lambda x: x[1:3], X) == ["slice"]
    assert equations(lambda x: x[::-1, None], X) == ["rev", "reshape"]
    assert equations(lambda x: x[...], X) == []
    assert equations(lambda x: x[numpy.array([1, -1])], X) == ["gather"]
    assert equations(lambda x, i: x[i], X, numpy.uint8(1)) == ["dynamic_slice", "reshape"]
    assert len(equations(lambda x, i: x[i], X, i)) == 5
    assert equations(lambda x: sum(x), numpy.zeros((3, 2), numpy.float32)).count("split") == 1


def test_differentiated_loop_shares_signatures():
    from weft.config import caches
    from weft.primitives.dynamic_slicing import dynamic_slice

    def total(x):
        return sum(x[i] ** 2 for i in range(8))

    before = len(caches.now[dynamic_slice.derivatives])
    same(weft.grad(total)(np.arange(8.0)), 2 * numpy.arange(8.0, dtype=numpy.float32))
    assert len(caches.now[dynamic_slice.derivatives]) <= before + 1


def test_iteration_and_unpacking():
    a, b = np.asarray(X[:2, 0])
    same(a, X[0, 0])
    same(b, X[1, 0])
    assert [float(v) for v in np.asarray(V)] == V.tolist()
    assert list(np.zeros((0, 3))) == []
    same(weft.jit(lambda x: [*x][2])(X), X[2])
    same(weft.grad(lambda x: sum((i + 1) * v for i, v in enumerate(x)))(V), numpy.arange(1.0, 7))
    for axis in (0, 1, -1):
        rows = np.unstack(np.asarray(X), axis=axis)
        assert len(rows) == X.shape[axis]
        same(rows[1], numpy.take(X, 1, axis))
        same(weft.jit(lambda x, axis=axis: np.unstack(x, axis=axis)[1])(X), numpy.take(X, 1, axis))


def test_tier_of_executables_agrees():
    with eager_tier("xla"):
        x = np.asarray(X) + 0
        same(x[2], X[2])
        same(read("test", x, (slice(None), numpy.array([0, 2]))), X[:, [0, 2]])


# --- take and its like ---


def both(function, *args):
    """A function's result, which must be the same while traced."""
    out = function(*args)
    traced = weft.jit(function)(*args)
    numpy.testing.assert_array_equal(host(out), host(traced))
    return host(out)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [1, [2, 0, -1], [[0], [2]]])
def test_take(axis, indices):
    i = numpy.asarray(indices)
    expected = numpy.take(X, i, axis)
    same(both(lambda x, i: np.take(x, i, axis=axis), X, i), expected)
    same(np.asarray(X).take(np.asarray(i), axis), expected)


def test_take_out_of_range():
    i = numpy.array([10, -1, -10])
    assert both(lambda x, i: np.take(x, i), V, i).tolist()[1] == 5
    assert numpy.isnan(both(lambda x, i: np.take(x, i), V, i)[[0, 2]]).all()
    assert both(lambda x, i: np.take(x, i, fill_value=7), V, i).tolist() == [7, 5, 7]
    assert both(lambda x, i: np.take(x, i, mode="clip"), V, i).tolist() == [5, 0, 0]
    assert both(lambda x, i: np.take(x, i, mode="wrap"), V, i).tolist() == [4, 5, 2]
    for dtype, far in ((numpy.int32, -(2**31)), (numpy.uint8, 255)):
        assert both(lambda x, i: np.take(x, i), numpy.arange(6, dtype=dtype), i).tolist()[0] == far
    with pytest.raises(IndexError, match="expected -6 to 5"):
        np.take(V, i, mode="raise")
    with pytest.raises(NotImplementedError, match="fill"):
        weft.jit(lambda i: np.take(V, i, mode="raise"))(i)
    assert np.take(V, i[1:2], mode="raise").tolist() == [5]
    with pytest.raises(IndexError):
        np.take(np.zeros((0, 3)), np.array([0]), axis=0)
    assert np.take(np.zeros((0, 3)), np.array([], int), axis=0).shape == (0, 3)
    with pytest.raises(TypeError, match="integers"):
        np.take(V, 1.5)
    with pytest.raises(TypeError, match="list"):
        np.take(V, [1, 2])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis(axis):
    order = numpy.argsort(X, axis)
    same(both(lambda x, i: np.take_along_axis(x, i, axis), X, order), numpy.sort(X, axis))
    first = numpy.argmax(X, axis, keepdims=True)
    same(both(lambda x, i: np.take_along_axis(x, i, axis), X, first), X.max(axis, keepdims=True))
    gradient = weft.grad(lambda x: np.take_along_axis(x, order, axis).sum())(X)
    same(gradient, numpy.ones_like(X))
    batched = weft.vmap(lambda x, i: np.take_along_axis(x, i, 0))(X, numpy.argsort(X, 1))
    same(batched, numpy.sort(X, 1))


def test_take_along_axis_edges():
    x = np.arange(12.0).reshape(3, 4)
    along = np.take_along_axis
    far = np.array([[1], [9], [-1]])
    assert numpy.isnan(host(along(x, far, 1))).tolist() == [[False], [True], [False]]
    assert along(x, far, 1, mode="clip").tolist() == [[1], [7], [11]]
    assert along(x, np.array([5, -1]), None).tolist() == [5, 11]
    assert along(x, np.array([[2]]), 1).tolist() == [[2], [6], [10]]
    assert along(x, np.zeros((3, 0), int), 1).shape == (3, 0)
    with pytest.raises(ValueError, match="as many axes"):
        along(x, np.array([1]), 1)
    with pytest.raises((ValueError, TypeError)):
        along(x, np.zeros((2, 4), int), 1)


def test_nonzero():
    x = numpy.array([[0, 3, 0], [4, 0, 5]])
    for actual, expected in zip(np.nonzero(x), numpy.nonzero(x), strict=True):
        same(actual, expected)
    for size in (0, 1, 3, 5):
        for fill in (None, -1, (-1, -2)):
            rows = weft.jit(lambda x, s=size, f=fill: np.nonzero(x, size=s, fill_value=f))(x)
            fills = fill if isinstance(fill, tuple) else (fill or 0,) * 2
            for actual, expected, f in zip(rows, numpy.nonzero(x), fills, strict=True):
                padded = [*expected[:size], *[f] * (size - 3)]
                assert actual.tolist() == padded
            for eager, traced in zip(np.nonzero(x, size=size, fill_value=fill), rows, strict=True):
                same(eager, host(traced))
    same(np.argwhere(x), numpy.argwhere(x))
    same(np.flatnonzero(x), numpy.flatnonzero(x))
    assert np.argwhere(np.float32(3)).shape == (1, 0)
    same(np.asarray(x).nonzero()[1], numpy.nonzero(x)[1])
    assert weft.vmap(lambda r: np.nonzero(r, size=2)[0])(x).tolist() == [[1, 0], [0, 2]]
    with pytest.raises(ValueError, match="atleast_1d"):
        np.nonzero(3)
    with pytest.raises(errors.ConcretizationTypeError, match="size"):
        weft.jit(np.nonzero)(x)


def test_masks_as_functions():
    x = numpy.arange(12.0, dtype=numpy.float32).reshape(3, 4)
    rows = numpy.array([True, False, True])
    same(np.compress(rows, x, axis=0), numpy.compress(rows, x, axis=0))
    same(np.compress(rows, x), numpy.compress(rows, x))
    same(np.asarray(x).compress(rows, axis=0), x[rows])
    traced = weft.jit(lambda m, x: np.compress(m, x, axis=0, size=3, fill_value=7))(rows, x)
    same(traced, numpy.concatenate([x[rows], numpy.full((1, 4), 7)]))
    same(np.extract(x > 9, x), numpy.extract(x > 9, x))
    same(weft.jit(lambda x: np.extract(x > 9, x, size=4))(x), [10, 11, 0, 0])
    with pytest.raises(ValueError, match="longer"):
        np.compress(np.ones(9, bool), x, axis=0)
    with pytest.raises(ValueError, match="one axis"):
        np.compress(x > 3, x)


@pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
def test_choose(mode):
    choices = [numpy.arange(3), numpy.arange(3) * 10, numpy.full(3, 7)]
    which = numpy.array([0, 1, 2] if mode == "raise" else [-5, 1, 7])
    same(np.choose(which, choices, mode=mode), numpy.choose(which, choices, mode=mode))
    same(np.choose(1, choices, mode=mode), choices[1])
    same(np.asarray(which).choose(np.array(choices), mode=mode),
         numpy.choose(which, choices, mode=mode))  # fmt: skip
    if mode == "raise":
        with pytest.raises(ValueError, match="0 to 2"):
            np.choose(np.array([3]), choices)
        with pytest.raises(errors.ConcretizationTypeError):
            weft.jit(lambda w: np.choose(w, choices))(which)
    else:
        same(weft.jit(lambda w: np.choose(w, choices, mode=mode))(which),
             numpy.choose(which, choices, mode=mode))  # fmt: skip


def test_putting():
    x = numpy.arange(6.0, dtype=numpy.float32).reshape(2, 3)

    def by_numpy(function, *args, **kwargs):
        y = x.copy()
        function(y, *args, **kwargs)
        return y

    for mode, i in (("clip", [0, 9]), ("wrap", [0, 9]), (None, [0, -1])):
        expected = by_numpy(numpy.put, i, [7, 8], mode=mode or "raise")
        same(np.put(x, np.array(i), np.array([7.0, 8.0]), mode, inplace=False), expected)
    same(np.put(x, np.array([0, 1, 2]), 7.0, inplace=False), by_numpy(numpy.put, [0, 1, 2], 7))
    same(np.place(x, x > 2, np.array([7.0, 8.0]), inplace=False),
         by_numpy(numpy.place, x > 2, [7, 8]))  # fmt: skip
    at = numpy.array([[1], [0]])
    same(np.put_along_axis(x, at, 9.0, 1, inplace=False),
         by_numpy(numpy.put_along_axis, at, 9.0, 1))  # fmt: skip
    same(np.put_along_axis(x, np.array([1, 4]), 9.0, None, inplace=False),
         by_numpy(numpy.put_along_axis, numpy.array([1, 4]), 9.0, None))  # fmt: skip
    for attempt in (
        lambda: np.put(x, 0, 1.0),
        lambda: np.place(x, x > 0, 1.0),
        lambda: np.put_along_axis(x, at, 1.0, 1),
    ):
        with pytest.raises(ValueError, match="immutable"):
            attempt()


def test_places_in_row_major_order():
    flat = numpy.array([5, 11, 0])
    for actual, expected in zip(
        weft.jit(lambda i: np.unravel_index(i, (3, 4)))(flat),
        numpy.unravel_index(flat, (3, 4)), strict=True,
    ):  # fmt: skip
        same(actual, expected)
    assert [i.tolist() for i in np.unravel_index(np.array([-1, 50]), (3, 4))] == [[2, 2], [3, 3]]
    index = (numpy.array([1, 2]), numpy.array([3, 0]))
    for order in "CF":
        same(np.ravel_multi_index(index, (3, 4), order=order),
             numpy.ravel_multi_index(index, (3, 4), order=order))  # fmt: skip
        for shape in ((3, 4), [3, 4], numpy.array([3, 4]), 12):
            found = np.unravel_index(flat, shape, order)
            assert [*map(numpy.ndarray.tolist, map(numpy.asarray, found))] == [
                i.tolist() for i in numpy.unravel_index(flat, tuple(numpy.atleast_1d(shape)), order)
            ]
        found = weft.jit(lambda i, s, o=order: np.unravel_index(i, s, o))(flat, (3, 4))
        assert [i.tolist() for i in found] == [
            i.tolist() for i in numpy.unravel_index(flat, (3, 4), order)
        ]
    with pytest.raises(ValueError, match="order must be 'C' or 'F'"):
        np.unravel_index(flat, (3, 4), "K")
    far = (numpy.array([1, 2]), numpy.array([9, 0]))
    for mode in ("clip", "wrap"):
        same(weft.jit(lambda *i, m=mode: np.ravel_multi_index(i, (3, 4), mode=m))(*far),
             numpy.ravel_multi_index(far, (3, 4), mode=mode))  # fmt: skip
    with pytest.raises(ValueError, match="out of range"):
        np.ravel_multi_index(far, (3, 4))


@pytest.mark.parametrize(("dtype", "dims"), [
    ("uint8", (1, 256)), ("uint8", (256, 1)), ("uint8", (4, 64)), ("int16", (128, 1, 256)),
    ("int8", (0, 2, 300)),
])  # fmt: skip
@pytest.mark.parametrize("order", "CF")
def test_places_of_a_narrow_dtype(dtype, dims, order):
    index = [numpy.array([max(n - 1, 0), 0, n // 2], "int32") for n in dims]
    found = weft.jit(
        lambda *i: np.ravel_multi_index(i, dims, "clip", order, dtype=dtype)
    )(*index)  # fmt: skip
    assert found.dtype == dtype
    if 0 not in dims:
        same(found, numpy.ravel_multi_index(index, dims, "clip", order).astype(dtype))
        assert np.ravel_multi_index(index, dims, order=order, dtype=dtype).dtype == dtype
    for kind, says in (
        ("float32", "an integer dtype"),
        ("int8", "cannot represent the last index"),
    ):
        with pytest.raises(TypeError, match=says):
            np.ravel_multi_index(index, (20, 20, 20)[: len(dims)], "clip", dtype=kind)
    with pytest.raises(ValueError, match="64 bits need enable_x64"):
        np.ravel_multi_index((0, 0), (2**20, 2**20))


@pytest.mark.parametrize("known", [True, False])
def test_negative_indices_out_of_range(known):
    def take(mode, wrap):
        f = lambda x, i: np.take_along_axis(x, i, 1, mode, -1, wrap_negative_indices=wrap)  # noqa: E731
        return (f if known else weft.jit(f))((X[:1, 0] * 9).astype("int32"), i).tolist()

    i = numpy.array([[-1, -5, -6, 0, 5]])
    a, *_, c = (X[0, 0] * 9).astype("int32").tolist()
    for wrap in (None, True):
        assert take("fill", wrap) == take(None, wrap) == [[c, a, -1, a, -1]]
        assert take("clip", wrap) == [[c, a, a, a, c]]
    assert take("fill", False) == take(None, False) == [[-1, -1, -1, a, -1]]
    assert take("clip", False) == [[a, a, a, a, c]]
    assert take("wrap", False) == take("wrap", True) == [[c, a, c, a, a]]
    gradient = weft.grad(
        lambda x: np.take_along_axis(
            x, np.array([-1, 1]), 0, "clip", wrap_negative_indices=False
        ).sum()
    )(np.arange(3.0))
    assert gradient.tolist() == [1.0, 1.0, 0.0]
