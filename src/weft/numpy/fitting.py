"""Polynomials by their zeros, zeros of polynomials, and polynomials through points."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import arithmetic, structural
from ..primitives.selection import where
from ..typing import ArrayLike
from .axes import whole_number
from .creation import from_numpy, zeros
from .indexing import getitem
from .joining import concatenate
from .linalg import eigvals, inv, lstsq
from .plans import composite
from .polynomials import vander
from .products import outer
from .promotion import cast, inexact, promote_values, value
from .ranges import known
from .repeating import roll
from .running import argmax
from .shapes import atleast_1d
from .sorting import argsort

__all__ = ["poly", "polyfit", "roots"]


@located
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with given zeros.

    Args:
      seq_of_zeros: array [n] of zeros, or a matrix [n, n], whose eigenvalues are taken.
    Returns: coefficients [n + 1], the highest power, which has 1, first; 1 alone, a scalar, for no
      zeros. They are real for a real matrix.
    Raises: ShapeError: another shape.
    Example:
      >>> np.poly(np.array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    Source: NumPy documentation, `numpy.poly`.
    """
    x = atleast_1d(inexact("poly", value("poly", seq_of_zeros, "seq_of_zeros")))
    real = not dtypes.is_complex(x.dtype)
    line = x
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        line = eigvals(x)
    elif x.ndim != 1:
        raise ShapeError(f"poly: expected a vector or a square matrix; got {x.aval}")
    if not line.size:
        return structural.full(line.aval.update(shape=(), weak_type=False), 1)
    result = (_planned_product if line.size <= _FEW else _product)(line)
    return result.real if x.ndim == 2 and real else result


_FEW = 32
"""The most zeros for which a plan is made: it has as many steps."""


def _product(line: Any) -> Any:
    """The coefficients of the product of x - zero, for each zero of a row."""
    result = structural.full(line.aval.update(shape=(1,), weak_type=False), 1)
    nothing = structural.zeros(result.aval)
    for k in range(line.size):
        one = slice_along(line, 0, k, k + 1)
        result = concatenate([result, nothing]) - concatenate([nothing, result]) * one
    return result


_planned_product = composite(_product)


@located
def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial: eigenvalues of its companion matrix.

    Args:
      p: coefficients [n], the highest power first.
      strip_zeros: leave out the zeros in front, of which the length of the result then depends; not
        for traced arrays. Otherwise there are n - 1 results, the last ones NaN.
    Returns: complex array; of the zeros that are 0 the last ones.
    Raises: ShapeError: another shape.
    Example:
      >>> np.sort(np.roots(np.array([1.0, -3.0, 2.0])).real)
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.roots`.
    """
    x = atleast_1d(inexact("roots", value("roots", p, "p")))
    if x.ndim != 1:
        raise ShapeError(f"roots: expected a vector of coefficients; got {x.aval}")
    if not strip_zeros:
        return _all_roots(x)
    places = np.nonzero(known("roots", x, "p"))[0]
    dtype = dtypes.complex_of(x.dtype)
    if not places.size:
        return zeros(0, dtype)
    first, last = int(places[0]), int(places[-1])
    found = _eigenvalues(slice_along(x, 0, first, last + 1))
    return concatenate([found, zeros(x.size - 1 - last, dtype)])


def _all_roots(x: Any) -> Any:
    """As many zeros as the highest power has; NaN for those that zeros in front leave out."""
    n = x.size - 1
    if n < 1:
        return zeros(0, dtypes.complex_of(x.dtype))
    present = x != 0
    missing = argmax(present)
    found = _eigenvalues(roll(x, -missing))  # zeros in front become zeros behind: roots of 0
    found = getitem(found, argsort(-arithmetic.abs_(found)))
    kept = from_numpy(np.arange(n)) < n - missing
    return where(kept & present.any(), found, literal(complex("nan"), found.dtype))


def _eigenvalues(p: Any) -> Any:
    """The eigenvalues of the companion matrix of coefficients, of which the first isn't zero."""
    n = p.size - 1
    if n < 1:
        return zeros(0, dtypes.complex_of(p.dtype))
    line = slice_along(p, 0, 1, n + 1) / slice_along(p, 0, 0, 1)
    top = structural.reshape(-line, shape=(1, n))
    return eigvals(concatenate([top, from_numpy(np.eye(n - 1, n, dtype=p.dtype))], 0))


@located
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial that is nearest to points, in the sum of squares.

    Args:
      x: where they are, [m].
      y: their values, [m] or [m, k].
      deg: the degree.
      rcond: singular values up to `rcond` times the largest one count as zero; eps · m by default.
      full: return (coefficients, residuals, rank, singular values, rcond).
      w: weights [m], by which residuals are multiplied.
      cov: return (coefficients, their covariance); 'unscaled' if 1 / w is the standard deviation.
    Returns: coefficients [deg + 1] or [deg + 1, k], the highest power first.
    Raises: ShapeError: shapes that don't fit. ValueError: a negative degree; too few points for
      `cov`.
    Example:
      >>> np.round(np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1), 4)
      Array([2., 1.], dtype=float32)
    Source: NumPy documentation, `numpy.polyfit`.
    """
    order = whole_number("polyfit", deg, "deg") + 1
    if order < 1:
        raise ValueError(f"polyfit: deg must not be negative; got {deg}")
    if isinstance(cov, str) and cov != "unscaled":
        raise ValueError(f"polyfit: cov must be a boolean or 'unscaled'; got {cov!r:.60}")
    places, values = promote_values("polyfit", x, y, to_inexact=True)
    if places.ndim != 1 or not places.size or values.ndim not in (1, 2):
        raise ShapeError(
            f"polyfit: expected x [m] and y [m] or [m, k]; got {places.aval} and {values.aval}"
        )
    m = places.size
    if values.shape[0] != m:
        raise ShapeError(
            f"polyfit: x and y must have one length; got {places.aval} and {values.aval}"
        )
    if rcond is None:
        rcond = m * float(dtypes.finfo(places.dtype).eps)
    matrix = vander(places, order)
    if w is not None:
        weights = cast(value("polyfit", w, "w"), matrix.dtype)
        if weights.shape != (m,):
            raise ShapeError(f"polyfit: w must be [{m}], as x; got {weights.aval}")
        column = structural.reshape(weights, shape=(m, 1))
        matrix = matrix * column
        values = values * (column if values.ndim == 2 else weights)
    scale = arithmetic.sqrt((matrix * matrix.conj()).real.sum(0))
    scale = where(scale == 0, structural.full(scale.aval, 1), scale)
    matrix = matrix / scale
    found, residuals, rank, s = lstsq(matrix, values, rcond)
    found = found / (structural.reshape(scale, shape=(order, 1)) if values.ndim == 2 else scale)
    if full:
        return found, residuals, rank, s, from_numpy(np.asarray(rcond, s.dtype))
    if not cov:
        return found
    base = inv(matrix.conj().T @ matrix) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = literal(1, base.dtype)
    elif m <= order:
        raise ValueError(
            f"polyfit: cov needs more points than coefficients; got {m} and {order}\n"
            "  fix: cov='unscaled'"
        )
    else:
        factor = residuals / (m - order)
    if values.ndim == 1:
        return found, base * factor
    return found, structural.reshape(base, shape=(order, order, 1)) * factor
