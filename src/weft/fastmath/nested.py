"""Nested structures: tuples, lists, dicts and namedtuples; all other objects are leaves.

nested_map, nested_map_multiarg, nested_zip, nested_stack, tree_flatten, tree_leaves and
tree_unflatten. These structures are not pytrees: dicts keep the order of insertion, most functions
skip None leaves, and registered classes are leaves.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as onp

from ..user_lines import noted

__all__ = [
    "nested_map",
    "nested_map_multiarg",
    "nested_stack",
    "nested_zip",
    "tree_flatten",
    "tree_leaves",
    "tree_unflatten",
]


def _is_container(obj: Any) -> bool:
    return isinstance(obj, tuple | list | dict)


def _children(obj: Any) -> list[Any]:
    return list(obj.values()) if isinstance(obj, dict) else list(obj)


def _like(obj: Any, children: Sequence[Any]) -> Any:
    """A container of the same kind as another, with other children."""
    if isinstance(obj, dict):
        return dict(zip(obj, children, strict=True))
    if isinstance(obj, list):
        return list(children)
    return type(obj)(*children) if hasattr(obj, "_fields") else tuple(children)


def _is_at(level: int, obj: Any) -> bool:
    """True if an object is at a level: leaves are at level 0, containers of objects at level n are
    at level n + 1."""
    if level == 0 or not _is_container(obj):
        return level == 0 and not _is_container(obj)
    children = _children(obj)
    return bool(children) and all(_is_at(level - 1, child) for child in children)


def nested_map(f: Callable[[Any], Any], obj: Any, level: int = 0, ignore_nones: bool = True) -> Any:
    """Replaces the nodes of one level of a structure by `f(node)`.

    Args:
      f: function of a node.
      obj: tuples, lists, dicts and namedtuples of any objects.
      level: 0 for leaves, 1 for containers of leaves, and so on.
      ignore_nones: whether to keep None leaves unchanged.
    Returns: a structure like `obj`.
    Raises: ValueError: a leaf instead of a container.
    Example:
      >>> from weft import fastmath
      >>> fastmath.nested_map(lambda x: x + 1, {"a": (1, [2, None])})
      {'a': (2, [3, None])}
      >>> fastmath.nested_map(sum, [(1, 2), (3, 4)], level=1)
      [3, 7]
    Source: Trax documentation, `fastmath.nested_map`.
    """
    if _is_at(level, obj):
        return None if obj is None and ignore_nones else f(obj)
    if not _is_container(obj):
        if obj is None and ignore_nones:
            return None
        raise noted(
            ValueError(
                f"nested_map: Non-exhaustive levels: {type(obj).__name__} {obj!r} is a leaf, and "
                f"level={level} requires containers"
            )
        )
    return _like(obj, [nested_map(f, child, level, ignore_nones) for child in _children(obj)])


def nested_map_multiarg(f: Callable[..., Any], *objs: Any, ignore_nones: bool = True) -> Any:
    """Applies `f` to the corresponding leaves of several structures.

    Args:
      f: function of one leaf of each object.
      *objs: equal structures.
      ignore_nones: whether to keep None where all leaves are None.
    Returns: a structure like the first; namedtuples become tuples.
    Raises: ValueError: the structures differ.
    Example:
      >>> from weft import fastmath
      >>> fastmath.nested_map_multiarg(lambda x, y: x + y, [1, (2,)], [10, (20,)])
      [11, (22,)]
    Source: Trax documentation, `fastmath.nested_map_multiarg`.
    """
    first = objs[0]
    if not _is_container(first):
        return None if ignore_nones and all(o is None for o in objs) else f(*objs)
    for other in objs[1:]:
        if (
            not _is_container(other)
            or len(other) != len(first)
            or (isinstance(first, dict) and first.keys() != other.keys())
        ):
            raise noted(
                ValueError(f"nested_map_multiarg: structures differ: {first!r} and {other!r}")
            )
    if isinstance(first, dict):
        return {
            key: nested_map_multiarg(f, *(o[key] for o in objs), ignore_nones=ignore_nones)
            for key in first
        }
    children = [
        nested_map_multiarg(f, *some, ignore_nones=ignore_nones) for some in zip(*objs, strict=True)
    ]
    return children if isinstance(first, list) else tuple(children)


def nested_zip(objs: Sequence[Any]) -> Any:
    """Zips structures: returns one whose leaves are tuples of their leaves.

    Args:
      objs: a list or tuple of equal structures, at least one.
    Raises: AssertionError: `objs` is not a list or tuple, or is empty. ValueError: the structures
      differ.
    Example:
      >>> from weft import fastmath
      >>> fastmath.nested_zip([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}])
      {'a': (1, 3), 'b': [(2, 4)]}
    Source: Trax documentation, `fastmath.nested_zip`.
    """
    if not isinstance(objs, list | tuple) or not objs:
        raise noted(
            AssertionError(f"nested_zip: expected a list or tuple of structures; got {objs!r}")
        )
    return nested_map_multiarg(lambda *leaves: leaves, *objs, ignore_nones=False)


def nested_stack(objs: Sequence[Any], axis: int = 0, np_module: ModuleType | Any = onp) -> Any:
    """Stacks the leaves of several structures along a new axis.

    Args:
      objs: a list or tuple of equal structures of arrays.
      axis: the position of the new axis.
      np_module: the module that stacks: NumPy, or `weft.fastmath.numpy`.
    Returns: a structure like each of `objs`; None where all leaves are None.
    Example:
      >>> from weft import fastmath
      >>> fastmath.nested_stack([{"a": 1}, {"a": 2}])
      {'a': array([1, 2])}
    Source: Trax documentation, `fastmath.nested_stack`.
    """
    if not isinstance(objs, list | tuple) or not objs:
        raise noted(
            AssertionError(f"nested_stack: expected a list or tuple of structures; got {objs!r}")
        )
    return nested_map_multiarg(lambda *leaves: np_module.stack(leaves, axis=axis), *objs)


def tree_flatten(tree: Any) -> list[Any]:
    """The leaves of a structure in order, including None; dicts in the order of insertion.

    Example:
      >>> from weft import fastmath
      >>> fastmath.tree_flatten({"b": 1, "a": (2, [None])})
      [1, 2, None]
    Source: Trax documentation, `fastmath.tree_flatten`.
    """
    if not _is_container(tree):
        return [tree]
    return [leaf for child in _children(tree) for leaf in tree_flatten(child)]


def tree_leaves(tree: Any, ignore_nones: bool = True) -> list[Any]:
    """The leaves of a structure in order, without None.

    Args:
      tree: the structure.
      ignore_nones: False keeps None leaves.
    Example:
      >>> from weft import fastmath
      >>> fastmath.tree_leaves([1, (None, 2)]), fastmath.tree_leaves([None], ignore_nones=False)
      ([1, 2], [None])
    Source: Trax documentation, `fastmath.tree_leaves`.
    """
    leaves = tree_flatten(tree)
    return [leaf for leaf in leaves if leaf is not None] if ignore_nones else leaves


def tree_unflatten(
    flat: Sequence[Any], tree: Any, copy_from_tree: Sequence[Any] | None = None
) -> tuple[Any, list[Any]]:
    """Builds a structure from new leaves; also returns the unused leaves.

    Args:
      flat: the new leaves, in the order of `tree_flatten`; there may be more than needed.
      tree: the structure.
      copy_from_tree: subtrees of `tree` that equal one of these are copied, and use no leaves.
    Returns: (structure, unused leaves); namedtuples become tuples.
    Raises: ValueError: too few leaves.
    Example:
      >>> from weft import fastmath
      >>> fastmath.tree_unflatten([1, 2, 3, 4], {"a": 0, "b": [0, ()]}, copy_from_tree=[()])
      ({'a': 1, 'b': [2, ()]}, [3, 4])
    Source: Trax documentation, `fastmath.tree_unflatten`.
    """
    rest = list(flat)
    rest.reverse()  # leaves are taken from the end
    new = _unflattened(rest, tree, copy_from_tree or ())
    return new, rest[::-1]


def _unflattened(rest: list[Any], tree: Any, copied: Sequence[Any]) -> Any:
    if any(_are_equal(tree, other) for other in copied):
        return tree
    if not _is_container(tree):
        if not rest:
            raise noted(ValueError("tree_unflatten: there are fewer leaves than the structure has"))
        return rest.pop()
    children = [_unflattened(rest, child, copied) for child in _children(tree)]
    return tuple(children) if isinstance(tree, tuple) else _like(tree, children)


def _are_equal(tree: Any, other: Any) -> bool:
    """True if two structures are equal. Arrays never count as equal."""
    if tree is other:
        return True
    try:
        return type(tree) is type(other) and bool(tree == other)
    except (TypeError, ValueError):
        return False
