"""The exponential of matrices, and its derivative.

A matrix is divided by a power of two until a rational function is exact, and the result squared as
often. Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Matrix Anal. Appl. 31 (2009) 970-989.
"""

import math
from typing import Any

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import cond, fori_loop
from ...numpy import linalg
from ...numpy.axes import whole_number
from ...numpy.linalg.operands import identities, in_wide, matrices, rounded
from ...numpy.promotion import promote_values
from ...primitives import selection
from ...transforms.linear_maps import jvp
from ...typing import ArrayLike
from .triangles import solve_upper

__all__ = ["expm", "expm_frechet"]

# The degree of both polynomials, and the norm up to which they are exact: Higham's theta.
_DEGREES = {4: (7, 3.925724783138660), 8: (13, 4.25)}


def coefficients(degree: int) -> list[float]:
    """Those of the numerator of the diagonal Padé approximant of exp, from power 0, over the last.

    Source: N. J. Higham, Functions of Matrices, 2008, (10.23).
    """
    found = [
        math.factorial(2 * degree - j)
        * math.factorial(degree)
        // (math.factorial(degree - j) * math.factorial(j))
        for j in range(degree + 1)
    ]
    return [float(c // math.factorial(degree)) for c in found]


def _fractions(a: Any, powers: list[Any], degree: int) -> tuple[Any, Any]:
    """(odd, even) parts of the numerator; the denominator is even - odd."""
    c = coefficients(degree)

    def low(first: int) -> Any:
        return sum(c[first + 2 * k] * power for k, power in enumerate(powers))

    def high(first: int) -> Any:
        return sum(c[first + 2 * k] * power for k, power in enumerate(powers[1:]))

    odd, even = low(1), low(0)
    if degree == 13:
        odd, even = odd + powers[3] @ high(9), even + powers[3] @ high(8)
    return a @ odd, even


def _norm(x: Any) -> Any:
    """The largest sum of |x| over a column."""
    return np.max(np.sum(abs(x), axis=-2), axis=-1)


def _squarings(a: Any, powers: list[Any], degree: int, theta: float) -> Any:
    """Number of times that each matrix is to be halved, as a float."""
    a, (_, _, a4, a6) = selection.stop_gradient(a), map(selection.stop_gradient, powers)
    d4, d6 = _norm(a4) ** (1 / 4), _norm(a6) ** (1 / 6)
    size = np.maximum(d4, d6)

    def closer(size: Any) -> Any:
        d8, d10 = _norm(a4 @ a4) ** (1 / 8), _norm(a4 @ a6) ** (1 / 10)
        return np.minimum(size, np.minimum(np.maximum(d6, d8), np.maximum(d8, d10)))

    # two products more are worth it if they may save two
    size = cond(np.any(size > 2 * theta), closer, lambda size: size, size)
    halvings = np.maximum(np.ceil(np.log2(np.maximum(size / theta, 1.0))), 0)
    # what is left out of the series must be small for |a| too
    count = 2 * degree + 1
    least = math.factorial(degree) ** 2 / (math.factorial(2 * degree) * math.factorial(count))
    smaller = abs(a) * np.exp2(-halvings)[..., None, None]
    line = fori_loop(0, count, lambda k, x: x @ smaller, np.ones_like(smaller[..., :1, :]))
    norm = np.max(line, axis=(-2, -1))
    whole = _norm(smaller)
    ratio = least * norm / np.where(whole == 0, 1.0, whole)
    unit = float(dtypes.finfo(a.dtype).eps) / 2
    more = np.ceil(np.log2(np.maximum(ratio / unit, 1.0)) / (2 * degree))
    return halvings + np.where(np.isfinite(more), more, 0.0)


@located
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of matrices.

    Args:
      A: array [batch…, n, n]; integers become floats.
      upper_triangular: A is, and is solved with as such.
      max_squarings: the result is NaN for matrices that would take more.
    Returns: array of the shape of A.
    Raises: ShapeError: not square. ValueError: `max_squarings` is negative.
    Example:
      >>> expm(np.zeros((2, 2)))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Matrix Anal. Appl. 31 (2009) 970-989.
    """
    x = matrices("expm", A, "A", square=True)
    most = whole_number("expm", max_squarings, "max_squarings")
    if most < 0:
        raise ValueError(f"expm: max_squarings must not be negative; got {most}")
    if not x.size:
        return x  # type: ignore[no-any-return]
    found = _exponential(in_wide(x), bool(upper_triangular), most)
    return rounded(found, x.dtype)  # type: ignore[no-any-return]


def _exponential(a: Any, upper_triangular: bool, most: int) -> Any:
    degree, theta = _DEGREES[8 if dtypes.finfo(a.dtype).bits == 64 else 4]
    one = identities(a.aval, a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    powers = [one, a2, a4, a2 @ a4]
    halvings = _squarings(a, powers, degree, theta)
    scale = np.exp2(-np.minimum(halvings, most))[..., None, None].astype(a.dtype)
    square = scale * scale
    scaled = [one, a2 * square, a4 * square**2, powers[3] * square**3]
    odd, even = _fractions(a * scale, scaled, degree)
    if upper_triangular:
        start = solve_upper(even - odd, even + odd)
    else:
        start = linalg.solve(even - odd, even + odd)
    left = halvings[..., None, None]

    def step(k: Any, x: Any) -> Any:
        again = left > k
        return cond(np.any(again), lambda x: np.where(again, x @ x, x), lambda x: x, x)

    found = fori_loop(0, most, step, start) if most else start
    bad = (left > most) | ~np.all(
        np.isfinite(selection.stop_gradient(a)), axis=(-2, -1), keepdims=True
    )
    return np.where(bad, literal(float("nan"), found.dtype), found)


@located
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The derivative of the exponential at A in the direction E.

    Args:
      A, E: arrays [batch…, n, n].
      method: None, 'SPS' or 'blockEnlarge', SciPy's two algorithms: wishes for the same result.
      compute_expm: whether exp(A) is wanted too.
    Returns: (exp(A), derivative), or the derivative.
    Raises: ShapeError: not square, or shapes that differ. ValueError: another method.
    Example:
      >>> expm_frechet(np.zeros((1, 1)), np.ones((1, 1)), compute_expm=False)
      Array([[1.]], dtype=float32)
    Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Matrix Anal. Appl. 30 (2009) 1639-1657.
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet: method must be SPS or blockEnlarge; got {method!r:.60}")
    x = matrices("expm_frechet", A, "A", square=True)
    y = matrices("expm_frechet", E, "E", square=True)
    if x.shape != y.shape:
        raise ShapeError(f"expm_frechet: A and E must have one shape; got {x.aval} and {y.aval}")
    x, y = promote_values("expm_frechet", x, y)
    found, change = jvp(expm, (x,), (y,))
    return (found, change) if compute_expm else change
