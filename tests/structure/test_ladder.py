"""The import graph is a ladder: nothing imports upwards, and only `runtime` knows jaxlib."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("structure_tree", Path(__file__).with_name("tree.py"))
tree = importlib.util.module_from_spec(_spec)
sys.modules["structure_tree"] = tree
_spec.loader.exec_module(tree)

ALL = [i for path in tree.modules() for i in tree.imports(path)]

# Imports inside functions, each with its reason.
LAZY = {
    "runtime.versions": "jaxlib is loaded by the first use of a device, not by importing weft",
    "runtime.plugins": "plugin wheels are optional",
    "runtime.custom_calls": "LAPACK's registration loads SciPy: 0.4 s that few programs need",
}


def test_no_import_goes_up():
    bad = []
    for i in ALL:
        if not i.target.startswith("weft.") or not i.source:
            continue
        here, there = i.source.split(".")[0], i.target.split(".")[1]
        if here == there:
            continue
        low, high = tree.HEIGHT[there], tree.HEIGHT[here]
        if low > high or (low == high and high not in tree.SAME_RUNG_MAY_IMPORT):
            bad.append(f"{i.source}:{i.line} imports {i.target}")
    assert not bad, "\n".join(bad)


def test_every_module_is_on_the_ladder():
    tops = {tree.name_of(p).split(".")[0] for p in tree.modules()} - {"", "__main__"}
    assert tops <= set(tree.HEIGHT), tops - set(tree.HEIGHT)


def test_there_is_no_cycle():
    graph = {}
    for i in ALL:
        if i.target.startswith("weft.") and not i.lazy and i.source:
            graph.setdefault(i.source, set()).add(i.target.removeprefix("weft."))
    state = {}

    def visit(node, path):
        if state.get(node) == "done":
            return
        assert state.get(node) != "open", " -> ".join([*path, node])
        state[node] = "open"
        for target in graph.get(node, ()):
            visit(target, [*path, node])
        state[node] = "done"

    for node in list(graph):
        visit(node, [])


def test_no_import_inside_a_function():
    bad = [f"{i.source}:{i.line} imports {i.target}" for i in ALL if i.lazy and i.source not in LAZY]
    assert not bad, "\n".join(bad)


def test_jaxlib_is_known_to_runtime_only():
    bad = [
        f"{i.source}:{i.line}"
        for i in ALL
        if i.target.split(".")[0] == "jaxlib" and not i.source.startswith("runtime")
    ]
    assert not bad, bad


def test_jax_is_imported_nowhere():
    assert not [i for i in ALL if i.target.split(".")[0] == "jax"]


def test_no_star_import_and_no_underscore_module():
    for path in tree.modules():
        assert "import *" not in path.read_text(), path
        assert path.name in ("__init__.py", "__main__.py") or not path.name.startswith("_"), path


def test_folder_inits_hold_no_code():
    import ast

    for path in tree.modules():
        if path.name != "__init__.py" or path.parent == tree.SOURCE:
            continue
        for node in ast.parse(path.read_text()).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_all = isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
            assert docstring or is_all or isinstance(node, (ast.Import, ast.ImportFrom)), path
            if is_all:
                names = ast.literal_eval(node.value)
                assert len(set(names)) == len(names), path


PROGRAM = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name == "jax" or name.startswith("jax."):
            raise ImportError("jax is blocked")
sys.meta_path.insert(0, Block())
import weft, weft.numpy as np
assert "jaxlib" not in sys.modules, "importing weft loads jaxlib"
assert np.sum(np.arange(4.0)).item() == 6.0
assert "jaxlib" not in sys.modules, "small eager code loads jaxlib"
f = weft.jit(weft.grad(lambda x: np.sum(np.tanh(x) ** 2)))
assert f(np.arange(3.0)).shape == (3,)
assert "jaxlib" in sys.modules and "jax" not in sys.modules
print("fine")
"""


@pytest.mark.parametrize("blocked", [True])
def test_weft_runs_without_jax_and_loads_jaxlib_late(blocked):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"
    assert done.stderr == ""
