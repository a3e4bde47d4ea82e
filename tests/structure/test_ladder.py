"""The imports are a ladder: none goes up or hides in a function; `runtime` alone has XLA."""

import ast
import functools
import os
import re
import subprocess
import sys

import pytest
from exports import call_of, table_of
from tree import (
    HEIGHT,
    ROOT,
    RUNGS,
    SOURCE,
    Import,
    breaks_ladder,
    cycle,
    imports,
    modules,
    name_of,
    unit,
)


@functools.cache
def all_imports():
    """The imports of all modules; read when first needed, as each process collects the tests."""
    return [i for path in modules() for i in imports(path)]


# (module, package that it imports inside a function): why.
LAZY = {
    ("debug", "pdb"): "takes longer than importing weft, and is for debug.breakpoint alone",
    ("runtime.versions", "jaxlib"): "the first use of a device loads XLA, not importing weft",
    ("compat.array_serialization", "tensorstore"): "an optional package, which Orbax brings along",
    ("core.source", "logging"): "a twentieth of the time of importing weft; few programs log",
}


def own(path):
    """The path as people write it."""
    return str(path.relative_to(SOURCE))


def test_every_module_stands_on_a_rung():
    units = {unit(name_of(path)) for path in modules()} - {"", "__main__"}
    assert units - set(HEIGHT) == set()


def test_no_import_goes_up_or_to_a_neighbour():
    assert [str(i) for i in all_imports() if breaks_ladder(i)] == []


def test_the_design_lists_the_rungs():
    """Each row of its table has the modules of a rung, `tree_…` for those that begin so."""
    text = (ROOT / "docs" / "design.md").read_text()
    rows = re.findall(r"^\| \d+[ab]? \| (.*?) \|", text, re.MULTILINE)
    listed = [re.findall(r"`(\w+)(…?)`", row) for row in rows]
    assert len(listed) == len(RUNGS)
    for names, rung in zip(listed, RUNGS, strict=True):
        prefixes = tuple(name for name, more in names if more)
        modules = {name for name in rung.split() if not name.startswith(prefixes or ("-",))}
        assert {name for name, more in names if not more} - {"tree_util"} == modules - {"tree_util"}


def test_the_design_is_short():
    assert len((ROOT / "docs" / "design.md").read_bytes()) <= 10 * 1024


def test_there_is_no_cycle():
    graph: dict[str, set[str]] = {}
    for i in all_imports():
        if i.inner and i.source and not i.lazy:
            graph.setdefault(i.source, set()).add(i.inner)
    assert cycle(graph) == []


def test_no_import_inside_a_function():
    lazy = [i for i in all_imports() if i.lazy]
    pairs = {(i.source, i.target.split(".")[0]) for i in lazy}
    unlisted = [str(i) for i in lazy if (i.source, i.target.split(".")[0]) not in LAZY]
    assert unlisted == []
    assert [pair for pair in LAZY if pair not in pairs] == [], "no longer needed"


def test_only_runtime_knows_jaxlib():
    users = {unit(i.source) for i in all_imports() if i.target.split(".")[0] == "jaxlib"}
    assert users == {"runtime"}


def test_jax_is_imported_nowhere():
    assert [str(i) for i in all_imports() if i.target.split(".")[0] == "jax"] == []


def test_only_one_module_knows_tensorflow_and_no_other_backend_loads_it():
    """`fastmath` calls it by name there, when it is chosen; the backend's own modules import it."""
    assert [str(i) for i in all_imports() if i.target.split(".")[0] == "tensorflow"] == []
    loaders = {i.source for i in all_imports() if i.inner == "fastmath.tensorflow_module"}
    assert loaders
    assert all(re.match(r"fastmath\.tf(_|$)", name) for name in loaders)
    importers = {i.source for i in all_imports() if re.match(r"fastmath\.tf(_|$)", i.inner)}
    assert all(re.match(r"fastmath\.tf(_|$)", name) for name in importers)


