"""x.at[index].set(y) and its like agree with NumPy's assignments, eagerly and traced."""

import random
import warnings

import numpy
import pytest
from random_indices import dynamic_parts, random_index

import weft
from weft import errors, numpy as np
from weft.core.array import from_host

X = numpy.random.default_rng(0).standard_normal((4, 3, 5)).astype(numpy.float32)
V = numpy.arange(6, dtype=numpy.float32)
OPERATIONS = {
    "set": None,
    "add": numpy.add,
    "subtract": numpy.subtract,
    "multiply": numpy.multiply,
    "min": numpy.minimum,
    "max": numpy.maximum,
}


def host(x):
    return numpy.asarray(x)


def changed(x, index, y, ufunc):
    x = x.copy()
    if ufunc is None:
        x[index] = y
    else:
        ufunc.at(x, index, y)
    return x


def problem(seed):
    """A random index, an operation and values that broadcast; `None` if NumPy refuses the index."""
    r = random.Random(seed)
    index = random_index(X.shape, seed + 1000)
    try:
        shape = list(X[index].shape)
    except IndexError:
        return None
    name = r.choice(list(OPERATIONS))
    if shape and r.random() < 0.4:
        shape = shape[r.randint(0, len(shape)) :]
    shape = [1 if r.random() < 0.2 else n for n in shape]
    y = numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32)
    if name == "set":  # which of several values stays is a matter of order
        y = numpy.full(shape, 2.5, numpy.float32)
    return index, name, y


@pytest.mark.parametrize("chunk", range(5))
def test_random_updates_agree_with_numpy(chunk):
    x = from_host(X)
    for seed in range(chunk * 60, chunk * 60 + 60):
        found = problem(seed)
        if found is None:
            continue
        index, name, y = found
        expected = changed(X, index, y, OPERATIONS[name])
        eager = getattr(x.at[index], name)(y)
        by_primitives = getattr(x.at[index], name)(from_host(y), mode="drop")
        numpy.testing.assert_allclose(host(eager), expected, atol=1e-5, err_msg=f"{seed}")
        numpy.testing.assert_allclose(host(by_primitives), expected, atol=1e-5, err_msg=f"{seed}")
    numpy.testing.assert_array_equal(host(x), X)


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_random_updates_traced(seed):
    found = problem(seed)
    if found is None:
        pytest.skip("arrays that don't broadcast")
    index, name, y = found
    ufunc = OPERATIONS[name]
    parts, rebuilt = dynamic_parts(index)
    expected = changed(X, index, y, ufunc)

    def update(x, y, *places):
        return getattr(x.at[rebuilt(places)], name)(y)

    def close(actual, expected):
        numpy.testing.assert_allclose(host(actual), expected, atol=1e-5)

    close(weft.jit(update)(X, y, *parts), expected)
    fixed = lambda x, y: getattr(x.at[index], name)(y)  # noqa: E731
    close(weft.vmap(fixed)(numpy.stack([X, 2 * X]), numpy.stack([y, 3 * y])),
          [expected, changed(2 * X, index, 3 * y, ufunc)])  # fmt: skip
    close(weft.vmap(fixed, (None, 0))(X, numpy.stack([y, 3 * y])),
          [expected, changed(X, index, 3 * y, ufunc)])  # fmt: skip


def test_gradients():
    i = numpy.array([1, 1, 3])
    w = numpy.arange(1.0, 7, dtype=numpy.float32)
    y = numpy.array([2.0, 3, 4], numpy.float32)

    def gradients(name, **options):
        f = lambda x, y: np.sum(getattr(x.at[i], name)(y, **options) * w)  # noqa: E731
        return [host(g).tolist() for g in weft.grad(f, (0, 1))(V, y)]

    assert gradients("set") == [[1, 0, 3, 0, 5, 6], [0, 2, 4]]
    assert gradients("add") == [[1, 2, 3, 4, 5, 6], [2, 2, 4]]
    assert gradients("subtract") == [[1, 2, 3, 4, 5, 6], [-2, -2, -4]]
    assert gradients("max") == [[1, 0, 3, 0, 5, 6], [0, 2, 4]]
    single = lambda y: np.sum(np.asarray(V).at[2].multiply(y) * w)  # noqa: E731
    assert weft.grad(single)(3.0) == 6
    with pytest.raises(errors.MissingRuleError, match="unique_indices=True"):
        gradients("multiply")
    ties = weft.grad(lambda y: np.sum(np.zeros(3).at[numpy.array([0, 0])].max(y)))(np.zeros(2))
    numpy.testing.assert_allclose(host(ties), [1 / 3, 1 / 3])


