"""Generates Python functions that build the trees of one structure, and that flatten them.

A recursive walk would take a quarter of a call of a jitted function that returns 100 leaves
(benchmarks/dispatch.py, "100 leaves"), and half of a step of a Transformer whose weights are 700
nested tuples (benchmarks/decoding.py).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

MAX_COMPILED_LEAVES = 2000
MAX_COMPILED_DEPTH = 40  # CPython's parser refuses more than some 90 nested brackets


class _Constants:
    """The constants of a generated function, by name."""

    def __init__(self, **values: object) -> None:
        self.values: dict[str, Any] = values

    def __call__(self, value: object) -> str:
        name = f"k{len(self.values)}"
        self.values[name] = value
        return name

    def key(self, key: object) -> str:
        """Source text for a dict key."""
        return repr(key) if type(key) is str else self(key)


def compile_build(treedef: object) -> Callable[[Any], Any]:
    """A function from the leaves (any iterable) to the tree."""
    names = _Constants(treedef=treedef)
    leaves: list[str] = []
    expression = _expression(treedef, names, leaves)
    lines = [
        "def build(leaves):",
        "    try:",
        f"        {_unpacking(leaves, 'leaves')}",
        "    except ValueError:",
        "        raise treedef.wrong_count(leaves) from None",
        f"    return {expression}",
    ]
    return _function_of("build", lines, names)


def _function_of(name: str, lines: list[str], names: _Constants) -> Callable[[Any], Any]:
    exec(compile("\n".join(lines), f"<weft {name}>", "exec"), names.values)
    function: Callable[[Any], Any] = names.values[name]
    return function


def _unpacking(targets: list[str], source: str) -> str:
    return f"[{', '.join(targets)}] = {source}"


def _expression(treedef: Any, names: _Constants, leaves: list[str]) -> str:
    kind = treedef.kind
    if kind is None:
        leaves.append(f"x{len(leaves)}")
        return leaves[-1]
    parts = [_expression(child, names, leaves) for child in treedef.children()]
    inner = ", ".join(parts)
    if kind.type is type(None):
        return "None"
    if kind.type is tuple:
        return f"({inner},)" if parts else "()"
    if kind.type is list:
        return f"[{inner}]"
    if kind.type in (dict, OrderedDict, defaultdict):
        keys = treedef.data[1] if kind.type is defaultdict else treedef.data
        pairs = [f"{names.key(key)}: {part}" for key, part in zip(keys, parts, strict=True)]
        literal = "{" + ", ".join(pairs) + "}"
        if kind.type is dict:
            return literal
        if kind.type is OrderedDict:
            return f"{names(OrderedDict)}({literal})"
        return f"{names(defaultdict)}({names(treedef.data[0])}, {literal})"
    if kind.is_namedtuple:
        return f"{names(kind.type)}({inner})"
    if kind.fields is not None:
        data_fields, meta_fields = kind.fields
        arguments = [f"{f}={p}" for f, p in zip(data_fields, parts, strict=True)]
        arguments += [f"{f}={names(v)}" for f, v in zip(meta_fields, treedef.data, strict=True)]
        return f"{names(kind.type)}({', '.join(arguments)})"
    return f"{names(kind.unflatten)}({names(treedef.data)}, ({inner}{',' if parts else ''}))"


def compile_match(
    treedef: object, flatteners: dict[type, Any]
) -> Callable[[Any], list[Any] | None]:
    """A function from a tree to its leaves, or to `None` if the tree may have another structure.

    Args:
      flatteners: the table of flatteners; `None` for types of leaves.
    """
    names = _Constants(flatteners=flatteners, type=type, map=map, len=len)
    leaves: list[str] = []
    lines: list[str] = []
    _take_apart(treedef, "x", names, lines, leaves, [])
    body = [
        *lines,
        f"leaves = [{', '.join(leaves)}]",
        "for cls in {*map(type, leaves)}:",
        "    if flatteners[cls] is not None: return None",
        "return leaves",
    ]
    source = [
        "def match(x):",
        "    try:",
        *("        " + line for line in body),
        "    except (KeyError, ValueError):",  # a missing key, or another length
        "        return None",
    ]
    return _function_of("match", source, names)


def _take_apart(
    treedef: Any, x: str, names: _Constants, lines: list[str], leaves: list[str], made: list[str]
) -> None:
    """Appends to `lines` the test of the tree named `x`, to `leaves` the names of its leaves."""

    def refuse(*conditions: str) -> None:
        lines.append(f"if {' or '.join(conditions)}: return None")

    def variable() -> str:
        made.append(f"x{len(made)}")
        return made[-1]

    kind = treedef.kind
    if kind is None:
        leaves.append(x)
        return
    children = treedef.children()
    parts = [variable() for _ in children]
    if kind.type is type(None):
        refuse(f"{x} is not None")
        return
    other_type = f"type({x}) is not {names(kind.type)}"
    if kind.type in (tuple, list) or kind.is_namedtuple:
        if parts:
            refuse(other_type)
            lines.append(_unpacking(parts, x))
        else:
            refuse(other_type, x)  # one that has elements
    elif kind.type is dict:
        refuse(other_type, f"len({x}) != {len(parts)}")
        lines += [f"{p} = {x}[{names.key(k)}]" for k, p in zip(treedef.data, parts, strict=True)]
    else:
        refuse(other_type)
        flat = variable()
        lines.append(f"{flat} = {names(kind.flatten_checked)}({x})")
        refuse(f"not {names(kind.same_data)}({flat}[1], {names(treedef.data)})")
        lines.append(_unpacking(parts, f"{flat}[0]"))
    for child, part in zip(children, parts, strict=True):
        _take_apart(child, part, names, lines, leaves, made)
