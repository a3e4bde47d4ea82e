"""Encodings of positions: against loops and other sources of the same random words."""

import math

import numpy as np
import pytest

import weft
from weft import jit, layers as tl, random
from weft.layers.research import position_encodings

RNG = np.random.default_rng(8)
X = RNG.standard_normal((2, 6, 8)).astype(np.float32)


def made(kind, x=X, **options):
    layer = getattr(tl, kind)(**options)
    layer.init(x)
    return layer


# --- axes of a grid ---


def test_axial_positions_have_a_vector_for_each_coordinate():
    layer = made("AxialPositionalEncoding", shape=(2, 3), d_embs=(5, 3), mode="eval")
    rows, columns = (np.asarray(w) for w in layer.weights)
    assert (rows.shape, columns.shape) == ((1, 2, 1, 5), (1, 1, 3, 3))
    expected = X.copy()
    for p in range(6):
        expected[:, p] += np.concatenate([rows[0, p // 3, 0], columns[0, 0, p % 3]])
    np.testing.assert_allclose(layer(X), expected, rtol=1e-6)
    grid = layer(X.reshape(2, 2, 3, 8))
    np.testing.assert_allclose(np.reshape(grid, X.shape), expected, rtol=1e-6)


@pytest.mark.parametrize("dims", [(), (0,), (1, 2), (-1,)])
def test_dropout_of_axial_positions(dims):
    options = {"shape": [2, 3], "d_embs": [5, 3], "dropout_broadcast_dims": dims}
    layer = made("AxialPositionalEncoding", dropout=0.5, **options)
    key, shape = random.PRNGKey(1), [2, 2, 3, 8]
    for axis in dims:
        shape[axis] = 1
    keep = np.broadcast_to(random.bernoulli(key, 0.5, tuple(shape)), (2, 2, 3, 8))
    evaluated = made("AxialPositionalEncoding", dropout=0.5, mode="eval", **options)
    evaluated.weights = layer.weights
    encoding = np.asarray(evaluated(0 * X))
    expected = X + encoding * keep.reshape(X.shape) * 2
    np.testing.assert_allclose(layer(X, rng=key), expected, rtol=1e-5, atol=1e-6)


# --- waves ---


def waves(positions, depth):
    """Sines, then cosines."""
    angles = [[p / 10000 ** (2 * i / depth) for i in range(depth // 2)] for p in positions]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def test_waves_of_positions():
    layer = made("SinCosPositionalEncoding", mode="eval")
    np.testing.assert_allclose(layer(X), X + waves(range(6), 8), rtol=1e-5, atol=1e-5)


def test_waves_begin_at_random_positions_in_training():
    layer = made("SinCosPositionalEncoding", add_offset=20, start_from_zero_one_in=3)
    starts = set()
    for seed in range(12):
        added = np.asarray(layer(X, rng=random.PRNGKey(seed))) - X
        errors = [np.abs(added - waves(range(s, s + 6), 8)).max() for s in range(20)]
        assert min(errors) < 1e-4
        starts.add(int(np.argmin(errors)))
    assert 0 in starts
    assert len(starts) > 4


def test_dropout_of_waves():
    layer = made("SinCosPositionalEncoding", start_from_zero_one_in=1, dropout=0.5)
    key = random.PRNGKey(3)
    keep = np.asarray(random.bernoulli(key, 0.5, (1, 1, 8)))
    expected = X + waves(range(6), 8) * keep * 2
    np.testing.assert_allclose(layer(X, rng=key), expected, rtol=1e-5, atol=1e-5)


# --- digits ---


def digits(layer, positions, depth=8):
    """Each digit times its vector, for each position."""
    vectors, _ = layer.weights
    encoding = np.zeros((len(positions), depth))
    for base, of_digits in zip((3, 5), vectors, strict=True):
        for row, p in enumerate(positions):
            parts = [np.asarray(v)[0] * (p // base**i % base) for i, v in enumerate(of_digits)]
            encoding[row] += np.concatenate(parts)
    return encoding


def test_digits_of_positions():
    layer = made("FixedBasePositionalEncoding", bases=[3, 5], n_digits=4, mode="eval")
    vectors, first = layer.weights
    expected = X + digits(layer, range(6))
    expected[:, 0] += np.asarray(first)[0, 0]
    np.testing.assert_allclose(layer(X), expected, rtol=1e-5, atol=1e-7)
    assert [[v.shape for v in of_base] for of_base in vectors] == [[(1, 2)] * 4] * 2


def test_each_sequence_begins_at_its_own_position_in_training():
    options = {"bases": [3, 5], "n_digits": 4, "initializer": tl.RandomNormalInitializer(1.0)}
    layer = made("FixedBasePositionalEncoding", base_dropout_one_in=3, **options)
    first = np.asarray(layer.weights[1])[0, 0]
    starts, nothing = set(), 0
    for seed in range(6):
        added = np.asarray(layer(X, rng=random.PRNGKey(seed))) - X
        added[:, 0] -= first
        for of_sequence in added:
            if np.abs(of_sequence).max() < 1e-5:
                nothing += 1
                continue
            errors = [np.abs(of_sequence - digits(layer, range(s, s + 6))).max() for s in range(76)]
            assert min(errors) < 1e-4
            starts.add(int(np.argmin(errors)))
    assert nothing > 0
    assert 0 in starts
    assert len(starts) > 2


# --- random words ---


def test_random_words_are_those_of_the_classic_streams():
    key = random.PRNGKey(5)
    words = np.asarray(random.split(key, 4)).reshape(-1)  # counters 0 to 7, in two halves
    counters = np.arange(8, dtype=np.uint32)
    pairs = np.stack([counters[:4], counters[4:]], -1)
    found = np.asarray(tl.threefry_2x32_prf(key, weft.numpy.asarray(pairs)))
    np.testing.assert_array_equal(np.concatenate([found[:, 0], found[:, 1]]), words)
    assert tl.threefry_2x32_prf(key, weft.numpy.asarray(pairs.reshape(2, 2, 2))).shape == (2, 2, 2)


def test_a_range_of_random_words():
    key = weft.numpy.zeros(2, "uint32")
    expected = [[1797259609, 2579123966], [1351547692, 3235790642], [1688610540, 4229293427]]
    np.testing.assert_array_equal(tl.threefry_2x32_prange(key, 0, 3), expected)
    np.testing.assert_array_equal(tl.threefry_2x32_prange(key, 1, 3), expected[1:])
    assert tl.threefry_2x32_prange(key).shape == (2, 2)
    assert tl.threefry_2x32_prange(key, 4, 4).shape == (0, 2)


def test_counters_go_beyond_a_word():
    key = random.PRNGKey(1)
    found = tl.threefry_2x32_prange(key, 2**32 - 1, 2**32 + 1)
    pairs = weft.numpy.array([[2**32 - 1, 0], [0, 1]], "uint32")
    np.testing.assert_array_equal(found, tl.threefry_2x32_prf(key, pairs))


# --- without an end ---


def cycles(t, depth, drift):
    """Where each channel's wave is at time t, step by step."""
    waves = (depth + 1) // 2
    words = np.asarray(
        tl.threefry_2x32_prange(weft.numpy.array(position_encodings.NOISE_KEY), 0, (t + 1) * waves)
    )
    steps = words[:, 0].reshape(t + 1, waves).astype(np.float64) / (2**31 - 1) * math.sqrt(3)
    walk = steps.sum(0) * math.sqrt(drift)
    spread = drift ** (waves / (depth // 2)) if depth > 2 else drift
    frequency = np.geomspace(0.5, 0.5 * spread**2, num=waves)
    return [c % 2 / 4 + frequency[c // 2] * t + walk[c // 2] / 4 for c in range(depth)]


@pytest.mark.parametrize("depth", [5, 6])
@pytest.mark.parametrize("bins", [None, 2])
def test_endless_waves(depth, bins):
    x = X[..., :depth]
    layer = made(
        "InfinitePositionalEncoding",
        x,
        affine=False,
        transform="none",
        time_bin_length=bins,
        drift=0.1,
        mode="eval",
    )
    expected = np.cos(2 * np.pi * np.array([cycles(t, depth, 0.1) for t in range(6)]))
    if bins:
        expected[:, -3:] = [[1 / (1 + t // 2), t % 2 / 2, t // 2 % 2] for t in range(6)]
    np.testing.assert_allclose(layer(x), x + expected, rtol=1e-4, atol=1e-5)


def test_transforms_of_endless_waves():
    plain = np.asarray(made("InfinitePositionalEncoding", affine=False, transform="none")(0 * X))
    layer = made("InfinitePositionalEncoding", affine=False, transform="any")
    matrix = np.asarray(layer.weights)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(8), atol=1e-5)
    np.testing.assert_allclose(layer(X), X + plain @ matrix, rtol=1e-4, atol=1e-5)
    layer = made("InfinitePositionalEncoding", affine=False, transform="diag")
    np.testing.assert_allclose(layer.weights, 1e-4)
    factor = np.log1p(np.exp(1e-4))
    np.testing.assert_allclose(layer(X), X + plain * factor, rtol=1e-4, atol=1e-5)


def test_endless_waves_have_random_phases():
    layer = made("InfinitePositionalEncoding", transform="none", mode="eval")
    first, second = (np.asarray(layer(0 * X, rng=random.PRNGKey(i))) for i in range(2))
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(first[0], first[1])


def test_endless_waves_stay_exact_far_out():
    """What a compiled step sums in a loop agrees with sums in float64 on the host."""
    depth, t = 4, 3000
    expected = position_encodings.fixed_cycles(t + 1, depth, 0.03)[-1]
    times = weft.numpy.array([t, 2], "int32")
    found = np.asarray(jit(lambda t: position_encodings.cycles_at(t, depth, 0.03))(times))
    turn = (found[0] - expected) % 1.0
    assert np.minimum(turn, 1 - turn).max() < 2e-3


def test_features_of_bins_replace_channels():
    found = np.asarray(made("TimeBinPositionalEncoding", time_bin_length=3, mode="eval")(X))
    np.testing.assert_array_equal(found[..., :5], X[..., :5])
    expected = [[1 / (1 + t // 3), t % 3 / 3, t // 3 % 2] for t in range(6)]
    np.testing.assert_allclose(found[..., 5:], np.broadcast_to(expected, (2, 6, 3)), rtol=1e-6)
    narrow = made("TimeBinPositionalEncoding", X[..., :2], time_bin_length=3)(X[..., :2])
    np.testing.assert_allclose(narrow[0], np.array(expected)[:, 1:], rtol=1e-6)
    assert tl.TimeBinPositionalEncoding.num_features == 3
