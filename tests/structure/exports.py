"""Writes the `__init__` of the large namespaces: their names are those of the modules' `__all__`.

    make exports        (or: python tests/structure/exports.py)

The docstring of an `__init__` and the options of its call of `exports` (which modules are loaded
together) are kept; all else is written. `test_exports.py` holds that what is there is what would be
written. Knows the text of modules only.
"""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft"
NAMESPACES = ("lax", "numpy", "random")
WIDTH = 100


def public_names(path: Path) -> list[str]:
    """The names in a module's `__all__`; none if it has none."""
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if [getattr(t, "id", "") for t in targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return []


def by_kind(name: str) -> tuple[int, list[tuple[int, str]]]:
    """The key by which ruff sorts names: CONSTANTS, Classes, the others, and 8 before 16."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return kind, [(int(p), "") if p.isdigit() else (1 << 30, p) for p in parts]


def block(head: str, items: list[str], end: str, indent: str = "") -> str:
    """Items between brackets, one a line."""
    return "\n".join([indent + head, *[f"{indent}    {item}," for item in items], indent + end])


def imported(module: str, names: list[str]) -> str:
    """An import for type checkers: one line if it fits."""
    line = f"    from .{module} import {', '.join(names)}"
    return line if len(line) <= WIDTH else block(f"from .{module} import (", names, ")", "    ")


def entry(module: str, names: list[str]) -> str:
    """A row of the table of names."""
    if len(names) == 1:
        return f'        "{module}": ("{names[0]}",),'
    return block(f'"{module}": (', [f'"{n}"' for n in names], "),", " " * 8)


def written(package: str) -> str:
    """The text of the `__init__` of a package."""
    folder = SOURCE / package
    tree = ast.parse((folder / "__init__.py").read_text())
    call = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    )
    options = [f"    {ast.unparse(k)},".replace("'", '"') for k in call.keywords]
    modules = {
        path.stem: sorted(names, key=by_kind)
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__" and (names := public_names(path))
    }
    names = sorted((n for found in modules.values() for n in found), key=by_kind)
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SystemExit(f"{package}: two modules have {', '.join(twice)} in their __all__")
    table = [entry(module, found) for module, found in modules.items()]
    head = [
        f'"""{ast.get_docstring(tree, clean=False)}"""\n',
        "from typing import TYPE_CHECKING\n",
        "from ..lazy import exports\n",
        "if TYPE_CHECKING:",
        *[imported(module, found) for module, found in modules.items()],
        "",
        block("__all__ = [", [f'"{n}"' for n in names], "]"),
        "",
        "__getattr__, __dir__ = exports(\n    __name__,\n    {",
    ]
    return "\n".join([*head, *table, "    },", *options, ")", ""])


if __name__ == "__main__":
    for package in NAMESPACES:
        init = SOURCE / package / "__init__.py"
        text = written(package)
        if init.read_text() != text:
            init.write_text(text)
            print(f"wrote {init.relative_to(SOURCE.parents[1])}")
