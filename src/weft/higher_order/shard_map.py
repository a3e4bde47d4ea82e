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
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiler.compiled import run_jaxpr
from ..compiler.lower import lower_jaxpr, with_token
from ..compiler.simplify import jaxpr_calls_host, live_inputs, live_part
from ..core.array import Array, literal
from ..core.aval import Aval
from ..core.caching import derived
from ..core.collective import Collective
from ..core.jaxpr import Equation, Jaxpr, Var, named_axes, run
from ..core.masks import Mask, active, inactive, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.program_inside import ProgramInside
from ..core.trace import Trace, current
from ..core.value import Value
from ..dtypes import int32, uint32
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.arithmetic import mul
from ..primitives.callbacks import TOKEN, token_of
from ..primitives.collectives import psum
from ..primitives.structural import reshape
from ..programs.partial_eval import EquationParts, Policy, partial_eval_jaxpr
from ..programs.replication import resolve_axis
from ..programs.shard_map_as_vmap import Spec, shard_map_as_vmap
from ..programs.transform import (
    batch_partly,
    depends,
    jvp_jaxpr,
    linearize_jaxpr,
    nonzero,
    not_linear,
    transpose_jaxpr,
)
from ..programs.uniformity import Divergence, Hidden, MappedAxes, Scope, VaryingAxes, with_jaxprs
from ..scope import on_devices
from ..sharding import Mesh
from ..stablehlo import Block, Operand
from ..stablehlo.shardy import Region
from .applying import Unfolding

T = TypeVar("T")


class Mapping(NamedTuple):
    """The parameters of `shard_map` but the program."""

    mesh: Mesh | None
    axes: tuple[tuple[Any, Any, int], ...]
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]

    def specs(self, in_specs: Sequence[Spec], out_specs: Sequence[Spec]) -> "Mapping":
        """The same map of other arguments and results."""
        return Mapping(self.mesh, self.axes, tuple(in_specs), tuple(out_specs))

    @property
    def everywhere(self) -> tuple[Any, ...]:
        """The mesh's names of all axes that are mapped over."""
        return tuple(name for name, _, _ in self.axes)

    def whole_avals(self, avals: Sequence[Aval], specs: Sequence[Spec]) -> list[Aval]:
        """The avals of arrays whose parts have these avals."""
        return [whole_aval(a, s, self.axes) for a, s in zip(avals, specs, strict=True)]

    def own_spec(self, a: Aval) -> Spec:
        """The spec of what each device has of its own, along a new first axis of its parts."""
        return (self.everywhere, *[()] * a.ndim)


def map_jaxpr(
    jaxpr: Jaxpr,
    args: Sequence[Value],
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    trace: Trace | None = None,
    *,
    mesh: Mesh | None,
    axes: MappedAxes,
) -> list[Value]:
    """Applies a jaxpr of parts under a trace; constants become arguments that aren't divided."""
    mapping = Mapping(mesh, tuple(axes), tuple(in_specs), tuple(out_specs))
    return apply_map(jaxpr, args, mapping, trace)


def apply_map(
    jaxpr: Jaxpr, args: Sequence[Value], mapping: Mapping, trace: Trace | None = None
) -> list[Value]:
    """As `map_jaxpr`."""
    trace = trace or current.trace
    specs = (*[((),) * c.aval.ndim for c in jaxpr.consts], *mapping.in_specs)
    named = mapping._replace(in_specs=specs)._asdict().items()
    params = (("jaxpr", jaxpr.without_consts()), *named)
    return trace.bind(shard_map, [*jaxpr.consts, *args], params)


def map_program(jaxpr: Jaxpr, avals: Sequence[Aval], mapping: Mapping) -> Jaxpr:
    """A program that maps a jaxpr over devices; `avals` are of its arguments, as whole arrays."""
    return stage(lambda *xs: apply_map(jaxpr, xs, mapping), avals, name=jaxpr.name)


def whole_aval(a: Aval, spec: Spec, axes: MappedAxes) -> Aval:
    """The aval of an array whose parts have the aval `a`."""
    sizes = {name: size for name, _, size in axes}
    shape = [
        n * math.prod(sizes[name] for name in names) for n, names in zip(a.shape, spec, strict=True)
    ]
    return a.update(shape=tuple(shape))


def unmentioned(spec: Spec, axes: MappedAxes) -> list[tuple[Any, int]]:
    """The mapped axes, by the name that collectives use and size, that a spec doesn't mention."""
    named = {name for names in spec for name in names}
    return [(inner, size) for name, inner, size in axes if name not in named]


