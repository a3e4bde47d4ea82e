"""shard_map: applies a function written for one device on all devices of a mesh.

The primitive is in `higher_order/shard_map.py`.
"""

import functools
import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from ...core.aval import Aval
from ...core.jaxpr import Jaxpr
from ...core.primitive import Axis
from ...core.source import function_line, located, wrapping
from ...core.trace import current
from ...core.value import Value
from ...errors import ShapeError
from ...higher_order.shard_map import Mapping, apply_map
from ...interpreters.stage import stage
from ...programs.replication import resolve_axis
from ...programs.transform import batch_partly
from ...scope import MESH, in_scope, on_devices
from ...sharding import Mesh, NamedSharding, PartitionSpec
from ...tree_util import PyTreeDef, flatten_axes, tree_flatten
from ...typing import PyTree
from ...user_lines import noted
from ..arguments import FlatFunction, TreeFunction, check_callable, name_of
from ..jit.dispatch import programs_of
from ..jit.function import jit
from ..jit.shardings import key_of
from ..signatures import P, R, Transformed

__all__ = ["shard_map"]

FullSpec = tuple[tuple[Hashable, ...], ...]
"""The axes of a mesh that divide each axis of an array."""
Axes = tuple[tuple[Hashable, Hashable, int], ...]
"""The mapped axes: their names in the mesh and in collectives, and their lengths."""


def shard_map(
    f: Callable[P, R] | None = None,
    *,
    mesh: Mesh | None = None,
    in_specs: PyTree = None,
    out_specs: PyTree,
    axis_names: Collection[Hashable] = (),
    check_vma: bool = True,
) -> Transformed[P, R]:
    """Maps a function over a mesh: each device applies it to its parts of the arguments.

    Collectives in `f` refer to the axes of the mesh by their names.

    Args:
      f: a function of arrays, scalars and containers of them, which takes and returns the parts of
        one device. If omitted, the result is a decorator.
      mesh: the devices; by default, the mesh of the surrounding `with mesh:`.
      in_specs: a `PartitionSpec` for each positional argument, which says which axes of the mesh
        divide its axes; or a tree of them that is a prefix of the tuple of arguments. Along mesh
        axes that a spec does not mention, the argument is replicated.
      out_specs: the same for the result. Along mesh axes that a spec does not mention, the results
        of all devices must be the same.
      axis_names: the mapped axes of the mesh; by default, all. Along other axes, arrays in `f` are
        undivided, and XLA chooses how to divide them.
      check_vma: if True, checks that results are the same along axes that `out_specs` does not
        mention.
    Returns: a function of undivided arrays.
    Raises: ValueError: a spec names an axis that the mesh does not have, or does not match an
      array; or a result differs along an axis that its spec does not mention.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, PartitionSpec as P
      >>> mesh = Mesh(weft.devices()[:1], "x")
      >>> total = lambda part: weft.lax.psum(part.sum(), "x")
      >>> weft.shard_map(total, mesh=mesh, in_specs=P("x"), out_specs=P())(weft.numpy.arange(4.0))
      Array(6., dtype=float32)
    Source: JAX documentation, `jax.shard_map`.
    """
    if f is None:
        decorator = functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
        return cast("Transformed[P, R]", decorator)
    check_callable(f, "shard_map")
    check_specs(mesh, in_specs=in_specs, out_specs=out_specs)
    return ShardMap(f, mesh, in_specs, out_specs, axis_names, check_vma).dispatcher()


def check_specs(mesh: object, **options: PyTree) -> None:
    """Raises an error for an object that is not a mesh, or a leaf that is not a PartitionSpec."""
    if mesh is not None and not isinstance(mesh, Mesh):
        raise noted(TypeError(f"shard_map: mesh must be a Mesh; got {type(mesh).__name__}"))
    for option, specs in options.items():
        for spec in tree_flatten(specs, is_spec)[0]:
            if not is_spec(spec):  # `None` is the spec of `None`, in an argument or result
                raise noted(no_spec(option, spec))


