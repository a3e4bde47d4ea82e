"""Writes docs/how_it_works/names.md: the file in which each public name is defined.

    make exports        (or: python tests/structure/name_table.py)

The table follows the lists of names in the `__init__` files (see `exports.py`), and the imports of
the files that these lists give, to the definition. `test_name_table.py` fails if it is out of date.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from exports import SOURCE, all_namespaces, call_of, public_names, table_of

PAGE = SOURCE.parents[1] / "docs" / "how_it_works" / "names.md"

HEAD = """\
# Where each public name is defined

Files are below `src/weft`. `make exports` writes this page.
"""


def file_of(package: Path, module: str) -> Path:
    """The file of a module that is written as behind `from .` in a package."""
    parts = module.split(".")
    while parts and not parts[0]:  # one dot more: a folder up
        package, parts = package.parent, parts[1:]
    path = package.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def origins(path: Path) -> dict[str, tuple[Path, str]]:
    """The names that a file imports from weft: the file that has each, and its name there."""
    tree = ast.parse(path.read_text())
    if call := call_of(tree):
        items = [(m, item) for m, names in table_of(call)[0].items() for item in names]
    else:
        blocks = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
        statements = [node for block in blocks for node in block]
        imports = [n for n in statements if isinstance(n, ast.ImportFrom) and n.level]
        items = [
            ("." * (n.level - 1) + (n.module or ""), f"{a.name}:{a.asname or a.name}")
            for n in imports
            for a in n.names
        ]
    names = ((m, *item.partition(":")[::2]) for m, item in items)
    return {new or old: (file_of(path.parent, module), old) for module, old, new in names}


def definition(path: Path, name: str) -> Path:
    """The file that defines a name of this file: itself, or the one that it imports it from."""
    if name not in origins(path):
        return path
    source, name = origins(path)[name]
    module = file_of(source.parent, name)
    return module if source.name == "__init__.py" and module.exists() else definition(source, name)


def sections() -> Iterator[tuple[str, Path, list[str]]]:
    """The namespaces of weft: title, file, names."""
    for package in sorted(all_namespaces()):
        init = SOURCE / package / "__init__.py"
        title = ".".join(["weft", *package.split("/")]).strip(".")
        call = call_of(ast.parse(init.read_text()))
        assert call is not None
        yield title, init, list(origins(init))
        for module in table_of(call)[1].get("modules", []):
            path = file_of(init.parent, module)
            if path.name != "__init__.py" and (names := public_names(path)):
                yield f"{title}.{module}", path, names


def page() -> str:
    """The text of the page: for each namespace the files, and the names that each defines."""
    lines = [HEAD]
    for title, path, names in sections():
        files: dict[str, list[str]] = {}
        for name in names:
            file = definition(path, name).relative_to(SOURCE).as_posix()
            files.setdefault(file, []).append(f"`{name}`")
        if files:
            lines += [f"## {title}\n", "| file | names |", "|---|---|"]
            lines += [f"| `{file}` | {', '.join(files[file])} |" for file in sorted(files)] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
