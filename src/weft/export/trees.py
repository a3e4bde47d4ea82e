"""Tree structures as JSON; types other than Python's have registered names.

register_pytree_node_serialization and register_namedtuple_serialization register them. Reading
makes instances of registered classes only.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.source import located
from ..tree_util import PyTreeDef, tree_structure
from ..treedef import kind_of, kind_of_type

__all__ = ["register_namedtuple_serialization", "register_pytree_node_serialization"]


class NodeFormat(NamedTuple):
    """The form in which nodes of a class are stored.

    Attributes:
      kind: the class.
      write, read: convert its auxiliary data to bytes and back.
      from_children: makes a node from its data and children.
    """

    kind: type
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any]


_formats: dict[str, NodeFormat] = {}
_names: dict[type, str] = {}


@located
def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Registers how nodes of a class are stored when a function is serialized.

    Args:
      nodetype: a class that is registered as a pytree node.
      serialized_name: the name of the class in files.
      serialize_auxdata, deserialize_auxdata: functions that convert its auxiliary data to bytes and
        back. The bytes may come from any source.
      from_children: makes a node from its auxiliary data and children; by default, the function of
        the registration.
    Returns: the class.
    Raises: ValueError: it is not a pytree node, or the name is taken.
    Example:
      >>> import weft
      >>> class Pair:
      ...     def __init__(self, x, y): self.x, self.y = x, y
      >>> weft.tree_util.register_pytree_node(
      ...     Pair, lambda p: ((p.x, p.y), None), lambda _, xs: Pair(*xs))
      >>> _ = weft.export.register_pytree_node_serialization(
      ...     Pair, serialized_name="docs.Pair", serialize_auxdata=lambda _: b"",
      ...     deserialize_auxdata=lambda _: None)
      >>> exported = weft.export.export(weft.jit(lambda p: p.x + p.y))(Pair(1.0, 2.0))
      >>> print(weft.export.deserialize(exported.serialize()).call(Pair(3.0, 4.0)))
      7.0
    Source: JAX documentation, `jax.export.register_pytree_node_serialization`.
    """
    kind = kind_of_type(nodetype)
    if kind is None:
        raise ValueError(
            f"register_pytree_node_serialization: {nodetype.__name__} is not a pytree node\n"
            "  fix: tree_util.register_pytree_node first"
        )
    registered = _formats.get(serialized_name)
    if registered is not None and registered.kind is not nodetype:
        raise ValueError(
            f"register_pytree_node_serialization: the name {serialized_name!r} is taken by "
            f"{registered.kind.__name__}"
        )
    build = from_children or kind.unflatten
    _formats[serialized_name] = NodeFormat(nodetype, serialize_auxdata, deserialize_auxdata, build)
    _names[nodetype] = serialized_name
    return nodetype


@located
def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Registers the name of a namedtuple class for serialized functions.

    Args: as for `register_pytree_node_serialization`.
    Example:
      >>> import typing, weft
      >>> class Point(typing.NamedTuple):
      ...     x: float
      ...     y: float
      >>> weft.export.register_namedtuple_serialization(Point, serialized_name="Point") is Point
      True
    Source: JAX documentation, `jax.export.register_namedtuple_serialization`.
    """
    fields = getattr(nodetype, "_fields", None)
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and fields is not None):
        raise ValueError(
            f"register_namedtuple_serialization: {nodetype!r} is not a namedtuple class"
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
        from_children=lambda _, children: nodetype(*children),
    )


def written_tree(treedef: PyTreeDef) -> Any:
    """A structure as JSON values."""
    return _written_form(treedef.unflatten(range(treedef.num_leaves)))


def _written_form(x: Any) -> Any:
    kind = kind_of(x)
    if kind is None:
        return "*"
    if x is None:
        return None
    if type(x) in (tuple, list):
        return {type(x).__name__: [_written_form(y) for y in x]}
    if type(x) is dict:
        for key in x:
            if type(key) not in (str, int):
                raise ValueError(
                    f"serialize: the key {key!r} of a dict among the arguments or results is "
                    "neither a string nor an int"
                )
        return {"dict": [[key, _written_form(y)] for key, y in x.items()]}
    name = _names.get(type(x))
    if name is None:
        raise ValueError(
            f"serialize: a {type(x).__name__} is among the arguments or results, and nothing says "
            "how it is written\n  fix: export.register_pytree_node_serialization, or "
            "register_namedtuple_serialization"
        )
    children, data = kind.flatten_checked(x)
    written = _formats[name].write(data)
    return {"node": [name, bytes(written).hex(), [_written_form(y) for y in children]]}


def read_tree(written: object) -> PyTreeDef:
    """The structure from the result of `written_tree`."""
    return tree_structure(_read(written))


def _read(written: object) -> Any:
    match written:
        case "*":
            return 0
        case None:
            return None
        case {"tuple": [*items]}:
            return tuple([_read(y) for y in items])
        case {"list": [*items]}:
            return [_read(y) for y in items]
        case {"dict": [*items]}:
            return {key: _read(y) for key, y in items}
        case {"node": [str(name), str(data), [*children]]}:
            class_format = _formats.get(name)
            if class_format is None:
                raise ValueError(
                    f"deserialize: the class {name!r} isn't known here\n"
                    "  fix: export.register_pytree_node_serialization with this name"
                )
            return class_format.from_children(
                class_format.read(bytes.fromhex(data)), [_read(y) for y in children]
            )
    raise ValueError(f"deserialize: {written!r:.60} is not a structure of a tree")
