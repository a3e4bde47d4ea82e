"""The shard_map primitive: applies a jaxpr on each device of a mesh, to its parts of the arguments.

`axes` are the mapped axes of the mesh: (name of the axis in the mesh, the name by which collectives
in the jaxpr refer to it, size). A spec is a tuple with, for each axis of an array, a tuple of the
mesh axes that divide it. `mesh` is `None` for a map inside another map, over further axes of the
same mesh.

An output is assumed to be the same along mesh axes that its spec does not mention, and an argument
is replicated along them. So the transpose divides the cotangent of such an output equally among the
devices, and sums the cotangents of such an argument.
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
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, named_axes, run
from ..core.masks import Mask, active, inactive, scatter_list
from ..core.primitive import Axis, Collective, HigherOrder, Shared
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
from .applying import InnerRuns, with_shared

T = TypeVar("T")


class Mapping(NamedTuple):
    """The parameters of `shard_map` apart from the program."""

    mesh: Mesh | None
    axes: tuple[tuple[Any, Any, int], ...]
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]

    def specs(self, in_specs: Sequence[Spec], out_specs: Sequence[Spec]) -> "Mapping":
        """The same map of other arguments and results."""
        return Mapping(self.mesh, self.axes, tuple(in_specs), tuple(out_specs))

    @property
    def mesh_axes(self) -> tuple[Any, ...]:
        """The names of the mapped axes in the mesh."""
        return tuple(name for name, _, _ in self.axes)

    def whole_avals(self, avals: Sequence[Aval], specs: Sequence[Spec]) -> list[Aval]:
        """The avals of arrays whose parts have these avals."""
        return [whole_aval(a, s, self.axes) for a, s in zip(avals, specs, strict=True)]

    def own_spec(self, a: Aval) -> Spec:
        """The spec of values that differ on all devices, stacked along a new first axis."""
        return (self.mesh_axes, *[()] * a.ndim)


def apply_map(
    jaxpr: Jaxpr, args: Sequence[Value], mapping: Mapping, trace: Trace | None = None
) -> list[Value]:
    """Applies a jaxpr of parts under a trace; constants become replicated arguments."""
    trace = trace or current.trace
    specs = (*[((),) * c.aval.ndim for c in jaxpr.consts], *mapping.in_specs)
    named = mapping._replace(in_specs=specs)._asdict().items()
    params = (("jaxpr", jaxpr.without_consts()), *named)
    return trace.bind(shard_map, [*jaxpr.consts, *args], params)


def map_program(jaxpr: Jaxpr, avals: Sequence[Aval], mapping: Mapping) -> Jaxpr:
    """A program that maps a jaxpr over devices; `avals` describe the undivided arguments."""
    return stage(lambda *xs: apply_map(jaxpr, xs, mapping), avals, name=jaxpr.name)


def whole_aval(a: Aval, spec: Spec, axes: MappedAxes) -> Aval:
    """The aval of an array whose parts have the aval `a`."""
    sizes = {name: size for name, _, size in axes}
    shape = [
        n * math.prod(sizes[name] for name in names) for n, names in zip(a.shape, spec, strict=True)
    ]
    return a.update(shape=tuple(shape))


def unmentioned(spec: Spec, axes: MappedAxes) -> list[tuple[Any, int]]:
    """The mapped axes that a spec does not mention: the names that collectives use, and sizes."""
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

    def inner_runs(self, args: Sequence[Array], *, jaxpr: Jaxpr, **named: Any) -> InnerRuns:
        if all(a.is_fully_addressable for a in args):
            mapping = Mapping(**named)
            arrays = [Array(np.asarray(a.host()), a.aval) for a in args]
            program = shard_map_as_vmap(
                jaxpr, [a.aval for a in args], mapping.in_specs, mapping.out_specs, mapping.axes
            )
            yield program, arrays, range(len(args)), ""

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
        entered = frozenset(mapping.mesh_axes)
        here = Region(mesh, entered if region is None else entered | region.entered)
        calls = jaxpr_calls_host(jaxpr)
        token = [TOKEN] if calls else []
        if calls:
            operands = (*operands, token_of(block))
        build = body_builder(jaxpr, calls and not here.rest)
        meshes = block.module.meshes
        assert meshes is not None  # in a program for a group of devices
        sharding = meshes.sharding
        outs: list[Operand] = block.manual(
            operands,
            [*jaxpr.in_avals, *token],
            [*out, *token],
            with_token(build) if calls else build,
            axes=names_inside(block, mesh, mapping.axes),
            region=here,
            manual=[name for name in mesh.axis_names if name in mapping.mesh_axes],
            inputs=[sharding(mesh, s, len(s)) for s in (*mapping.in_specs, *[()] * calls)],
            results=[sharding(mesh, s, len(s)) for s in (*mapping.out_specs, *[()] * calls)],
        )
        if calls:
            block.token = outs.pop()
        return outs

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        params = dict(e.params)
        jaxpr: Jaxpr = params["jaxpr"]
        used = live_inputs(jaxpr, used_outs)
        inner = live_part(jaxpr, used, used_outs)
        if inner is jaxpr:
            return e
        return e.replace(
            active(e.inputs, used),
            active(e.outvars, used_outs),
            jaxpr=inner,
            in_specs=tuple(active(params["in_specs"], used)),
            out_specs=tuple(active(params["out_specs"], used_outs)),
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
        res_avals = forward.out_avals[n_outs:]
        # residuals differ between devices: they are stacked along a new first axis
        stacked = [a.update(shape=(1, *a.shape)) for a in res_avals]
        specs = [mapping.own_spec(a) for a in res_avals]

        def push(*args: Value) -> list[Value]:
            n = len(res_avals)
            residuals = [
                reshape(r, shape=a.shape) for r, a in zip(args[:n], res_avals, strict=True)
            ]
            return run(linear, [*residuals, *args[n:]], current.trace)

        tangents = [a.strong() for a in active(jaxpr.in_avals, mask)]
        push_program = stage(push, [*stacked, *tangents], name=linear.name)
        whole_tangents = [a.strong() for a in active(avals, mask)]
        linear_avals = [*mapping.whole_avals(stacked, specs), *whole_tangents]
        outs = mapping.specs(mapping.in_specs, (*mapping.out_specs, *specs))
        ins = (*specs, *active(mapping.in_specs, mask))
        pushing = mapping.specs(ins, active(mapping.out_specs, out_mask))
        return Derivative(
            mask,
            map_program(stacking(forward, jaxpr, n_outs), avals, outs),
            n_outs,
            out_mask,
            map_program(push_program, linear_avals, pushing),
        )

    def partial_eval(self, e: Equation, used_outs: Mask, policy: Policy | None) -> EquationParts:
        """Each device saves its own residuals, stacked along a new first axis."""
        params = dict(e.params)
        jaxpr: Jaxpr = params.pop("jaxpr")
        mapping, n_outs = Mapping(**params), len(e.outvars)
        # an output that is assumed equal along an axis cannot serve as each device's own value
        reusable = tuple(not unmentioned(spec, mapping.axes) for spec in mapping.out_specs)
        parts = partial_eval_jaxpr(jaxpr, used_outs, policy, reusable)
        own = parts.known.out_avals[n_outs:]
        specs = [mapping.own_spec(a) for a in own]
        stacked = [a.update(shape=(1, *a.shape)) for a in own]
        outvars = [*e.outvars, *[Var(a) for a in mapping.whole_avals(stacked, specs)]]
        out_specs = (*mapping.out_specs, *specs)
        residuals = [outvars[i] for i in parts.residuals]
        known_equation = e
        if own:
            saving = stacking(parts.known, jaxpr, n_outs)
            known_equation = e.replace(e.inputs, outvars, jaxpr=saving, out_specs=out_specs)
        elif all(used_outs) and not residuals:
            return EquationParts(e, (), e)
        n_used, avals = len(parts.used), parts.remat.in_avals
        new = [i >= n_outs for i in parts.residuals]

        def remat_part(*args: Value) -> list[Value]:
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
            active(e.outvars, used_outs),
            jaxpr=stage(remat_part, [*avals[:n_used], *saved], name=jaxpr.name),
            in_specs=(
                *[mapping.in_specs[i] for i in parts.used],
                *[out_specs[i] for i in parts.residuals],
            ),
            out_specs=tuple(active(mapping.out_specs, used_outs)),
        )
        return EquationParts(known_equation, residuals, remat)

    def transpose(
        self, cts: Sequence[Value | None], *args: Value | Aval, jaxpr: Jaxpr, **named: Any
    ) -> list[Value | None]:
        mapping = Mapping(**named)
        linear = tuple(type(a) is Aval for a in args)
        ct_mask = tuple(ct is not None for ct in cts)
        transposed, out_mask = on_mapped_devices(
            mapping.axes, transpose_jaxpr, jaxpr, linear, ct_mask
        )
        ct_specs = tuple(active(mapping.out_specs, ct_mask))
        out_specs = tuple(active(mapping.in_specs, out_mask))
        back = sharing_cotangents(transposed, mapping.axes, ct_specs, out_specs)
        in_specs = (*inactive(mapping.in_specs, linear), *ct_specs)
        operands = [*not_linear(args), *nonzero(cts)]
        results = apply_map(back, operands, mapping.specs(in_specs, out_specs))
        return scatter_list(results, out_mask)

    def batch(
        self, args: Sequence[Value], batched: Mask, axis: Axis, *, jaxpr: Jaxpr, **named: Any
    ) -> list[Value | Shared]:
        mapping = Mapping(**named)
        if any(axis.name == own for _, own, _ in mapping.axes):
            axis = axis.unnamed()  # inside, the name belongs to another axis
        axis, first = divided_batch(axis, jaxpr, mapping)
        batched_jaxpr, out_batched = batch_partly(jaxpr, batched, axis)
        ins = [(first, *s) if b else s for s, b in zip(mapping.in_specs, batched, strict=True)]
        outs = [
            (first, *s) if b else s for s, b in zip(mapping.out_specs, out_batched, strict=True)
        ]
        results = apply_map(batched_jaxpr, args, mapping.specs(ins, outs))
        return with_shared(results, out_batched)

    def depends(self, mask: Mask, inexact: bool, *, jaxpr: Jaxpr, **_: object) -> Mask:
        return depends(jaxpr, mask, inexact)


shard_map = HigherOrder(
    "shard_map", "Applies a jaxpr on each device, to its parts of the arrays.", ShardMapRules()
)


@cached_on_program
def mapping_alone(jaxpr: Jaxpr, mapping: Mapping, avals: tuple[Aval, ...]) -> Jaxpr:
    """The program that consists of the map of a jaxpr."""
    return map_program(jaxpr, avals, mapping)


def mesh_of_map(name: str, mapping: Mapping, region: Region | None) -> Mesh:
    """The mesh that a map runs on; raises an error if it conflicts with a surrounding map.

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
    elif region is not None and (again := [n for n in mapping.mesh_axes if n in region.entered]):
        raise ValueError(
            f"shard_map: {name} maps over {again[0]!r} of {mesh}, inside a function that is "
            "mapped over it\n  fix: axis_names=…, the other axes, inside"
        )
    if not set(mapping.mesh_axes) <= set(mesh.axis_names):
        raise ValueError(
            f"pmap: {name} is mapped inside a function that runs on each device of {mesh}: "
            "there are no further devices\n  fix: vmap inside, or a mesh with one more axis"
        )
    return mesh


