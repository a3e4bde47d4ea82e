"""The shard_map primitive: applies a jaxpr on each device of a mesh, to its parts of the arguments.

`axes` are the axes of the mesh that are mapped over: (name of the axis in the mesh, the name by
which collectives in the jaxpr refer to it, size). A spec is a tuple with, for each axis of an
array, a tuple of the mesh's names that divide it. `mesh` is `None` for a map inside another one,
over further axes of that one's mesh.

What an output's spec doesn't mention is taken to be the same on all devices, and what an argument's
spec doesn't mention is repeated. So in transposing, a cotangent of such an output is shared among
the devices equally, and those of such an argument are summed.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.dead_code import jaxpr_calls_host
from ..compiler.loaded import run_jaxpr
from ..compiler.lower import lower_jaxpr, with_token
from ..core.array import Array, literal
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, run
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.trace import current
from ..dtypes import int32, uint32
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.arithmetic import mul
from ..primitives.callbacks import TOKEN, token_of
from ..primitives.collectives import psum
from ..primitives.structural import reshape
from ..scope import on_devices
from ..stablehlo.shardy import Region
from .jaxprs import (
    active,
    batch_partly,
    depends,
    jvp_jaxpr,
    linearize_jaxpr,
    transpose_jaxpr,
)
from .stacked import stacked
from .together import Hidden, Inside, Together

shard_map = HigherOrder("shard_map", "Applies a jaxpr on each device, to its parts of the arrays.")

Spec = tuple[tuple[Any, ...], ...]


def map_jaxpr(
    jaxpr: Jaxpr,
    args: Sequence[Any],
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    trace: Any = None,
    **where: Any,
) -> Any:
    """Applies a jaxpr of parts under a trace; its constants become arguments that aren't divided.

    Args:
      where: `mesh` and `axes`.
    """
    trace = trace or current.trace
    whole = jaxpr.without_consts()
    specs = (*[((),) * c.aval.ndim for c in jaxpr.consts], *in_specs)
    params = {"jaxpr": whole, **where, "in_specs": specs, "out_specs": tuple(out_specs)}
    return trace.bind(shard_map, [*jaxpr.consts, *args], tuple(params.items()))


def whole_aval(a: Aval, spec: Spec, axes: Any) -> Aval:
    """The aval of an array whose parts have the aval `a`."""
    sizes = {name: size for name, _, size in axes}
    shape = [
        n * math.prod(sizes[name] for name in names) for n, names in zip(a.shape, spec, strict=True)
    ]
    return a.update(shape=tuple(shape))


def unmentioned(spec: Spec, axes: Any) -> list[tuple[Any, int]]:
    """The mapped axes, by the name that collectives use and size, that a spec doesn't mention."""
    named = {name for names in spec for name in names}
    return [(inner, size) for name, inner, size in axes if name not in named]


@shard_map.type
def _(*avals: Aval, jaxpr: Jaxpr, axes: Any, out_specs: Any, **_: Any) -> Any:
    return [whole_aval(a, s, axes) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]


@shard_map.execute
def _(args: Any, *, jaxpr: Jaxpr, in_specs: Any, out_specs: Any, **where: Any) -> Any:
    avals = tuple(a.aval for a in args)
    key = "alone", in_specs, out_specs, tuple(where.items()), avals
    if key not in jaxpr.cache:
        jaxpr.cache[key] = map_program(jaxpr, avals, in_specs, out_specs, where)
    return run_jaxpr(jaxpr.cache[key], args)


@shard_map.unfold
def _(args: Any, *, jaxpr: Jaxpr, in_specs: Any, out_specs: Any, axes: Any, **_: Any) -> Any:
    if all(a.is_fully_addressable for a in args):
        here = [Array(np.asarray(a.host()), a.aval) for a in args]
        whole = stacked(jaxpr, [a.aval for a in args], in_specs, out_specs, axes)
        yield whole, here, range(len(args)), ""