@pytest.mark.parametrize(
    ("source", "target", "bad"),
    [
        ("core.aval", "weft.core.trace", False),
        ("core.aval", "weft.dtypes", False),
        ("core.aval", "numpy", False),
        ("core.aval", "weft.stablehlo.attributes", True),
        ("core.aval", "weft.interpreters.stage", True),
        ("primitives.slicing", "weft.runtime", True),
        ("lax.slicing", "weft", True),
        ("dtypes", "weft.config", False),
        ("models.resnet", "weft.supervised.training", False),
        ("supervised.training", "weft.models.resnet", True),
    ],
)
def test_the_check_of_the_ladder_finds_what_breaks_it(source, target, bad):
    assert breaks_ladder(Import(source, target, 1, False)) == bad


def test_the_check_for_cycles_finds_one():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def test_the_reader_of_imports_sees_them_all(tmp_path, monkeypatch):
    place = tmp_path / "core" / "new.py"
    place.parent.mkdir()
    place.write_text(
        "from typing import TYPE_CHECKING\n"
        "from ..dtypes import promote\n"
        "from .. import dtypes\n"
        "if TYPE_CHECKING:\n    from ..numpy import sin\n"
        "def f():\n    import jaxlib.xla_client\n    importlib.import_module('jaxlib._jax')\n"
    )
    (tmp_path / "dtypes.py").touch()
    monkeypatch.setattr("tree.SOURCE", tmp_path)
    found = [(i.target, i.lazy) for i in imports(place)]
    assert found == [
        ("typing", False),
        ("weft.dtypes", False),
        ("weft.dtypes", False),
        ("jaxlib.xla_client", True),
        ("jaxlib._jax", True),
    ]


# ---- what folders export ----


def test_modules_have_no_underscore_and_no_star_import():
    special = ("__init__.py", "__main__.py")
    assert [own(p) for p in modules() if p.name.startswith("_") and p.name not in special] == []
    stars = re.compile(r"^\s*from \S+ import \*", re.MULTILINE)
    assert [own(p) for p in modules() if stars.search(p.read_text())] == []


INITS = [path for path in modules() if path.name == "__init__.py"]
EXPORTS = "__all__, __getattr__, __dir__"


def assigned(node):
    """The text of the target of an assignment; nothing for other statements."""
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target).strip("()")
    return ""


@pytest.mark.parametrize("path", INITS, ids=own)
def test_an_init_exports_and_holds_no_code(path):
    tree = ast.parse(path.read_text())
    code = tree.body[bool(ast.get_docstring(tree)) :]
    imports = [node for node in code if isinstance(node, ast.ImportFrom)]
    assert [(n.module, [a.name for a in n.names]) for n in imports] in ([], [("lazy", ["exports"])])
    others = [assigned(node) for node in code if node not in imports]
    assert others in ([], [EXPORTS], ["__version__", EXPORTS])


@pytest.mark.parametrize("path", INITS, ids=own)
def test_no_module_is_hidden_behind_an_exported_name(path):
    inside = {p.stem for p in path.parent.iterdir() if p.suffix in (".py", "")} - {"__init__"}
    call = call_of(ast.parse(path.read_text()))
    rows, options = table_of(call) if call else ({}, {})
    names = {name for row in rows.values() for name in row} - set(options.get("modules", ()))
    # `lazy.Namespace` keeps the function if the module that has its name defines it
    assert {name for name in inside & names if name not in rows.get(name, ())} == set()


# ---- what a process loads ----

WITHOUT_JAX = """
import sys

asked = []

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "jax":
            asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())

import weft
import weft.numpy as np
assert "jaxlib" not in sys.modules, "importing weft loads jaxlib"

assert float(np.sum(np.arange(4.0) * 2.0)) == 12.0
assert "jaxlib" not in sys.modules, "a small operation loads jaxlib"

gradient = weft.jit(weft.vmap(weft.grad(lambda x: np.sum(np.tanh(x) ** 2))))
assert gradient(np.ones((2, 3))).shape == (2, 3)
assert "jaxlib" in sys.modules
from weft import fastmath
fastmath.logsumexp(np.ones(3))
assert "tensorflow" not in sys.modules, "fastmath loads TensorFlow unasked"
assert not asked, asked  # by jaxlib, which does it in some calls, and goes on when it fails
"""


def test_weft_runs_without_jax_and_loads_jaxlib_late():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAX],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
