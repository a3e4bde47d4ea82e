"""Spectral analysis: welch, csd, stft, istft.

Welch's method averages the spectra of overlapping segments. Source: P. Welch, "The use of the fast
Fourier transform for the estimation of power spectra", IEEE Transactions on Audio and
Electroacoustics 15 (1967).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...numpy.arithmetic import sqrt
from ...numpy.axes import one_axis, strict_int
from ...numpy.creation import from_numpy
from ...numpy.fft.real_transforms import irfft, rfft
from ...numpy.fft.transforms import fft, ifft
from ...numpy.padding import pad
from ...numpy.promotion import promote_values, value
from ...numpy.quantiles import median
from ...numpy.selection import where
from ...numpy.shapes import broadcast_to
from ...primitives.complex_numbers import complex_, conj
from ...primitives.structural import move_axis
from ...typing import ArrayLike
from .convolution import check_option
from .detrend import detrend as without_trend
from .segments import Segments, cut, extended, overlap_add, segments_of_options

__all__ = ["csd", "istft", "stft", "welch"]


Detrend = str | bool | Callable[[Array], Array]


def numbers(name: str, fs: Any, dtype: Any) -> Any:
    """The sampling frequency as a scalar of the dtype of real results."""
    rate = value(name, fs, "fs")
    if rate.ndim:
        raise ShapeError(f"{name}: fs must be a number; got {rate.aval}")
    return rate.astype(dtype)


def signals(name: str, axis: Any, *arrays: Any) -> list[Any]:
    """Signals of one dtype, of 32 bits or more, with time as the last axis."""
    values = promote_values(name, *arrays, to_inexact=True)
    dtype = values[0].aval.dtype
    if dtype.itemsize < 4:
        values = [x.astype(dtypes.float32) for x in values]
    results = []
    for x in values:
        time_axis = one_axis(name, axis, x)
        if not x.shape[time_axis]:
            raise ShapeError(f"{name}: the axis of time, {time_axis}, of {x.aval} is empty")
        results.append(move_axis(x, time_axis, x.ndim - 1))
    return results


def subtract_trend(name: str, x: Any, detrend: Any) -> Any:
    """Segments with their trend subtracted."""
    if detrend is False or detrend is None:
        return x
    if callable(detrend):
        return detrend(x)
    check_option(name, "detrend", detrend, ("constant", "linear", "c", "l", False))
    return without_trend(x, -1, detrend)


def windowed_spectra(x: Any, segments: Segments, onesided: bool) -> Any:
    """The spectra of windowed segments: [..., count, length] to [..., count, frequencies]."""
    run = rfft if onesided else fft
    return run(x * segments.window, segments.transformed)


def frequencies(segments: Segments, onesided: bool, rate: Any) -> Any:
    """The frequencies of a spectrum."""
    n = segments.transformed
    ks = np.arange(n // 2 + 1) if onesided else np.fft.fftfreq(n) * n
    return from_numpy((ks / n).astype(rate.aval.dtype)) * rate


def scale_of(scaling: str, segments: Segments, rate: Any) -> Any:
    """The factor from squared spectra to densities, or to squared amplitudes."""
    window = segments.window
    if scaling == "density":
        return 1 / (rate * (window * conj_of(window)).real.sum())
    return 1 / abs(window.sum()) ** 2


def conj_of(x: Any) -> Any:
    """The complex conjugate; real numbers are returned unchanged."""
    return conj(x) if dtypes.is_complex(x.aval.dtype) else x


def median_bias(n: int) -> float:
    """The expected median of n squared normal complex numbers whose squares have mean 1.

    Source: B. Allen et al., "FINDCHIRP", Physical Review D 85 (2012), appendix B.
    """
    k = np.arange(1, (n - 1) // 2 + 1)
    return float(1 + np.sum(1 / (2 * k + 1) - 1 / (2 * k)))


def average_segments(name: str, x: Any, average: str) -> Any:
    """The average over the last axis, which holds segments."""
    check_option(name, "average", average, ("mean", "median"))
    n = x.shape[-1]
    if n == 1:
        return x[..., 0]
    if average == "mean":
        return x.mean(-1)
    bias = median_bias(n)
    if dtypes.is_complex(x.aval.dtype):
        return complex_(median(x.real, -1) / bias, median(x.imag, -1) / bias)
    return median(x, -1) / bias


def density(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    lengths: tuple[Any, Any, Any],
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    """(frequencies, spectral density) of two signals, or of one if `y` is `None`."""
    check_option(name, "scaling", scaling, ("density", "spectrum"))
    pair = signals(name, axis, x) if y is None else signals(name, axis, x, y)
    n = max(s.shape[-1] for s in pair)
    pair = [pad(s, [(0, 0)] * (s.ndim - 1) + [(0, n - s.shape[-1])]) for s in pair]
    dtype = pair[0].aval.dtype
    real = dtypes.real_of(dtype)
    segments = segments_of_options(name, window, *lengths, real, n)
    onesided = bool(return_onesided) and not dtypes.is_complex(dtype)
    rate = numbers(name, fs, real)
    spectra = [
        windowed_spectra(subtract_trend(name, cut(s, segments), detrend), segments, onesided)
        for s in pair
    ]
    if y is None:
        result = spectra[0].real ** 2 + spectra[0].imag ** 2
    else:
        result = conj(spectra[0]) * spectra[1]
    result = result * scale_of(scaling, segments, rate).astype(result.aval.dtype)
    if onesided:
        n = segments.transformed
        factors = np.full(n // 2 + 1, 2.0)
        factors[[0, -1] if n % 2 == 0 else [0]] = 1.0
        result = result * from_numpy(factors.astype(result.aval.dtype))
    out_axis = one_axis(name, axis, result.ndim - 1)
    result = average_segments(name, move_axis(result, result.ndim - 2, result.ndim - 1), average)
    return frequencies(segments, onesided, rate), move_axis(result, result.ndim - 1, out_axis)


@located
def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross spectral density of two signals by Welch's method: the mean over segments.

    Args:
      x, y: signals; integers become float32, and the shorter one is padded with zeros. If y is
        `None`, it is x.
      fs: the sampling frequency.
      window: a name ('hann', 'hamming', 'boxcar', ...), a tuple of a name and parameters, a number
        (the beta of a Kaiser window), or an array.
      nperseg: the length of a segment; by default the length of an array `window`, otherwise 256 or
        the length of a shorter signal.
      noverlap: the number of samples that neighbours share; half a segment by default.
      nfft: the length to which segments are padded.
      detrend: the trend to subtract from each segment: 'constant', 'linear', False for none, or a
        function that detrends segments along their last axis.
      return_onesided: for real signals, return frequencies from 0 up only, with doubled power.
      scaling: 'density', power per unit of frequency; 'spectrum', power.
      axis: the axis of time.
      average: 'mean' or 'median' over segments.
    Returns: (frequencies [f], array with f frequencies in place of time; complex, or real if y is
      `None`).
    Raises: ValueError: an unknown option, or lengths contradict each other.
    Example:
      >>> from weft.scipy import signal
      >>> f, p = signal.csd(np.ones(8), np.arange(8.0), nperseg=4, detrend=False)
      >>> f, p.shape
      (Array([0.  , 0.25, 0.5 ], dtype=float32), (3,))
    Source: scipy.signal.csd.
    """
    lengths = nperseg, noverlap, nfft
    return density(
        "csd", x, y, fs, window, lengths, detrend, return_onesided, scaling, axis, average
    )


