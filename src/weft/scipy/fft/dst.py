"""Discrete sine transforms of types 1 to 4 and their inverses: dst, idst, dstn, idstn. The
formulas are in `kernels`; types, norms and axes in `options`.
"""

from collections.abc import Sequence

from ...core.array import Array
from ...core.source import located
from ...typing import ArrayLike
from .kernels import SINES
from .options import real_trigonometric, with_type

__all__ = ["dst", "dstn", "idst", "idstn"]


_one = real_trigonometric("dst", SINES, False, False)
_inverse = real_trigonometric("idst", SINES, True, False)
_several = real_trigonometric("dstn", SINES, False, True)
_several_inverse = real_trigonometric("idstn", SINES, True, True)


@located
def dst(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The discrete sine transform along an axis.

    Args:
      x: array of one axis or more; integers become float32. The real and imaginary parts of
        complex numbers are transformed separately.
      type: 1, 2, 3 or 4.
      n: the length of the signal, which is cut or padded with zeros at its end; by default the
        length of the axis.
      axis: the axis.
      norm: 'backward' divides the inverse by the period (2n; for type 1, 2n + 2), 'forward' divides
        this transform by it, and 'ortho' divides both by its square root.
      overwrite_x, workers: have no effect.
      orthogonalize: scale elements at the edges so that the matrix is orthogonal up to the norm;
        by default, if `norm` is 'ortho'.
    Returns: array; the axis has length n.
    Raises: ValueError: an unknown type or norm, a length below 1 (below 2 for type 1).
    Example:
      >>> from weft.scipy import fft
      >>> fft.dst(np.array([1.0, 2.0, 3.0]), type=1).round(4)
      Array([ 9.6569, -4.    ,  1.6569], dtype=float32)
    Source: scipy.fft.dst.
    """
    type_and_lengths, form = with_type("dst", type, None if n is None else (n,), (axis,))
    return _one(x, type_and_lengths, form, norm, orthogonalize)


@located
def idst(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The inverse of `dst` with the same options.

    Args:
      x: array of one axis or more; integers become float32. The real and imaginary parts of
        complex numbers are transformed separately.
      type: the type of the transform to invert: 1, 2, 3 or 4.
      n: the length of the signal, which is cut or padded with zeros at its end; by default the
        length of the axis.
      axis: the axis.
      norm: 'backward' divides this transform by the period (2n; for type 1, 2n + 2), 'forward'
        divides `dst` by it, and 'ortho' divides both by its square root.
      overwrite_x, workers: have no effect.
      orthogonalize: scale elements at the edges so that the matrix is orthogonal up to the norm;
        by default, if `norm` is 'ortho'.
    Returns: array; the axis has length n.
    Raises: ValueError: an unknown type or norm, a length below 1 (below 2 for type 1).
    Example:
      >>> from weft.scipy import fft
      >>> fft.idst(fft.dst(np.array([1.0, 2.0, 3.0]))).round(4)
      Array([1., 2., 3.], dtype=float32)
    Source: scipy.fft.idst.
    """
    type_and_lengths, form = with_type("idst", type, None if n is None else (n,), (axis,))
    return _inverse(x, type_and_lengths, form, norm, orthogonalize)


@located
def dstn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Array:
    """The discrete sine transform of several axes.

    Args:
      x, type, norm, overwrite_x, workers, orthogonalize: as in `dst`.
      s: the lengths of the signal along the axes; -1 means the length of the axis.
      axes: the axes; by default all of them, or the last `len(s)` axes.
    Returns: array; the axes have the lengths s.
    Raises: as `dst`. ShapeError: s and axes differ in length, or an axis is repeated.
    Example:
      >>> from weft.scipy import fft
      >>> fft.dstn(np.ones((2, 2)), type=1)
      Array([[12., -0.],
             [-0., -0.]], dtype=float32)
    Source: scipy.fft.dstn.
    """
    type_and_lengths, form = with_type("dstn", type, s, axes)
    return _several(x, type_and_lengths, form, norm, orthogonalize)


@located
def idstn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Array:
    """The inverse of `dstn` with the same options.

    Args:
      x, type, norm, overwrite_x, workers, orthogonalize: as in `idst`.
      s: the lengths of the signal along the axes; -1 means the length of the axis.
      axes: the axes; by default all of them, or the last `len(s)` axes.
    Returns: array; the axes have the lengths s.
    Raises: as `idst`. ShapeError: s and axes differ in length, or an axis is repeated.
    Example:
      >>> from weft.scipy import fft
      >>> fft.idstn(fft.dstn(np.ones((1, 2)))).round(4)
      Array([[1., 1.]], dtype=float32)
    Source: scipy.fft.idstn.
    """
    type_and_lengths, form = with_type("idstn", type, s, axes)
    return _several_inverse(x, type_and_lengths, form, norm, orthogonalize)
