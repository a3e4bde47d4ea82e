"""Discrete cosine transforms of types 1 to 4 and their inverses: dct, idct, dctn, idctn. The
formulas are in `kernels`; types, norms and axes in `options`.
"""

from collections.abc import Sequence

from ...core.array import Array
from ...core.source import located
from ...typing import ArrayLike
from .kernels import COSINES
from .options import real_trigonometric, with_type

__all__ = ["dct", "dctn", "idct", "idctn"]


_one = real_trigonometric("dct", COSINES, False, False)
_inverse = real_trigonometric("idct", COSINES, True, False)
_several = real_trigonometric("dctn", COSINES, False, True)
_several_inverse = real_trigonometric("idctn", COSINES, True, True)


@located
def dct(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The discrete cosine transform along an axis.

    Args:
      x: array of one axis or more; integers become float32. The real and imaginary parts of
        complex numbers are transformed separately.
      type: 1, 2, 3 or 4.
      n: the length of the signal, which is cut or padded with zeros at its end; by default the
        length of the axis.
      axis: the axis.
      norm: 'backward' divides the inverse by the period (2n; for type 1, 2n - 2), 'forward' divides
        this transform by it, and 'ortho' divides both by its square root.
      overwrite_x, workers: have no effect.
      orthogonalize: scale elements at the edges so that the matrix is orthogonal up to the norm;
        by default, if `norm` is 'ortho'.
    Returns: array; the axis has length n.
    Raises: ValueError: an unknown type or norm, a length below 1 (below 2 for type 1).
    Example:
      >>> from weft.scipy import fft
      >>> fft.dct(np.array([1.0, 2.0, 3.0]), type=1)
      Array([ 8., -2.,  0.], dtype=float32)
    Source: scipy.fft.dct.
    """
    type_and_lengths, form = with_type("dct", type, None if n is None else (n,), (axis,))
    return _one(x, type_and_lengths, form, norm, orthogonalize)


@located
def idct(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The inverse of `dct` with the same options.

    Args:
      x: array of one axis or more; integers become float32. The real and imaginary parts of
        complex numbers are transformed separately.
      type: the type of the transform to invert: 1, 2, 3 or 4.
      n: the length of the signal, which is cut or padded with zeros at its end; by default the
        length of the axis.
      axis: the axis.
      norm: 'backward' divides this transform by the period (2n; for type 1, 2n - 2), 'forward'
        divides `dct` by it, and 'ortho' divides both by its square root.
      overwrite_x, workers: have no effect.
      orthogonalize: scale elements at the edges so that the matrix is orthogonal up to the norm;
        by default, if `norm` is 'ortho'.
    Returns: array; the axis has length n.
    Raises: ValueError: an unknown type or norm, a length below 1 (below 2 for type 1).
    Example:
      >>> from weft.scipy import fft
      >>> fft.idct(fft.dct(np.array([1.0, 2.0, 3.0]))).round(4)
      Array([1., 2., 3.], dtype=float32)
    Source: scipy.fft.idct.
    """
    type_and_lengths, form = with_type("idct", type, None if n is None else (n,), (axis,))
    return _inverse(x, type_and_lengths, form, norm, orthogonalize)


@located
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The discrete cosine transform of several axes.

    Args:
      x, type, norm, overwrite_x, workers, orthogonalize: as in `dct`.
      s: the lengths of the signal along the axes; -1 means the length of the axis.
      axes: the axes; by default all of them, or the last `len(s)` axes.
    Returns: array; the axes have the lengths s.
    Raises: as `dct`. ShapeError: s and axes differ in length, or an axis is repeated.
    Example:
      >>> from weft.scipy import fft
      >>> fft.dctn(np.ones((2, 2)), type=1)
      Array([[4., 0.],
             [0., 0.]], dtype=float32)
    Source: scipy.fft.dctn.
    """
    type_and_lengths, form = with_type("dctn", type, s, axes)
    return _several(x, type_and_lengths, form, norm, orthogonalize)


@located
def idctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Array:
    """The inverse of `dctn` with the same options.

    Args:
      x, type, norm, overwrite_x, workers, orthogonalize: as in `idct`.
      s: the lengths of the signal along the axes; -1 means the length of the axis.
      axes: the axes; by default all of them, or the last `len(s)` axes.
    Returns: array; the axes have the lengths s.
    Raises: as `idct`. ShapeError: s and axes differ in length, or an axis is repeated.
    Example:
      >>> from weft.scipy import fft
      >>> fft.idctn(fft.dctn(np.ones((1, 2)))).round(4)
      Array([[1., 1.]], dtype=float32)
    Source: scipy.fft.idctn.
    """
    type_and_lengths, form = with_type("idctn", type, s, axes)
    return _several_inverse(x, type_and_lengths, form, norm, orthogonalize)
