"""PyTreeDef, the structure of a pytree, and the registry of node types.

An object of an unregistered type is a leaf. Flattening is in `tree_flattening.py`, the text of
errors in `tree_paths.py`.

A *treedef* is a tree without its leaves: a kind of node, the node's data (the keys of a dict, …)
and a treedef for each child. Treedefs of plain containers are interned, so comparing two is mostly
one `is`. Those with other data (custom nodes) are not, since the table would keep the data alive.
Equality is by value in any case.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from .errors import ShapeError
from .tree_code import MAX_COMPILED_DEPTH, MAX_COMPILED_LEAVES, compile_build, compile_match
from .tree_paths import DictKey, GetAttrKey, SequenceKey, mismatch, shown
from .user_lines import noted

MAX_INTERNED = 4096  # structures; then the table is cleared: equal treedefs may be two objects
MAX_UNREGISTERED_CLASSES = 512  # then the tables are cleared, so that classes can be freed

REGISTERED: dict[type, Kind] = {}
"""The kinds of the registered classes."""

KINDS: dict[type, Kind | None] = {}
"""The kinds of all types flattened so far; None for leaves."""

Flattener: TypeAlias = "Callable[[Any, list[Any]], PyTreeDef]"

FLATTENERS: dict[type, Flattener | None] = {}
"""The flatteners of these types; None for leaves (`tree_flattening.py`)."""

_interned: dict[tuple[Any, ...], PyTreeDef] = {}  # by class, data, and identity of the children


class Kind:
    """A kind of node: how to flatten and unflatten it.

    Attributes:
      type: the class whose direct instances are such nodes.
      flatten: from a node to (children, data).
      unflatten: from data and children to a node.
      keys: from a node or None, its data and the number of children to the children's path keys.
      fields: for dataclasses, the names of (children, data).
      is_namedtuple: whether the type takes its children as positional arguments.
    """

    __slots__ = ("fields", "flatten", "is_namedtuple", "keys", "type", "unflatten")

    def __init__(
        self,
        type_: type,
        flatten: Callable[[Any], tuple[Iterable[Any], Any]],
        unflatten: Callable[[Any, Any], Any],
        keys: Callable[[Any, Any, int], Sequence[Any]],
        *,
        fields: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
        is_namedtuple: bool = False,
    ) -> None:
        self.type = type_
        self.flatten = flatten
        self.unflatten = unflatten
        self.keys = keys
        self.fields = fields
        self.is_namedtuple = is_namedtuple

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kind) and self.type is other.type)

    def __hash__(self) -> int:
        return hash(self.type)

    def node(self, data: object, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
        """The treedef of such a node; interned if the data is plain."""
        if data is not None and not is_plain(data):
            return PyTreeDef(self, data, children)
        return self.plain_node(data, children)

    def plain_node(self, data: object, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
        """`node`, for plain data."""
        key = (self.type, data, *map(id, children))  # the entry keeps the children alive
        treedef = _interned.get(key)
        if treedef is None:
            treedef = PyTreeDef(self, data, children)
            if all(child.interned for child in children):
                treedef.interned = True
                if len(_interned) >= MAX_INTERNED:
                    _interned.clear()
                treedef = _interned.setdefault(key, treedef)
        return treedef

    def flatten_checked(self, x: object) -> tuple[tuple[Any, ...], Any]:
        """`flatten(x)`, checked."""
        result: Any = self.flatten(x)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise noted(
                ShapeError(
                    f"the flatten function of pytree node {self.type.__name__} must return a pair "
                    f"(children, data); got {type(result).__name__}\n"
                    "  fix: return (x.a, x.b), None"
                )
            )
        return tuple(result[0]), result[1]

    def same_data(self, a: Any, b: Any) -> bool:
        """True if the data of two such nodes are equal.

        Keys of dicts are compared as dicts do. Other data must have the same type too: 1, 1.0 and
        True differ.
        """
        if a is b:
            return True
        if self.type is dict or self.type is OrderedDict:
            return bool(a == b)
        if self.type is defaultdict:
            return a[0] is b[0] and bool(a[1] == b[1])
        return same_data(a, b)


def same_data(a: Any, b: Any) -> bool:
    """True if two values are equal and of one type, inside tuples too."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same_data, a, b))
    if type(a) is float or type(a) is complex:
        return repr(a) == repr(b)  # 0.0 is not -0.0
    try:
        return bool(a == b)
    except ValueError as error:  # arrays
        raise ValueError(
            "the data of a pytree node must be comparable with ==, but for two values of type "
            f"{type(a).__name__} that fails: {error}. Arrays belong among the children."
        ) from None


