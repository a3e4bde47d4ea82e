"""Images of another size: against plain loops, recorded values of Pillow, derivatives, refusals."""

import math

import numpy as np
import pytest

import weft
from weft import enable_x64, image, jit, vmap
from weft.image import ResizeMethod

RNG = np.random.default_rng(0)
X = RNG.standard_normal((7, 9, 2)).astype(np.float32)


def triangle(x):
    return max(0.0, 1 - x)


def cubic(x):
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def lanczos(radius):
    return lambda x: float(np.sinc(x) * np.sinc(x / radius)) if x < radius else 0.0


KERNELS = {"linear": triangle, "cubic": cubic, "lanczos3": lanczos(3), "lanczos5": lanczos(5)}


def matrix(n, out, scale, shift, kernel, antialias):
    """Weights by the definition: each output element is a mean around its place in the input."""
    weights = np.zeros((out, n))
    width = max(1 / scale, 1) if antialias else 1
    for i in range(out):
        centre = (i + 0.5 - shift) / scale
        row = np.array([kernel(abs(centre - (j + 0.5)) / width) for j in range(n)])
        if 0 <= centre <= n:
            weights[i] = row / row.sum()
    return weights


def oracle(x, shape, method, antialias=True, scale=None, shift=(0, 0)):
    scale = scale or [b / a for a, b in zip(x.shape[:2], shape[:2], strict=True)]
    rows, columns = (
        matrix(n, out, s, t, KERNELS[method], antialias)
        for n, out, s, t in zip(x.shape[:2], shape[:2], scale, shift, strict=True)
    )
    return np.einsum("ai,bj,ijc->abc", rows, columns, x.astype(np.float64))


SHAPES = [(3, 13, 2), (14, 4, 2), (7, 5, 2)]


@pytest.mark.parametrize("method", KERNELS)
def test_resize(method):
    def all_of(x):
        return [image.resize(x, s, method, a) for s in SHAPES for a in (True, False)]

    want = [oracle(X, s, method, a) for s in SHAPES for a in (True, False)]
    for found in (jit(all_of)(X), all_of(X), all_of(X)):
        for got, expected in zip(found, want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    names = [n for n, m in NAMES.items() if m == ResizeMethod.from_string(method)]
    for name in [*names, ResizeMethod.from_string(method)]:
        np.testing.assert_array_equal(image.resize(X, SHAPES[0], name), all_of(X)[0])


NAMES = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "nearest": ResizeMethod.NEAREST,
}

# Pillow 13.0.0: Image.fromarray(RAMP, "F").resize((3, 4), method), first row
RAMP = (np.arange(56, dtype=np.float32).reshape(8, 7) ** 2) % 23
PILLOW = {
    "linear": [7.2245, 8.7311, 8.2041],
    "cubic": [7.0833, 9.1328, 8.0652],
    "lanczos3": [7.3612, 9.4249, 7.9186],
}


@pytest.mark.parametrize("method", PILLOW)
def test_values_are_those_of_pillow(method):
    got = image.resize(RAMP, (4, 3), method)
    np.testing.assert_allclose(got[0], PILLOW[method], rtol=2e-5)


def test_nearest():
    x = np.arange(10)
    for out in (3, 7, 10, 23):
        want = [math.floor((i + 0.5) * 10 / out) for i in range(out)]
        got = image.resize(x, (out,), "nearest")
        assert got.tolist() == want
        assert got.dtype == np.int32
    assert image.resize(X, (0, 9, 2), "nearest").shape == (0, 9, 2)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3"])