@shard_map.lower
def _(
    block: Any,
    *operands: Any,
    out: Any,
    jaxpr: Jaxpr,
    mesh: Any,
    axes: Any,
    in_specs: Any,
    out_specs: Any,
) -> Any:
    module = block.module
    region = module.region
    if mesh is None:
        if region is None:
            raise ValueError(f"pmap: {jaxpr.name} was traced inside another pmap, and left it")
        mesh = region.mesh
    elif region is not None and region.mesh != mesh:
        raise ValueError(
            f"shard_map: {jaxpr.name} maps over {mesh}, inside a function mapped over "
            f"{region.mesh}\n  fix: use one mesh, and other axes of it inside"
        )
    elif region is not None and (again := [n for n, _, _ in axes if n in region.entered]):
        raise ValueError(
            f"shard_map: {jaxpr.name} maps over {again[0]!r} of {mesh}, inside a function that is "
            "mapped over it\n  fix: axis_names=…, the other axes, inside"
        )
    if region is None:
        jaxpr = kept_together(jaxpr, mesh, axes, in_specs)
    inner = {name: (new, size) for name, new, size in axes}
    before = module.axes if region is not None else [(Hidden(n), s) for n, s in mesh.shape.items()]
    if not inner.keys() <= set(mesh.axis_names):
        raise ValueError(
            f"pmap: {jaxpr.name} is mapped inside a function that runs on each device of {mesh}: "
            "there are no further devices\n  fix: vmap inside, or a mesh with one more axis"
        )
    hides = {new for new, _ in inner.values()}
    names = tuple(
        inner.get(name) or (Hidden(name) if old in hides else old, size)
        for name, (old, size) in zip(mesh.axis_names, before, strict=True)
    )
    entered = frozenset(inner) | (region.entered if region is not None else frozenset())
    calls = jaxpr_calls_host(jaxpr)
    token = [TOKEN] if calls else []
    here = Region(mesh, entered)

    def build(block: Any, args: Any) -> list[Any]:
        if not calls or here.rest:
            return lower_jaxpr(block, jaxpr, args)
        # while the program is one device's, its token is that device's number: see `HostFunction`
        number = block.convert(block.op("partition_id", out=TOKEN.update(dtype=uint32)), int32)
        block.token = block.elementwise("add", (block.token, number), TOKEN)
        outs = lower_jaxpr(block, jaxpr, args)
        block.token = block.elementwise("subtract", (block.token, number), TOKEN)
        return outs

    if calls:
        operands = (*operands, token_of(block))
    sharding = module.meshes.sharding
    outs = block.manual(
        operands,
        [*jaxpr.in_avals, *token],
        [*out, *token],
        with_token(build) if calls else build,
        axes=names,
        region=here,
        manual=[name for name in mesh.axis_names if name in inner],
        inputs=[sharding(mesh, s, len(s)) for s in (*in_specs, *[()] * calls)],
        results=[sharding(mesh, s, len(s)) for s in (*out_specs, *[()] * calls)],
    )
    if calls:
        block.token = outs.pop()
    return outs


def kept_together(jaxpr: Jaxpr, mesh: Any, axes: Any, in_specs: Any) -> Jaxpr:
    """The program of one device, in which devices don't part where they meet (`together.py`)."""
    sizes = dict(mesh.shape)
    key = "together", tuple(sizes.items()), axes, in_specs
    if key not in jaxpr.cache:
        varies = [frozenset(name for names in spec for name in names) for spec in in_specs]
        at = Inside((), frozenset()).enter(axes)
        jaxpr.cache[key] = Together(sizes, shard_map).kept(jaxpr, varies, at)
    return jaxpr.cache[key]  # type: ignore[no-any-return]


# --- derivatives ---


def inside(axes: Any) -> Any:
    """The block in which derivatives of what a device runs are found: a rule that the user gave may
    refer to the axes, and map over further devices."""
    return on_devices([(name, size) for _, name, size in axes])


@shard_map.pushforward
def _(
    mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, in_specs: Any, out_specs: Any, **where: Any
) -> Any:
    with inside(where["axes"]):
        pushed, out_mask = jvp_jaxpr(jaxpr, mask)
    ins = (*in_specs, *active(in_specs, mask))
    outs = (*out_specs, *active(out_specs, out_mask))
    return map_program(pushed, [*avals, *active(avals, mask)], ins, outs, where), out_mask


def map_program(
    jaxpr: Jaxpr, avals: Sequence[Aval], in_specs: Any, out_specs: Any, where: dict[str, Any]
) -> Jaxpr:
    """A program that maps a jaxpr over devices; `avals` are of its arguments, as whole arrays."""
    return stage(
        lambda *xs: map_jaxpr(jaxpr, xs, in_specs, out_specs, **where), avals, name=jaxpr.name
    )


