"""shard_map: a function written for one device of a mesh, applied on all of them.

Knows trees, meshes and specs; the mapping itself is in `higher_order/shard_map.py`.
"""

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ...core.primitive import Axis
from ...core.source import function_line, located, noted
from ...core.trace import current
from ...higher_order.shard_map import map_jaxpr
from ...interpreters.stage import stage
from ...programs.replication import resolve_axis
from ...programs.transform import batch_partly
from ...scope import MESH, in_scope, on_devices
from ...sharding import Mesh, NamedSharding, PartitionSpec
from ...tree_util import flatten_axes, tree_flatten
from ..arguments import argument_values, check_callable, leaf_paths, name_of, output_values
from ..jit.cache import programs_of
from ..jit.function import jit
from ..jit.shardings import key_of

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any] | None = None,
    *,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any,
    axis_names: Sequence[Hashable] = (),
    check_vma: bool = True,
) -> Any:
    """Maps a function over a mesh: each device applies it to its parts of the arguments.

    Collectives in `f` refer to the axes of the mesh by their names.

    Args:
      f: of arrays, scalars and containers of them; it sees parts, and gives parts. Without it, a
        decorator that takes the other options.
      mesh: the devices; by default that of the surrounding `with mesh:`.
      in_specs: a `PartitionSpec` for each positional argument: which axes of the mesh divide its
        axes; or a tree of them that is a prefix of the tuple of arguments. What a spec doesn't
        mention is repeated.
      out_specs: the same for the result. Parts along axes that a spec doesn't mention must be the
        same.
      axis_names: the axes of the mesh that are mapped over, if not all: along the others arrays are
        whole in `f`, and divided as XLA finds best.
      check_vma: whether to make sure that results are the same along axes that `out_specs` doesn't
        mention.
    Returns: a function of whole arrays.
    Raises: ValueError: a spec names an axis that the mesh hasn't, or doesn't fit an array; or a
      result differs along an axis that its spec doesn't mention.
    Example:
      >>> import weft
      >>> from weft.sharding import Mesh, PartitionSpec as P
      >>> mesh = Mesh(weft.devices()[:1], "x")
      >>> total = lambda part: weft.lax.psum(part.sum(), "x")
      >>> weft.shard_map(total, mesh=mesh, in_specs=P("x"), out_specs=P())(weft.numpy.arange(4.0))
      Array(6., dtype=float32)
    Source: the public documentation of `jax.shard_map`.
    """
    if f is None:
        return functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
    check_callable(f, "shard_map")
    function: Callable[..., Any] = f
    if mesh is not None and not isinstance(mesh, Mesh):
        raise noted(TypeError(f"shard_map: mesh must be a Mesh; got {type(mesh).__name__}"))
    for option, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        for spec in tree_flatten(specs, is_spec)[0]:
            if not isinstance(spec, PartitionSpec):
                raise noted(
                    TypeError(
                        f"shard_map: {option} must have a PartitionSpec at each leaf; got {spec!r}"
                    )
                )

    def names_of(used: Mesh) -> tuple[Hashable, ...]:
        chosen = tuple(axis_names) or used.axis_names
        unknown = [n for n in chosen if n not in used.axis_names]
        if unknown:
            raise ValueError(f"shard_map: axis_names has {unknown[0]!r}, which {used} hasn't")
        return tuple(n for n in used.axis_names if n in chosen)

    def call(*args: Any) -> Any:
        used = mesh if mesh is not None else in_scope(MESH)
        if used is None:
            raise ValueError(
                "shard_map: expected a mesh; got none\n  fix: mesh=…, or a block `with mesh:`"
            )
        names = names_of(used)
        axes = tuple((n, n, used.shape[n]) for n in names)
        leaves, tree = tree_flatten(args)

        def paths() -> list[str]:
            return leaf_paths(function, args, {})

        values = argument_values("shard_map", function, leaves, paths)
        said = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        specs = flatten_axes("shard_map: in_specs", tree, said, is_spec)
        ins = [
            full_spec(f"argument {paths()[i]}", spec, v.aval, used, names)
            for i, (spec, v) in enumerate(zip(specs, values, strict=True))
        ]
        parts = [part_aval(v.aval, s, used) for v, s in zip(values, ins, strict=True)]
        out_tree: Any = None

        def flat(*tracers: Any) -> list[Any]:
            nonlocal out_tree
            with on_devices([(n, s) for n, _, s in axes]):
                result = function(*tree.unflatten(tracers))
            results, out_tree = tree_flatten(result)
            return output_values("shard_map", function, results)

        jaxpr = stage(
            flat, parts, name=name_of(function), transform="shard_map", about=function, names=paths
        )
        for name, _, size in axes:
            varies = [any(name in part for part in spec) for spec in ins]
            jaxpr = resolve_axis(jaxpr, varies, Axis(size, name))
        out_said = flatten_axes("shard_map: out_specs", out_tree, out_specs, is_spec)
        outs = [
            full_spec(f"leaf {i} of the result", spec, a, used, names, whole=False)
            for i, (spec, a) in enumerate(zip(out_said, jaxpr.out_avals, strict=True))
        ]
        if check_vma:
            check_same(function, jaxpr, ins, outs, axes)
        results = map_jaxpr(jaxpr, values, ins, outs, mesh=used, axes=axes)
        return out_tree.unflatten(results)

    key = "shard_map", mesh, key_of((in_specs, out_specs), is_spec), tuple(axis_names), check_vma
    kept = programs_of(function, key).entries
    compiled = kept.setdefault("compiled", jit(functools.wraps(function)(call)))

    @functools.wraps(function)
    @located
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(
                f"shard_map: in_specs speak of positional arguments; got {sorted(kwargs)} by "
                f"keyword\n  fix: pass them by position to {function_line(function)}"
            )
        if current.trace is current.base:
            return compiled(*args)
        return call(*args)

    return mapped


