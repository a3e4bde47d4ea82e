"""Convolution and correlation: convolve, correlate, convolve2d, correlate2d, fftconvolve; by sums
of products or by Fourier transforms.
"""

import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.array import Array
from ...core.source import located
from ...errors import ShapeError
from ...lax.convolution import conv_general_dilated
from ...lax.products import PrecisionLike
from ...numpy.axes import all_axes
from ...numpy.fft.real_transforms import irfftn, rfftn
from ...numpy.fft.transforms import fftn, ifftn
from ...numpy.padding import pad
from ...numpy.plans import composite
from ...numpy.promotion import promote_values
from ...primitives import slicing
from ...primitives.complex_numbers import conj
from ...primitives.structural import reshape
from ...typing import ArrayLike

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")
BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def check_option(name: str, argument: str, option: Any, options: Any) -> Any:
    """An option, which must be one of `options`.

    Raises: ValueError: it is not.
    """
    if not isinstance(option, str) or option not in options:
        raise ValueError(
            f"{name}: {argument} must be one of {', '.join(map(repr, options))}; got {option!r:.80}"
        )
    return option


def operands(name: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    """Two values of one inexact dtype, with the same number of axes and no empty axis."""
    x, y = promote_values(name, in1, in2, to_inexact=True)
    if x.ndim != y.ndim:
        raise ShapeError(
            f"{name}: in1 and in2 must have the same number of axes; got {x.aval} and {y.aval}"
        )
    if not x.aval.size or not y.aval.size:
        raise ShapeError(f"{name}: in1 and in2 must have elements; got {x.aval} and {y.aval}")
    return x, y


def in_order(name: str, mode: str, x: Any, y: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """The longer operand first for mode 'valid', where the order does not matter."""
    if mode != "valid" or all(x.shape[i] >= y.shape[i] for i in axes):
        return x, y
    if all(y.shape[i] >= x.shape[i] for i in axes):
        return y, x
    raise ShapeError(
        f"{name}: for mode 'valid' one of in1 and in2 must be as long as the other along every "
        f"axis; got {x.aval} and {y.aval}"
    )


def flipped(y: Any) -> Any:
    """Reverses the elements along every axis."""
    return slicing.rev(y, dimensions=tuple(range(y.ndim)))


def conjugate(y: Any) -> Any:
    """The complex conjugate; real numbers are returned unchanged."""
    return conj(y) if dtypes.is_complex(y.aval.dtype) else y


@composite
def sliding_products(x: Any, kernel: Any, *, padding: Any, precision: Any) -> Any:
    """The sums of products of a kernel and the array at each position."""
    out = conv_general_dilated(
        reshape(x, shape=(1, 1, *x.shape)),
        reshape(kernel, shape=(1, 1, *kernel.shape)),
        (1,) * x.ndim,
        padding,
        precision=precision,
    )
    return reshape(out, shape=out.shape[2:])


def _padding(mode: str, kernel: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The padding with zeros for a mode."""
    if mode == "full":
        return tuple([(m - 1, m - 1) for m in kernel])
    if mode == "same":
        return tuple([(m // 2, (m - 1) // 2) for m in kernel])
    return ((0, 0),) * len(kernel)


def _worth_transforming(x: Any, y: Any) -> bool:
    """True if Fourier transforms are much faster than sums of products on a CPU."""
    smaller_size = min(x.aval.size, y.aval.size)
    count = math.prod([n + m - 1 for n, m in zip(x.shape, y.shape, strict=True)])
    return smaller_size * count > 1_000_000 and smaller_size > 8 * math.log2(count)


@composite
def _convolution(x: Any, y: Any, *, name: str, mode: str, method: str, precision: Any) -> Any:
    check_option(name, "mode", mode, MODES)
    check_option(name, "method", method, METHODS)
    x, y = in_order(name, mode, x, y, range(x.ndim))
    if not x.ndim:
        return x * y
    if method == "fft" or (method == "auto" and _worth_transforming(x, y)):
        return _by_transforms(x, y, mode, tuple(range(x.ndim)))
    return sliding_products(x, flipped(y), padding=_padding(mode, y.shape), precision=precision)


@located
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two arrays.

    Args:
      in1, in2: arrays with the same number of axes; integers become float32.
      mode: 'full', all positions where the arrays overlap; 'same', the middle part of them, with
        the shape of in1; 'valid', the positions where they overlap completely.
      method: 'direct', sums of products; 'fft', Fourier transforms, which are faster for large
        arrays, with errors relative to the largest result; 'auto', the faster one.
      precision: the precision of products on accelerators; see `weft.lax.Precision`.
    Returns: array.
    Raises: ShapeError: the numbers of axes differ, an array is empty, or neither contains the other
      for 'valid'. ValueError: an unknown mode or method.
    Example:
      >>> from weft.scipy import signal
      >>> signal.convolve(np.array([1, 2, 3]), np.array([1, 1, 1]), mode="same")
      Array([3., 6., 5.], dtype=float32)
    Source: scipy.signal.convolve.
    """
    x, y = operands("convolve", in1, in2)
    options = {"mode": mode, "method": method, "precision": precision}
    return _convolution(x, y, name="convolve", **options)


@located
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The cross-correlation of two arrays: the convolution with in2 reversed and conjugated.

    Args: as in `convolve`.
    Returns: array.
    Raises: as `convolve`.
    Example:
      >>> from weft.scipy import signal
      >>> signal.correlate(np.array([1, 2, 3]), np.array([0, 1]), mode="same")
      Array([1., 2., 3.], dtype=float32)
    Source: scipy.signal.correlate.
    """
    x, y = operands("correlate", in1, in2)
    y = conjugate(flipped(y))
    options = {"mode": mode, "method": method, "precision": precision}
    return _convolution(x, y, name="correlate", **options)


# --- by Fourier transforms ---


def fast_length(n: int) -> int:
    """The smallest length >= n without prime factors above 5, for which transforms are fast."""
    while True:
        quotient = n
        for p in (2, 3, 5):
            while quotient % p == 0:
                quotient //= p
        if quotient == 1:
            return n
        n += 1


def _by_transforms(x: Any, y: Any, mode: str, axes: tuple[int, ...]) -> Any:
    """The convolution along some axes; along the other axes elements are multiplied."""
    lengths = [x.shape[i] + y.shape[i] - 1 for i in axes]
    fast_lengths = [fast_length(n) for n in lengths]
    if dtypes.is_complex(x.aval.dtype):
        product: Any = ifftn(
            fftn(x, fast_lengths, axes) * fftn(y, fast_lengths, axes), fast_lengths, axes
        )
    else:
        product = irfftn(
            rfftn(x, fast_lengths, axes) * rfftn(y, fast_lengths, axes), fast_lengths, axes
        )
    dtype = x.aval.dtype
    start, limit = [0] * x.ndim, list(product.shape)
    for i, n in zip(axes, lengths, strict=True):
        limit[i] = n
        if mode == "same":
            start[i] = (y.shape[i] - 1) // 2
            limit[i] = start[i] + x.shape[i]
        elif mode == "valid":
            start[i], limit[i] = y.shape[i] - 1, x.shape[i]
    window = tuple([slice(a, b) for a, b in zip(start, limit, strict=True)])
    return product[window].astype(dtype)


@located
def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """The convolution of two arrays by Fourier transforms.

    Args:
      in1, in2: arrays with the same number of axes; integers become float32.
      mode: as in `convolve`.
      axes: the axes to convolve along, all of them by default; the others broadcast.
    Returns: array.
    Raises: ShapeError: as in `convolve`, or the other axes do not broadcast. AxisError: an axis is
      out of range. ValueError: an unknown mode.
    Example:
      >>> from weft.scipy import signal
      >>> signal.fftconvolve(np.array([1, 2, 3]), np.array([1, 1])).round(4)
      Array([1., 3., 5., 3.], dtype=float32)
    Source: scipy.signal.fftconvolve.
    """
    name = "fftconvolve"
    x, y = operands(name, in1, in2)
    check_option(name, "mode", mode, MODES)
    convolved_axes = all_axes(name, axes, x, "axes")
    for i in range(x.ndim):
        if (
            i not in convolved_axes
            and x.shape[i] != y.shape[i]
            and 1 not in (x.shape[i], y.shape[i])
        ):
            raise ShapeError(
                f"{name}: axis {i} is not in axes {convolved_axes} and must broadcast; got "
                f"{x.aval} and {y.aval}"
            )
    x, y = in_order(name, mode, x, y, convolved_axes)
    if not convolved_axes:
        return x * y
    return _by_transforms(x, y, mode, convolved_axes)


# --- images ---


def _of_images(
    name: str,
    x: Any,
    y: Any,
    mode: str,
    boundary: str,
    fillvalue: Any,
    precision: Any,
    takes_later_middle: bool = False,
) -> Any:
    """A convolution of images. For 'same', `takes_later_middle` selects the later of two middle
    positions."""
    check_option(name, "mode", mode, MODES)
    kind = BOUNDARIES[check_option(name, "boundary", boundary, BOUNDARIES)]
    if x.ndim != 2:
        raise ShapeError(f"{name}: in1 and in2 must have two axes; got {x.aval} and {y.aval}")
    x, y = in_order(name, mode, x, y, (0, 1))
    padding = [pair[::-1] if takes_later_middle else pair for pair in _padding(mode, y.shape)]
    zeros = kind == "constant" and isinstance(fillvalue, (int, float)) and fillvalue == 0
    if not zeros and mode != "valid":
        options = {"constant_values": fillvalue} if kind == "constant" else {}
        x, padding = pad(x, padding, kind, **options), [(0, 0)] * 2
    return sliding_products(x, flipped(y), padding=tuple(padding), precision=precision)


@located
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two images.

    Args:
      in1, in2: arrays [h, w]; integers become float32.
      mode: as in `convolve`.
      boundary: how in1 is extended: 'fill', the fill value; 'wrap', in1 repeated; 'symm',
        in1 mirrored.
      fillvalue: the fill value of 'fill'.
      precision: as in `convolve`.
    Returns: array of two axes.
    Raises: ShapeError: different numbers of axes. ValueError: an unknown mode or boundary.
    Example:
      >>> from weft.scipy import signal
      >>> signal.convolve2d(np.eye(2), np.ones((1, 2)), mode="same", boundary="wrap")
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    Source: scipy.signal.convolve2d.
    """
    x, y = operands("convolve2d", in1, in2)
    return _of_images("convolve2d", x, y, mode, boundary, fillvalue, precision)


@located
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The cross-correlation of two images: the convolution with in2 reversed and conjugated.

    In mode 'valid' with a larger in2, in1 is conjugated instead, as in SciPy.

    Args: as in `convolve2d`.
    Returns: array of two axes.
    Raises: as `convolve2d`.
    Example:
      >>> from weft.scipy import signal
      >>> signal.correlate2d(np.eye(2), np.ones((1, 2)), mode="valid")
      Array([[1.],
             [1.]], dtype=float32)
    Source: scipy.signal.correlate2d.
    """
    x, y = operands("correlate2d", in1, in2)
    longer_operand, _ = in_order("correlate2d", mode, x, y, range(x.ndim))
    if longer_operand is x:
        y = conjugate(y)
    else:  # SciPy conjugates the image that slides over the other, whichever was given first
        x = conjugate(x)
    y = flipped(y)
    return _of_images("correlate2d", x, y, mode, boundary, fillvalue, precision, True)
