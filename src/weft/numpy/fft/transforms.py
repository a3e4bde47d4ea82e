"""Fourier transforms of complex signals: fft, ifft, fft2, ifft2, fftn, ifftn.

`lengths.py` checks the arguments; the transform itself is the primitive `fft`.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ...core.array import Array
from ...core.source import located
from ...lax.fft import FftType
from ...typing import ArrayLike
from ..plans import planned
from ..promotion import no_out
from .lengths import pack_options, transform_axis, transform_packed_axes

__all__ = ["fft", "fft2", "fftn", "ifft", "ifft2", "ifftn"]


def _one_axis(name: str, kind: FftType) -> Any:
    """A planned transform along one axis: (array, axis or (axis, n), norm)."""
    return planned(name, functools.partial(transform_axis, name, kind))


def _axes(name: str, kind: FftType) -> Any:
    """A planned transform over several axes: (array, the results of `pack_options`, norm)."""
    return planned(name, functools.partial(transform_packed_axes, name, kind))


_fft = _one_axis("fft", FftType.FFT)
_ifft = _one_axis("ifft", FftType.IFFT)
_fftn = _axes("fftn", FftType.FFT)
_ifftn = _axes("ifftn", FftType.IFFT)
_fft2 = _axes("fft2", FftType.FFT)
_ifft2 = _axes("ifft2", FftType.IFFT)


@located
def fft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform along an axis.

    Args:
      a: array of one axis or more; real numbers become complex.
      n: the length of the signal, which is truncated or padded with zeros at its end; by default
        the length of the axis.
      axis: the axis.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axis has length n.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
    Example:
      >>> np.fft.fft(np.array([1.0, 2.0, 3.0, 4.0]))
      Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    Source: numpy.fft.fft.
    """
    no_out("fft", out)
    return _fft(a, axis if n is None else (axis, n), norm)


@located
def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse discrete Fourier transform along an axis.

    Args:
      a: array of one axis or more; real numbers become complex.
      n: the length of the signal, which is truncated or padded with zeros at its end; by default
        the length of the axis.
      axis: the axis.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axis has length n.
    Raises: AxisError: the axis is out of range. ValueError: n is below 1, or the norm is unknown.
    Example:
      >>> np.fft.ifft(np.array([10, -2 + 2j, -2, -2 - 2j]))
      Array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)
    Source: numpy.fft.ifft.
    """
    no_out("ifft", out)
    return _ifft(a, axis if n is None else (axis, n), norm)


@located
def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform over several axes.

    Args:
      a: array; real numbers become complex.
      s: the lengths of the signal along the axes, like `n` in `fft`; -1 means the length of the
        axis.
      axes: the axes; by default all of them, or the last `len(s)` axes. A
        repeated axis is transformed repeatedly.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.fftn(np.eye(2))
      Array([[2.+0.j, 0.+0.j],
             [0.+0.j, 2.+0.j]], dtype=complex64)
    Source: numpy.fft.fftn.
    """
    no_out("fftn", out)
    axes_and_lengths, form = pack_options("fftn", s, axes)
    return _fftn(a, axes_and_lengths, form, norm)


@located
def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse discrete Fourier transform over several axes.

    Args:
      a: array; real numbers become complex.
      s: the lengths of the signal along the axes, like `n` in `ifft`; -1 means the length of the
        axis.
      axes: the axes; by default all of them, or the last `len(s)` axes. A
        repeated axis is transformed repeatedly.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.ifftn(np.eye(2) * 2)
      Array([[1.+0.j, 0.+0.j],
             [0.+0.j, 1.+0.j]], dtype=complex64)
    Source: numpy.fft.ifftn.
    """
    no_out("ifftn", out)
    axes_and_lengths, form = pack_options("ifftn", s, axes)
    return _ifftn(a, axes_and_lengths, form, norm)


@located
def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The discrete Fourier transform over two axes, by default the last two.

    Args:
      a: array; real numbers become complex.
      s: the lengths of the signal along the axes, like `n` in `fft`; -1 means the length of the
        axis.
      axes: the axes.
      norm: 'backward' divides the inverse transform by the number of elements, 'forward' divides
        this transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.fft2(np.ones((2, 2)))
      Array([[4.+0.j, 0.+0.j],
             [0.+0.j, 0.+0.j]], dtype=complex64)
    Source: numpy.fft.fft2.
    """
    no_out("fft2", out)
    axes_and_lengths, form = pack_options("fft2", s, axes)
    return _fft2(a, axes_and_lengths, form, norm)


@located
def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: None = None,
) -> Array:
    """The inverse discrete Fourier transform over two axes, by default the last two.

    Args:
      a: array; real numbers become complex.
      s: the lengths of the signal along the axes, like `n` in `ifft`; -1 means the length of the
        axis.
      axes: the axes.
      norm: 'backward' divides this transform by the number of elements, 'forward' divides the other
        transform, and 'ortho' divides both by its square root.
      out: not supported.
    Returns: complex array; the axes have the lengths s.
    Raises: AxisError: an axis is out of range. ShapeError: s and axes differ in number. ValueError:
      a length is below 1, or the norm is unknown.
    Example:
      >>> np.fft.ifft2(np.ones((2, 2)))
      Array([[1.+0.j, 0.+0.j],
             [0.+0.j, 0.+0.j]], dtype=complex64)
    Source: numpy.fft.ifft2.
    """
    no_out("ifft2", out)
    axes_and_lengths, form = pack_options("ifft2", s, axes)
    return _ifft2(a, axes_and_lengths, form, norm)
