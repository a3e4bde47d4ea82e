"""Writes a Python function that builds trees of one structure.

Source is made at run time here because a recursive walk takes 40 µs to build a list of 50 dicts of
two leaves, and this function 3: a quarter of a call of a jitted function that returns such a tree
(benchmarks/dispatch.py, "100 leaves"). Compiling it takes some 15 µs a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

MOST_LEAVES = 2000
DEEPEST = 40  # CPython's parser refuses more than some 90 nested brackets


class _Constants:
    """The constants of a generated function, by the names it knows them by."""

    def __init__(self, **known: object) -> None:
        self.values: dict[str, Any] = dict(known)

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
        f"        [{', '.join(leaves)}] = leaves",
        "    except ValueError:",
        "        raise treedef.wrong_count(leaves) from None",
        f"    return {expression}",
    ]
    exec(compile("\n".join(lines), "<weft build>", "exec"), names.values)
    build: Callable[[Any], Any] = names.values["build"]
    return build


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
