"""Makes the pages of the API reference, of docstrings: text in, Markdown out. Knows no mkdocs.

A page is a public namespace, and has each of its names: its signature, what its docstring says,
its example, and where it differs from NumPy and JAX. The last comes from two places: the lines of
`docs/differences.md` that name it, and the parameters that NumPy's function has and weft's hasn't.
"""

import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy

import weft

SECTIONS = ("Args", "Returns", "Raises", "Attributes", "Usual causes", "Cures", "Example", "Source")
SECTION = re.compile(rf"^({'|'.join(SECTIONS)})s?::? *(.*)$", re.DOTALL)
DIFFERENCES = pathlib.Path(__file__).parents[1] / "differences.md"


def pages() -> dict[str, str]:
    """The Markdown of each page, by its path among the pages."""
    differences = stated_differences(DIFFERENCES.read_text())
    found = [*namespaces("weft"), "weft.typing"]
    made = {f"reference/{name}.md": page(name, differences) for name in found}
    lines = [
        f"- [`{name}`]({name}.md): {escaped(first_line(importlib.import_module(name)))}"
        for name in found
    ]
    text = "# API reference\n\nEvery public name, made of docstrings. The search finds names.\n\n"
    return {"reference/index.md": text + "\n".join(lines) + "\n"} | made


def namespaces(name: str) -> list[str]:
    """A namespace, and those that are among its public names, with theirs."""
    module = importlib.import_module(name)
    inner = [getattr(module, n) for n in public_names(module)]
    own = [m.__name__ for m in inner if isinstance(m, ModuleType)]
    return [name, *[found for n in own if n.startswith(f"{name}.") for found in namespaces(n)]]


def page(namespace: str, differences: dict[str, list[str]]) -> str:
    """The page of a namespace: its docstring, and each of its names."""
    module = importlib.import_module(namespace)
    names = public_names(module)
    parts = [f"# {namespace}", rendered(inspect.getdoc(module) or "")]
    parts += [entry(namespace, name, getattr(module, name), differences) for name in names]
    return "\n\n".join(part for part in parts if part) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """The names that a namespace promises."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    return sorted((n for n in own if not n.startswith("_")), key=str.lower)


def entry(namespace: str, name: str, value: Any, differences: dict[str, list[str]]) -> str:
    """What the page says of one name."""
    parts = [f"## {name}"]
    if isinstance(value, ModuleType):
        link = f"[`{value.__name__}`]({value.__name__}.md)"
        parts.append(f"A namespace: {link}. {escaped(first_line(value))}")
    elif callable(value):
        parts.append(f"```text\n{namespace}.{name}{signature(value)}\n```")
        parts.append(rendered(own_doc(value)))
    else:
        shown = f" = {value!r}" if isinstance(value, (int, float, type(None))) else ""
        text = "" if shown else rendered(own_doc(value))
        parts += [f"```text\n{namespace}.{name}{shown}\n```", text]
    if inspect.isclass(value):
        made = type(weft.numpy.zeros(())) if value is weft.Array else value
        parts.append("\n".join(members(made)))
    said = differences.get(f"{namespace}.{name}", []) + missing_parameters(namespace, name, value)
    if said:
        parts.append("**Differs**\n\n" + "\n".join(f"- {line}" for line in said))
    return "\n\n".join(part for part in parts if part)


def own_doc(value: Any) -> str:
    """The docstring of a value, not that of Python's class of it."""
    text = inspect.getdoc(value) or ""
    inherited = {inspect.getdoc(c) for c in (object, Exception, dict, tuple, type, int, str)}
    return "" if text in inherited else text


def signature(value: Any) -> str:
    """The parameters with their defaults. Types are in editors, which resolve their names."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = []
    for p in found.parameters.values():
        default = p.empty if p.default is p.empty else _Shown(p.default)
        parameters.append(p.replace(annotation=p.empty, default=default))
    text = str(inspect.Signature(parameters))
    if len(text) < 90:
        return text
    return "(\n    " + ",\n    ".join(text[1:-1].split(", ")) + ",\n)"


class _Shown:
    """A default as a reader writes it: functions and classes by their names."""

    def __init__(self, value: Any) -> None:
        name = getattr(value, "__name__", None)
        self.text = name if callable(value) and name else repr(value)

    def __repr__(self) -> str:
        return self.text


def members(cls: type) -> Iterator[str]:
    """A line for each public method and property of a class of weft's."""
    for name in sorted(dir(cls)):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if name.startswith("_") or not str(getattr(function, "__module__", "")).startswith("weft"):
            continue
        shown = name if isinstance(member, property) else f"{name}{signature(function)}"
        shown = re.sub(r"\s+", " ", shown).replace("(self, ", "(").replace("(self)", "()")
        yield f"- `{shown}`: {escaped(first_sentence(inspect.getdoc(function) or ''))}"


