"""Cosine and sine transforms of the last axis, without norms, by Fourier transforms.

Types 2 and 3 take one real transform of the same length: the samples in the order 0, 2, 4, …, 5, 3,
1 are every second sample of the signal followed by its mirror image. Type 4 takes a complex one of
half the length.
Source: J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Transactions on
Acoustics, Speech and Signal Processing 28 (1980).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...lax.complex_numbers import complex as complex_of_parts, conj
from ...lax.fft import FftType, transform_last_axes
from ...numpy.creation import from_numpy
from ...numpy.joining import concatenate, stack
from ...primitives import slicing
from ...primitives.creation import full

Kernel = Callable[[Any], Any]


def backwards(x: Any) -> Any:
    """The last axis in reverse order."""
    return slicing.rev(x, dimensions=(x.ndim - 1,))


def spectrum(x: Any) -> Any:
    """Half of the spectrum of real numbers."""
    n = x.shape[-1]
    if is_faster_as_complex(n):
        zeros = full(x.aval.update(weak_type=False), 0)
        return transform_last_axes(complex_of_parts(x, zeros), FftType.FFT, (n,))[..., : n // 2 + 1]
    return transform_last_axes(x, FftType.RFFT, (n,))


def samples(half: Any, n: int) -> Any:
    """n real numbers from half of their spectrum."""
    if is_faster_as_complex(n):
        other = backwards(conj(half[..., 1:]))
        return transform_last_axes(concatenate([half, other], -1), FftType.IFFT, (n,)).real
    return transform_last_axes(half, FftType.IRFFT, (n,))


def is_faster_as_complex(n: int) -> bool:
    """True for long primes, for which XLA's complex transform is faster on the CPU than its real
    one.
    """
    return n > 127 and all([n % d for d in range(2, math.isqrt(n) + 1)])


def phases(x: Any, turns: Any, scale: float = 1.0) -> Any:
    """scale · exp(2πi turns), the factors for the last axis of a complex array."""
    constant = scale * np.exp(2j * np.pi * np.asarray(turns))
    return from_numpy(constant.astype(dtypes.complex_of(dtypes.real_of(x.aval.dtype))))


def alternating(x: Any) -> Any:
    """1, -1, 1, … along the last axis of an array."""
    signs = np.ones(x.shape[-1], x.aval.dtype)
    signs[1::2] = -1
    return x * from_numpy(signs)


def cosine_1(x: Any) -> Any:
    """x[0] + (-1)^k x[n-1] + 2 Σ x[j] cos(πjk / (n-1))."""
    return spectrum(concatenate([x, backwards(x[..., 1:-1])], -1)).real


def cosine_2(x: Any) -> Any:
    """2 Σ x[j] cos(πk(2j + 1) / 2n)."""
    n = x.shape[-1]
    half = spectrum(concatenate([x[..., ::2], backwards(x[..., 1::2])], -1))
    half = half * phases(half, -np.arange(n // 2 + 1) / (4 * n), 2.0)
    return concatenate([half.real, backwards(-half.imag[..., 1 : (n + 1) // 2])], -1)


def cosine_3(x: Any) -> Any:
    """x[0] + 2 Σ x[j] cos(πj(2k + 1) / 2n): 2n times the inverse of `cosine_2`."""
    n = x.shape[-1]
    zero = full(x.aval.update(shape=(*x.shape[:-1], 1), weak_type=False), 0)
    mirrored = concatenate([zero, backwards(x)], -1)[..., : n // 2 + 1]
    half = complex_of_parts(x[..., : n // 2 + 1], -mirrored)
    half = half * phases(half, np.arange(n // 2 + 1) / (4 * n), float(n))
    result = samples(half, n)
    count = (n + 1) // 2
    even_samples, odd_samples = result[..., :count], backwards(result[..., count:])
    if n % 2:
        odd_samples = concatenate([odd_samples, zero], -1)
    return stack([even_samples, odd_samples], -1).reshape(*x.shape[:-1], 2 * count)[..., :n]


def cosine_4(x: Any) -> Any:
    """2 Σ x[j] cos(π(2k + 1)(2j + 1) / 4n)."""
    n = x.shape[-1]
    if n % 2:
        ks = np.arange(n)
        zeros = full(x.aval.update(weak_type=False), 0)
        signal = complex_of_parts(x, zeros) * phases(x, -ks / (4 * n))
        signal = concatenate([signal, complex_of_parts(zeros, zeros)], -1)
        spectrum_part = transform_last_axes(signal, FftType.FFT, (2 * n,))[..., :n]
        return (spectrum_part * phases(x, -(2 * ks + 1) / (8 * n), 2.0)).real
    turns = -(4 * np.arange(n // 2) + 1) / (8 * n)
    pairs = complex_of_parts(x[..., ::2], backwards(x)[..., ::2]) * phases(x, turns)
    pairs = transform_last_axes(pairs, FftType.FFT, (n // 2,))
    pairs = pairs * phases(x, -np.arange(n // 2) / (2 * n), 2.0)
    even_samples, odd_samples = pairs.real, backwards(-pairs.imag)
    return stack([even_samples, odd_samples], -1).reshape(x.shape)


def sine_1(x: Any) -> Any:
    """2 Σ x[j] sin(π(j + 1)(k + 1) / (n + 1))."""
    n = x.shape[-1]
    zero = full(x.aval.update(shape=(*x.shape[:-1], 1), weak_type=False), 0)
    odd_extension = concatenate([zero, x, zero, -backwards(x)], -1)
    return -spectrum(odd_extension).imag[..., 1 : n + 1]


def sine_2(x: Any) -> Any:
    """2 Σ x[j] sin(π(k + 1)(2j + 1) / 2n)."""
    return backwards(cosine_2(alternating(x)))


def sine_3(x: Any) -> Any:
    """(-1)^k x[n-1] + 2 Σ x[j] sin(π(j + 1)(2k + 1) / 2n)."""
    return alternating(cosine_3(backwards(x)))


def sine_4(x: Any) -> Any:
    """2 Σ x[j] sin(π(2k + 1)(2j + 1) / 4n)."""
    return alternating(cosine_4(backwards(x)))


COSINES: dict[int, Kernel] = {1: cosine_1, 2: cosine_2, 3: cosine_3, 4: cosine_4}
SINES: dict[int, Kernel] = {1: sine_1, 2: sine_2, 3: sine_3, 4: sine_4}
