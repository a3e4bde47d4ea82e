"""Pytrees: nested containers of leaves, flattened to a list of leaves and a structure.

tree_flatten, tree_unflatten, tree_structure and tree_leaves (with paths: tree_flatten_with_path,
tree_leaves_with_path) split them; build_tree makes one. tree_map, tree_map_with_path,
tree_reduce, tree_reduce_associative, tree_all, all_leaves, tree_transpose and tree_broadcast work
on whole trees; broadcast_prefix and flatten_axes on prefixes of one; treedef_children,
treedef_is_leaf and treedef_tuple on structures.

An object of an unregistered type is a leaf. Nodes are tuples, lists, dicts (in the order of their
sorted keys), None (a node without leaves), namedtuples, OrderedDicts, defaultdicts, and registered
types. Only direct instances count: a subclass of a node type is a leaf until it is registered.

    treedef.py            structures and the registry
    tree_flattening.py    flattening, also of a prefix
    tree_code.py          generated functions that build and flatten trees of one structure
    tree_paths.py         paths, and errors that name one
    tree_registration.py  registration of classes
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .errors import ShapeError
from .tree_flattening import flatten, leaves_of_prefix, wrong_is_leaf
from .tree_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    difference,
    keystr,
    mismatch,
    short,
    wrong_argument,
)
from .tree_registration import (
    Partial,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from .treedef import (
    LEAF,
    PyTreeDef,
    kind_of,
    kind_of_type,
)
from .user_lines import noted

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "build_tree",
    "flatten_axes",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[[Any], bool]

tree_flatten = flatten


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[object]) -> Any:
    """The tree of a structure with these leaves: the inverse of `tree_flatten`.

    Raises: ValueError: too few or too many leaves.
    Example:
      >>> leaves, treedef = tree_flatten((1, {"a": 2}))
      >>> tree_unflatten(treedef, [x * 10 for x in leaves])
      (10, {'a': 20})
    """
    if not isinstance(treedef, PyTreeDef):
        raise noted(
            _not_first("tree_unflatten", "a treedef", treedef, "tree_unflatten(treedef, leaves)")
        )
    try:
        return treedef.unflatten(leaves)
    except TypeError:
        if isinstance(leaves, Iterable):
            raise
        raise wrong_argument("tree_unflatten", "leaves", "a sequence", leaves) from None


def tree_leaves(tree: object, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, in order.

    Example:
      >>> tree_leaves({"b": 1, "a": [2, None, 3]})
      [2, 3, 1]
    """
    return flatten(tree, is_leaf)[0]


