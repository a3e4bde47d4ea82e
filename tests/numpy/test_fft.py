"""Fourier transforms against NumPy's: axes, lengths, norms, dtypes, derivatives, errors."""

import numpy as onp
import pytest
from agreement import assert_close, assert_gradient
from row_names import row_name

import weft
import weft.numpy as np
from weft import lax

rng = onp.random.default_rng(0)
REAL = rng.standard_normal((3, 4, 5)).astype("f")
COMPLEX = (REAL + 1j * rng.standard_normal((3, 4, 5))).astype("c8")
NORMS = (None, "backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")


def data(name):
    return REAL if name in ("rfft", "ihfft", "rfftn", "rfft2") else COMPLEX


CALLS = [
    *[
        (name, {"n": n, "axis": axis, "norm": norm})
        for name in ONE_AXIS
        for n in (None, 1, 3, 4, 9)
        for axis in (-1, 0, 1)
        for norm in NORMS
    ],
    *[
        (name, {"s": s, "axes": axes, "norm": norm})
        for name in SEVERAL
        for s, axes in [
            (None, None),
            (None, (1,)),
            (None, (2, 0)),
            (None, (-1, -3, -2)),
            ((4, 3), (0, 2)),
            ([2, 6, 5], [1, 0, -1]),
            ((-1, 3), (0, 1)),
            ((3, 7), (1, 1)),
        ]
        for norm in NORMS
    ],
    *[
        (name, {"s": s, "axes": axes, "norm": "ortho"})
        for name in TWO
        for s, axes in [(None, (-2, -1)), ((5, 4), (-2, -1)), (None, (1, 0)), (None, (0, 0))]
    ],
]


@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL, *TWO])
def test_transforms_are_those_of_numpy(name):
    x = data(name)
    wide = x.astype("c16" if x.dtype == "c8" else "f8")
    for _, options in filter(lambda call: call[0] == name, CALLS):
        expected = getattr(onp.fft, name)(wide, **options)
        for _ in range(3):  # the third call is from a plan
            got = getattr(np.fft, name)(np.asarray(x), **options)
            assert got.dtype == ("float32" if expected.dtype.kind == "f" else "complex64")
            assert not got.weak_type
            assert_close(got, expected)


def test_compiled_transforms_are_those_of_numpy():
    table = CALLS[::23]
    got = weft.jit(lambda r, c: [
        getattr(np.fft, name)(r if data(name) is REAL else c, **options) for name, options in table
    ])(REAL, COMPLEX)  # fmt: skip
    for result, (name, options) in zip(got, table, strict=True):
        assert_close(result, getattr(onp.fft, name)(data(name), **options))


def test_s_without_axes_is_of_the_last_ones():
    got = np.fft.fftn(np.asarray(COMPLEX), s=(4, 6))
    assert_close(got, onp.fft.fftn(COMPLEX, s=(4, 6), axes=(-2, -1)))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_more_axes_than_xla_transforms_at_once(name):
    x = rng.standard_normal((2, 3, 2, 3, 4))
    x = x if name == "rfftn" else x + 1j * rng.standard_normal(x.shape)
    with weft.enable_x64(True):
        for axes in (None, (3, 0, 2, 1), (4, 1, 2, 3, 0)):
            expected = getattr(onp.fft, name)(x, axes=axes)
            assert_close(getattr(np.fft, name)(np.asarray(x), axes=axes), expected)
            compiled = weft.jit(getattr(np.fft, name), static_argnames="axes")
            assert_close(compiled(x, axes=axes), expected)


def test_no_axes_is_the_array_itself():
    assert_close(np.fft.fftn(np.asarray(REAL), axes=()), REAL.astype("c8"))
    with pytest.raises(ValueError, match="rfftn: expected at least one axis"):
        np.fft.rfftn(np.asarray(REAL), axes=())


