"""Functions that follow from the logarithm of one tail: cdf, sf, their logarithms, and quantiles.

The derivative in the point is the density, and that of a quantile follows from the equation which
it solves; those in parameters are the tail's. Knows no distribution by name.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ... import numpy as np
from ...core.array import Array
from ...transforms.custom_derivatives import custom_jvp
from ...transforms.linear_maps import jvp
from ...transforms.symbolic_zeros import SymbolicZero
from .solver import first_float
from .stirling import log_of_complement

__all__: list[str] = []

Formula: TypeAlias = Callable[..., Array]
"""(point or probability, *shape parameters) -> value."""

Tail: TypeAlias = Callable[..., tuple[Array, Array]]
"""(point, *shape parameters) -> (log of a tail, True where that is the lower one)."""

End: TypeAlias = float | Callable[..., Array]
"""An end of the support: a number, or a function of the shape parameters."""


def follows(
    logpdf: Formula, raw: Tail, low: End, high: End, symmetric: bool = False
) -> dict[str, Formula]:
    """cdf, sf, their logarithms and the quantiles, from the log of one tail."""
    made = probabilities(logpdf, raw)
    for name, of_upper in (("ppf", False), ("isf", True)):
        inverse_of = made["sf" if of_upper else "cdf"]
        made[name] = solved(logpdf, raw, inverse_of, low, high, of_upper, symmetric)
    return made


def probabilities(logpdf: Formula, raw: Tail) -> dict[str, Formula]:
    """cdf, sf and their logarithms, from the log of one tail."""
    return {
        name: probability(logpdf, raw, name.startswith("log"), name.endswith("sf"))
        for name in ("cdf", "sf", "logcdf", "logsf")
    }


def probability_of_lower(log: Array, lower: Array) -> Array:
    """The lower tail, from the log of it or of the upper one."""
    return np.where(lower, np.exp(log), -np.expm1(log))


def log_of_lower(log: Array, lower: Array) -> Array:
    """The log of the lower tail, from that or from the log of the upper one."""
    return np.where(lower, log, log_of_complement(np.where(lower, -1.0, log)))


def probability(logpdf: Formula, raw: Tail, logarithm: bool, upper: bool) -> Formula:
    """A tail or its logarithm, whose derivative in the point is from the density, with no loop."""
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
    asked = [i for i, d in enumerate(changes) if not isinstance(d, SymbolicZero)]
    if not asked:
        return None

    def of_some(*some: Array) -> Array:
        found = [*shapes]
        for i, s in zip(asked, some, strict=True):
            found[i] = s
        return function(*found)

    some = tuple(shapes[i] for i in asked), tuple(changes[i] for i in asked)
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
      inverse_of: `cdf`, or for `isf` the function `sf`.
      of_upper: for `isf`.
      symmetric: the distribution is so about 0, which then is the median.
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
        small = within <= 0.5  # the smaller tail has the digits
        target = np.where(small, within, 1 - within)
        lower = ~small if of_upper else small

        def holds(y: Array) -> Array:
            log, is_lower = raw(y, *shapes)
            found = probability_of_lower(np.minimum(log, 0.0), is_lower == lower)
            return np.where(lower, found >= target, found <= target)

        found = first_float(holds, *ends)
        found = np.where(q == 0.5, 0.0, found) if symmetric else found
        found = np.where(q == 0, ends[of_upper], np.where(q == 1, ends[1 - of_upper], found))
        return np.where(np.isnan(q), q, found)

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
