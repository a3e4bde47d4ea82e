"""Line search: a step along a direction that satisfies the strong Wolfe conditions.

One bounded loop first brackets such a step, then narrows the bracket by interpolation. So it can be
vectorised. Source: Nocedal and Wright, “Numerical optimization” (2006), 3.5 and 3.6.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from ... import dtypes, numpy as np
from ...core.array import Array
from ...lax.loops import while_loop
from ...tree_util import tree_map

__all__: list[str] = []

DECREASE, CURVATURE = 1e-4, 0.9  # the constants c1, c2 of the conditions

ValueAndGradient: TypeAlias = Callable[[Array], tuple[Array, Array]]


class Point(NamedTuple):
    """A step, with the function's value, slope and gradient there."""

    step: Array
    value: Array
    slope: Array
    gradient: Array


class Search(NamedTuple):
    """The state of a search: `low` is the best step so far, `high` the other end of the bracket.

    Before there is a bracket, `low` is the step before the trial step, and `high` is unused.
    """

    evaluations: Array
    trial: Array
    low: Point
    high: Point
    bracketed: Array
    done: Array


def select_tree(condition: Array, x: Any, y: Any) -> Any:
    """One of two trees."""
    return tree_map(lambda a, b: np.where(condition, a, b), x, y)


def cubic_minimizer(low: Point, high: Point) -> Array:
    """The minimizer of the cubic through two points and slopes, kept a twentieth of the bracket
    away from both ends; the midpoint if there is none.

    Source: Nocedal and Wright, equation 3.59.
    """
    width = high.step - low.step
    nonzero_width = np.where(width == 0, 1.0, width)
    d1 = low.slope + high.slope - 3 * (low.value - high.value) / -nonzero_width
    discriminant = d1 * d1 - low.slope * high.slope
    d2 = np.sign(nonzero_width) * np.sqrt(np.where(discriminant > 0, discriminant, 0.0))
    denominator = high.slope - low.slope + 2 * d2
    minimizer = high.step - nonzero_width * (high.slope + d2 - d1) / np.where(
        denominator == 0, 1.0, denominator
    )
    fraction = (minimizer - low.step) / nonzero_width
    is_valid = (discriminant >= 0) & np.isfinite(fraction)
    return low.step + width * np.where(is_valid, np.clip(fraction, 0.05, 0.95), 0.5)


def search(
    value_and_gradient: ValueAndGradient,
    x: Array,
    start: Point,
    direction: Array,
    first_step: Array,
    maxiter: int,
) -> tuple[Point, Array, Array]:
    """(the final point, True if the search failed, the number of evaluations).

    Args:
      start: the point at step 0; its slope is negative.
      first_step: the step to try first.
      maxiter: the maximum number of evaluations. If no step satisfies both conditions by then, a
        step that decreases the function sufficiently is accepted.
    """
    rounding = 4 * float(dtypes.finfo(x.dtype).eps) * np.abs(start.value)

    def evaluated(step: Array) -> Point:
        value, gradient = value_and_gradient(x + step * direction)
        return Point(step, value, np.vdot(gradient, direction), gradient)

    def step(s: Search) -> Search:
        p = evaluated(s.trial)
        is_sufficient = p.value <= start.value + DECREASE * p.step * start.slope + rounding
        is_lower = (p.value < s.low.value) | (s.low.step == 0) | (p.value <= s.low.value + rounding)
        is_accepted = is_sufficient & is_lower
        is_flat = np.abs(p.slope) <= -CURVATURE * start.slope
        is_done = is_accepted & is_flat
        # the next bracket: [low, p] if p is too high, else p is low, and high is where it falls to
        is_falling = np.where(s.bracketed, p.slope * (s.high.step - s.low.step) >= 0, p.slope >= 0)
        high = select_tree(~is_accepted, p, select_tree(is_falling, s.low, s.high))
        low = select_tree(is_accepted, p, s.low)
        bracketed = s.bracketed | ~is_accepted | is_falling
        trial = np.where(bracketed, cubic_minimizer(low, high), 2 * p.step)
        return Search(s.evaluations + 1, trial, low, high, bracketed, is_done)

    def is_unfinished(s: Search) -> Array:
        return ~s.done & (s.evaluations < maxiter)

    no = np.asarray(False)
    begin = Search(np.int32(0), first_step, start, start, no, no)
    end: Search = while_loop(is_unfinished, step, begin)
    higher = end.low.value >= start.value
    return end.low, ~end.done & ((end.low.step == 0) | higher), end.evaluations