def names_inside(block: Block, mesh: Mesh, axes: MappedAxes) -> tuple[tuple[Any, int], ...]:
    """The names of the mesh's axes and their sizes, as collectives inside a map refer to them."""
    inner = {name: (new, size) for name, new, size in axes}
    new_names = {new for new, _ in inner.values()}
    outer = block.module.axes
    if block.module.region is None:
        outer = tuple((Hidden(n), s) for n, s in mesh.shape.items())
    return tuple(
        inner.get(name) or (Hidden(name) if old in new_names else old, size)
        for name, (old, size) in zip(mesh.axis_names, outer, strict=True)
    )


def body_builder(jaxpr: Jaxpr, numbered: bool) -> Callable[[Block, Any], list[Operand]]:
    """Writes the program of one device.

    Args:
      numbered: whether its token holds the device's number during the run: see `HostFunction`.
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


@cached_on_program
def uniform_program(
    jaxpr: Jaxpr,
    sizes: tuple[tuple[Any, int], ...],
    axes: tuple[tuple[Any, Any, int], ...],
    in_specs: tuple[Spec, ...],
) -> Jaxpr:
    """The program of one device, in which communicating devices take the same path."""
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
    """A derivative of a device's program, with the axes in scope, since a user's rule may refer to
    them and map over further devices."""
    return on_devices([(name, size) for _, name, size in axes], derive, *args)


def stacking(program: Jaxpr, jaxpr: Jaxpr, n_outs: int) -> Jaxpr:
    """The program with a new first axis for results after the first `n_outs`; devices stack these
    results along it."""

    def stacked(*xs: Value) -> list[Value]:
        outs = run(program, xs, current.trace)
        return [*outs[:n_outs], *[reshape(r, shape=(1, *r.shape)) for r in outs[n_outs:]]]

    return stage(stacked, jaxpr.in_avals, name=jaxpr.name)


@cached_on_program
def sharing_cotangents(
    transposed: Jaxpr,
    axes: tuple[tuple[Any, Any, int], ...],
    ct_specs: tuple[Spec, ...],
    out_specs: tuple[Spec, ...],
) -> Jaxpr:
    """A transposed program in which devices divide the cotangents of replicated outputs and sum the
    cotangents of replicated arguments."""
    n_known = len(transposed.invars) - len(ct_specs)
    shares = [1 / math.prod(n for _, n in unmentioned(s, axes)) for s in ct_specs]
    sums = [unmentioned(s, axes) for s in out_specs]

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
    """The part of a batch on each device, and the axes of the mesh that divide it.

    If the program communicates along those axes, each device has the whole batch.
    """
    names = axis.mesh_axes
    mapped = {name: (own, size) for name, own, size in mapping.axes}
    if not names or not all(name in mapped for name in names):
        return axis, ()
    for spec in (*mapping.in_specs, *mapping.out_specs):
        if both := [n for part in spec for n in part if n in names]:
            raise ValueError(
                f"vmap: spmd_axis_name={names} divides the batch over {both[0]!r}, and a spec of "
                "the shard_map inside divides another axis\n  fix: another axis of the mesh"
            )
    if {axis.name, *[mapped[name][0] for name in names]} & named_axes(jaxpr):
        return axis, ()
    count = math.prod(mapped[name][1] for name in names)
    if axis.size % count:
        raise ValueError(
            f"vmap: spmd_axis_name={names} divides the mapped axis, of length {axis.size}, into "
            f"{count} parts: it must be a multiple"
        )
    return axis._replace(size=axis.size // count), names
