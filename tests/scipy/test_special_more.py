"""Lambert's function, spherical Bessel functions, elliptic integrals against SciPy: values,
branches, odd places, derivatives of both orders, eager and compiled, and refusals."""

import math

import mpmath
import numpy as onp
import pytest
import scipy.special as oracle

import weft
from weft import numpy as np
from weft.config import eager_tier
from weft.errors import ConcretizationTypeError
from weft.scipy import special

inf, nan = onp.inf, onp.nan
SPHERICAL = ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")


@pytest.fixture(autouse=True)
def x64():
    with weft.enable_x64(True), eager_tier("host"):
        yield


# --- Lambert's function ---

ANGLES = onp.exp(1j * onp.linspace(-3.1, 3.1, 9))
# near the branch point, in the whole plane, tiny, huge, and on the real line
PLANE = onp.concatenate([
    *[-onp.exp(-1) + size * ANGLES for size in (1e-6, 0.01, 0.03, 0.1, 0.4, 1.5)],
    *[size * ANGLES for size in (1e-200, 1e-7, 1e-3, 0.3, 1.0, 5.0, 30.0, 1e11, 1e200)],
    [-30.0, -2.0, -0.36, -0.3, -0.1, -1e-9, 1e-9, 0.2, 1.0, 4.0, 1e5, 1e300],
])  # fmt: skip
BRANCHES = onp.array([0, -1, 1, 2, -3])[:, None]


@onp.vectorize
def lambertw(z, k):
    """SciPy's loses digits near the branch point."""
    if abs(z + onp.exp(-1)) > 1e-3:
        return oracle.lambertw(z, k)
    with mpmath.workdps(30):
        return complex(mpmath.lambertw(mpmath.mpc(z), int(k)))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_branches_of_lambertw(dtype):
    fits = (onp.abs(PLANE) > 1e-30) & (onp.abs(PLANE) < 1e30)
    z = (PLANE if dtype == "complex128" else PLANE[fits]).astype(dtype)
    expected = lambertw(z.astype("complex128"), BRANCHES)
    rtol = 1e-14 if dtype == "complex128" else 2e-6
    for f in (special.lambertw, weft.jit(special.lambertw)):
        got = onp.asarray(f(z, BRANCHES))
        assert got.dtype == dtype
        worst = onp.max(onp.abs(got - expected) / onp.abs(expected), 1)
        assert worst.max() < rtol, (worst, f)
    real = onp.asarray(special.lambertw(onp.array([-0.3, 0.5, 7.0])))
    assert real.dtype == "complex128"
    assert not real.imag.any()
    assert not onp.asarray(special.lambertw(onp.array([-0.36, -0.1]), -1)).imag.any()


def test_lambertw_at_odd_places():
    z = onp.array([0.0, inf, -inf, nan, -onp.exp(-1)])
    for k in (0, 2, -1):
        got = onp.asarray(special.lambertw(z, k))
        expected = oracle.lambertw(z[:4], k)
        onp.testing.assert_array_equal(got[:4].real, expected.real)
        onp.testing.assert_allclose(got[:4].imag, expected.imag, rtol=1e-15)
        if k < 1:
            onp.testing.assert_allclose(got[4], -1, rtol=1e-7)
    assert special.lambertw(onp.zeros((0, 3))).shape == (0, 3)
    assert special.lambertw(1).dtype == "complex128"
    assert special.lambertw(onp.float32(1)).dtype == "complex64"
    assert special.lambertw(np.ones(2, np.bfloat16)).dtype == "complex64"


