"""Cosine and sine transforms against SciPy's: types, norms, lengths, axes, derivatives, errors."""

import itertools

import numpy as onp
import pytest
from agreement import assert_close, assert_gradient
from row_names import row_name
from scipy import fft as oracle

import weft
import weft.numpy as np
from weft.scipy import fft

rng = onp.random.default_rng(0)
X = rng.standard_normal((3, 4, 5))
NAMES = ("dct", "idct", "dst", "idst")
OPTIONS = list(itertools.product((1, 2, 3, 4), (None, "backward", "ortho", "forward")))


@pytest.mark.parametrize("name", NAMES)
def test_one_axis(name):
    function, expected = getattr(fft, name), getattr(oracle, name)
    for (kind, norm), orthogonalize in itertools.product(OPTIONS, (None, True, False)):
        for n, axis in [(None, -1), (2, 0), (3, 1), (9, -1), (8, 2)]:
            options = {"n": n, "axis": axis, "norm": norm, "orthogonalize": orthogonalize}
            got = function(np.asarray(X), kind, **options)
            assert got.dtype == "float32"
            assert_close(got, expected(X, kind, **options))


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_several_axes(name):
    function, expected = getattr(fft, name), getattr(oracle, name)
    for kind, norm in OPTIONS:
        for s, axes in [(None, None), ((4, 6), (2, 0)), ((3, -1), (1, -1)), ((7,), (1,))]:
            options = {"s": s, "axes": axes, "norm": norm}
            for _ in range(3):
                assert_close(function(np.asarray(X), kind, **options), expected(X, kind, **options))
    assert_close(function(np.asarray(X), 2, (3, 4)), expected(X, 2, (3, 4), (1, 2)))
    for s, axes in [(None, 0), (4, -1), (5, None), (onp.int64(3), (1,))]:
        assert_close(function(np.asarray(X), 2, s, axes), expected(X, 2, s, axes))


@pytest.mark.parametrize("name", NAMES)
def test_compiled_mapped_wide_and_of_length_one(name):
    function, expected = getattr(fft, name), getattr(oracle, name)
    types = (1, 2, 3, 4)
    got = weft.jit(lambda x: [function(x, t, norm="ortho") for t in types])(X)
    mapped = weft.vmap(lambda x: [function(x, t, axis=0) for t in types], 1, 1)(X[0])
    for t, one, many in zip(types, got, mapped, strict=True):
        assert_close(one, expected(X, t, norm="ortho"))
        assert_close(many, expected(X[0], t, axis=0))
    with weft.enable_x64(True):
        assert_close(function(np.asarray(X), 4), expected(X, 4))
    for t in (2, 3, 4):
        assert_close(function(np.ones(1), t), expected(onp.ones(1), t).astype("f"))


@pytest.mark.parametrize("n", [131, 169, 256])  # a long prime is transformed otherwise
def test_long_ones(n):
    x, v = rng.standard_normal((2, 2, n))
    for kind in (2, 3):
        found = weft.jit(lambda x: fft.dct(x, kind))(x)  # noqa: B023
        assert_close(found, oracle.dct(x, kind), 3e-5)  # of sums of n numbers
        assert_close(fft.idst(np.asarray(x), kind), oracle.idst(x, kind), 3e-5)
        # the transform is linear: its transpose is that of the other kind
        _, back = weft.vjp(lambda x: fft.dct(x, kind, norm="ortho"), np.asarray(x))  # noqa: B023
        assert_close(back(np.asarray(v, "float32"))[0], oracle.dct(v, 5 - kind, norm="ortho"))


def test_dtypes_and_complex_numbers():
    z = X + 1j * X[::-1]
    assert_close(fft.dct(np.asarray(z), 3, norm="ortho"), oracle.dct(z, 3, norm="ortho"))
    for dtype in ("int32", "float16", "bfloat16", "bool"):
        got = fft.dct(np.asarray([1, 0, 1]).astype(dtype))
        assert got.dtype == "float32"
        assert_close(got, oracle.dct(onp.array([1.0, 0, 1])))
    assert fft.dct(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_gradients(kind):
    assert_gradient(lambda x: fft.dct(x, kind, norm="ortho") ** 2, rng.standard_normal(5))
    assert_gradient(lambda x: fft.idst(x, kind) ** 2, rng.standard_normal(4))
    x, v = X[0, 0], X[0, 1]
    _, tangent = weft.jvp(lambda x: fft.idct(x, kind), (np.asarray(x),), (np.asarray(v),))
    assert_close(tangent, oracle.idct(v, kind))


def test_what_equals_a_good_argument_is_refused_after_it_too():
    x = np.ones(4)
    for _ in range(3):
        fft.dct(x, 1, 2, 0)
    for bad in ({"type": 1.0}, {"type": True}, {"n": 2.0}, {"axis": False}):
        with pytest.raises((TypeError, ValueError), match="must be"):
            fft.dct(x, **{"type": 1, "n": 2, "axis": 0, **bad})


BAD = [
    (lambda: fft.dct(np.ones(3), 5), ValueError, "dct: type must be 1, 2, 3 or 4; got 5"),
    (lambda: fft.idct(np.ones(3), 2.5), ValueError, "idct: type must be"),
    (lambda: fft.dct(np.ones(3), norm="x"), ValueError, "dct: norm must be one of 'backward'"),
    (lambda: fft.idst(np.ones(3), norm="x"), ValueError, "idst: norm must be one of"),
    (lambda: fft.dct(np.ones(1), 1), ValueError, "type 1 needs an axis of length 2"),
    (lambda: fft.dct(np.ones(3), n=0), ValueError, "n must be 1 or more"),
    (lambda: fft.dct(np.ones(0)), ValueError, "too short"),
    (lambda: fft.dct(np.ones(3), axis=1), ValueError, "1 is out of range"),
    (lambda: fft.dct("x"), TypeError, "expected an array"),
    (lambda: fft.dctn(np.ones((2, 2)), axes=(0, 0)), ValueError, "axes must be different"),
    (lambda: fft.dctn(np.ones((2, 2)), s=(2,), axes=(0, 1)), ValueError, "as many lengths as axes"),
    (lambda: fft.dstn(np.ones((2, 2)), s=2.0), TypeError, "s must be a sequence"),
]


@pytest.mark.parametrize("place", BAD, ids=row_name)
def test_bad_arguments(place):
    call, kind, message = place
    with pytest.raises(kind, match=message):
        call()