def is_plain(data: object) -> bool:
    """True if `data` may be kept alive, and equal data are interchangeable."""
    return type(data) is str or (type(data) is tuple and all(type(part) is str for part in data))


class PyTreeDef:
    """The structure of a pytree: hashable, compared by value, printed like the tree.

    Example:
      >>> treedef = structure_of({"a": 1, "b": (2, None)})
      >>> treedef
      PyTreeDef({'a': *, 'b': (*, None)})
      >>> treedef.unflatten(["x", "y"])
      {'a': 'x', 'b': ('y', None)}
    """

    __slots__ = (
        "_build", "_children", "_hash", "_match", "data", "interned", "kind", "num_leaves",
        "num_nodes",
    )  # fmt: skip

    kind: Kind | None
    """The kind of the root; None if it is a leaf."""
    data: Any
    num_leaves: int
    num_nodes: int
    """Nodes including the leaves."""
    interned: bool

    def __init__(self, kind: Kind | None, data: object, children: tuple[PyTreeDef, ...]) -> None:
        self.kind = kind
        self.data = data
        self._children = children
        self.interned = kind is None
        leaves, nodes = (1, 1) if kind is None else (0, 1)
        for child in children:
            leaves += child.num_leaves
            nodes += child.num_nodes
        self.num_leaves = leaves
        self.num_nodes = nodes
        self._build: Callable[[Any], Any] | None = None
        self._match: Callable[[Any], list[Any] | None] | None = None
        try:
            self._hash = hash((None if kind is None else kind.type, data, children))
        except TypeError:  # data that can't be hashed
            self._hash = hash((None if kind is None else kind.type, children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.kind == other.kind
            and self._children == other._children
            and (self.kind is None or self.kind.same_data(self.data, other.data))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self.kind is None:
            return _leaf, ()
        return _node_of, (self.kind.type, self.data, self._children)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: object) -> PyTreeDef:
        return self

    # -- taking apart --

    @property
    def is_leaf(self) -> bool:
        """True if the whole tree is one leaf."""
        return self.kind is None

    def children(self) -> list[PyTreeDef]:
        """The structures of the root's children."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The root's type and data (the keys of a dict, …); None for a leaf."""
        return None if self.kind is None else (self.kind.type, self.data)

    def child_keys(self) -> Sequence[Any]:
        """The path keys of the root's children, as far as the structure determines them."""
        kind = self.kind
        return () if kind is None else kind.keys(None, self.data, len(self._children))

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """The structure in which each leaf is replaced by `inner`."""
        if self.kind is None:
            return inner
        return self.kind.node(self.data, tuple(child.compose(inner) for child in self._children))

    # -- leaves → tree --

    def unflatten(self, leaves: Iterable[object]) -> Any:
        """The tree of this structure with these leaves, in order.

        Raises: ValueError: too few or too many leaves.
        """
        leaves = [*leaves]
        if len(leaves) != self.num_leaves:
            raise self.wrong_count(leaves)
        return _build(self, leaves, 0)

    @property
    def builder(self) -> Callable[[Iterable[Any]], Any]:
        """`unflatten` as a function compiled for this structure, for results of jitted functions
        (benchmarks/dispatch.py, "100 leaves")."""
        if self._build is None:
            self._build = compile_build(self) if self._is_compilable() else self.unflatten
        return self._build

    def wrong_count(self, leaves: object) -> ValueError:
        """The error for a wrong number of leaves."""
        count = str(len(leaves)) if hasattr(leaves, "__len__") else "another number"
        return noted(
            ShapeError(
                f"unflatten: expected {self.num_leaves} leaves for {self}; got {count}\n"
                "  fix: the leaves of tree_flatten, each once and in that order"
            )
        )

    def _is_compilable(self) -> bool:
        return (
            self.num_leaves <= MAX_COMPILED_LEAVES
            and self.num_nodes <= 2 * MAX_COMPILED_LEAVES
            and _depth(self) <= MAX_COMPILED_DEPTH
        )

    # -- tree → leaves --

    @property
    def matcher(self) -> Callable[[Any], list[Any] | None]:
        """A function `match(tree)`, compiled for this structure: the leaves of a tree of this
        structure, or `None` if the tree may have another structure. It is four times faster than
        flattening (benchmarks/decoding.py).
        """
        if self._match is None:
            compilable = self._is_compilable()
            self._match = compile_match(self, FLATTENERS) if compilable else lambda tree: None
        return self._match

    def flatten_up_to(self, tree: object, name: str = "flatten_up_to") -> list[Any]:
        """The subtrees of `tree` at the leaves of this structure.

        Args:
          tree: a tree with this structure as a prefix.
          name: the name of the caller's argument, for the error.
        Raises: ValueError: this structure is not a prefix of `tree`; names the path.
        Example:
          >>> structure_of((1, [2])).flatten_up_to(("x", [{"y": 3}]))
          ['x', {'y': 3}]
        """
        subtrees: list[Any] = []
        if not _flatten_up_to(self, tree, subtrees):
            raise noted(
                ShapeError(
                    f"{name}: {mismatch(self, structure_of(tree))}\n"
                    f"  fix: a tree that begins as {self!r:.400}"
                )
            )
        return subtrees

    # -- text --

    def __repr__(self) -> str:
        return f"PyTreeDef({shown(self)})"


def _build(treedef: PyTreeDef, leaves: list[Any], i: int) -> Any:
    """The tree from the leaves with numbers `i` and above."""
    kind, n = treedef.kind, treedef.num_leaves
    if kind is None:
        return leaves[i]
    if treedef.num_nodes == n + 1:  # the children are the leaves
        return kind.unflatten(treedef.data, leaves[i : i + n])
    parts = []
    for child in treedef._children:
        parts.append(leaves[i] if child.kind is None else _build(child, leaves, i))
        i += child.num_leaves
    return kind.unflatten(treedef.data, parts)


def structure_of(x: object) -> PyTreeDef:
    """The structure of a tree; `tree_flattening.flatten` is faster."""
    kind = kind_of(x)
    if kind is None:
        return LEAF
    parts, data = kind.flatten_checked(x)
    return kind.node(data, tuple(map(structure_of, parts)))


def _depth(treedef: PyTreeDef) -> int:
    return 1 + max(map(_depth, treedef._children), default=0)


def _flatten_up_to(treedef: PyTreeDef, x: object, subtrees: list[Any]) -> bool:
    kind = treedef.kind
    if kind is None:
        subtrees.append(x)
        return True
    if kind_of(x) != kind:
        return False
    parts, data = kind.flatten_checked(x)
    children = treedef._children
    if len(parts) != len(children) or not kind.same_data(data, treedef.data):
        return False
    return all(
        _flatten_up_to(child, part, subtrees) for child, part in zip(children, parts, strict=True)
    )


# ---- the registry ----

LEAF = PyTreeDef(None, None, ())
"""The structure of a leaf."""


def kind_of(x: object) -> Kind | None:
    """The node class of `x`; None if it is a leaf."""
    return kind_of_type(type(x))


def kind_of_type(cls: type) -> Kind | None:
    """The node class of direct instances of `cls`; None if they are leaves."""
    try:
        return KINDS[cls]
    except KeyError:
        return _classified(cls)


def _classified(cls: type) -> Kind | None:
    """Adds a type to the table: a registered class has its kind, a namedtuple class is a node, and
    any other type is a leaf."""
    kind = REGISTERED.get(cls)
    if kind is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        kind = _namedtuple_kind(cls)
    if len(KINDS) >= MAX_UNREGISTERED_CLASSES + len(REGISTERED):
        KINDS.clear()
        KINDS.update(REGISTERED)
        FLATTENERS.clear()
        _interned.clear()  # structures refer to kinds, and so to classes
    return KINDS.setdefault(cls, kind)


def enter(kind: Kind) -> None:
    """Adds a kind of node to the registry."""
    REGISTERED[kind.type] = KINDS[kind.type] = kind


# ---- the built-in kinds ----


def sorted_keys(x: dict[Any, Any]) -> tuple[Any, ...]:
    """The keys of a dict in order."""
    try:
        return tuple(sorted(x))
    except TypeError as error:
        raise noted(
            ValueError(
                "the keys of a dict in a pytree must be sortable, because its leaves are in the "
                f"order of the keys; these are not: {', '.join(map(repr, x))} ({error})\n"
                "  fix: keys of one kind; or an OrderedDict, which keeps the order that it has"
            )
        ) from None


def _dict_apart(x: dict[Any, Any]) -> tuple[Iterable[Any], Any]:
    keys = sorted_keys(x)
    return [x[key] for key in keys], keys


def _defaultdict_apart(x: defaultdict[Any, Any]) -> tuple[Iterable[Any], Any]:
    keys = sorted_keys(x)
    return [x[key] for key in keys], (x.default_factory, keys)


def _dict_keys(x: object, data: Any, count: int) -> Sequence[Any]:
    return [DictKey(key) for key in data]


def sequence_keys(x: object, data: object, count: int) -> Sequence[Any]:
    """Path keys by position."""
    return [SequenceKey(i) for i in range(count)]


def _namedtuple_kind(cls: Any) -> Kind:
    fields = [GetAttrKey(field) for field in cls._fields]
    return Kind(
        cls,
        lambda x: (x, None),
        lambda data, parts: cls(*parts),
        lambda x, data, count: fields,
        is_namedtuple=True,
    )


_TUPLE = Kind(tuple, lambda x: (x, None), lambda data, parts: tuple(parts), sequence_keys)
_LIST = Kind(list, lambda x: (x, None), lambda data, parts: list(parts), sequence_keys)
DICT = Kind(dict, _dict_apart, lambda keys, parts: dict(zip(keys, parts, strict=False)), _dict_keys)
_ORDERED = Kind(
    OrderedDict,
    lambda x: (x.values(), tuple(x)),
    lambda keys, parts: OrderedDict(zip(keys, parts, strict=True)),
    _dict_keys,
)
_DEFAULT = Kind(
    defaultdict,
    _defaultdict_apart,
    lambda data, parts: defaultdict(data[0], zip(data[1], parts, strict=True)),
    lambda x, data, count: _dict_keys(x, data[1], count),
)
_NONE = Kind(type(None), lambda x: ((), None), lambda data, parts: None, sequence_keys)

for _kind in (_TUPLE, _LIST, DICT, _ORDERED, _DEFAULT, _NONE):
    enter(_kind)


# ---- copies and pickles ----


def _leaf() -> PyTreeDef:
    return LEAF


def _node_of(cls: type, data: object, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    kind = kind_of_type(cls)
    if kind is None:
        raise ValueError(f"a treedef mentions {cls.__name__}, which is not registered as a node")
    return kind.node(data, children)
