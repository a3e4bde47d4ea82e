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


def follows(
    logpdf: Formula, raw: Tail, low: End, high: End, symmetric: bool = False
) -> dict[str, Formula]:
    """cdf, sf, their logarithms and the quantiles, from the log of one tail."""
    function = probabilities(logpdf, raw)
    for name, of_upper in (("ppf", False), ("isf", True)):
        inverse_of = function["sf" if of_upper else "cdf"]
        function[name] = solved(logpdf, raw, inverse_of, low, high, of_upper, symmetric)
    return function


def probabilities(logpdf: Formula, raw: Tail) -> dict[str, Formula]:
    """cdf, sf and their logarithms, computed from the log of one tail."""
    return {
        name: probability(logpdf, raw, name.startswith("log"), name.endswith("sf"))
        for name in ("cdf", "sf", "logcdf", "logsf")
    }


def probability_of_lower(log: Array, lower: Array) -> Array:
    """The lower tail, from the log of the lower or upper tail."""
    return np.where(lower, np.exp(log), -np.expm1(log))


def log_of_lower(log: Array, lower: Array) -> Array:
    """The log of the lower tail, from the log of the lower or upper tail."""
    return np.where(lower, log, log_of_complement(np.where(lower, -1.0, log)))


def probability(logpdf: Formula, raw: Tail, logarithm: bool, upper: bool) -> Formula:
    """A tail or its logarithm. Its derivative with respect to the point is the density, without a
    loop."""
    of_lower = log_of_lower if logarithm else probability_of_lower

    def formula(y: Array, *shapes: Array) -> Array:
        log, lower = raw(y, *shapes)
        return of_lower(np.minimum(log, 0.0), lower != upper)

    function = custom_jvp(formula)

    def rule(primals: Any, tangents: Any) -> Any:
        y, *shapes = primals
        dy, *changes = tangents
        out = function(*primals)
        change = along(lambda *s: formula(y, *s), shapes, changes)
        total: Any = np.zeros_like(out) if change is None else change
        if not isinstance(dy, SymbolicZero):
            log = logpdf(y, *shapes)
            slope = np.exp(log - out if logarithm else log)
            total = total + dy * (-slope if upper else slope)
        return out, total

    function.defjvp(rule, symbolic_zeros=True)
    return function


def along(
    function: Callable[..., Array], shapes: Sequence[Array], changes: Sequence[Any]
) -> Array | None:
    """The change of a function of shape parameters, or `None` where no parameter changes."""
    differentiated = [i for i, d in enumerate(changes) if not isinstance(d, SymbolicZero)]
    if not differentiated:
        return None

    def of_some(*some: Array) -> Array:
        varied = [*shapes]
        for i, s in zip(differentiated, some, strict=True):
            varied[i] = s
        return function(*varied)

    some = tuple(shapes[i] for i in differentiated), tuple(changes[i] for i in differentiated)
    return jvp(of_some, *some)[1]


def solved(
    logpdf: Formula,
    raw: Tail,
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
        within = np.where((q > 0) & (q < 1), q, 0.5)
        small = within <= 0.5  # the smaller tail is more accurate
        target = np.where(small, within, 1 - within)
        lower = ~small if of_upper else small

        def holds(y: Array) -> Array:
            log, is_lower = raw(y, *shapes)
            probability = probability_of_lower(np.minimum(log, 0.0), is_lower == lower)
            return np.where(lower, probability >= target, probability <= target)

        root = first_float(holds, *ends)
        root = np.where(q == 0.5, 0.0, root) if symmetric else root
        root = np.where(q == 0, ends[of_upper], np.where(q == 1, ends[1 - of_upper], root))
        return np.where(np.isnan(q), q, root)

    def rule(primals: Any, tangents: Any) -> Any:
        y = quantile(*primals)
        (q, *shapes), (dq, *changes) = primals, tangents
        edge = ~((q > 0) & (q < 1))
        point = np.where(edge, 0.5, y)
        change = along(lambda *s: inverse_of(point, *s), shapes, changes)
        total: Any = np.zeros_like(y) if isinstance(dq, SymbolicZero) else dq
        total = total if change is None else total - change
        slope = np.where(edge, 0.0, np.exp(-logpdf(point, *shapes)))
        return y, total * (-slope if of_upper else slope)

    quantile.defjvp(rule, symbolic_zeros=True)
    return quantile


def places(x: Array) -> Array:
    """Integers in the order of the floats."""
    kind = onp.dtype(f"int{dtypes.bit_width(x.dtype)}")
    bits = bitcast_convert_type(x, kind)
    return np.where(bits < 0, bits ^ int(onp.iinfo(kind).max), bits)


def at_places(places: Array, dtype: Any) -> Array:
    """The inverse of `places`: the floats for its integers."""
    bits = np.where(places < 0, places ^ int(onp.iinfo(places.dtype).max), places)
    return bitcast_convert_type(bits, dtype)


def first_float(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The first float in (low, high] at which an increasing condition holds; `high` if none does.

    Args:
      holds: a function from floats to booleans; both have the shape of `low` and `high`.
      low, high: arrays of one float dtype, 32 bits or more, and one shape.
    """
    dtype = low.dtype

    def step(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        below, above = ends
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        condition = holds(at_places(middle, dtype))
        return np.where(condition, below, middle), np.where(condition, middle, above)

    ends = places(low), places(high)
    _, above = fori_loop(0, dtypes.bit_width(dtype), step, ends)
    return at_places(above, dtype)
