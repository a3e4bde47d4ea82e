"""The options `in_shardings` and `out_shardings` of `jit`: checked trees of shardings."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ...compiler.layout import group_placement, layout_of
from ...core.aval import Aval
from ...core.placement import OnGroup
from ...errors import ShapeError
from ...scope import MESH, in_scope
from ...sharding import NamedSharding, PartitionSpec, Sharding
from ...tree_util import PyTreeDef, flatten_axes, tree_flatten
from ...user_lines import noted

Paths = Callable[[], list[str]]
"""Returns the name of each leaf, for messages."""


def is_entry(x: Any) -> bool:
    """True for a leaf of such an option: it applies to one array, or to a whole subtree."""
    return x is None or isinstance(x, (Sharding, PartitionSpec))


def key_of(option: Any, is_leaf: Callable[[Any], bool] = is_entry) -> Hashable:
    """An option, which may be a tree, as a part of a key. Options that are not hashable differ from
    all others."""
    leaves, tree = tree_flatten(option, is_leaf)
    key = tuple(tuple(x) if isinstance(x, list) else x for x in leaves), tree
    try:
        hash(key)
    except TypeError:  # the error is raised later, where the option is used
        return object()
    return key


class ShardingOption:
    """`in_shardings` or `out_shardings`: a tree of shardings. Options of equal trees are equal.

    Raises: TypeError: a leaf is another object.
    """

    __slots__ = ("key", "name", "tree")

    def __init__(self, name: str, tree: Any) -> None:
        for leaf in tree_flatten(tree, is_entry)[0]:
            if not is_entry(leaf):
                raise noted(
                    TypeError(
                        f"jit: {name} must have shardings, PartitionSpecs or None at its leaves; "
                        f"got {type(leaf).__name__} {leaf!r:.60}"
                    )
                )
        self.name, self.tree, self.key = name, tree, key_of(tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingOption) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def of_arguments(
        self, tree: PyTreeDef, avals: Sequence[Aval], paths: Paths
    ) -> list[Sharding | None]:
        """The sharding of each leaf of (positional arguments, keyword arguments), without any by
        keyword."""
        shardings = tuple(self.tree) if isinstance(self.tree, list) else self.tree
        return self.checked((shardings, None), tree, avals, paths)

    def of_results(self, tree: PyTreeDef, avals: Sequence[Aval]) -> list[Sharding | None]:
        """The sharding of each leaf of the result."""
        paths = lambda: [f"leaf {i} of the result" for i in range(len(avals))]  # noqa: E731
        return self.checked(self.tree, tree, avals, paths)

    def checked(
        self, prefix: Any, tree: PyTreeDef, avals: Sequence[Aval], paths: Paths
    ) -> list[Sharding | None]:
        """The sharding of each leaf of a tree; `None` where none is given.

        Raises: ValueError: a sharding can't divide an array of its leaf's shape.
        """
        shardings = []
        for i, entry in enumerate(flatten_axes(f"jit: {self.name}", tree, prefix, is_entry)):
            sharding = named(f"jit: {self.name}", entry)
            if sharding is not None:
                try:
                    layout_of(avals[i], sharding)
                except ValueError as error:
                    raise ShapeError(
                        f"jit: {self.name}: {paths()[i]}, {avals[i]}: {error}"
                    ) from None
            shardings.append(sharding)
        return shardings


def named(operation: str, entry: Any) -> Sharding | None:
    """A sharding; a PartitionSpec refers to the mesh of the surrounding `with mesh:`."""
    if not isinstance(entry, PartitionSpec):
        return entry
    mesh = in_scope(MESH)
    if mesh is None:
        raise ValueError(
            f"{operation}: {entry} divides an array over a mesh; got no mesh\n"
            "  fix: NamedSharding(mesh, spec), or call it in a block `with mesh:`"
        )
    return NamedSharding(mesh, entry)


def one_group(shardings: Iterable[Sharding | None]) -> OnGroup | None:
    """The devices of all shardings. Raises an error if they differ."""
    first: Sharding | None = None
    for sharding in shardings:
        if sharding is None:
            continue
        first = first or sharding
        if sharding.device_set != first.device_set:
            raise ValueError(
                "jit: in_shardings and out_shardings must be of the same devices; got "
                f"{first} and {sharding}\n  fix: shardings over one mesh; device_put(x, sharding) "
                "moves the results to other devices"
            )
    return None if first is None else group_placement(first.devices)
