"""Writes the `__init__.py` of each namespace, and the `__init__.pyi` that editors read instead.

    make exports        (or: python tests/structure/exports.py)

A namespace is a folder whose `__init__.py` calls `lazy.exports`: a table of its modules and the
names that each adds. A row is the `__all__` of its module, and every module that has one has a row;
people write the rows of modules in other folders, and all rows of the folders in `CHOSEN`, and here
they are put in order. The rest of an `__init__.py` (its docstring, other statements, the options of
the call) stays as it is.
`test_exports.py` fails if something else would be written.
"""

import ast
import re
import textwrap
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft"
WIDTH = 100

CHOSEN = {
    "": ("transforms", "transforms/devices", "transforms/jit"),
    "cli": (),
    "data": (),
    "extend": (),
    "fastmath": (),
    "models": (),
    "models/reformer": (),
    "models/research": (),
    "optimizers": (),
    "runtime": (),
    "stablehlo": (),
    "supervised": (),
}
"""Folders that export some of their modules' names only, or names of other folders; and those other
folders whose modules export their whole `__all__` here."""

ROWS_AND_NAMES = ("layers", "layers/research")
"""Folders whose modules with rows are names too: `layers.attention` beside `layers.Attention`."""

RE_EXPORTED = {"layers": {"research": ("DotProductAttention",)}}
"""Subpackages whose names are names of the package too, and those that aren't: of `layers`, the
layer of that name is in `attention`, and research has a function."""

Rows = dict[str, list[str]]


def all_namespaces() -> list[str]:
    """The folders, named as below `weft`; a subpackage before the folder that it is in."""
    inits = [p for p in SOURCE.rglob("__init__.py") if call_of(ast.parse(p.read_text()))]
    found = [p.parent.relative_to(SOURCE).as_posix() for p in inits]
    return sorted(("" if name == "." else name for name in found), reverse=True)


def call_of(tree: ast.Module) -> ast.Call | None:
    """The call of `exports` in an `__init__`."""
    for node in tree.body:
        match node:
            case ast.Assign([ast.Tuple([ast.Name("__all__"), *_])], ast.Call() as call):
                return call
    return None


def public_names(path: Path) -> list[str]:
    """The names in a module's `__all__`, or of a namespace; none if it has none."""
    tree = ast.parse(path.read_text())
    if call := call_of(tree):
        rows, options = table_of(call)
        return [*options.get("modules", []), *(exported(n) for row in rows.values() for n in row)]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if [getattr(t, "id", "") for t in targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return []


def table_of(call: ast.Call) -> tuple[Rows, dict[str, list[str]]]:
    """The rows of a call of `exports`, and its options."""
    rows = {module: names.split() for module, names in ast.literal_eval(call.args[1]).items()}
    options = {str(k.arg): ast.literal_eval(k.value).split() for k in call.keywords}
    return rows, options


def exported(item: str) -> str:
    """The name of an item of a row: of `add:add_p` the second."""
    return item.rpartition(":")[2]


def by_kind(name: str) -> tuple[int, list[tuple[int, str]]]:
    """The key by which ruff sorts names: CONSTANTS, Classes, the others, and 8 before 16."""
    name = exported(name)
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return kind, [(int(p), "") if p.isdigit() else (1 << 30, p) for p in parts]


def rows_of(package: str, rows: Rows, modules: list[str]) -> Rows:
    """The rows of a package: those that are there, and the `__all__` of its modules."""
    folder = SOURCE / package
    if package not in CHOSEN:
        rows = {module: names for module, names in rows.items() if module.startswith(".")} | {
            path.stem: names
            for path in folder.glob("*.py")
            if path.stem not in ("__init__", *modules) and (names := public_names(path))
        }
    for place in CHOSEN.get(package, ()):
        prefix = place.replace("/", ".")
        rows = {m: names for m, names in rows.items() if m.rpartition(".")[0] != prefix} | {
            f"{prefix}.{path.stem}": names
            for path in (SOURCE / place).glob("*.py")
            if (names := public_names(path))
        }
    for subpackage, left_out in RE_EXPORTED.get(package, {}).items():
        own = {*left_out, *(path.stem for path in (folder / subpackage).glob("*.py"))}
        found = public_names(folder / subpackage / "__init__.py")
        rows[subpackage] = [name for name in found if name not in own]
    return {module: sorted(rows[module], key=by_kind) for module in sorted(rows)}


def words(head: str, names: list[str], indent: str) -> str:
    """Names in one string: one line if they fit, a block of lines if not."""
    line = f'{indent}{head}"{" ".join(names)}",'
    if len(line) <= WIDTH:
        return line
    inner = indent + "    "
    block = textwrap.indent(textwrap.fill(" ".join(names), WIDTH - len(inner)), inner)
    return f'{indent}{head}"""\n{block}\n{indent}""",'


def imported(module: str, names: list[str]) -> str:
    """An import that a stub hands on. Ruff sorts names without regard to upper and lower case, but
    for their kind."""
    names = sorted(names, key=lambda name: (by_kind(name)[0], by_kind(name.lower())[1]))
    return import_of(module, [f"{name} as {name}" for name in names])


def import_of(module: str, items: list[str]) -> str:
    """An import as ruff writes it."""
    line = f"from .{module} import {', '.join(items)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from .{module} import (", *(f"    {item}," for item in items), ")"])


