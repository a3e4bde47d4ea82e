"""Synthetic batches: each row is taken apart and checked by arithmetic."""

import itertools
import math

import numpy as np
import pytest

from weft import data


def batches(stream, n=20):
    return list(itertools.islice(stream, n))


@pytest.mark.parametrize("reverse", [False, True])
def test_sequence_copy_inputs(reverse):
    inputs = data.sequence_copy_inputs(12, 4, 6, 2, 5, reverse, pad_to_multiple=4, seed=1)
    totals = {True: set(), False: set()}
    for training in (True, False):
        stream = inputs.train_stream(1) if training else inputs.eval_stream(1)
        for x, y, weights in batches(stream, 60):
            assert (x == y).all()
            assert (x.dtype, weights.dtype) == (np.int32, np.float32)
            assert x.shape == weights.shape
            n = int(weights[0].sum())
            total = 2 * (n + 1)
            totals[training].add(total)
            assert x.shape == (4, -(-total // 4) * 4)
            for row, w in zip(x, weights, strict=True):
                first, second = row[1 : n + 1], row[n + 2 : total]
                assert row[0] == row[n + 1] == 0
                assert first.tolist() == (second[::-1] if reverse else second).tolist()
                assert set(first.tolist()) <= set(range(1, 11))
                assert w.tolist() == [0] * (n + 2) + [1] * n + [0] * (len(row) - total)
                assert not row[total:].any()
    assert totals == {True: {4, 6, 8, 10, 12}, False: {6, 8, 10}}
    symbols = {int(s) for x, _, _ in batches(inputs.train_stream(1), 40) for s in np.ravel(x)}
    assert symbols == set(range(11))


def test_simple_sequence_copy_inputs():
    inputs = data.simple_sequence_copy_inputs(12, 4, 6, 2, 5, seed=1)
    for x, y, weights in batches(inputs.train_stream(1)):
        assert x.shape == (4, 32)
        assert (x == y).all()
        assert ((x > 0) == (weights > 0)).all()
        assert weights[0].sum() in {4, 6, 8, 10, 12}


def number(digits, base):
    return sum(d * base**i for i, d in enumerate(digits))


@pytest.mark.parametrize("encdec", [False, True])
def test_addition(encdec):
    base = 10
    stream = data.addition_input_stream(13, 8, 3, 8, pad_to_multiple=5, encdec=encdec, seed=0)
    lengths = set()
    for x, y, weights in batches(stream):
        assert (x.dtype, y.dtype, weights.dtype) == (np.int32, np.int32, np.float32)
        assert x.shape[1] % 5 == 0
        assert weights.shape == y.shape
        for row, target, w in zip(x.tolist(), y.tolist(), weights.tolist(), strict=True):
            plus = row.index(base + 1)
            left = row[0 if encdec else 1 : plus]
            if encdec:
                right, total = [d for d in row[plus + 1 :] if d], [d for d in target if d]
                assert w == [1] * len(total) + [0] * (len(target) - len(total))
            else:
                assert row == target
                assert row[0] == base + 2
                end = row.index(base + 2, 1)
                right, total = row[plus + 1 : end], [d for d in row[end + 1 :] if d]
                assert w == [0] * (end + 1) + [1] * len(total) + [0] * (
                    len(row) - end - 1 - len(total)
                )
            values = [number([d - 1 for d in digits], base) for digits in (left, right, total)]
            assert values[0] + values[1] == values[2]
            assert len(str(values[0])) == len(left)
            lengths.add(len(left) + 1 + len(right))
    assert lengths == set(range(3, 9))


def test_addition_inputs():
    inputs = data.addition_inputs(9, 16, 7, 4, 5, seed=2)
    lengths = [
        {row.tolist().index(8, 1) - 1 for x, _, _ in batches(s) for row in x}
        for s in (inputs.train_stream(1), inputs.eval_stream(1))
    ]
    assert lengths == [set(range(3, 8)), {4, 5}]
    assert inputs.input_shape == (32,)


@pytest.mark.parametrize(
    ("n", "base", "digits"),
    [(0, 10, [0]), (7, 10, [7]), (1203, 10, [3, 0, 2, 1]), (5, 2, [1, 0, 1])],
)
def test_digits(n, base, digits):
    assert data.number_to_lower_endian(n, base) == digits
    assert data.lower_endian_to_number(digits, base) == n


def test_random_digits():
    numbers = [data.random_number_lower_endian(3, 4, seed=s) for s in range(300)]
    assert all(len(digits) == 3 and digits[-1] for digits in numbers)
    assert {d for digits in numbers for d in digits} == {0, 1, 2, 3}
    assert {tuple(data.random_number_lower_endian(1, 2, seed=s)) for s in range(20)} == {(0,), (1,)}


def test_sine_inputs():
    x, actions, y, ones = next(data.sine_inputs(5, 40, seed=3).train_stream(1))
    assert x.shape == actions.shape == y.shape == ones.shape == (5, 40)
    assert (x.dtype, actions.dtype) == (np.float32, np.int32)
    assert (x == y).all()
    assert ones.all()
    assert not actions.any()
    inputs = data.sine_inputs(1, 4000, max_phase=0.0, min_period=0.5, max_period=0.5, seed=0)
    wave = next(inputs.eval_stream(1))[0][0]
    np.testing.assert_allclose(wave, np.sin(np.arange(4000) / 0.5), atol=1e-3)
    inputs = data.sine_inputs(400, 2, max_phase=1.0, min_period=1.0, max_period=1.0, seed=0)
    phases = -np.arcsin(next(inputs.eval_stream(1))[0][:, 0])
    assert 0.0 <= phases.min() < 0.05 < 0.95 < phases.max() <= 1.0


def test_random_inputs():
    inputs = data.random_inputs((3, 4), output_shape=(3,), output_range=(1, 2), seed=0)
    x, y, weights = map(np.concatenate, zip(*batches(inputs.train_stream(1), 100), strict=True))
    assert (x.dtype, y.dtype, weights.dtype) == (np.int32, np.int32, np.float32)
    assert (x.min(), x.max()) == (0, 255)
    assert set(y.tolist()) == {1, 2}
    assert weights.all()
    assert (inputs.input_shape, inputs.target_shape) == ((4,), ())
    inputs = data.random_inputs((2,), np.float32, (0, 1), (2, 5), np.float16, (-1.0, 1.0), seed=0)
    x, y, weights = next(inputs.eval_stream(1))
    assert (x.dtype, y.dtype, weights.shape) == (np.float32, np.float16, (2, 5))


def test_streams_repeat_with_the_seed():
    for make in (
        lambda seed: data.sequence_copy_inputs(9, 2, 5, 1, 3, seed=seed).train_stream(1),
        lambda seed: data.addition_inputs(9, 2, 5, 3, 4, seed=seed).eval_stream(1),
        lambda seed: data.sine_inputs(2, 9, seed=seed).train_stream(1),
        lambda seed: data.random_inputs((2, 2), output_shape=(2,), seed=seed).train_stream(1),
    ):
        a, b, other = (batches(make(seed), 3) for seed in (1, 1, 2))
        assert all(
            (x == y).all() for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)
        )
        assert any(
            x.shape != y.shape or (x != y).any()
            for p, q in zip(a, other, strict=True)
            for x, y in zip(p, q, strict=True)
        )
        np.random.seed(3)
        first = next(make(None))[0]
        np.random.seed(3)
        assert (next(make(None))[0] == first).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: data.sequence_copy_inputs(2, 1, 4, 1, 2), "sequence_copy_inputs: vocab_size must"),
        (lambda: data.sequence_copy_inputs(9, 1, 1, 1, 2), "train_length must be at least 2"),
        (lambda: data.sequence_copy_inputs(9, 1, 4, 2, 2), "eval_max_length must be at least 3"),
        (lambda: data.simple_sequence_copy_inputs(9, 0, 4, 1, 2), "batch_size must be at least 1"),
        (lambda: data.addition_input_stream(4, 1, 3, 4), "vocab_size must be at least 5"),
        (lambda: data.addition_input_stream(9, 1, 5, 4), "max_length must be at least 5"),
        (lambda: data.addition_input_stream(9, 1, 2, 4), "min_length must be at least 3"),
        (lambda: data.sine_inputs(2, 3, min_period=0.0), "min_period must be greater than 0.0"),
        (lambda: data.sine_inputs(2, 3, math.pi, 2.0, 1.0), "max_period must be at least 2.0"),
        (lambda: data.random_inputs((2,)), "random_inputs: output_shape must be a tuple"),
        (lambda: data.random_inputs((2,), input_range=(2, 1), output_shape=(1,)), "must ascend"),
        (lambda: data.random_inputs((2,), input_range=2, output_shape=(1,)), "two numbers"),
        (lambda: data.number_to_lower_endian(-1, 10), "n must be at least 0"),
        (lambda: data.lower_endian_to_number([1], 1), "base must be at least 2"),
        (lambda: data.random_number_lower_endian(0, 10), "length must be at least 1"),
    ],
)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