@pytest.mark.parametrize("index", [10, -7, numpy.array([10, -7])])
def test_places_out_of_range(index):
    x = np.asarray(V)
    for update in (lambda x: x.at[index].set(7.0), lambda x: x.at[index].add(7.0)):
        numpy.testing.assert_array_equal(host(update(x)), V)
        numpy.testing.assert_array_equal(host(weft.jit(update)(x)), V)
    clipped = V.copy()
    clipped[numpy.clip(numpy.where(numpy.asarray(index) < 0, index + 6, index), 0, 5)] = 7
    numpy.testing.assert_array_equal(host(x.at[index].set(7.0, mode="clip")), clipped)
    jitted = weft.jit(lambda x, i: x.at[i].set(7.0, mode="clip"))
    numpy.testing.assert_array_equal(host(jitted(x, index)), clipped)
    filled = host(x.at[index].get(mode="fill"))
    assert numpy.isnan(filled).all()
    assert filled.shape == numpy.shape(index)
    assert (host(x.at[index].get(mode="fill", fill_value=-1)) == -1).all()
    numpy.testing.assert_array_equal(host(x.at[index].get()), host(x[index]))


def test_fill_values_of_each_kind():
    x = numpy.arange(5)
    for dtype, expected in (("int32", -(2**31)), ("uint8", 255), ("bool", True)):
        got = weft.jit(lambda x: x.at[numpy.array([9])].get(mode="fill"))(x.astype(dtype))
        assert got.tolist() == [expected]
    zero = np.asarray(V).at[9].get(mode="fill", fill_value=-0.0)
    assert numpy.signbit(host(zero))
    assert not numpy.signbit(host(np.asarray(V).at[9].get(mode="fill", fill_value=0.0)))


def test_negative_places_as_they_are():
    x = np.asarray(V)
    kept = x.at[-1].set(9.0, wrap_negative_indices=False)
    numpy.testing.assert_array_equal(host(kept), V)
    assert x.at[numpy.array([-1])].get(mode="fill", fill_value=7, wrap_negative_indices=False) == 7


