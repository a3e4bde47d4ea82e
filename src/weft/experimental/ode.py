"""odeint: ordinary differential equations with adaptive steps; gradients by the adjoint equation.

The method is the pair of orders 5 and 4 of Dormand & Prince (1980), with the continuous extension
of order 4 by Shampine (1986), as in Hairer, Nørsett & Wanner, Solving Ordinary Differential
Equations I, 2nd edition (1993), II.5 and II.6. The choice of step sizes follows II.4. Internally,
the state is one vector, and time increases.
"""

import math
import numbers
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, lax, numpy as wnp
from ..core.array import Tracer, as_value
from ..core.source import located
from ..errors import ShapeError
from ..transforms.arguments import check_callable
from ..transforms.closures import hoisted
from ..transforms.custom_derivatives import custom_vjp
from ..transforms.derivatives import vjp
from ..tree_util import tree_flatten, tree_map, tree_unflatten
from ..typing import PyTree

__all__ = ["odeint"]

Slope = Callable[..., Any]
"""The derivative of a vector: slope(y, t, params, fixed)."""

# Dormand & Prince's coefficients: nodes and stages, the last of which gives the result of order 5
# and is the first of the next step; the differences to the weights of order 4; Shampine's.
NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0, 0.0),
    (44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0, 0.0),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0, 0.0),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0, 0.0),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
)
ERRORS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
UNLIMITED = 10_000_000
"""The limit of steps between two times for `mxstep=inf`, so that every call ends."""


class Options(NamedTuple):
    """The numbers that control the steps."""

    rtol: float
    atol: float
    mxstep: int
    hmax: float


class Progress(NamedTuple):
    """The state of the integration.

    Attributes:
      start, width: the beginning and length of the last step.
      t, y, f: the time, the state and its derivative.
      h: the length of the next step to try.
      dense: the coefficients of the last step's polynomial.
      steps: the number of steps towards the next output time, including rejected ones.
      failed: True if the integration cannot continue.
    """

    start: Any
    width: Any
    t: Any
    y: Any
    f: Any
    h: Any
    dense: Any
    steps: Any
    failed: Any


class Layout(NamedTuple):
    """Converts trees of arrays to vectors and back. Half precision becomes float32."""

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    dtype: Any

    def vector(self, tree: PyTree) -> Any:
        """All elements as one vector."""
        leaves = [wnp.ravel(wnp.asarray(x)).astype(self.dtype) for x in tree_flatten(tree)[0]]
        return wnp.concatenate(leaves) if leaves else wnp.zeros((0,), self.dtype)

    def tree(self, vector: Any) -> PyTree:
        """The tree of arrays from a vector. Leading axes of the vector are kept in each array."""
        leaves, at, front = [], 0, vector.shape[:-1]
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            part = vector[..., at : at + math.prod(shape)].reshape(front + shape)
            leaves.append((part if dtypes.is_complex(dtype) else wnp.real(part)).astype(dtype))
            at += math.prod(shape)
        return tree_unflatten(self.treedef, leaves)


def layout_of(tree: PyTree) -> Layout:
    """The layout for arrays like these."""
    leaves, treedef = tree_flatten(tree)
    avals = [as_value(x).aval for x in leaves]
    wide = [np.dtype("float32") if a.dtype.itemsize < 4 else a.dtype for a in avals]
    dtype = dtypes.result_type(*wide) if wide else dtypes.default_float()
    return Layout(treedef, tuple(a.shape for a in avals), tuple(wide), dtype)


def combination(weights: Any, slopes: Any) -> Any:
    """A weighted sum of rows. (Not a dot product, because accelerators would round its factors.)"""
    weights = wnp.asarray(weights, wnp.real(slopes).dtype)
    return wnp.sum(weights[:, None] * slopes, 0)


def norm(x: Any, scale: Any) -> Any:
    """The root of the mean square of x / scale."""
    return wnp.sqrt(wnp.sum(wnp.abs(x / scale) ** 2) / max(x.size, 1))


