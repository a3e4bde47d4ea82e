"""The call primitive: apply a jaxpr. Its rules transform the jaxpr inside, once each."""

from collections.abc import Sequence
from typing import Any

from ..compiler.lower import lower_call, lower_jaxpr
from ..compiler.program import program_of
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import HigherOrder
from ..core.trace import current
from ..interpreters.batch import batch
from ..interpreters.derivative import Derivative
from ..interpreters.jvp import jvp
from ..interpreters.linearize import linearize
from ..interpreters.stage import stage
from ..interpreters.transpose import backward

call = HigherOrder("call", "Applies a jaxpr; compiled as one program when evaluated.")


def call_jaxpr(jaxpr: Jaxpr, args: Sequence[Any], trace: Any = None, inline: bool = False) -> Any:
    """Applies a jaxpr to values under a trace; constants of the jaxpr become arguments."""
    trace = trace or current.trace
    whole = jaxpr.without_consts()
    return trace.process(
        call, [*jaxpr.consts, *args], (("jaxpr", whole), ("inline", inline)), whole.out_avals
    )


@call.type
def _(*avals: Aval, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return jaxpr.out_avals


@call.execute
def _(args: Any, *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return program_of(jaxpr).run(args)


@call.lower
def _(block: Any, *operands: Any, out: Any, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return (lower_jaxpr if inline else lower_call)(block, jaxpr, operands)


@call.pushforward
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    return wrapped(pushed, inline), out_mask


@call.linearize
def _(mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    return Derivative(
        mask, wrapped(forward, inline), len(jaxpr.outvars), out_mask, wrapped(linear, inline)
    )


@call.transpose
def _(cts: Any, *args: Any, jaxpr: Jaxpr, inline: bool = False) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    known = tuple(ct is not None for ct in cts)
    transposed, nonzero = transpose_jaxpr(jaxpr, linear, known)
    given = [a for a, is_linear in zip(args, linear, strict=True) if not is_linear]
    results = iter(call_jaxpr(transposed, [*given, *[ct for ct in cts if ct is not None]], inline=inline))
    return [next(results) if there else None for there in nonzero]


@call.batch
def _(args: Any, batched: Any, batch_size: int, *, jaxpr: Jaxpr, inline: bool = False) -> Any:
    return call_jaxpr(batch_jaxpr(jaxpr, tuple(batched), batch_size), args, inline=inline)


# --- jaxprs transformed, once each; kept on the jaxpr ---


def wrapped(jaxpr: Jaxpr, inline: bool = False) -> Jaxpr:
    """A program that calls another."""
    if inline:
        return jaxpr
    return stage(
        lambda *xs: call_jaxpr(jaxpr, xs, inline=inline), jaxpr.in_avals, name=jaxpr.name
    )


def jvp_jaxpr(jaxpr: Jaxpr, mask: Sequence[bool]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """(primals, tangents of the active) -> (outputs, tangents of those that have one)."""
    key = ("jvp", tuple(mask))
    if key not in jaxpr.cache:
        out_mask: tuple[bool, ...] = ()

        def pushed(*args: Any) -> list[Any]:
            nonlocal out_mask
            primals, rest = args[: len(mask)], iter(args[len(mask) :])
            tangents = [next(rest) if m else None for m in mask]
            outs, t_outs = jvp(lambda *xs: run(jaxpr, xs, current.trace), primals, tangents)
            out_mask = tuple(t is not None for t in t_outs)
            return [*outs, *[t for t in t_outs if t is not None]]

        avals = [*jaxpr.in_avals, *active(jaxpr.in_avals, mask)]
        jaxpr.cache[key] = stage(pushed, avals, name=jaxpr.name + "_jvp"), out_mask
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def linearize_jaxpr(
    jaxpr: Jaxpr, mask: Sequence[bool]
) -> tuple[Jaxpr, Jaxpr, tuple[bool, ...]]:
    """Two programs: inputs -> (outputs, residuals), and (residuals, tangents) -> output tangents."""
    key = ("linearize", tuple(mask))
    if key not in jaxpr.cache:
        linear: Any = None
        n_outs = len(jaxpr.outvars)

        def forward(*args: Any) -> list[Any]:
            nonlocal linear

            def body(*live: Any) -> list[Any]:
                waiting = iter(live)
                full = [next(waiting) if m else a for a, m in zip(args, mask, strict=True)]
                return run(jaxpr, full, current.trace)

            outs, linear = linearize(body, active(args, mask))
            return [*outs, *residuals_of(linear)]

        whole = stage(forward, jaxpr.in_avals, name=jaxpr.name)
        out_mask = tuple(o is not None for o in linear.outputs)
        residual_vars = whole.outvars[n_outs:]
        places: dict[Any, int] = {}
        distinct = []
        for v in residual_vars:
            k = v if not hasattr(v, "host") else id(v)
            if k not in places:
                places[k] = len(distinct)
                distinct.append(v)
        order = [places[v if not hasattr(v, "host") else id(v)] for v in residual_vars]
        whole.outvars = [*whole.outvars[:n_outs], *distinct]

        def push(*args: Any) -> list[Any]:
            residuals, tangents = args[: len(distinct)], args[len(distinct) :]
            use_residuals(linear, [residuals[i] for i in order])
            return [t for t in linear.push(tangents) if t is not None]

        avals = [*[v.aval for v in distinct], *[a.strong() for a in active(jaxpr.in_avals, mask)]]
        jaxpr.cache[key] = whole, stage(push, avals, name=jaxpr.name + "_linear"), out_mask
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def residuals_of(linear: Any) -> list[Any]:
    """All residuals on the tape, in order."""
    return [r for node in linear.tape for r in node.residuals]


def use_residuals(linear: Any, residuals: Sequence[Any]) -> None:
    """Puts other values in the place of the residuals on the tape."""
    waiting = iter(residuals)
    for node in linear.tape:
        node.residuals = [next(waiting) for _ in node.residuals]


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: Sequence[bool], known: Sequence[bool]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """(inputs that aren't linear, given cotangents) -> cotangents that aren't zero.

    The second result says which of all inputs get one.
    """
    key = ("transpose", tuple(linear), tuple(known))
    if key not in jaxpr.cache:
        n_given = len(linear) - sum(linear)
        nonzero: tuple[bool, ...] = ()
        ordered = Jaxpr(
            [],
            [],
            [*inactive(jaxpr.invars, linear), *active(jaxpr.invars, linear)],
            jaxpr.equations,
            jaxpr.outvars,
            jaxpr.name,
        )

        def back(*args: Any) -> list[Any]:
            nonlocal nonzero
            rest = iter(args[n_given:])
            cts = [next(rest) if k else None for k in known]
            results = iter(backward(ordered, args[:n_given], cts, current.trace))
            full = [next(results) if is_linear else None for is_linear in linear]
            nonzero = tuple(r is not None for r in full)
            return [r for r in full if r is not None]

        avals = [
            *[v.aval for v in inactive(jaxpr.invars, linear)],
            *[v.aval.strong() for v, k in zip(jaxpr.outvars, known, strict=True) if k],
        ]
        jaxpr.cache[key] = stage(back, avals, name=jaxpr.name + "_t"), nonzero
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def batch_jaxpr(jaxpr: Jaxpr, batched: Sequence[bool], size: int) -> Jaxpr:
    """The program mapped over axis 0 of the batched inputs; all outputs are batched."""
    key = ("batch", tuple(batched), size)
    if key not in jaxpr.cache:

        def mapped(*args: Any) -> list[Any]:
            return batch(lambda *xs: run(jaxpr, xs, current.trace), args, batched, size)

        avals = [
            v.aval.update(shape=(size, *v.aval.shape)) if b else v.aval
            for v, b in zip(jaxpr.invars, batched, strict=True)
        ]
        jaxpr.cache[key] = stage(mapped, avals, name=jaxpr.name + "_batched")
    return jaxpr.cache[key]  # type: ignore[no-any-return]


def active(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The items that the mask names."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def inactive(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """The items that the mask doesn't name."""
    return [x for x, m in zip(items, mask, strict=True) if not m]
