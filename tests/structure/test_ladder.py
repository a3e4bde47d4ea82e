"""The imports are a ladder: none goes up or hides in a function; `runtime` alone has XLA."""

import ast
import functools
import os
import re
import subprocess
import sys

import pytest
from tree import (
    HEIGHT,
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
    ("core.messages", "logging"): "a twentieth of the time of importing weft; few programs log",
}

# A module whose name a folder's `__init__` also exports, hiding it: why.
HIDDEN = {
    "layers.assert_shape": "the function, as in Trax; the module is loaded before it is bound",
    "config": "programs write weft.config.update(…): the object, which the module is there for",
}


def own(path):
    """The path as people write it."""
    return str(path.relative_to(SOURCE))


def test_every_module_stands_on_a_rung():
    units = {unit(name_of(path)) for path in modules()} - {"", "__main__"}
    assert units - set(HEIGHT) == set()


def test_no_import_goes_up_or_to_a_neighbour():
    assert [str(i) for i in all_imports() if breaks_ladder(i)] == []


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
        ("training.loop", "weft.models.resnet", False),
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


def exported(path):
    """The names in a module's `__all__`, or None if it has none."""
    for node in ast.parse(path.read_text()).body:
        if assigned(node) == "__all__":
            return ast.literal_eval(node.value)
    return None


def order(name):
    """How ruff (RUF022) sorts: constants, classes, the rest; numbers by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


INITS = [path for path in modules() if path.name == "__init__.py"]
LAZY_TABLE = "__getattr__, __dir__"  # what `lazy.exports` gives


def assigned(node):
    """The text of what a statement assigns to; nothing for other statements."""
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return ast.unparse(target).strip("()")
    return ""


def imports_of_init(path):
    """All imports of an `__init__`, those for type checkers too: these are what it loads lazily."""
    for node in ast.parse(path.read_text()).body:
        inner = node.body if isinstance(node, ast.If) else [node]
        yield from (n for n in inner if isinstance(n, ast.Import | ast.ImportFrom))


def is_allowed(node):
    """Whether an `__init__` may hold a statement (besides its docstring): all but code."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
            return all(isinstance(n, ast.ImportFrom) for n in body)
    return assigned(node) in ("__all__", "__version__", LAZY_TABLE)


@pytest.mark.parametrize("path", INITS, ids=own)
def test_an_init_exports_and_holds_no_code(path):
    body = ast.parse(path.read_text()).body
    code = [node for node in body[bool(ast.get_docstring(ast.Module(body, []))) :]]
    assert [f"{own(path)}:{node.lineno}" for node in code if not is_allowed(node)] == []
    bound = {a.asname or a.name for node in imports_of_init(path) for a in node.names}
    names = exported(path)
    if names is None:
        assert not bound, "imports, but no __all__"
    else:
        assert sorted(names, key=order) == names
        assert len(set(names)) == len(names)
        assert set(names) - bound - {"__version__"} == set(), "exported, but not imported"


@pytest.mark.parametrize("path", INITS, ids=own)
def test_what_an_init_loads_lazily_is_what_type_checkers_read(path):
    tree = ast.parse(path.read_text()).body
    (table,) = [n.value for n in tree if assigned(n) == LAZY_TABLE] or [None]
    blocks = [node.body for node in tree if isinstance(node, ast.If)]
    if table is None:
        assert not blocks
        return
    lazy = {module: set(names) for module, names in ast.literal_eval(table.args[1]).items()}
    named = {k.arg: ast.literal_eval(k.value) for k in table.keywords}
    modules = {*named.get("modules", ()), *(lazy if named.get("with_modules") else ())}
    read = {node.module: {a.name for a in node.names} for block in blocks for node in block}
    assert read.pop(None, set()) == modules
    assert read == lazy


@pytest.mark.parametrize("path", INITS, ids=own)
def test_no_module_is_hidden_behind_an_exported_name(path):
    inside = {p.stem for p in path.parent.iterdir() if p.suffix in (".py", "")} - {"__init__"}
    modules_themselves = {
        alias.name
        for node in imports_of_init(path)
        if isinstance(node, ast.ImportFrom) and node.module is None
        for alias in node.names
    }
    hidden = (inside & set(exported(path) or ())) - modules_themselves
    assert {name for name in hidden if f"{name_of(path)}.{name}".strip(".") not in HIDDEN} == set()


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