@pytest.mark.parametrize(
    ("dtype", "real", "complex_"),
    [
        ("bool", "float32", "complex64"),
        ("int8", "float32", "complex64"),
        ("uint32", "float32", "complex64"),
        ("float16", "float32", "complex64"),
        ("bfloat16", "float32", "complex64"),
        ("float32", "float32", "complex64"),
        ("float64", "float64", "complex128"),
        ("complex64", "float32", "complex64"),
        ("complex128", "float64", "complex128"),
    ],
)
def test_dtypes(dtype, real, complex_):
    whole = onp.array([1, 0, 1, 1, 0])
    with weft.enable_x64(dtype in ("float64", "complex128")):
        x = np.asarray(whole).astype(dtype)
        assert_close(np.fft.fft(x), onp.fft.fft(whole).astype(complex_))
        assert np.fft.fft(x).dtype == complex_
        assert np.fft.irfft(x).dtype == real
        if not dtype.startswith("complex"):
            assert np.fft.rfft(x).dtype == complex_
            assert_close(np.fft.rfft(x), onp.fft.rfft(whole).astype(complex_))


def test_python_numbers_and_wide_defaults():
    with weft.enable_x64(True):
        assert np.fft.fft(np.arange(3)).dtype == "complex128"
    assert np.fft.fft(onp.arange(3)).dtype == "complex64"


def test_empty_batches():
    for name in ONE_AXIS:
        x = np.zeros((0, 4), data(name).dtype)
        for f in (getattr(np.fft, name), weft.jit(getattr(np.fft, name))):
            expected = getattr(onp.fft, name)(onp.zeros((0, 4), data(name).dtype))
            assert (f(x).shape, f(x).dtype) == (expected.shape, expected.dtype)


def test_odd_values_spread_as_in_numpy():
    x = onp.array([1, onp.nan, 2, 3], "f")
    assert onp.isnan(np.fft.rfft(np.asarray(x))).all()
    y = onp.array([onp.inf, 0, 0], "c8")
    got = onp.asarray(np.fft.fft(np.asarray(y)))
    assert (got.real == onp.inf).all()


def test_what_a_layout_could_break():
    """Transforms among transposed operands and results, which XLA may lay out by columns."""
    x = COMPLEX

    def f(x):
        y = np.fft.fft(x.T, axis=0) * 2
        return np.fft.ifft(y, axis=1).T + np.swapaxes(np.fft.fftn(x, axes=(0, 2)), 0, 0)

    expected = onp.fft.ifft(onp.fft.fft(x.T, axis=0) * 2, axis=1).T + onp.fft.fftn(x, axes=(0, 2))
    assert_close(weft.jit(f)(x), expected, 1e-4)
    a, b = REAL[0].T, REAL[0]
    y = weft.jit(lambda a, b: np.fft.rfft(a @ b) @ np.fft.rfft((a @ b).T).T)(a, b)
    assert_close(y, onp.fft.rfft(a @ b) @ onp.fft.rfft((a @ b).T).T, 1e-3)


# --- derivatives ---