def first_step(slope: Slope, y: Any, f: Any, t: Any, options: Options) -> Any:
    """A length for the first step, from the sizes of the first two derivatives."""
    scale = options.atol + options.rtol * wnp.abs(y)
    d0, d1 = norm(y, scale), norm(f, scale)
    h0 = wnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    ahead = slope(y + h0 * f, t + h0.astype(t.dtype))
    d2 = norm(ahead - f, scale) / h0
    largest = wnp.maximum(d1, d2)
    h1 = wnp.where(largest <= 1e-15, wnp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** 0.2)
    h = wnp.minimum(100 * h0, h1)
    return wnp.where(wnp.isfinite(h) & (h > 0), h, 1e-6).astype(t.dtype)


def tried(slope: Slope, p: Progress, h: Any) -> tuple[Any, Any, Any, Any]:
    """One step of length `h`: the new value, its derivative, the error, the polynomial."""
    width = h.astype(wnp.real(p.y).dtype)

    # unrolled: a loop would take half of the time of a step
    rows, y = [p.f], p.y
    for node, weights in zip(NODES, STAGES, strict=True):
        y = p.y + width * sum(w * k for w, k in zip(weights, rows, strict=False) if w)
        rows.append(slope(y, p.t + node * h))
    slopes = wnp.stack(rows)
    change = y - p.y
    bend = width * p.f - change
    dense = wnp.stack(
        [
            p.y,
            change,
            bend,
            change - width * slopes[6] - bend,
            width * combination(DENSE, slopes),
        ]
    )
    return y, slopes[6], width * combination(ERRORS, slopes), dense


def stepped(slope: Slope, options: Options, end: Any, p: Progress) -> Progress:
    """The state after one step, which is rejected if its error is too large or NaN."""
    last = p.t + p.h >= end
    h = wnp.where(last, end - p.t, p.h)
    y, f, error, dense = tried(slope, p, h)
    ratio = norm(error, options.atol + options.rtol * wnp.maximum(wnp.abs(p.y), wnp.abs(y)))
    good = (ratio <= 1) & wnp.all(wnp.isfinite(f))
    factor = wnp.where(ratio == 0, 10.0, 0.9 * ratio**-0.2)
    factor = wnp.where(good, wnp.clip(factor, 0.2, 10.0), wnp.clip(factor, 0.2, 0.9))
    factor = wnp.where(wnp.isnan(factor), 0.2, factor).astype(h.dtype)
    t = wnp.where(last, end, p.t + h)
    # too small: t + h == t, or rounding leaves only a few digits of h
    info = np.finfo(h.dtype)
    stuck = (h <= 4 * info.eps * wnp.abs(p.t)) | (h < 10 * info.tiny) | wnp.isinf(h)
    return Progress(
        start=wnp.where(good, p.t, p.start),
        width=wnp.where(good, h, p.width),
        t=wnp.where(good, t, p.t),
        y=wnp.where(good, y, p.y),
        f=wnp.where(good, f, p.f),
        h=wnp.minimum(h * factor, options.hmax).astype(h.dtype),
        dense=wnp.where(good, dense, p.dense),
        steps=p.steps + 1,
        failed=p.failed | (stuck & ~(good & last)),
    )


def solved(slope: Slope, options: Options, y0: Any, times: Any) -> Any:
    """The solution at non-decreasing times, from its value at the first time."""
    start, end = times[0], wnp.max(times)
    f = slope(y0, start)
    h = wnp.minimum(first_step(slope, y0, f, start, options), options.hmax).astype(times.dtype)
    dense = wnp.stack([y0, *[wnp.zeros_like(y0)] * 4])
    none = wnp.asarray(0, "int32")
    first = Progress(start, wnp.zeros_like(start), start, y0, f, h, dense, none, wnp.asarray(False))

    def advanced(p: Progress, target: Any) -> tuple[Progress, Any]:
        p = lax.while_loop(
            lambda p: (p.t < target) & ~p.failed & (p.steps < options.mxstep),
            partial(stepped, slope, options, end),
            p._replace(steps=none),
        )
        p = p._replace(failed=p.failed | (p.t < target))
        return p, wnp.where(p.failed, np.nan, at_time(p, target))

    later = lax.scan(advanced, first, times[1:])[1]
    astray = lax.cummax(~(times[1:] >= times[:-1])) if len(later) else wnp.zeros((0,), bool)
    return wnp.concatenate([y0[None], wnp.where(astray[:, None], np.nan, later)])


