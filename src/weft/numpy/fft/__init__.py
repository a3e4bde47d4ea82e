"""Discrete Fourier transforms, with NumPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "frequencies": "fftfreq fftshift ifftshift rfftfreq",
        "real_transforms": "hfft ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
        "transforms": "fft fft2 fftn ifft ifft2 ifftn",
    },
)
