"""The source tree as the structure tests see it: modules, their rungs, their imports.

Modules are read as text: nothing of weft is imported here.
"""

import ast
import functools
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "weft"

# The ladder, lowest rung first: folders, and modules that lie in no folder. A module imports from
# its own folder or from lower rungs; folders and modules on one rung don't know each other, but on
# the first (plain modules, held acyclic below) and the last (applications).
RUNGS = (
    "typing dtypes extended_dtypes tree tree_util treedef tree_flattening tree_code tree_paths "
    "tree_registration config scope sharding switch_values switch_state "
    "switch_options errors lazy jax_names tracebacks user_lines option_checks",
    "core stablehlo",
    "runtime primitives",
    "compiler distributed",
    "interpreters",
    "programs",
    "higher_order",
    "transforms",
    "lax",
    "numpy",
    "random shapes flatten_util dlpack ad_checkpoint custom_derivatives custom_batching stages ref "
    "export checkpoints",
    "nn scipy image ops profiler extend interop test_util util",
    "experimental fastmath api_util",
    "layers",
    "optimizers data",
    "supervised",
    "explanation",
    "models cli info compat debug pytest_plugin",
)
HEIGHT = {name: height for height, rung in enumerate(RUNGS) for name in rung.split()}
OPEN_RUNGS = (0, len(RUNGS) - 1)  # where modules of one rung may know each other


@dataclass(frozen=True)
class Import:
    """One import: who has it, what it names (a dotted module), its line, whether in a function."""

    source: str
    target: str
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.source or 'weft'}:{self.line} imports {self.target}"

    @property
    def inner(self) -> str:
        """The module of weft that is imported, `core.aval`; None if it is another package's."""
        top, _, rest = self.target.partition(".")
        return rest if top == "weft" else ""


def modules() -> list[Path]:
    """All source files."""
    return sorted(SOURCE.rglob("*.py"))


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, parsed once for all structure tests of a process."""
    gc.disable()  # its collections take twice the time of parsing
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly in a node, with the handlers and cases of one; no expressions."""
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, block, ())
        yield from inner if isinstance(inner, list) else ()  # the body of a lambda is none


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it: a tenth of the nodes of `ast.walk`."""
    yield node
    for inner in statements_in(node):
        yield from statements(inner)


def name_of(path: Path) -> str:
    """`core.trace` for src/weft/core/trace.py; the empty string for weft's own `__init__`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit(module: str) -> str:
    """What stands on the ladder: the folder of a module, or a module that lies in none."""
    return module.split(".")[0]


def is_module(parts: list[str]) -> bool:
    """Whether these names lead to a module or folder of weft."""
    place = SOURCE.joinpath(*parts)
    return place.is_dir() or place.with_suffix(".py").exists()


@functools.cache  # several files of tests ask
def imports(path: Path) -> list[Import]:
    """All imports of a file but those for type checkers only; `import_module("…")` is one too."""
    package = list(path.relative_to(SOURCE).parts[:-1])
    text = path.read_text()
    in_expressions = "import_module" in text or "__import__" in text
    source = name_of(path)
    found: list[Import] = []

    def add(node: ast.AST, target: str, lazy: bool) -> None:
        found.append(Import(source, target, node.lineno, lazy))  # type: ignore[attr-defined]

    def visit(node: ast.AST, lazy: bool) -> None:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                return
            case ast.Import(names=names):
                for alias in names:
                    add(node, alias.name, lazy)
            case ast.ImportFrom(module=module, names=names, level=level):
                stem = module.split(".") if module else []
                if level:
                    stem = ["weft", *package[: len(package) - (level - 1)], *stem]
                for alias in names:
                    deeper = stem[:1] == ["weft"] and is_module([*stem[1:], alias.name])
                    add(node, ".".join([*stem, alias.name] if deeper else stem), lazy)
            case ast.Call(
                func=ast.Attribute(attr="import_module")
                | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(target)), *_],
            ):
                add(node, target, lazy)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                lazy = True
        for child in ast.iter_child_nodes(node):
            if in_expressions or not isinstance(child, ast.expr):
                visit(child, lazy)

    visit(parsed(path), False)
    return found


def breaks_ladder(i: Import) -> bool:
    """Whether an import goes up, or to a neighbour on the same rung."""
    if i.target.split(".")[0] != "weft" or not i.source:
        return False  # another package; weft's own `__init__`, which stands above all
    here, there = unit(i.source), unit(i.inner)
    if here == there:
        return False
    low, high = HEIGHT.get(there, len(RUNGS)), HEIGHT[here]  # `import weft` itself goes up
    return low > high or (low == high and high not in OPEN_RUNGS)


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """A cycle in a graph as a list of nodes, the first one repeated at the end; or nothing."""
    done: set[str] = set()

    def search(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            found = search(target, [*path, node])
            if found:
                return found
        done.add(node)
        return []

    for node in sorted(graph):
        found = search(node, [])
        if found:
            return found
    return []
