"""Filters, convolutions and spectra, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve
    from .spectra import csd, istft, stft, welch
    from .trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "convolution": (
            "convolve",
            "convolve2d",
            "correlate",
            "correlate2d",
            "fftconvolve",
        ),
        "spectra": (
            "csd",
            "istft",
            "stft",
            "welch",
        ),
        "trends": ("detrend",),
    },
)
