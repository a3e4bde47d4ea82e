"""Taylor mode, operation by operation: the derivatives of a path, to some order.

There are three methods. If the operation has a recurrence, it is used (`recurrences.py`). An
operation that is linear in the inputs that vary is applied to each derivative. For all others, the
operation's derivative rule is evaluated along a path of one order less. So every differentiable
operation works, including control flow; without a recurrence, each order costs up to twice the
order before.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...core.jaxpr import Var, run
from ...core.masks import scatter_list
from ...core.primitive import Primitive
from ...core.trace import Params, Trace, current, under
from ...core.value import Value
from ...interpreters.dependence import dependents
from ...interpreters.derivative import Derivative, DifferentiatedTracer, derivative
from ...interpreters.jvp import jvp
from ...interpreters.stage import leaked
from ...primitives.creation import zeros
from ...primitives.exponential import pow_
from .recurrences import Path, path_of_power, recurrences

Values = Callable[..., Sequence[Any]]


class JetTracer(DifferentiatedTracer):
    """A value, and its derivatives along the path (`None` is zero)."""

    __slots__ = "series"

    def __init__(self, trace: Trace, primal: Any, series: Sequence[Any]) -> None:
        self._trace, self.primal, self.aval = trace, primal, primal.aval
        self.series = list(series)

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<primal={self.primal}, series={self.series}>"

    __str__ = __repr__


class JetTrace(Trace):
    """Applies operations to values and their derivatives, under the outer trace."""

    outside: Trace
    transform = "jet"
    __slots__ = ("closed", "function", "order", "outside")

    def __init__(
        self, outside: Trace, order: int, function: Callable[..., Any] | None = None
    ) -> None:
        self.outside, self.order, self.closed, self.function = outside, order, False, function

    def path(self, x: Any) -> Path:
        """A value and its derivatives."""
        if x.__class__ is JetTracer and x._trace is self:
            return [x.primal, *x.series]
        return [x, *[None] * self.order]

    def moving(self, path: Path) -> Any:
        """The tracer with these derivatives, or the value itself if all are zero."""
        if not path[0].aval.inexact or all(d is None for d in path[1:]):
            return path[0]
        return JetTracer(self, path[0], path[1:])

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        paths = [self.path(a) for a in args]
        mask = tuple([p[0].aval.inexact and any(d is not None for d in p[1:]) for p in paths])
        if not any(mask):
            return self.outside.bind(primitive, [p[0] for p in paths], params, out)
        if self.closed:
            raise leaked(self, primitive.name)
        if primitive.inside is not None and primitive.inside.inlinable:
            return run(dict(params)["jaxpr"], args, self)
        results = self.carried(primitive, paths, params, mask)
        return [*map(self.moving, results)] if primitive.multiple else self.moving(results[0])

    def carried(
        self, primitive: Primitive, paths: list[Path], params: Params, mask: tuple[bool, ...]
    ) -> list[Path]:
        """The paths of the outputs of an operation."""
        rule = recurrences.get(primitive)
        if rule is None and primitive is pow_ and not mask[1]:
            return [under(self.outside, path_of_power, paths[0], paths[1][0])]
        if rule is not None:
            return [under(self.outside, lambda: rule(*paths, **dict(params)))]
        if primitive.inside is None:
            d = derivative(primitive, [p[0] for p in paths], params, mask)
            if d is None or is_linear_map(d):
                return self.mapped(primitive, paths, params, d)

        def apply(*args: Any) -> Sequence[Any]:
            result = current.trace.bind(primitive, args, params)
            return result if primitive.multiple else [result]

        return self.by_first_derivative(apply, paths)

    def mapped(
        self, primitive: Primitive, paths: list[Path], params: Params, d: Derivative | None
    ) -> list[Path]:
        """The paths of the outputs of an operation that is constant, or linear in the inputs that
        vary."""
        primals = [p[0] for p in paths]
        if d is None:
            out = self.outside.bind(primitive, primals, params)
            outs = out if primitive.multiple else [out]
            return [[o, *[None] * self.order] for o in outs]
        results = d.forward.run(primals, self.outside)
        outs, residuals = results[: d.outs], results[d.outs :]
        out_paths: list[Path] = [[o] for o in outs]
        moving = [p for p, m in zip(paths, d.mask, strict=True) if m]
        for n in range(1, self.order + 1):
            changes = [None] * d.outs
            if any(p[n] is not None for p in moving):
                full = [zeros(p[0].aval.strong()) if p[n] is None else p[n] for p in moving]
                changes = scatter_list(d.push(residuals, full, self.outside), d.out_mask)
            for path, change in zip(out_paths, changes, strict=True):
                path.append(change)
        return out_paths

    def by_first_derivative(self, apply: Values, paths: list[Path]) -> list[Path]:
        """The paths of a function's outputs: the derivative of f(x(s)) is f'(x(s)) x'(s), which has
        its own path of one order less."""
        inner = JetTrace(self.outside, self.order - 1)
        primals = [inner.moving(p[:-1]) for p in paths]
        tangents: list[Any] = []
        for p in paths:
            if all(d is None for d in p[1:]):
                tangents.append(None)
                continue
            first = zeros(p[0].aval.strong()) if p[1] is None else p[1]
            tangents.append(inner.moving([first, *p[2:]]))
        try:
            outs, t_outs = under(inner, jvp, apply, primals, tangents)
        finally:
            inner.closed = True
        nothing = [None] * self.order
        return [
            [inner.path(o)[0], *(nothing if t is None else inner.path(t))]
            for o, t in zip(outs, t_outs, strict=True)
        ]

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        """Applies a function with a custom derivative rule, which is used at each order."""
        paths = [self.path(a) for a in args]
        if all(d is None for p in paths for d in p[1:]):
            return self.outside.bind_custom(primitive, function, rules, [p[0] for p in paths])

        def apply(*args: Any) -> Sequence[Any]:
            return current.trace.bind_custom(primitive, function, rules, args)

        return [*map(self.moving, self.by_first_derivative(apply, paths))]


def is_linear_map(d: Derivative) -> bool:
    """True if the derivative is constant: the operation is linear in the inputs that vary."""
    forward = d.forward.jaxpr
    residuals = [v for v in forward.outvars[d.outs :] if type(v) is Var]
    return dependents(forward, d.mask).isdisjoint(residuals)


def jet_values(
    function: Values, primals: Sequence[Any], series: Sequence[Sequence[Any]], order: int
) -> list[Path]:
    """The path of each of a function's outputs."""
    trace = JetTrace(current.trace, order, function)
    args = [trace.moving([p, *terms]) for p, terms in zip(primals, series, strict=True)]
    try:
        results = under(trace, function, *args)
    finally:
        trace.closed = True
    return [trace.path(r) for r in results]