def first_line(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def first_sentence(text: str) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def rendered(doc: str) -> str:
    """A docstring as Markdown: its sections bold, their items a list, examples fenced."""
    parts: list[str] = []
    for block in blocks(doc):
        match = SECTION.match(block)
        if match is None:
            parts.append(paragraph(block))
            continue
        title, rest = match.groups()
        body = inspect.cleandoc("\n" + rest) if rest.startswith("\n") else rest
        if title == "Example":
            parts.append(f"**Example:**\n\n```text\n{body}\n```")
        elif title in ("Returns", "Source") or not rest.startswith("\n"):
            parts.append(f"**{title}:** {escaped(' '.join(body.split()))}")
        else:
            parts.append(f"**{title}:**\n\n" + "\n".join(items(body)))
    return "\n\n".join(part for part in parts if part)


def blocks(doc: str) -> Iterator[str]:
    """The paragraphs and sections of a docstring."""
    block: list[str] = []
    for line in doc.splitlines():
        starts = bool(SECTION.match(line))
        in_section = bool(block) and bool(SECTION.match(block[0]))
        ends = starts or (not line.startswith(" ") and in_section) or (not line and not in_section)
        if ends and block:
            yield "\n".join(block).rstrip()
            block = []
        if line or block:
            block.append(line)
    if block:
        yield "\n".join(block).rstrip()


def paragraph(text: str) -> str:
    """A paragraph; what is drawn or indented stays as it is."""
    if text.startswith((" ", ">>> ")) or "──" in text or re.search(r"\S {3,}\S", text):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    return escaped(text)


def items(body: str) -> Iterator[str]:
    """The items of a section, `name: text` with further lines indented, as a list."""
    item: list[str] = []
    for line in [*body.splitlines(), ""]:
        if item and not line.startswith(" "):
            name, colon, text = " ".join(" ".join(item).split()).partition(": ")
            if colon and re.fullmatch(r"[\w*, .]+", name):
                yield f"- `{name}`: {escaped(text)}"
            else:
                yield "- " + escaped(f"{name}{colon}{text}".removeprefix("* "))
            item = []
        if line.strip():
            item.append(line)


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see nothing but code spans."""
    spans = re.split(r"(`[^`]*`)", text)
    return "".join(s if s.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", s) for s in spans)


def stated_differences(text: str) -> dict[str, list[str]]:
    """The lines of the page that begin with a name of weft's, by its full name."""
    found: dict[str, list[str]] = {}
    titles: list[str] = []
    for line in text.splitlines():
        head, said = "", ""
        if line.startswith("| "):
            cells = re.split(r" *\| *", line.strip("| "))
            head, titles = cells[0], titles or cells
            rest = zip(titles[1:], cells[1:], strict=True)
            said = f"{head} – " + "; ".join(f"*{title}:* {cell}" for title, cell in rest)
        elif not line.startswith("|"):
            titles = []
            match = re.match(r"- \*\*(.*?)\*\*", line)
            head, said = (match.group(1), line[2:]) if match else ("", "")
        for name in named(head):
            found.setdefault(name, []).append(said.replace("](", "](../"))
    return found


def named(head: str) -> Iterator[str]:
    """The full names that code spans in the head of a line begin with."""
    short = {"np": "weft.numpy", "lax": "weft.lax", "random": "weft.random", "weft": "weft"}
    head = re.sub(r"\b(under|outside|with) `[^`]*`", "", head)
    for prefix, name in re.findall(r"`(?:(np|lax|random|weft)\.)?([a-z]\w+)[^`]*`", head):
        for owner in [short[prefix]] if prefix else short.values():
            if hasattr(importlib.import_module(owner), name):
                yield f"{owner}.{name}"
                break


def missing_parameters(namespace: str, name: str, value: Any) -> list[str]:
    """A line for the parameters that NumPy's function of that name has, and weft's hasn't."""
    original = getattr(numpy, name, None)
    if namespace != "weft.numpy" or inspect.isclass(value) or not callable(original):
        return []
    try:
        own, theirs = inspect.signature(value).parameters, inspect.signature(original).parameters
    except (TypeError, ValueError):
        return []
    options = [n for n, p in theirs.items() if p.default is not p.empty]
    missing = ", ".join(f"`{n}`" for n in options if n not in own)
    return [f"NumPy's parameters that aren't there: {missing}"] if missing else []
