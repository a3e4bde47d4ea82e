"""JAX's registries: of tree nodes (`jax.tree_util.default_registry`, an object with methods, and a
mapping), of classes with rules of `vmap`, and of XLA's clients (`jax.extend.backend`)."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..runtime.client import Client, Device, chosen_device, default_device, devices
from ..runtime.failures import PlatformError
from ..runtime.plugins import discover
from ..tree_util import register_dataclass, register_pytree_node, tree_flatten
from ..treedef import REGISTERED, kind_of_type
from ..user_lines import noted

# --- tree nodes ---


class DefaultRegistry:
    """weft's registry of tree nodes."""

    def flatten(self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None) -> Any:
        """(leaves, structure) of a tree."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_one_level(self, tree: Any) -> tuple[list[Any], Any] | None:
        """(children, data) of a node, or `None` for a leaf."""
        kind = kind_of_type(type(tree))
        if kind is None:
            return None
        children, data = kind.flatten(tree)
        return list(children), data

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[list[Any], Any] | None:
        """(pairs of key and child, data) of a node, or `None` for a leaf."""
        kind = kind_of_type(type(tree))
        if kind is None:
            return None
        flat_children, data = kind.flatten(tree)
        children = list(flat_children)
        return list(zip(kind.keys(tree, data, len(children)), children, strict=True)), data

    def is_node(self, tree: Any) -> bool:
        """True unless the value is a leaf."""
        return kind_of_type(type(tree)) is not None

    def register_node(self, kind: type, flatten: Any, unflatten: Any, *rest: Any) -> None:
        """Registers a class of nodes."""
        register_pytree_node(kind, flatten, unflatten, *rest)

    def register_dataclass_node(self, kind: type, data: list[str], meta: list[str]) -> None:
        """Registers a dataclass whose fields are children or data."""
        register_dataclass(kind, data, meta)


DEFAULT_REGISTRY = DefaultRegistry()


class Entry(NamedTuple):
    """Two functions that flatten and make nodes of a class.

    Attributes:
      to_iter: from a node to (children, hashable data).
      from_iter: from data and children to a node.
    """

    to_iter: Callable[[Any], tuple[Any, Any]]
    from_iter: Callable[[Any, Any], Any]


class Entries(Mapping[type, Entry]):
    """The registered classes, as `jax._src.tree_util._registry`: class -> `Entry`."""

    def __getitem__(self, kind: type) -> Entry:
        registered = REGISTERED[kind]

        def to_iter(node: Any) -> tuple[Any, Any]:
            children, data = registered.flatten(node)
            return tuple(children), tuple(data) if isinstance(data, list) else data

        return Entry(to_iter, registered.unflatten)

    def __iter__(self) -> Iterator[type]:
        return iter(REGISTERED)

    def __len__(self) -> int:
        return len(REGISTERED)


ENTRIES = Entries()


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """(children, data) of a node; ValueError for a leaf."""
    return _of_node(tree, DEFAULT_REGISTRY.flatten_one_level(tree))


def flatten_one_level_with_keys(tree: Any) -> tuple[list[Any], Any]:
    """(pairs of key and child, data) of a node; ValueError for a leaf."""
    return _of_node(tree, DEFAULT_REGISTRY.flatten_one_level_with_keys(tree))


def _of_node(tree: Any, children_and_data: tuple[list[Any], Any] | None) -> tuple[list[Any], Any]:
    if children_and_data is None:
        raise noted(
            ValueError(f"flatten_one_level: expected a node of a tree; got a {type(tree).__name__}")
        )
    return children_and_data


# --- classes for which libraries have their own rules of `vmap` ---

VMAPPABLE: set[type] = set()
"""The registered classes."""


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, *rules: Any) -> None:
    """Registers a class. `vmap` does not use its rules: it maps over all arrays of a tree."""
    VMAPPABLE.add(data_type)


def unregister_vmappable(data_type: type) -> None:
    """Undoes `register_vmappable`."""
    VMAPPABLE.remove(data_type)


def is_vmappable(x: object) -> bool:
    """True for an object of a registered class."""
    return type(x) in VMAPPABLE


# --- XLA's clients ---


@functools.cache  # libraries' tests call its `cache_clear`
def get_backend(platform: Any = None) -> Client:
    """XLA's client of a platform, or of the default device."""
    return platform if isinstance(platform, Client) else devices(platform)[0].client


def backends() -> dict[str, Client]:
    """XLA's clients that can be opened, by the name of their platform: 'cpu', 'cuda', …"""
    clients = {}
    for name in dict.fromkeys([*(plugin.name for plugin in discover()), "cpu"]):
        with contextlib.suppress(PlatformError):
            clients[name] = get_backend(name)
    return clients


def get_default_device() -> Device:
    """The device of arrays for which no other device is named."""
    return chosen_device() or default_device()