def at_time(p: Progress, t: Any) -> Any:
    """The last step's polynomial at a time; at the end of the step, its result."""
    width = wnp.where(p.width == 0, 1, p.width)
    x = ((t - p.start) / width).astype(wnp.real(p.y).dtype)
    c0, c1, c2, c3, c4 = p.dense
    inside = c0 + x * (c1 + (1 - x) * (c2 + x * (c3 + (1 - x) * c4)))
    return wnp.where(t == p.t, p.y, inside)


def integral(
    slope: Slope, options: Options, y0: Any, times: Any, params: PyTree, fixed: PyTree
) -> Any:
    """The solution at increasing or decreasing times."""
    sign = wnp.where(times[-1] < times[0], -1, 1).astype(times.dtype)
    direction = sign.astype(wnp.real(y0).dtype)

    def forwards(y: Any, t: Any) -> Any:
        return direction * slope(y, sign * t, params, fixed)

    return solved(forwards, options, y0, sign * times)


@partial(custom_vjp, nondiff_argnums=(0, 1))
def odeint_on_vectors(
    slope: Slope, options: Options, y0: Any, times: Any, params: PyTree, fixed: PyTree
) -> Any:
    """`integral` with derivatives by the adjoint equation. `fixed`, such as integers, has no
    derivative."""
    return integral(slope, options, y0, times, params, fixed)


def forward_rule(
    slope: Slope, options: Options, y0: Any, times: Any, params: PyTree, fixed: PyTree
) -> tuple[Any, Any]:
    """The solution, and the residuals for the backward rule."""
    ys = odeint_on_vectors(slope, options, y0, times, params, fixed)
    return ys, (ys, times, params, fixed)


def backward_rule(
    slope: Slope, options: Options, residuals: Any, g: Any
) -> tuple[Any, Any, PyTree, None]:
    """The cotangents, from the adjoint equation a' = -a df/dy, solved backwards in time.

    The solution is computed backwards along with it, and the cotangent of the parameters, the
    integral of a df/dparams. The cotangent of the first time is -a f there.
    """
    ys, times, params, fixed = residuals
    layout = layout_of((ys[0], ys[0], params))

    def adjoint(state: Any, t: Any, params: PyTree, fixed: PyTree) -> Any:
        y, a, _ = layout.tree(state)
        f, pull = vjp(lambda y, params: slope(y, t, params, fixed), y, params)
        dy, dparams = pull(a)
        return layout.vector((f, -dy, tree_map(lambda x: -x, dparams)))

    def back(carry: Any, i: Any) -> Any:
        a, total = carry
        a = a + g[i]
        state = layout.vector((ys[i], a, total))
        ends = wnp.stack([times[i], times[i - 1]])
        before = odeint_on_vectors(adjoint, options, state, ends, params, fixed)[1]
        along = wnp.real(wnp.sum(g[i] * slope(ys[i], times[i], params, fixed)))
        return layout.tree(before)[1:], along.astype(times.dtype)

    nothing = wnp.zeros_like(ys[0]), tree_map(wnp.zeros_like, params)
    (a, total), along = lax.scan(back, nothing, wnp.arange(1, len(ys)), reverse=True)
    at_start = -wnp.real(wnp.sum(a * slope(ys[0], times[0], params, fixed))).astype(times.dtype)
    return a + g[0], wnp.concatenate([at_start[None], along]), total, None


