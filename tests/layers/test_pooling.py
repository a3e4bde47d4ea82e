"""Pooling against windows of NumPy."""

import numpy as onp
import pytest

import weft.layers as tl
from weft.fastmath import numpy as jnp

RNG = onp.random.default_rng(0)
IMAGES, ROWS = RNG.normal(size=(2, 5, 6, 3)), RNG.normal(size=(2, 7, 3))
VOLUMES = RNG.normal(size=(1, 3, 2, 4, 2))

REDUCTIONS = {"MaxPool": onp.nanmax, "SumPool": onp.nansum, "AvgPool": onp.nanmean}

# input, pool_size, strides
CASES = {
    "default": (IMAGES, (2, 2), None),
    "strides": (IMAGES, (2, 2), (2, 2)),
    "overlap": (IMAGES, (3, 2), (1, 3)),
    "1d": (ROWS, (3,), (2,)),
    "3d": (VOLUMES, (2, 1, 2), None),
    "whole": (IMAGES, (5, 6), None),
}


def pooled(x, size, strides, padding, reduction):
    """Window by window; NaN stands for what is outside."""
    strides = strides or (1,) * len(size)
    pads = []
    for n, k, s in zip(x.shape[1:-1], size, strides, strict=True):
        total = max((-(-n // s) - 1) * s + k - n, 0) if padding == "SAME" else 0
        pads.append((total // 2, total - total // 2))
    x = onp.pad(x, ((0, 0), *pads, (0, 0)), constant_values=onp.nan)
    axes = tuple(range(1, x.ndim - 1))
    windows = onp.lib.stride_tricks.sliding_window_view(x, size, axes)
    windows = windows[:, *(slice(None, None, s) for s in strides)]
    return reduction(windows, tuple(range(x.ndim, windows.ndim)))


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("case", CASES)
def test_values(case, name, padding):
    x, size, strides = CASES[case]
    x = x.astype("float32")
    layer = getattr(tl, name)(size, strides, padding)
    assert str(layer) == f"{name}{size}".replace(" ", "")
    expected = pooled(x, size, strides, padding, REDUCTIONS[name])
    onp.testing.assert_allclose(layer(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_integers(name):
    x = jnp.arange(-8, 8).reshape(1, 4, 4, 1)
    y = getattr(tl, name)(strides=(2, 2))(x)
    assert y.dtype == ("float32" if name == "AvgPool" else "int32")
    expected = pooled(onp.asarray(x, "float64"), (2, 2), (2, 2), "VALID", REDUCTIONS[name])
    onp.testing.assert_array_equal(y, expected)


def test_lists_will_do():
    x = IMAGES.astype("float32")
    onp.testing.assert_array_equal(tl.MaxPool([2, 2], [2, 2])(x), tl.MaxPool((2, 2), (2, 2))(x))
