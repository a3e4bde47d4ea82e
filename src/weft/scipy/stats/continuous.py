"""Continuous distributions from a few formulas of their standard form: location 0 and scale 1.

A distribution gives the logarithm of its density and its support, and either closed forms of the
other functions or the logarithm of one tail. The other functions follow from a tail; bisection
finds the quantiles. All distributions treat points outside the support, its ends and invalid
parameters in the same way.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec

from ... import numpy as np
from ...core.array import Array
from .arguments import Arguments, public
from .docstrings import described
from .probabilities import End, Formula, Tail, formulas_of_tail

__all__: list[str] = []

P = ParamSpec("P")
Q = ParamSpec("Q")

CLOSED = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")


def positive(*shapes: Array) -> Array:
    """True where all shape parameters are positive."""
    valid: Any = True
    for s in shapes:
        valid = (s > 0) & valid
    return valid


class Continuous(Generic[P, Q]):
    """The public functions of a continuous distribution.

    Args:
      module: the name of the distribution's module.
      at, of: the signatures at a point and at a probability; each returns its arguments.
      texts: the texts for docstrings: see `docstrings.described`.
      logpdf: the log of the density inside the support.
      low, high: the ends of the support.
      inside: a point inside the support, which replaces points outside in formulas.
      valid: (*shapes) -> True where the shape parameters are allowed.
      tail: the log of a tail, from which the functions missing in `closed` follow.
      symmetric: whether the distribution is symmetric about 0.
      invertible: (*shapes) -> True where probabilities between 0 and 1 have quantiles.
      closed: formulas inside the support, by name: those in `CLOSED`, and `pdf`. They also hold at
        an infinite end.
    """

    def __init__(
        self,
        module: str,
        at: Callable[P, Arguments],
        of: Callable[Q, Arguments],
        texts: Mapping[str, str],
        logpdf: Formula,
        *,
        low: End = -math.inf,
        high: End = math.inf,
        inside: End = 0.5,
        valid: Callable[..., Array] = positive,
        tail: Tail | None = None,
        symmetric: bool = False,
        invertible: Callable[..., Array] | None = None,
        **closed: Formula,
    ) -> None:
        self.module, self.at, self.of, self.texts = module, at, of, texts
        self.low, self.high, self.inside, self.valid = low, high, inside, valid
        self.closed, self.invertible = closed, invertible
        self.log_density = logpdf
        if tail is not None:
            self.closed = {**formulas_of_tail(logpdf, tail, low, high, symmetric), **closed}
        density = self.closed.get("pdf", lambda y, *shapes: np.exp(logpdf(y, *shapes)))
        loops = tail is not None

        def point(
            name: str, formula: Formula, value_below: float, value_above: float
        ) -> Callable[P, Array]:
            rule = self.at_points(formula, value_below, value_above, name in closed)
            return public(module, name, at, rule, described(name, module, texts), loops)

        self.logpdf: Callable[P, Array] = public(
            module, "logpdf", at, self.densities(logpdf, True), described("logpdf", module, texts)
        )
        self.pdf: Callable[P, Array] = public(
            module, "pdf", at, self.densities(density, False), described("pdf", module, texts)
        )
        self.cdf = point("cdf", self.closed["cdf"], 0, 1)
        self.sf = point("sf", self.closed["sf"], 1, 0)
        self.logcdf = point("logcdf", self.closed["logcdf"], -math.inf, 0)
        self.logsf = point("logsf", self.closed["logsf"], 0, -math.inf)
        self.ppf: Callable[Q, Array] = self.quantile("ppf", loops and "ppf" not in closed)
        self.isf: Callable[Q, Array] = self.quantile("isf", loops and "isf" not in closed)

    def quantile(self, name: str, solved: bool) -> Callable[Q, Array]:
        """`ppf` or `isf`."""
        rule, doc = self.at_probabilities(name), described(name, self.module, self.texts)
        return public(self.module, name, self.of, rule, doc, solved)

    def parameters(self, arguments: Any, standard: bool) -> tuple[list[Any], Any, Any, Any]:
        """(shapes, location, scale, where they are invalid) of the values after the first."""
        if standard:
            is_invalid = ~np.asarray(self.valid(*arguments)) if arguments else None
            return list(arguments), 0.0, 1.0, is_invalid
        *shapes, loc, scale = arguments
        is_valid = scale > 0
        return shapes, loc, np.where(is_valid, scale, 1.0), ~(is_valid & self.valid(*shapes))

    def support(self, shapes: list[Any]) -> tuple[Any, Any, Any]:
        """The ends of the support, and a point inside."""
        low, high, inner_point = [
            end(*shapes) if callable(end) else end for end in (self.low, self.high, self.inside)
        ]
        return low, high, inner_point

    def densities(self, formula: Formula, logarithm: bool) -> Callable[..., Any]:
        """The density, or its logarithm, from its formula inside the support."""

        def rule(x: Any, *arguments: Any, standard: bool) -> Any:
            shapes, loc, scale, is_invalid = self.parameters(arguments, standard)
            y = x if standard else (x - loc) / scale
            low, high, inner_point = self.support(shapes)
            is_outside = outside_support(low != -math.inf, y, np.less, low, high, np.greater)
            out = formula(
                y if is_outside is None else np.where(is_outside, inner_point, y), *shapes
            )
            if not standard:
                out = out - np.log(scale) if logarithm else out / scale
            if is_outside is not None:
                out = np.where(is_outside, -math.inf if logarithm else 0.0, out)
            return out if is_invalid is None else np.where(is_invalid, math.nan, out)

        return rule

    def at_points(
        self, formula: Formula, value_below: float, value_above: float, closed: bool
    ) -> Callable[..., Any]:
        """A function of points from its formula inside the support and its values outside."""

        def rule(x: Any, *arguments: Any, standard: bool) -> Any:
            shapes, loc, scale, is_invalid = self.parameters(arguments, standard)
            y = x if standard else (x - loc) / scale
            low, high, inner_point = self.support(shapes)
            ends = []
            if not (closed and low == -math.inf):
                ends.append((y <= low, value_below))
            if not (closed and high == math.inf):
                ends.append((y >= high, value_above))
            for is_outside, _ in ends:
                y = np.where(is_outside, inner_point, y)
            out = formula(y, *shapes)
            for is_outside, value in ends:
                out = np.where(is_outside, value, out)
            return out if is_invalid is None else np.where(is_invalid, math.nan, out)

        return rule

    def at_probabilities(self, name: str) -> Callable[..., Any]:
        """A function of probabilities from its formula on [0, 1]."""
        formula = self.closed[name]

        def rule(q: Any, *arguments: Any, standard: bool) -> Any:
            shapes, loc, scale, is_invalid = self.parameters(arguments, standard)
            has_no_quantile = (q < 0) | (q > 1)
            if self.invertible is not None:
                has_no_quantile = has_no_quantile | ((q > 0) & (q < 1) & ~self.invertible(*shapes))
            out = formula(np.where(has_no_quantile, 0.5, q), *shapes)
            if not standard:
                out = out * scale + loc
            return np.where(
                has_no_quantile if is_invalid is None else has_no_quantile | is_invalid,
                math.nan,
                out,
            )

        return rule


def outside_support(
    has_low_end: bool, y: Any, compare_low: Any, low: Any, high: Any, compare_high: Any
) -> Any:
    """True outside the support; `None` if the support is the real line."""
    if not isinstance(high, float) or high != math.inf:
        return compare_low(y, low) | compare_high(y, high)
    return compare_low(y, low) if has_low_end else None
