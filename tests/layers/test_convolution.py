"""Convolutions against sums in Python: windows, strides, padding, layouts, causality, weights."""

import itertools

import numpy as onp
import pytest

import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

RNG = onp.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape).astype("float32")


def started(layer, x):
    """The layer with random weights."""
    layer.init(shapes.signature(x))
    layer.weights = fastmath.nested_map(lambda w: jnp.asarray(array(*w.shape)), layer.weights)
    return layer


def by_sums(x, w, strides, pads):
    """A convolution of [batch, spatial…, in] with [window…, in, out], position by position."""
    x = onp.pad(x.astype("float64"), ((0, 0), *pads, (0, 0)))
    size = w.shape[:-2]
    lengths = [(n - k) // s + 1 for n, k, s in zip(x.shape[1:-1], size, strides, strict=True)]
    y = onp.zeros((len(x), *lengths, w.shape[-1]))
    for place in itertools.product(*map(range, lengths)):
        window = tuple(
            slice(p * s, p * s + k) for p, s, k in zip(place, strides, size, strict=True)
        )
        axes = range(1, x.ndim)
        y[:, *place] = onp.tensordot(x[:, *window], w, (axes, range(w.ndim - 1)))
    return y


def same(n, k, s):
    """The padding of 'SAME' along an axis."""
    total = max((-(-n // s) - 1) * s + k - n, 0)
    return total // 2, total - total // 2


IMAGES, ROWS = array(2, 7, 6, 3), array(2, 8, 3)

# layer, input, strides, pads
CASES = {
    "valid": (tl.Conv(4, (3, 2)), IMAGES, (1, 1), ((0, 0), (0, 0))),
    "strides": (tl.Conv(4, (3, 2), (2, 1)), IMAGES, (2, 1), ((0, 0), (0, 0))),
    "same": (tl.Conv(4, (3, 2), padding="SAME"), IMAGES, (1, 1), (same(7, 3, 1), same(6, 2, 1))),
    "same, strides": (
        tl.Conv(4, (3, 2), (2, 3), "SAME"), IMAGES, (2, 3), (same(7, 3, 2), same(6, 2, 3))),
    "pads": (tl.Conv(4, (3, 2), padding=[(1, 2), (0, 3)]), IMAGES, (1, 1), ((1, 2), (0, 3))),
    "3d": (
        tl.Conv(2, (2, 1, 2), dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
        array(1, 3, 2, 4, 2), (1, 1, 1), ((0, 0),) * 3),
    "conv1d": (tl.Conv1d(4, 3), ROWS, (1,), ((0, 0),)),
    "conv1d, same": (tl.Conv1d(4, 3, stride=2, padding="SAME"), ROWS, (2,), (same(8, 3, 2),)),
    "causal": (tl.CausalConv(4), ROWS, (1,), ((2, 0),)),
    "causal, 1": (tl.CausalConv(4, kernel_width=1), ROWS, (1,), ((0, 0),)),
    "causal, long": (tl.CausalConv(4, kernel_width=11), ROWS, (1,), ((10, 0),)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values_are_sums_over_windows(case):
    layer, x, strides, pads = CASES[case]
    w, b = started(layer, x).weights
    expected = by_sums(x, onp.asarray(w), strides, pads) + onp.asarray(b)
    onp.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-5)


def test_without_a_bias_the_weights_are_the_kernel():
    layer = started(tl.Conv(4, (3, 2), use_bias=False), IMAGES)
    expected = by_sums(IMAGES, onp.asarray(layer.weights), (1, 1), ((0, 0), (0, 0)))
    onp.testing.assert_allclose(layer(IMAGES), expected, rtol=1e-5, atol=1e-5)


def test_channels_first_is_the_same_transposed():
    last = started(tl.Conv(4, (3, 2)), IMAGES)
    first = tl.Conv(4, (3, 2), dimension_numbers=("NCHW", "OIHW", "NCHW"))
    x = IMAGES.transpose(0, 3, 1, 2)
    w, b = first.init(shapes.signature(x))[0]
    assert (w.shape, b.shape) == ((4, 3, 3, 2), (4, 1, 1))
    w, b = last.weights
    first.weights = (w.transpose(3, 2, 0, 1), b.reshape(4, 1, 1))
    onp.testing.assert_allclose(first(x), last(IMAGES).transpose(0, 3, 1, 2), rtol=1e-5, atol=1e-5)


def test_more_batch_axes_are_one_for_the_convolution():
    x = array(2, 3, 5, 5, 3)
    layer = started(tl.Conv(2, (3, 3)), x)
    y = layer(x)
    assert y.shape == (2, 3, 3, 3, 2)
    onp.testing.assert_allclose(y[1], layer(x[1]), rtol=1e-5, atol=1e-5)


def test_the_default_kernel_knows_the_feature_axes():
    """Glorot's variance is 2 / (in + out), whatever the layout."""
    for numbers in (("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")):
        x = jnp.zeros((1, 30, 30, 30))
        w, b = tl.Conv(60, (5, 5), dimension_numbers=numbers).init(shapes.signature(x))[0]
        assert abs(onp.var(onp.asarray(w)) * 45 - 1) < 0.02
        assert abs(onp.asarray(b)).max() < 1e-5


def test_initializers_get_the_two_keys_of_a_split():
    kept = []

    def initializer(shape, rng):
        kept.append((tuple(shape), onp.asarray(rng).tolist()))
        return jnp.zeros(shape)

    key = fastmath.random.get_prng(5)
    layer = tl.Conv(4, (3, 2), kernel_initializer=initializer, bias_initializer=initializer)
    layer.init(shapes.signature(IMAGES), rng=key)
    keys = onp.asarray(fastmath.random.split(key, 2)).tolist()
    assert kept == [((3, 2, 3, 4), keys[0]), ((4,), keys[1])]


@pytest.mark.parametrize("kernel_size", [1, 3, 12])
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_depthwise_is_a_sum_of_delays(kernel_size, backend):
    with fastmath.use_backend(backend):
        layer = started(tl.CausalDepthwiseConv(kernel_size), ROWS)
        w = onp.asarray(layer.weights)
        y = onp.asarray(layer(jnp.asarray(ROWS)))
    assert w.shape == (kernel_size, 3)
    for t in range(ROWS.shape[1]):
        expected = sum(w[i] * ROWS[:, t - i] for i in range(min(kernel_size, t + 1)))
        onp.testing.assert_allclose(y[:, t], expected, rtol=1e-5, atol=1e-5)


def test_depthwise_weights_may_be_bfloat16():
    layer = tl.CausalDepthwiseConv(use_bfloat16=True)
    assert layer.init(shapes.signature(ROWS))[0].dtype == "bfloat16"
    assert tl.CausalDepthwiseConv().init(shapes.signature(ROWS))[0].dtype == "float32"


@pytest.mark.parametrize("make", [lambda: tl.CausalConv(2), lambda: tl.CausalDepthwiseConv(4)])
def test_no_output_depends_on_later_inputs(make):
    layer = started(make(), ROWS)
    changed = ROWS.copy()
    changed[:, 5:] += 1
    y, z = layer(ROWS), layer(changed)
    onp.testing.assert_array_equal(y[:, :5], z[:, :5])
    assert (abs(y[:, 5:] - z[:, 5:]) > 1e-3).all()


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "float32"])
@pytest.mark.parametrize("make", [tl.Conv, tl.ConvTranspose])
def test_other_dtypes_of_inputs_are_promoted(make, dtype):
    x = jnp.arange(50).reshape(1, 5, 5, 2).astype(dtype)
    layer = started(make(4, (3, 3)), x)
    y = layer(x)
    assert y.dtype == "float32"
    onp.testing.assert_allclose(y, layer(x.astype("float32")), rtol=1e-5)


def test_names():
    layers = tl.Conv(4, (3, 3)), tl.Conv1d(4, 3), tl.CausalConv(4), tl.CausalDepthwiseConv()
    assert [str(layer) for layer in layers] == ["Conv", "Conv", "CausalConv", "CausalDepthwiseConv"]
