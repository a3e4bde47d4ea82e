"""Methods of arrays that NumPy's arrays have, and those that the array API and JAX add."""

import inspect
import sys

import numpy as onp
import pytest

import weft
import weft.numpy as np

DTYPES = ["bool", "int8", "int32", "uint16", "float16", "float32", "bfloat16", "complex64"]


def sample(dtype, shape=(2, 3)):
    return onp.arange(6).reshape(shape).astype(np.dtype(getattr(np, dtype, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bytes(dtype):
    host = sample(dtype)
    for x in (np.asarray(host), weft.jit(lambda x: x)(host), weft.device_put(host)):
        assert x.tobytes() == bytes(x) == host.tobytes()
        assert x.tobytes("F") == host.tobytes("F")
        assert x.on_device_size_in_bytes() == host.nbytes
        assert x.platform() == weft.devices()[0].platform


@pytest.mark.parametrize("dtype", DTYPES)
def test_byteswap(dtype):
    host = sample(dtype)
    for f in (lambda x: x.byteswap(), weft.jit(lambda x: x.byteswap())):
        assert f(np.asarray(host)).tobytes() == host.byteswap().tobytes()
    assert np.asarray(host)[1, 1].byteswap().tobytes() == host[1, 1].byteswap().tobytes()


def test_argpartition_dot_and_astype():
    x = np.asarray(onp.array([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]], "float32"))
    assert x.argpartition(1, axis=1)[:, 1].tolist() == [2, 0]
    product = x.dot(x.T, precision="highest", preferred_element_type="float32")
    onp.testing.assert_allclose(product, onp.asarray(x) @ onp.asarray(x).T)
    assert x.astype("float32") is x
    assert x.astype("float32", copy=False) is x
    copied = x.astype("float32", copy=True)
    assert copied is not x
    assert copied.tolist() == x.tolist()
    assert x.astype(int, device=weft.devices()[0]).devices() == {weft.devices()[0]}


def test_to_device_goes_with_derivatives():
    device = weft.devices()[-1]
    x = np.arange(3.0)
    assert x.to_device(device).devices() == {device}
    assert weft.grad(lambda x: (x.to_device(device) ** 2).sum())(x).tolist() == [0, 2, 4]


def test_sizes_of_deleted_arrays():
    x = np.arange(3.0)
    x.delete()
    with pytest.raises(weft.errors.DeletedArrayError):
        x.on_device_size_in_bytes()


FORMATS = [(2.5, ".2f"), (3, "04d"), (1.5, ">8"), (1 + 2j, ".1f"), (True, "")]


@pytest.mark.parametrize(("number", "spec"), FORMATS)
def test_format_of_numbers(number, spec):
    assert format(np.asarray(number), spec) == format(number, spec)


def test_format_of_others_names_what_came():
    x = np.ones(2)
    assert f"{x}" == f"{x!s}" == str(x)
    with pytest.raises(TypeError, match=r"format: '.2f' is for .* no axes; got float32\[2\]\n"):
        f"{x:.2f}"
    with pytest.raises(TypeError, match=r"got float32\[\], which is traced"):
        weft.jit(lambda x: f"{x:.2f}")(1.0)


def test_an_update_is_not_called():
    with pytest.raises(TypeError, match=r"x\.at\[0\] is not a function.*float32\[3\]\n  fix: x.at"):
        np.ones(3).at[0](1)


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "bool", "float16"])
def test_buffers(dtype):
    host = sample(dtype)
    x = np.asarray(host)
    view = x.__buffer__(inspect.BufferFlags.SIMPLE if sys.version_info >= (3, 12) else 0)
    assert view.readonly
    assert view.shape == (2, 3)
    assert view.tobytes() == host.tobytes()
    with pytest.raises(BufferError, match="immutable"):
        x.__buffer__(1)
    if sys.version_info >= (3, 12):
        assert memoryview(x).tobytes() == host.tobytes()
        assert bytearray(x) == host.tobytes()
        onp.testing.assert_array_equal(onp.asarray(x), host)


def test_buffers_that_python_does_not_know():
    with pytest.raises(BufferError, match="no elements of dtype bfloat16"):
        np.ones(2, "bfloat16").__buffer__(0)
    assert onp.asarray(np.ones(2, "bfloat16")).dtype == np.bfloat16


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_views_of_booleans_and_as_booleans(wrap):
    flags = onp.array([[True, False, False, True, True, False, True, True]])
    for dtype in ("int8", "uint8", "int16", "int32", "float32"):
        got = onp.asarray(wrap(lambda x, dtype=dtype: x.view(dtype))(flags))
        expected = flags.view(dtype)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.tobytes() == expected.tobytes()
    for x in (onp.int32([[1, 256], [0, 1 << 24]]), onp.uint8([1, 0]), onp.float16([1.0, 0.0])):
        got = wrap(lambda x: x.view(bool))(x)
        assert got.dtype == bool
        onp.testing.assert_array_equal(got, x.view("uint8") != 0)