class ShardMapRules(ProgramInside):
    """The program that each device applies to its parts."""

    def type(
        self, *avals: Aval, jaxpr: Jaxpr, axes: MappedAxes, out_specs: Sequence[Spec], **_: object
    ) -> list[Aval]:
        return [whole_aval(a, s, axes) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]

    def execute(self, args: Sequence[Array], *, jaxpr: Jaxpr, **named: Any) -> list[Array]:
        avals = tuple(a.aval for a in args)
        return run_jaxpr(mapping_alone(jaxpr, Mapping(**named), avals), args)

    def unfold(self, args: Sequence[Array], *, jaxpr: Jaxpr, **named: Any) -> Unfolding:
        if all(a.is_fully_addressable for a in args):
            mapping = Mapping(**named)
            here = [Array(np.asarray(a.host()), a.aval) for a in args]
            whole = shard_map_as_vmap(
                jaxpr, [a.aval for a in args], mapping.in_specs, mapping.out_specs, mapping.axes
            )
            yield whole, here, range(len(args)), ""

    def lower(
        self, block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr, **named: Any
    ) -> list[Operand]:
        mapping = Mapping(**named)
        region = block.module.region
        mesh = mesh_of_map(jaxpr.name, mapping, region)
        if region is None:
            jaxpr = uniform_program(
                jaxpr, tuple(mesh.shape.items()), mapping.axes, mapping.in_specs
            )
        entered = frozenset(mapping.everywhere)
        here = Region(mesh, entered if region is None else entered | region.entered)
        calls = jaxpr_calls_host(jaxpr)
        token = [TOKEN] if calls else []
        if calls:
            operands = (*operands, token_of(block))
        build = body_builder(jaxpr, calls and not here.rest)
        meshes = block.module.meshes
        assert meshes is not None  # of a program for a group of devices
        sharding = meshes.sharding
        outs: list[Operand] = block.manual(
            operands,
            [*jaxpr.in_avals, *token],
            [*out, *token],
            with_token(build) if calls else build,
            axes=names_inside(block, mesh, mapping.axes),
            region=here,
            manual=[name for name in mesh.axis_names if name in mapping.everywhere],
            inputs=[sharding(mesh, s, len(s)) for s in (*mapping.in_specs, *[()] * calls)],
            results=[sharding(mesh, s, len(s)) for s in (*mapping.out_specs, *[()] * calls)],
        )
        if calls:
            block.token = outs.pop()
        return outs

    def keep_live(self, e: Equation, wanted: Mask) -> Equation:
        params = dict(e.params)
        jaxpr: Jaxpr = params["jaxpr"]
        used = live_inputs(jaxpr, wanted)
        inner = live_part(jaxpr, used, wanted)
        if inner is jaxpr:
            return e
        return e.replace(
            active(e.inputs, used),
            active(e.outvars, wanted),
            jaxpr=inner,
            in_specs=tuple(active(params["in_specs"], used)),
            out_specs=tuple(active(params["out_specs"], wanted)),
        )

    def vary(
        self,
        ins: Sequence[VaryingAxes],
        context: Divergence,
        *,
        jaxpr: Jaxpr,
        axes: MappedAxes,
        in_specs: Sequence[Spec],
        **_: object,
    ) -> list[VaryingAxes]:
        inner, varies = inside_map(ins, context, axes, in_specs)
        own = inner.scope.entered - context.scope.entered
        return [out - own for out in inner.vary(jaxpr, varies)]

    def keep_uniform(
        self, e: Equation, ins: Sequence[VaryingAxes], context: Divergence
    ) -> Equation:
        params = dict(e.params)
        inner, varies = inside_map(ins, context, params["axes"], params["in_specs"])
        return with_jaxprs(e, jaxpr=inner.keep_uniform(params["jaxpr"], varies))

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **named: Any
    ) -> tuple[Jaxpr, Mask]:
        mapping = Mapping(**named)
        pushed, out_mask = on_mapped_devices(mapping.axes, jvp_jaxpr, jaxpr, mask)
        ins = (*mapping.in_specs, *active(mapping.in_specs, mask))
        outs = (*mapping.out_specs, *active(mapping.out_specs, out_mask))
        whole = map_program(pushed, [*avals, *active(avals, mask)], mapping.specs(ins, outs))
        return whole, out_mask

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, jaxpr: Jaxpr, **named: Any
    ) -> Derivative | None:
        mapping = Mapping(**named)
        forward, linear, out_mask = on_mapped_devices(mapping.axes, linearize_jaxpr, jaxpr, mask)
        if not any(out_mask):
            return None
        n_outs = len(jaxpr.outvars)
        kept = forward.out_avals[n_outs:]
        # each device has residuals of its own: they are stacked along a new first axis
        specs = [mapping.own_spec(a) for a in kept]
        ahead = stage(
            lambda *xs: stacking(run(forward, xs, current.trace), n_outs),
            jaxpr.in_avals,
            name=jaxpr.name,
        )

        def push(*args: Value) -> list[Value]:
            residuals = unstacked(args[: len(kept)], kept)
            return run(linear, [*residuals, *args[len(kept) :]], current.trace)

        stacked = [a.update(shape=(1, *a.shape)) for a in kept]
        tangents = [a.strong() for a in active(jaxpr.in_avals, mask)]
        behind = stage(push, [*stacked, *tangents], name=linear.name)
        residuals = mapping.whole_avals(stacked, specs)
        whole_tangents = [a.strong() for a in active(avals, mask)]
        ins = (*specs, *active(mapping.in_specs, mask))
        return Derivative(
            mask,
            map_program(
                ahead, avals, mapping.specs(mapping.in_specs, (*mapping.out_specs, *specs))
            ),
            n_outs,
            out_mask,
            map_program(
                behind,
                [*residuals, *whole_tangents],
                mapping.specs(ins, active(mapping.out_specs, out_mask)),
            ),
        )

    def partial_eval(self, e: Equation, wanted: Mask, policy: Policy | None) -> EquationParts:
        """Each device saves residuals of its own, stacked along a new first axis."""
        params = dict(e.params)
        jaxpr: Jaxpr = params.pop("jaxpr")
        mapping, n_outs = Mapping(**params), len(e.outvars)
        everywhere = set(mapping.everywhere)
        # what an output's spec doesn't mention is taken to be the same on all devices
        reusable = tuple(
            everywhere == {name for names in spec for name in names} for spec in mapping.out_specs
        )
        parts = partial_eval_jaxpr(jaxpr, wanted, policy, reusable)
        own = parts.known.out_avals[n_outs:]
        specs = [mapping.own_spec(a) for a in own]
        stacked = [a.update(shape=(1, *a.shape)) for a in own]
        outvars = [*e.outvars, *[Var(a) for a in mapping.whole_avals(stacked, specs)]]
        out_specs = (*mapping.out_specs, *specs)
        residuals = [outvars[i] for i in parts.residuals]
        known = e
        if own:
            ahead = stage(
                lambda *xs: stacking(run(parts.known, xs, current.trace), n_outs),
                jaxpr.in_avals,
                name=jaxpr.name,
            )
            known = e.replace(e.inputs, outvars, jaxpr=ahead, out_specs=out_specs)
        elif all(wanted) and not residuals:
            return EquationParts(e, (), e)
        n_used, avals = len(parts.used), parts.remat.in_avals
        new = [i >= n_outs for i in parts.residuals]

        def behind(*args: Value) -> list[Value]:
            inputs = [
                reshape(x, shape=a.shape) if n else x
                for x, a, n in zip(args[n_used:], avals[n_used:], new, strict=True)
            ]
            return run(parts.remat, [*args[:n_used], *inputs], current.trace)

        saved = [
            a.update(shape=(1, *a.shape)) if n else a
            for a, n in zip(avals[n_used:], new, strict=True)
        ]
        remat = e.replace(
            [*[e.inputs[i] for i in parts.used], *residuals],
            active(e.outvars, wanted),
            jaxpr=stage(behind, [*avals[:n_used], *saved], name=jaxpr.name),
            in_specs=(
                *[mapping.in_specs[i] for i in parts.used],
                *[out_specs[i] for i in parts.residuals],
            ),
            out_specs=tuple(active(mapping.out_specs, wanted)),
        )
        return EquationParts(known, residuals, remat)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, jaxpr: Jaxpr, **named: Any
    ) -> list[Value | None]:
        mapping = Mapping(**named)
        linear = tuple(type(a) is Aval for a in args)
        known = tuple(ct is not None for ct in cts)
        back, there = transposed_on_devices(jaxpr, mapping, linear, known)
        in_specs = (*inactive(mapping.in_specs, linear), *active(mapping.out_specs, known))
        back_mapping = mapping.specs(in_specs, active(mapping.in_specs, there))
        results = apply_map(back, [*not_linear(args), *nonzero(cts)], back_mapping)
        return scatter_list(results, there)

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, *, jaxpr: Jaxpr, **named: Any
    ) -> list[Value | Shared]:
        mapping = Mapping(**named)
        if any(axis.name == own for _, own, _ in mapping.axes):
            axis = axis.unnamed()  # inside, the name is that of another axis
        axis, first = divided_batch(axis, jaxpr, mapping)
        batched_jaxpr, out_batched = batch_partly(jaxpr, batched, axis)
        ins = [(first, *s) if b else s for s, b in zip(mapping.in_specs, batched, strict=True)]
        outs = [
            (first, *s) if b else s for s, b in zip(mapping.out_specs, out_batched, strict=True)
        ]
        results = apply_map(batched_jaxpr, args, mapping.specs(ins, outs))
        return [o if b else Shared(o) for o, b in zip(results, out_batched, strict=True)]

    def depends(self, mask: Mask, inexact: bool, *, jaxpr: Jaxpr, **_: object) -> Mask:
        return depends(jaxpr, mask, inexact)


