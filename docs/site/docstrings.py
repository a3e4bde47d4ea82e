"""A griffe extension: the public names under their public paths, docstrings in griffe's form.

Griffe reads the source without running it. What it does not find there (functions that a maker
made, switches, dtypes, primitives) is taken from the running library. `Returns: text` on one line,
as weft's docstrings have it, becomes a paragraph; Markdown's marks in prose are escaped.
"""

import inspect
import re
import textwrap
from itertools import pairwise
from types import GenericAlias
from typing import Any

import griffe
import numpy
import public_names
from public_names import escaped

SECTION = re.compile(r"^(Args|Attributes|Raises|Yields)s?: *(.*)$")
ITEM = re.compile(r"^ *\* (.*)$")
CODE = re.compile(r"^Example::\n((?:\n| .*\n?)+)", re.MULTILINE)
EXAMPLE = re.compile(r"^Examples?: *(.*)$")
TITLE = re.compile(
    r"^(Returns|Raises|Yields|Source|Usual causes|Cures|[A-Z][a-z]+ ?[a-z]*): *(.*)$"
)


class PublicNames(griffe.Extension):
    """Puts each public object where users find it."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        if pkg.path != "weft":
            return
        found = [
            (entry, static(pkg, entry) or runtime(pkg, entry)) for entry in public_names.entries()
        ]
        for entry, obj in found:
            parent = pkg[entry.namespace.partition(".")[2]] if "." in entry.namespace else pkg
            if obj.parent is not parent:
                obj_or_alias: Any = griffe.Alias(entry.name, obj, parent=parent)
            else:
                obj_or_alias = obj
            parent.members[entry.name] = obj_or_alias
            rewrite(obj)


def static(pkg: griffe.Module, entry: public_names.Entry) -> griffe.Object | None:
    """The definition that the source has, with a docstring."""
    value = entry.value
    file = entry.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    places = [
        f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}",
        f"weft.{file}.{entry.name}",
    ]
    for place in places:
        obj: Any = pkg
        for part in place.split(".")[1:]:
            obj = obj.members.get(part) if obj is not None and not obj.is_alias else None
        if obj is not None and not obj.is_alias and not obj.is_module and obj.docstring:
            is_value = not callable(value) or isinstance(value, GenericAlias)
            return obj if obj.is_class or obj.is_function or is_value else None
    return None


def runtime(pkg: griffe.Module, entry: public_names.Entry) -> griffe.Object:
    """The object as the running library has it."""
    parent = pkg[entry.namespace.partition(".")[2]] if "." in entry.namespace else pkg
    text = public_names.first_sentence(entry.value) and inspect.getdoc(entry.value)
    if text and inspect.isclass(entry.value) and issubclass(entry.value, numpy.generic):
        holds = numpy.issubdtype(numpy.float32, entry.value)
        text += f"\n\nExample:\n  >>> np.issubdtype(np.float32, np.{entry.name})\n  {holds}\n"
    docstring = griffe.Docstring(text, parser="google") if text else None
    parameters = parameters_of(entry.value)
    obj: griffe.Object
    if parameters is None:
        shown = repr(entry.value) if isinstance(entry.value, int | float | type(None)) else None
        obj = griffe.Attribute(entry.name, value=shown, docstring=docstring)
    else:
        obj = griffe.Function(entry.name, parameters=parameters, docstring=docstring)
    obj.parent = parent
    if docstring:
        docstring.parent = obj
    return obj


def parameters_of(value: Any) -> griffe.Parameters | None:
    """The parameters of a function; None where there are none to be read."""
    if inspect.isclass(value) or not (inspect.isroutine(value) or hasattr(value, "__wrapped__")):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    kinds = dict(zip(inspect._ParameterKind, griffe.ParameterKind, strict=True))
    return griffe.Parameters(
        *(
            griffe.Parameter(
                p.name,
                kind=kinds[p.kind],
                default=None if p.default is p.empty else default_text(p.default),
            )
            for p in signature.parameters.values()
        )
    )


def default_text(value: Any) -> str:
    """A default as a reader writes it: functions and classes by their names."""
    name = getattr(value, "__name__", None)
    return name if callable(value) and name else repr(value)


def rewrite(obj: griffe.Object) -> None:
    """Puts an object's docstring, and those of its members, in the form that griffe parses."""
    if obj.docstring:
        obj.docstring.value = normal_form(obj.docstring.value)
    if obj.is_function:
        for parameter in obj.parameters:
            parameter.default = readable(obj.module, parameter.default)
    if obj.is_class:
        for member in obj.members.values():
            if not member.is_alias:
                rewrite(member)


def readable(module: griffe.Module, default: Any) -> Any:
    """A default without private names: `_KERNEL_INITIALIZER` becomes the call that made it."""
    definition = module.members.get(str(default)) if str(default).startswith("_") else None
    value = getattr(definition, "value", None)
    return default if value is None else "..." if str(value) == "object()" else value


def fenced(match: re.Match[str]) -> str:
    """The code below `Example::` as a block of Markdown."""
    code = textwrap.dedent(match.group(1)).strip("\n")
    return f"\n**Example:**\n\n```python\n{code}\n```\n\n"


def normal_form(text: str) -> str:
    """The docstring with sections that griffe knows, and its prose escaped."""
    if "\n" in text:
        text = inspect.cleandoc(text)
    text = CODE.sub(fenced, text)
    lines: list[str] = []
    in_example = in_code = in_items = in_fence = False
    for previous, line in pairwise(["", *text.splitlines()]):
        if not line.startswith(" ") and line.strip():
            in_example = bool(EXAMPLE.match(line))
            in_items = bool(SECTION.match(line))
            in_code = line.startswith(">>>") or (in_code and bool(lines and lines[-1].strip()))
        if line.startswith("```"):
            in_fence = not in_fence
            lines.append(line)
        elif in_fence or line == "**Example:**":
            lines.append(line)
        elif match := ITEM.match(line):
            lines += [] if ITEM.match(previous) else [""]
            lines.append(f"- {escaped(match.group(1))}")
        elif match := EXAMPLE.match(line):
            lines += ["", "Examples:", *([f"    {match.group(1)}"] if match.group(1) else [])]
        elif in_example or in_code:
            lines.append(line)
        elif (match := SECTION.match(line)) and not match.group(2):
            lines += ["", line]
        elif match := TITLE.match(line):
            lines += ["", f"**{match.group(1)}:** {escaped(match.group(2))}"]
        else:
            head, colon, rest = line.partition(": ") if in_items else ("", "", line)
            lines.append(head + colon + escaped(rest))
    return "\n".join(lines).strip()
