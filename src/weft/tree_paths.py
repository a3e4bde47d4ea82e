"""Paths to the leaves of a pytree: DictKey, SequenceKey, GetAttrKey, FlattenedIndexKey, keystr.

The differences of two structures, as text for errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .user_lines import noted


class _Key:
    """A step of a path, compared by value. (Not a dataclass, to keep the import fast.)"""

    __slots__ = ("_value",)
    _value: Any

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._value == self._value

    def __hash__(self) -> int:
        return hash((type(self), self._value))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value,)


class DictKey(_Key):
    """A step into a dict.

    Example:
      >>> DictKey("w"), str(DictKey("w"))
      (DictKey(key='w'), "['w']")
    """

    __slots__ = ()

    def __init__(self, key: Any) -> None:
        object.__setattr__(self, "_value", key)

    @property
    def key(self) -> Any:
        """The key."""
        return self._value

    def __repr__(self) -> str:
        return f"DictKey(key={self._value!r})"

    def __str__(self) -> str:
        return f"[{self._value!r}]"


class SequenceKey(_Key):
    """A step into a tuple or list.

    Example:
      >>> str(SequenceKey(2))
      '[2]'
    """

    __slots__ = ()

    def __init__(self, idx: int) -> None:
        object.__setattr__(self, "_value", idx)

    @property
    def idx(self) -> int:
        """The index."""
        return self._value

    def __repr__(self) -> str:
        return f"SequenceKey(idx={self._value!r})"

    def __str__(self) -> str:
        return f"[{self._value}]"


class GetAttrKey(_Key):
    """A step to an attribute, of a namedtuple or dataclass.

    Example:
      >>> str(GetAttrKey("bias"))
      '.bias'
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_value", name)

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self._value

    def __repr__(self) -> str:
        return f"GetAttrKey(name={self._value!r})"

    def __str__(self) -> str:
        return f".{self._value}"


class FlattenedIndexKey(_Key):
    """A step to a child of a node that was registered without keys.

    Example:
      >>> str(FlattenedIndexKey(0))
      '[<flat index 0>]'
    """

    __slots__ = ()

    def __init__(self, key: int) -> None:
        object.__setattr__(self, "_value", key)

    @property
    def key(self) -> int:
        """The index among the children."""
        return self._value

    def __repr__(self) -> str:
        return f"FlattenedIndexKey(key={self._value!r})"

    def __str__(self) -> str:
        return f"[<flat index {self._value}>]"


KeyPath = tuple[Any, ...]
"""The keys from the root to a leaf; any hashable object may be a key."""


def keystr(keys: Iterable[object], *, simple: bool = False, separator: str = "") -> str:
    """A path as Python code that follows the name of the tree.

    Args:
      keys: the keys of a path, from the root down.
      simple: writes keys bare, without brackets, quotes and dots.
      separator: the text between two keys.
    Example:
      >>> keystr((DictKey("layers"), SequenceKey(0), GetAttrKey("w")))
      "['layers'][0].w"
      >>> keystr((DictKey("layers"), SequenceKey(0)), simple=True, separator="/")
      'layers/0'
    """
    try:
        return separator.join(map(_bare if simple else str, keys))
    except TypeError:
        if not isinstance(keys, Iterable):
            raise wrong_argument("keystr", "keys", "a path, a tuple of keys", keys) from None
        raise  # from a key's `__str__`
    except AttributeError:
        if hasattr(separator, "join"):
            raise
        raise wrong_argument("keystr", "separator", "a string", separator) from None


def wrong_argument(name: str, parameter: str, expected: str, got: object) -> TypeError:
    """The error for an argument of the wrong type, with the user's line."""
    return noted(
        TypeError(f"{name}: {parameter} must be {expected}; got {type(got).__name__} {got!r:.60}")
    )


def _bare(key: object) -> str:
    match key:
        case SequenceKey(idx=name) | DictKey(key=name) | FlattenedIndexKey(key=name):
            return str(name)
        case GetAttrKey(name=name):
            return str(name)
    return str(key)


