"""Values, dtypes, weak types and derivatives agree with JAX's, where a peer interpreter has it.

`WEFT_JAX_PYTHON` names that interpreter; else `.venv-jax` at the root of the tree is looked for.
JAX runs in a process of its own; without it, all of this is skipped.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).with_name("peer.py")
LIMIT = 300  # seconds for a whole table

pytestmark = pytest.mark.oracle

# --- the tables: functions and arguments in source text ---

X = "np.asarray(onp.linspace(0.3, 2.1, 12, dtype='float32').reshape(3, 4))"
KINDS = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")


def of(dtype):
    return f"np.asarray(onp.array([[3, 1, 2], [0, 2, 1]])).astype('{dtype}')"


def unary():
    names = "abs negative sqrt exp sin tanh sign square reciprocal floor conj isfinite cumsum sort"
    for name in names.split():
        for dtype in KINDS:
            yield f"np.{name}", (of(dtype),)


def binary():
    names = "add subtract multiply divide floor_divide maximum power arctan2 equal bitwise_and"
    for name in names.split():
        kinds = KINDS[:-1] if name == "arctan2" else KINDS  # of complex numbers: NumPy refuses too
        for dtype in kinds:
            for other in kinds:
                yield f"np.{name}", (of(dtype), of(other))
            for scalar in ("2", "2.5"):
                yield f"np.{name}", (of(dtype), scalar)


def reductions():
    for name in ["sum", "prod", "mean", "var", "max", "argmin", "any", "all", "ptp", "median"]:
        for dtype in KINDS:
            for options in ("", ", axis=0", ", axis=1, keepdims=True"):
                yield f"lambda x: np.{name}(x{options})", (of(dtype),)


def edges():
    for bins in ("[3.0, 1.0, 0.0]", "[0.0, 1.0, 3.0]"):
        for right in ("True", "False"):
            yield f"lambda x: np.digitize(x, np.array({bins}), {right})", (X,)
    yield "lambda x: np.setdiff1d(x, np.array([2]))", (of("uint8"),)
    yield "lambda x: np.unique(x, return_inverse=True)", ("np.zeros((2, 0))",)
    yield "lambda x: np.resize(x, (2, 2))", ("np.zeros(0)",)
    yield "lambda x: np.repeat(x, 2, axis=0)", ("np.array(3.5)",)
    yield "lambda x: np.cov(x)", ("np.zeros(0)",)


def indices():
    for index in ("1", "-1", "::-1, 1:3", "..., None", "np.array([2, 0])", ":, np.array([-1, 9])"):
        yield f"lambda x: x[{index}]", (X,)
        for method in ("set", "add", "max"):
            yield f"lambda x: x.at[{index}].{method}(2.0)", (X,)


DIFFERENTIABLE = (
    "np.sin(x) * x",
    "np.prod(x, axis=1)",
    "np.sort(x, axis=0)",
    "np.max(np.stack([x, x]), axis=0)",
    "np.cumprod(np.where(x > 1.5, 0.0, x), axis=1)",
    "np.einsum('ij,kj->ik', x, x)",
    "np.std(x, axis=0)",
    "x[np.array([0, 0, 2])] ** 3",
    "x.at[np.array([0, 0])].add(x[1:] ** 2)",
    "lax.cumlogsumexp(x, 1)",
    "lax.scan(lambda c, r: (np.sin(c) * r, c), x[0], x)[1]",
    "lax.fori_loop(0, 3, lambda i, v: np.sin(v) * x, x)",
    "lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), 'SAME')",
    "lax.conv_general_dilated(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME')",
)


def derivatives():
    for f in DIFFERENTIABLE:
        total = f"lambda x: np.sum(np.cos({f}))"
        yield f"api.grad({total})", (X,)
        yield f"api.jit(api.grad({total}))", (X,)
        yield f"lambda x: api.jvp({f'lambda x: {f}'}, (x,), (np.cos(x),))", (X,)
        yield f"lambda x: api.jvp(api.grad({total}), (x,), (x,))[1]", (X,)
    rosenbrock = "lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)"
    yield f"api.hessian({rosenbrock})", (f"{X}[0]",)


TABLES = {t.__name__: list(t()) for t in (unary, binary, reductions, edges, indices, derivatives)}

# --- the comparison ---

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5}


def run(python, library, table):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
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


def difference(ours, theirs):
    """What differs, in words; '' if nothing does."""
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return f"{len(ours)} results, not {len(theirs)}"
        return next(filter(None, map(difference, ours, theirs)), "")
    if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
        return "" if ours == theirs else f"{ours!r}, not {theirs!r}"
    if ours[:2] != theirs[:2]:
        return f"{ours[:2]}, not {theirs[:2]}"
    if ours[2] != theirs[2] and ours[0] != "bool":  # booleans promote alike, weak or not
        return f"weak_type {ours[2]}, not {theirs[2]}"
    x, y = (numpy.frombuffer(r[4], r[3]) for r in (ours, theirs))
    tolerance = TOLERANCES.get(ours[0])
    if tolerance is None:
        return "" if (x == y).all() else f"{x}, not {y}"
    same = numpy.allclose(x, y, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    return "" if same else f"{x}, not {y}"


def differences(ours, theirs, table):
    found = []
    for case, a, b in zip(table, ours, theirs, strict=True):
        if words := difference(a, b):
            found.append(f"{case[0]} of {', '.join(case[1])}: {words}")
    return found


@pytest.mark.parametrize("name", TABLES)
def test_results_agree(jax_python, name):
    table = TABLES[name]
    theirs = run(jax_python, "jax", table)
    found = differences(run(sys.executable, "weft", table), theirs, table)
    assert not found, "\n".join(found)