GRADIENTS = {
    "rfft": lambda x: np.abs(np.fft.rfft(x)) ** 2,
    "irfft": lambda x: np.fft.irfft(x[:3] + 1j * x[3:], 5, norm="forward") ** 2,
    "fft": lambda x: np.fft.fft(x, 8, norm="ortho").imag ** 2,
    "ifft": lambda x: np.fft.ifft(x * (1 + 2j)).real ** 3,
    "hfft": lambda x: np.fft.hfft(x[:3] + 1j * x[3:]) ** 2,
    "ihfft": lambda x: np.abs(np.fft.ihfft(x)) ** 2,
    "rfftn": lambda x: np.abs(np.fft.rfftn(x.reshape(2, 3))) ** 2,
    "irfftn": lambda x: np.fft.irfftn((x[:4] + 1j * x[2:]).reshape(2, 2), norm="ortho") ** 2,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_differences(name):
    assert_gradient(GRADIENTS[name], rng.standard_normal(6))


def test_the_gradient_of_a_complex_argument_is_that_of_its_parts():
    """For a real loss: d/dx - i d/dy, as everywhere in weft."""
    z = COMPLEX[0, 0]

    def loss(z):
        return np.sum(np.abs(np.fft.fft(z, norm="ortho")) ** 4)

    def of_parts(x, y):
        return loss(x + 1j * y)

    dx, dy = weft.grad(of_parts, (0, 1))(np.asarray(z.real), np.asarray(z.imag))
    assert_close(weft.grad(loss)(np.asarray(z)), onp.asarray(dx) - 1j * onp.asarray(dy), 1e-4)


def test_forward_mode_second_order_and_batches():
    x, v = REAL[0], REAL[1]
    _, tangent = weft.jvp(np.fft.rfft, (np.asarray(x),), (np.asarray(v),))
    assert_close(tangent, onp.fft.rfft(v))

    def loss(x):
        return np.sum(np.abs(np.fft.rfft(x)) ** 2)

    # the sum counts inner frequencies twice: its Hessian is a sum of cosines
    k, n = onp.arange(3)[:, None], onp.arange(5)
    matrix = onp.exp(-2j * onp.pi * k * n / 5)
    assert_close(weft.hessian(loss)(np.asarray(x[0])), 2 * (matrix.conj().T @ matrix).real, 1e-4)
    mapped = weft.vmap(np.fft.rfft, in_axes=1, out_axes=1)(np.asarray(x))
    assert_close(mapped, onp.fft.rfft(x, axis=0))
    assert_close(weft.vmap(lambda a: np.fft.fftn(a))(np.asarray(COMPLEX)), onp.fft.fft2(COMPLEX))


# --- frequencies and shifts ---


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies(n):
    assert_close(np.fft.fftfreq(n, 0.5), onp.fft.fftfreq(n, 0.5))
    assert_close(np.fft.rfftfreq(n, d=3), onp.fft.rfftfreq(n, d=3))
    assert_close(weft.jit(lambda d: np.fft.fftfreq(n, d))(0.25), onp.fft.fftfreq(n, 0.25))


def test_frequencies_have_dtypes_and_devices():
    assert np.fft.fftfreq(4, dtype="bfloat16").dtype == "bfloat16"
    assert np.fft.rfftfreq(4, dtype=np.float16).dtype == "float16"
    device = weft.devices("cpu")[0]
    assert np.fft.fftfreq(4, device=device).device == device
    slope = weft.grad(lambda d: np.fft.fftfreq(4, d)[1])(0.5)
    assert_close(slope, onp.float32(-1.0))
    with weft.enable_x64(True):
        assert np.fft.fftfreq(4).dtype == "float64"


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), [1], ()])
def test_shifts(name, axes):
    for _ in range(3):
        got = getattr(np.fft, name)(np.asarray(REAL), axes)
        assert_close(got, getattr(onp.fft, name)(REAL, axes))
    assert getattr(np.fft, name)(np.zeros((0, 2))).shape == (0, 2)


# --- lax ---


def test_lax_takes_names_numbers_and_types():
    x = onp.float32([1, 2, 3, 4])
    for kind in (lax.FftType.RFFT, "RFFT", "rfft", 2):
        assert_close(lax.fft(x, kind, (4,)), onp.fft.rfft(x))
    assert_close(lax.fft(onp.int32([1, 2]), "FFT", [2]), onp.complex64([3, -1]))
    assert_close(lax.fft(onp.fft.rfft(x), "IRFFT", (4,)).astype("f"), x)
    assert [t.value for t in lax.FftType] == [0, 1, 2, 3]


# --- errors ---

