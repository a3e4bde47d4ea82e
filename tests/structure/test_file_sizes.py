"""No file and no function is long: what it is for fits in one sitting."""

import ast
from pathlib import Path

from tree import ROOT, SOURCE, modules, parsed, statements

LIMIT = 600

# Files above the limit: how long they may get, and why they are not cut.
LONG: dict[str, tuple[int, str]] = {}

LINES = 60  # of a function, without its docstring

# Functions above it, and why they are not cut.
LONG_FUNCTIONS = {
    "transforms/jit/dispatch.py: dispatcher": "a frame or a look-up more is paid at each call",
    "lax/solvers.py: custom_linear_solve": "its steps share all that they make",
    "primitives/reduce_axes.py: by_variation": "the rules of two primitives, each of some lines",
    "models/research/configurable_transformer.py: ConfigurableTransformer": "Trax's options",
    "models/research/terraformer.py: ConfigurableTerraformer": "Trax's options, 41 of them",
}


def written() -> list[Path]:
    """Python files but those of tests, whose tables may be long, and lists of exported names."""
    return [
        *(path for path in modules() if path.name != "__init__.py"),
        *sorted((ROOT / "examples").glob("*.py")),
        *sorted((ROOT / "benchmarks").glob("*.py")),
    ]


def too_long(path: Path, limits: dict[str, tuple[int, str]]) -> bool:
    limit, _ = limits.get(path.relative_to(ROOT).as_posix(), (LIMIT, ""))
    return len(path.read_text().splitlines()) > limit


def test_no_file_is_long():
    assert [str(p.relative_to(ROOT)) for p in written() if too_long(p, LONG)] == []


def test_no_exception_is_out_of_date():
    assert [name for name in LONG if not too_long(ROOT / name, {})] == []


def lines(function: ast.FunctionDef) -> int:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_no_function_is_long():
    assert LONG_FUNCTIONS.keys() == {
        f"{path.relative_to(SOURCE).as_posix()}: {node.name}"
        for path in modules()
        for node in statements(parsed(path))
        if isinstance(node, ast.FunctionDef) and lines(node) > LINES
    }


def test_a_module_says_what_it_is_for():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in modules()}
    assert [name for name, text in texts.items() if text and not text.startswith('"""')] == []