@shard_map.linearize
def _(
    mask: Any, avals: Sequence[Aval], *, jaxpr: Jaxpr, in_specs: Any, out_specs: Any, **where: Any
) -> Any:
    with inside(where["axes"]):
        forward, linear, out_mask = linearize_jaxpr(jaxpr, mask)
    if not any(out_mask):
        return None
    n_outs = len(jaxpr.outvars)
    kept = forward.out_avals[n_outs:]
    # each device has residuals of its own: they are stacked along a new first axis
    everywhere = tuple(name for name, _, _ in where["axes"])
    specs = tuple((everywhere, *[()] * a.ndim) for a in kept)

    def ahead(*args: Any) -> list[Any]:
        outs = run(forward, args, current.trace)
        return [*outs[:n_outs], *[reshape(r, shape=(1, *r.shape)) for r in outs[n_outs:]]]

    def push(*args: Any) -> list[Any]:
        residuals = [reshape(r, shape=a.shape) for r, a in zip(args, kept, strict=False)]
        return run(linear, [*residuals, *args[len(kept) :]], current.trace)

    stacked = [a.update(shape=(1, *a.shape)) for a in kept]
    tangents = active(jaxpr.in_avals, mask)
    forward_part = stage(ahead, jaxpr.in_avals, name=jaxpr.name)
    linear_part = stage(push, [*stacked, *[a.strong() for a in tangents]], name=linear.name)
    axes = where["axes"]
    return Derivative(
        mask,
        map_program(forward_part, avals, in_specs, (*out_specs, *specs), where),
        n_outs,
        out_mask,
        map_program(
            linear_part,
            [
                *[whole_aval(a, s, axes) for a, s in zip(stacked, specs, strict=True)],
                *[a.strong() for a in active(avals, mask)],
            ],
            (*specs, *active(in_specs, mask)),
            active(out_specs, out_mask),
            where,
        ),
    )


@shard_map.transpose
def _(
    cts: Any, *args: Any, jaxpr: Jaxpr, in_specs: Any, out_specs: Any, axes: Any, **where: Any
) -> Any:
    linear = tuple(type(a) is Aval for a in args)
    known = tuple(ct is not None for ct in cts)
    given = [a for a, is_linear in zip(args, linear, strict=True) if not is_linear]
    given_cts = [ct for ct in cts if ct is not None]
    with inside(axes):
        transposed, nonzero = transpose_jaxpr(jaxpr, linear, known)
    ct_specs = active(out_specs, known)
    key = "transposed on devices", linear, known, in_specs, out_specs, axes
    if key not in jaxpr.cache:
        shares = [1 / math.prod(n for _, n in unmentioned(s, axes)) for s in ct_specs]
        sums = [unmentioned(s, axes) for s in active(in_specs, nonzero)]

        def back(*values: Any) -> list[Any]:
            rest, parts = values[: len(given)], values[len(given) :]
            parts = tuple(
                p if share == 1 else mul(p, literal(share, p.dtype))
                for p, share in zip(parts, shares, strict=True)
            )
            results = run(transposed, [*rest, *parts], current.trace)
            return [
                psum(
                    r, axes=tuple(n for n, _ in over), sizes=tuple(s for _, s in over), groups=None
                )
                if over
                else r
                for r, over in zip(results, sums, strict=True)
            ]

        jaxpr.cache[key] = stage(back, transposed.in_avals, name=transposed.name)
    inactive = [s for s, is_linear in zip(in_specs, linear, strict=True) if not is_linear]
    results = iter(
        map_jaxpr(
            jaxpr.cache[key],
            [*given, *given_cts],
            (*inactive, *ct_specs),
            active(in_specs, nonzero),
            axes=axes,
            **where,
        )
    )
    return [next(results) if there else None for there in nonzero]


# --- batching ---


@shard_map.batch
def _(
    args: Any,
    batched: Any,
    axis: Axis,
    *,
    jaxpr: Jaxpr,
    in_specs: Any,
    out_specs: Any,
    **where: Any,
) -> Any:
    if any(axis.name == own for _, own, _ in where["axes"]):
        axis = Axis(axis.size)  # inside, the name is that of another axis
    inside, out_batched = batch_partly(jaxpr, batched, axis)
    ins = [((), *s) if b else s for s, b in zip(in_specs, batched, strict=True)]
    outs = [((), *s) if b else s for s, b in zip(out_specs, out_batched, strict=True)]
    results = map_jaxpr(inside, args, ins, outs, **where)
    return [o if b else Shared(o) for o, b in zip(results, out_batched, strict=True)]


@shard_map.depends
def _(mask: Any, inexact: bool, *, jaxpr: Jaxpr, **_: Any) -> Any:
    return depends(jaxpr, mask, inexact)
