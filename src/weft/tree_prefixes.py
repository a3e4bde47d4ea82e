"""Prefixes of trees: trees whose leaves replace whole subtrees of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ShapeError
from .tree_flattening import flatten
from .tree_paths import difference, place, short
from .treedef import PyTreeDef
from .user_lines import noted


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
