"""register_pytree_node, register_dataclass and others: classes become nodes of pytrees. Partial."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from .tree_flattening import flattener_of
from .tree_paths import FlattenedIndexKey, GetAttrKey, wrong_argument
from .treedef import Kind, enter, kind_of_type
from .user_lines import noted

Class = TypeVar("Class", bound=type)


def _enter(name: str, kind: Kind) -> None:
    _check_new(name, kind.type)
    enter(kind)
    flattener_of(kind.type)


def _check_new(name: str, cls: type) -> None:
    registered = kind_of_type(cls)
    if registered is not None and not registered.is_namedtuple:
        raise noted(
            ValueError(
                f"{name}: {cls.__name__} is registered as a pytree node already\n"
                "  fix: register a class once, where it is defined"
            )
        )


def _check_class(name: str, cls: object) -> None:
    if not isinstance(cls, type):
        raise noted(
            TypeError(
                f"{name}: a pytree node type must be a class; got {cls!r:.80}\n"
                "  fix: type(x), its class"
            )
        )
    _check_new(name, cls)


def _check_function(name: str, parameter: str, function: object) -> None:
    if not callable(function):
        raise wrong_argument(name, parameter, "a function", function)


def _check_methods(name: str, cls: type, *methods: str) -> None:
    for method in methods:
        if not hasattr(cls, method):
            raise noted(
                TypeError(
                    f"{name}: {cls.__name__} must have the methods {' and '.join(methods)}; it has "
                    f"no {method}"
                )
            )


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Registers a class: its direct instances are nodes.

    Args:
      nodetype: the class.
      flatten_func: from an instance to (children, data); the data are part of the structure and
        must be comparable, and hashable if the tree is an argument of a jitted function.
      unflatten_func: from data and children (a tuple) to an instance. The children may be any
        objects, not only arrays: do not check them.
      flatten_with_keys_func: as `flatten_func`, with (key, child) in place of each child.
    Raises: ValueError: the class is registered already.
    Example:
      >>> class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      >>> register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, ab: Pair(*ab))
      >>> from weft.tree_util import tree_leaves
      >>> tree_leaves([Pair(1, 2), 3])
      [1, 2, 3]
    """

    name = "register_pytree_node"
    _check_class(name, nodetype)
    _check_function(name, "flatten_func", flatten_func)
    _check_function(name, "unflatten_func", unflatten_func)
    _register_kind(name, nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def _register_kind(
    name: str,
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """`register_pytree_node` for a function with another name."""

    def keys(x: object, data: object, count: int) -> Sequence[Any]:
        if x is None or flatten_with_keys_func is None:
            return [FlattenedIndexKey(i) for i in range(count)]
        return [key for key, _ in flatten_with_keys_func(x)[0]]

    _enter(name, Kind(nodetype, flatten_func, unflatten_func, keys))


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """`register_pytree_node` for nodes whose children have keys, for paths.

    Args:
      nodetype: the class.
      flatten_with_keys: from an instance to ([(key, child), …], data).
      unflatten_func: from data and children to an instance.
      flatten_func: a faster way to (children, data), if there is one.
    Example:
      >>> from weft import tree_util
      >>> class Box:
      ...     def __init__(self, x):
      ...         self.x = x
      >>> tree_util.register_pytree_with_keys(
      ...     Box,
      ...     lambda box: (((tree_util.GetAttrKey("x"), box.x),), None),
      ...     lambda _, children: Box(*children),
      ... )
      >>> tree_util.keystr(tree_util.tree_flatten_with_path(Box(1))[0][0][0])
      '.x'
    """

    name = "register_pytree_with_keys"
    _check_class(name, nodetype)
    _check_function(name, "flatten_with_keys", flatten_with_keys)
    _check_function(name, "unflatten_func", unflatten_func)

    flatten_func = flatten_func or _without_keys(flatten_with_keys)
    _register_kind(name, nodetype, flatten_func, unflatten_func, flatten_with_keys)


def _without_keys(
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
) -> Callable[[Any], tuple[Iterable[Any], Any]]:
    """The function from an instance to (children, data), from the one with keys."""

    def without_keys(x: object) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(x)
        return tuple([child for _, child in pairs]), data

    return without_keys


def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: registers the class by its methods `tree_flatten` and `tree_unflatten` (a
    class method).

    Example:
      >>> @register_pytree_node_class
      ... class Point:
      ...     def __init__(self, x, y):
      ...         self.x, self.y = x, y
      ...     def tree_flatten(self):
      ...         return (self.x, self.y), None
      ...     @classmethod
      ...     def tree_unflatten(cls, data, children):
      ...         return cls(*children)
      >>> from weft.tree_util import tree_map
      >>> tree_map(lambda x: x + 1, Point(1, 2)).y
      3
    """
    name = "register_pytree_node_class"
    _check_class(name, cls)
    _check_methods(name, cls, "tree_flatten", "tree_unflatten")
    node: Any = cls
    _register_kind(name, cls, lambda x: x.tree_flatten(), node.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: like `register_pytree_node_class`, with a method `tree_flatten_with_keys`.

    Example:
      >>> from weft import tree_util
      >>> @tree_util.register_pytree_with_keys_class
      ... class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      ...     def tree_flatten_with_keys(self):
      ...         key = tree_util.GetAttrKey
      ...         return ((key("a"), self.a), (key("b"), self.b)), None
      ...     @classmethod
      ...     def tree_unflatten(cls, _, children):
      ...         return cls(*children)
      >>> paths = [path for path, _ in tree_util.tree_flatten_with_path(Pair(1, 2))[0]]
      >>> [tree_util.keystr(path) for path in paths]
      ['.a', '.b']
    """
    name = "register_pytree_with_keys_class"
    _check_class(name, cls)
    _check_methods(name, cls, "tree_flatten_with_keys", "tree_unflatten")
    node: Any = cls
    plain = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    with_keys = lambda x: x.tree_flatten_with_keys()  # noqa: E731
    without_keys = plain or _without_keys(with_keys)
    _register_kind(name, cls, without_keys, node.tree_unflatten, with_keys)
    return cls


def register_static(cls: Class) -> Class:
    """Class decorator: instances are nodes without leaves, wholly part of the structure.

    Example:
      >>> from weft import tree_util
      >>> @tree_util.register_static
      ... class Options(str):
      ...     pass
      >>> tree_util.tree_leaves({"x": 1.0, "options": Options("fast")})
      [1.0]
    """
    _check_class("register_static", cls)
    _register_kind("register_static", cls, lambda x: ((), x), lambda data, _: data)
    return cls


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Registers a dataclass: its direct instances are nodes.

    Args:
      nodetype: a dataclass, or a class whose constructor takes all fields by keyword.
      data_fields: the fields that are children. Without both lists: all fields of the constructor,
        except those declared with `field(metadata={"static": True})`.
      meta_fields: the fields that are part of the structure.
      drop_fields: fields with a default, which trees omit.
    Returns: the class, so that this can be a decorator.
    Raises: ValueError: the lists are not all the fields, once each.
    Example:
      >>> import dataclasses
      >>> @dataclasses.dataclass
      ... class Layer:
      ...     w: object
      ...     name: str = dataclasses.field(metadata={"static": True})
      >>> layers = [register_dataclass(Layer)(1, "in")]
      >>> from weft.tree_util import tree_map
      >>> tree_map(lambda x: x + 1, layers)
      [Layer(w=2, name='in')]
    """
    if (data_fields is None) != (meta_fields is None):
        raise noted(TypeError("register_dataclass: give both data_fields and meta_fields, or none"))
    data, meta = _fields_of(nodetype, data_fields, meta_fields, drop_fields)
    for field in (*data, *meta):
        if not field.isidentifier() or keyword.iskeyword(field):
            raise ValueError(f"register_dataclass: {field!r} can't be the name of a field")
    if len({*data, *meta}) != len(data) + len(meta):
        raise ValueError(f"register_dataclass: a field is named twice: {[*data, *meta]}")
    children, metadata, path_keys = _values(data), _values(meta), [*map(GetAttrKey, data)]

    def unflatten(values: Any, parts: Any) -> Any:
        arguments = dict(zip(data, parts, strict=True))
        return nodetype(**arguments, **dict(zip(meta, values, strict=True)))

    _enter(
        "register_dataclass",
        Kind(
            nodetype,
            lambda x: (children(x), metadata(x)),
            unflatten,
            lambda x, values, count: path_keys,
            fields=(data, meta),
        ),
    )
    return nodetype


def _fields_of(
    nodetype: type,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields that are children, and of those that are part of the structure."""
    if not isinstance(nodetype, type):
        raise noted(TypeError(f"register_dataclass: expected a class; got {nodetype!r:.60}"))
    name = nodetype.__name__
    declared = getattr(nodetype, "__dataclass_fields__", None)  # as `dataclasses.fields` reads it
    if declared is None:
        if data_fields is None or meta_fields is None:
            raise noted(
                TypeError(
                    f"register_dataclass: {name} is not a dataclass; name its fields\n"
                    "  fix: @dataclasses.dataclass on it, or data_fields=[…], meta_fields=[…]"
                )
            )
        return tuple(data_fields), tuple(meta_fields)
    real = [f for f in declared.values() if f._field_type.name == "_FIELD"]  # not a ClassVar
    fields = [f for f in real if f.init and f.name not in drop_fields]
    static = [f.name for f in fields if f.metadata.get("static", False)]
    names = [f.name for f in fields]
    data = [n for n in names if n not in static] if data_fields is None else data_fields
    meta = static if meta_fields is None else meta_fields
    missing = [n for n in names if n not in (*data, *meta)]
    unknown = [n for n in (*data, *meta) if n not in names]
    if missing or unknown:
        raise noted(
            ValueError(
                f"register_dataclass: the fields of {name} are {names}; "
                f"missing: {missing}, unknown: {unknown}\n"
                "  fix: each field once, in data_fields or in meta_fields"
            )
        )
    return tuple(data), tuple(meta)


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns these attributes of an object as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda x: ()
    (name,) = names
    return lambda x: (getattr(x, name),)


class Partial(functools.partial[Any]):
    """`functools.partial` that is a node: the arguments are its leaves, the function is structure.

    Example:
      >>> from weft.tree_util import tree_leaves, tree_map
      >>> add = Partial(lambda x, y: x + y, 1)
      >>> add(2), tree_leaves(add), tree_map(lambda x: x * 10, add)(2)
      (3, [1], 12)
    """

    def __new__(cls, func: Callable[..., object], /, *args: object, **keywords: object) -> Partial:
        # functools.partial would merge with an inner partial, whose arguments are not leaves
        if isinstance(func, functools.partial) and not isinstance(func, Partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **keywords)


class _Opaque:
    """A callable that functools.partial does not open."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.__wrapped__ = function

    def __call__(self, *args: object, **keywords: object) -> Any:
        return self.__wrapped__(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        function = other.__wrapped__ if isinstance(other, _Opaque) else other
        return bool(self.__wrapped__ == function)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


register_pytree_with_keys(
    Partial,
    lambda x: (((GetAttrKey("args"), x.args), (GetAttrKey("keywords"), x.keywords)), x.func),
    lambda func, parts: Partial(func, *parts[0], **parts[1]),
    lambda x: ((x.args, x.keywords), x.func),
)
