"""The memory of a program before it runs: totals, buffers by line, names of arguments."""

import pytest

import weft
import weft.numpy as np
from weft import grad, jit, lax

MATRIX = weft.ShapeDtypeStruct((300, 300), "float32")
SIZE = 300 * 300 * 4


def numbers(plan):
    """Lines and bytes at the peak, relative to the first line of the function."""
    return {line.number: size for line, size in plan.by_line()}


def test_the_plan_of_a_product():
    def f(x, y):
        a = x @ y
        b = np.sort(a, axis=0)
        return b @ a

    plan = jit(f).memory(MATRIX, MATRIX)
    first = f.__code__.co_firstlineno
    assert (plan.argument_bytes, plan.output_bytes) == (2 * SIZE, SIZE)
    assert plan.temporary_bytes == 2 * SIZE
    assert plan.peak_bytes == 5 * SIZE
    assert numbers(plan) == {first + 1: SIZE, first + 2: SIZE, first + 3: SIZE}
    kinds = sorted((b.kind, b.name) for b in plan.buffers)
    assert kinds[:2] == [("argument", "x"), ("argument", "y")]
    assert [kind for kind, _ in kinds[2:]] == ["output", "temporary", "temporary"]
    assert max(m.bytes for m in plan.moments) == 5 * SIZE


def test_donated_memory_is_counted_once():
    def f(x, y):
        return x + y * 2

    plain, donated = jit(f).memory(MATRIX, MATRIX), jit(f, donate_argnums=0).memory(MATRIX, MATRIX)
    assert plain.peak_bytes - donated.peak_bytes == SIZE == donated.shared_bytes


def test_arguments_have_the_names_of_their_paths():
    f = jit(lambda params, x: params["w"] @ x, keep_unused=True)
    plan = f.memory({"w": MATRIX, "b": MATRIX}, x=MATRIX)
    names = [b.name for b in plan.buffers if b.kind == "argument"]
    assert sorted(names) == ["params['b']", "params['w']", "x"]


def test_a_loop_counts_its_body_once():
    def f(x):
        return lax.fori_loop(0, 100, lambda i, c: np.tanh(c @ c), x)

    plan = jit(f).memory(MATRIX)
    assert plan.peak_bytes <= 4 * SIZE
    assert sum(b.bytes for b in plan.buffers) <= plan.peak_bytes


@pytest.mark.parametrize("layers", [2, 6])
def test_the_backward_pass_keeps_what_each_layer_made(layers):
    def loss(w, x):
        for _ in range(layers):
            x = np.tanh(x @ w)
        return np.sum(x)

    plan = jit(grad(loss)).memory(MATRIX, MATRIX)
    kept = [b for b in plan.buffers if b.line.number == loss.__code__.co_firstlineno + 2]
    assert layers - 1 <= len(kept) <= layers + 3
    assert plan.peak_bytes >= (layers + 2) * SIZE


def test_nothing_runs_and_nothing_stays():
    def f(x):
        seen.append(x)
        return x @ x

    seen = []
    jitted = jit(f)
    text = str(jitted.memory(MATRIX))
    assert len(seen) == 1  # traced, with the lines
    assert text.startswith("memory of f: 703.1 KiB at the peak (arguments 351.6 KiB")
    assert not weft.config.debug_lines
    jitted(np.ones((300, 300)))
    jitted(np.ones((300, 300)))
    assert len(seen) == 2


def test_a_compiled_program_has_a_plan_without_lines():
    plan = jit(lambda x: x @ x).lower(MATRIX).compile().memory()
    assert plan.peak_bytes == 2 * SIZE
    assert plan.by_line() == []
