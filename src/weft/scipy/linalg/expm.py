"""The matrix exponential and its derivative: expm, expm_frechet.

Scaling and squaring with Padé approximants of degree 3 to 13.
Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Matrix Anal. Appl. 31 (2009) 970-989.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array, literal
from ...core.source import located
from ...errors import ShapeError
from ...lax import cond, fori_loop
from ...numpy import linalg
from ...numpy.axes import as_int
from ...numpy.linalg.operands import identities, in_wide_dtype, matrices, rounded
from ...numpy.plans import composite
from ...numpy.promotion import promote_values
from ...primitives import selection
from ...transforms.derivatives import jvp
from ...typing import ArrayLike
from .sylvester import solve_upper

__all__ = ["expm", "expm_frechet"]


# Degrees of both polynomials and the norms up to which they are exact: Higham's theta.
_DEGREES = {
    4: ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    8: (
        (3, 1.495585217958292e-2),
        (5, 2.539398330063230e-1),
        (7, 9.504178996162932e-1),
        (13, 4.25),
    ),
}
_USUAL_SQUARINGS = 4  # more are rarely needed; a loop of 16 steps would store residuals of each


def coefficients(degree: int) -> list[float]:
    """Numerator coefficients of exp's diagonal Padé approximant, from power 0, divided by the last.

    Source: N. J. Higham, Functions of Matrices, 2008, (10.23).
    """
    numerators = [
        math.factorial(2 * degree - j)
        * math.factorial(degree)
        // (math.factorial(degree - j) * math.factorial(j))
        for j in range(degree + 1)
    ]
    return [float(c // math.factorial(degree)) for c in numerators]


def _if_needed(condition: Any, function: Callable[..., Any], *args: Any) -> Any:
    """The result of `function` if the condition holds, otherwise zeros."""
    return cond(condition, function, lambda *args: np.zeros_like(args[0]), *args)


def _norm(x: Any) -> Any:
    """The largest sum of |x| over a column."""
    return np.max(_sums(x), axis=-1)


def _sums(x: Any) -> Any:
    return np.sum(abs(x), axis=-2)


def _weighted(sums: Any, x: Any) -> Any:
    """The largest weighted sum of |x| over a column, with a weight for each row."""
    return np.max(np.sum(sums[..., :, None] * abs(x), axis=-2), axis=-1)


def _squarings(a: Any, norm: Any, a4: Any, a6: Any, degree: int, theta: float) -> Any:
    """The number of halvings of each matrix, as a float."""
    sums = _sums(a4)
    d4, d6 = np.max(sums, axis=-1) ** (1 / 4), _norm(a6) ** (1 / 6)
    # |x y| <= |x| |y| elementwise: a bound of the norm without a product of matrices
    d8, d10 = _weighted(sums, a4) ** (1 / 8), _weighted(sums, a6) ** (1 / 10)
    norm_estimate = np.minimum(
        np.maximum(d4, d6), np.minimum(np.maximum(d6, d8), np.maximum(d8, d10))
    )
    halvings = np.maximum(np.ceil(np.log2(np.maximum(norm_estimate / theta, 1.0))), 0)
    # the truncation error of the series, a multiple of |a|^(2 degree + 1), must be small too
    power_count = (2 * degree + 1) // 3  # for degrees 15 and 27
    factor = math.factorial(degree) ** 2 / (
        math.factorial(2 * degree) * math.factorial(2 * degree + 1)
    )
    threshold = math.log2(factor) - math.log2(float(dtypes.finfo(a.dtype).eps) / 2)
    log_norm = np.log2(norm) - halvings

    def bound(a: Any, halvings: Any) -> Any:
        smaller = abs(a) * np.exp2(-halvings)[..., None, None]
        row_vector = fori_loop(
            0, power_count, lambda k, x: x @ smaller, np.ones_like(smaller[..., :1, :])
        )
        return 3 * np.log2(np.max(row_vector, axis=(-2, -1)))

    exceeds_threshold = threshold + 2 * degree * log_norm > 0
    minus_infinity = lambda a, halvings: np.full_like(halvings, -float("inf"))  # noqa: E731
    power = cond(np.any(exceeds_threshold), bound, minus_infinity, a, halvings)
    extra_halvings = np.ceil((threshold + power - log_norm) / (2 * degree))
    return halvings + np.where(np.isfinite(extra_halvings), np.maximum(extra_halvings, 0.0), 0.0)


@located
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of matrices.

    Args:
      A: array [batch…, n, n]; integers become floats.
      upper_triangular: A is upper triangular, so only triangular systems are solved.
      max_squarings: the result is NaN for matrices that would need more squarings.
    Returns: array of the shape of A.
    Raises: ShapeError: not square. ValueError: `max_squarings` is negative.
    Example:
      >>> expm(np.zeros((2, 2)))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    Source: A. H. Al-Mohy, N. J. Higham, SIAM J. Matrix Anal. Appl. 31 (2009) 970-989.
    """
    x = matrices("expm", A, "A", square=True)
    limit = as_int("expm", max_squarings, "max_squarings")
    if limit < 0:
        raise ValueError(f"expm: max_squarings must not be negative; got {limit}")
    if not x.size:
        return x
    result = _exponential(
        in_wide_dtype(x), upper_triangular=bool(upper_triangular), max_squarings=limit
    )
    return rounded(result, x.dtype)