shard_map = HigherOrder(
    "shard_map", "Applies a jaxpr on each device, to its parts of the arrays.", ShardMapRules()
)


@derived
def mapping_alone(jaxpr: Jaxpr, mapping: Mapping, avals: tuple[Aval, ...]) -> Jaxpr:
    """The program that does nothing but map a jaxpr."""
    return map_program(jaxpr, avals, mapping)


def mesh_of_map(name: str, mapping: Mapping, region: Region | None) -> Mesh:
    """The mesh that a map runs on; refuses one that doesn't fit the map around it.

    Args:
      name: of the mapped program.
      region: the map around it.
    """
    mesh = mapping.mesh
    if mesh is None:
        if region is None:
            raise ValueError(f"pmap: {name} was traced inside another pmap, and left it")
        mesh = region.mesh
    elif region is not None and region.mesh != mesh:
        raise ValueError(
            f"shard_map: {name} maps over {mesh}, inside a function mapped over "
            f"{region.mesh}\n  fix: use one mesh, and other axes of it inside"
        )
    elif region is not None and (again := [n for n in mapping.everywhere if n in region.entered]):
        raise ValueError(
            f"shard_map: {name} maps over {again[0]!r} of {mesh}, inside a function that is "
            "mapped over it\n  fix: axis_names=…, the other axes, inside"
        )
    if not set(mapping.everywhere) <= set(mesh.axis_names):
        raise ValueError(
            f"pmap: {name} is mapped inside a function that runs on each device of {mesh}: "
            "there are no further devices\n  fix: vmap inside, or a mesh with one more axis"
        )
    return mesh


