"""Transposition: runs a linear program backwards, from output cotangents to input cotangents."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from .. import errors
from ..config import thread
from ..core.checking import check_results
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.masks import active
from ..core.source_location import at_location
from ..core.trace import Params, Trace, under
from ..core.value import Value
from ..lazy import Deferred
from ..primitives.structural import add
from .dependence import partition_equations
from .stage import StageTrace

_rules = Deferred("weft.interpreters.debugging.derivative_rules")
_NOWHERE = nullcontext()  # without recorded lines this costs one attribute test for each equation


def no_tangents(params: Params) -> TypeError:
    """The error for a callback with tangents, inside a custom derivative rule."""
    return TypeError(
        f"{params[0][1]}: called with a tangent, which has no value in reverse mode (grad, vjp): "
        "only a cotangent will have one\n  fix: forward mode (jvp) can show tangents; the "
        "backward rule of a custom_vjp can show cotangents"
    )


def transpose(
    jaxpr: Jaxpr, n_known: int, ct_mask: Sequence[bool]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The transposed program: (known inputs, given cotangents) -> the nonzero cotangents.

    Args:
      jaxpr: linear in its inputs after the first `n_known`.
      ct_mask: which outputs have a cotangent; the other cotangents are zero.
    Returns: the program, and a mask of the linear inputs that get a cotangent.
    """
    trace = StageTrace("transposition", jaxpr.name)
    primal_inputs = trace.add_inputs(jaxpr.in_avals[:n_known])
    cts = trace.add_inputs(
        [a.strong() if m else None for a, m in zip(jaxpr.out_avals, ct_mask, strict=True)]
    )
    try:
        results = under(trace, backward, jaxpr, primal_inputs, cts, trace)
        nonzero = tuple([r is not None for r in results])
        return trace.finish(active(results, nonzero), jaxpr.name + "_t"), nonzero
    except BaseException:
        trace.close()
        raise


def backward(
    jaxpr: Jaxpr, primals: Sequence[Value], cts: Sequence[Value | None], trace: Trace
) -> list[Any]:
    """Cotangents for the inputs after the known ones, under the current trace.

    Equations that depend on no linear input are computed first.

    Example:
      >>> import numpy
      >>> from weft import extend
      >>> scalar = extend.aval((), numpy.dtype("float32"))
      >>> program = extend.stage(lambda x, y: [x * y], [scalar, scalar])
      >>> extend.backward(program, [np.array(3.0)], [np.array(1.0)], extend.current.trace)
      [Array(3., dtype=float32, weak_type=True)]
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, primals, strict=False))
    inputs = jaxpr.invars[len(primals) :]
    linear = set(inputs)
    tape: list[Equation] = []
    checking, comparing = thread.enable_checks, thread.check_derivatives
    for e, is_linear in partition_equations(jaxpr, linear):
        if is_linear:
            tape.append(e)
        else:
            _forward(e, env, trace)
    pending: dict[Var, Any] = {}

    def accumulate(v: Any, ct: Any) -> None:
        if ct is not None and type(v) is Var and v in linear:
            before = pending.get(v)
            pending[v] = ct if before is None else trace.bind(add, (before, ct), (), ct.aval)

    for v, ct in zip(jaxpr.outvars, cts, strict=True):
        accumulate(v, ct)
    for e in reversed(tape):
        primitive = e.primitive
        cts_out = [pending.pop(v, None) for v in e.outvars]
        for ct in cts_out:
            if ct is not None:
                break
        else:
            if primitive.effects is not None and primitive.effects.acts:
                raise no_tangents(e.params)
            continue
        if primitive.transpose_rule is None:
            raise errors.MissingRuleError(
                f"{primitive}: reverse-mode differentiation needs its transpose, and it is not "
                "linear (or has no transpose rule)"
            )
        args = [v if type(v) is not Var else v.aval if v in linear else env[v] for v in e.inputs]
        if comparing and primitive.check_derivatives:
            _rules.compare_transpose(primitive, args, e.params)
        with at_location(e.source, backward=True) if e.source is not None else _NOWHERE:
            ct_in = primitive.transpose_rule(
                cts_out if primitive.multiple else cts_out[0], *args, **dict(e.params)
            )
            if checking:
                cts = [
                    ct if type(v) is Var and v in linear else None
                    for v, ct in zip(e.inputs, ct_in, strict=True)
                ]
                check_results(str(primitive), "transpose", cts, [v.aval for v in e.inputs])
            for v, ct in zip(e.inputs, ct_in, strict=True):
                accumulate(v, ct)
    return [pending.get(v) for v in inputs]


def _forward(e: Equation, env: dict[Var, Any], trace: Trace) -> None:
    values = [env[v] if type(v) is Var else v for v in e.inputs]
    with at_location(e.source) if e.source is not None else _NOWHERE:
        if e.primitive.multiple:
            outs = trace.bind(e.primitive, values, e.params, tuple(v.aval for v in e.outvars))
            env.update(zip(e.outvars, outs, strict=True))
        else:
            env[e.outvars[0]] = trace.bind(e.primitive, values, e.params, e.outvars[0].aval)