@located
def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal by Welch's method: the mean over segments.

    Args: as in `csd`.
    Returns: (frequencies [f], real array with f frequencies in place of time).
    Raises: as `csd`.
    Example:
      >>> from weft.scipy import signal
      >>> f, p = signal.welch(np.array([1.0, -1.0] * 8), nperseg=4)
      >>> p.round(3)
      Array([0.   , 1.333, 2.667], dtype=float32)
    Source: scipy.signal.welch.
    """
    lengths = nperseg, noverlap, nfft
    return density(
        "welch", x, None, fs, window, lengths, detrend, return_onesided, scaling, axis, average
    )


@located
def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as in `csd`.
      boundary: how the signal is extended by half a segment at both ends: 'zeros', 'constant',
        'even', 'odd', or `None`.
      padded: pad the end with zeros so that the segments contain all samples.
      scaling: 'spectrum', amplitudes; 'psd', square roots of densities.
    Returns: (frequencies [f], times [t] of the centres of segments, complex array with f
      frequencies in place of time, and t segments as its last axis).
    Raises: ValueError: an unknown option, or lengths contradict each other.
    Example:
      >>> from weft.scipy import signal
      >>> f, t, z = signal.stft(np.ones(8), nperseg=4)
      >>> f.shape, t, z.shape
      ((3,), Array([0., 2., 4., 6., 8.], dtype=float32), (3, 5))
    Source: scipy.signal.stft.
    """
    name = "stft"
    check_option(name, "scaling", scaling, ("spectrum", "psd"))
    (signal,) = signals(name, axis, x)
    dtype = signal.aval.dtype
    real = dtypes.real_of(dtype)
    segments = segments_of_options(name, window, nperseg, noverlap, nfft, real, signal.shape[-1])
    rate = numbers(name, fs, real)
    half = segments.length // 2
    signal = extended(name, signal, boundary, half)
    if padded:
        padding_length = -(signal.shape[-1] - segments.length) % segments.step % segments.length
        signal = pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, padding_length)])
    onesided = bool(return_onesided) and not dtypes.is_complex(dtype)
    parts = subtract_trend(name, cut(signal, segments), detrend)
    kind = "density" if scaling == "psd" else "spectrum"
    result = windowed_spectra(parts, segments, onesided)
    result = result * sqrt(scale_of(kind, segments, rate)).astype(result.dtype)
    segment_centres = np.arange(result.shape[-2]) * segments.step + segments.length / 2
    if boundary is not None:
        segment_centres -= segments.length / 2
    out_axis = one_axis(name, axis, result.ndim - 1)
    result = move_axis(result, result.ndim - 2, result.ndim - 1)
    return (
        frequencies(segments, onesided, rate),
        from_numpy(segment_centres.astype(real)) / rate,
        move_axis(result, result.ndim - 2, out_axis),
    )