odeint_on_vectors.defvjp(forward_rule, backward_rule)


def checked_options(rtol: Any, atol: Any, mxstep: Any, hmax: Any) -> Options:
    """The options as numbers. Raises an error for invalid ones."""
    options = {"rtol": rtol, "atol": atol, "mxstep": mxstep, "hmax": hmax}
    for name, x in options.items():
        if not isinstance(x, numbers.Real) or isinstance(x, bool):
            raise TypeError(f"odeint: {name} must be a number, not traced; got {x!r:.60}")
        allowed = float(x) > 0 if name in ("mxstep", "hmax") else float(x) >= 0
        if not allowed:
            least = "positive" if name in ("mxstep", "hmax") else "at least 0"
            raise ValueError(f"odeint: {name} must be {least}; got {x!r}")
    if rtol == 0 and atol == 0:
        raise ValueError("odeint: rtol and atol are both 0: no step would be good enough")
    steps = UNLIMITED if mxstep == math.inf else min(math.ceil(mxstep), 2**31 - 1)
    return Options(float(rtol), float(atol), steps, float(hmax))


def checked_times(t: Any, state: Layout) -> Any:
    """The times as an array of a real dtype."""
    times = wnp.asarray(t)
    if times.ndim != 1 or times.shape[0] == 0:
        raise ShapeError(
            f"odeint: t must be a vector of times that begins with the time of y0; got {times.aval}"
        )
    if dtypes.is_complex(times.dtype):
        raise ShapeError(f"odeint: t must be real; got {times.aval}")
    real = np.finfo(state.dtype).dtype
    times = times.astype(dtypes.result_type(times.dtype, real))
    if not isinstance(times, Tracer) and times.shape[0] > 1:
        steps = np.diff(np.asarray(times))
        if not ((steps >= 0).all() or (steps <= 0).all()):
            raise ValueError(
                "odeint: t must be increasing or decreasing; got times that are neither"
            )
    return times


