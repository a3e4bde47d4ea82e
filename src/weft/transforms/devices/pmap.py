"""pmap: maps a function over an axis of its arguments, with one device for each element. It is a
map over a mesh with one axis (`higher_order/shard_map.py`). A nested `pmap` maps over another axis
of that mesh.
"""

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ...compiler.compiled import CompiledProgram, ProgramTarget, on_group, target_of
from ...compiler.layout import group_placement, layout_of
from ...compiler.lowered import LoweredProgram, lowered_with
from ...compiler.placing import from_processes, shard, to_process
from ...config import thread
from ...core.array import Array
from ...core.aval import Aval
from ...core.jaxpr import Jaxpr, subjaxprs
from ...core.placement import ArrayType, OnGroup
from ...core.primitive import Axis
from ...core.source import function_line, located
from ...core.trace import Trace, current, looked_at
from ...core.value import Value
from ...errors import AxisError
from ...higher_order.shard_map import Mapping, apply_map, map_program, whole_aval
from ...interpreters.stage import stage
from ...primitives.structural import reshape
from ...programs.replication import resolve_axis
from ...programs.transform import batch_partly
from ...runtime import client
from ...scope import DEVICES, in_scope, on_devices
from ...sharding import Mesh, NamedSharding, PartitionSpec
from ...tree_util import flatten_axes
from ...typing import PyTree
from ..arguments import TreeFunction, check_callable, described, name_of
from ..jit.dispatch import dispatcher, programs_of
from ..jit.stages import Lowered, Traced
from ..signatures import Wrapped
from ..vmap import MapAxis
from .pmap_arguments import Call, PmapOptions

__all__ = ["pmap"]

OUTERMOST = "pmap"
"""The mesh axis of an outermost map."""


P = ParamSpec("P")
R = TypeVar("R")


def pmap(
    fun: Callable[P, R],
    axis_name: Hashable | None = None,
    *,
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[client.Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
    global_arg_shapes: PyTree = None,
) -> Wrapped[P, R]:
    """Maps a function over an axis of its arguments, with each element on its own device.

    The function is compiled once; all devices run it at the same time, each on its part.
    Collectives (`lax.psum`, …) that name the axis compute over all of them. With several processes,
    each process passes and gets the part of the axis on its own devices.

    Args:
      fun: a function of arrays, scalars and containers of them.
      axis_name: a name for the axis, by which collectives in `fun` refer to it.
      in_axes: the axis of each positional argument that is mapped over: an int, `None` for no axis
        (the argument is replicated), or a tuple or list with one entry for each argument: an int,
        `None`, or a tree of them that is a prefix of the argument's tree. Keyword arguments are
        mapped over axis 0.
      out_axes: the position of the mapped axis in the results: an int, `None` for a result that is
        the same on all devices, or a tree of them that is a prefix of the result's tree.
      static_broadcasted_argnums: positional arguments that are part of the program; they must be
        hashable, and each value is compiled separately.
      devices: the devices to map over, by default the first ones; the number of those that belong
        to this process must be the length of the axis.
      backend: 'cpu', 'gpu' or 'tpu'.
      axis_size: the length of the axis; by default inferred from the arguments.
      donate_argnums: positional arguments whose memory may be used for results; they cannot be used
        afterwards.
      global_arg_shapes: the shape of each positional argument without the mapped axis, or `None`.
        It is only checked.
    Returns: a function whose arguments and results have an additional axis. The results are arrays
      on several devices.
    Raises: ValueError: the mapped axes have different lengths, or there are fewer devices.
    Example:
      >>> import weft
      >>> n = weft.local_device_count()
      >>> x = weft.numpy.ones(n)
      >>> total = weft.pmap(lambda x: weft.lax.psum(x, "i"), axis_name="i")(x)
      >>> bool((total == n).all())
      True
    Source: JAX documentation, `jax.pmap`.
    """
    check_callable(fun, "pmap")
    options = PmapOptions(
        fun, axis_name, in_axes, out_axes, static_broadcasted_argnums, devices, backend, axis_size,
        donate_argnums, global_arg_shapes,
    )  # fmt: skip
    return MappedFunction(options).call  # type: ignore[return-value]


class MappedFunction:
    """A function with the options of its map, and its programs. Users get `call`, the fast path: a
    function whose attributes are methods of this class."""

    def __init__(self, options: PmapOptions) -> None:
        self.options = options
        self.programs = programs_of(options.fun, options.key)
        call: Any = dispatcher(
            options.fun, self.programs, located(self.general), lambda error, *_: error
        )
        call.lower, call.clear_cache = located(self.lower), self.clear_cache
        call.weft_made = "lower", "clear_cache"
        self.call: TreeFunction = call

    def find_or_trace(self, call: Call) -> "TracedMap":
        """The traced program for the signature of a call. A new signature is traced."""
        return self.programs.find(call.key, lambda: TracedMap(call))

    def general(self, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]) -> PyTree:
        """The result for any arguments, under any trace."""
        if thread.disable_jit:
            return self.options.on_one_device(args, kwargs)
        call = Call(self.options, args, kwargs)
        traced = self.find_or_trace(call)
        trace = current.trace
        if traced.is_open or not (trace is current.base or (trace.computes and not looked_at())):
            return traced.apply(call.values, trace)
        values: Any = call.values  # outside of traces, the values are arrays
        if trace is current.base:
            result = traced.run(values)
        else:
            result = trace.run_traced(traced, None, values)
        simple = traced.processes == 1 and not kwargs and not self.options.static
        if simple and trace is current.base:
            traced.put_on_fast_path(self.programs, args, call.args_tree, values)
        return result

    def lower(self, *args: PyTree, **kwargs: PyTree) -> Lowered:
        """The program for these arguments as StableHLO, to be compiled ahead of time.

        An object with a shape and a dtype may replace an array.
        """
        call = Call(self.options, args, kwargs, abstract=True)
        traced, fun = self.find_or_trace(call), self.options.fun
        if traced.is_open or traced.depth:
            raise ValueError(
                f"pmap: lower: {function_line(fun)} closes over traced values, or is called in "
                "another map: it is not a separate program"
            )
        return traced.lower()

    def clear_cache(self) -> None:
        """Drops all traced and compiled programs of this function."""
        self.programs.clear()


