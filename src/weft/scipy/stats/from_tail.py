"""Functions that follow from the logarithm of one tail: cdf, sf, their logarithms, and quantiles.

The derivative in the point is the density, and that of a quantile follows from the equation which
it solves; those in parameters are the tail's. Knows no distribution by name.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ... import numpy as np
from ...core.array import Array
from ...lax.solvers import zero_tangent
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
    tail = with_density(logpdf, raw)

    def cdf(y: Array, *shapes: Array) -> Array:
        log, lower = tail(y, *shapes)
        return np.where(lower, np.exp(log), -np.expm1(log))

    def sf(y: Array, *shapes: Array) -> Array:
        log, lower = tail(y, *shapes)
        return np.where(lower, -np.expm1(log), np.exp(log))

    def logcdf(y: Array, *shapes: Array) -> Array:
        log, lower = tail(y, *shapes)
        return np.where(lower, log, log_of_complement(np.where(lower, -1.0, log)))

    def logsf(y: Array, *shapes: Array) -> Array:
        log, lower = tail(y, *shapes)
        return np.where(lower, log_of_complement(np.where(lower, log, -1.0)), log)

    made = {"cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf}
    for name, of_upper in (("ppf", False), ("isf", True)):
        made[name] = solved(logpdf, tail, low, high, of_upper, symmetric)
    return made


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
    return jvp(of_some, *some)[1]  # type: ignore[no-any-return]


def with_density(logpdf: Formula, raw: Tail) -> Tail:
    """A tail whose derivative in the point is the density."""

    def capped(y: Array, *shapes: Array) -> tuple[Array, Array]:
        log, lower = raw(y, *shapes)
        return np.minimum(log, 0.0), lower

    tail = custom_jvp(capped)

    def rule(primals: Any, tangents: Any) -> Any:
        y, *shapes = primals
        dy, *changes = tangents
        log, lower = tail(*primals)
        total: Any = along(lambda *s: capped(y, *s)[0], shapes, changes)
        total = np.zeros_like(log) if total is None else total
        if not isinstance(dy, SymbolicZero):
            slope = np.exp(logpdf(y, *shapes) - log)
            total = total + dy * np.where(lower, slope, -slope)
        return (log, lower), (total, zero_tangent(lower))

    tail.defjvp(rule, symbolic_zeros=True)
    return tail


def solved(
    logpdf: Formula, tail: Tail, low: End, high: End, of_upper: bool, symmetric: bool
) -> Formula:
    """The quantile function of one tail, by bisection, with the derivative of an inverse.

    Args:
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
            log, is_lower = tail(y, *shapes)
            found = np.where(is_lower == lower, np.exp(log), -np.expm1(log))
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

        def probability(*s: Array) -> Array:
            log, is_lower = tail(point, *s)
            return np.where(is_lower != of_upper, np.exp(log), -np.expm1(log))

        change = along(probability, shapes, changes)
        total: Any = np.zeros_like(y) if isinstance(dq, SymbolicZero) else dq
        total = total if change is None else total - change
        slope = np.where(edge, 0.0, np.exp(-logpdf(point, *shapes)))
        return y, total * (-slope if of_upper else slope)

    quantile.defjvp(rule, symbolic_zeros=True)
    return quantile
