"""Convolutions: layouts, padding by name, transposed ones, errors."""

import numpy as np
import pytest
from scipy import signal

from weft import grad, jit, lax, vmap
from weft.config import eager_tier

RNG = np.random.default_rng(0)


def refused(error, *parts):
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("tier", ["host", "xla"])
@pytest.mark.parametrize(("padding", "mode"), [("VALID", "valid"), ("SAME", "same")])
def test_it_is_scipys_correlation(tier, padding, mode):
    x, k = normal(6, 7), normal(3, 3)
    with eager_tier(tier):
        out = lax.conv(x[None, None], k[None, None], (1, 1), padding)
    np.testing.assert_allclose(
        np.asarray(out)[0, 0], signal.correlate2d(x, k, mode), rtol=1e-4, atol=1e-5
    )


def test_layouts_by_strings_are_one_convolution():
    x, k = normal(2, 5, 6, 3), normal(2, 3, 3, 4)
    out = lax.conv_general_dilated(x, k, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    canonical = lax.conv(x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1), (2, 1), "SAME")
    np.testing.assert_allclose(
        out, np.transpose(np.asarray(canonical), (0, 2, 3, 1)), rtol=1e-4, atol=1e-5
    )
    turned = lax.conv_general_dilated(
        x.transpose(0, 2, 1, 3), k, (2, 1), "SAME", dimension_numbers=("NWHC", "HWIO", "CWHN")
    )
    np.testing.assert_allclose(
        turned, np.transpose(np.asarray(out), (3, 2, 1, 0)), rtol=1e-4, atol=1e-5
    )


def test_dimension_numbers():
    numbers = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHWC", "WHIO", "NCHW"))
    assert numbers == lax.ConvDimensionNumbers((0, 3, 2, 1), (3, 2, 0, 1), (0, 1, 3, 2))
    assert lax.conv_dimension_numbers((1,) * 4, (1,) * 4, numbers) == numbers
    assert lax.conv_dimension_numbers((1,) * 3, (1,) * 3, None).out_spec == (0, 1, 2)


def test_padding_by_name():
    assert lax.padtype_to_pads((7, 8), (3, 2), (2, 3), "SAME") == [(1, 1), (0, 0)]
    assert lax.padtype_to_pads((5,), (2,), (1,), "SAME") == [(0, 1)]
    assert lax.padtype_to_pads((5,), (2,), (1,), "same_lower") == [(1, 0)]
    assert lax.padtype_to_pads((5,), (2,), (1,), "VALID") == [(0, 0)]
    with refused(ValueError, "padding must be one of 'SAME', 'SAME_LOWER', 'VALID'", "'FULL'"):
        lax.padtype_to_pads((5,), (2,), (1,), "FULL")


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_transposed_convolution_with_transposed_kernel_is_the_gradient(stride, padding):
    # of the convolution that takes 6 to out.length and has the same kernel
    x, k = normal(1, 6 * stride, 2), normal(3, 2, 4)
    numbers = ("NHC", "HIO", "NHC")

    def forward(x):
        return lax.conv_general_dilated(x, k, (stride,), padding, dimension_numbers=numbers)

    ct = normal(*forward(x).shape)
    expected = grad(lambda x: lax.reduce_sum(lax.mul(forward(x), ct), (0, 1, 2)))(x)
    out = lax.conv_transpose(ct, k, (stride,), padding, transpose_kernel=True)
    n = min(out.shape[1], expected.shape[1])  # what strides leave over has no gradient
    np.testing.assert_allclose(
        np.asarray(out)[:, :n], np.asarray(expected)[:, :n], rtol=1e-4, atol=1e-5
    )
    if padding == "SAME":
        assert out.shape == x.shape


def test_consistent_padding_is_that_of_the_forward_convolution():
    x, k = normal(1, 7, 2), normal(3, 2, 3)
    pads = [(1, 0)]
    forward = lax.conv_general_dilated(x, k, (2,), pads, dimension_numbers=("NHC", "HIO", "NHC"))
    back = lax.conv_transpose(
        forward, k, (2,), pads, transpose_kernel=True, use_consistent_padding=True
    )
    assert back.shape[1] == (forward.shape[1] - 1) * 2 + 3 - 1
    plain = lax.conv_transpose(forward, k, (2,), [(1, 2)], transpose_kernel=True)
    np.testing.assert_allclose(back, plain)


def test_patches_are_windows_as_features():
    x = normal(2, 3, 5)
    out = lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
    windows = np.lib.stride_tricks.sliding_window_view(x, 2, axis=2)  # [n, c, place, tap]
    np.testing.assert_array_equal(out, windows.transpose(0, 1, 3, 2).reshape(2, 6, 4))


def test_depthwise_convolution():
    x, k = normal(1, 5, 3), normal(2, 1, 3)
    out = lax.conv_general_dilated(
        x, k, (1,), "VALID", dimension_numbers=("NHC", "HIO", "NHC"), feature_group_count=3
    )
    expected = x[:, :-1] * k[0, 0] + x[:, 1:] * k[1, 0]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_per_example_gradients_of_a_kernel():
    x, k = normal(4, 6, 2), normal(3, 2, 3)

    def loss(k, x):
        out = lax.conv_general_dilated(
            lax.expand_dims(x, (0,)), k, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")
        )
        return lax.reduce_sum(lax.mul(out, out), (0, 1, 2))

    together = jit(vmap(grad(loss), (None, 0)))(k, x)
    np.testing.assert_allclose(
        together, np.stack([grad(loss)(k, r) for r in x]), rtol=1e-3, atol=1e-4
    )


def test_what_does_not_fit_is_refused():
    x, k = normal(1, 2, 5), normal(3, 2, 3)
    with refused(TypeError, "lhs features .2. must be rhs in-features .3.", r"float32\[1,2,5\]"):
        lax.conv(x, normal(3, 3, 3), (1,), "SAME")
    with refused(TypeError, "equal number of axes", r"float32\[3,2\]"):
        lax.conv(x, k[..., 0], (1,), "SAME")
    with refused(ValueError, "window_strides needs one entry", r"\(1, 1\)"):
        lax.conv_general_dilated(x, k, (1, 1), [(0, 0)])
    with refused(TypeError, "window_strides must be positive"):
        lax.conv(x, k, (0,), [(0, 0)])
    with refused(ValueError, "padding by name", "conv_transpose"):
        lax.conv_general_dilated(x, k, (1,), "SAME", lhs_dilation=(2,))
    with refused(ValueError, "padding must be 'SAME'", "'FULL'"):
        lax.conv(x, k, (1,), "FULL")
    with refused(TypeError, "padding must be a name or a sequence of pairs", "3"):
        lax.conv_general_dilated(x, k, (1,), 3)
    with refused(ValueError, "string of dimension_numbers must name 3 axes", "HX"):
        lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NHC", "HIX", "NHC"))
    with refused(TypeError, "dimension_numbers must be None, three strings"):
        lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers="NHC")
    with refused(ValueError, "must be a multiple of 2 groups"):
        lax.conv_general_dilated(x, normal(3, 1, 3), (1,), "SAME", feature_group_count=2)
    with refused(ValueError, "one of them 1; got 2 and 2"):
        lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2, batch_group_count=2)
    with refused(TypeError, "operands must have one dtype", "int32"):
        lax.conv(x, np.ones((3, 2, 3), np.int32), (1,), "SAME")
    with refused(TypeError, "needs|expected|equal", "float32"):
        lax.conv_transpose(x, k[0], (1,), "SAME")
