"""Functions that follow from the logarithm of one tail: cdf, sf, their logarithms, and quantiles.

The derivative with respect to the point is the density. The derivative of a quantile follows from
the equation that the quantile solves. Derivatives with respect to parameters come from the tail.
Quantiles without a closed form are found by bisection over the bit patterns of a dtype, in the
order of the floats. So 32 steps (64 for float64) always find the first float at which a condition
holds.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.conversion import bitcast_convert_type
from ...lax.loops import fori_loop
from ...transforms.custom_derivatives import custom_jvp
from ...transforms.derivatives import jvp
from ...transforms.symbolic_zeros import SymbolicZero
from .stirling import log_of_complement

__all__: list[str] = []

Formula: TypeAlias = Callable[..., Array]
"""(point or probability, *shape parameters) -> value."""

Tail: TypeAlias = Callable[..., tuple[Array, Array]]
"""(point, *shape parameters) -> (log of a tail, True where it is the lower tail)."""

End: TypeAlias = float | Callable[..., Array]
"""An end of the support: a number, or a function of the shape parameters."""


def formulas_of_tail(
    logpdf: Formula, log_tail: Tail, low: End, high: End, symmetric: bool = False
) -> dict[str, Formula]:
    """cdf, sf, their logarithms and the quantiles, from the log of one tail."""
    function = probabilities(logpdf, log_tail)
    for name, of_upper in (("ppf", False), ("isf", True)):
        inverse_of = function["sf" if of_upper else "cdf"]
        function[name] = quantile_of_tail(
            logpdf, log_tail, inverse_of, low, high, of_upper, symmetric
        )
    return function


def probabilities(logpdf: Formula, log_tail: Tail) -> dict[str, Formula]:
    """cdf, sf and their logarithms, computed from the log of one tail."""
    return {
        name: probability(logpdf, log_tail, name.startswith("log"), name.endswith("sf"))
        for name in ("cdf", "sf", "logcdf", "logsf")
    }


def probability_of_lower(log: Array, lower: Array) -> Array:
    """The lower tail, from the log of the lower or upper tail."""
    return np.where(lower, np.exp(log), -np.expm1(log))


def log_of_lower(log: Array, lower: Array) -> Array:
    """The log of the lower tail, from the log of the lower or upper tail."""
    return np.where(lower, log, log_of_complement(np.where(lower, -1.0, log)))


def probability(logpdf: Formula, log_tail: Tail, logarithm: bool, upper: bool) -> Formula:
    """A tail or its logarithm. Its derivative with respect to the point is the density, without a
    loop."""
    of_lower = log_of_lower if logarithm else probability_of_lower

    def formula(y: Array, *shapes: Array) -> Array:
        log, lower = log_tail(y, *shapes)
        return of_lower(np.minimum(log, 0.0), lower != upper)

    function = custom_jvp(formula)

    def rule(primals: Any, tangents: Any) -> Any:
        y, *shapes = primals
        dy, *changes = tangents
        out = function(*primals)
        change = change_along(lambda *s: formula(y, *s), shapes, changes)
        total: Any = np.zeros_like(out) if change is None else change
        if not isinstance(dy, SymbolicZero):
            log = logpdf(y, *shapes)
            slope = np.exp(log - out if logarithm else log)
            total = total + dy * (-slope if upper else slope)
        return out, total

    function.defjvp(rule, symbolic_zeros=True)
    return function


def change_along(
    function: Callable[..., Array], shapes: Sequence[Array], changes: Sequence[Any]
) -> Array | None:
    """The change of a function of shape parameters, or `None` where no parameter changes."""
    positions = [i for i, d in enumerate(changes) if not isinstance(d, SymbolicZero)]
    if not positions:
        return None

    def of_differentiated(*values: Array) -> Array:
        all_values = [*shapes]
        for i, s in zip(positions, values, strict=True):
            all_values[i] = s
        return function(*all_values)

    values = tuple(shapes[i] for i in positions), tuple(changes[i] for i in positions)
    return jvp(of_differentiated, *values)[1]


def quantile_of_tail(
    logpdf: Formula,
    log_tail: Tail,
    inverse_of: Formula,
    low: End,
    high: End,
    of_upper: bool,
    symmetric: bool,
) -> Formula:
    """The quantile function of one tail, by bisection, with the derivative of an inverse.

    Args:
      inverse_of: `cdf`, or `sf` for `isf`.
      of_upper: True for `isf`.
      symmetric: whether the distribution is symmetric about 0. Then 0 is the median.
    """

    @custom_jvp
    def quantile(q: Array, *shapes: Array) -> Array:
        shape = np.broadcast_shapes(q.shape, *(s.shape for s in shapes))
        q = np.broadcast_to(q, shape)
        ends = [
            np.broadcast_to(np.asarray(e(*shapes) if callable(e) else e, q.dtype), shape)
            for e in (low, high)
        ]
        q_inside = np.where((q > 0) & (q < 1), q, 0.5)
        is_small = q_inside <= 0.5  # the smaller tail is more accurate
        target = np.where(is_small, q_inside, 1 - q_inside)
        lower = ~is_small if of_upper else is_small

        def predicate(y: Array) -> Array:
            log, is_lower = log_tail(y, *shapes)
            probability = probability_of_lower(np.minimum(log, 0.0), is_lower == lower)
            return np.where(lower, probability >= target, probability <= target)

        root = first_float(predicate, *ends)
        root = np.where(q == 0.5, 0.0, root) if symmetric else root
        root = np.where(q == 0, ends[of_upper], np.where(q == 1, ends[1 - of_upper], root))
        return np.where(np.isnan(q), q, root)

    def rule(primals: Any, tangents: Any) -> Any:
        y = quantile(*primals)
        (q, *shapes), (dq, *changes) = primals, tangents
        edge = ~((q > 0) & (q < 1))
        point = np.where(edge, 0.5, y)
        change = change_along(lambda *s: inverse_of(point, *s), shapes, changes)
        total: Any = np.zeros_like(y) if isinstance(dq, SymbolicZero) else dq
        total = total if change is None else total - change
        slope = np.where(edge, 0.0, np.exp(-logpdf(point, *shapes)))
        return y, total * (-slope if of_upper else slope)

    quantile.defjvp(rule, symbolic_zeros=True)
    return quantile


def ordinals(x: Array) -> Array:
    """Integers in the order of the floats."""
    kind = onp.dtype(f"int{dtypes.bit_width(x.dtype)}")
    bits = bitcast_convert_type(x, kind)
    return np.where(bits < 0, bits ^ int(onp.iinfo(kind).max), bits)


def floats_at(positions: Array, dtype: Any) -> Array:
    """The inverse of `ordinals`: the floats for its integers."""
    bits = np.where(positions < 0, positions ^ int(onp.iinfo(positions.dtype).max), positions)
    return bitcast_convert_type(bits, dtype)


def first_float(predicate: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The first float in (low, high] at which an increasing condition holds; `high` if none does.

    Args:
      predicate: a function from floats to booleans; both have the shape of `low` and `high`.
      low, high: arrays of one float dtype, 32 bits or more, and one shape.
    """
    dtype = low.dtype

    def step(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low_position, high_position = ends
        midpoint = (low_position >> 1) + (high_position >> 1) + (low_position & high_position & 1)
        condition = predicate(floats_at(midpoint, dtype))
        return np.where(condition, low_position, midpoint), np.where(
            condition, midpoint, high_position
        )

    ends = ordinals(low), ordinals(high)
    _, high_position = fori_loop(0, dtypes.bit_width(dtype), step, ends)
    return floats_at(high_position, dtype)
