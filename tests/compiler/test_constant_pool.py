"""Blocks that differ in numbers alone share a function; programs compute what the flat ones do."""

import numpy as onp
import pytest
from unrolled import PROGRAMS, N, X

import weft
import weft.numpy as np
from weft.compiler.constant_pool import loose_numbers, pooled
from weft.compiler.lowered import LoweredProgram
from weft.compiler.outline import find_runs

FLAT = {"weft_outline": False}
SLOW = """gradient: sums of a chain; gradient: calls of jitted functions; random numbers; windows
gradient: by the second axis; gradient: windows; gradient: by weights; gradient: shared weights
gradient: scales of layers; shared weights; loops inside; gradient: conditions inside; sinkhorn
masks of layers; calls within calls; several results; gradient: custom rules; second axis
gradient: checkpoints; backwards in time""".replace("\n", "; ").split("; ")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in PROGRAMS]
)
def test_the_results_are_those_of_the_flat_program(name):
    function, args = PROGRAMS[name]
    flat = weft.jit(function, compiler_options=FLAT)(*args)
    outlined = weft.jit(function)(*args)
    for a, b in zip(*map(weft.tree_util.tree_leaves, (outlined, flat)), strict=True):
        error = 2e-2 if b.dtype == "bfloat16" else 2e-5
        a, b = (onp.asarray(x, dtype=onp.result_type(x.dtype, "float32")) for x in (a, b))
        onp.testing.assert_allclose(a, b, rtol=error, atol=error / 10 * onp.abs(b).max())
    again = weft.jit(function)(*args)
    for a, b in zip(*map(weft.tree_util.tree_leaves, (outlined, again)), strict=True):
        onp.testing.assert_array_equal(onp.asarray(a), onp.asarray(b))


def lowered(name):
    """A program of the table, lowered, and the equations that call blocks."""
    function, args = PROGRAMS[name]
    program = LoweredProgram(weft.make_jaxpr(function)(*args))
    return program, [e for e in program.outlined.equations if e.primitive.name == "block_call"]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("recurrent network", N),  # indices of slices
        ("gradient: recurrent network", N),
        ("gradient: by the sequence", N),  # of the slices, and of the updates that they become
        ("second axis", N),
        ("scales of layers", 2 * N),  # indices and scales
        ("sums of a chain", 7),  # equal numbers are one input
        ("calls within calls", N),  # of a function that is called once
        ("power iteration", 0),  # nothing differs, but the sum reads what is read again
        ("sinkhorn", 0),
    ],
)
def test_blocks_share_functions(name, numbers):
    program, calls = lowered(name)
    assert len(program.pool) <= numbers
    assert len(program.pool) >= numbers * 0.8  # what is left at the ends stays in the program
    assert len(program.outlined.invars) == len(program.body.invars) + len(program.pool)
    functions = {id(dict(e.params)["jaxpr"]) for e in calls}
    assert 1 <= len(functions) < len(calls)
    assert len(program.outlined.equations) < len(program.body.equations) / 2


@pytest.mark.parametrize("name", ["Adam over 120 arrays"])
def test_short_blocks_without_numbers_stay(name):
    program, calls = lowered(name)
    assert not calls
    assert program.outlined is program.body


def test_a_program_without_repetition_is_unchanged():
    def irregular(x):
        for i, f in enumerate(onp.random.RandomState(0).randint(0, 3, 120)):
            x = (np.sin, np.cos, np.tanh)[f](x) * (1 + i)
        return x

    program = LoweredProgram(weft.make_jaxpr(irregular)(X))
    assert program.outlined is program.body
    assert program.pool == []


def test_the_switch_leaves_a_program_flat():
    function, args = PROGRAMS["recurrent network"]
    text = weft.jit(function, compiler_options=FLAT).lower(*args).as_text()
    assert "call @" not in text
    assert "dynamic_slice" not in text
    assert "call @" in weft.jit(function).lower(*args).as_text()


def test_results_follow_the_numbers_of_the_program():
    """Programs of equal text differ in the values of their pools."""

    def scaled(factor):
        def function(x):
            for i in range(40):
                x = np.sin(x) * (factor + i) + x.sum() * 0.1
            return x

        return function

    texts = [weft.jit(scaled(f)).lower(X).as_text() for f in (1.0, 2.0)]
    assert texts[0] == texts[1]
    for factor in (1.0, 2.0):
        flat = weft.jit(scaled(factor), compiler_options=FLAT)(X)
        onp.testing.assert_allclose(weft.jit(scaled(factor))(X), flat, rtol=2e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_sharded_arguments(axis):
    """Programs for several devices have no pool: slices along a divided axis stay slices."""
    mesh = weft.make_mesh((2,), ("d",))
    parts = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec(*[None] * axis, "d"))
    function, (h, w, xs) = PROGRAMS["recurrent network"]
    placed = weft.device_put(xs, parts)
    expected = weft.jit(function, compiler_options=FLAT)(h, w, xs)
    onp.testing.assert_allclose(weft.jit(function)(h, w, placed), expected, rtol=2e-5, atol=1e-6)


def test_eager_gradients_of_jitted_functions():
    function, args = PROGRAMS["recurrent network"]
    expected = weft.jit(weft.grad(lambda *xs: np.sum(function(*xs))), compiler_options=FLAT)(*args)
    gradient = weft.grad(lambda *xs: np.sum(weft.jit(function)(*xs)))(*args)
    onp.testing.assert_allclose(gradient, expected, rtol=2e-5, atol=1e-6)


def test_windows_of_different_lengths_stay_slices():
    """A slice whose length differs is another operation."""

    def function(x):
        total = np.float32(0)
        for i in range(40):
            total = total + np.sum(np.sin(x[i : 2 * i + 1])) * (1 + i)
        return total

    x = onp.linspace(0, 1, 90, dtype="float32")
    program = LoweredProgram(weft.make_jaxpr(function)(x))
    assert pooled(program.body, find_runs(loose_numbers(program.body))) == (program.body, [])
    expected = sum(onp.sum(onp.sin(x[i : 2 * i + 1])) * (1 + i) for i in range(40))
    onp.testing.assert_allclose(weft.jit(function)(x), expected, rtol=1e-5)


def test_equations_without_inputs_and_without_results_are_numbered():
    def function(x):
        for i in range(3):
            weft.debug.callback(lambda: None)
            x = x * i + weft.lax.iota("float32", 3)
        return x

    jaxpr = weft.make_jaxpr(function)(np.ones(3))
    sizes = {(len(e.inputs), len(e.outvars)) for e in jaxpr.equations}
    assert {(0, 1), (0, 0)} <= sizes
    assert len(loose_numbers(jaxpr)) == len(jaxpr.equations)
    onp.testing.assert_array_equal(weft.jit(function)(np.ones(3)), function(np.ones(3)))
