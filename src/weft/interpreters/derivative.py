"""The derivative of one operation, computed once for each signature and cached.

A `Derivative` has two programs. `forward` maps the primals to the outputs and the residuals that
the linear part needs; `linear` maps residuals and tangents to the outputs' tangents. Reverse mode
transposes `linear`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..compiler.simplify import live_equations, without_dead_code
from ..config import caches, thread
from ..core.array import Tracer
from ..core.aval import Aval, aval_of
from ..core.caching import Owner, cached_on_program, remember_under
from ..core.jaxpr import Equation, Jaxpr, Var, run
from ..core.masks import active, scatter_list
from ..core.primitive import Primitive
from ..core.trace import Params, Trace, under
from ..core.value import Value
from ..dtypes import is_inexact
from ..lazy import Deferred
from ..primitives.creation import zeros
from .dependence import dependents, partition_equations
from .plans import PreparedProgram
from .stage import StageTrace
from .transpose import transpose

Mask = tuple[bool, ...]

_rules = Deferred("weft.interpreters.debugging.derivative_rules")


class DifferentiatedTracer(Tracer):
    """A tracer for a primal, which is `None` for a lone tangent. Subclasses add the derivative."""

    __slots__ = ("primal",)
    primal: Any

    def concrete(self) -> Any:
        return None if self.primal is None else self.primal.concrete()

    def plain(self) -> Any:
        return None if is_inexact(self.aval.dtype) else self.concrete()

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        if operation != "numpy.asarray" and isinstance(self.primal, Tracer):
            return self.primal.conversion_error(operation, error)
        return error(
            f"{operation}: {self.aval} is being differentiated: its derivative would be lost\n"
            "  fix: weft.numpy functions instead of NumPy's and math's; lax.stop_gradient(x) first "
            "if no derivative is wanted"
        )


class Derivative:
    """A program to run now, and the linear map that remains.

    Attributes:
      forward: primals -> outputs, then residuals.
      outs: the number of outputs.
      out_mask: which outputs have a tangent; the others' tangents are zero.
      linear: (residuals, tangents of the active arguments) -> the tangents in `out_mask`.
    """

    __slots__ = (
        "_linear_plan",
        "_transposed",
        "forward",
        "linear",
        "mask",
        "only_linear",
        "out_mask",
        "outs",
    )

    def __init__(
        self, mask: Mask, forward: Jaxpr, outs: int, out_mask: Mask, linear: Jaxpr
    ) -> None:
        self.mask, self.forward, self.outs, self.out_mask = (
            mask,
            PreparedProgram(forward),
            outs,
            out_mask,
        )
        self.linear = linear
        self.only_linear: Any = None
        self._linear_plan: PreparedProgram | None = None
        self._transposed: dict[
            Any, tuple[PreparedProgram, Mask | None]
        ] = {}  # part of the key unless all are needed

    def push(
        self, residuals: Sequence[Value], tangents: Sequence[Value | None], trace: Trace
    ) -> list[Any]:
        """Output tangents, for `out_mask`."""
        if self._linear_plan is None:
            self._linear_plan = PreparedProgram(self.linear)
        return self._linear_plan.run([*residuals, *tangents], trace)

    def pull(
        self, residuals: Sequence[Value], cts: Sequence[Value | None], trace: Trace
    ) -> list[Any]:
        """A cotangent, or `None`, for each active argument; `cts` are for `out_mask`."""
        if len(cts) == 1:
            nonzero: Mask = _ONE
            nonzero_cts = cts
        else:
            nonzero = tuple(ct is not None for ct in cts)
            nonzero_cts = [ct for ct in cts if ct is not None]
        entry = self._transposed.get(nonzero)
        if entry is None:
            jaxpr, reached = self.transposed(len(residuals), nonzero)
            prepared = PreparedProgram(jaxpr), None if all(reached) else reached
            entry = self._transposed.setdefault(nonzero, prepared)
        plan, partial = entry
        results = plan.run([*residuals, *nonzero_cts], trace)
        if partial is None:
            return results
        return scatter_list(results, partial)

    def transposed(self, n_residuals: int, nonzero: Mask) -> tuple[Jaxpr, Mask]:
        """The transposed linear program: (residuals, nonzero cotangents) -> cotangents; and a mask
        of the tangents that get a cotangent. Other cotangents are zero."""
        return transpose(self.linear, n_residuals, nonzero)


_ONE = (True,)


def derivative(primitive: Primitive, args: Sequence[Any], params: Params, mask: Mask) -> Any:
    """The `Derivative` of an operation with respect to the arguments in `mask`; `None` if it is
    zero."""
    avals = tuple(map(aval_of, args))
    owner = primitive.owner(params)
    if owner is not None:
        try:  # at each call of a jitted function
            return owner.cached_results[derivative_on][primitive, params, mask, avals]
        except KeyError:
            return derivative_on(owner, primitive, params, mask, avals)
    signature = (params, mask, *avals)
    try:
        return caches.now[primitive.derivatives][signature]
    except KeyError:
        pass
    state = thread.switches
    result = derive(primitive, avals, params, mask)
    if primitive.check_derivatives and thread.check_derivatives:
        _rules.compare_primitive(primitive, args, params, mask)
    return remember_under(state, primitive.derivatives, signature, result)


@cached_on_program
def derivative_on(
    owner: Owner, primitive: Primitive, params: Params, mask: Mask, avals: tuple[Aval, ...]
) -> Any:
    """The derivative of an operation, kept on one of its parameters."""
    if primitive.inside is None:
        return derive(primitive, avals, params, mask)
    return primitive.inside.linearize(mask, avals, **dict(params))


def derive(primitive: Primitive, avals: Sequence[Aval], params: Params, mask: Mask) -> Any:
    """The derivative of a first-order primitive, from its jvp rule."""

    def pushed(
        trace: StageTrace, primals: Sequence[Value], tangents: Sequence[Value | None]
    ) -> Any:
        out = primitive.primal(primals, params)
        if primitive.jvp_rule is None:
            outs = out if primitive.multiple else [out]
            if any(o.aval.inexact for o in outs):
                raise errors.MissingRuleError(
                    f"{primitive}: is not differentiable; got a derivative to take in arguments "
                    f"{[i for i, m in enumerate(mask) if m]}\n"
                    "  fix: lax.stop_gradient(x) around the argument if its derivative is to be "
                    "zero"
                )
            return out, [None] * len(outs) if primitive.multiple else None
        return out, primitive.jvp_rule(primals, tangents, out, **dict(params))

    return split_jvp(pushed, avals, mask, primitive.multiple, str(primitive))


def split_jvp(
    pushed: Callable[..., Any], avals: Sequence[Aval], mask: Mask, multiple: bool, name: str
) -> Any:
    """Stages a jvp rule and splits it into the part that depends on tangents and the rest.

    Args:
      pushed: called as (trace, primals, tangents), returns outputs and their tangents.
    """
    trace = StageTrace("differentiation", name)
    primals = trace.add_inputs(avals)
    tangents = trace.add_inputs(
        [a.strong() if m else None for a, m in zip(avals, mask, strict=True)]
    )
    try:
        out, t_out = under(trace, pushed, trace, primals, tangents)
        outs, t_outs = (list(out), list(t_out)) if multiple else ([out], [t_out])
        for o, t in zip(outs, t_outs, strict=True):
            if t is None or t.aval is o.aval:
                continue
            if t.aval.shape != o.aval.shape or t.aval.dtype != o.aval.dtype:
                raise errors.ShapeError(
                    f"{name}: its jvp rule must give a tangent like the output, {o.aval}; got "
                    f"{t.aval}"
                )
        out_mask = tuple([t is not None for t in t_outs])
        jvp_program = trace.finish([*outs, *active(t_outs, out_mask)])
    except BaseException:
        trace.close()
        raise
    if not any(out_mask):
        return None
    n = len(avals)
    return cut(jvp_program, n, len(outs), mask, out_mask)


def cut(program: Jaxpr, n: int, n_outs: int, mask: Mask, out_mask: Mask) -> Derivative:
    """Splits a program (primals, tangents) -> (outputs, tangents) into a `Derivative`."""
    linear_vars = set(program.invars[n:])
    primal_equations: list[Equation] = []
    linear_equations: list[Equation] = []
    for e, is_linear in partition_equations(program, linear_vars):
        (linear_equations if is_linear else primal_equations).append(e)
    outvars, t_outvars = program.outvars[:n_outs], program.outvars[n_outs:]
    needed_tangents = {v for v in t_outvars if type(v) is Var}
    linear_equations = live_equations(linear_equations, needed_tangents)
    residuals: list[Var] = []
    seen: set[Var] = set()
    for atom in [v for e in linear_equations for v in e.inputs] + list(t_outvars):
        if type(atom) is Var and atom not in linear_vars and atom not in seen:
            seen.add(atom)
            residuals.append(atom)
    needed_primals = seen | {v for v in outvars if type(v) is Var}
    primal_equations = live_equations(primal_equations, needed_primals)
    forward = Jaxpr(
        program.constvars,
        program.consts,
        program.invars[:n],
        primal_equations,
        [*outvars, *residuals],
    )
    linear_jaxpr = Jaxpr([], [], [*residuals, *program.invars[n:]], linear_equations, t_outvars)
    return Derivative(mask, forward, n_outs, out_mask, linear_jaxpr)


def residual_plan(d: Derivative, name: str) -> PreparedProgram:
    """Computes the residuals of an operation and its outputs without a tangent, from the arguments
    that are not active. The active arguments are tangents, and the operation is linear in them."""
    if d.only_linear is None:
        forward = d.forward.jaxpr
        outvars = [
            *[v for v, m in zip(forward.outvars[: d.outs], d.out_mask, strict=True) if not m],
            *forward.outvars[d.outs :],
        ]
        if not dependents(forward, d.mask).isdisjoint(v for v in outvars if type(v) is Var):
            raise TypeError(
                f"{name}: a custom derivative rule must be linear in the tangents; {name} isn't\n"
                "  fix: use the tangent only in sums, products with primals and other linear "
                "functions"
            )
        # results that do not depend on the tangents can be computed with zero tangents
        trace = StageTrace("differentiation", name)
        inactive_vars = [v for v, m in zip(forward.invars, d.mask, strict=True) if not m]
        inputs = dict(
            zip(inactive_vars, trace.add_inputs([v.aval for v in inactive_vars]), strict=True)
        )
        lean = forward.replace(outvars=outvars)

        def at_zero() -> list[Any]:
            args = [inputs[v] if v in inputs else zeros(v.aval) for v in forward.invars]
            return run(lean, args, trace)

        try:
            program = trace.finish(under(trace, at_zero))
        except BaseException:
            trace.close()
            raise
        d.only_linear = PreparedProgram(without_dead_code(program)[0])
    return d.only_linear
