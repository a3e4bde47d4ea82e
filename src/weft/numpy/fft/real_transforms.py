"""Fourier transforms of real signals: rfft, irfft, rfftn, irfftn, rfft2, irfft2, hfft, ihfft.

Only half of the spectrum is computed; the other half is its complex conjugate.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...lax.fft import FftType
from ...primitives.complex_numbers import conj
from ...typing import ArrayLike
from ..plans import planned
from ..promotion import no_out
from .lengths import pack_options, transform_axis, transform_packed_axes

__all__ = ["hfft", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn"]


_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _of_hermitian(x: Any, axis_and_length: Any, norm: Any) -> Any:
    x = conj(x) if dtypes.is_complex(x.aval.dtype) else x
    return transform_axis("hfft", FftType.IRFFT, x, axis_and_length, _SWAPPED.get(norm, norm))


def _to_hermitian(x: Any, axis_and_length: Any, norm: Any) -> Any:
    return conj(transform_axis("ihfft", FftType.RFFT, x, axis_and_length, _SWAPPED.get(norm, norm)))


_hfft = planned("hfft", _of_hermitian)
_ihfft = planned("ihfft", _to_hermitian)
_rfft = planned("rfft", functools.partial(transform_axis, "rfft", FftType.RFFT))
_irfft = planned("irfft", functools.partial(transform_axis, "irfft", FftType.IRFFT))
_rfftn = planned("rfftn", functools.partial(transform_packed_axes, "rfftn", FftType.RFFT))
_irfftn = planned("irfftn", functools.partial(transform_packed_axes, "irfftn", FftType.IRFFT))
_rfft2 = planned("rfft2", functools.partial(transform_packed_axes, "rfft2", FftType.RFFT))
_irfft2 = planned("irfft2", functools.partial(transform_packed_axes, "irfft2", FftType.IRFFT))


@located
def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform of a real signal along an axis.

    Args:
      a: real array of one axis or more; integers become float32.
      n: the length of the signal, which is truncated or padded with zeros at its end; by default
        the length of the axis.
      axis: the axis.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axis has the n // 2 + 1 frequencies starting at 0.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
      ShapeError: complex numbers.
    Example:
      >>> np.fft.rfft(np.array([1.0, 2.0, 3.0, 4.0]))
      Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    Source: numpy.fft.rfft.
    """
    no_out("rfft", out)
    return _rfft(a, axis if n is None else (axis, n), norm)


@located
def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse of `rfft` along an axis.

    Args:
      a: array of one axis or more: half of a spectrum; the imaginary parts at frequency 0, and at
        n / 2 for an even n, are ignored.
      n: the length of the signal; by default, the even length 2 (m - 1) for m frequencies.
      axis: the axis.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: real array; the axis has length n.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
    Example:
      >>> np.fft.irfft(np.array([10, -2 + 2j, -2]))
      Array([1., 2., 3., 4.], dtype=float32)
    Source: numpy.fft.irfft.
    """
    no_out("irfft", out)
    return _irfft(a, axis if n is None else (axis, n), norm)


@located
def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform of a Hermitian signal along an axis; the result is real.

    Args:
      a: array of one axis or more: half of the signal, starting at 0.
      n: the length of the signal; by default, the even length 2 (m - 1) for m frequencies.
      axis: the axis.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: real array; the axis has length n.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
    Example:
      >>> np.fft.hfft(np.array([1, 1j, 0]))
      Array([ 1.,  3.,  1., -1.], dtype=float32)
    Source: numpy.fft.hfft.
    """
    no_out("hfft", out)
    return _hfft(a, axis if n is None else (axis, n), norm)


@located
def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse of `hfft` along an axis.

    Args:
      a: real array of one axis or more; integers become float32.
      n: the length of the signal, which is truncated or padded with zeros at its end; by default
        the length of the axis.
      axis: the axis.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axis has the n // 2 + 1 elements starting at 0.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
      ShapeError: complex numbers.
    Example:
      >>> np.fft.ihfft(np.array([1.0, 3.0, 1.0, -1.0]))
      Array([1.-0.j, 0.+1.j, 0.-0.j], dtype=complex64)
    Source: numpy.fft.ihfft.
    """
    no_out("ihfft", out)
    return _ihfft(a, axis if n is None else (axis, n), norm)


@located
def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform of a real signal over several axes.

    Args:
      a: real array; integers become float32.
      s: the lengths of the signal along the axes, like `n` in `rfft`; -1 means the length of the
        axis.
      axes: the axes; by default all of them, or the last `len(s)` axes. A
        repeated axis is transformed repeatedly.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the last of the axes has the n // 2 + 1 frequencies starting at 0.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.rfftn(np.eye(2))
      Array([[2.+0.j, 0.+0.j],
             [0.+0.j, 2.+0.j]], dtype=complex64)
    Source: numpy.fft.rfftn.
    """
    no_out("rfftn", out)
    axes_and_lengths, form = pack_options("rfftn", s, axes)
    return _rfftn(a, axes_and_lengths, form, norm)


@located
def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse of `rfftn`.

    Args:
      a: array, half of a spectrum; the imaginary parts at frequency 0, and at n / 2 for an
        even n, are ignored.
      s: the lengths of the signal along the axes, like `n` in `irfft` for the last one; -1 means
        the default.
      axes: the axes; by default all of them, or the last `len(s)` axes. A
        repeated axis is transformed repeatedly.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: real array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.irfftn(np.eye(2) * 2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    Source: numpy.fft.irfftn.
    """
    no_out("irfftn", out)
    axes_and_lengths, form = pack_options("irfftn", s, axes)
    return _irfftn(a, axes_and_lengths, form, norm)


@located
def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform of a real signal over two axes.

    Args:
      a: real array; integers become float32.
      s: the lengths of the signal along the axes, like `n` in `rfft`; -1 means the length of the
        axis.
      axes: the axes.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the last of the axes has the n // 2 + 1 frequencies starting at 0.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.rfft2(np.ones((2, 2)))
      Array([[4.+0.j, 0.+0.j],
             [0.+0.j, 0.+0.j]], dtype=complex64)
    Source: numpy.fft.rfft2.
    """
    no_out("rfft2", out)
    axes_and_lengths, form = pack_options("rfft2", s, axes)
    return _rfft2(a, axes_and_lengths, form, norm)


@located
def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse of `rfft2`.

    Args:
      a: array, half of a spectrum; the imaginary parts at frequency 0, and at n / 2 for an
        even n, are ignored.
      s: the lengths of the signal along the axes, like `n` in `irfft` for the last one; -1 means
        the default.
      axes: the axes.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: real array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.irfft2(np.ones((2, 2)))
      Array([[1., 0.],
             [0., 0.]], dtype=float32)
    Source: numpy.fft.irfft2.
    """
    no_out("irfft2", out)
    axes_and_lengths, form = pack_options("irfft2", s, axes)
    return _irfft2(a, axes_and_lengths, form, norm)