def test_derivatives_of_lambertw():
    for k, z in ((0, 0.5 + 0.2j), (-1, -0.2 + 0j), (2, 3.0 - 1j), (0, -0.9 + 0.4j)):

        def f(z, k=k):
            return special.lambertw(z, k)

        first = weft.grad(f, holomorphic=True)
        second = weft.grad(first, holomorphic=True)
        w = oracle.lambertw(z, k)
        onp.testing.assert_allclose(first(z), w / (z * (1 + w)), rtol=1e-12)
        exact = -(w**2) * (w + 2) / (z**2 * (1 + w) ** 3)
        onp.testing.assert_allclose(second(z), exact, rtol=1e-11)

    def real_part(x):
        return np.real(special.lambertw(x))

    assert weft.grad(real_part)(0.0) == 1
    slope = weft.jvp(real_part, (2.0,), (1.0,))[1]
    w = oracle.lambertw(2.0).real
    onp.testing.assert_allclose(slope, w / (2 * (1 + w)), rtol=1e-13)


# --- spherical Bessel functions ---

LINE = onp.array([-40.0, -7.5, -1.2, -1e-3, 1e-5, 0.3, 1.0, 3.1, onp.pi, 4.4934, 9.0, 60.0, 200.0])
N = onp.array([0, 1, 2, 7])[:, None]


@onp.vectorize
def exact_spherical(name, n, z):
    sign = -1.0 if z < 0 else 1.0
    with mpmath.workdps(40):
        x = mpmath.mpf(abs(z))
        root = mpmath.sqrt(mpmath.pi / (2 * x))
        i, k = (f(n + mpmath.mpf(0.5), x) for f in (mpmath.besseli, mpmath.besselk))
        if name == "spherical_jn":
            return float(root * mpmath.besselj(n + mpmath.mpf(0.5), x) * sign**n)
        if name == "spherical_yn":
            return float(root * mpmath.bessely(n + mpmath.mpf(0.5), x) * sign ** (n + 1))
        if name == "spherical_in":
            return float(root * i * sign**n)
        return float(root * k if z > 0 else -mpmath.pi * root * i - (-1.0) ** n * root * k)


def exact_slope(name, n, z):
    a, b = {"spherical_in": (1, 1), "spherical_kn": (-1, -1)}.get(name, (1, -1))
    before = exact_spherical(name, onp.maximum(n - 1, 0), z)
    return (a * n * before + b * (n + 1) * exact_spherical(name, n + 1, z)) / (2 * n + 1)


@pytest.mark.parametrize("name", SPHERICAL)
def test_spherical_bessel_functions(name):
    f = getattr(special, name)

    def both(z):
        return f(N, z), f(N, z, derivative=True)

    expected = exact_spherical(name, N, LINE), exact_slope(name, N, LINE)
    for run in (weft.jit(both), both):
        for got, exact in zip(run(LINE), expected, strict=True):
            # near a zero the error is that of the function's size
            scale = (
                0.02 / onp.maximum(onp.abs(LINE), 1) * (name in ("spherical_jn", "spherical_yn"))
            )
            onp.testing.assert_array_less(
                onp.abs(onp.asarray(got) - exact), 2e-12 * (onp.abs(exact) + scale) + 1e-300
            )
    few = LINE[(onp.abs(LINE) > 0.01) & (onp.abs(LINE) < 50)].astype("f")
    got = onp.asarray(weft.jit(lambda z: f(N, z))(few))
    assert got.dtype == "f"
    exact = exact_spherical(name, N, few.astype("d"))
    size = onp.where(onp.abs(few) > N, 0.3 / onp.abs(few), 0)
    assert (onp.abs(got - exact) < 1e-5 * onp.abs(exact) + 4e-6 * size).all()


@pytest.mark.parametrize("name", SPHERICAL)
def test_derivatives_of_spherical_bessel_functions(name):
    f, z = getattr(special, name), onp.array([0.7, 2.5, 11.0])

    def first(z):
        return weft.jvp(lambda z: f(N, z), (z,), (onp.ones(3),))[1]

    onp.testing.assert_allclose(first(z), f(N, z, True), rtol=1e-13)
    backward = weft.grad(lambda z: np.sum(f(N, z)))(z)
    onp.testing.assert_allclose(backward, onp.asarray(f(N, z, True)).sum(0), rtol=1e-12)
    second = weft.jvp(first, (z,), (onp.ones(3),))[1]
    # the differential equation: z² f'' + 2 z f' + (± z² - n (n + 1)) f = 0
    sign = 1 if name in ("spherical_jn", "spherical_yn") else -1
    value = onp.asarray(f(N, z))
    rest = z**2 * second + 2 * z * first(z) + (sign * z**2 - N * (N + 1)) * value
    onp.testing.assert_array_less(onp.abs(rest), 1e-11 * onp.abs(value) * (N + z + 1) ** 2 + 1e-11)


