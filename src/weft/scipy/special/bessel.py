"""Bessel functions: i0, i0e, i1, i1e, bessel_jn, spherical_jn, spherical_yn, spherical_in,
spherical_kn.

Functions of several orders use recurrences. Spherical functions use, for each element, the
direction of the recurrence that is accurate.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as onp

from ... import numpy as np
from ...errors import ConcretizationTypeError, ShapeError, TracerArrayConversionError
from ...numpy.axes import as_int
from ...numpy.promotion import noted
from ...primitives import bessel_functions as p
from ...transforms.custom_derivatives import custom_jvp
from ...typing import Array, ArrayLike
from .makers import computed_by, floats

__all__ = [
    "bessel_jn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
]


@computed_by(p.bessel_i0)
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind I₀(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> i0(0.0).item()
      1.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i0e)
def i0e(x: ArrayLike) -> Array:
    """exp(-|x|) I₀(x), which doesn't overflow.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> i0e(0.0).item()
      1.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i1)
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind I₁(x).

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> i1(0.0).item()
      0.0
    Source: DLMF 10.25.2.
    """


@computed_by(p.bessel_i1e)
def i1e(x: ArrayLike) -> Array:
    """exp(-|x|) I₁(x), which doesn't overflow.

    Args:
      x: real array of any shape; integers become the default float.
    Returns: array of x's shape, of a float dtype.
    Raises: TypeError: an argument is not a real array.
    Example:
      >>> i1e(0.0).item()
      0.0
    Source: DLMF 10.25.2.
    """


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind J₀(z) to Jᵥ(z).

    Args:
      z: real array of any shape; integers become the default float.
      v: the largest order, a concrete int of at least 0.
      n_iter: the number of orders above |z| at which the recurrence starts; the default suffices
        for |z| up to about 40.
    Returns: array [v + 1, *z.shape], of a float dtype.
    Raises: TypeError: v or n_iter is not a concrete int. ValueError: v < 0 or n_iter < 1.
    Example:
      >>> bessel_jn(0.0, v=1).tolist()
      [1.0, 0.0]
    Source: DLMF 10.2.2, 3.6(iii): Miller's algorithm, in quotients of neighbours, so that nothing
    overflows; normalised by DLMF 10.12.4.
    """
    order, count = as_int("bessel_jn", v, "v"), as_int("bessel_jn", n_iter, "n_iter")
    if order < 0:
        raise noted(ValueError(f"bessel_jn: v must be at least 0; got {order}"))
    if count < 1:
        raise noted(ValueError(f"bessel_jn: n_iter must be at least 1; got {count}"))
    (x,) = floats("bessel_jn", z=z)
    return _quotients_of_orders(x, order, count)


def _quotients_of_orders(z: Any, order: int, count: int) -> Any:
    tiny = float(np.finfo(z.dtype).tiny)
    ratio, total = np.zeros_like(z), np.zeros_like(z)
    values: list[Any] = []
    for k in range(order + count, 0, -1):
        denominator = 2 * k - z * ratio
        ratio = z / np.where(denominator == 0, tiny, denominator)  # J(k) / J(k - 1)
        total = ratio * ((2.0 if k % 2 == 0 else 0.0) + total)
        if k <= order:
            values.append(ratio)
    functions = [1 / (1 + total)]
    for quotient in reversed(values):
        functions.append(functions[-1] * quotient)
    return np.stack(functions)


# --- tables of all orders: (z, largest order) -> rows ---


def _quotients(z: Any, start_order: int, largest_order: int, sign: float) -> dict[int, Any]:
    """{k: f(k) / f(k - 1)} for k from `start_order` down to `largest_order`."""
    ratio, ratios = np.zeros_like(z), {}
    for k in range(start_order, 0, -1):
        ratio = z / (2 * k + 1 + sign * z * ratio)
        if k <= largest_order:
            ratios[k] = ratio
    return ratios