def no_spec(option: str, spec: object) -> TypeError:
    """The error for a leaf that is not a PartitionSpec."""
    return TypeError(f"shard_map: {option} must have a PartitionSpec at each leaf; got {spec!r}")


@dataclass(frozen=True)
class MapOptions:
    """The options of `shard_map`. Each instance has a table of compiled programs."""

    mesh: Mesh | None
    specs: Hashable
    axis_names: tuple[Hashable, ...]
    check_vma: bool


class ShardMap:
    """A function with the options of its map over a mesh."""

    def __init__(
        self,
        function: TreeFunction,
        mesh: Mesh | None,
        in_specs: PyTree,
        out_specs: PyTree,
        axis_names: Collection[Hashable],
        check_vma: bool,
    ) -> None:
        self.function, self.mesh, self.check_vma = function, mesh, check_vma
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        self.out_specs, self.axis_names = out_specs, tuple(axis_names)

    def dispatcher(self) -> TreeFunction:
        """The function that users call. It is compiled, except under a trace."""
        function = self.function
        specs = key_of((self.in_specs, self.out_specs), is_spec)
        options = MapOptions(self.mesh, specs, self.axis_names, self.check_vma)
        programs = programs_of(function, options)
        if programs.jitted is None:
            programs.jitted = jit(wrapping(function)(self))
        compiled = programs.jitted

        @wrapping(function)
        @located
        def mapped(*args: PyTree, **kwargs: PyTree) -> PyTree:
            if kwargs:
                raise TypeError(
                    f"shard_map: in_specs apply to positional arguments; got {sorted(kwargs)} by "
                    f"keyword\n  fix: pass them by position to {function_line(function)}"
                )
            if current.trace is current.base:
                return compiled(*args)
            return self(*args)

        return mapped

    def specs_of(self, option: str, tree: PyTreeDef) -> list[PartitionSpec]:
        """The spec of each array of a tree."""
        specs = flatten_axes(f"shard_map: {option}", tree, getattr(self, option), is_spec)
        if None in specs:
            raise noted(no_spec(option, None))
        return specs

    def __call__(self, *args: PyTree) -> PyTree:
        mesh, names = self.mesh_and_names()
        axes = tuple((n, n, mesh.shape[n]) for n in names)
        flat = FlatFunction("shard_map", self.function, args)
        specs = self.specs_of("in_specs", flat.args_tree)
        ins = [
            full_spec(f"argument {flat.paths()[i]}", spec, a, mesh, names)
            for i, (spec, a) in enumerate(zip(specs, flat.avals, strict=True))
        ]
        jaxpr = self.stage(
            flat, [part_aval(a, s, mesh) for a, s in zip(flat.avals, ins, strict=True)], axes
        )
        for name, _, size in axes:
            varies = [any(name in part for part in spec) for spec in ins]
            jaxpr = resolve_axis(jaxpr, varies, Axis(size, name))
        specs = self.specs_of("out_specs", flat.out_tree)
        outs = [
            full_spec(f"leaf {i} of the result", spec, a, mesh, names, whole=False)
            for i, (spec, a) in enumerate(zip(specs, jaxpr.out_avals, strict=True))
        ]
        if self.check_vma:
            check_same(self.function, jaxpr, ins, outs, axes)
        mapping = Mapping(mesh, axes, tuple(ins), tuple(outs))
        return flat.unflatten(apply_map(jaxpr, flat.values, mapping))

    def mesh_and_names(self) -> tuple[Mesh, tuple[Hashable, ...]]:
        """The mesh, by default the mesh of the surrounding block, and its mapped axes."""
        mesh: Mesh | None = self.mesh if self.mesh is not None else in_scope(MESH)
        if mesh is None:
            raise ValueError(
                "shard_map: expected a mesh; got none\n  fix: mesh=…, or a block `with mesh:`"
            )
        names = self.axis_names or mesh.axis_names
        unknown = [n for n in names if n not in mesh.axis_names]
        if unknown:
            raise ValueError(
                f"shard_map: axis_names has {unknown[0]!r}, which {mesh} does not have"
            )
        return mesh, tuple(n for n in mesh.axis_names if n in names)

    def stage(self, flat: FlatFunction, avals: Sequence[Aval], axes: Axes) -> Jaxpr:
        """The program of one device, on parts."""

        def on_part(*parts: Value) -> list[Value]:
            return on_devices([(inner, size) for _, inner, size in axes], flat, *parts)

        fun, name = self.function, name_of(self.function)
        return stage(on_part, avals, name=name, transform="shard_map", about=fun, names=flat.names)


