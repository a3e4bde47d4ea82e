"""The options `in_shardings` and `out_shardings` of `jit`: what they say of each array.

Knows trees and shardings; knows nothing of programs.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ...compiler.layout import layout_of
from ...core.aval import Aval
from ...core.source import noted
from ...runtime.group import Group, group_of
from ...scope import MESH, in_scope
from ...sharding import NamedSharding, PartitionSpec, Sharding
from ...tree_util import PyTreeDef, flatten_axes, tree_flatten


def is_entry(x: Any) -> bool:
    """Whether something in such an option speaks of one array, or of a tree of them."""
    return x is None or isinstance(x, (Sharding, PartitionSpec))


def key_of(option: Any, is_leaf: Callable[[Any], bool] = is_entry) -> Hashable:
    """An option, which may be a tree, as a part of a key; one that can't be is like no other."""
    leaves, tree = tree_flatten(option, is_leaf)
    key = tuple(tuple(x) if isinstance(x, list) else x for x in leaves), tree
    try:
        hash(key)
    except TypeError:  # refused later, where it is looked at
        return object()
    return key


def checked(name: str, option: Any) -> Any:
    """The option, if it says nothing but shardings."""
    for leaf in tree_flatten(option, is_entry)[0]:
        if not is_entry(leaf):
            raise noted(
                TypeError(
                    f"jit: {name} must have shardings, PartitionSpecs or None at its leaves; got "
                    f"{type(leaf).__name__} {leaf!r:.60}"
                )
            )
    return option


def of_leaves(
    name: str, option: Any, tree: PyTreeDef, avals: Sequence[Aval], paths: Any
) -> list[Sharding | None]:
    """The sharding of each leaf of a tree; `None` where nothing is said."""
    found = []
    for i, entry in enumerate(flatten_axes(f"jit: {name}", tree, option, is_entry)):
        sharding = named(f"jit: {name}", entry)
        if sharding is not None:
            try:
                layout_of(avals[i], sharding)
            except ValueError as error:
                raise ValueError(f"jit: {name}: {paths()[i]}, {avals[i]}: {error}") from None
        found.append(sharding)
    return found


def named(operation: str, entry: Any) -> Sharding | None:
    """A sharding; a PartitionSpec is one of the mesh that a `with mesh:` brought in."""
    if not isinstance(entry, PartitionSpec):
        return entry  # type: ignore[no-any-return]
    mesh = in_scope(MESH)
    if mesh is None:
        raise ValueError(
            f"{operation}: {entry} says how a mesh divides an array; got no mesh\n"
            "  fix: NamedSharding(mesh, spec), or call it in a block `with mesh:`"
        )
    return NamedSharding(mesh, entry)


def group_for(shardings: Iterable[Sharding | None]) -> Group | None:
    """The devices that all shardings name; two sets of them are an error."""
    first: Any = None
    for sharding in shardings:
        if sharding is None:
            continue
        first = first or sharding
        if sharding.device_set != first.device_set:
            raise ValueError(
                "jit: in_shardings and out_shardings must be of the same devices; got "
                f"{first} and {sharding}\n  fix: shardings over one mesh; device_put(x, sharding) "
                "moves what comes out to other devices"
            )
    return None if first is None else group_of(first.devices)