def _first_kind(z: Any, largest: int) -> list[Any]:
    magnitude = np.abs(z)
    nonzero_z = np.where(magnitude == 0, 1, magnitude)
    rows = [np.where(magnitude == 0, 1, np.sin(nonzero_z) / nonzero_z)]
    # downwards for orders above z, where functions of lower order have no zeros
    clipped = np.minimum(magnitude, largest + 1.0)
    start = largest + 20 + int(8 * largest ** (1 / 3))
    quotients = _quotients(clipped, start, largest, -1.0)
    previous_row = rows[0]
    for k in range(1, largest + 1):
        # the function of order -1 is cos(z) / z
        recurrence = (2 * k - 1) / nonzero_z * rows[-1] - (
            np.cos(nonzero_z) / nonzero_z if k == 1 else previous_row
        )
        previous_row = rows[-1]
        rows.append(np.where(magnitude >= k, recurrence, previous_row * quotients[k]))
    return _odd(z, [np.where(magnitude == math.inf, 0, row) for row in rows])


def _odd(z: Any, rows: list[Any]) -> list[Any]:
    """Values for z from values for |z|: functions of odd order are odd."""
    return [np.where(z < 0, -row, row) if k % 2 else row for k, row in enumerate(rows)]


def _second_kind(z: Any, largest: int) -> list[Any]:
    magnitude = np.abs(z)
    rows = [-np.cos(magnitude) / magnitude]
    rows.append((rows[0] - np.sin(magnitude)) / magnitude)
    for k in range(2, largest + 1):
        recurrence = (2 * k - 1) / magnitude * rows[-1] - rows[-2]
        rows.append(np.where(rows[-1] == -math.inf, -math.inf, recurrence))
    rows = [np.where(magnitude == math.inf, 0, row) for row in rows]
    return [np.where(z < 0, -row, row) if k % 2 == 0 else row for k, row in enumerate(rows)]


def _modified_first_kind(z: Any, largest: int) -> list[Any]:
    magnitude = np.abs(z)
    nonzero_z = np.where(magnitude == 0, 1, magnitude)
    row_0 = np.where(magnitude == 0, 1, np.sinh(nonzero_z) / nonzero_z)
    rows = [np.where(magnitude == math.inf, math.inf, row_0)]
    # upwards, an error grows like exp(k² / z)
    limit = max(largest * largest, 1)
    clipped = np.minimum(magnitude, float(limit))
    quotients = _quotients(clipped, math.isqrt(largest**2 + 40 * limit) + 10, largest, 1.0)
    previous_row = rows[0]
    for k in range(1, largest + 1):
        recurrence = (np.cosh(nonzero_z) / nonzero_z if k == 1 else previous_row) - (
            2 * k - 1
        ) / nonzero_z * rows[-1]
        recurrence = np.where(rows[0] == math.inf, math.inf, recurrence)
        previous_row = rows[-1]
        rows.append(np.where(magnitude > limit, recurrence, previous_row * quotients[k]))
    return _odd(z, rows)


def _modified_second_kind(z: Any, largest: int) -> list[Any]:
    magnitude = np.abs(z)
    rows = [0.5 * math.pi * np.exp(-magnitude) / magnitude]
    rows.append(rows[0] + rows[0] / magnitude)
    for k in range(2, largest + 1):
        rows.append((2 * k - 1) / magnitude * rows[-1] + rows[-2])
    # DLMF 10.47.11 and 10.47.16: k(-z) = -π i(z) - (-1)ⁿ k(z)
    first_kind = [*_modified_first_kind(magnitude, largest), 0.0]
    return [
        np.where(z < 0, -math.pi * first_kind[k] - (-1) ** k * row, row)
        for k, row in enumerate(rows[: largest + 1])
    ]


# --- values and derivatives ---

# f'(k) = (a k f(k - 1) + b (k + 1) f(k + 1)) / (2k + 1): DLMF 10.51.2, 10.51.5
_KINDS: dict[str, tuple[Callable[[Any, int], list[Any]], int, int]] = {
    "spherical_jn": (_first_kind, 1, -1),
    "spherical_yn": (_second_kind, 1, -1),
    "spherical_in": (_modified_first_kind, 1, 1),
    "spherical_kn": (_modified_second_kind, -1, -1),
}


@functools.cache
def _table(name: str, largest: int) -> Callable[[Any], Any]:
    """z -> [largest + 1, *z.shape]: the functions of all orders."""

    @custom_jvp
    def table(z: Any) -> Any:
        return np.stack(_KINDS[name][0](z, largest)[: largest + 1])

    @table.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        slopes = _slopes(name, primals[0], largest)
        return table(*primals), slopes * tangents[0]

    return table