@composite
def _exponential(a: Any, *, upper_triangular: bool, max_squarings: int) -> Any:
    degrees = _DEGREES[8 if dtypes.finfo(a.dtype).bits == 64 else 4]
    a_constant = selection.stop_gradient(a)
    norm = _norm(a_constant)
    # the lowest degree that suffices for all matrices; the others are not computed
    degree_index = sum((~np.all(norm <= theta)).astype("int32") for _, theta in degrees[:-1])
    one = identities(a.aval, a.shape[-1])
    a2 = a @ a
    a4 = _if_needed(degree_index > 0, lambda x: x @ x, a2)
    a6 = _if_needed(degree_index > 1, lambda x, y: x @ y, a2, a4)
    degree, theta = degrees[-1]
    a4_constant, a6_constant = (selection.stop_gradient(x) for x in (a4, a6))
    halvings = cond(
        degree_index == len(degrees) - 1,
        lambda a, norm, x, y: _squarings(a, norm, x, y, degree, theta),
        lambda a, norm, x, y: np.zeros_like(norm),
        *(a_constant, norm, a4_constant, a6_constant),
    )
    scale = np.exp2(-np.minimum(halvings, max_squarings))[..., None, None].astype(a.dtype)
    square = scale * scale
    powers = [one, a2 * square, a4 * square**2, a6 * square**3]
    table = onp.zeros((len(degrees), degree + 1))
    for row, (n, _) in zip(table, degrees, strict=True):
        row[: n + 1] = coefficients(n)
    c = np.asarray(table, powers[1].dtype)[degree_index]
    odd_terms, even_terms = (sum(c[k + 2 * i] * x for i, x in enumerate(powers)) for k in (1, 0))
    if degree == 13:

        def high_terms(start_index: int) -> Any:
            high = sum(c[start_index + 2 * i] * x for i, x in enumerate(powers[1:]))
            return _if_needed(degree_index > 2, lambda x, y: x @ y, powers[3], high)

        odd_terms, even_terms = odd_terms + high_terms(9), even_terms + high_terms(8)
    odd_terms = (a * scale) @ odd_terms
    if upper_triangular:
        approximant = solve_upper(even_terms - odd_terms, even_terms + odd_terms)
    else:
        approximant = linalg.solve(even_terms - odd_terms, even_terms + odd_terms)
    remaining = halvings[..., None, None]

    def step(k: Any, x: Any) -> Any:
        needs_squaring = remaining > k
        return cond(
            np.any(needs_squaring), lambda x: np.where(needs_squaring, x @ x, x), lambda x: x, x
        )

    def square_repeatedly(start_index: int, end: int, x: Any) -> Any:
        return fori_loop(start_index, end, step, x) if end > start_index else x

    result = square_repeatedly(0, min(_USUAL_SQUARINGS, max_squarings), approximant)
    if max_squarings > _USUAL_SQUARINGS:
        needs_more = np.any(remaining > _USUAL_SQUARINGS)
        result = cond(
            needs_more,
            lambda x: square_repeatedly(_USUAL_SQUARINGS, max_squarings, x),
            lambda x: x,
            result,
        )
    is_invalid = (remaining > max_squarings) | ~np.isfinite(norm)[..., None, None]
    return np.where(is_invalid, literal(float("nan"), result.dtype), result)


@located
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The derivative of the matrix exponential at A in the direction E.

    Args:
      A, E: arrays [batch…, n, n].
      method: None, 'SPS' or 'blockEnlarge', SciPy's two algorithms; has no effect.
      compute_expm: return exp(A) too.
    Returns: (exp(A), derivative), or the derivative.
    Raises: ShapeError: the matrix is not square, or shapes differ. ValueError: an unknown method.
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
    exponential, change = _with_derivative(x, y)
    return (exponential, change) if compute_expm else change


@composite
def _with_derivative(x: Any, y: Any) -> tuple[Any, Any]:
    return jvp(expm, (x,), (y,))