# ---- structures as text ----


def short(treedef: Any) -> str:
    """A structure as text; the beginning of a long one."""
    text = repr(treedef)
    return text if len(text) <= 400 else f"{text[:400]}… ({treedef.num_leaves} leaves)"


def shown(treedef: Any) -> str:
    """A structure as Python code, with `*` for leaves."""
    kind, data = treedef.kind, treedef.data
    if kind is None:
        return "*"
    parts = list(map(shown, treedef.children()))
    inner = ", ".join(parts)
    if kind.type is type(None):
        return "None"
    if kind.type is tuple:
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    if kind.type is list:
        return f"[{inner}]"
    if kind.type is dict:
        return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(data, parts, strict=True)) + "}"
    name = kind.type.__name__
    what = f"namedtuple[{name}]" if kind.is_namedtuple else f"{name}[{data}]"
    return f"CustomNode({what}, [{inner}])"


def difference(prefix: Any, full: Any) -> tuple[KeyPath, str, str, str] | None:
    """The first difference between `full` and `prefix`; `None` if `prefix` is a prefix.

    Returns: the path; descriptions of the nodes of `prefix` and `full` there; and a remark.
    """
    kind = prefix.kind
    if kind is None:
        return None
    children, others = prefix.children(), full.children()
    if (
        full.kind != kind
        or len(children) != len(others)
        or not kind.same_data(prefix.data, full.data)
    ):
        return (), _root(prefix), _root(full), _remark(prefix, full)
    for key, child, other in zip(prefix.child_keys(), children, others, strict=True):
        inner = difference(child, other)
        if inner:
            return (key, *inner[0]), *inner[1:]
    return None


def mismatch(prefix: object, full: object) -> str:
    """The end of an error message: where `full` differs from `prefix`.

    Example:
      >>> from weft.treedef import structure_of
      >>> mismatch(structure_of((0, {"a": 0})), structure_of((0, {"b": 0})))
      "at [1]: expected a dict with key 'a'; got a dict with key 'b'"
    """
    path, expected, other, remark = difference(prefix, full) or ((), "the same", "another tree", "")
    return f"{place(path)}: expected {expected}; got {other}{remark}"


def place(path: KeyPath) -> str:
    """A path as part of a sentence."""
    return f"at {keystr(path)}" if path else "at the root"


def _root(treedef: Any) -> str:
    """The root of a structure in words."""
    kind = treedef.kind
    if kind is None:
        return "a leaf"
    if kind.type is type(None):
        return "None"
    count = len(treedef.children())
    if kind.type in (tuple, list):
        return f"a {kind.type.__name__} of {count}"
    if kind.type is dict:
        return f"a dict with {_keys(treedef.data)}"
    return f"a {kind.type.__name__}"


def _keys(keys: Iterable[object]) -> str:
    names = [repr(key) for key in keys]
    if not names:
        return "no keys"
    if len(names) > 8:
        names[7:] = [f"… ({len(names)} in all)"]
    return ("key " if len(names) == 1 else "keys ") + ", ".join(names)


def _remark(prefix: Any, full: Any) -> str:
    """A remark on the difference between two roots."""
    if full.kind is None:
        return ""
    a, b = prefix.kind.type, full.kind.type
    if {a, b} == {tuple, list}:
        return " (tuples and lists are different nodes)"
    if a is b is dict:
        missing = [key for key in prefix.data if key not in full.data]
        extra = [key for key in full.data if key not in prefix.data]
        if len(prefix.data) <= 3 and len(full.data) <= 3:
            return ""  # the descriptions show it
        lists = (("without", missing), ("with", extra))
        return ", that is " + " and ".join(f"{word} {_keys(keys)}" for word, keys in lists if keys)
    if a is b and len(prefix.children()) == len(full.children()):
        return f" with other data: {prefix.data!r} and {full.data!r}"
    return ""
