"""fft: Fourier transforms over the last axes, without normalization except in inverses."""

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.array import Array, as_value
from ..core.source import located
from ..errors import ShapeError
from ..option_checks import ints_of
from ..primitives import fft as p
from ..primitives.structural import convert_element_type, transpose
from ..typing import ArrayLike

__all__ = ["FftType", "fft"]

FftType = p.FftType


@located
def fft(x: ArrayLike, fft_type: FftType | str | int, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform over the last axes; inverses are divided by n.

    Args:
      x: array. Integers and 16-bit floats become float32; real numbers then become complex,
        except for RFFT.
      fft_type: an `FftType`, or its name or number: FFT, IFFT, RFFT, IRFFT.
      fft_lengths: the lengths of the last axes of the signal: the lengths of `x`, except for
        IRFFT, whose last length n has n // 2 + 1 frequencies.
    Returns: complex array of x's shape. The last axis of RFFT has n // 2 + 1 frequencies. IRFFT
      returns a real array, whose last axis has n elements.
    Raises: ShapeError: a length is 0 or does not match its axis, or x is complex for RFFT.
      ValueError: an unknown type.
    Example:
      >>> import numpy as np
      >>> from weft import lax
      >>> lax.fft(np.float32([1, 2, 3, 4]), "RFFT", (4,))
      Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    Source: StableHLO `fft`.
    """
    kind = _kind(fft_type)
    lengths = ints_of("fft", "fft_lengths", fft_lengths)
    value = in_transform_dtype(f"fft of type {kind.name}", as_value(x), kind)
    if len(lengths) > value.ndim:
        raise ShapeError(
            f"fft: {value.aval} has {value.ndim} axes; got {len(lengths)} fft_lengths {lengths}"
        )
    return transform_last_axes(value, kind, lengths)


def _kind(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    names = FftType.__members__
    if isinstance(fft_type, str) and fft_type.upper() in names:
        return names[fft_type.upper()]
    if fft_type.__class__ is int and 0 <= fft_type < len(names):
        return FftType(fft_type)
    raise ValueError(f"fft: fft_type must be one of {', '.join(names)}; got {fft_type!r}")


def in_transform_dtype(name: str, x: Any, kind: FftType) -> Any:
    """A value in the dtype that a transform takes: real of 32 bits or more, or complex.

    Raises: ShapeError: complex numbers for a transform of real ones.
    """
    dtype = x.aval.dtype
    if dtypes.is_complex(dtype):
        if kind is FftType.RFFT:
            raise ShapeError(
                f"{name}: expected real numbers; got {x.aval}\n"
                "  fix: the transform of complex numbers (fft), or the real part, x.real"
            )
        return x
    if not dtypes.is_inexact(dtype):
        dtype = dtypes.default_float()
    elif dtype.itemsize < 4:
        dtype = dtypes.float32
    if kind is not FftType.RFFT:
        dtype = dtypes.complex_of(dtype)
    return x if dtype == x.aval.dtype else convert_element_type(x, dtype=dtype)


def transform_last_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """The transform of any number of last axes."""
    if not lengths:
        return x
    if len(lengths) <= p.MAX_AXES:
        return p.fft(x, fft_type=kind, fft_lengths=lengths)
    outer_lengths, inner_lengths = lengths[: -p.MAX_AXES], lengths[-p.MAX_AXES :]
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    complex_type = FftType.IFFT if inverse else FftType.FFT
    if kind is not FftType.IRFFT:
        x = p.fft(x, fft_type=kind, fft_lengths=inner_lengths)
    first_axis, inner_axis = x.ndim - len(lengths), x.ndim - p.MAX_AXES
    order = (*range(first_axis), *range(inner_axis, x.ndim), *range(first_axis, inner_axis))
    x = transform_last_axes(transpose(x, permutation=order), complex_type, outer_lengths)
    inverse_order = tuple([order.index(i) for i in range(x.ndim)])
    x = transpose(x, permutation=inverse_order)
    if kind is FftType.IRFFT:
        x = p.fft(x, fft_type=kind, fft_lengths=inner_lengths)
    return x