def names_inside(block: Block, mesh: Mesh, axes: MappedAxes) -> tuple[tuple[Any, int], ...]:
    """The names of the mesh's axes and their sizes, as collectives inside a map refer to them."""
    inner = {name: (new, size) for name, new, size in axes}
    hides = {new for new, _ in inner.values()}
    before = block.module.axes
    if block.module.region is None:
        before = tuple((Hidden(n), s) for n, s in mesh.shape.items())
    return tuple(
        inner.get(name) or (Hidden(name) if old in hides else old, size)
        for name, (old, size) in zip(mesh.axis_names, before, strict=True)
    )


def body_builder(jaxpr: Jaxpr, numbered: bool) -> Callable[[Block, Any], list[Operand]]:
    """Writes the program of one device.

    Args:
      numbered: whether its token is to be that device's number while it runs: see `HostFunction`.
    """

    def build(block: Block, args: Sequence[Operand]) -> list[Operand]:
        if not numbered:
            return lower_jaxpr(block, jaxpr, args)
        number = block.convert(block.op("partition_id", out=TOKEN.update(dtype=uint32)), int32)
        block.token = block.elementwise("add", (token_of(block), number), TOKEN)
        outs = lower_jaxpr(block, jaxpr, args)
        block.token = block.elementwise("subtract", (token_of(block), number), TOKEN)
        return outs

    return build


@derived
def uniform_program(
    jaxpr: Jaxpr,
    sizes: tuple[tuple[Any, int], ...],
    axes: tuple[tuple[Any, Any, int], ...],
    in_specs: tuple[Spec, ...],
) -> Jaxpr:
    """The program of one device, in which devices that communicate don't diverge."""
    varies = [VaryingAxes(name for names in spec for name in names) for spec in in_specs]
    return Divergence(dict(sizes), Scope().enter(axes)).keep_uniform(jaxpr, varies)