def is_spec(x: object) -> bool:
    """True for a leaf of `in_specs`: it applies to one array, or to a whole subtree."""
    return x is None or isinstance(x, PartitionSpec)


def full_spec(
    path: str,
    spec: PartitionSpec,
    a: Aval,
    mesh: Mesh,
    names: Sequence[Hashable],
    whole: bool = True,
) -> FullSpec:
    """A spec with an entry for each axis of an array.

    Args:
      path: the name of the array, for messages.
      a: the aval of the array, or of a part.
      names: the mapped axes.
      whole: whether `a` is the aval of the undivided array.
    """
    try:
        NamedSharding(mesh, spec)  # raises an error for names that the mesh does not have
    except ValueError as error:
        raise ShapeError(f"shard_map: {path}, {a}: {error}") from None
    if len(spec) > a.ndim:
        raise ShapeError(
            f"shard_map: {path}, {a}, has {a.ndim} axes; its spec, {spec}, has {len(spec)} entries"
        )
    parts = [p if isinstance(p, tuple) else () if p is None else (p,) for p in spec]
    full = (*parts, *[()] * (a.ndim - len(parts)))
    for axis, (n, part) in enumerate(zip(a.shape, full, strict=True)):
        for name in part:
            if name not in names:
                raise ValueError(
                    f"shard_map: {path}: {spec} names {name!r}, which isn't mapped over: "
                    f"axis_names are {names}"
                )
        count = math.prod(mesh.shape[name] for name in part)
        if whole and n % count:
            raise ShapeError(
                f"shard_map: {path}, {a}: {spec} divides axis {axis}, of length {n}, into {count} "
                "parts: it must be a multiple"
            )
    return full


def part_aval(a: Aval, spec: FullSpec, mesh: Mesh) -> Aval:
    """The aval of a part."""
    shape = [
        n // math.prod(mesh.shape[name] for name in part)
        for n, part in zip(a.shape, spec, strict=True)
    ]
    return a.update(shape=tuple(shape))


def check_same(
    function: TreeFunction,
    jaxpr: Jaxpr,
    ins: Sequence[FullSpec],
    outs: Sequence[FullSpec],
    axes: Axes,
) -> None:
    """Raises an error for results that differ along a mapped axis that their spec does not mention.

    Batching the program along one axis at a time shows which results vary along it.
    """
    named = [{name for part in spec for name in part} for spec in outs]
    program = jaxpr.without_consts()
    for name, _, size in axes:
        if all(name in names for names in named):
            continue
        varies = [any(name in part for part in spec) for spec in ins]
        _, batched = batch_partly(program, [False] * len(jaxpr.consts) + varies, Axis(size, name))
        for i, (names, varied, a) in enumerate(zip(named, batched, jaxpr.out_avals, strict=True)):
            if varied and name not in names:
                raise ValueError(
                    f"shard_map: leaf {i} of the result of {function_line(function)}, {a}, differs "
                    f"along {name!r}, which its spec doesn't mention\n"
                    f"  fix: mention it, reduce over it (lax.psum, lax.pmean), or check_vma=False"
                )
