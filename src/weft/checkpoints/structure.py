"""The structure of a tree as a list of nodes that JSON can hold: nodes_of, leaf_paths, plain_tree.

The list contains the nodes in depth-first order, each before its children, so the JSON is not
nested as deeply as the tree. A node of a user's class is written as a dict or a list of its
children; `restore(path, like)` restores the class.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..tree_paths import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr
from ..tree_util import tree_flatten_with_path
from ..user_lines import noted

MAX_DEPTH = 400
"""The maximal depth of a tree that can be saved, less than the recursion depth of functions on
trees."""

Node = dict[str, Any]
Path = tuple[Any, ...]


class Malformed(Exception):
    """The list of nodes is not a tree; the message has the reason."""


# --- writing ---


def nodes_of(tree: Any) -> tuple[list[Node], list[tuple[int, Any, Any]]]:
    """The nodes and leaves of a tree.

    Returns: (nodes, leaves): a leaf is (its index in `nodes`, its path for messages, its value),
      and its node has a name only, to which the caller adds the value.
    Raises: TypeError: a key of a dict is not a string, number, bool, None or tuple of these.
      ValueError: the tree is nested too deep.
    Example:
      >>> nodes_of({"w": 1.5})[0]
      [{'name': '', 'dict': ['w']}, {'name': 'w'}]
    """
    try:
        entries, treedef = tree_flatten_with_path(tree)
    except RecursionError:
        raise noted(_too_deep()) from None
    values = iter(entries)
    names = _Names()
    nodes: list[Node] = []
    leaves = []
    open_nodes: list[tuple[Any, tuple[Any, ...]]] = [(treedef, ())]
    while open_nodes:
        definition, path = open_nodes.pop()
        if len(path) > MAX_DEPTH:
            raise noted(_too_deep())
        node: Node = {"name": names.text(path)}
        if definition.kind is None:
            _, value = next(values)
            node["name"] = names.unique(node["name"])
            leaves.append((len(nodes), path, value))
        else:
            node |= _container(definition, path)
            children = zip(definition.children(), definition.child_keys(), strict=True)
            open_nodes += [(child, (*path, key)) for child, key in children][::-1]
        nodes.append(node)
    return nodes, leaves


class _Names:
    """Names of arrays: the keys of their paths, separated by slashes, with a number added to
    duplicates."""

    def __init__(self) -> None:
        self.taken = {"__metadata__"}  # reserved by safetensors

    def text(self, path: Path) -> str:
        """The path as text that is valid in every file."""
        text = keystr(path, simple=True, separator="/")
        return text.encode("utf-8", "replace").decode("utf-8")

    def unique(self, name: str) -> str:
        """The name, or a similar one if it is taken, as in `{"a": {"b": x}, "a/b": y}`."""
        candidate = name = name or "array"
        number = 1
        while candidate in self.taken:
            number += 1
            candidate = f"{name}#{number}"
        self.taken.add(candidate)
        return candidate


def _container(definition: Any, path: Path) -> Node:
    """The entries of a node that is a container, even an empty one."""
    kind, keys = definition.kind, definition.child_keys()
    if kind.type is type(None):
        return {"none": True}
    if kind.type in (list, tuple):
        return {kind.type.__name__: len(keys)}
    names = list(map(key_of, keys))
    node: Node = {} if kind.type is dict else {"class": kind.type.__name__}
    if kind.type is dict or all(isinstance(key, DictKey | GetAttrKey) for key in keys):
        return node | {"dict": [_written(name, path) for name in names]}
    return node | {"list": len(keys)}


def key_of(key: Any) -> Any:
    """The key of one step of a path, for comparing trees. `x.w` and `x["w"]` have the same key."""
    match key:
        case SequenceKey(idx=value) | DictKey(key=value) | FlattenedIndexKey(key=value):
            return value
        case GetAttrKey(name=value):
            return value
    return str(key)


def _written(key: Any, path: Path) -> Any:
    """A key of a dict as a JSON value; a tuple becomes a list."""
    if type(key) is tuple:
        return [_written(part, path) for part in key]
    is_plain = key is None or type(key) in (str, bool, int)
    if not is_plain and not (type(key) is float and math.isfinite(key)):
        raise noted(
            TypeError(
                "save: keys of dicts must be strings, numbers, bools, None or tuples of those; got "
                f"{key!r:.60} at tree{keystr(path)}\n  fix: a string as the key, such as str(key)"
            )
        )
    return key


def _too_deep() -> ValueError:
    return ValueError(
        f"save: expected a tree of at most {MAX_DEPTH} levels; got a deeper one\n"
        "  fix: stack the parts of a long chain into arrays"
    )


# --- reading ---


def leaf_paths(nodes: Sequence[Node]) -> Iterator[tuple[Path, Node]]:
    """Yields the path and the node of each leaf.

    Raises: Malformed: the nodes are not a tree. It may be raised after some leaves.
    """
    expected: list[Path] = [()]
    for i, node in enumerate(nodes):
        if not expected:
            raise Malformed(f"there are {len(nodes) - i} nodes beside the tree")
        path = expected.pop()
        keys = _children(node, len(nodes) - i - 1 - len(expected))
        if keys is None:
            yield path, node
            continue
        if len(path) >= MAX_DEPTH and keys:
            raise Malformed(f"it is nested more than {MAX_DEPTH} levels deep")
        expected += [(*path, key) for key in keys][::-1]
    if expected:
        raise Malformed(f"{len(expected)} nodes of the tree are missing")


def plain_tree(nodes: Sequence[Node], values: Sequence[Any]) -> Any:
    """The tree, of dicts, lists, tuples and None.

    Args:
      nodes: the nodes, checked by `leaf_paths`.
      values: the values of the leaves, in order.
    Example:
      >>> plain_tree([{"dict": ["a", "b"]}, {"name": "a"}, {"tuple": 0}], [1])
      {'a': 1, 'b': ()}
    """
    rest = list(values)
    done: list[Any] = []  # the subtrees after the node, the nearest last
    for node in reversed(nodes):
        keys = _children(node, len(done))
        if keys is None:
            done.append(rest.pop())
            continue
        children = [done.pop() for _ in keys]
        if "none" in node:
            done.append(None)
        elif "dict" in node:
            done.append(dict(zip(keys, children, strict=True)))
        else:
            done.append(tuple(children) if "tuple" in node else children)
    return done[0]


def _children(node: Any, most: int) -> Sequence[Any] | None:
    """The keys of a node's children; None for a leaf.

    Args:
      most: the number of nodes that could be children.
    """
    if not isinstance(node, dict):
        raise Malformed("a node is not an object")
    kinds = [kind for kind in ("none", "list", "tuple", "dict") if kind in node]
    if len(kinds) > 1:
        raise Malformed("a node is of two kinds")
    if not kinds:
        return None
    value = node[kinds[0]]
    if kinds[0] == "none":
        keys: Sequence[Any] = ()
    elif kinds[0] == "dict":
        if not isinstance(value, list) or len(value) > most:
            raise Malformed("the keys of a dict are not a list, or more than there are nodes")
        keys = [_read(key) for key in value]
        if len(set(keys)) < len(keys):
            raise Malformed("a dict has a key twice")
    elif type(value) is int and 0 <= value <= most:
        keys = range(value)
    else:
        raise Malformed("a length is not a number, or more than there are nodes")
    return keys


def _read(key: Any) -> Any:
    """A key of a dict from its JSON value; the inverse of `_written`."""
    if isinstance(key, list):
        return tuple(_read(part) for part in key)
    if isinstance(key, dict):
        raise Malformed("a key of a dict is an object")
    return key
