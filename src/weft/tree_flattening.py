"""Flattening of pytrees, a hot path: one look-up for each node.

Every type has a flattener, `flatten_x(node, leaves)`, which appends the leaves and returns the
structure. Structures are looked up: of a sequence of leaves by its length, of a dict by its keys,
of other nodes by the structures of their children (benchmarks/dispatch.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from .errors import ShapeError
from .tree_paths import difference, place, short, wrong_argument
from .treedef import (
    DICT,
    FLATTENERS,
    LEAF,
    MAX_INTERNED,
    Flattener,
    Kind,
    PyTreeDef,
    kind_of,
    kind_of_type,
)
from .user_lines import called_with, noted


def flattener_of(cls: type) -> Flattener | None:
    """Makes the flattener of a type from its kind in the registry, and adds it to the table."""
    kind = kind_of_type(cls)
    flattener: Flattener | None
    if kind is None:
        flattener = None
    elif cls is dict:
        flattener = flatten_dict
    elif cls in (tuple, list) or kind.is_namedtuple:
        flattener = _sequence_flattener(kind)
    else:
        flattener = _custom_flattener(kind)
    FLATTENERS[cls] = flattener
    return flattener


def flatten(
    tree: object, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, in order, and its structure.

    Args:
      tree: any nesting of tuples, lists, dicts, None, namedtuples and registered types.
      is_leaf: called on each node from the root down; True makes it a leaf.
    Example:
      >>> flatten({"b": 1, "a": [2, (3,)], "none": None})
      ([2, 3, 1], PyTreeDef({'a': [*, (*,)], 'b': *, 'none': None}))
    """
    leaves: list[Any] = []
    if is_leaf is not None:
        try:
            return leaves, _flatten_until(tree, leaves, is_leaf)
        except TypeError:
            if callable(is_leaf):
                raise
            raise wrong_is_leaf("tree_flatten", is_leaf) from None
    added: Any = None
    while True:  # an unknown type raises a KeyError, so known types pay nothing
        try:
            flattener = FLATTENERS[type(tree)]
            if flattener is None:
                return [tree], LEAF
            return leaves, flattener(tree, leaves)
        except KeyError as error:
            unknown = error.args[0] if error.args else None
            if not isinstance(unknown, type) or unknown is added:
                raise  # from a user's flatten function
            added = unknown
            flattener_of(unknown)
            leaves = []


def wrong_is_leaf(name: str, is_leaf: object) -> TypeError:
    """The error for an `is_leaf` that is not a function, in the function that the user called."""
    name = called_with(is_leaf)[0] or name
    return wrong_argument(name, "is_leaf", "a function of a node, or None", is_leaf)


def _flatten_until(x: object, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> PyTreeDef:
    kind = None if is_leaf(x) else kind_of(x)
    if kind is None:
        leaves.append(x)
        return LEAF
    parts, data = kind.flatten_checked(x)
    return kind.node(data, tuple([_flatten_until(part, leaves, is_leaf) for part in parts]))


def _flatten_parts(parts: Iterable[object], leaves: list[Any]) -> tuple[PyTreeDef, ...]:
    children = []
    for part in parts:
        flattener = FLATTENERS[type(part)]
        if flattener is None:
            leaves.append(part)
            children.append(LEAF)
        else:
            children.append(flattener(part, leaves))
    return tuple(children)


def _sequence_flattener(kind: Kind) -> Flattener:
    def flatten_sequence(x: Any, leaves: list[Any]) -> PyTreeDef:
        for part in x:
            if FLATTENERS[type(part)] is not None:
                break
        else:
            leaves.extend(x)
            return kind.plain_node(None, (LEAF,) * len(x))
        return kind.plain_node(None, _flatten_parts(x, leaves))

    return flatten_sequence


# By the keys of a dict in their order: a getter of its values in sorted order, the structure if all
# are leaves, the sorted keys. Only string keys have a plan, since 1, 1.0 and True are equal as keys
# of this table. (So are "a" and an equal member of a StrEnum: a dict of such members may come back
# with plain strings as keys.)
_PLANS: dict[tuple[str, ...], tuple[Any, PyTreeDef, tuple[str, ...]]] = {}


def flatten_dict(x: dict[Any, Any], leaves: list[Any]) -> PyTreeDef:
    """Flattens a dict: the children in the order of the sorted keys."""
    order = tuple(x)
    try:
        values_of, flat, keys = _PLANS[order]
    except KeyError:
        if not all(type(key) is str for key in order):
            parts, data = DICT.flatten(x)
            return PyTreeDef(DICT, data, _flatten_parts(parts, leaves))
        values_of, flat, keys = _plan(order)
    values = values_of(x)
    for value in values:
        if FLATTENERS[type(value)] is not None:
            break
    else:
        leaves.extend(values)
        return flat
    return DICT.plain_node(keys, _flatten_parts(values, leaves))


def _plan(order: tuple[str, ...]) -> Any:
    keys = tuple(sorted(order))
    if len(keys) > 1:
        values_of: Any = itemgetter(*keys)
    elif keys:
        (key,) = keys

        def values_of(x: dict[str, Any]) -> tuple[Any, ...]:
            return (x[key],)
    else:
        values_of = tuple
    plan = values_of, DICT.plain_node(keys, (LEAF,) * len(keys)), keys
    if len(_PLANS) >= MAX_INTERNED:
        _PLANS.clear()
    return _PLANS.setdefault(order, plan)


def _custom_flattener(kind: Kind) -> Flattener:
    def flatten_custom(x: object, leaves: list[Any]) -> PyTreeDef:
        parts, data = kind.flatten_checked(x)
        return kind.node(data, _flatten_parts(parts, leaves))

    return flatten_custom


# --- prefixes: trees whose leaves replace whole subtrees of another ---


def leaves_of_prefix(
    prefix_tree: object, full: PyTreeDef, is_leaf: Callable[[Any], bool] | None, name: str
) -> list[Any]:
    """The leaves of a prefix, one for each leaf of the structure `full`; see `broadcast_prefix`."""
    leaves, prefix = flatten(prefix_tree, is_leaf)
    if prefix is full:
        return leaves
    counts: list[int] = []
    if not _leaf_counts(prefix, full, counts):
        path, ours, theirs, remark = difference(prefix, full) or ((), "one tree", "another", "")
        raise noted(
            ShapeError(
                f"{name}: not a prefix of the tree that it describes: {place(path)} it has {ours}, "
                f"where the tree has {theirs}{remark}\n"
                f"  prefix: {short(prefix)}\n  tree: {short(full)}\n"
                "  fix: the tree's own structure, with leaves in place of whole branches"
            )
        )
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def _leaf_counts(prefix: PyTreeDef, full: PyTreeDef, counts: list[int]) -> bool:
    """Appends the number of leaves of `full` under each leaf of `prefix`; False for other trees."""
    kind = prefix.kind
    if kind is None:
        counts.append(full.num_leaves)
        return True
    children, others = prefix.children(), full.children()
    return (
        kind == full.kind
        and len(children) == len(others)
        and kind.same_data(prefix.data, full.data)
        and all(_leaf_counts(a, b, counts) for a, b in zip(children, others, strict=True))
    )