@located
def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple[Array, Array]:
    """The inverse of `stft` with the same options: a weighted sum of the segments.

    Args:
      Zxx: the transform, of two axes or more.
      fs, window, nperseg, noverlap, nfft, scaling: as in `stft`; `nperseg` follows from the number
        of frequencies by default.
      input_onesided: whether `Zxx` has the frequencies of a real signal, from 0 up.
      boundary: whether `stft` extended the signal at its ends.
      time_axis, freq_axis: the axes of segments, and of frequencies.
    Returns: (times [n], the signal, with time in place of segments; real if one-sided). Samples
      outside all windows are not divided by a weight.
    Raises: ValueError: an unknown option, or lengths contradict each other.
    Example:
      >>> from weft.scipy import signal
      >>> f, t, z = signal.stft(np.array([1.0, 2.0, 3.0, 4.0]), nperseg=2)
      >>> signal.istft(z, nperseg=2)[1].round(4)
      Array([1., 2., 3., 4.], dtype=float32)
    Source: scipy.signal.istft.
    """
    name = "istft"
    check_option(name, "scaling", scaling, ("spectrum", "psd"))
    z = promote_values(name, Zxx, to_inexact=True)[0]
    z = z.astype(dtypes.complex_of(dtypes.real_of(z.aval.dtype)))
    if z.ndim < 2:
        raise ShapeError(f"{name}: Zxx must have two axes or more; got {z.aval}")
    time_position = one_axis(name, time_axis, z, "time_axis")
    frequency_position = one_axis(name, freq_axis, z, "freq_axis")
    if time_position == frequency_position:
        raise ShapeError(
            f"{name}: time_axis and freq_axis must differ; got {time_position} for both"
        )
    count = z.shape[frequency_position]
    default_length = 2 * (count - 1) if input_onesided else count
    if nperseg is not None:
        nperseg = strict_int(name, nperseg, "nperseg")
    if nfft is None and nperseg is not None:
        nfft = nperseg if input_onesided and nperseg == default_length + 1 else default_length
    real = dtypes.real_of(z.aval.dtype)
    segments = segments_of_options(
        name, window, nperseg or default_length, noverlap, nfft, real, None
    )
    others = tuple(i for i in range(z.ndim) if i not in (time_position, frequency_position))
    z = z.transpose((*others, time_position, frequency_position))
    inverse = irfft if input_onesided else ifft
    parts = inverse(z, segments.transformed)[..., : segments.length]
    rate = numbers(name, fs, real)
    kind = "density" if scaling == "psd" else "spectrum"
    parts = parts * (segments.window / sqrt(scale_of(kind, segments, rate)))
    signal = overlap_add(parts, segments)
    squares = broadcast_to(segments.window**2, (parts.shape[-2], segments.length))
    weights = overlap_add(squares, segments)
    if boundary:
        half = segments.length // 2
        end = signal.shape[-1] - half
        signal, weights = signal[..., half:end], weights[half:end]
    signal = signal / where(weights > 1e-10, weights, 1)
    times = from_numpy(np.arange(signal.shape[-1]).astype(real)) / rate
    out_axis = time_position - (frequency_position < time_position)
    return times, move_axis(signal, signal.ndim - 1, out_axis)
