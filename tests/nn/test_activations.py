"""Activations: values, derivatives of both modes and orders, special points, dtypes, refusals."""

import math

import mpmath
import numpy as np
import pytest

import weft
from weft import enable_x64, grad, jit, nn, vmap

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def gelu_by_tanh(x):
    u = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
    return x * sigmoid(2 * u)


def elu(x, alpha=1.0):
    return x if x > 0 else alpha * mpmath.expm1(x)


# name: (weft's, mpmath's)
TABLE = {
    "celu": (lambda x: nn.celu(x, 2.0), lambda x: x if x > 0 else 2 * mpmath.expm1(x / 2)),
    "elu": (lambda x: nn.elu(x, 0.5), lambda x: elu(x, 0.5)),
    "gelu": (nn.gelu, gelu_by_tanh),
    "gelu, exact": (lambda x: nn.gelu(x, approximate=False), lambda x: x * mpmath.ncdf(x)),
    "hard_sigmoid": (nn.hard_sigmoid, lambda x: min(max(x + 3, 0), 6) / 6),
    "hard_silu": (nn.hard_silu, lambda x: x * min(max(x + 3, 0), 6) / 6),
    "hard_tanh": (nn.hard_tanh, lambda x: min(max(x, -1), 1)),
    "leaky_relu": (nn.leaky_relu, lambda x: x if x > 0 else mpmath.mpf(0.01) * x),
    "log1mexp": (lambda x: nn.log1mexp(x * x), lambda x: mpmath.log(-mpmath.expm1(-x * x))),
    "log_sigmoid": (nn.log_sigmoid, lambda x: -softplus(-x)),
    "mish": (nn.mish, lambda x: x * mpmath.tanh(softplus(x))),
    "relu": (nn.relu, lambda x: max(x, 0)),
    "relu6": (nn.relu6, lambda x: min(max(x, 0), 6)),
    "selu": (nn.selu, lambda x: SCALE * elu(x, ALPHA)),
    "sigmoid": (nn.sigmoid, sigmoid),
    "silu": (nn.silu, lambda x: x * sigmoid(x)),
    "soft_sign": (nn.soft_sign, lambda x: x / (1 + abs(x))),
    "softplus": (nn.softplus, softplus),
    "sparse_plus": (
        nn.sparse_plus, lambda x: x if x > 1 else 0 if x < -1 else (x + 1) ** 2 / 4
    ),
    "sparse_sigmoid": (nn.sparse_sigmoid, lambda x: min(max(x + 1, 0), 2) / 2),
    "squareplus": (nn.squareplus, lambda x: (x + mpmath.sqrt(x * x + 4)) / 2),
    "tanh": (nn.tanh, mpmath.tanh),
}  # fmt: skip

X = np.array([-80.3, -20.1, -7.4, -2.7, -0.93, -0.31, -1e-4, 2e-5, 0.4, 0.97, 2.2, 5.1, 19.4, 88.8])


def exact(function, x):
    with mpmath.workprec(300):
        return np.array([float(function(mpmath.mpf(float(v)))) for v in x])


def spacing(x, dtype):
    return np.spacing(np.abs(x).astype(dtype)).astype(np.float64)


