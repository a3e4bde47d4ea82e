"""Discrete distributions from a few formulas at location 0, as in `continuous`.

A distribution gives the logarithm of its probabilities, its support, and the logarithm of one tail;
a search finds the quantiles.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.solvers import zero_tangent
from ...transforms.custom_derivatives import custom_jvp
from .arguments import Arguments, public
from .docstrings import described
from .probabilities import End, Formula, Tail, first_float, log_of_lower, probability_of_lower

__all__: list[str] = []

P = ParamSpec("P")
Q = ParamSpec("Q")


class Discrete(Generic[P, Q]):
    """The public functions of a discrete distribution.

    Args:
      module: the name of the distribution's module.
      at, of: the signatures at a number and at a probability; each returns its arguments.
      texts: the texts for docstrings: see `docstrings.described`.
      logpmf: the log of the probability of an integer in the support.
      tail: the log of a tail, for integers in the support except the last one.
      valid: (*shapes) -> True where the shape parameters are allowed.
      low, high: the ends of the support.
      pmf: the probabilities, unless they follow from their logarithms.
      loops: whether the tail needs loops.
      closed: formulas of cdf, sf and their logarithms, by name; others follow from the tail.
      quantile: (q, True for `isf`, *shapes) -> the quantile; by default a search finds it.
    """

    def __init__(
        self,
        module: str,
        at: Callable[P, Arguments],
        of: Callable[Q, Arguments],
        texts: Mapping[str, str],
        logpmf: Formula,
        tail: Tail,
        valid: Callable[..., Array],
        *,
        low: float = 0.0,
        high: End = math.inf,
        pmf: Formula | None = None,
        loops: bool = True,
        closed: Mapping[str, Formula] | None = None,
        quantile: Callable[..., Array] | None = None,
    ) -> None:
        self.quantile, self.closed = quantile, closed or {}
        self.low, self.high, self.valid, self.tail = low, high, valid, tail
        mass = pmf or (lambda k, *shapes: np.exp(logpmf(k, *shapes)))

        def at_numbers(name: str, rule: Callable[..., Any], slow: bool) -> Callable[P, Array]:
            return public(module, name, at, rule, described(name, module, texts), slow)

        def at_probabilities(name: str, of_upper: bool) -> Callable[Q, Array]:
            rule = self.quantiles(of_upper)
            slow = quantile is None
            return public(module, name, of, rule, described(name, module, texts), slow)

        infinity = math.inf
        self.pmf = at_numbers("pmf", self.masses(mass, 0.0), False)
        self.logpmf = at_numbers("logpmf", self.masses(logpmf, -infinity), False)
        self.cdf = at_numbers("cdf", self.sums("cdf", 0, 1), loops)
        self.sf = at_numbers("sf", self.sums("sf", 1, 0), loops)
        self.logcdf = at_numbers("logcdf", self.sums("logcdf", -infinity, 0), loops)
        self.logsf = at_numbers("logsf", self.sums("logsf", 0, -infinity), loops)
        self.ppf = at_probabilities("ppf", False)
        self.isf = at_probabilities("isf", True)

    def parts(self, x: Any, arguments: Any, standard: bool) -> tuple[Any, Any, list[Any], Any, Any]:
        """(x without the location, location, shapes, the last number, where they are invalid)."""
        *shapes, loc = (*arguments, 0.0) if standard else arguments
        high = self.high(*shapes) if callable(self.high) else self.high
        return x - loc, loc, shapes, high, ~self.valid(*shapes)

    def masses(self, formula: Formula, outside_value: float) -> Callable[..., Any]:
        """Probabilities from their formula inside the support."""

        def rule(x: Any, *arguments: Any, standard: bool) -> Any:
            k, _, shapes, high, is_invalid = self.parts(x, arguments, standard)
            is_outside = (k < self.low) | (k > high) | (k != np.floor(k)) | (k == math.inf)
            is_nan = is_invalid | np.isnan(k)
            k_inside = np.where(is_outside | is_invalid, self.low, k)
            return np.where(
                is_nan, math.nan, np.where(is_outside, outside_value, formula(k_inside, *shapes))
            )

        return rule

    def sums(self, name: str, value_below: float, value_above: float) -> Callable[..., Any]:
        """`cdf`, `sf` or one of their logarithms, including the values left and right of the
        support."""
        of_lower = log_of_lower if name.startswith("log") else probability_of_lower

        def formula(k: Array, *shapes: Array) -> Array:
            log, lower = self.tail(k, *shapes)
            return of_lower(np.minimum(log, 0.0), ~lower if name.endswith("sf") else lower)

        rule_inside = self.closed.get(name, formula)

        def rule(x: Any, *arguments: Any, standard: bool) -> Any:
            k, _, shapes, high, is_invalid = self.parts(x, arguments, standard)
            is_below, is_above = k < self.low, k >= high
            k_inside = np.where(is_below | is_above | is_invalid, self.low, np.floor(k))
            out = np.where(
                is_below,
                value_below,
                np.where(is_above, value_above, rule_inside(k_inside, *shapes)),
            )
            return np.where(is_invalid | np.isnan(k), math.nan, out)

        return rule

    def quantiles(self, of_upper: bool) -> Callable[..., Any]:
        """`ppf` or `isf`: the first number whose lower tail is at least q, or upper tail at most q.

        Tails and q are rounded, so values that differ only by rounding count as equal.
        """

        @custom_jvp
        def search(q: Array, high: Array, *shapes: Array) -> Array:
            unit_roundoff = float(dtypes.finfo(q.dtype).eps) / 2
            is_small = q <= 0.5
            target = np.where(is_small, q, 1 - q)
            lower = ~is_small if of_upper else is_small

            def predicate(y: Array) -> Array:
                k = np.floor(y)
                is_below, is_above = k < self.low, k >= high
                log, is_lower = self.tail(np.where(is_below | is_above, self.low, k), *shapes)
                value, parameters = np.exp(log), -np.expm1(log)
                cdf, sf = (
                    np.where(is_lower, value, parameters),
                    np.where(is_lower, parameters, value),
                )
                slack = unit_roundoff * np.where(is_small, (4 - 2 * np.log(target)) * target, 1.0)
                is_enough = np.where(lower, cdf >= target - slack, sf <= target + slack)
                return ~is_below & (is_above | is_enough)

            quantile = first_float(predicate, np.full_like(q, self.low - 1), high)
            return np.rint(quantile) + 0.0  # processors may flush the smallest denormal to 0

        search.defjvp(lambda primals, tangents: ((y := search(*primals)), zero_tangent(y)))

        def rule(q: Any, *parameters: Any, standard: bool) -> Any:
            _, loc, shapes, high, is_invalid = self.parts(q, parameters, standard)
            if self.quantile is None:
                is_inside = (q > 0) & (q < 1)
                shape = np.broadcast_shapes(q.shape, *(s.shape for s in shapes))
                q_inside = np.broadcast_to(np.where(is_inside, q, 0.5), shape)
                k_last = np.broadcast_to(np.asarray(high, q.dtype), shape)
                quantiles = search(q_inside, k_last, *shapes)
            else:
                k_last, quantiles = high, self.quantile(q, of_upper, *shapes)
            k_before = self.low - 1
            zero, one = (k_last, k_before) if of_upper else (k_before, k_last)
            quantiles = np.where(q == 0, zero, np.where(q == 1, one, quantiles))
            is_valid = (q >= 0) & (q <= 1) & ~is_invalid
            return np.where(is_valid, quantiles + loc, math.nan)

        return rule
