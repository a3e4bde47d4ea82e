"""Convolutions with a kernel for each place, shapes of convolutions, orders of axes."""

import numpy as np
import pytest

import weft
from weft import jit, lax, vmap

RNG = np.random.default_rng(0)

# dimension numbers, lhs, filter_shape, options
CASES = [
    (("NCHW", "OIHW", "NCHW"), (2, 3, 6, 7), (2, 3),
     {"window_strides": (1, 2), "padding": "VALID"}),
    (("NHWC", "HWIO", "NHWC"), (2, 6, 7, 3), (2, 3), {"window_strides": (2, 1), "padding": "SAME"}),
    (("NHWC", "WHIO", "CHNW"), (2, 6, 7, 3), (2, 3),
     {"window_strides": (1, 1), "padding": ((1, 0), (0, 2)), "rhs_dilation": (1, 2),
      "lhs_dilation": (2, 1)}),
]  # fmt: skip


def kernels_of(numbers, lhs, window, options):
    """An ordinary kernel, and the same at each place."""
    spatial = [c for c in numbers[1] if c not in "OI"]
    sizes = {"O": 4, "I": lhs[numbers[0].index("C")], **dict(zip(spatial, window, strict=True))}
    kernel = RNG.standard_normal([sizes[c] for c in numbers[1]]).astype(np.float32)
    given = [options["window_strides"], options["padding"], options.get("lhs_dilation"),
             options.get("rhs_dilation"), numbers]  # fmt: skip
    x = RNG.standard_normal(lhs).astype(np.float32)
    out = lax.conv_general_dilated(x, kernel, *given)
    flat = np.moveaxis(kernel, [numbers[1].index(c) for c in "OI"], [0, 1]).reshape(4, -1)
    places = {"O": 4, "I": flat.shape[1], **{c: out.shape[numbers[2].index(c)] for c in spatial}}
    shape = [places[c] for c in numbers[1]]
    ones = np.ones([n if c in spatial else 1 for c, n in zip(numbers[1], shape, strict=True)])
    order = flat if numbers[1].index("O") < numbers[1].index("I") else flat.T
    wide = order.reshape([n if c in "OI" else 1 for c, n in zip(numbers[1], shape, strict=True)])
    return x, (wide * ones).astype(np.float32), out


@pytest.mark.parametrize(("numbers", "lhs", "window", "options"), CASES)
def test_equal_kernels_make_a_convolution(numbers, lhs, window, options):
    x, kernels, want = kernels_of(numbers, lhs, window, options)

    def f(x, kernels):
        return lax.conv_general_dilated_local(
            x, kernels, filter_shape=window, dimension_numbers=numbers, **options
        )

    np.testing.assert_allclose(jit(f)(x, kernels), want, rtol=1e-4, atol=1e-5)
    dx, dk = RNG.standard_normal(x.shape).astype(np.float32), kernels[..., ::-1]
    ct = RNG.standard_normal(want.shape).astype(np.float32)
    pushed = weft.jvp(f, (x, kernels), (dx, dk))[1]
    bx, bk = weft.vjp(f, x, kernels)[1](ct)
    assert np.vdot(pushed, ct) == pytest.approx(np.vdot(bx, dx) + np.vdot(bk, dk), rel=1e-3)


def test_each_place_has_its_kernel_and_batches():
    x = RNG.standard_normal((2, 1, 3, 6)).astype(np.float32)
    k = RNG.standard_normal((4, 6, 5)).astype(np.float32)

    def f(x):
        return lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,))

    got = vmap(f)(x)
    want = np.zeros((2, 1, 4, 5))
    for at in range(5):
        want[..., at] = np.einsum("bnct,oct->bno", x[..., at : at + 2], k[..., at].reshape(4, 3, 2))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="rhs must be"):
        lax.conv_general_dilated_local(x[0], k[:, :5], (1,), "VALID", (2,))


def test_shapes_are_those_of_the_convolutions():
    for numbers, lhs, window, _ in CASES:
        spatial = [c for c in numbers[1] if c not in "OI"]
        sizes = {"O": 4, "I": 3, **dict(zip(spatial, window, strict=True))}
        rhs = tuple(sizes[c] for c in numbers[1])
        x, k = np.zeros(lhs, np.float32), np.zeros(rhs, np.float32)
        for padding in ("SAME", "VALID", [(1, 2), (0, 1)]):
            out = lax.conv_general_dilated(x, k, (2, 1), padding, dimension_numbers=numbers)
            assert lax.conv_general_shape_tuple(lhs, rhs, (2, 1), padding, numbers) == out.shape
            out = lax.conv_transpose(x, k, (2, 1), padding, dimension_numbers=numbers)
            assert lax.conv_transpose_shape_tuple(lhs, rhs, (2, 1), padding, numbers) == out.shape
        p, q, r = lax.conv_general_permutations(numbers)
        assert [numbers[0][i] for i in p] == ["N", "C", *spatial]
        assert [numbers[1][i] for i in q] == ["O", "I", *spatial]
        assert [numbers[2][i] for i in r] == ["N", "C", *spatial]
    assert lax.conv_shape_tuple((4, 3, 8), (6, 3, 3), (1,), "VALID", 2) == (2, 6, 6)


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: lax.conv_shape_tuple((2, 3), (2, 3, 3), (1,), "SAME"), ValueError, "axes"),
        (lambda: lax.conv_shape_tuple((2, 3, 4), (2, 3, 3), (1, 1), "SAME"), ValueError, "strides"),
        (lambda: lax.conv_shape_tuple((3, 3, 4), (2, 3, 3), (1,), "SAME", 2), ValueError, "group"),
        (lambda: lax.conv_shape_tuple((2, 3, 4), (2, 3, 3), (1,), [(0, 0)] * 2), ValueError, "pad"),
        (lambda: lax.conv_general_permutations(3), TypeError, "three strings"),
        (
            lambda: lax.conv_transpose_shape_tuple((1, 1, 2), (1, 1, 2), (1,), "SAME_LOWER", None),
            ValueError, "padding",
        ),
    ],
)  # fmt: skip
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
