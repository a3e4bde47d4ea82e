# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .convolution import (
    convolve as convolve,
    convolve2d as convolve2d,
    correlate as correlate,
    correlate2d as correlate2d,
    fftconvolve as fftconvolve,
)
from .detrend import detrend as detrend
from .spectral import csd as csd, istft as istft, stft as stft, welch as welch
