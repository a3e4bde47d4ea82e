"""Discrete Fourier transforms, with NumPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq
    from .real_signals import hfft, ihfft, irfft, irfft2, irfftn, rfft, rfft2, rfftn
    from .transforms import fft, fft2, fftn, ifft, ifft2, ifftn

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "frequencies": (
            "fftfreq",
            "fftshift",
            "ifftshift",
            "rfftfreq",
        ),
        "real_signals": (
            "hfft",
            "ihfft",
            "irfft",
            "irfft2",
            "irfftn",
            "rfft",
            "rfft2",
            "rfftn",
        ),
        "transforms": (
            "fft",
            "fft2",
            "fftn",
            "ifft",
            "ifft2",
            "ifftn",
        ),
    },
)