@dataclass(frozen=True, order=True)
class InnerAxis:
    """The mesh axis of a map inside other maps.

    Attributes:
      depth: the number of surrounding maps.
      size: its length.
    """

    depth: int
    size: int


class TracedMap(Traced):
    """A mapped function traced on one signature: `jaxpr` is the program of one device."""

    def __init__(self, call: Call) -> None:
        options = self.options = call.options
        self.depth = in_scope(DEVICES, 0)
        self.processes = 1 if self.depth else self.spanned()
        size = call.size * self.processes
        name = options.axis_name if options.axis_name is not None else Unnamed(self.depth)
        axis: Hashable = InnerAxis(self.depth, size) if self.depth else OUTERMOST
        self.axes = ((axis, name, size),)
        self.in_axes = call.axes
        self.in_specs = [
            spec_of(a.ndim, at, axis) for a, at in zip(call.avals, call.axes, strict=True)
        ]
        jaxpr = self.trace(call, name, size)
        types = [
            whole_aval(a, s, self.axes) for a, s in zip(jaxpr.in_avals, self.in_specs, strict=True)
        ]
        trees = call.in_tree, call.out_tree
        super().__init__(jaxpr, trees, name_of(options.fun), types, options.donated)
        self.out_specs = [
            spec_of(a.ndim, at, axis)
            for a, at in zip(self.jaxpr.out_avals, self.out_axes, strict=True)
        ]
        self.check_repeated(call, Axis(size, name))
        self.mesh = None if self.depth else self.mesh_for(call.size)
        self.donated = tuple(call.donated)

    def alive(self) -> bool:
        """False, because a function that closes over a traced value is traced at each call."""
        return False

    # --- tracing ---

    def trace(self, call: Call, name: Hashable, size: int) -> Jaxpr:
        """Traces the function on one element; sets `out_axes`."""

        def on_part(*parts: Value) -> list[Value]:
            leaves = [
                p if at is None else reshape(p, shape=(*p.shape[:at], *p.shape[at + 1 :]))
                for p, at in zip(parts, call.axes, strict=True)
            ]
            outs = on_devices([(name, size)], call, *leaves)
            out_axes = flatten_axes("pmap: out_axes", call.out_tree, call.options.out_axes)
            self.out_axes = [
                checked_axis(call.function, axis, v) for axis, v in zip(out_axes, outs, strict=True)
            ]
            return [
                v if at is None else reshape(v, shape=(*v.shape[:at], 1, *v.shape[at:]))
                for v, at in zip(outs, self.out_axes, strict=True)
            ]

        avals = [
            a.update(shape=one_shape(a.shape, at))
            for a, at in zip(call.avals, call.axes, strict=True)
        ]
        fun = call.function
        jaxpr = stage(
            on_part, avals, name=name_of(fun), transform="pmap", about=fun, names=call.names
        )
        varies = [at is not None for at in call.axes]
        return resolve_axis(jaxpr, varies, Axis(size, name))

    def check_repeated(self, call: Call, axis: Axis) -> None:
        """Raises an error if a result with `out_axes=None` differs between devices."""
        if None not in self.out_axes:
            return
        varies = [*[False] * len(self.jaxpr.consts), *[at is not None for at in call.axes]]
        _, batched = batch_partly(self.jaxpr.without_consts(), varies, axis)
        for at, varied, out in zip(self.out_axes, batched, self.jaxpr.out_avals, strict=True):
            if at is None and varied:
                raise ValueError(
                    f"pmap: out_axes is None for an output of {function_line(self.options.fun)} "
                    f"that depends on the mapped axis: {out}\n"
                    "  fix: out_axes=0, or reduce over the axis"
                )

    # --- devices ---

    def spanned(self) -> int:
        """The number of processes over which the map extends."""
        options = self.options
        if options.devices is not None:
            return len({d.process_index for d in options.devices}) or 1
        return client.process_count(options.backend)

    def mesh_for(self, size: int) -> Mesh:
        """The devices, with one axis for this map and one for each kind of nested map."""
        options = self.options
        inner = sorted(inner_map_axes(self.jaxpr))
        count = math.prod(axis.size for axis in inner)
        if options.devices is not None and inner:
            raise ValueError(
                "pmap: devices can't be named where another pmap is inside "
                f"{function_line(options.fun)}\n  fix: leave devices out"
            )
        by_process: dict[int, list[Any]] = {}
        devices = options.devices
        for d in client.devices(options.backend) if devices is None else devices:
            by_process.setdefault(d.process_index, []).append(d)
        mine = by_process.get(client.process_index(options.backend), [])
        if options.devices is not None and len(mine) != size:
            raise ValueError(
                f"pmap: {len(mine)} devices of this process were named, for a mapped axis of "
                f"length {size} in the arguments of {function_line(options.fun)}\n"
                "  fix: one device for each element"
            )
        if size * count > len(mine):
            inside = f" ({size} × {count}, for maps inside)" if inner else ""
            raise ValueError(
                f"pmap: {function_line(options.fun)} requires {size * count} replicas{inside}, but "
                f"only {len(mine)} XLA devices are available\n  fix: map over fewer elements (vmap "
                "over the rest), or on the CPU set WEFT_CPU_DEVICES"
            )
        used = tuple([d for local in by_process.values() for d in local[: size * count]])
        shape = size * self.processes, *[axis.size for axis in inner]
        return mesh_of(used, shape, (OUTERMOST, *inner))

    # --- running ---

    @property
    def mapping(self) -> Mapping:
        """The map as an operation on the program of one device."""
        return Mapping(self.mesh, self.axes, tuple(self.in_specs), tuple(self.out_specs))

    @property
    def avals(self) -> tuple[list[Aval], list[Aval]]:
        return self.mapped_jaxpr.in_avals, self.mapped_jaxpr.out_avals

    @functools.cached_property
    def mapped_jaxpr(self) -> Jaxpr:
        """The program of all devices."""
        return map_program(self.jaxpr, [t.aval for t in self.types], self.mapping)

    @property
    def whole_jaxpr(self) -> Jaxpr:
        return self.mapped_jaxpr

    @functools.cached_property
    def placement(self) -> OnGroup:
        """The devices."""
        assert self.mesh is not None
        return group_placement(self.mesh.device_tuple)

    @functools.cached_property
    def shardings(self) -> tuple[list[NamedSharding], list[NamedSharding]]:
        """The shardings of the argument leaves and of the results."""
        return [*map(self.sharding, self.in_specs)], [*map(self.sharding, self.out_specs)]

    def program(self, options: dict[str, Any] | None = None) -> LoweredProgram:
        options = options or {}
        return lowered_with(self.mapped_jaxpr, self.donated, False, tuple(options.items()))

    def target(self, types: Sequence[ArrayType], program: LoweredProgram) -> ProgramTarget:
        return target_of(program, program.in_avals, self.placement, *self.shardings)

    def sharding(self, spec: Sequence[tuple[Hashable, ...]]) -> NamedSharding:
        """A spec on the mesh."""
        return NamedSharding(self.mesh, PartitionSpec(*[p[0] if p else None for p in spec]))  # type: ignore[arg-type]

    def apply(self, values: Sequence[Value], trace: Trace) -> PyTree:
        """The result for values inside another transformation."""
        if self.processes > 1:
            raise ValueError(
                f"pmap: {function_line(self.options.fun)} is mapped over devices of "
                f"{self.processes} processes inside another transformation, where this process's "
                "part of an array cannot be distinguished from the whole\n"
                "  fix: pmap outermost, or jit with in_shardings"
            )
        return self.unflatten(apply_map(self.jaxpr, values, self.mapping, trace))

    def run_compiled(self, compiled: CompiledProgram, values: Sequence[Array]) -> list[Array]:
        arrays = list(values)
        for i in compiled.live:
            arrays[i] = self.placed(values[i], i)
        outs = compiled.run(arrays)
        if self.processes == 1:
            return outs
        pairs = zip(outs, self.out_axes, strict=True)
        return [to_process(x, axis, self.processes) for x, axis in pairs]

    def placed(self, x: Array, i: int) -> Array:
        """An argument with its parts on the devices."""
        sharding = self.shardings[0][i]
        if self.processes > 1:
            return from_processes(x, sharding, self.in_axes[i], self.processes)
        if x.type.placement.group is self.placement.group:
            return on_group("pmap", i, x, self.placement.group, sharding)
        return shard(x, layout_of(x.aval, sharding))


