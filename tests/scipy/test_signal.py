"""Convolutions, trends and spectra against SciPy's."""

import itertools
import warnings

import numpy as onp
import pytest
from agreement import assert_close, assert_gradient
from row_names import row_name
from scipy import signal as oracle

import weft
import weft.numpy as np
from weft.scipy import signal
from weft.scipy.signal.windows import ALIASES, WINDOWS, periodic_window

rng = onp.random.default_rng(0)


def result_of(function, *args, **options):
    """The result, or `None` for a ValueError."""
    try:
        return function(*args, **options)
    except ValueError:
        return None


def random(shape, complex_=False):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if complex_ else x


# --- convolution ---

SHAPES = [
    ((5,), (3,)), ((3,), (6,)), ((4,), (4,)), ((4, 5), (2, 3)), ((2, 3), (5, 4)), ((2, 5), (3, 2)),
    ((3, 4, 2), (2, 2, 2)), ((), ()),
]  # fmt: skip
MODES = ("full", "same", "valid")


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
def test_convolution_in_any_number_of_axes(name, method):
    function, expected = getattr(signal, name), getattr(oracle, name)
    for (a, b), mode, complex_ in itertools.product(SHAPES, MODES, (False, True)):
        x, y = random(a, complex_), random(b, complex_)
        wanted = result_of(expected, x, y, mode, method)
        got = result_of(function, np.asarray(x), np.asarray(y), mode, method)
        assert (got is None) == (wanted is None)
        if wanted is not None:
            assert_close(got, wanted)


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_convolution_of_images(name):
    function, expected = getattr(signal, name), getattr(oracle, name)
    pairs = [(a, b) for a, b in SHAPES if len(a) == 2]
    pairs += [((3, 4), (4, 4)), ((4, 4), (4, 4))]
    boundaries, kinds = ("fill", "wrap", "symm"), (False, True)
    for (a, b), mode, boundary, kind in itertools.product(pairs, MODES, boundaries, kinds):
        x, y = random(a, kind), random(b, kind)
        options = {"mode": mode, "boundary": boundary, "fillvalue": 1.5}
        wanted = result_of(expected, x, y, **options)
        got = result_of(function, np.asarray(x), np.asarray(y), **options)
        assert (got is None) == (wanted is None)
        if wanted is not None:
            assert_close(got, wanted)
    x, y = random((3, 4), True), random((2, 2), True)
    assert_close(function(np.asarray(x), np.asarray(y)), expected(x, y))


def test_fftconvolve_along_some_axes():
    x, y = random((3, 4, 5)), random((1, 2, 5))
    for mode in MODES:
        for axes in (1, -2, [1], (1, 2)):
            got = signal.fftconvolve(np.asarray(x), np.asarray(y), mode, axes)
            assert_close(got, oracle.fftconvolve(x, y, mode, axes))
    assert_close(signal.fftconvolve(np.asarray(x), np.asarray(x), axes=()), x * x)


def test_large_arrays_are_transformed_and_small_ones_not():
    def primitives(n, m):
        jaxpr = weft.make_jaxpr(signal.convolve)(np.ones(n), np.ones(m))
        return {e.primitive.name for e in jaxpr.equations}

    assert "fft" in primitives(10_000, 1000)
    assert "fft" not in primitives(1000, 1000) & primitives(100_000, 5)


def test_integers_and_small_floats():
    x = onp.array([1, 2, 3])
    assert_close(signal.convolve(np.asarray(x), np.asarray(x)), onp.convolve(x, x).astype("f"))
    for dtype in ("bfloat16", "float16"):
        got = signal.fftconvolve(np.asarray(x).astype(dtype), np.asarray(x).astype(dtype))
        assert got.dtype == dtype
        assert_close(got, onp.convolve(x, x))


def test_gradients_of_convolutions():
    x, y = random((5,)), random((3,))
    assert_gradient(lambda x, y: signal.convolve(x, y, "same"), x, y)
    assert_gradient(lambda x, y: signal.fftconvolve(x, y, "valid"), x, y)
    assert_gradient(
        lambda x, y: signal.correlate2d(x, y, "same", "symm"), random((2, 3)), random((2, 2))
    )


# --- trends ---


@pytest.mark.parametrize("options", [
    {}, {"type": "constant"}, {"type": "c", "axis": 0}, {"type": "l", "axis": 1},
    {"bp": 3}, {"bp": [2, 5], "axis": -1}, {"bp": onp.array([1, 6])},
])  # fmt: skip
def test_detrend(options):
    x = random((3, 4, 7))
    assert_close(signal.detrend(np.asarray(x), **options), oracle.detrend(x, **options))


def test_detrend_of_integers_gradients_and_single_samples():
    assert_close(signal.detrend(np.arange(5)), onp.zeros(5, "f"), 1e-6)
    assert signal.detrend(np.arange(5).astype("bfloat16")).dtype == "bfloat16"
    assert_close(signal.detrend(np.array([3.0])), onp.zeros(1, "f"))
    assert_gradient(lambda x: signal.detrend(x, bp=2) ** 2, random((5,)))


