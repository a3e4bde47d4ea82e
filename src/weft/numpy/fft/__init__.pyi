# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .frequencies import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from .real_transforms import (
    hfft as hfft,
    ihfft as ihfft,
    irfft as irfft,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft as rfft,
    rfft2 as rfft2,
    rfftn as rfftn,
)
from .transforms import (
    fft as fft,
    fft2 as fft2,
    fftn as fftn,
    ifft as ifft,
    ifft2 as ifft2,
    ifftn as ifftn,
)