@dataclass(frozen=True, repr=False)
class Unnamed:
    """A name for a mapped axis, used if `axis_name` is not given."""

    depth: int

    def __repr__(self) -> str:
        return "<no name>"


def spec_of(ndim: int, axis: MapAxis, name: Hashable) -> tuple[tuple[Hashable, ...], ...]:
    """The spec of an array with one axis divided."""
    return tuple((name,) if i == axis else () for i in range(ndim))


def one_shape(shape: tuple[int, ...], axis: MapAxis) -> tuple[int, ...]:
    """The shape of the part of one element."""
    return shape if axis is None else (*shape[:axis], 1, *shape[axis + 1 :])


def checked_axis(fun: TreeFunction, axis: object, value: Value) -> MapAxis:
    """The position of the mapped axis in a result, counted from the front."""
    if axis is None:
        return None
    if isinstance(axis, bool):
        raise TypeError(
            f"pmap: out_axes must be ints or None; got {axis!r}\n  fix: None for no axis"
        )
    if not isinstance(axis, int) or not -value.ndim - 1 <= axis <= value.ndim:
        raise AxisError(
            f"pmap: out_axes={axis!r} is out of range for an output of {function_line(fun)}, "
            f"{described(value)}, which has {value.ndim + 1} axes with the mapped one"
        )
    return int(axis % (value.ndim + 1))


def inner_map_axes(jaxpr: Jaxpr) -> set[InnerAxis]:
    """The axes of all nested maps in a mapped function."""
    axes: set[InnerAxis] = set()
    for e in jaxpr.equations:
        if e.primitive.effects is not None:
            params = dict(e.params)
            if "mesh" in params and params["mesh"] is None:  # a nested map, over additional axes
                axes |= {axis for axis, _, _ in params["axes"]}
            for inner in subjaxprs(e.params):
                axes |= inner_map_axes(inner)
    return axes


@functools.cache
def mesh_of(
    devices: tuple[client.Device, ...], shape: tuple[int, ...], names: tuple[Hashable, ...]
) -> Mesh:
    """The mesh of these devices; cached."""
    return Mesh(np.array(devices, object).reshape(shape), names)