# --- spectra ---

PARAMETERS = {
    "exponential": (None, 3.0), "gaussian": (2.5,), "general_cosine": ([0.5, 0.3, 0.2],),
    "general_gaussian": (1.5, 3.0), "general_hamming": (0.6,), "kaiser": (4.0,), "tukey": (0.3,),
}  # fmt: skip


@pytest.mark.parametrize("kind", WINDOWS)
def test_windows(kind):
    for n in (1, 2, 7, 8, 25):
        for name in [kind, *[a for a, to in ALIASES.items() if to == kind]]:
            given = (name, *PARAMETERS[kind]) if kind in PARAMETERS else name
            wanted = oracle.get_window(given, n)
            onp.testing.assert_allclose(periodic_window("f", given, n), wanted, atol=1e-12)
    assert periodic_window("f", 4.0, 5).tolist() == oracle.get_window(4.0, 5).tolist()


X = random((2, 3, 50))
DATA = [(X, -1), (X.transpose(0, 2, 1), 1), (X[0], 1), (X + 1j * X[::-1], -1),
        (X.transpose(2, 1, 0), -3)]  # fmt: skip
WELCH = [
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 4, "nfft": 21, "window": "hamming"},
    {"nperseg": 12, "noverlap": 9, "detrend": "linear", "scaling": "spectrum"},
    {"nperseg": 16, "average": "median", "window": ("tukey", 0.3)},
    {"nperseg": 10, "detrend": False, "return_onesided": False},
    {"window": onp.hanning(20) + 0.1},
    {"nperseg": 50, "window": ("kaiser", 3.0), "detrend": lambda x: x * 2},
]
STFT = [
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 4, "nfft": 21, "window": "hamming"},
    {"nperseg": 12, "noverlap": 9, "detrend": "linear"},
    {"nperseg": 10, "return_onesided": False},
    {"nperseg": 16, "boundary": "even"},
    {"nperseg": 16, "boundary": "odd", "padded": False},
    {"nperseg": 16, "boundary": None},
    {"nperseg": 8, "boundary": "constant", "scaling": "psd"},
]


