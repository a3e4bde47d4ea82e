"""`Inputs` and `batcher`, as older programs use them."""

import itertools

import numpy as np
import pytest

from weft import data
from weft.errors import ShapeError


def examples(lengths):
    return [(np.full(n, n), np.full(n, n)) for n in lengths]


def test_inputs():
    batch = np.ones((8, 3), np.float32), np.zeros((8, 2), np.int32), np.ones(8)
    calls = []

    def stream(n_devices):
        calls.append(n_devices)
        return iter([batch])

    inputs = data.Inputs(stream)
    assert calls == [], "nothing is drawn yet"
    assert (inputs.input_shape, inputs.target_shape) == ((3,), (2,))
    assert (inputs.input_dtype, inputs.target_dtype) == (np.float32, np.int32)
    x, y = inputs.example_shape_dtype
    assert (x.shape, x.dtype, y.shape, y.dtype) == ((3,), np.float32, (2,), np.int32)
    assert calls == [1]
    for stream in (inputs.train_stream, inputs.eval_stream, inputs.train_eval_stream):
        assert next(stream(4)) is batch
    assert calls == [1, 4, 4, 4]
    three = data.Inputs(lambda n: "train", lambda n: "eval", lambda n: "train_eval")
    assert [three.train_stream(1), three.eval_stream(1), three.train_eval_stream(1)] == [
        "train",
        "eval",
        "train_eval",
    ]
    two = data.Inputs(lambda n: iter([((batch[0], batch[1]), batch[2])]))
    assert two.input_shape == ((3,), (2,))


def test_errors_of_inputs():
    with pytest.raises(TypeError, match="Inputs: train_stream must be a function of the number"):
        data.Inputs(iter([]))
    with pytest.raises(ShapeError, match=r"Inputs: expected batches \(inputs, targets, …\)"):
        _ = data.Inputs(lambda n: iter([np.ones(3)])).input_shape
    with pytest.raises(TypeError, match="make_inputs: a stream must be an iterator or a function"):
        data.make_inputs(5)


def test_streams_by_any_function():
    batch = np.ones((2, 3)), np.ones(2)
    for stream in ([batch], iter([batch] * 2), lambda: iter([batch]), lambda n: iter([batch])):
        inputs = data.make_inputs(stream, stream)
        assert next(inputs.eval_stream(1)) is batch
    assert list(data.make_additional_stream(data.Serial(lambda: iter([1])))) == [1]
    both = data.make_parallel_stream([lambda: iter("aaaa"), lambda: iter("bb")], counters=(2, 1))
    assert "".join(itertools.islice(both, 6)) == "ababaa"


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_batcher_makes_batches_of_similar_lengths(devices):
    lengths = [3, 5, 9, 17, 30, 60, 2, 8, 33, 100] * 40
    inputs = data.batcher(
        (examples(lengths), examples(lengths)),
        batch_size_per_device=8,
        bucket_length=16,
        eval_batch_size=8,
    )
    total = 8 * devices
    sizes = {4: 4 * total, 8: 2 * total, 16: total, 32: total // 2, 64: total // 4, 128: total // 8}
    seen = 0
    for x, y, weights in inputs.train_stream(devices):
        seen += len(x)
        longest = max(int(n) for n in x[:, 0])
        bound = next(b for b in sizes if longest <= b)
        assert len(x) == max(sizes[bound] // devices, 1) * devices
        assert len(x) % devices == 0
        assert x.shape[1] in (bound, 2 ** int(np.ceil(np.log2(longest))))
        assert (x == y).all()
        assert weights.all()
        assert weights.shape == y.shape
    assert seen > 200


def test_batcher_options():
    items = examples([3, 4] * 8)
    inputs = data.batcher(
        (items, lambda: iter(items)), False, batch_size=5, eval_batch_size=2, id_to_mask=0
    )
    x, _, weights = next(inputs.train_stream(2))
    assert x.shape == (4, 4), "a multiple of the devices"
    assert ((x == 0) == (weights == 0)).all()
    assert next(inputs.eval_stream(1))[0].shape == (2, 4)
    inputs = data.batcher((items, examples([9] * 32)), False, batch_size=16)
    assert (inputs.input_shape, next(inputs.eval_stream(1))[0].shape) == ((4,), (32, 9))
    inputs = data.batcher((items, items), False, batch_size=4, strict_pad_on_len=True)
    assert next(inputs.train_stream(1))[0].shape == (4, 32)
    inputs = data.batcher((items, items), buckets=([3], [2, 4]))
    assert {x.shape for x, _, _ in inputs.train_stream(1)} == {(2, 3), (4, 4)}
    mixed = [(np.ones(9), np.ones(2))] * 4
    for include, length in ((False, 4), (True, 16)):
        inputs = data.batcher(
            (mixed, mixed),
            batch_size=4,
            bucket_length=4,
            buckets=([4, 16], [4, 4, 4]),
            buckets_include_inputs_in_length=include,
        )
        assert next(inputs.train_stream(1))[0].shape == (4, max(length, 9))


def test_batches_are_shuffled_for_training():
    items = examples(range(1, 33))
    inputs = data.batcher(
        (items, items), False, batch_size=1, eval_batch_size=1, batch_shuffle_size=32
    )
    assert [x.shape[1] for x, _, _ in inputs.eval_stream(1)] == list(range(1, 33))
    shuffled = [x.shape[1] for x, _, _ in inputs.train_stream(1)]
    assert sorted(shuffled) == list(range(1, 33)) != shuffled


def test_examples_too_long_for_evaluation():
    items = examples([3, 70])
    assert len(list(data.batcher((items, items), bucket_length=4).eval_stream(1))) == 1
    inputs = data.batcher((items, items), bucket_length=4, max_eval_length=64)
    with pytest.raises(ShapeError, match="example 1: expected a length of at most 64, not 70"):
        list(inputs.eval_stream(1))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: data.batcher([1, 2, 3]), "batcher: data_streams must be two streams"),
        (lambda: data.batch_fn([], True, 0, True), "batch_fn: n_devices must be at least 1"),
        (lambda: data.batch_fn([], True, 1, True, 0), "batch_size_per_device must be at least 1"),
    ],
)
def test_wrong_options(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
