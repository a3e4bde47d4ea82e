"""The public names of weft: where each is documented, under which names it is found, its topic.

An object with several names is documented once, under the first of them in the order of
`namespaces`; the other names are its aliases.
"""

import importlib
import inspect
import pathlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

DOCS = pathlib.Path(__file__).parents[1]
TOPICS = tomllib.loads((DOCS / "site" / "topics.toml").read_text())
FIRST = ["weft", "weft.numpy", "weft.lax", "weft.random", "weft.nn", "weft.layers"]
ASIDE = ["weft.compat", "weft.fastmath", "weft.info"]
"""Namespaces that are imported by their own names, and are no attributes of `weft`."""
# The prefixes that users write, besides the full one.
PREFIXES = {
    "weft.numpy.": ("jnp.", "np.", "jax.numpy."),
    "weft.layers.": ("tl.", "trax.layers."),
    "weft.fastmath.": ("trax.fastmath.",),
    "weft.scipy.": ("jsp.", "jax.scipy."),
    "weft.random.": ("jrandom.", "jax.random."),
    "weft.": ("jax.",),
}
ROW = re.compile(r"^\| `([\w/.]+)` \| (.*) \|$")


@dataclass
class Entry:
    """An object of the public interface."""

    namespace: str
    name: str
    value: Any
    file: str = ""
    aliases: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The name under which the object is documented."""
        return f"{self.namespace}.{self.name}"

    @property
    def search_terms(self) -> list[str]:
        """What a user types to find it: every name, and every end of it, with known prefixes."""
        terms: dict[str, None] = {}
        for path in (self.path, *self.aliases):
            parts = path.split(".")
            terms |= dict.fromkeys(".".join(parts[at:]) for at in range(len(parts) - 1, -1, -1))
            for full, short in PREFIXES.items():
                if path.startswith(full):
                    terms |= dict.fromkeys(prefix + path.removeprefix(full) for prefix in short)
        return list(terms)


def namespaces(name: str = "weft") -> list[str]:
    """A namespace and those among its public names, with theirs."""
    module = importlib.import_module(name)
    inner = [getattr(module, n) for n in public_names(module)]
    own = [m.__name__ for m in inner if isinstance(m, ModuleType)]
    below = [n for o in own if o.startswith(f"{name}.") for n in namespaces(o)]
    aside = [n for a in ASIDE for n in namespaces(a)] if name == "weft" else []
    return list(dict.fromkeys([name, *below, *aside]))


def public_names(module: ModuleType) -> list[str]:
    """The names that a namespace promises."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    return sorted((n for n in own if not n.startswith("_")), key=str.lower)


def files() -> dict[tuple[str, str], str]:
    """The file below src/weft that defines a name of a namespace (how_it_works/names.md)."""
    result: dict[tuple[str, str], str] = {}
    namespace = ""
    for line in (DOCS / "how_it_works" / "names.md").read_text().splitlines():
        namespace = line[3:] if line.startswith("## ") else namespace
        if match := ROW.match(line):
            for name in re.findall(r"`(\w+)`", match.group(2)):
                result[namespace, name] = match.group(1)
    return result


def entries() -> list[Entry]:
    """Each object once, with its aliases. Constants with equal values stay apart."""
    where = files()
    objects: dict[int, Entry] = {}
    result: list[Entry] = []
    for namespace in ordered(namespaces()):
        module = importlib.import_module(namespace)
        for name in public_names(module):
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                continue
            known = objects.get(id(value)) if callable(value) else None
            if known:
                known.aliases.append(f"{namespace}.{name}")
                continue
            entry = Entry(namespace, name, value, where.get((namespace, name), ""))
            objects[id(value)] = entry
            result.append(entry)
    return [by_own_name(entry) for entry in result]


def by_own_name(entry: Entry) -> Entry:
    """The entry under the name of its definition, where that is one of the namespace's names."""
    own = getattr(entry.value, "__name__", entry.name)
    own_path = f"{entry.namespace}.{own}"
    if own_path in entry.aliases:
        entry.aliases[entry.aliases.index(own_path)] = entry.path
        entry.name = own
    return entry


def ordered(names: list[str]) -> list[str]:
    """Namespaces in the order in which users look: the main ones, then the less deep ones."""
    return sorted(
        names, key=lambda n: (n not in FIRST, FIRST.index(n) if n in FIRST else n.count("."), n)
    )


def topics(
    namespace: str, names: list[str], where: dict[tuple[str, str], str]
) -> Iterator[tuple[str, list[str]]]:
    """The names of a namespace by topic: those of topics.toml, then a topic per file."""
    left = dict.fromkeys(names)
    for title, modules in TOPICS.get(namespace, {}).items():
        chosen = [
            n for n in left if any(in_module(where.get((namespace, n), ""), m) for m in modules)
        ]
        for name in chosen:
            del left[name]
        if chosen:
            yield title, chosen
    rest: dict[str, list[str]] = {}
    for name in left:
        stem = pathlib.PurePath(where.get((namespace, name), "")).stem.strip("_")
        rest.setdefault(stem.replace("_", " ").capitalize(), []).append(name)
    yield from ([("", names)] if len(rest) < 2 and len(left) == len(names) else rest.items())


def in_module(file: str, module: str) -> bool:
    """Whether a file below src/weft is the module, or is in the folder, that a topic names."""
    return file == f"{module}.py" or file.startswith(f"{module}/")


def first_sentence(value: Any) -> str:
    """The first paragraph of a docstring, as one line; nothing for Python's own classes."""
    text = inspect.getdoc(value) or ""
    inherited = {inspect.getdoc(c) for c in (object, Exception, dict, tuple, type, int, str, float)}
    return "" if text in inherited else " ".join(text.partition("\n\n")[0].split())


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see nothing but code spans."""
    spans = re.split(r"(`[^`]*`)", text)
    return "".join(s if s.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", s) for s in spans)