def all_close(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        assert_close(a, b, 1e-9)


@pytest.mark.filterwarnings("ignore:Input data is complex")
@pytest.mark.parametrize("options", WELCH)
def test_densities(options):
    with weft.enable_x64(True):
        for x, axis in DATA:
            at = {"fs": 2.0, "axis": axis, **options}
            all_close(signal.welch(np.asarray(x), **at), oracle.welch(x, **at))
            y = x * 0.5 + onp.roll(x, 3, axis)
            got = signal.csd(np.asarray(x), np.asarray(y), **at)
            all_close(got, oracle.csd(x, y, **at))


@pytest.mark.filterwarnings("ignore:Input data is complex", "ignore:NOLA")
@pytest.mark.parametrize("options", STFT)
def test_short_time_transforms(options):
    inverse = {k: v for k, v in options.items() if k in ("nperseg", "noverlap", "nfft", "window",
                                                          "scaling")}  # fmt: skip
    inverse["boundary"] = options.get("boundary", "zeros") is not None
    with weft.enable_x64(True):
        for x, axis in DATA:
            wanted = oracle.stft(x, 2.0, axis=axis, **options)
            all_close(signal.stft(np.asarray(x), 2.0, axis=axis, **options), wanted)
            onesided = options.get("return_onesided", True) and x.dtype.kind != "c"
            at = {"input_onesided": onesided, "freq_axis": axis if axis >= 0 else axis - 1}
            got = signal.istft(np.asarray(wanted[2]), 2.0, **at, **inverse)
            expected = oracle.istft(wanted[2], 2.0, **at, **inverse)
            all_close(got[1:], expected[1:])
            assert_close(got[0], onp.arange(got[1].shape[-1]) / 2.0)


def test_istft_with_axes_anywhere():
    x = X.astype("f")
    _, _, z = signal.stft(np.asarray(x), nperseg=8)
    padded = onp.pad(x, [(0, 0), (0, 0), (0, 2)])  # to whole segments
    for axes in itertools.permutations(range(4), 4):
        at = {"freq_axis": axes.index(2), "time_axis": axes.index(3) - 4}
        _, got = signal.istft(z.transpose(axes), nperseg=8, **at)
        assert_close(got, onp.transpose(padded, [min(k, 2) for k in axes if k != 2]), 1e-4)


def test_signals_of_two_lengths_one_sample_and_none():
    with weft.enable_x64(True):
        x, y = X, X[..., :30]
        all_close(
            signal.csd(np.asarray(x), np.asarray(y), nperseg=16), oracle.csd(x, y, nperseg=16)
        )
        f, p = signal.csd(np.asarray(x), None, nperseg=16)
        all_close((f, p), oracle.welch(x, nperseg=16))
        assert signal.welch(np.ones(1))[1].shape == (1,)


def test_spectra_are_compiled_differentiated_and_take_traced_windows():
    x, w = X[0, 0], onp.hanning(10) + 0.2

    def loss(x, w):
        _, p = signal.welch(x, window=w)
        z = signal.stft(x, window=w, nperseg=None, noverlap=3)[2]
        back = signal.istft(z, window=w, noverlap=3)[1]
        return np.stack([np.sum(p**2), np.sum(np.abs(z) ** 2), np.sum(back[3:20] ** 2)])

    assert_gradient(loss, x[:25], w)
    assert_close(weft.jit(loss)(x, w), loss(np.asarray(x), np.asarray(w)), 1e-4)
    assert_close(weft.vmap(lambda x: loss(x, np.asarray(w)))(np.asarray(X[0])).shape[0], 3)
    with weft.enable_x64(True):
        f, _ = weft.jit(lambda x, fs: signal.welch(x, fs, nperseg=8))(x, 4.0)
        assert_close(f, oracle.welch(x, 4.0, nperseg=8)[0])
    assert signal.welch(np.asarray(x).astype("bfloat16"), nperseg=8)[1].dtype == "float32"


def test_a_long_segment_is_shortened_with_a_warning():
    with pytest.warns(UserWarning, match="welch: nperseg = 99"):
        f, _ = signal.welch(np.ones(8), nperseg=99)
    assert f.shape == (5,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signal.welch(np.ones(8))


ONE = onp.ones(8, "f")
BAD = [
    (lambda: signal.convolve(ONE, ONE[None]), ValueError, "same number of axes"),
    (lambda: signal.convolve(ONE, ONE[:0]), ValueError, "must have elements"),
    (lambda: signal.convolve(ONE, ONE, "most"), ValueError, "mode must be one of 'full'"),
    (lambda: signal.convolve(ONE, ONE, method="x"), ValueError, "method must be one of 'auto'"),
    (lambda: signal.convolve([1], ONE), TypeError, "list"),
    (lambda: signal.correlate(onp.ones((2, 3)), onp.ones((3, 2)), "valid"), ValueError, "valid"),
    (lambda: signal.convolve2d(ONE, ONE), ValueError, "two axes"),
    (lambda: signal.convolve2d(ONE[None], ONE[None], boundary="x"), ValueError, "boundary must"),
    (lambda: signal.fftconvolve(ONE, ONE, axes=1), ValueError, "axes 1 is out of range"),
    (lambda: signal.fftconvolve(onp.ones((2, 3)), onp.ones((3, 3)), axes=1), ValueError,
     "must broadcast"),
    (lambda: signal.detrend(ONE, type="x"), ValueError, "type must be one of"),
    (lambda: signal.detrend(ONE, bp=9), ValueError, "bp must be from 0 to 8"),
    (lambda: signal.detrend(ONE, axis=1), ValueError, "axis 1 is out of range"),
    (lambda: signal.welch(ONE, nperseg=0), ValueError, "nperseg must be 1 or more"),
    (lambda: signal.welch(ONE, nperseg=4, noverlap=4), ValueError, "noverlap must be from 0 to"),
    (lambda: signal.welch(ONE, nperseg=4, nfft=2), ValueError, "nfft must be nperseg, 4, or more"),
    (lambda: signal.welch(ONE, window="x"), ValueError, "window must be an array"),
    (lambda: signal.welch(ONE, window=("gaussian",)), ValueError, "got 0 parameters"),
    (lambda: signal.welch(ONE, window=onp.ones(9)), ValueError, "longer than the signal"),
    (lambda: signal.welch(ONE, window=onp.ones((2, 2))), ValueError, "one axis"),
    (lambda: signal.welch(ONE, window=onp.ones(3), nperseg=4), ValueError, "nperseg is 4"),
    (lambda: signal.welch(ONE, scaling="x"), ValueError, "scaling must be one of 'density'"),
    (lambda: signal.welch(ONE, average="x"), ValueError, "average must be one of 'mean'"),
    (lambda: signal.welch(ONE, detrend="x"), ValueError, "detrend must be one of"),
    (lambda: signal.welch(ONE, fs=ONE), ValueError, "fs must be a number"),
    (lambda: signal.welch(ONE[:0]), ValueError, "is empty"),
    (lambda: signal.stft(ONE, nperseg=4, boundary="x"), ValueError, "boundary must be None or"),
    (lambda: signal.stft(ONE[:2], nperseg=2, boundary="even", axis=1), ValueError, "axis 1"),
    (lambda: signal.istft(ONE), ValueError, "two axes or more"),
    (lambda: signal.istft(onp.ones((3, 3)), freq_axis=1), ValueError, "must differ"),
]  # fmt: skip


@pytest.mark.parametrize("place", BAD, ids=row_name)
def test_bad_arguments(place):
    call, kind, message = place
    with pytest.raises(kind, match=message):
        call()
