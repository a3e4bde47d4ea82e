"""What varies along an axis of devices: settles `reduce_axes` before a program is compiled.

Under `vmap` the rules of `psum_shared` and `share` are told which values vary. A program for one
device of many isn't: here each is replaced by what it comes to. Knows jaxprs.
"""

from collections.abc import Sequence
from typing import Any

from ..core.array import literal
from ..core.jaxpr import Jaxpr, Var, named_axes, subjaxprs
from ..core.primitive import Axis
from ..core.trace import current
from ..interpreters.stage import stage
from ..primitives.arithmetic import div
from ..primitives.collectives import psum, times_count, without
from ..primitives.reduce_axes import psum_shared, share
from .call import call
from .jaxprs import batch_partly
from .shard_map import shard_map

_SETTLED = (psum_shared, share)


def settled(jaxpr: Jaxpr, varies: Sequence[bool], axis: Axis) -> Jaxpr:
    """The program in which nothing asks any more what varies along an axis.

    Args:
      jaxpr: of one element; its constants don't vary.
      varies: which inputs vary along the axis.
    """
    if axis.name not in named_axes(jaxpr) or not asks(jaxpr):
        return jaxpr
    consts = jaxpr.consts
    made = answered(jaxpr.without_consts(), [False] * len(consts) + list(varies), axis)
    n, invars = len(consts), made.invars
    return Jaxpr(invars[:n], consts, invars[n:], made.equations, made.outvars, made.name)


def answered(jaxpr: Jaxpr, varies: Sequence[bool], axis: Axis) -> Jaxpr:
    """See `settled`; for a program without constants."""
    flat = stage(lambda *xs: walked(jaxpr, xs, None, axis), jaxpr.in_avals, name=jaxpr.name)
    flat = flat.without_consts()
    asking = [e for e in flat.equations if e.primitive in _SETTLED or e.primitive is shard_map]
    asked = [v for e in asking for v in e.inputs]
    _, batched = batch_partly(
        Jaxpr([], [], flat.invars, flat.equations, asked, "asked"), varies, axis
    )
    known = dict(zip(map(id, asked), batched, strict=True))
    answers = {id(e): [known[id(v)] for v in e.inputs] for e in asking}
    made = stage(lambda *xs: walked(flat, xs, answers, axis), flat.in_avals, name=jaxpr.name)
    return made.without_consts()


def asks(jaxpr: Jaxpr) -> bool:
    """Whether a program has such operations, in functions that it calls or maps too."""
    return any(
        e.primitive in _SETTLED
        or (e.primitive in (call, shard_map) and any(map(asks, subjaxprs(e.params))))
        for e in jaxpr.equations
    )


def walked(jaxpr: Jaxpr, args: Sequence[Any], answers: Any, axis: Axis) -> list[Any]:
    """Runs a program under the current trace: calls that ask are taken apart, and what has been
    answered is replaced.

    Args:
      answers: for each equation that asks, by its id, which of its inputs vary.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    for e in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v for v in e.inputs]
        params = dict(e.params)
        if e.primitive is call and asks(params["jaxpr"]):
            outs = walked(params["jaxpr"], inputs, answers, axis)
        elif answers and e.primitive in _SETTLED and axis.name in params["axes"]:
            outs = [answer(e.primitive, inputs, answers[id(e)], axis, **params)]
        else:
            if answers and e.primitive is shard_map:
                params["jaxpr"] = settled(params["jaxpr"], answers[id(e)], axis)
            result = current.trace.bind(e.primitive, inputs, tuple(params.items()))
            outs = result if e.primitive.multiple else [result]
        env.update(zip(e.outvars, outs, strict=True))
    return [env[v] if type(v) is Var else v for v in jaxpr.outvars]


def answer(
    primitive: Any, args: Any, vary: Sequence[bool], axis: Axis, *, axes: Any, sizes: Any
) -> Any:
    """What the operation comes to along the axis; along others it goes on asking."""
    (x, *witnesses), (varies, *witnesses_vary) = args, vary
    at = axes.index(axis.name)
    if not any(witnesses_vary):
        if primitive is share:
            x = div(x, literal(axis.size, x.dtype))
        elif varies:
            x = psum(x, axes=(axis.name,), sizes=(axis.size,), groups=None)
        else:
            x = times_count(x, axis.size)
    if len(axes) > 1:
        x = primitive(x, *witnesses, axes=without(axes, at), sizes=without(sizes, at))
    return x