def test_dtypes():
    x = np.arange(5)
    with pytest.warns(FutureWarning, match=r"at\[…\].add.*float32.*int32"):
        assert x.at[1].add(1.5).tolist() == [0, 2, 2, 3, 4]
    with pytest.warns(FutureWarning):
        assert x.at[1:3].set(np.array([1.9, -1.9])).tolist() == [0, 1, -1, 3, 4]
    with pytest.warns(FutureWarning):
        assert x.at[2].multiply(2.5).tolist() == [0, 1, 5, 3, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.at[0].set(True).tolist() == [1, 1, 2, 3, 4]
        assert x.astype(np.int8).at[0].set(300).tolist() == [44, 1, 2, 3, 4]
        assert x.astype(np.uint8).at[0].add(-1).tolist() == [255, 1, 2, 3, 4]
        assert np.asarray(V).at[1].set(3).dtype == np.float32
        assert np.asarray(V).astype("bfloat16").at[1].set(2.5).dtype == "bfloat16"
    assert x.at[1:3].divide(2).tolist() == [0, 0.5, 1, 3, 4]
    assert x.at[numpy.array([3, 3])].power(2).tolist() == [0, 1, 2, 81, 4]
    assert x.at[0].set(7).aval is x.aval
    with pytest.raises(OverflowError):
        x.at[0].set(2**40)


def test_shapes_of_values():
    x = np.asarray(X)
    assert np.asarray(V).at[0:2].set([1.0, 2.0]).tolist() == [1, 2, 2, 3, 4, 5]
    for y in (np.zeros((3,)), np.zeros((1, 1, 1, 5)), np.zeros((4, 5))):
        for attempt in (
            lambda y=y: x.at[0].set(y),
            lambda y=y: weft.jit(lambda x: x.at[0].set(y))(x),
        ):
            with pytest.raises(ValueError, match="broadcast"):
                attempt()


def test_traced_masks():
    mask = V > 2
    for name, y in (("set", 9.0), ("add", 1.0), ("max", 4.0)):
        expected = changed(V, mask, numpy.float32(y), OPERATIONS[name])
        update = weft.jit(lambda x, m, name=name, y=y: getattr(x.at[m], name)(y))
        numpy.testing.assert_array_equal(host(update(V, mask)), expected)
    rows = X[:, 0, 0] > 0
    row = numpy.arange(5, dtype=numpy.float32)
    expected = X.copy()
    expected[rows] = row
    got = weft.jit(lambda x, m: x.at[m].set(row))(X, rows)
    numpy.testing.assert_array_equal(host(got), expected)
    with pytest.raises(errors.NonConcreteBooleanIndexError):
        weft.jit(lambda x, m: x.at[m].set(np.arange(6.0)))(V, mask)
    with pytest.raises(IndexError, match="mask"):
        weft.jit(lambda x, m: x.at[m].set(0.0))(X, mask)


def test_apply():
    x = np.asarray(V)
    twice = numpy.array([0, 0, 1])
    ten = lambda e: e * 10 + 1  # noqa: E731
    assert x.at[2:4].apply(ten).tolist() == [0, 1, 21, 31, 4, 5]
    assert x.at[1].apply(ten).tolist() == [0, 11, 2, 3, 4, 5]
    assert x.at[9].apply(ten).tolist() == V.tolist()
    assert x.at[::2].apply(ten).tolist() == [1, 1, 21, 3, 41, 5]
    assert x.at[twice].apply(ten).tolist() == [11, 11, 2, 3, 4, 5]
    assert weft.jit(lambda x, i: x.at[i].apply(ten))(x, twice).tolist() == [11, 11, 2, 3, 4, 5]
    i = numpy.array([1, 2])
    unique = weft.grad(lambda x: np.sum(x.at[i].apply(np.square, unique_indices=True)))
    assert unique(x).tolist() == [1, 2, 4, 1, 1, 1]
    with pytest.raises(TypeError, match="scalar"):
        x.at[1].apply(lambda e: np.zeros(2))


def test_edges():
    assert np.float32(3).at[()].add(1) == 4
    assert np.float32(3).at[...].set(1) == 1
    assert np.zeros((0,)).at[numpy.array([0])].set(1.0).shape == (0,)
    with pytest.raises(IndexError, match="no elements"):
        np.zeros((0,)).at[0].set(1.0)
    assert np.asarray(V).at[True].set(3.0).tolist() == [3] * 6
    assert np.asarray(V).at[False].set(3.0).tolist() == V.tolist()
    assert weft.jit(lambda x: x.at[True].add(3.0))(V).tolist() == (V + 3).tolist()
    assert "at[slice(1, 2" in repr(np.asarray(V).at[1:2])
    with pytest.raises(ValueError, match="promise_in_bounds"):
        np.asarray(V).at[0].set(1.0, mode="bogus")
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        np.asarray(V)[0] = 1


def test_windows_are_slices_and_others_one_scatter():
    def names(function, *args):
        return [e.primitive.name for e in weft.make_jaxpr(function)(*args).jaxpr.equations]

    assert names(lambda x: x.at[1].set(0.0), V)[-1] == "dynamic_update_slice"
    assert "scatter" not in names(lambda x: x.at[1:3].add(1.0), V)
    looked_up = names(lambda x, i, y: x.at[i].add(y), V, numpy.array([1, 2]), V[:2])
    assert looked_up.count("scatter_add") == 1