def narrow_spacing(x, dtype):
    """The distance of neighbours in a dtype of 16 bits, at numbers in float64."""
    info = weft.dtypes.finfo(dtype)
    with np.errstate(divide="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(x))), info.minexp)
    return 2.0 ** (exponent - info.nmant)


@pytest.fixture(scope="module")
def compiled():
    """All functions' values, slopes of both modes and second derivatives, from one program."""

    def of(f):
        def pushed(x):
            return weft.jvp(f, (x,), (1.0,))[1]

        return f, pushed, grad(f), grad(pushed)

    def program(x):
        return {name: tuple(vmap(g)(x) for g in of(f)) for name, (f, _) in TABLE.items()}

    with enable_x64(True):
        return {k: [np.asarray(v) for v in vs] for k, vs in jit(program)(X).items()}


@pytest.mark.parametrize("name", TABLE)
def test_values(name, compiled):
    f, oracle = TABLE[name]
    want = exact(oracle, X)
    x32 = X.astype(np.float32)
    for _ in range(3):  # computed, planned, run from the plan
        got = np.asarray(f(x32))
        assert got.dtype == np.float32
        error = np.abs(got - exact(oracle, x32)) / spacing(got, np.float32)
        # where a large |u| goes through an exponential, its own rounding counts
        assert error.max() < 130, (x32[error.argmax()], error.max())
        near = np.abs(x32) < 8
        assert error[near].max() < 16
    np.testing.assert_allclose(compiled[name][0], want, rtol=1e-13, atol=1e-80)


@pytest.mark.parametrize("name", TABLE)
def test_derivatives(name, compiled):
    _, oracle = TABLE[name]
    _value, forward, reverse, second = compiled[name]
    np.testing.assert_allclose(forward, reverse, rtol=1e-14, atol=1e-300)
    with mpmath.workprec(300):
        slope, bend = (
            np.array([float(mpmath.diff(oracle, mpmath.mpf(v), n, h=mpmath.mpf(10) ** -30))
                      for v in X]) for n in (1, 2)
        )  # fmt: skip
    np.testing.assert_allclose(forward, slope, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(second, bend, rtol=1e-7, atol=1e-11)


SLOPES = {
    "relu": [(0.0, 0)],
    "relu6": [(0.0, 0), (6.0, 0)],
    "hard_tanh": [(-1.0, 1), (1.0, 1), (1.5, 0)],
    "hard_sigmoid": [(-3.0, 0), (3.0, 0)],
    "leaky_relu": [(0.0, 1)],
    "elu": [(0.0, 0.5)],
    "celu": [(0.0, 1)],
    "selu": [(0.0, ALPHA * SCALE)],
    "soft_sign": [(0.0, 1)],
    "sparse_plus": [(-1.0, 0), (1.0, 1)],
    "sparse_sigmoid": [(-2.0, 0), (0.5, 0.5)],
    "squareplus": [(0.0, 0.5)],
    "softplus": [(0.0, 0.5)],
    "silu": [(0.0, 0.5)],
    "gelu": [(0.0, 0.5)],
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_where_pieces_meet(name):
    for x, slope in SLOPES[name]:
        assert grad(TABLE[name][0])(x).item() == pytest.approx(slope, rel=1e-6)


SMOOTH = ("gelu", "gelu, exact", "log_sigmoid", "mish", "sigmoid", "silu", "soft_sign", "softplus",
          "squareplus", "tanh", "elu", "celu", "selu")  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_far_out_nothing_is_nan(name):
    f, _ = TABLE[name]
    for dtype in ("float32", "float16", "bfloat16"):
        big = float(weft.dtypes.finfo(dtype).max)
        x = weft.numpy.array([-big / 2, -big / 8, -30.0, 30.0, big / 8, big / 2], dtype)
        y, g = np.asarray(f(x), np.float32), np.asarray(vmap(grad(f))(x), np.float32)
        assert np.isfinite([y, g]).all(), (y, g)
        assert (np.abs(g) <= 1.8).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype):
    x = weft.numpy.array(np.linspace(-5, 5, 41), dtype)
    for name, (f, oracle) in TABLE.items():
        got = f(x)
        assert got.dtype == np.dtype(dtype)
        if name == "log1mexp":  # the table squares its argument, which is rounded
            continue
        want = exact(oracle, x)
        error = np.abs(np.asarray(got, np.float64) - want) / narrow_spacing(want, dtype)
        # the slope of leaky_relu is rounded too
        assert error.max() < (0.8 if name == "leaky_relu" else 0.51), (name, error.max())


def test_integers_shapes_and_weak_types():
    assert nn.relu(np.int8([-3, 4])).tolist() == [0, 4]
    assert nn.relu(np.int8([-3, 4])).dtype == np.int8
    for name, (f, _) in TABLE.items():
        if name != "relu":
            assert f(np.arange(3)).dtype == np.float32, name
        assert f(np.zeros((2, 0), np.float32)).shape == (2, 0)
        assert f(0.5).shape == ()
        assert f(0.5).weak_type
    assert nn.identity(3).dtype == np.int32
    assert nn.swish is nn.silu
    assert nn.hard_swish is nn.hard_silu


def test_complex_numbers():
    z = np.array([1 + 2j, -0.5 - 1j], np.complex64)
    np.testing.assert_allclose(nn.sigmoid(z), 1 / (1 + np.exp(-z)), rtol=1e-6)
    np.testing.assert_allclose(nn.silu(z), z / (1 + np.exp(-z)), rtol=1e-6)
    np.testing.assert_allclose(nn.glu(np.stack([z, z], 1)).ravel(), z / (1 + np.exp(-z)), rtol=1e-6)


def test_parameters_may_be_arrays_and_are_differentiated():
    x, a = np.float32([-1.0, 2.0]), np.float32([[0.5], [2.0]])
    assert nn.elu(x, a).shape == (2, 2)
    assert nn.elu(x.astype(np.float16), 2.0).dtype == np.float16
    assert nn.leaky_relu(np.arange(2), np.float32(0.5)).dtype == np.float32
    got = grad(lambda a: nn.celu(-1.5, a))(0.7)
    h = 1e-6
    want = (0.7 + h) * math.expm1(-1.5 / (0.7 + h)) - (0.7 - h) * math.expm1(-1.5 / (0.7 - h))
    assert got.item() == pytest.approx(want / (2 * h), rel=1e-4)


def test_glu():
    x = np.random.default_rng(0).standard_normal((4, 3, 6)).astype(np.float32)
    for axis in (-1, 0):
        a, b = np.split(x, 2, axis)
        np.testing.assert_allclose(nn.glu(x, axis), a / (1 + np.exp(-b)), rtol=1e-5)
    g = grad(lambda x: weft.numpy.sum(nn.glu(x)))(x)
    a, b = np.split(x, 2, -1)
    s = 1 / (1 + np.exp(-b))
    np.testing.assert_allclose(g, np.concatenate([s, a * s * (1 - s)], -1), rtol=1e-4, atol=1e-6)


def test_special_values():
    inf = np.float32(np.inf)
    assert nn.log1mexp(np.float32([0, inf, -1])).tolist()[:2] == [-np.inf, 0]
    assert np.isnan(nn.log1mexp(-1.0).item())
    assert nn.softplus(np.float32([-inf, inf])).tolist() == [0, np.inf]
    assert nn.squareplus(np.float32([-inf, inf, -1e30])).tolist()[:2] == [0, np.inf]
    assert nn.squareplus(np.float32(1e30)).item() == np.float32(1e30)
    assert nn.squareplus(np.float32(-1e4)).item() == pytest.approx(1e-4, rel=1e-6)
    nans = [f(np.float32(np.nan)).item() for f, _ in TABLE.values()]
    assert np.isnan(nans).all()


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: nn.relu(1j), TypeError, ("relu", "real")),
        (lambda: nn.relu(True), TypeError, ("relu", "number")),
        (lambda: nn.gelu(np.ones(2, np.complex64)), TypeError, ("gelu", "complex64")),
        (lambda: nn.elu([1.0]), TypeError, ("elu", "list")),
        (lambda: nn.elu(1.0, 2j), TypeError, ("elu", "alpha")),
        (lambda: nn.glu(np.ones(3)), ValueError, ("glu", "even")),
        (lambda: nn.glu(np.ones(4), 1), ValueError, ("glu", "axis 1")),
        (lambda: nn.softplus("a"), TypeError, ("softplus", "str")),
    ],
)
def test_refusals(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    assert all(part in str(caught.value) for part in parts)
