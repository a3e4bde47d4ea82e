"""Values, dtypes, weak types and derivatives agree with JAX's, where a peer interpreter has it.

`WEFT_JAX_PYTHON` names that interpreter; else `.venv-jax` at the root of the tree is looked for.
JAX runs in a process of its own; without it, all of this is skipped. What is better here than
there is not in the tables: gradients where theirs are NaN, digits of lgamma, complex infinities.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from oracle import derivative_tables, lax_tables, numpy_tables, random_tables

ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).with_name("peer.py")
LIMIT = 1200  # seconds for a whole table: JAX compiles each operation of each shape

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

PROGRAMS = (
    "multilayer_perceptron convolutional_net attention recurrent_net newton newton_system "
    "differential_equation sorting_network einsums nested_maps branches mixture prefix_sums "
    "random_walk half_precision fourier"
)


def programs():
    for name in PROGRAMS.split():
        yield f"lambda: api.tree_util.tree_leaves(programs.{name}(api, np, lax, random))", ()


MODULES = (numpy_tables, lax_tables, derivative_tables, random_tables)
TABLES = {t.__name__: t for module in MODULES for t in module.TABLES} | {"programs": programs}
STRONG = ("derivatives", "singular", "ties", "complex_numbers", "programs", "random", "wide")
# in these the gradient of a weak value is strong, as the seeds print it; in JAX it is weak now

# --- the comparison ---

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5}
TOLERANCES |= {"float64": 1e-11, "complex128": 1e-11, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}


def run(python, library, table, name):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_THREEFRY_PARTITIONABLE": "0"}
    if name == "wide":
        environment |= {"JAX_ENABLE_X64": "1", "WEFT_ENABLE_X64": "1"}
    done = subprocess.run(
        [python, str(PEER), library],
        input=pickle.dumps(table),
        capture_output=True,
        timeout=LIMIT,
        env=environment,
        check=True,
    )
    return pickle.loads(done.stdout)


@pytest.fixture(scope="module")
def jax_python():
    """An interpreter that can import jax."""
    python = os.environ.get("WEFT_JAX_PYTHON") or ROOT / ".venv-jax" / "bin" / "python"
    try:
        subprocess.run([python, "-c", "import jax"], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no interpreter with jax: set WEFT_JAX_PYTHON")
    return str(python)


def difference(ours, theirs, weak):
    """What differs, in words; '' if nothing does."""
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{len(ours)} results, not {len(theirs)}"
        found = (difference(a, b, weak) for a, b in zip(ours, theirs, strict=True))
        return next(filter(None, found), "")
    if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
        return "" if ours == theirs else f"{ours!r}, not {theirs!r}"
    if ours[:2] != theirs[:2]:
        return f"{ours[:2]}, not {theirs[:2]}"
    if weak and ours[2] != theirs[2] and ours[0] != "bool":  # booleans promote alike, weak or not
        return f"weak_type {ours[2]}, not {theirs[2]}"
    x, y = (numpy.frombuffer(r[4], r[3]) for r in (ours, theirs))
    tolerance = TOLERANCES.get(ours[0])
    if tolerance is None:
        return "" if (x == y).all() else f"{x}, not {y}"
    with numpy.errstate(all="ignore"):
        size = numpy.abs(y[numpy.isfinite(y)]).max(initial=0)
        least = tolerance / 10 * min(max(size, 1), 10)  # of a difference of larger numbers
        same = numpy.isclose(x, y, rtol=tolerance, atol=least, equal_nan=True).all()
    return "" if same else f"{x}, not {y}"


def differences(ours, theirs, table, weak=True):
    found = []
    for case, a, b in zip(table, ours, theirs, strict=True):
        if words := difference(a, b, weak):
            found.append(f"{case[0]} of {', '.join(case[1])}: {words}")
    return found


@pytest.mark.parametrize("name", TABLES)
def test_results_agree(jax_python, name):
    table = list(TABLES[name]())
    theirs = run(jax_python, "jax", table, name)
    ours = run(sys.executable, "weft", table, name)
    found = differences(ours, theirs, table, name not in STRONG)
    if name == "refused":
        found += [f"{c[0]}: is accepted" for c, a in zip(table, ours, strict=True) if a != "error"]
    assert not found, "\n".join(found)


def test_the_table_of_programs_names_them_all():
    text = PEER.with_name("programs.py").read_text()
    assert all(f"def {name}(api, np, lax, random)" in text for name in PROGRAMS.split())
