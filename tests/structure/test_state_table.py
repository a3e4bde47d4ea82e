"""The table of state in docs/how_it_works/state.md names all that there is of them."""

import ast
from collections.abc import Iterator

from tree import ROOT, SOURCE, modules, parsed

# What is no cache: it is filled at import, or stays as it is, or belongs to a row of another name.
NO_CACHE = {
    "config.py: _switches": "declared at import",
    "config.py: callbacks": "put there at import",
    "core/caching.py: _NOTHING": "stays empty",
    "switch_state.py: _overriding": "the values of blocks, in the row of switches",
    "switch_state.py: traced_attributes": "declared at import",
    "transforms/arguments.py: _NO_KEYWORDS": "stays empty",
    "transforms/jit/dispatch.py: _all": "the programs of functions, in their row",
    "compiler/lowered.py: _one_operation": "in the row of programs of one operation",
    "export/trees.py: _formats": "in the row of classes written by name",
    "export/trees.py: _names": "in the row of classes written by name",
}


def state(tree: ast.Module) -> Iterator[str]:
    """The names of a module's empty containers that are filled later, and of its bounded caches."""
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(name), value=ast.Dict(keys=[]) | ast.List(elts=[])):
                yield name
            case ast.AnnAssign(target=ast.Name(name), value=ast.Call(func=made, args=[])) if (
                ast.unparse(made) == "set" or ".Weak" in ast.unparse(made)
            ):
                yield name
            case ast.FunctionDef() if any(
                "lru_cache" in ast.unparse(d) for d in node.decorator_list
            ):
                yield node.name


def rows() -> list[str]:
    """The rows of the table."""
    section = (ROOT / "docs" / "how_it_works" / "state.md").read_text()
    return [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")]


def test_every_cache_has_a_row():
    table = rows()
    found = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}"
        for path in modules()
        for name in state(parsed(path))
        if name != "__all__"
    }
    missing = {
        key for key in found if not any(all(w in row for w in key.split(": ")) for row in table)
    }
    assert missing == NO_CACHE.keys()


def test_the_reader_finds_state():
    text = """
a: dict[str, int] = {}
b: set[str] = set()
c: list[int] = [1]
@functools.lru_cache(4)
def d(x): ...
"""
    assert list(state(ast.parse(text))) == ["a", "b", "d"]
