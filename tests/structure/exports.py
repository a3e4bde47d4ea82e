"""Writes the `__init__` of the large namespaces: their names are those of the modules' `__all__`.

    make exports        (or: python tests/structure/exports.py)

The docstring of an `__init__` and the options of its call of `exports` are kept (which modules are
names of the package themselves; which are loaded together); all else is written. `test_exports.py`
holds that what is there is what would be written. Knows the text of modules only.
"""

import ast
import re
from pathlib import Path
from textwrap import dedent

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft"
NAMESPACES = (
    "image",
    "layers/research",
    "layers",  # after that of its subpackage, whose names it has
    "lax",
    "lax/linalg",
    "nn",
    "numpy",
    "numpy/fft",
    "numpy/linalg",
    "profiler",
    "random",
    "scipy",
    "scipy/cluster",
    "scipy/cluster/vq",
    "scipy/fft",
    "scipy/integrate",
    "scipy/interpolate",
    "scipy/linalg",
    "scipy/ndimage",
    "scipy/optimize",
    "scipy/signal",
    "scipy/sparse",
    "scipy/spatial",
    "scipy/spatial/transform",
    "scipy/special",
    "scipy/stats",
)
RE_EXPORTED = {"layers": {"research": ("DotProductAttention",)}}
"""Subpackages whose names are names of the package too, and those that aren't: of `layers`, the
layer of that name is in `attention`, and research has a function."""
WIDTH = 100
NOTHING = "__all__: list[str] = []"


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
    """An import for type checkers: one line if it fits. Ruff sorts names there without regard to
    upper and lower case, but for their kind."""
    names = sorted(names, key=lambda name: (by_kind(name)[0], by_kind(name.lower())[1]))
    line = f"    from .{module} import {', '.join(names)}"
    return line if len(line) <= WIDTH else block(f"from .{module} import (", names, ")", "    ")


def entry(module: str, names: list[str]) -> str:
    """A row of the table of names."""
    if len(names) == 1:
        return f'        "{module}": ("{names[0]}",),'
    return block(f'"{module}": (', [f'"{n}"' for n in names], "),", " " * 8)


def option(keyword: ast.keyword) -> str:
    """An option of the call as ruff writes it."""
    line = ast.unparse(keyword).replace("'", '"')
    if len(line) + 5 <= WIDTH:
        return line
    items = [f'"{item}"' for item in ast.literal_eval(keyword.value)]
    return block(f"{keyword.arg}=(", items, ")", "    ").strip()


def written(package: str) -> str:
    """The text of the `__init__` of a package, named by its folder below `weft`."""
    folder = SOURCE / package
    tree = ast.parse((folder / "__init__.py").read_text())
    call = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    )
    options = [f"    {option(k)}," for k in call.keywords]
    given = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    inner = list(given.get("modules", []))
    modules = {
        path.stem: sorted(names, key=by_kind)
        for path in sorted(folder.glob("*.py"))
        if path.stem not in ("__init__", *inner) and (names := public_names(path))
    }
    for subpackage, left_out in RE_EXPORTED.get(package, {}).items():
        own = {*left_out, *(path.stem for path in (folder / subpackage).glob("*.py"))}
        found = public_names(folder / subpackage / "__init__.py")
        modules[subpackage] = [name for name in found if name not in own]
    modules = {stem: modules[stem] for stem in sorted(modules)}
    # A module with the name of its function is loaded at once: loading it binds the name to it.
    at_once = {stem: modules.pop(stem) for stem in [*modules] if stem in modules[stem]}
    inner += [stem for stem in modules if given.get("with_modules") and stem not in inner]
    held_names = [n for found in [*modules.values(), *at_once.values()] for n in found]
    names = sorted([*inner, *held_names], key=by_kind)
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SystemExit(f"{package}: two modules have {', '.join(twice)} in their __all__")
    table = [entry(module, found) for module, found in modules.items()]
    known = [imported("", sorted(inner, key=by_kind))] if inner else []
    known += [imported(module, found) for module, found in modules.items()]
    lines = [f'"""{ast.get_docstring(tree, clean=False)}"""\n']
    lines += ["from typing import TYPE_CHECKING\n"] if known else []
    lines += [f"from ..{'.' * package.count('/')}lazy import exports"]
    lines += [dedent(imported(module, found)) for module, found in at_once.items()] + [""]
    lines += ["if TYPE_CHECKING:", *known, ""] if known else []
    lines += [block("__all__ = [", [f'"{n}"' for n in names], "]") if names else NOTHING, ""]
    if not names:
        return "\n".join([*lines, "__getattr__, __dir__ = exports(__name__, {})", ""])
    table = [entry(module, found) for module, found in modules.items()]
    held = ["    {", *table, "    },"] if table else ["    {},"]
    return "\n".join(
        [*lines, "__getattr__, __dir__ = exports(", "    __name__,", *held, *options, ")", ""]
    )


if __name__ == "__main__":
    for package in NAMESPACES:
        init = SOURCE / package / "__init__.py"
        text = written(package)
        if init.read_text() != text:
            init.write_text(text)
            print(f"wrote {init.relative_to(SOURCE.parents[1])}")