BAD = [
    (lambda: np.fft.fft(np.ones(3), 0), ValueError, "fft: n must be 1 or more; got 0"),
    (lambda: np.fft.fft(np.ones(3), -1), ValueError, "fft: n must be 1 or more"),
    (lambda: np.fft.fft(np.ones(3), 2.0), TypeError, "n must be an int"),
    (lambda: np.fft.fft(np.ones(3), axis=1), ValueError, "axis|axes 1 is out of range"),
    (lambda: np.fft.fft(np.float32(1.0)), ValueError, "no axes"),
    (lambda: np.fft.fft(np.ones(3), norm="big"), ValueError, "norm must be one of 'backward'"),
    (lambda: np.fft.fft(np.ones(0)), ValueError, "too short"),
    (lambda: np.fft.irfft(np.ones(1)), ValueError, "too short"),
    (lambda: np.fft.fft([1, 2]), TypeError, "list"),
    (lambda: np.fft.fft(np.ones(3), out=onp.ones(3)), NotImplementedError, "out must be None"),
    (lambda: np.fft.rfft(np.ones(3) * 1j), TypeError, "rfft: expected real numbers"),
    (lambda: np.fft.ihfft(np.ones(3) * 1j), TypeError, "ihfft: expected real numbers"),
    (lambda: np.fft.fftn(np.ones((2, 2)), s=3), TypeError, "s must be a sequence"),
    (lambda: np.fft.fftn(np.ones((2, 2)), axes=1), TypeError, "axes must be a sequence"),
    (lambda: np.fft.fftn(np.ones((2, 2)), s=(1, 2, 3)), ValueError, "more lengths than"),
    (
        lambda: np.fft.fftn(np.ones((2, 2)), s=(1,), axes=(0, 1)),
        ValueError,
        "as many lengths as axes",
    ),
    (lambda: np.fft.fftn(np.ones((2, 2)), s=(0, 1)), ValueError, "s must be 1 or more"),
    (lambda: np.fft.fftfreq(0), ValueError, "n must be 1 or more"),
    (lambda: np.fft.fftfreq(2.5), TypeError, "n must be an int"),
    (lambda: np.fft.fftfreq(2, 0), ValueError, "d, the time between samples"),
    (lambda: np.fft.fftfreq(2, np.ones(2)), ValueError, "d must be a number"),
    (lambda: np.fft.fftfreq(2, dtype="int32"), TypeError, "dtype must be"),
    (lambda: np.fft.fftshift(np.ones(2), 1), ValueError, "axes 1 is out of range"),
    (lambda: lax.fft(onp.ones(3, "f"), "DFT", (3,)), ValueError, "fft_type must be one of FFT"),
    (lambda: lax.fft(onp.ones(3, "f"), "FFT", (4,)), ValueError, "last axes of complex64"),
    (lambda: lax.fft(onp.ones(3, "f"), "FFT", (3, 3)), ValueError, "1 axes; got 2"),
    (lambda: lax.fft(onp.ones(0, "f"), "FFT", (0,)), ValueError, "lengths must be 1 or more"),
    (lambda: lax.fft(onp.ones(3, "c8"), "RFFT", (3,)), TypeError, "expected real numbers"),
]


@pytest.mark.parametrize("place", BAD, ids=row_name)
def test_bad_arguments(place):
    call, kind, message = place
    with pytest.raises(kind, match=message):
        call()


def test_what_equals_a_good_argument_is_refused_after_it_too():
    x = np.ones(4)
    for _ in range(3):
        np.fft.fft(x, 1, 0)
    for bad in ({"n": 1.0}, {"n": True}, {"axis": 0.0}):
        with pytest.raises(TypeError, match="must be an int"):
            np.fft.fft(x, **{"n": 1, "axis": 0, **bad})


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_arrays_without_elements_along_another_axis(wrap, name):
    for shape, axis in [((0, 4), -1), ((4, 0), 0), ((2, 4, 0), 1)]:
        x = onp.zeros(shape, "f" if name in ("rfft", "ihfft") else "complex64")
        for n in (None, 3, 6):
            expected = getattr(onp.fft, name)(x, n, axis)
            got = wrap(lambda x, n=n, axis=axis: getattr(np.fft, name)(x, n, axis))(x)
            assert got.shape == expected.shape
            assert np.iscomplexobj(got) == onp.iscomplexobj(expected)
