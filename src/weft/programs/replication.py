"""Replication analysis: which values vary along a mesh axis, to resolve `reduce_axes` there.

Under `vmap`, the rules of `psum_shared` and `share` can test which values vary. In a program for
one of several devices they cannot. There, each of these operations is replaced by its effect along
that axis before the program is compiled.
"""

from collections.abc import Sequence
from typing import Any

from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, named_axes, subjaxprs
from ..core.primitive import Axis
from ..core.trace import current
from ..core.value import Value
from ..interpreters.stage import stage
from .transform import batch_partly


def resolve_axis(jaxpr: Jaxpr, varies: Sequence[bool], axis: Axis) -> Jaxpr:
    """Replaces the operations that depend on which values vary along the axis.

    Args:
      jaxpr: the program of one element; its constants do not vary.
      varies: which inputs vary along the axis.
    """
    if axis.name not in named_axes(jaxpr) or not asks(jaxpr):
        return jaxpr
    consts = jaxpr.consts
    program = resolved(jaxpr.without_consts(), [False] * len(consts) + list(varies), axis)
    n, invars = len(consts), program.invars
    return program.replace(constvars=invars[:n], consts=consts, invars=invars[n:])


def resolved(jaxpr: Jaxpr, varies: Sequence[bool], axis: Axis) -> Jaxpr:
    """See `resolve_axis`; for a program without constants."""
    inlined = stage(lambda *xs: inline(jaxpr, xs), jaxpr.in_avals, name=jaxpr.name)
    inlined = inlined.without_consts()
    asking = [e for e in inlined.equations if asks_itself(e)]
    operands = [v for e in asking for v in e.inputs]
    probe = inlined.replace(outvars=operands)
    _, batched = batch_partly(probe, varies, axis)
    batched_of = dict(zip(map(id, operands), batched, strict=True))
    variation = {id(e): [batched_of[id(v)] for v in e.inputs] for e in asking}

    def answered(*args: Value) -> list[Value]:
        env: dict[Any, Any] = dict(zip(inlined.invars, args, strict=True))
        for e in inlined.equations:
            inputs = [env[v] if type(v) is Var else v for v in e.inputs]
            if id(e) in variation:
                outs = resolve_of(e)(inputs, variation[id(e)], axis, **dict(e.params))
            else:
                outs = bind(e, inputs)
            env.update(zip(e.outvars, outs, strict=True))
        return [env[v] if type(v) is Var else v for v in inlined.outvars]

    return stage(answered, inlined.in_avals, name=jaxpr.name).without_consts()


def asks_itself(e: Equation) -> bool:
    """True if the equation's primitive has a `resolve` rule."""
    return resolve_of(e) is not None


def resolve_of(e: Equation) -> Any:
    """The `resolve` rule of an operation; `None` if it has none."""
    return e.primitive.collective and e.primitive.collective.resolve


def inlines(e: Equation) -> bool:
    """True for a call of a function with operations to resolve; it is inlined."""
    return is_call(e) and any(map(asks, subjaxprs(e.params)))


def is_call(e: Equation) -> bool:
    """True for a call that may be inlined."""
    return e.primitive.inside is not None and e.primitive.inside.inlinable


@cached_on_program
def asks(jaxpr: Jaxpr) -> bool:
    """True if a program, or a function that it calls or maps, has operations to resolve."""
    for e in jaxpr.equations:
        inside = subjaxprs(e.params)
        if asks_itself(e) and e.primitive.effects is None:
            return True
        if (is_call(e) or asks_itself(e)) and any(map(asks, inside)):
            return True
    return False


def inline(jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
    """Runs a program under the current trace and inlines calls of functions with operations to
    resolve."""
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    for e in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v for v in e.inputs]
        outs = inline(dict(e.params)["jaxpr"], inputs) if inlines(e) else bind(e, inputs)
        env.update(zip(e.outvars, outs, strict=True))
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


def bind(e: Equation, inputs: Sequence[Value]) -> Sequence[Value]:
    """The results of an operation under the current trace."""
    result = current.trace.bind(e.primitive, inputs, e.params)
    return result if e.primitive.multiple else [result]