def is_spec(x: Any) -> bool:
    """Whether something in `in_specs` speaks of one array, or of a tree of them."""
    return x is None or isinstance(x, PartitionSpec)


def full_spec(
    what: str, spec: PartitionSpec, a: Any, mesh: Mesh, names: Any, whole: bool = True
) -> tuple[Any, ...]:
    """A spec with an entry for each axis of an array: a tuple of names.

    Args:
      a: the aval, of the whole array or of a part.
    """
    try:
        NamedSharding(mesh, spec)  # refuses what the mesh hasn't
    except ValueError as error:
        raise ValueError(f"shard_map: {what}, {a}: {error}") from None
    if len(spec) > a.ndim:
        raise ValueError(
            f"shard_map: {what}, {a}, has {a.ndim} axes; its spec, {spec}, has {len(spec)} entries"
        )
    parts = [p if isinstance(p, tuple) else () if p is None else (p,) for p in spec]
    full = (*parts, *[()] * (a.ndim - len(parts)))
    for axis, (n, part) in enumerate(zip(a.shape, full, strict=True)):
        for name in part:
            if name not in names:
                raise ValueError(
                    f"shard_map: {what}: {spec} names {name!r}, which isn't mapped over: "
                    f"axis_names are {names}"
                )
        count = math.prod(mesh.shape[name] for name in part)
        if whole and n % count:
            raise ValueError(
                f"shard_map: {what}, {a}: {spec} divides axis {axis}, of length {n}, into {count} "
                "parts: it must be a multiple"
            )
    return full


def part_aval(a: Any, spec: Any, mesh: Mesh) -> Any:
    """The aval of a part."""
    shape = [
        n // math.prod(mesh.shape[name] for name in part)
        for n, part in zip(a.shape, spec, strict=True)
    ]
    return a.update(shape=tuple(shape))


def check_same(function: Any, jaxpr: Any, ins: Any, outs: Any, axes: Any) -> None:
    """Refuses results that differ along a mapped axis that their spec doesn't mention.

    The function mapped by `vmap` along one axis at a time says which results vary along it.
    """
    named = [{name for part in spec for name in part} for spec in outs]
    whole = jaxpr.without_consts()
    for name, _, size in axes:
        if all(name in names for names in named):
            continue
        varies = [any(name in part for part in spec) for spec in ins]
        _, batched = batch_partly(whole, [False] * len(jaxpr.consts) + varies, Axis(size, name))
        for i, (names, varied, a) in enumerate(zip(named, batched, jaxpr.out_avals, strict=True)):
            if varied and name not in names:
                raise ValueError(
                    f"shard_map: leaf {i} of the result of {function_line(function)}, {a}, differs "
                    f"along {name!r}, which its spec doesn't mention\n"
                    f"  fix: mention it, reduce over it (lax.psum, lax.pmean), or check_vma=False"
                )
