"""weft.ops: updates at an index against NumPy's, segments against a loop."""

import numpy as np
import pytest

import weft
import weft.numpy as jnp
from weft import ops

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "ufunc"),
    [
        (ops.index_update, None),
        (ops.index_add, np.add),
        (ops.index_mul, np.multiply),
        (ops.index_min, np.minimum),
        (ops.index_max, np.maximum),
    ],
)
@pytest.mark.parametrize(
    "idx",
    [1, ops.index[1:, ::2], (slice(None), 0), ops.index[np.array([0, 2])], ops.index[..., -1]],
)
def test_updates_at_an_index(function, ufunc, idx):
    x, y = RNG.normal(size=(3, 4)).astype("f"), np.float32(0.25)
    expected = x.copy()
    expected[idx] = y if ufunc is None else ufunc(expected[idx], y)
    np.testing.assert_allclose(function(x, idx, y), expected, rtol=1e-6)
    jitted = weft.jit(lambda x, y: function(x, idx, y, indices_are_sorted=True))
    np.testing.assert_allclose(jitted(x, y), expected, rtol=1e-6)


SEGMENTS = {
    "sum": (ops.segment_sum, np.add, 0),
    "prod": (ops.segment_prod, np.multiply, 1),
    "max": (ops.segment_max, np.maximum, -np.inf),
    "min": (ops.segment_min, np.minimum, np.inf),
}
IDS = np.array([2, 0, 0, -1, 5, 2, 3, 9])  # negative ones and those past the end count for nothing


def looped(kind, data, count):
    _, ufunc, begin = SEGMENTS[kind]
    if np.issubdtype(data.dtype, np.integer) and np.isinf(begin):
        info = np.iinfo(data.dtype)
        begin = info.min if begin < 0 else info.max
    out = np.full((count, *data.shape[1:]), begin, data.dtype)
    for i, segment in enumerate(IDS):
        if 0 <= segment < count:
            out[segment] = ufunc(out[segment], data[i])
    return out


@pytest.mark.parametrize("bucket_size", [None, 1, 3, 100])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("kind", SEGMENTS)
def test_segments_equal_a_loop(kind, dtype, bucket_size):
    function = SEGMENTS[kind][0]
    for shape in ((8,), (8, 3)):
        data = RNG.integers(0, 5, size=shape).astype(dtype)
        expected = looped(kind, data, 4)
        got = function(data, IDS, 4, bucket_size=bucket_size)
        assert got.dtype == data.dtype
        np.testing.assert_allclose(got, expected)
    if bucket_size in (None, 3):
        jitted = weft.jit(function, static_argnums=2, static_argnames="bucket_size")
        np.testing.assert_allclose(jitted(data, IDS, 4, bucket_size=bucket_size), expected)


@pytest.mark.parametrize("bucket_size", [None, 3])
@pytest.mark.parametrize("mode", ["clip", weft.lax.GatherScatterMode.CLIP])
def test_clipped_segments(mode, bucket_size):
    data = RNG.normal(size=8).astype("f")
    got = ops.segment_sum(data, IDS, 4, mode=mode, bucket_size=bucket_size)
    wanted = [data[np.clip(IDS, 0, 3) == k].sum() for k in range(4)]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_the_number_of_segments():
    data = np.ones(8, "f")
    assert ops.segment_sum(data, IDS).tolist() == looped("sum", data, 10).tolist()
    assert ops.segment_sum(np.ones((0, 2), "f"), np.zeros(0, int)).shape == (0, 2)
    assert (
        ops.segment_max(np.ones(0, "f"), np.zeros(0, int), 2, bucket_size=4).tolist()
        == [-np.inf] * 2
    )
    with pytest.raises(weft.errors.ConcretizationTypeError, match="segment_sum: num_segments"):
        weft.jit(ops.segment_sum)(data, IDS)


def test_derivatives_and_batches():
    data = RNG.normal(size=(2, 8)).astype("f")
    loss = lambda x: jnp.sum(ops.segment_sum(x, IDS, 4) ** 2)  # noqa: E731
    inside = (IDS >= 0) & (IDS < 4)
    expected = np.where(inside, 2 * looped("sum", data[0], 4)[np.clip(IDS, 0, 3)], 0)
    np.testing.assert_allclose(weft.grad(loss)(data[0]), expected, rtol=1e-5)
    rows = weft.vmap(lambda x: ops.segment_max(x, IDS, 4))(data)
    np.testing.assert_allclose(rows, np.stack([looped("max", row, 4) for row in data]))


def test_segments_that_dont_fit():
    with pytest.raises(TypeError, match="segment_max: segment_ids must be integers"):
        ops.segment_max(np.ones(3), np.ones(3))
    with pytest.raises(
        ValueError, match=r"segment_sum: .*first axis of data, float32\[3\].*int32\[2\]"
    ):
        ops.segment_sum(np.ones(3), np.ones(2, int))
    with pytest.raises(ValueError, match="num_segments must not be negative"):
        ops.segment_sum(np.ones(3), np.zeros(3, int), -1)
    with pytest.raises(ValueError, match="bucket_size must be positive"):
        ops.segment_sum(np.ones(3), np.zeros(3, int), 1, bucket_size=0)


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_a_scalar_stands_for_equal_slices(name):
    ids = np.array([0, 2, 0, 2, 2])
    function = getattr(ops, name)
    expected = function(np.full(5, 3.0, "f"), ids, 3)
    assert function(jnp.array(3.0), ids, 3).tolist() == expected.tolist()
    assert weft.jit(lambda x: function(x, ids, 3))(3.0).tolist() == expected.tolist()
    assert weft.grad(lambda x: ops.segment_sum(x, ids, 3)[2])(3.0) == 3.0
