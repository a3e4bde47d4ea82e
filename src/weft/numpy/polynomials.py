"""Polynomials as arrays of coefficients, the highest power first: polyval, polyadd, polysub,
polymul, polydiv, polyder, polyint, polyfit, poly, roots, vander, trim_zeros."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axes import slice_along
from ..primitives import arithmetic, creation, structural
from ..primitives.selection import where
from ..typing import ArrayLike, Axes
from .axes import all_axes, as_int
from .convolution import convolve
from .creation import array, from_numpy, zeros
from .indexing import getitem
from .joining import concatenate
from .linalg import eigvals, inv, lstsq
from .plans import composite
from .products import outer
from .promotion import as_inexact, cast, promote_values, value
from .ranges import concrete_argument
from .rearranging import roll
from .reductions import argmax
from .shapes import atleast_1d, joint_shape, reshape
from .sorting import argsort

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "trim_zeros",
    "vander",
]


def _coefficients(name: str, p: Any, argument: str = "p") -> Any:
    x = atleast_1d(array(p) if isinstance(p, (list, tuple)) else value(name, p, argument))
    if x.ndim != 1:
        raise ShapeError(f"{name}: coefficients have one axis; got {argument} {x.aval}")
    return x


@located
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Evaluates a polynomial, by Horner's rule.

    Args:
      p: array [n, …] of coefficients, the highest power first; additional axes are for several
        polynomials, and broadcast with `x`.
      x: array of any shape.
      unroll: ignored; all steps are unrolled.
    Returns: array of the broadcast shape.
    Example:
      >>> np.polyval(np.array([1, 0, 2]), 3)
      Array(11, dtype=int32)
    """
    coefficients, points = promote_values("polyval", p, x)
    coefficients = atleast_1d(coefficients)
    is_small = coefficients.shape[0] <= _MAX_UNROLLED_TERMS and points.size <= _MAX_UNROLLED_SIZE
    return (_planned_horner if is_small else _horner)(coefficients, points)


_MAX_UNROLLED_TERMS = 32
"""The largest number of coefficients, or columns, for which one program contains all steps."""
_MAX_UNROLLED_SIZE = 100_000
"""The largest number of points for such a program, which keeps the results of all steps to its
end."""


def _horner(coefficients: Any, points: Any) -> Any:
    n, *lengths = coefficients.shape
    terms = [reshape(slice_along(coefficients, 0, i, i + 1), lengths) for i in range(n)]
    shape = joint_shape("polyval", [tuple(lengths), points.shape])
    if not n:
        return creation.zeros(points.aval.update(shape=shape))
    result = structural.widen(terms[0], shape)
    for c in terms[1:]:
        result = structural.add(arithmetic.mul(result, points), c)
    return result


_planned_horner = composite(_horner)


def _aligned(name: str, a1: Any, a2: Any) -> Any:
    x, y = promote_values(name, _coefficients(name, a1, "a1"), _coefficients(name, a2, "a2"))
    n = max(x.size, y.size)
    return [concatenate([zeros(n - v.size, v.dtype), v]) if v.size < n else v for v in (x, y)]


@located
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    Example:
      >>> np.polyadd(np.array([1, 2]), np.array([3]))
      Array([1, 5], dtype=int32)
    """
    return structural.add(*_aligned("polyadd", a1, a2))


@located
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    Example:
      >>> np.polysub(np.array([1, 2]), np.array([3]))
      Array([ 1, -1], dtype=int32)
    """
    return arithmetic.sub(*_aligned("polysub", a1, a2))


