"""PositionalEncoding: the table of waves, random first positions, dropout, projections."""

import math

import numpy as np
import pytest

import weft
from weft import layers as tl, random

X = np.random.default_rng(6).standard_normal((2, 5, 6)).astype(np.float32)


def waves(length, depth):
    """The table of sines and cosines, element by element."""
    return np.array(
        [
            [
                (math.sin if i % 2 == 0 else math.cos)(p / 10000 ** (2 * (i // 2) / depth))
                for i in range(depth)
            ]
            for p in range(length)
        ]
    )


def made(x=X, **options):
    layer = tl.PositionalEncoding(**{"max_len": 9, **options})
    layer.init(x)
    return layer


def test_the_table_is_of_waves():
    layer = made(mode="eval")
    np.testing.assert_allclose(layer.weights, waves(9, 6), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer(X), X + waves(5, 6), rtol=1e-5, atol=1e-6)


def test_a_narrow_table():
    layer = made(use_bfloat16=True, mode="eval")
    assert layer.weights.dtype == weft.numpy.bfloat16
    assert layer(X).dtype == np.float32


def test_a_table_with_a_leading_axis_is_that_of_older_checkpoints():
    layer = made(mode="eval")
    expected = np.asarray(layer(X))
    np.testing.assert_array_equal(layer(X, weights=layer.weights[None]), expected)


def test_a_table_of_fewer_features_is_projected():
    layer = made(d_feature=4, mode="eval")
    table, matrix = layer.weights
    assert (table.shape, matrix.shape) == ((9, 4), (4, 6))
    expected = X + waves(5, 4) @ np.asarray(matrix)
    np.testing.assert_allclose(layer(X), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("d_feature", [None, 4])
def test_first_positions_are_random_in_training(d_feature):
    layer = made(start_from_zero_prob=0.5, max_offset_to_add=4, d_feature=d_feature, mode="train")
    table = waves(9, 6) if d_feature is None else waves(9, 4) @ np.asarray(layer.weights[1])
    starts = []
    for seed in range(12):
        added = np.asarray(layer(X, rng=random.PRNGKey(seed))) - X
        errors = [np.abs(added - table[s : s + 5]).max() for s in range(5)]
        assert min(errors) < 1e-5
        starts.append(int(np.argmin(errors)))
    assert 0 in starts
    assert {1, 2, 3} & set(starts)
    assert 4 not in starts
    assert (made(mode="train")(X, rng=random.PRNGKey(0)) == made(mode="eval")(X)).all()


@pytest.mark.parametrize(
    ("dims", "shape"), [((-2,), (1, 1, 6)), ((2,), (1, 5, 1)), ((), (1, 5, 6))]
)
def test_dropout_leaves_encodings_out(dims, shape):
    layer = made(dropout=0.5, dropout_broadcast_dims=dims, mode="train")
    key = random.PRNGKey(7)
    keep = np.asarray(random.bernoulli(key, 0.5, shape))
    np.testing.assert_allclose(layer(X, rng=key), X + waves(5, 6) * keep * 2, rtol=1e-5, atol=1e-6)
    assert (made(dropout=0.5, mode="eval")(X, rng=key) == made(mode="eval")(X)).all()