def tree_structure(tree: object, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree.

    Example:
      >>> tree_structure({"b": 1, "a": [2, None]})
      PyTreeDef({'a': [*, None], 'b': *})
    """
    return flatten(tree, is_leaf)[1]


def tree_map(
    f: Callable[..., object], tree: object, *rest: object, is_leaf: IsLeaf | None = None
) -> Any:
    """Applies a function to each leaf of a tree, or to the corresponding leaves of several trees.

    Args:
      f: a function of a leaf of `tree` and the subtree of each of `rest` at its position.
      tree: determines the structure of the result.
      rest: trees of which `tree` is a prefix: they may have subtrees at its leaves.
      is_leaf: called on each node of `tree` from the root down; True makes it a leaf.
    Returns: a tree of the structure of `tree`.
    Raises: ValueError: one of `rest` has another structure; the message names the path.
    Example:
      >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
      {'a': 11, 'b': (22, 33)}
    """
    leaves, treedef = flatten(tree, is_leaf)
    try:
        if not rest:
            return treedef.unflatten(list(map(f, leaves)))
        columns = [_aligned(treedef, other, i, "tree_map") for i, other in enumerate(rest, 2)]
        return treedef.unflatten(list(map(f, leaves, *columns)))
    except TypeError:
        if callable(f):
            raise
        raise noted(_not_first("tree_map", "a function", f, "tree_map(f, tree)")) from None


def _not_first(name: str, expected: str, got: object, right: str) -> TypeError:
    return TypeError(
        f"{name}: expected {expected} as the first argument; got a {type(got).__name__}\n"
        f"  fix: {right}"
    )


def _aligned(treedef: PyTreeDef, tree: object, position: int, caller: str) -> list[Any]:
    """The parts of `tree` at the leaves of `treedef`."""
    try:
        leaves, other = flatten(tree)
    except (ValueError, RecursionError):  # anything may be below those leaves
        return treedef.flatten_up_to(tree, caller)
    if other is treedef or other == treedef:
        return leaves
    if difference(treedef, other) is None:
        return treedef.flatten_up_to(tree)
    raise noted(
        ShapeError(
            f"{caller}: argument {position + 1} differs from argument 2 "
            f"{mismatch(treedef, other)}\n  argument 2: {short(treedef)}\n"
            f"  argument {position + 1}: {short(other)}\n"
            "  fix: trees of one structure; the first may have leaves where the others have "
            "subtrees"
        )
    )


def tree_all(tree: object, *, is_leaf: IsLeaf | None = None) -> bool:
    """True if all leaves are true.

    Example:
      >>> tree_all({"a": True, "b": [1, 0]})
      False
    """
    leaves = flatten(tree, is_leaf)[0]
    try:
        return all(leaves)
    except ValueError:
        leaf = next((x for x in leaves if getattr(x, "size", 1) != 1), None)
        if leaf is None:
            raise  # from a leaf's `__bool__`
        raise noted(
            ShapeError(
                "tree_all: leaves must be scalars; got an array of shape "
                f"{tuple(leaf.shape)}\n  fix: tree_all(tree_map(numpy.all, tree))"
            )
        ) from None


_MISSING = object()


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: object,
    initializer: object = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combines the leaves from left to right, as `functools.reduce` does.

    Example:
      >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)}, 0)
      6
    """
    leaves = flatten(tree, is_leaf)[0]
    if initializer is _MISSING and not leaves:
        raise noted(
            TypeError(
                f"tree_reduce: expected a tree with leaves; got {tree!r:.60}\n"
                "  fix: an initializer, which is the result for an empty tree"
            )
        )
    try:
        if initializer is _MISSING:
            return functools.reduce(function, leaves)
        return functools.reduce(function, leaves, initializer)
    except TypeError:
        if callable(function):
            raise
        raise wrong_argument("tree_reduce", "function", "a function", function) from None


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: object,
    *,
    identity: object = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combines the leaves in pairs, then the results in pairs, and so on, to logarithmic depth.

    Args:
      operation: an associative function of two leaves.
      tree: the tree, whose leaves are combined in order.
      identity: the result for a tree without leaves; not used otherwise.
      is_leaf: called on each node on the way down; True makes it a leaf.
    Raises: TypeError: no leaves, and no identity.
    Example:
      >>> tree_reduce_associative(lambda x, y: f"({x}{y})", ["a", {"b": "b", "c": "c"}, "d"])
      '((ab)(cd))'
    """
    parts = flatten(tree, is_leaf)[0]
    if not parts:
        if identity is _MISSING:
            raise noted(
                TypeError("tree_reduce_associative: a tree without leaves needs an identity")
            )
        return identity
    if not callable(operation):
        raise wrong_argument("tree_reduce_associative", "operation", "a function", operation)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        unpaired = parts[len(parts) // 2 * 2 :]
        parts = [operation(x, y) for x, y in pairs] + unpaired
    return parts[0]


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: object
) -> Any:
    """Transposes a tree of trees.

    Args:
      outer_treedef: the outer structure.
      inner_treedef: the structure at each of its leaves; inferred if `None`.
      pytree_to_transpose: a tree of structure `outer_treedef.compose(inner_treedef)`.
    Returns: the same leaves, with `inner_treedef` outside.
    Example:
      >>> outer, inner = tree_structure([0, 0]), tree_structure({"a": 0, "b": 0})
      >>> tree_transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
      {'a': [1, 3], 'b': [2, 4]}
    """
    _check_treedef("tree_transpose", "outer_treedef", outer_treedef)
    if inner_treedef is not None:
        _check_treedef("tree_transpose", "inner_treedef", inner_treedef)
    leaves, treedef = flatten(pytree_to_transpose)
    if inner_treedef is None:
        parts = outer_treedef.flatten_up_to(pytree_to_transpose, "tree_transpose")
        if not parts:
            raise noted(
                ShapeError(
                    f"tree_transpose: {outer_treedef} has no leaves, so the inner structure has to "
                    "be given\n  fix: pass inner_treedef"
                )
            )
        inner_treedef = flatten(parts[0])[1]
    expected = outer_treedef.compose(inner_treedef)
    if not _same_nodes(treedef, expected):
        if difference(expected, treedef) is None:  # what should be a leaf is a node
            raise noted(
                ShapeError(f"tree_transpose: expected {short(expected)}; got {short(treedef)}")
            )
        raise noted(
            ShapeError(
                f"tree_transpose: the tree differs {mismatch(expected, treedef)}\n"
                f"  fix: a tree of structure {short(outer_treedef)} with {short(inner_treedef)} "
                "at each leaf"
            )
        )
    count = inner_treedef.num_leaves
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[i::count]) for i in range(count)]
    )


_KEYED = (dict, OrderedDict, defaultdict)
_BUILTIN = (tuple, list, type(None), *_KEYED)


def _same_nodes(a: PyTreeDef, b: PyTreeDef) -> bool:
    """True if two structures have the same nodes. The data of registered classes may differ, since
    it may describe the children, and a class may flatten its contents to leaves."""
    children, others = a.children(), b.children()
    if len(children) != len(others):
        kind = a.kind
        if kind is not b.kind or kind is None or kind.type in _BUILTIN or kind.is_namedtuple:
            return False
        return a.num_leaves == b.num_leaves == max(len(children), len(others))
    return (
        a.kind == b.kind
        and len(children) == len(others)
        and (a.kind is None or a.kind.type not in _KEYED or a.kind.same_data(a.data, b.data))
        and all(_same_nodes(x, y) for x, y in zip(children, others, strict=True))
    )


def all_leaves(iterable: Iterable[object], is_leaf: IsLeaf | None = None) -> bool:
    """True if each element is a leaf.

    Example:
      >>> all_leaves([1, "x"]), all_leaves([1, (2,)])
      (True, False)
    """
    if not isinstance(iterable, Iterable):
        raise wrong_argument("all_leaves", "iterable", "a sequence", iterable)
    if is_leaf is not None and not callable(is_leaf):
        raise wrong_is_leaf("all_leaves", is_leaf)
    return all((is_leaf is not None and is_leaf(x)) or kind_of(x) is None for x in iterable)


# ---- structures ----


def _check_treedef(name: str, parameter: str, treedef: object) -> None:
    if not isinstance(treedef, PyTreeDef):
        expected = "a PyTreeDef (tree_structure makes one)"
        raise wrong_argument(name, parameter, expected, treedef)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have these structures.

    Example:
      >>> treedef_tuple([tree_structure(0), tree_structure([0])])
      PyTreeDef((*, [*]))
    """
    kind = kind_of_type(tuple)
    assert kind is not None
    if not isinstance(treedefs, Iterable):
        raise wrong_argument("treedef_tuple", "treedefs", "a sequence of PyTreeDefs", treedefs)
    children = tuple(treedefs)
    for i, child in enumerate(children):
        _check_treedef("treedef_tuple", f"treedefs[{i}]", child)
    return kind.node(None, children)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children.

    Example:
      >>> treedef_children(tree_structure((0, [0])))
      [PyTreeDef(*), PyTreeDef([*])]
    """
    _check_treedef("treedef_children", "treedef", treedef)
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """True for the structure of a leaf.

    Example:
      >>> treedef_is_leaf(tree_structure(0)), treedef_is_leaf(tree_structure(None))
      (True, False)
    """
    _check_treedef("treedef_is_leaf", "treedef", treedef)
    return treedef.kind is None


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """A tree of a structure, from nested iterables of children.

    Example:
      >>> build_tree(tree_structure((0, {"a": 0, "b": 0})), [1, [2, 3]])
      (1, {'a': 2, 'b': 3})
    """
    _check_treedef("build_tree", "treedef", treedef)
    if treedef.kind is None:
        return xs
    children = treedef.children()
    if not isinstance(xs, Iterable):
        expected = f"a sequence of the children of {short(treedef)}"
        raise wrong_argument("build_tree", "xs", expected, xs)
    parts = list(xs)
    if len(parts) != len(children):
        raise noted(
            ShapeError(f"build_tree: {treedef} has {len(children)} children; got {len(parts)}")
        )
    pairs = zip(children, parts, strict=True)
    return treedef.kind.unflatten(treedef.data, [build_tree(child, x) for child, x in pairs])


# ---- prefixes ----


def broadcast_prefix(
    prefix_tree: object,
    full_tree: object,
    is_leaf: IsLeaf | None = None,
    name: str = "broadcast_prefix",
) -> list[Any]:
    """The leaves of a prefix, one for each leaf of the full tree.

    Args:
      prefix_tree: a prefix of `full_tree`: each of its leaves replaces a subtree.
      full_tree: the tree.
      is_leaf: called on each node of the prefix on the way down; True makes it a leaf.
      name: the name of the prefix in errors, such as "vmap in_axes".
    Raises: ValueError: not a prefix; the message names the path.
    Example:
      >>> broadcast_prefix((0, 1), ("x", ["y", "z"]))
      [0, 1, 1]
    """
    return leaves_of_prefix(prefix_tree, flatten(full_tree)[1], is_leaf, name)


def tree_broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf | None = None) -> Any:
    """`broadcast_prefix` as a tree of the structure of `full_tree`.

    Example:
      >>> tree_broadcast((0, 1), ("x", ["y", "z"]))
      (0, [1, 1])
    """
    treedef = flatten(full_tree)[1]
    return treedef.unflatten(leaves_of_prefix(prefix_tree, treedef, is_leaf, "tree_broadcast"))


def flatten_axes(
    name: str, treedef: PyTreeDef, axes_tree: object, is_leaf: IsLeaf | None = None
) -> list[Any]:
    """The axis of each leaf of a structure; in the prefix `axes_tree`, None is a leaf.

    Args:
      name: the name of the axes in errors, such as "vmap in_axes".
      treedef: the structure of the arguments.
      axes_tree: a prefix of such a tree, with an axis or None at its leaves.
      is_leaf: returns True for the leaves of the prefix; by default for None.
    Raises: ValueError: not a prefix; the message names the path.
    Example:
      >>> flatten_axes("vmap in_axes", tree_structure(("x", {"w": 0, "b": 0})), (None, 1))
      [None, 1, 1]
    """
    _check_treedef("flatten_axes", "treedef", treedef)
    return leaves_of_prefix(axes_tree, treedef, is_leaf or _is_none, name)


def _is_none(x: object) -> bool:
    return x is None


# ---- paths ----


def tree_flatten_with_path(
    tree: object,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`tree_flatten` with the path of each leaf.

    Args:
      tree: the tree.
      is_leaf: called on each node on the way down; True makes it a leaf.
      is_leaf_takes_path: if True, `is_leaf` is called with the node's path and the node.
    Returns: a list of (path, leaf), and the structure. `keystr` converts a path to text.
    Example:
      >>> pairs, treedef = tree_flatten_with_path({"a": [1, 2], "b": 3})
      >>> [(keystr(path), leaf) for path, leaf in pairs]
      [("['a'][0]", 1), ("['a'][1]", 2), ("['b']", 3)]
    """
    is_leaf_at = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        is_leaf_at = lambda path, x: is_leaf(x)  # noqa: E731
    pairs: list[tuple[KeyPath, Any]] = []
    try:
        return pairs, _with_paths(tree, is_leaf_at, (), pairs)
    except TypeError:
        if is_leaf is None or callable(is_leaf):
            raise
        raise wrong_is_leaf("tree_flatten_with_path", is_leaf) from None


def _with_paths(
    x: object,
    is_leaf: Callable[[KeyPath, Any], bool] | None,
    path: KeyPath,
    pairs: list[tuple[KeyPath, Any]],
) -> PyTreeDef:
    kind = None if is_leaf is not None and is_leaf(path, x) else kind_of(x)
    if kind is None:
        pairs.append((path, x))
        return LEAF
    parts, data = kind.flatten_checked(x)
    keys = kind.keys(x, data, len(parts))
    children = [
        _with_paths(part, is_leaf, (*path, key), pairs)
        for key, part in zip(keys, parts, strict=True)
    ]
    return kind.node(data, tuple(children))


def tree_leaves_with_path(
    tree: object,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """The (path, leaf) of each leaf of a tree, in order; options as in `tree_flatten_with_path`.

    Example:
      >>> weft.tree.leaves_with_path({"a": 1, "b": [2]})
      [((DictKey(key='a'),), 1), ((DictKey(key='b'), SequenceKey(idx=0)), 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., object],
    tree: object,
    *rest: object,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """`tree_map` for a function that takes the path of the leaf first.

    Args:
      f: called with a path, a leaf, and the corresponding parts of the other trees.
      tree, rest: the trees; the first one determines the structure.
      is_leaf, is_leaf_takes_path: as in `tree_flatten_with_path`.
    Returns: the tree of results.
    Example:
      >>> tree_map_with_path(lambda path, x: f"x{keystr(path)} = {x}", {"a": [1, 2]})
      {'a': ["x['a'][0] = 1", "x['a'][1] = 2"]}
    """
    if not callable(f):
        raise wrong_argument("tree_map_with_path", "f", "a function", f)
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [_aligned(treedef, x, i, "tree_map_with_path") for i, x in enumerate(rest, 2)]
    rows = zip(pairs, *columns, strict=True)
    return treedef.unflatten([f(path, leaf, *others) for (path, leaf), *others in rows])
