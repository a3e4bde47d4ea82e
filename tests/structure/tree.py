"""The source tree as the structure tests see it: modules, their rungs, their imports."""

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "weft"

# A module imports from its own folder or from lower rungs; folders on one rung don't know each other.
RUNGS = [
    "typing dtypes config errors treedef tree_code tree_flatten tree_paths tree_registration tree_util",
    "core stablehlo",
    "runtime",
    "primitives",
    "compiler sharding",
    "interpreters",
    "higher_order",
    "transforms",
    "lax",
    "numpy",
    "random flatten_util dlpack",
    "nn scipy image ops debug profiler extend",
    "experimental fastmath",
    "layers",
    "optimizers data training decoding models cli info",
]
HEIGHT = {name: height for height, rung in enumerate(RUNGS) for name in rung.split()}
SAME_RUNG_MAY_IMPORT = {0, len(RUNGS) - 1}


@dataclass(frozen=True)
class Import:
    """One import: the module that has it, the module it names, its line, whether in a function."""

    source: str
    target: str
    line: int
    lazy: bool
    level: int


def modules() -> list[Path]:
    """All source files."""
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """`core.trace` for src/weft/core/trace.py; `` for the package's own `__init__`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    """Whether a node is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path: Path) -> list[Import]:
    """All imports of a file, those for type checkers only left out."""
    found: list[Import] = []
    package = list(path.relative_to(SOURCE).parts[:-1])
    source = name_of(path)

    def visit(node: ast.AST, lazy: bool) -> None:
        if is_type_checking(node):
            return
        if isinstance(node, ast.Import):
            found.extend(Import(source, a.name, node.lineno, lazy, 0) for a in node.names)
        if isinstance(node, ast.ImportFrom):
            if node.level == 0:
                found.append(Import(source, node.module or "", node.lineno, lazy, 0))
            else:
                base = package[: len(package) - (node.level - 1)]
                stem = [*base, *(node.module.split(".") if node.module else [])]
                for a in node.names:
                    full = ".".join([*stem, a.name])
                    known = (SOURCE / Path(*stem, a.name)).with_suffix(".py").exists() or (
                        SOURCE / Path(*stem, a.name)
                    ).is_dir()
                    target = full if known else ".".join(stem)
                    found.append(Import(source, f"weft.{target}", node.lineno, lazy, node.level))
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(path.read_text()), False)
    return found
