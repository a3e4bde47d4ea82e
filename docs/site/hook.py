"""Gives mkdocs the pages of the API reference: a table per namespace, a page per public name.

The pages of names are a line each, which mkdocstrings replaces by what the docstring says
(see docstrings.py).
"""

import importlib
import pathlib
import re
from collections.abc import Iterator, Sequence

import public_names
from check_search import EXACT
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from stated_differences import differences_of

NAMESPACES = public_names.ordered(public_names.namespaces())
ENTRIES = public_names.entries()
WHERE = public_names.files()
UNSEARCHED = ("glossary.md", "how_it_works/names.md", "how_it_works/state.md", "seeds.md")
"""Pages whose rows would be found for every name."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the namespaces to the navigation, as a tree."""
    for item in config.nav:
        if "API reference" in item:
            tree = [branch(n) for n in NAMESPACES if n.count(".") == 1]
            item["API reference"] = ["reference/index.md", {"weft": "reference/weft.md"}, *tree]
    return config


def branch(namespace: str) -> dict[str, object]:
    """A namespace in the navigation, with those below it."""
    page = f"reference/{namespace}.md"
    below = [branch(n) for n in NAMESPACES if n.rpartition(".")[0] == namespace]
    return {namespace.removeprefix("weft."): [page, *below] if below else page}


def on_page_content(html: str, **_: object) -> str:
    """Keeps source code out of the search, and lets the search show the text below a title: it has
    a title inside a `<div>` for a section of the page."""
    first = re.compile(r'^(<div class="doc doc-object[^>]*>)\s*(<h1 .*?</h1>)', re.DOTALL)
    return first.sub(r"\2\1", html.strip()).replace(
        '<details class="mkdocstrings-source"',
        '<details data-search-exclude class="mkdocstrings-source"',
    )