def test_spherical_bessel_functions_at_odd_places():
    z = onp.array([0.0, inf, -inf, nan])
    for name in SPHERICAL:
        for n in (0, 1, 4):
            got, expected = getattr(special, name)(n, z), getattr(oracle, name)(n, z)
            if name == "spherical_in" and n > 1:
                expected[1:3] = inf  # SciPy: NaN
            if name == "spherical_kn":
                expected[2] = -inf
            onp.testing.assert_array_equal(got, expected, err_msg=f"{name} {n}")
        assert getattr(special, name)(onp.zeros((2, 0), int), 1.0).shape == (2, 0)
        assert getattr(special, name)(2, np.ones(3, np.bfloat16)).dtype == np.bfloat16
        assert getattr(special, name)(0, 1).dtype == "float64"
    assert special.spherical_jn(1, 0.0, True) == pytest.approx(1 / 3)


# --- refusals ---


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: special.lambertw(1.0, 0.5), TypeError, "lambertw: k must be of integer dtype"),
        (lambda: special.lambertw(1.0, tol=0.0), ValueError, "lambertw: tol must be positive"),
        (lambda: special.lambertw("a"), TypeError, "lambertw"),
        (lambda: special.spherical_jn(0.5, 1.0), TypeError, "spherical_jn: n must be of integer"),
        (lambda: special.spherical_kn(-1, 1.0), ValueError, "spherical_kn: n must be at least 0"),
        (lambda: special.spherical_in(1, 1j), TypeError, "spherical_in: expected real"),
        (
            lambda: weft.jit(lambda n: special.spherical_yn(n, 1.0))(1),
            ConcretizationTypeError,
            "spherical_yn: n must be known",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- elliptic integrals ---

ELLIPTIC = {
    "ellipk": onp.array(
        [-1e30, -50.0, -0.7, 0.0, -0.0, 1e-9, 0.4, 0.999, 1.0, 1.5, nan, inf, -inf]
    ),
    "ellipe": onp.array(
        [-1e30, -50.0, -0.7, 0.0, -0.0, 1e-9, 0.4, 0.999, 1.0, 1.5, nan, inf, -inf]
    ),
    "ellipkm1": onp.array([1e-300, 1e-20, 0.3, 1.0, 2.0, 1e9, 0.0, -1.0, nan, inf]),
}


@pytest.mark.parametrize("name", ELLIPTIC)
def test_elliptic_integrals(name):
    x, f, exact = ELLIPTIC[name], getattr(special, name), getattr(oracle, name)
    for g in (f, weft.jit(f)):
        onp.testing.assert_allclose(g(x), exact(x), rtol=2e-15)
    assert f(1).dtype == "float64"
    assert f(onp.zeros((0, 2), "float32")).shape == (0, 2)
    with pytest.raises(TypeError, match=f"{name}.*real"):
        f(1j)
    at = onp.array([0.05, 0.3, 0.72])
    step = 1e-6
    slope = (exact(at + step) - exact(at - step)) / (2 * step)
    onp.testing.assert_allclose(weft.vmap(weft.grad(f))(at), slope, rtol=1e-8)
    forwards = weft.vmap(weft.jacfwd(weft.grad(f)))(at)
    slopes = [weft.vmap(weft.grad(f))(at + s) for s in (step, -step)]
    onp.testing.assert_allclose(forwards, (slopes[0] - slopes[1]) / (2 * step), rtol=1e-7)
    if name != "ellipkm1":
        onp.testing.assert_allclose(
            weft.grad(f)(0.0), math.pi / 8 * (1 if name == "ellipk" else -1), rtol=1e-15
        )