@located
def odeint(
    func: Callable[..., PyTree],
    y0: PyTree,
    t: Any,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> PyTree:
    """Solves the differential equation dy/dt = func(y, t, *args) at the given times.

    Dormand & Prince's method of orders 5 and 4, with adaptive steps, for equations that are not
    stiff. If the derivative is not finite, a step becomes shorter than time resolves, or `mxstep`
    is reached, the solution is NaN from there on.

    It has gradients (`grad`, of any order) in `y0`, `t`, `args` and traced values that `func`
    closes over. They come from the adjoint equation, which is solved backwards in time with the
    same options, so memory does not grow with the steps.
    Forward mode (`jvp`, `jacfwd`) is refused, as in JAX. To call it more than once, put it in
    `jit`.

    Args:
      func: the derivative, called as func(y, t, *args), with `t` a scalar; it returns the structure
        and the shapes of `y`.
      y0: the value at the first time: floating-point or complex arrays in containers. For half
        precision, `func` is called with float32.
      t: a vector of increasing or decreasing times; traced times that are neither give NaN.
      *args: more arguments of `func`, trees of arrays.
      rtol, atol: the error allowed in a step: atol + rtol * abs(y), on average.
      mxstep: the largest number of steps between two times; inf means ten million.
      hmax: the maximal length of a step.
    Returns: the tree of `y0`, each array with a first axis of the length of `t`.
    Raises: ShapeError: `t` isn't a vector; `y0` has integers; `func` returns other shapes.
      ValueError: options are out of range, or times are not monotonic.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.experimental.ode import odeint
      >>> decay = lambda y, t, rate: -rate * y
      >>> print(odeint(decay, np.array(2.0), np.array([0.0, 1.0, 2.0]), 1.0).round(4))
      [2.     0.7358 0.2707]
      >>> last = lambda rate: odeint(decay, np.array(2.0), np.array([0.0, 1.0]), rate)[-1]
      >>> print(weft.grad(last)(1.0).round(4))
      -0.7358
    Source: JAX documentation, `jax.experimental.ode.odeint`; Dormand & Prince, J. Comput. Appl.
      Math. 6 (1980); Shampine, Math. Comp. 46 (1986); Chen et al., arXiv:1806.07366, for the
      adjoint equation.
    """
    check_callable(func, "odeint")
    options = checked_options(rtol, atol, mxstep, hmax)
    for x in tree_flatten(y0)[0]:
        if not as_value(x).aval.inexact:
            raise ShapeError(
                f"odeint: y0 must be of a floating-point or complex dtype; got {as_value(x).aval}\n"
                "  fix: pass a float (1.0 instead of 1)"
            )
    layout = layout_of(y0)
    times = checked_times(t, layout)
    leaf_dtypes = [as_value(x).aval.dtype for x in tree_flatten(y0)[0]]
    start = layout.vector(y0)
    slope, params, fixed = of_vectors(func, args, layout, times)
    ys = odeint_on_vectors(slope, options, start, times, params, fixed)
    leaves, tree = tree_flatten(layout.tree(ys))
    return tree_unflatten(tree, [x.astype(d) for x, d in zip(leaves, leaf_dtypes, strict=True)])


def of_vectors(
    func: Callable[..., PyTree], args: tuple[PyTree, ...], layout: Layout, times: Any
) -> tuple[Slope, list[Any], list[Any]]:
    """`func` as a function of vectors; then its arguments and the traced values that it closes
    over, in two lists: values with derivatives, and the others."""
    state = layout.tree(wnp.zeros((sum(map(math.prod, layout.shapes)),), layout.dtype))
    converted, closed = hoisted(
        "odeint",
        lambda y, t, args: checked_slope(func(y, t, *args), layout),
        (state, times[0], args),
        lambda x: isinstance(x, Tracer),
    )
    leaves, treedef = tree_flatten(args)
    values = [wnp.asarray(x) for x in [*leaves, *closed]]
    mask = [x.aval.inexact for x in values]

    def slope(y: Any, t: Any, params: list[Any], fixed: list[Any]) -> Any:
        both = {True: iter(params), False: iter(fixed)}
        merged = [next(both[m]) for m in mask]
        args = tree_unflatten(treedef, merged[: len(leaves)])
        return layout.vector(converted(layout.tree(y), t, args, *merged[len(leaves) :]))

    params, fixed = ([x for x, m in zip(values, mask, strict=True) if m is is_moving]
                     for is_moving in (True, False))  # fmt: skip
    return slope, params, fixed


def checked_slope(result: PyTree, layout: Layout) -> PyTree:
    """The slope that `func` returned, checked against the state. Another structure with the same
    number of elements, such as a list for an array, is converted to the structure of the state."""
    leaves, treedef = tree_flatten(result)
    if treedef != layout.treedef:
        avals = [as_value(x).aval for x in leaves]
        expected = sum(map(math.prod, layout.shapes))
        if sum(a.size for a in avals) != expected:
            raise ShapeError(
                f"odeint: func must return the structure of y0, {layout.treedef}, or as many "
                f"elements, {expected}; got {treedef} of {', '.join(map(str, avals))}"
            )
        if any(dtypes.is_complex(a.dtype) for a in avals) and not dtypes.is_complex(layout.dtype):
            raise ShapeError("odeint: func returned complex numbers\n  fix: a complex y0")
        return layout.tree(layout.vector(result))
    for x, shape, dtype in zip(leaves, layout.shapes, layout.dtypes, strict=True):
        aval = as_value(x).aval
        if aval.shape != shape:
            raise ShapeError(
                f"odeint: func must return arrays like y0; got {aval} for one of shape {shape}"
            )
        if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(dtype):
            raise ShapeError(
                f"odeint: func returned {aval} for a real part of y0\n  fix: a complex y0"
            )
    return result
