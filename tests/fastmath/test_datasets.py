"""Datasets as streams of NumPy arrays."""

import itertools

import numpy as onp
import pytest

from weft import fastmath


class Elements:
    """What a `tf.data.Dataset` is to `dataset_as_numpy`."""

    def __init__(self):
        self.read = 0

    def as_numpy_iterator(self):
        while True:
            self.read += 1
            yield {"x": onp.full(2, self.read)}, (onp.int64(self.read),)


def test_elements_are_read_one_by_one(backend):
    if backend == "tensorflow-numpy":
        pytest.skip("the next test has a real one")
    endless = Elements()
    stream = fastmath.dataset_as_numpy(endless)
    assert [element[0]["x"].tolist() for element in itertools.islice(stream, 3)] == [
        [1, 1], [2, 2], [3, 3]
    ]  # fmt: skip
    assert endless.read == 3


def test_other_things_are_refused(backend):
    with pytest.raises(TypeError, match=r"tf\.data\.Dataset; got list"):
        fastmath.dataset_as_numpy([1, 2])


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("name", ["jax", "numpy", "tensorflow-numpy"])
def test_a_real_dataset_streams(backend, name, batch_size):
    if backend != "tensorflow-numpy":
        pytest.skip("TensorFlow is in another process")
    import tensorflow as tf

    read = []

    def elements():
        for i in itertools.count():
            read.append(i)
            yield {"x": onp.full((i, 2), i), "name": b"n%d" % i}, (float(i), [i])

    spec = (
        {"x": tf.TensorSpec((None, 2), tf.int32), "name": tf.TensorSpec((), tf.string)},
        (tf.TensorSpec((), tf.float32), tf.TensorSpec((1,), tf.int64)),
    )
    ds = tf.data.Dataset.from_generator(elements, output_signature=spec)
    with fastmath.use_backend(name):
        stream = fastmath.dataset_as_numpy(ds, batch_size=batch_size)
        features, (number, whole) = next(itertools.islice(stream, 2, None))
    assert features["x"].tolist() == [[2, 2], [2, 2]]
    assert features["name"] == b"n2"
    assert (number, whole.tolist()) == (2.0, [2])
    assert len(read) < 20