def test_scale_and_translate_and_its_derivatives(method):
    scale, shift = np.array([0.7, 1.6]), np.array([0.31, -1.23])
    shape = (5, 8, 2)
    with enable_x64(True):
        x = X.astype(np.float64)

        def f(x, scale, shift):
            out = image.scale_and_translate(x, shape, (0, 1), scale, shift, method)
            return out, (out**2).sum()

        def both(x, scale, shift):
            return f(x, scale, shift)[0], weft.grad(lambda *a: f(*a)[1], (0, 1, 2))(x, scale, shift)

        got, (gx, gs, gt) = jit(both)(x, scale, shift)

    def want(x, scale, shift):
        return oracle(x, shape, method, True, list(scale), shift)

    np.testing.assert_allclose(got, want(x, scale, shift), rtol=1e-9, atol=1e-12)
    d, h = RNG.standard_normal(x.shape), 1e-6
    for g, args in (
        ((np.asarray(gx) * d).sum(), lambda s: (x + s * d, scale, shift)),
        (gs[0], lambda s: (x, scale + np.array([s, 0]), shift)),
        (gt[1], lambda s: (x, scale, shift + np.array([0, s]))),
    ):
        slope = ((want(*args(h)) ** 2).sum() - (want(*args(-h)) ** 2).sum()) / (2 * h)
        assert float(g) == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_axes_dtypes_and_batches():
    line = np.float32([1, 2, 3])
    moved = image.scale_and_translate(line, (4,), (-1,), np.ones(1), np.ones(1), "linear")
    assert moved.tolist() == [0, 1, 2, 3]
    for shift, want in ((0.7, [0, 1.3, 2.3, 3]), (-0.7, [1.7, 2.7, 0, 0]), (0.4, [1, 1.6, 2.6, 0])):
        moved = image.scale_and_translate(
            line, (4,), (0,), np.ones(1), np.float32([shift]), "linear"
        )  # half of a pixel beyond the first and last one belongs to the image
        np.testing.assert_allclose(moved, want, rtol=1e-6)
    got = image.scale_and_translate(X, (7, 4, 2), [1], np.float32([4 / 9]), np.zeros(1), "cubic")
    np.testing.assert_allclose(got, image.resize(X, (7, 4, 2), "cubic"), rtol=1e-5, atol=1e-6)
    assert image.resize(np.arange(4), (2,), "linear").dtype == np.float32
    half = image.resize(X.astype(np.float16), (3, 13, 2), "cubic")
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, oracle(X, (3, 13, 2), "cubic"), atol=4e-3)
    z = (X + 1j * X[::-1]).astype(np.complex64)
    np.testing.assert_allclose(image.resize(z, (3, 9, 2), "linear").imag,
                               image.resize(X[::-1], (3, 9, 2), "linear"), rtol=1e-5)  # fmt: skip
    many = vmap(lambda x: image.resize(x, (3, 9), "linear"), 2, 2)(X)
    np.testing.assert_allclose(many, image.resize(X, (3, 9, 2), "linear"), rtol=1e-5, atol=1e-6)
    assert image.resize(X, X.shape, "cubic").tolist() == X.tolist()
    assert image.resize(X, (0, 9, 2), "linear").shape == (0, 9, 2)


ONE = np.ones(1, np.float32)


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: image.resize(X, (3, 3), "linear"), ValueError, "shape must have 3"),
        (lambda: image.resize(X, (3, 3, 2), "foo"), ValueError, "'foo'"),
        (lambda: image.resize(X, (3, 3, 2), 1), TypeError, "method"),
        (lambda: image.resize(X[:0], (3, 9, 2), "linear"), ValueError, "no elements"),
        (lambda: image.resize([1.0], (3,), "linear"), TypeError, "image"),
        (lambda: image.scale_and_translate(X, (5, 9, 2), (0,), ONE, ONE, "nearest"), ValueError,
         "nearest"),
        (lambda: image.scale_and_translate(X, (5, 8, 2), (0,), ONE, ONE, "linear"), ValueError,
         "axis 1"),
        (lambda: image.scale_and_translate(X, (5, 9, 2), (3,), ONE, ONE, "linear"), ValueError,
         "spatial_dims 3"),
        (lambda: image.scale_and_translate(X, (5, 9, 2), (0,), 1.0, ONE, "linear"), TypeError,
         "scale"),
        (lambda: image.scale_and_translate(X, (5, 9, 2), (0, 0), ONE, ONE, "linear"), ValueError,
         "twice"),
    ],
)  # fmt: skip
def test_refusals(call, error, part):
    with pytest.raises(error, match=part):
        call()