@located
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      trim_leading_zeros: first remove zero coefficients of the highest powers; not for traced
        arrays.
    Example:
      >>> np.polymul(np.array([1, 1]), np.array([1, -1]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    x, y = _coefficients("polymul", a1, "a1"), _coefficients("polymul", a2, "a2")
    if trim_leading_zeros and x.size > 1 and y.size > 1:
        x, y = trim_zeros(x, "f"), trim_zeros(y, "f")
    x = x if x.size else zeros(1, x.dtype)
    y = y if y.size else zeros(1, y.dtype)
    return convolve(x, y)


@located
def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      u, v: the dividend and the divisor.
      trim_leading_zeros: remove zero coefficients of the highest powers of the remainder; not for
        traced arrays.
    Returns: (quotient, remainder).
    Example:
      >>> np.polydiv(np.array([1.0, 0.0, -1.0]), np.array([1.0, 1.0]))[0]
      Array([ 1., -1.], dtype=float32)
    """
    x, y = promote_values("polydiv", u, v, to_inexact=True)
    x, y = _coefficients("polydiv", x, "u"), _coefficients("polydiv", y, "v")
    m, n = x.size, y.size
    quotient = []
    for k in range(max(m - n + 1, 1)):
        if m < n:
            break
        c = slice_along(x, 0, k, k + 1) / slice_along(y, 0, 0, 1)
        quotient.append(c)
        x = concatenate(
            [
                zeros(k + 1, x.dtype),  # these cancel, except for rounding
                slice_along(x, 0, k + 1, k + n) - c * slice_along(y, 0, 1, n),
                slice_along(x, 0, k + n, m),
            ]
        )
    q = concatenate(quotient) if quotient else zeros(1, x.dtype)
    if trim_leading_zeros:
        x = trim_zeros(x, "f")
    return q, x


@located
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of order `m` of a polynomial.

    Example:
      >>> np.polyder(np.array([1.0, 2.0, 3.0]))
      Array([2., 2.], dtype=float32)
    """
    x = as_inexact("polyder", _coefficients("polyder", p))
    m = as_int("polyder", m, "m")
    if m < 0:
        raise ValueError(f"polyder: m must not be negative; got {m}")
    for _ in range(m):
        n = x.size
        if n <= 1:
            return zeros(0, x.dtype)
        powers = from_numpy(np.arange(n - 1, 0, -1).astype(x.dtype))
        x = arithmetic.mul(slice_along(x, 0, 0, n - 1), powers)
    return x


@located
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Array:
    """The antiderivative of order `m` of a polynomial.

    Args:
      k: the constants of integration, in order; by default zeros.
    Example:
      >>> np.polyint(np.array([2.0, 2.0]))
      Array([1., 2., 0.], dtype=float32)
    """
    m = as_int("polyint", m, "m")
    if m < 0:
        raise ValueError(f"polyint: m must not be negative; got {m}")
    constants = _coefficients("polyint", 0.0 if k is None else k, "k")
    x, constants = promote_values(
        "polyint", _coefficients("polyint", p), constants, to_inexact=True
    )
    if constants.size == 1:
        constants = structural.widen(constants, (m,))
    if constants.size != m:
        raise ShapeError(
            f"polyint: needs a constant for each of {m} integrals; got {constants.size}"
        )
    for i in range(m):
        powers = from_numpy(np.arange(x.size, 0, -1).astype(x.dtype))
        x = concatenate([arithmetic.div(x, powers), slice_along(constants, 0, i, i + 1)])
    return x


@located
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Vandermonde matrix: its columns are the powers of a vector.

    Args:
      x: array [n].
      N: the number of columns; by default n.
      increasing: whether the powers increase from left to right.
    Returns: array [n, N].
    Example:
      >>> np.vander(np.array([1, 2, 3]), 2)
      Array([[1, 1],
             [2, 1],
             [3, 1]], dtype=int32)
    """
    v = value("vander", x)
    if v.ndim != 1:
        raise ShapeError(f"vander: expected one axis; got {v.aval}")
    count = v.size if N is None else as_int("vander", N, "N")
    if count < 0:
        raise ValueError(f"vander: N must not be negative; got {count}")
    if dtypes.is_bool(v.dtype):
        v = cast(v, dtypes.default_int())
    compute = _planned_powers if count <= _MAX_UNROLLED_TERMS else _powers
    return compute(v, count=count, increasing=bool(increasing))


def _powers(v: Any, *, count: int, increasing: bool) -> Any:
    """The powers of a vector as columns."""
    column = reshape(v, (v.size, 1))
    powers = [structural.widen(literal(1, v.dtype), (v.size, 1))]
    for _ in range(1, count):
        powers.append(arithmetic.mul(powers[-1], column))
    powers = [cast(p, v.dtype) for p in powers[:count]]
    if not powers:
        return zeros((v.size, 0), v.dtype)
    return concatenate(powers if increasing else powers[::-1], 1)


_planned_powers = composite(_powers)


@located
def trim_zeros(filt: Any, trim: str = "fb", axis: Axes = None) -> Array:
    """Trims leading and trailing zeros; not for traced arrays.

    Args:
      filt: array of any shape; slices of zeros at the ends of each axis are removed.
      trim: 'f' trims the front, 'b' the back, 'fb' both.
      axis: the axis or axes to trim; by default all of them.
    Returns: array with as many axes as `filt`.
    Raises: ValueError: `trim` has another value.
    Example:
      >>> np.trim_zeros(np.array([0, 1, 0, 2, 0]))
      Array([1, 0, 2], dtype=int32)
    """
    name, ends = "trim_zeros", trim.lower() if isinstance(trim, str) else trim
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"{name}: trim must be 'f', 'b' or 'fb'; got {trim!r}")
    x = array(filt) if isinstance(filt, (list, tuple)) else value(name, filt, "filt")
    axes = all_axes(name, axis, x)
    nonzero_indices = np.nonzero(concrete_argument(name, x, "filt")) if axes else ()
    for i in axes:
        positions, n = nonzero_indices[i], x.shape[i]
        start = int(positions.min(initial=n)) if "f" in ends else 0
        stop = int(positions.max(initial=-1)) + 1 if "b" in ends else n
        x = slice_along(x, i, start, stop) if positions.size else slice_along(x, i, 0, 0)
    return x


@located
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The coefficients of the polynomial with given roots.

    Args:
      seq_of_zeros: array [n] of roots, or a matrix [n, n] whose eigenvalues are the roots.
    Returns: coefficients [n + 1], the highest power first, whose coefficient is 1; the scalar 1 if
      there are no roots. They are real for a real matrix.
    Raises: ShapeError: the shape is wrong.
    Example:
      >>> np.poly(np.array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    Source: NumPy documentation, `numpy.poly`.
    """
    x = atleast_1d(as_inexact("poly", value("poly", seq_of_zeros, "seq_of_zeros")))
    is_real = not dtypes.is_complex(x.dtype)
    roots = x
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        roots = eigvals(x)
    elif x.ndim != 1:
        raise ShapeError(f"poly: expected a vector or a square matrix; got {x.aval}")
    if not roots.size:
        return creation.full(roots.aval.update(shape=(), weak_type=False), 1)
    result = (_planned_from_roots if roots.size <= _MAX_UNROLLED_ROOTS else _from_roots)(roots)
    return result.real if x.ndim == 2 and is_real else result


_MAX_UNROLLED_ROOTS = 32
"""The largest number of roots for which one program contains all steps."""


def _from_roots(roots: Any) -> Any:
    """The coefficients of the product of x - root over all roots."""
    result = creation.full(roots.aval.update(shape=(1,), weak_type=False), 1)
    zero = creation.zeros(result.aval)
    for k in range(roots.size):
        root = slice_along(roots, 0, k, k + 1)
        result = concatenate([result, zero]) - concatenate([zero, result]) * root
    return result


_planned_from_roots = composite(_from_roots)


@located
def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: coefficients [n], the highest power first.
      strip_zeros: remove leading zeros, so that the length of the result depends on them; not for
        traced arrays. Otherwise there are n - 1 results, padded with NaN.
    Returns: complex array; roots that are 0 come last.
    Raises: ShapeError: the shape is wrong.
    Example:
      >>> np.sort(np.roots(np.array([1.0, -3.0, 2.0])).real)
      Array([1., 2.], dtype=float32)
    Source: NumPy documentation, `numpy.roots`.
    """
    x = atleast_1d(as_inexact("roots", value("roots", p, "p")))
    if x.ndim != 1:
        raise ShapeError(f"roots: expected a vector of coefficients; got {x.aval}")
    if not strip_zeros:
        return _all_roots(x)
    indices = np.nonzero(concrete_argument("roots", x, "p"))[0]
    dtype = dtypes.complex_of(x.dtype)
    if not indices.size:
        return zeros(0, dtype)
    first_nonzero, last_nonzero = int(indices[0]), int(indices[-1])
    nonzero_roots = _eigenvalues(slice_along(x, 0, first_nonzero, last_nonzero + 1))
    return concatenate([nonzero_roots, zeros(x.size - 1 - last_nonzero, dtype)])


def _all_roots(x: Any) -> Any:
    """n - 1 roots for n coefficients; NaN in place of roots removed by leading zeros."""
    n = x.size - 1
    if n < 1:
        return zeros(0, dtypes.complex_of(x.dtype))
    is_nonzero = x != 0
    leading_zeros = argmax(is_nonzero)
    values = _eigenvalues(
        roll(x, -leading_zeros)
    )  # leading zeros become trailing zeros, which are roots at 0
    values = getitem(values, argsort(-arithmetic.abs_(values)))
    is_root = from_numpy(np.arange(n)) < n - leading_zeros
    return where(is_root & is_nonzero.any(), values, literal(complex("nan"), values.dtype))


def _eigenvalues(p: Any) -> Any:
    """The eigenvalues of the companion matrix of coefficients whose first one is not zero."""
    n = p.size - 1
    if n < 1:
        return zeros(0, dtypes.complex_of(p.dtype))
    monic = slice_along(p, 0, 1, n + 1) / slice_along(p, 0, 0, 1)
    first_row = structural.reshape(-monic, shape=(1, n))
    return eigvals(concatenate([first_row, from_numpy(np.eye(n - 1, n, dtype=p.dtype))], 0))


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
    """Least-squares fit of a polynomial to points.

    Args:
      x: coordinates of the points, [m].
      y: values at the points, [m] or [m, k].
      deg: the degree.
      rcond: singular values up to `rcond` times the largest one count as zero; by default eps · m.
      full: return (coefficients, residuals, rank, singular values, rcond).
      w: weights [m] of the residuals.
      cov: return (coefficients, covariance); 'unscaled' if 1 / w is the standard deviation.
    Returns: coefficients [deg + 1] or [deg + 1, k], the highest power first.
    Raises: ShapeError: the shapes do not match. ValueError: a negative degree; too few points for
      `cov`.
    Example:
      >>> np.round(np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1), 4)
      Array([2., 1.], dtype=float32)
    Source: NumPy documentation, `numpy.polyfit`.
    """
    coefficient_count = as_int("polyfit", deg, "deg") + 1
    if coefficient_count < 1:
        raise ValueError(f"polyfit: deg must not be negative; got {deg}")
    if isinstance(cov, str) and cov != "unscaled":
        raise ValueError(f"polyfit: cov must be a boolean or 'unscaled'; got {cov!r:.60}")
    points, values = promote_values("polyfit", x, y, to_inexact=True)
    if points.ndim != 1 or not points.size or values.ndim not in (1, 2):
        raise ShapeError(
            f"polyfit: expected x [m] and y [m] or [m, k]; got {points.aval} and {values.aval}"
        )
    m = points.size
    if values.shape[0] != m:
        raise ShapeError(
            f"polyfit: x and y must have equal lengths; got {points.aval} and {values.aval}"
        )
    if rcond is None:
        rcond = m * float(dtypes.finfo(points.dtype).eps)
    matrix = vander(points, coefficient_count)
    if w is not None:
        weights = cast(value("polyfit", w, "w"), matrix.dtype)
        if weights.shape != (m,):
            raise ShapeError(f"polyfit: w must be [{m}], as x; got {weights.aval}")
        column = structural.reshape(weights, shape=(m, 1))
        matrix = matrix * column
        values = values * (column if values.ndim == 2 else weights)
    scale = arithmetic.sqrt((matrix * matrix.conj()).real.sum(0))
    scale = where(scale == 0, creation.full(scale.aval, 1), scale)
    matrix = matrix / scale
    solution, residuals, rank, s = lstsq(matrix, values, rcond)
    solution = solution / (
        structural.reshape(scale, shape=(coefficient_count, 1)) if values.ndim == 2 else scale
    )
    if full:
        return solution, residuals, rank, s, from_numpy(np.asarray(rcond, s.dtype))
    if not cov:
        return solution
    covariance = inv(matrix.conj().T @ matrix) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = literal(1, covariance.dtype)
    elif m <= coefficient_count:
        raise ValueError(
            f"polyfit: cov needs more points than coefficients; got {m} and {coefficient_count}\n"
            "  fix: cov='unscaled'"
        )
    else:
        factor = residuals / (m - coefficient_count)
    if values.ndim == 1:
        return solution, covariance * factor
    return solution, structural.reshape(
        covariance, shape=(coefficient_count, coefficient_count, 1)
    ) * factor
