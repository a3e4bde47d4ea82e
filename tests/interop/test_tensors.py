"""Tensors of PyTorch and TensorFlow among weft's arrays: where they are installed."""

import importlib

import numpy as onp
import pytest
from numpy.testing import assert_array_equal

import weft
import weft.numpy as np
from weft import dlpack, grad, jit

X = onp.arange(1, 7, dtype="float32").reshape(2, 3)
LIBRARIES = ("tensorflow", "torch")


class Library:
    """What the tests need of a library, under one name."""

    def __init__(self, name):
        self.name = name
        self.module = module = importlib.import_module(name)
        if name == "torch":
            self.of = lambda x: module.from_numpy(onp.array(x))
            self.shared = module.from_dlpack
            self.pointer = lambda t: t.data_ptr()
            self.bfloat16 = lambda: module.ones(3, dtype=module.bfloat16)
        else:
            self.of = module.constant
            self.shared = lambda x: module.experimental.dlpack.from_dlpack(dlpack.to_dlpack(x))
            self.pointer = lambda t: onp.asarray(memoryview(t)).__array_interface__["data"][0]
            self.bfloat16 = lambda: module.ones(3, dtype=module.bfloat16)


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request):
    # a library's import may warn of things that are none of ours
    pytest.importorskip(request.param, exc_type=ImportError)
    return Library(request.param)


TO_WEFT = {
    "asarray": np.asarray,
    "array": np.array,
    "from_dlpack": np.from_dlpack,
    "weft.dlpack": dlpack.from_dlpack,
    "device_put": weft.device_put,
    "function": lambda t: np.concatenate([t, t])[:2],
    "where": lambda t: np.where(t > 0, t, 0),
    "jit": jit(lambda x: x * 1),
    "update": lambda t: np.zeros((2, 3)).at[:].set(t),
    "product": lambda t: np.eye(2) @ np.asarray(t),
}


@pytest.mark.parametrize("name", TO_WEFT)
def test_a_tensor_is_an_array(library, name):
    result = TO_WEFT[name](library.of(X))
    assert isinstance(result, weft.Array)
    assert_array_equal(result, X)


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_between_an_array_and_a_tensor(library, name):
    f, y = OPERATORS[name], X[::-1].copy()
    for a, b in ((np.array(X), library.of(y)), (library.of(X), np.array(y))):
        assert_array_equal(onp.asarray(f(a, b)), f(X, y))


def test_tensors_beside_traced_values(library):
    t = library.of(X)
    assert_array_equal(jit(lambda x: x * t)(X), X * X)
    assert_array_equal(grad(lambda x: np.sum(x * t))(X), X)
    assert_array_equal(grad(lambda x: np.sum(x @ np.asarray(t).T))(X), onp.tile(X.sum(0), (2, 1)))


def test_memory_is_shared_both_ways(library):
    tensor = library.of(X)
    array = np.from_dlpack(tensor)
    assert array.unsafe_buffer_pointer() == library.pointer(tensor)
    array = np.arange(10_000.0)
    tensor = library.shared(array)
    assert library.pointer(tensor) == array.unsafe_buffer_pointer()
    assert_array_equal(onp.asarray(tensor), onp.arange(10_000))
    del array  # the tensor keeps the memory
    assert float(onp.asarray(tensor)[-1]) == 9_999


def test_bfloat16(library):
    array = np.from_dlpack(library.bfloat16())
    assert array.dtype == np.bfloat16
    assert_array_equal(array, np.ones(3, np.bfloat16))
    assert library.shared(array).dtype == library.module.bfloat16


def test_a_tensor_of_what_is_computed(library):
    convert = library.module.tensor if library.name == "torch" else library.module.constant
    assert_array_equal(onp.asarray(convert(onp.asarray(np.sin(X)))), onp.asarray(np.sin(X)))


def test_tensorflow_takes_arrays_as_they_are():
    tf = pytest.importorskip("tensorflow")
    x = np.array(X)
    for tensor in (tf.constant(x), tf.convert_to_tensor(x), tf.Variable(x), tf.identity(x)):
        assert_array_equal(tensor.numpy(), X)
    assert_array_equal(tf.function(lambda a: a + 1)(x).numpy(), X + 1)
    rows = tf.data.Dataset.from_tensor_slices(x).batch(2)
    assert_array_equal(np.asarray(next(iter(rows))), X)
    assert_array_equal(x + tf.Variable(X), X + X)
    for unfit in (tf.constant("text"), tf.ragged.constant([[1], [2, 3]])):
        with pytest.raises(TypeError, match="expected an array"):
            np.asarray(unfit)
