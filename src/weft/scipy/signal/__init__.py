"""Filters, convolutions and spectra, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "convolution": "convolve convolve2d correlate correlate2d fftconvolve",
        "detrend": "detrend",
        "spectral": "csd istft stft welch",
    },
)
