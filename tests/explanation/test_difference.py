"""weft.diff: programs are compared by structure, and their work is counted."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.compiler.optimized import UNKNOWN
from weft.explanation.difference import ProgramDifference, aligned, changes_text
from weft.explanation.program_rows import program_rows, rows_of_text

X = onp.ones((5, 10), onp.float32)
W = onp.ones((10, 3), onp.float32)


def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)


def other_loss(w, x):
    h = np.tanh(x @ w) + 1
    return np.sum(h**2)


def operations(rows):
    return [row.operation for row in rows]


# --- structure ---


def test_equal_programs_are_equal_whatever_their_names_and_calls():
    def same(weights, batch):
        @weft.jit
        def inner(y):
            return np.tanh(y)

        product = batch @ weights
        return np.sum(inner(product) ** 2)

    for f in (loss, weft.jit(loss), same):
        difference = weft.diff(loss, f, W, X)
        assert not difference
        assert "The programs are equal." in str(difference)
        assert (difference.removed, difference.added, difference.rewired) == ([], [], [])


def test_added_equations_have_their_lines():
    difference = weft.diff(loss, other_loss, W, X)
    assert difference
    assert operations(difference.added) == ["add"]
    assert difference.removed == []
    line = other_loss.__code__.co_firstlineno + 1
    ((where, removed, added),) = difference.by_line
    assert (where.file, where.number, removed, added) == ("test_difference.py", line, 0, 1)
    text = str(difference)
    assert f"add(%3, 1.0:f32[]*)    # test_difference.py:{line}" in text
    assert text.count("\n+ ") == 1
    assert "\n- " not in text


def test_the_other_way_round_they_are_removed():
    difference = weft.diff(other_loss, loss, W, X)
    assert (operations(difference.removed), difference.added) == (["add"], [])


def test_the_value_that_an_operation_reads_matters():
    difference = weft.diff(lambda x, y: x - y, lambda x, y: y - x, 1.0, 2.0)
    assert difference
    assert (difference.removed, difference.added) == ([], [])
    ((first, second),) = difference.rewired
    assert (first.inputs, second.inputs) == (("%0", "%1"), ("%1", "%0"))
    assert "first: (%0, %1)" in str(difference)


@pytest.mark.parametrize(
    ("f", "g"),
    [
        (lambda x: x * 2, lambda x: x * 3),
        (lambda x: np.sum(x, 0), lambda x: np.sum(x, 1)),
        (lambda x: (x, 2 * x), lambda x: (2 * x, x)),
        (lambda x: x.astype("float16"), lambda x: x.astype("bfloat16")),
        (
            lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=3),
            lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=4),
        ),
        (
            lambda x: lax.cond(x[0, 0] > 0, lambda y: y, lambda y: -y, x),
            lambda x: lax.cond(x[0, 0] > 0, lambda y: -y, lambda y: y, x),
        ),
    ],
    ids=["literal", "parameter", "results", "dtype", "length", "branches"],
)
def test_programs_that_differ_in_one_thing_differ(f, g):
    x = np.ones((3, 3))
    assert weft.diff(f, g, x)
    assert not weft.diff(f, f, x)
    assert not weft.diff(g, g, x)


def test_the_body_of_a_loop_is_compared():
    def f(x):
        return lax.scan(lambda c, y: (c @ c * y, None), x, np.ones(7))[0]

    def g(x):
        return lax.scan(lambda c, y: (c @ c * y + c, None), x, np.ones(7))[0]

    difference = weft.diff(f, g, np.ones((4, 4)))
    ((row,), counts) = difference.added, difference.by_operation
    assert (row.operation, row.depth, row.flops) == ("add", 1, 7 * 16)
    assert counts == [("add", 0, 1, 0.0, 7.0 * 16)]


def test_arguments_may_be_shapes():
    shape = weft.ShapeDtypeStruct((5, 10), "float32")
    assert not weft.diff(loss, loss, weft.ShapeDtypeStruct((10, 3), "float32"), shape)


def test_keywords_and_static_arguments():
    f = weft.jit(lambda x, n: x**n, static_argnames="n")
    g = weft.jit(lambda x, n: x * n, static_argnames="n")
    assert operations(weft.diff(f, g, 2.0, n=3).added) == ["mul"]


def test_something_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="diff: "):
        weft.diff(loss, 3, W, X)


def test_nothing_runs_and_no_switch_stays_on():
    calls = []

    def f(x):
        weft.debug.callback(calls.append, x)
        return x

    weft.diff(f, f, 1.0)
    weft.effects_barrier()
    assert calls == []
    assert not weft.config.debug_lines


# --- work ---


def dot(x, y):
    return x @ y


FLOPS = {
    "a product": (lambda a, b: a @ b, [(5, 10), (10, 3)], 2 * 5 * 10 * 3),
    "a batch of products": (
        lambda a, b: np.einsum("bij,bjk->bik", a, b),
        [(2, 5, 4), (2, 4, 3)],
        2 * 2 * 5 * 4 * 3,
    ),
    "elements": (lambda x: np.exp(x) * x + 1, [(7, 3)], 3 * 21),
    "broadcast elements": (lambda x, y: x + y, [(7, 3), (3,)], 21),
    "a sum": (lambda x: np.sum(x, 0), [(7, 3)], 21),
    "a mean": (np.mean, [(7, 3)], 22),
    "moved elements": (lambda x: x.T[::-1].reshape(-1)[:5], [(7, 3)], 0),
    "a convolution": (
        lambda x, k: lax.conv(x, k, (1, 1), "VALID"),
        [(2, 3, 8, 8), (4, 3, 3, 3)],
        2 * (2 * 4 * 6 * 6) * (3 * 3 * 3),
    ),
    "a loop": (
        lambda x: lax.scan(lambda c, _: (c @ c, None), x, None, length=9)[0],
        [(4, 4)],
        9 * 2 * 4**3,
    ),
    "a Cholesky factor": (
        lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
        [(6, 6)],
        6**3 / 3,
    ),
    "a call": (weft.jit(lambda x: 2 * x), [(3,)], 3),
}


@pytest.mark.parametrize("name", FLOPS)
def test_flops_are_those_of_the_textbook(name):
    f, shapes, expected = FLOPS[name]
    rows = program_rows(weft.make_jaxpr(f)(*map(onp.ones, shapes)).jaxpr)
    assert sum(row.flops for row in rows) == pytest.approx(expected)


def test_the_work_of_a_program_in_a_call():
    first = weft.diff(dot, dot, np.ones((50, 20)), np.ones((20, 40))).first
    sizes = 4 * (50 * 20 + 20 * 40 + 50 * 40)
    assert (first.equations, first.kernels, first.bytes) == (1, 1, sizes)
    assert first.flops == 2 * 50 * 20 * 40
    assert first.peak_bytes >= sizes
    assert first.name.startswith("dot (test_difference.py:")


def test_the_bytes_of_a_loop_count_in_each_round():
    def f(n):
        def g(x):
            return lax.scan(lambda c, _: (np.sin(c), None), x, None, length=n)[0]

        return weft.diff(g, g, np.ones(1000)).first.bytes

    assert f(40) - f(20) == pytest.approx(20 * 2 * 4000, rel=0.05)


def test_the_summary_has_both_sides():
    lines = str(weft.diff(loss, other_loss, W, X)).splitlines()
    words = [line.split()[0] for line in lines[1:6]]
    assert words == ["equations", "flops", "kernels", "bytes", "peak"]
    assert lines[1].split() == ["equations", "4", "5"]
    assert "add" in lines[8]


def test_the_notebook_shows_the_programs_side_by_side():
    html = weft.diff(loss, lambda w, x: np.sum(x @ w < 1), W, X)._repr_html_()
    assert html.count("<table>") == 1
    assert "&lt;lambda&gt;" in html
    assert "tanh(%2)" in html


# --- text ---


def written_and_read(f, *args):
    rows = program_rows(weft.make_jaxpr(f)(*args).jaxpr)
    text = "\n".join(map(str, rows))
    return rows, rows_of_text(text.splitlines())


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (weft.grad(loss), (W, X)),
        (lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + 1, x), (0,)),
        (lambda x: lax.cond(x > 0, np.sin, np.cos, x), (1.0,)),
        (lambda z: z * (1 + 2j), (onp.complex64(1),)),
        (lambda x: x[np.array([0, 2])].at[0].add(np.inf), (onp.ones(3),)),
        (lambda: 3.0, ()),
        (lambda x: (), (1.0,)),
        (lambda key: weft.random.normal(key, (3,)), (weft.random.key(0),)),
        (weft.vmap(weft.jacfwd(lambda x: np.linalg.solve(x, x[0]))), (onp.ones((2, 3, 3)),)),
        (lambda x: weft.pure_callback(np.sin, x, x), (1.0,)),
    ],
)
def test_a_program_that_is_written_is_read_back(f, args):
    rows, read = written_and_read(f, *args)
    assert read == [row._replace(line=UNKNOWN, flops=0.0) for row in rows]
    assert changes_text(aligned(read, rows)) == ""


def test_comments_are_skipped_and_other_lines_refused():
    (row,) = rows_of_text(["# a comment", "results(%1)"])
    assert row.operation == "results"
    with pytest.raises(ValueError, match="expected an equation in line 2; got 'nonsense'"):
        rows_of_text(["results(%1)", "nonsense"])


def test_long_equal_parts_are_left_out():
    def chain(n):
        def f(x):
            for _ in range(20):
                x = np.sin(x)
            return x * n

        return f

    text = str(weft.diff(chain(2), chain(3), 1.0))
    assert text.count("sin(") == 2
    assert "\n  ...\n" in text


def test_many_repeated_equations_are_aligned():
    def layers(n):
        def f(x):
            for i in range(n):
                x = np.tanh(x * (1 + i % 3)) + 1
            return x

        return f

    difference = weft.diff(layers(900), layers(901), 1.0)
    assert isinstance(difference, ProgramDifference)
    assert len(difference.added) - len(difference.removed) == 3
    assert len(difference.added) < 20
