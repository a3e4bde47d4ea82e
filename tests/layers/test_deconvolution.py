"""Transposed convolutions: sums in Python, shapes by formula, and the gradient of a convolution."""

import numpy as onp
import pytest

import weft.layers as tl
from weft import fastmath, lax, shapes
from weft.fastmath import numpy as jnp

RNG = onp.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape).astype("float32")


IMAGES = array(2, 5, 4, 3)

# options, lengths of the output for 5 and 4
CASES = {
    "valid": ({"kernel_size": (3, 3)}, (7, 6)),
    "same": ({"kernel_size": (3, 2), "padding": "SAME"}, (5, 4)),
    "strides": ({"kernel_size": (3, 4), "strides": (2, 3)}, (11, 13)),
    "strides, same": ({"kernel_size": (3, 4), "strides": (2, 3), "padding": "SAME"}, (10, 12)),
    "large strides": ({"kernel_size": (2, 1), "strides": (3, 4)}, (15, 16)),
    "large strides, same": (
        {"kernel_size": (2, 1), "strides": (3, 4), "padding": "SAME"}, (15, 16)),
    "dilation": ({"kernel_size": (3, 2), "rhs_dilation": (2, 3)}, (9, 7)),
    "all": (
        {"kernel_size": (3, 2), "strides": (2, 2), "rhs_dilation": (2, 3), "padding": "SAME"},
        (10, 8)),
    "pads": ({"kernel_size": (3, 2), "strides": (3, 2), "padding": [(0, 1), (2, 0)]}, (12, 8)),
}  # fmt: skip


def by_sums(x, w, strides, dilation, lows, lengths):
    """Each output is a sum over the window of the spread input, whose zeros are left out."""
    y = onp.zeros((len(x), *lengths, w.shape[-1]))
    for p in onp.ndindex(*lengths):
        for k in onp.ndindex(*w.shape[:2]):
            at = [p[i] + k[i] * dilation[i] - lows[i] for i in (0, 1)]
            source = [a // s for a, s in zip(at, strides, strict=True)]
            if any(a % s for a, s in zip(at, strides, strict=True)):
                continue
            if all(0 <= n < length for n, length in zip(source, x.shape[1:3], strict=True)):
                y[:, *p] += x[:, *source] @ w[k]
    return y


def lows_of(size, strides, dilation, padding):
    """The zeros before the input along each axis."""
    lows = []
    for i, (n, s, d) in enumerate(zip(size, strides, dilation, strict=True)):
        k = (n - 1) * d + 1
        if padding == "VALID" or (padding == "SAME" and s > k - 1):
            lows.append(k - 1)
        elif padding == "SAME":
            lows.append(-(-(k + s - 2) // 2))
        else:
            lows.append(padding[i][0])
    return lows


@pytest.mark.parametrize("case", CASES)
def test_values_are_sums_over_the_spread_input(case):
    options, lengths = CASES[case]
    layer = tl.ConvTranspose(2, **options)
    layer.init(shapes.signature(IMAGES))
    w, b = array(*options["kernel_size"], 3, 2), array(2)
    layer.weights = (w, b)
    y = layer(IMAGES)
    assert y.shape == (2, *lengths, 2)
    strides = options.get("strides", (1, 1))
    dilation = options.get("rhs_dilation", (1, 1))
    padding = options.get("padding", "VALID")
    lows = lows_of(options["kernel_size"], strides, dilation, padding)
    expected = by_sums(IMAGES, w.astype("float64"), strides, dilation, lows, lengths) + b
    onp.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    if padding != "VALID" or max(options["kernel_size"]) > 1:  # the same as the engine's own
        own = lax.conv_transpose(IMAGES, w, strides, padding, dilation, ("NHWC", "HWIO", "NHWC"))
        onp.testing.assert_allclose(y, own + b, rtol=1e-5, atol=1e-5)


def test_it_is_the_gradient_of_a_convolution_with_the_flipped_kernel():
    w = array(3, 3, 2, 4)
    conv = tl.Conv(4, (3, 3), strides=(2, 2), use_bias=False)
    x = jnp.zeros((1, 7, 7, 2))
    conv.init(shapes.signature(x))
    conv.weights = jnp.asarray(w)
    ct = array(1, 3, 3, 4)
    _, pull = fastmath.vjp(conv, x)
    layer = tl.ConvTranspose(2, (3, 3), strides=(2, 2))
    layer.init(shapes.signature(ct))
    layer.weights = (jnp.asarray(w[::-1, ::-1].transpose(0, 1, 3, 2)), jnp.zeros(2))
    onp.testing.assert_allclose(layer(ct), pull(jnp.asarray(ct))[0], rtol=1e-5, atol=1e-5)


def test_weights_are_those_of_conv():
    key = fastmath.random.get_prng(1)
    sig = shapes.signature(IMAGES)
    theirs, _ = tl.Conv(4, (3, 2)).init(sig, rng=key)
    ours, state = tl.ConvTranspose(4, (3, 2)).init(sig, rng=key)
    for a, b in zip(theirs, ours, strict=True):
        onp.testing.assert_array_equal(a, b)
    assert state == ()


@pytest.mark.parametrize("spelling", ["kernel_initialzer", "kernel_initializer"])
def test_both_spellings(spelling):
    layer = tl.ConvTranspose(4, (3, 2), **{spelling: lambda shape, rng: jnp.ones(shape)})
    (w, _), _ = layer.init(shapes.signature(IMAGES))
    assert (onp.asarray(w) == 1).all()


def test_more_batch_axes():
    x = array(9, 2, 5, 5, 20)
    layer = tl.ConvTranspose(30, (3, 3))
    layer.init(shapes.signature(x))
    y = layer(x)
    assert y.shape == (9, 2, 7, 7, 30)
    onp.testing.assert_allclose(y[3], layer(x[3]), rtol=1e-4, atol=1e-5)