def inside_map(
    ins: Sequence[VaryingAxes], context: Divergence, axes: MappedAxes, in_specs: Sequence[Spec]
) -> tuple[Divergence, list[VaryingAxes]]:
    """The analysis inside a map over further axes, and the axes along which its inputs vary."""
    varies = [i.union(*spec) for i, spec in zip(ins, in_specs, strict=True)]
    return context.enter(axes), varies


def resolve(
    args: Sequence[Value], varies: Sequence[bool], axis: Axis, *, jaxpr: Jaxpr, **named: object
) -> list[Value]:
    return shard_map(*args, jaxpr=resolve_axis(jaxpr, varies, axis), **named)


shard_map.collective = Collective(resolve=resolve)


def on_mapped_devices(axes: MappedAxes, derive: Callable[..., T], *args: object) -> T:
    """A derivative of a device's program, in scope of the axes: a rule of the user's may refer to
    them, and map over further devices."""
    return on_devices([(name, size) for _, name, size in axes], derive, *args)


def stacking(outs: Sequence[Value], n_outs: int) -> list[Value]:
    """A device's results; those after the first `n_outs` get a new first axis, to be stacked."""
    return [*outs[:n_outs], *[reshape(r, shape=(1, *r.shape)) for r in outs[n_outs:]]]


def unstacked(values: Sequence[Value], avals: Sequence[Aval]) -> list[Value]:
    """The reverse, of a device's own."""
    return [reshape(r, shape=a.shape) for r, a in zip(values, avals, strict=True)]


def transposed_on_devices(
    jaxpr: Jaxpr, mapping: Mapping, linear: Mask, known: Mask
) -> tuple[Jaxpr, Mask]:
    """The transposed program of one device, and which inputs get a cotangent."""
    transposed, there = on_mapped_devices(mapping.axes, transpose_jaxpr, jaxpr, linear, known)
    ct_specs = tuple(active(mapping.out_specs, known))
    sum_specs = tuple(active(mapping.in_specs, there))
    return sharing_cotangents(transposed, mapping.axes, ct_specs, sum_specs), there


@derived
def sharing_cotangents(
    transposed: Jaxpr,
    axes: tuple[tuple[Any, Any, int], ...],
    ct_specs: tuple[Spec, ...],
    sum_specs: tuple[Spec, ...],
) -> Jaxpr:
    """A transposed program whose devices share cotangents that are the same on several, and sum
    those of arguments that are the same on several."""
    n_known = len(transposed.invars) - len(ct_specs)
    shares = [1 / math.prod(n for _, n in unmentioned(s, axes)) for s in ct_specs]
    sums = [unmentioned(s, axes) for s in sum_specs]

    def back(*values: Value) -> list[Value]:
        parts = [
            p if share == 1 else mul(p, literal(share, p.dtype))
            for p, share in zip(values[n_known:], shares, strict=True)
        ]
        results = run(transposed, [*values[:n_known], *parts], current.trace)
        return [
            psum(r, axes=tuple(n for n, _ in over), sizes=tuple(s for _, s in over), groups=None)
            if over
            else r
            for r, over in zip(results, sums, strict=True)
        ]

    return stage(back, transposed.in_avals, name=transposed.name)


def divided_batch(axis: Axis, jaxpr: Jaxpr, mapping: Mapping) -> tuple[Axis, tuple[Any, ...]]:
    """The part of a batch that each device has, and the axes of the mesh that divide it.

    Where the program communicates along those axes, each device has all of the batch.
    """
    names = axis.mesh_axes
    known = {name: (own, size) for name, own, size in mapping.axes}
    if not names or not all(name in known for name in names):
        return axis, ()
    for spec in (*mapping.in_specs, *mapping.out_specs):
        if both := [n for part in spec for n in part if n in names]:
            raise ValueError(
                f"vmap: spmd_axis_name={names} divides the batch over {both[0]!r}, and a spec of "
                "the shard_map inside divides another axis\n  fix: another axis of the mesh"
            )
    if {axis.name, *[known[name][0] for name in names]} & named_axes(jaxpr):
        return axis, ()
    count = math.prod(known[name][1] for name in names)
    if axis.size % count:
        raise ValueError(
            f"vmap: spmd_axis_name={names} divides the mapped axis, of length {axis.size}, into "
            f"{count} parts: it must be a multiple"
        )
    return axis._replace(size=axis.size // count), names