def _slopes(name: str, z: Any, largest: int) -> Any:
    _, a, b = _KINDS[name]
    rows = _table(name, largest + 1)(z)
    k = np.expand_dims(np.arange(largest + 1).astype(z.dtype), tuple(range(1, z.ndim + 1)))
    lower_rows = np.concatenate([np.zeros_like(rows[:1]), rows[:largest]])
    out = (a * k * lower_rows + b * (k + 1) * rows[1:]) / (2 * k + 1)
    if name != "spherical_yn":
        return out
    return np.where(np.abs(rows[1:]) == math.inf, -rows[1:], out)  # avoids inf - inf at 0


def _orders(name: str, n: Any) -> Any:
    """The orders as a NumPy array of integers; they must be concrete."""
    try:
        orders = onp.asarray(n)
    except (ConcretizationTypeError, TracerArrayConversionError):
        raise noted(
            ConcretizationTypeError(
                f"{name}: n must be known: it determines the number of orders; got {n}\n"
                "  fix: an int or a NumPy array, or static_argnames of jit"
            )
        ) from None
    except ValueError:  # lists of unequal lengths
        raise noted(
            ShapeError(f"{name}: n must be an int or an array of ints; got {n!r:.80}")
        ) from None
    if orders.dtype.kind not in "iu":
        raise noted(ShapeError(f"{name}: n must be of integer dtype; got {orders.dtype}"))
    if orders.size and orders.min() < 0:
        raise noted(ValueError(f"{name}: n must be at least 0; got {orders.min()}"))
    return orders


def _function(name: str, n: Any, z: Any, derivative: bool) -> Any:
    orders = _orders(name, n)
    (x,) = floats(name, z=z)
    dtype = x.dtype
    if dtype.itemsize < 4:
        x = x.astype("float32")
    largest = int(orders.max(initial=0))
    rows = _slopes(name, x, largest) if derivative else _table(name, largest)(x)
    shape = onp.broadcast_shapes(orders.shape, x.shape)
    distinct_orders = sorted(set(orders.ravel().tolist())) or [0]
    out = np.broadcast_to(rows[distinct_orders[0]], shape)
    for k in distinct_orders[1:]:
        out = np.where(orders == k, rows[k], out)
    return out.astype(dtype)


def spherical_jn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the first kind jₙ(z).

    All orders up to the largest n are computed, so a program's length grows with it.

    Args:
      n: concrete int or integer array of at least 0, which broadcasts with z.
      z: real array; integers become the default float.
      derivative: True for the derivative in z.
    Returns: array of the shape to which n and z broadcast, of a float dtype.
    Raises: TypeError: complex z, or n not of integer dtype. ValueError: n < 0.
      ConcretizationTypeError: n is traced.
    Example:
      >>> f'{spherical_jn(1, 2.0).item():.4f}'
      '0.4354'
    Source: DLMF 10.47.3, 10.51.1.
    """
    return _function("spherical_jn", n, z, derivative)


def spherical_yn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The spherical Bessel function of the second kind yₙ(z); -inf at 0.

    Args:
      n, z, derivative: as in `spherical_jn`.
    Returns: array of the shape to which n and z broadcast, of a float dtype.
    Raises: as `spherical_jn`.
    Example:
      >>> f'{spherical_yn(1, 2.0).item():.4f}'
      '-0.3506'
    Source: DLMF 10.47.4, 10.51.1.
    """
    return _function("spherical_yn", n, z, derivative)


def spherical_in(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the first kind iₙ(z).

    Args:
      n, z, derivative: as in `spherical_jn`.
    Returns: array of the shape to which n and z broadcast, of a float dtype.
    Raises: as `spherical_jn`.
    Example:
      >>> f'{spherical_in(1, 2.0).item():.4f}'
      '0.9744'
    Source: DLMF 10.47.7, 10.51.4.
    """
    return _function("spherical_in", n, z, derivative)


def spherical_kn(n: ArrayLike, z: ArrayLike, derivative: bool = False) -> Array:
    """The modified spherical Bessel function of the second kind kₙ(z); inf at 0.

    Args:
      n, z, derivative: as in `spherical_jn`.
    Returns: array of the shape to which n and z broadcast, of a float dtype.
    Raises: as `spherical_jn`.
    Example:
      >>> f'{spherical_kn(1, 2.0).item():.4f}'
      '0.1594'
    Source: DLMF 10.47.9, 10.51.4.
    """
    return _function("spherical_kn", n, z, derivative)