def stub_of(rows: Rows, modules: list[str]) -> list[str]:
    """The imports of a stub. A name that is another one in its module is assigned, since type
    checkers take `import add as add_p` for private."""
    aliases = {module: names for module, names in rows.items() if ":" in names[0]}
    beside: dict[str, list[str]] = {}
    for module in aliases:
        parent, _, stem = module.rpartition(".")
        beside.setdefault(parent, []).append(f"{stem} as _{stem}")
    lines = [import_of(parent, items) for parent, items in beside.items()]
    plain = [(module, imported(module, rows[module])) for module in rows if module not in aliases]
    lines += [line for module, line in plain if module.startswith(".")]
    lines += [imported("", modules)] if modules else []
    lines += [line for module, line in plain if not module.startswith(".")]
    pairs = [(m.rpartition(".")[2], *n.split(":")) for m, names in aliases.items() for n in names]
    return [*lines, *[""] * bool(pairs), *(f"{new} = _{stem}.{name}" for stem, name, new in pairs)]


def written(package: str) -> dict[str, str]:
    """The text of `__init__.py` and `__init__.pyi` of a package, named by its folder."""
    folder = SOURCE / package
    old = (folder / "__init__.py").read_text()
    tree = ast.parse(old)
    call = call_of(tree)
    assert call is not None
    given, options = table_of(call)
    modules = options.get("modules", [])
    keep = [m for m in modules if m not in given] if package in ROWS_AND_NAMES else modules
    rows = rows_of(package, given, keep)
    if package in ROWS_AND_NAMES:
        at_once = [module for module in rows if module in rows[module]]
        modules = [*keep, *(m for m in rows if m not in at_once and m not in keep)]
    if modules:
        options["modules"] = sorted(modules, key=by_kind)
    names = [*modules, *(exported(name) for found in rows.values() for name in found)]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise SystemExit(f"{package}: two modules have {', '.join(twice)} in their __all__")

    held = ["    {", *(words(f'"{m}": ', found, " " * 8) for m, found in rows.items()), "    },"]
    lines = ["__all__, __getattr__, __dir__ = exports(", "    __name__,"]
    lines += held if rows else ["    {},"]
    lines += [words(f"{name}=", value, "    ") for name, value in options.items()]
    before = old.splitlines()[: call.lineno - 1]
    stub = [
        "# Written by `make exports`: editors and type checkers read it instead of `__init__.py`."
    ]
    stub += stub_of(rows, modules)
    stub += ["", "__version__: str"] if "\n__version__" in old else []
    return {
        "__init__.py": "\n".join([*before, *lines, ")", ""]),
        "__init__.pyi": "\n".join([*stub, ""]),
    }


if __name__ == "__main__":
    for package in all_namespaces():
        for name, text in written(package).items():
            path = SOURCE / package / name
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
                print(f"wrote {path.relative_to(SOURCE.parents[1])}")
