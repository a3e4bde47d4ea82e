"""Quasi-Newton iterations: BFGS, which stores a matrix, and L-BFGS, which stores a few vectors.

Source: Nocedal and Wright, “Numerical optimization” (2006), algorithms 6.1 and 7.4, 7.5.
"""

from typing import Any, NamedTuple

from ... import numpy as np
from ...core.array import Array
from ...lax.loops import fori_loop, while_loop
from .line_search import Point, ValueAndGradient, search

__all__: list[str] = []


class State(NamedTuple):
    """The state of an iteration. `status` is 0 during the iteration and after convergence."""

    nit: Array
    evaluations: Array
    x: Array
    value: Array
    gradient: Array
    memory: Any
    converged: Array
    status: Array


def norm(x: Array, order: float) -> Array:
    """The norm of a vector."""
    if order == float("inf"):
        return np.max(np.abs(x), initial=0)
    if order == float("-inf"):
        return np.min(np.abs(x), initial=np.inf)
    if order == 2:
        return np.sqrt(np.sum(x * x))
    return np.sum(np.abs(x) ** order) ** (1 / order)


def line_step(
    f: ValueAndGradient, s: State, direction: Array, initial_step: Array, maxiter: int
) -> tuple[Point, Array, Array]:
    """A line search from the state along a direction, or along the negative gradient if the
    function increases in that direction. It also fails if the value at its end is not finite."""
    slope = np.vdot(s.gradient, direction)
    is_descent = slope < 0
    direction = np.where(is_descent, direction, -s.gradient)
    slope = np.where(is_descent, slope, -np.vdot(s.gradient, s.gradient))
    start = Point(np.zeros_like(slope), s.value, slope, s.gradient)
    point, failed, count = search(f, s.x, start, direction, initial_step, maxiter)
    failed = failed | ~np.isfinite(point.value)
    return Point(point.step * direction, *point[1:]), failed, count


def iterate(
    f: ValueAndGradient, x0: Array, memory: Any, step: Any, gtol: float, order: float
) -> State:
    """Repeats `step` until the state has converged or its status is not 0."""
    value, gradient = f(x0)
    zero = np.int32(0)
    converged = np.isfinite(value) & (norm(gradient, order) < gtol)
    start = State(zero, zero + 1, x0, value, gradient, memory, converged, zero)
    return while_loop(lambda s: ~s.converged & (s.status == 0), step, start)


def bfgs(
    f: ValueAndGradient,
    x0: Array,
    *,
    maxiter: int,
    norm_order: float,
    gtol: float,
    line_search_maxiter: int,
) -> State:
    """The final state of BFGS. Its memory approximates the inverse Hessian.

    Status: 0 converged, 1 maxiter, 3 the line search failed.
    """
    n = x0.shape[0]

    def step(s: State) -> State:
        inverse = s.memory
        direction = -np.dot(inverse, s.gradient)
        point, failed, count = line_step(
            f, s, direction, np.ones_like(s.value), line_search_maxiter
        )
        change, difference = point.step, point.gradient - s.gradient
        curvature = np.vdot(difference, change)
        positive = curvature > 0
        rho = 1 / np.where(positive, curvature, 1.0)
        left = np.eye(n, dtype=x0.dtype) - rho * change[:, None] * difference
        updated = np.dot(np.dot(left, inverse), left.T) + rho * change[:, None] * change
        inverse = np.where(positive & np.all(np.isfinite(updated)), updated, inverse)
        converged = ~failed & (norm(point.gradient, norm_order) < gtol)
        nit = s.nit + 1
        status = np.where(converged, 0, np.where(failed, 3, np.where(nit >= maxiter, 1, 0)))
        return State(
            nit, s.evaluations + count, s.x + change, point.value, point.gradient, inverse,
            converged, status.astype(np.int32),
        )  # fmt: skip

    return iterate(f, x0, np.eye(n, dtype=x0.dtype), step, gtol, norm_order)


class History(NamedTuple):
    """The last changes of x and of the gradient, the newest last. Unused rows have rho 0."""

    changes: Array
    differences: Array
    rho: Array
    scale: Array


def two_loops(h: History, gradient: Array) -> Array:
    """The product of the inverse Hessian of a history and a gradient: algorithm 7.4."""
    m = h.rho.shape[0]

    def backward_step(i: Array, carry: Any) -> Any:
        q, alphas = carry
        j = m - 1 - i
        alpha = h.rho[j] * np.vdot(h.changes[j], q)
        return q - alpha * h.differences[j], alphas.at[j].set(alpha)

    def forward_step(j: Array, carry: Any) -> Any:
        r, alphas = carry
        beta = h.rho[j] * np.vdot(h.differences[j], r)
        return r + (alphas[j] - beta) * h.changes[j], alphas

    q, alphas = fori_loop(0, m, backward_step, (gradient, np.zeros_like(h.rho)))
    return fori_loop(0, m, forward_step, (h.scale * q, alphas))[0]


def lbfgs(
    f: ValueAndGradient,
    x0: Array,
    *,
    maxiter: int,
    norm_order: float,
    maxcor: int,
    ftol: float,
    gtol: float,
    maxfun: int,
    maxls: int,
) -> State:
    """The final state of L-BFGS.

    Status: 0 converged, 1 maxiter, 2 maxfun, 4 the value changes by less than ftol, 5 the line
    search failed.
    """
    zeros = np.zeros((maxcor, x0.shape[0]), x0.dtype)
    history = History(zeros, zeros, np.zeros(maxcor, x0.dtype), np.ones((), x0.dtype))

    def step(s: State) -> State:
        h = s.memory
        gradient_norm = np.sqrt(np.vdot(s.gradient, s.gradient))
        first_step = np.minimum(1.0, 1 / np.where(gradient_norm > 0, gradient_norm, 1.0))
        initial_step = np.where(s.nit == 0, first_step, 1.0)
        point, failed, count = line_step(f, s, -two_loops(h, s.gradient), initial_step, maxls)
        change, difference = point.step, point.gradient - s.gradient
        curvature = np.vdot(difference, change)
        is_positive = curvature > 0
        rho = 1 / np.where(is_positive, curvature, 1.0)
        scale = curvature / np.where(is_positive, np.vdot(difference, difference), 1.0)

        def push(old_values: Array, new_value: Array) -> Array:
            history = np.concatenate([old_values[1:], new_value[None]])
            return np.where(is_positive, history, old_values)

        h = History(
            push(h.changes, change), push(h.differences, difference), push(h.rho, rho),
            np.where(is_positive, scale, h.scale),
        )  # fmt: skip
        nit, evaluations = s.nit + 1, s.evaluations + count
        converged = ~failed & (norm(point.gradient, norm_order) < gtol)
        largest = np.maximum(np.maximum(np.abs(s.value), np.abs(point.value)), 1.0)
        has_stalled = (s.value - point.value) <= ftol * largest
        status = np.where(nit >= maxiter, 1, np.where(evaluations >= maxfun, 2, 0))
        status = np.where(failed, 5, np.where(has_stalled, 4, status))
        return State(
            nit, evaluations, s.x + change, point.value, point.gradient, h,
            converged, np.where(converged, 0, status).astype(np.int32),
        )  # fmt: skip

    return iterate(f, x0, history, step, gtol, norm_order)
