"""Cases of Fourier transforms, against NumPy's."""

import numpy as np

from cases.case import Case, c64, f32
from weft.primitives.fft import FftType, fft

FUNCTIONS = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}
NEAR = {"complex64": 3e-6, "float32": 3e-6}


def oracle(x, fft_type, fft_lengths):
    axes = range(-len(fft_lengths), 0)
    return FUNCTIONS[fft_type](x, s=fft_lengths, axes=axes)


def case(kind, wish, *lengths, **options):
    params = {"fft_type": kind, "fft_lengths": lengths}
    return Case(fft, [wish], params, oracle=oracle, atol=NEAR, lower_atol=3e-6, **options)


CASES = [
    case(FftType.FFT, c64(5), 5, dtypes=("complex128",)),
    case(FftType.IFFT, c64(2, 6), 6, dtypes=("complex128",)),
    case(FftType.FFT, c64(2, 3, 4), 3, 4),
    case(FftType.IFFT, c64(2, 3, 2), 2, 3, 2),
    case(FftType.FFT, c64(1), 1),
    case(FftType.FFT, c64(0, 3), 3),
    case(FftType.RFFT, f32(7), 7, dtypes=("float64",)),
    case(FftType.RFFT, f32(2, 6), 6),
    case(FftType.RFFT, f32(2, 3, 4), 3, 4),
    case(FftType.RFFT, f32(2, 3, 3), 2, 3, 3),
    case(FftType.RFFT, f32(1), 1),
    case(FftType.RFFT, f32(2), 2),
    case(FftType.RFFT, f32(0, 4), 4),
    case(FftType.IRFFT, c64(4), 7, dtypes=("complex128",)),
    case(FftType.IRFFT, c64(2, 4), 6),
    case(FftType.IRFFT, c64(2, 3, 3), 3, 4),
    case(FftType.IRFFT, c64(2, 3, 2), 2, 3, 3),
    case(FftType.IRFFT, c64(1), 1),
    case(FftType.IRFFT, c64(2), 2),
    case(FftType.IRFFT, c64(0, 3), 4),
]
