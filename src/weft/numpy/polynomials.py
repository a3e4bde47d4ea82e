"""Polynomials as arrays of coefficients, the highest power first."""

from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array, literal
from ..core.source import located
from ..errors import ShapeError
from ..lax.axis_slices import slice_along
from ..primitives import arithmetic, structural
from ..typing import ArrayLike, Axes
from .axes import all_axes, whole_number
from .creation import array, from_numpy, zeros
from .functional import convolve
from .joining import concatenate
from .plans import composite
from .promotion import cast, inexact, promote_values, value
from .ranges import known
from .shapes import atleast_1d, joint_shape, reshape

__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
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
    """A polynomial's values, by Horner's rule.

    Args:
      p: array [n, …] of coefficients, the highest power first; further axes are of several
        polynomials, and broadcast against `x`.
      x: array of any shape.
      unroll: for jax's sake: all steps are written out.
    Returns: array of the shape of `x`, or of the broadcast one.
    Example:
      >>> np.polyval(np.array([1, 0, 2]), 3)
      Array(11, dtype=int32)
    """
    coefficients, points = promote_values("polyval", p, x)
    coefficients = atleast_1d(coefficients)
    small = coefficients.shape[0] <= _FEW and points.size <= _LARGE
    return (_planned_horner if small else _horner)(coefficients, points)


_FEW = 32
"""The most coefficients, or columns, for which a plan is made: it has as many steps."""
_LARGE = 100_000
"""The most points for which one is made: the results of all its steps are kept to its end."""


def _horner(coefficients: Any, points: Any) -> Any:
    n, *rest = coefficients.shape
    terms = [reshape(slice_along(coefficients, 0, i, i + 1), rest) for i in range(n)]
    shape = joint_shape("polyval", [tuple(rest), points.shape])
    if not n:
        return structural.zeros(points.aval.update(shape=shape))
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
      trim_leading_zeros: drop zeros of the highest powers first; not for traced arrays.
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
      trim_leading_zeros: drop zeros of the remainder's highest powers; not for traced arrays.
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
                zeros(k + 1, x.dtype),  # these cancel, but for rounding
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
    """The derivative of a polynomial, `m` times.

    Example:
      >>> np.polyder(np.array([1.0, 2.0, 3.0]))
      Array([2., 2.], dtype=float32)
    """
    x = inexact("polyder", _coefficients("polyder", p))
    m = whole_number("polyder", m, "m")
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
    """The integral of a polynomial, `m` times.

    Args:
      k: the constants of integration, in order; zeros by default.
    Example:
      >>> np.polyint(np.array([2.0, 2.0]))
      Array([1., 2., 0.], dtype=float32)
    """
    m = whole_number("polyint", m, "m")
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
    """Powers of numbers, as columns.

    Args:
      x: array [n].
      N: how many columns; n by default.
      increasing: the power 0 first, not last.
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
    count = v.size if N is None else whole_number("vander", N, "N")
    if count < 0:
        raise ValueError(f"vander: N must not be negative; got {count}")
    if dtypes.is_bool(v.dtype):
        v = cast(v, dtypes.default_int())
    run = _planned_powers if count <= _FEW else _powers
    return run(v, count=count, increasing=bool(increasing))


def _powers(v: Any, *, count: int, increasing: bool) -> Any:
    """The powers of numbers, as columns."""
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
    """An array without the zeros around it; not for traced arrays.

    Args:
      filt: array of any shape; along each axis, slices of zeros at the ends go.
      trim: 'f' trims the front, 'b' the back, 'fb' both.
      axis: an axis or several that are trimmed; all of them by default.
    Returns: array with as many axes as `filt`.
    Raises: ValueError: `trim` is something else.
    Example:
      >>> np.trim_zeros(np.array([0, 1, 0, 2, 0]))
      Array([1, 0, 2], dtype=int32)
    """
    name, sides = "trim_zeros", trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"{name}: trim must be 'f', 'b' or 'fb'; got {trim!r}")
    x = array(filt) if isinstance(filt, (list, tuple)) else value(name, filt, "filt")
    axes = all_axes(name, axis, x)
    places = np.nonzero(known(name, x, "filt")) if axes else ()
    for i in axes:
        at, n = places[i], x.shape[i]
        start = int(at.min(initial=n)) if "f" in sides else 0
        stop = int(at.max(initial=-1)) + 1 if "b" in sides else n
        x = slice_along(x, i, start, stop) if at.size else slice_along(x, i, 0, 0)
    return x