def on_post_build(config: MkDocsConfig) -> None:
    """Weighs a whole word more than a beginning in the search: `exp` before `export`."""
    (worker,) = pathlib.Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    text = worker.read_text()
    if text.count("`${r}*`") != 1:
        raise PluginError("hook.py: the search of this version of mkdocs-material has changed")
    worker.write_text(text.replace("`${r}*`", f"`${{r}}^{EXACT} ${{r}}*`"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the reference."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Marks blocks that the tests do not run as Python, so that they are coloured, and keeps tables
    for the work on weft itself out of the search."""
    if page.file.src_uri in UNSEARCHED:
        page.meta["search"] = {"exclude": True}
    return markdown.replace("```python no-run", "```python")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """The pages of names follow their namespace's page, with previous and next."""
    for namespace in NAMESPACES:
        home = files.get_file_from_path(f"reference/{namespace}.md").page
        own = [
            files.get_file_from_path(page_of(e)).page for e in ENTRIES if e.namespace == namespace
        ]
        for before, page, after in zip([home, *own], own, [*own[1:], home.next_page], strict=False):
            page.previous_page, page.next_page, page.parent = before, after, home.parent
    return nav


def page_of(entry: public_names.Entry) -> str:
    """The file of the page of a name, alike for names that differ in case only."""
    lower = entry.path.lower()
    same = [e.path for e in BY_LOWER[lower]]
    suffix = f"-{same.index(entry.path)}" if same.index(entry.path) else ""
    return f"reference/{entry.path}{suffix}.md"


BY_LOWER: dict[str, list[public_names.Entry]] = {}
for _entry in ENTRIES:
    BY_LOWER.setdefault(_entry.path.lower(), []).append(_entry)


# Of a primitive, the public function that applies it.
_BY_PATH = {_entry.path: _entry for _entry in ENTRIES}
FUNCTION_OF = {
    path: _BY_PATH[path.removesuffix("_p")]
    for path in _BY_PATH
    if path.endswith("_p") and path.removesuffix("_p") in _BY_PATH
}


def pages() -> Iterator[tuple[str, str]]:
    """The path and the Markdown of each page."""
    listed = [f"| [`{n}`]({n}.md) | {escaped(summary(n))} |" for n in NAMESPACES]
    yield (
        "reference/index.md",
        "# API reference\n\n| namespace | |\n|---|---|\n" + "\n".join(listed) + "\n",
    )
    by_path = {path: e for e in ENTRIES for path in (e.path, *e.aliases)}
    for namespace in NAMESPACES:
        yield f"reference/{namespace}.md", namespace_page(namespace, by_path)
    for entry in ENTRIES:
        yield page_of(entry), entry_page(entry)


def summary(namespace: str) -> str:
    """The first sentence of a namespace's docstring."""
    return public_names.first_sentence(importlib.import_module(namespace))


def namespace_page(namespace: str, by_path: dict[str, public_names.Entry]) -> str:
    """A table of one line per name for each topic."""
    module = importlib.import_module(namespace)
    names = [n for n in public_names.public_names(module) if f"{namespace}.{n}" in by_path]
    inner = [n for n in NAMESPACES if n.rpartition(".")[0] == namespace]
    short = namespace.removeprefix("weft.")
    boost = RANK[namespace] * (1 if namespace.count(".") < 2 else 0.1)
    terms = (namespace, short, short.rpartition(".")[2])
    head = f"{header(namespace, terms, boost)}# {namespace}"
    parts = [head, escaped(summary(namespace))]
    if inner and namespace != "weft":
        parts.append("Namespaces: " + ", ".join(f"[`{n}`]({n}.md)" for n in inner) + ".")
    for title, chosen in public_names.topics(namespace, names, WHERE):
        rows = [row(f"{namespace}.{name}", by_path) for name in chosen]
        heading = f"## {title}\n\n" if title else ""
        table = "| name | |\n|---|---|\n" + "\n".join(rows)
        parts.append(f"{heading}<div data-search-exclude markdown>\n\n{table}\n\n</div>")
    return "\n\n".join(part for part in parts if part) + "\n"


def row(path: str, by_path: dict[str, public_names.Entry]) -> str:
    """The line of a name: what it does, or which name it is an alias of."""
    entry = by_path[path]
    link = page_of(entry).removeprefix("reference/")
    own = path.rpartition(".")[2]
    if entry.path != path:
        same = entry.name if entry.namespace == path.rpartition(".")[0] else entry.path
        return f"| [`{own}`]({link}) | Alias of [`{same}`]({link}). |"
    return f"| [`{own}`]({link}) | {escaped(public_names.first_sentence(entry.value))} |"


def entry_page(entry: public_names.Entry) -> str:
    """A page that mkdocstrings fills, with the search's terms and the differences from others."""
    # `checkify.checkify` before the namespace `checkify` and the rest of it
    namesake = entry.namespace.endswith(f".{entry.name}")
    weight = (0.5 if namesake else 0.25) * RANK[entry.namespace]
    head = header(entry.path, entry.search_terms, weight)
    options = f"    options:\n      heading: {entry.path}\n      toc_label: {entry.name}\n"
    parts = [f"{head}::: {entry.path}\n{options}"]
    function = FUNCTION_OF.get(entry.path)
    if function:
        link = page_of(function).removeprefix("reference/")
        parts.append(f"Applied by [`{function.path}`]({link}), which has an example.")
    if entry.aliases:
        parts.append("**Aliases:** " + ", ".join(f"`{path}`" for path in entry.aliases))
    differences = differences_of(entry.namespace, entry.name, entry.value)
    if differences:
        parts.append("**Differs:**\n\n" + "\n".join(f"- {line}" for line in differences))
    back = f"Back to [`{entry.namespace}`]({entry.namespace}.md)."
    parts.append(f'{back}\n{{ data-search-exclude="" }}')
    return "\n\n".join(parts) + "\n"


def header(title: str, terms: Sequence[str], boost: float) -> str:
    """The head of a page: its title, the words that find it, and its weight in the search."""
    tags = "".join(f'  - "{term}"\n' for term in terms)
    return f"---\ntitle: {title}\ntags:\n{tags}search:\n  boost: {boost:.9f}\n---\n\n"


# Among equal names, those of the first namespaces come first.
RANK = {name: 1 / (1 + 0.05 * at) for at, name in enumerate(NAMESPACES)}


def escaped(text: str) -> str:
    """Text as a cell of a table in which Markdown and HTML see nothing but code spans."""
    return public_names.escaped(text).replace("|", "\\|")
