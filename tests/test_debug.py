"""debug.print, debug.callback, debug.breakpoint: in order, once, under everything."""

import bdb
import io
import os
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import weft
import weft.numpy as np
from weft import lax

# --- order ---
# A program notes values as it goes along. What it should note is what the same Python code notes
# with loops and branches of Python's (disable_jit), where nothing is traced.


class Notes:
    """What has been noted, and `note`, which programs call."""

    def __init__(self):
        self.seen = []

    def note(self, name, x):
        weft.debug.callback(self.add, x, name=name)

    def add(self, x, *, name):
        self.seen.append((name, float(x)))

    def taken(self):
        seen, self.seen = self.seen, []
        return seen


def straight(note):
    def f(x):
        note("x", x)
        y = np.sin(x)
        note("y", y)
        note("x again", x)
        return y * x

    return f


def scanned(note):
    def f(x):
        note("begin", x)

        def body(c, s):
            note("carry", c)
            note("slice", s)
            return c + s * x, c

        carry, ys = lax.scan(body, x, np.arange(1.0, 5.0))
        note("end", carry)
        return carry * np.sum(ys)

    return f


def backwards_and_unrolled(note):
    def f(x):
        def body(c, s):
            note("slice", s + 0 * c)
            return c * s, None

        carry, _ = lax.scan(body, x, np.arange(1.0, 8.0), reverse=True, unroll=3)
        return carry

    return f


def looped(note):
    def f(x):
        def condition(c):
            note("condition", c)
            return c < 20

        def body(c):
            note("body", c)
            return c * 2 + 3

        end = lax.while_loop(condition, body, x)
        note("end", end)
        return end

    return f


def counted(note):
    def f(x):
        def body(i, c):
            note("i", i + 0 * c)
            return c + x

        return lax.fori_loop(0, 4, body, x)

    return f


def branched(note):
    def f(x):
        def positive(x):
            note("positive", x)
            return lax.switch(2, [lambda x: x, lambda x: x, inner], x)

        def inner(x):
            note("inner", x)
            return x * 2

        def negative(x):
            note("negative", x)
            return x * 3

        note("before", x)
        y = lax.cond(x > 0, positive, negative, x)
        note("after", y)
        return y * lax.cond(x > 100, positive, lambda x: x, x)

    return f


def nested(note):
    inner = weft.jit(lambda x, name=None: (note("inner", x), x * 2)[1])

    @weft.jit
    def middle(x):
        y = inner(x)
        note("middle", y)
        return inner(y)

    def f(x):
        note("before", x)
        y, _ = lax.scan(lambda c, _: (middle(c), None), x, None, length=2)
        return middle(y) + weft.checkpoint(lambda x: (note("checkpointed", x), np.sin(x))[1])(x)

    return f


def custom(note):
    @weft.custom_jvp
    def square(x):
        note("square", x)
        return x * x

    @square.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return square(x), 2 * x * t

    def f(x):
        return square(lax.cond(x > 0, square, lambda x: x, x))

    return f


PROGRAMS = [
    straight, scanned, backwards_and_unrolled, looped, counted, branched, nested, custom,
]  # fmt: skip
LOOPS_WITHOUT_REVERSE = (looped,)
ARGUMENTS = (2.0, -1.5)

TRANSFORMED = {
    "f": lambda f, x: f(x),
    "jit": lambda f, x: weft.jit(f)(x),
    "grad": lambda f, x: weft.grad(f)(x),
    "jit grad": lambda f, x: weft.jit(weft.grad(f))(x),
    "grad jit": lambda f, x: weft.grad(weft.jit(f))(x),
    "jvp": lambda f, x: weft.jvp(f, (x,), (1.0,)),
    "linearize": lambda f, x: weft.linearize(f, x)[1](1.0),
    "jit linearize": lambda f, x: weft.jit(lambda x: weft.linearize(f, x)[1](1.0))(x),
    "vjp": lambda f, x: weft.vjp(f, x)[1](1.0),
    "grad grad": lambda f, x: weft.grad(weft.grad(f))(x),
    "grad checkpoint": lambda f, x: weft.grad(weft.checkpoint(f))(x),
    "jit grad checkpoint": lambda f, x: weft.jit(weft.grad(weft.checkpoint(f)))(x),
    "in scan": lambda f, x: lax.scan(lambda c, x: (c, f(x)), 0.0, np.array([x])),
    "in cond": lambda f, x: weft.jit(lambda x: lax.cond(x < 9, f, lambda x: x, x))(x),
    "grad in map": lambda f, x: weft.jit(lambda xs: lax.map(weft.grad(f), xs))(np.array([x])),
    "vmap grad": lambda f, x: weft.vmap(weft.grad(f))(np.array([x])),
}


def in_python(program, notes, x):
    with weft.disable_jit():
        program(notes.note)(x)
    return notes.taken()


@pytest.mark.combinations(strength=1)
@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_calls_come_once_and_in_the_order_of_the_program(program, name):
    if program in LOOPS_WITHOUT_REVERSE and ("grad" in name or name == "vjp"):
        return  # while loops have no derivative backwards
    notes = Notes()
    for x in ARGUMENTS:
        expected = in_python(program, notes, x)
        assert expected
        TRANSFORMED[name](program(notes.note), x)
        got = notes.taken()
        assert [n for n, _ in got] == [n for n, _ in expected]
        numpy.testing.assert_allclose([v for _, v in got], [v for _, v in expected], rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_under_vmap_each_element_notes_what_it_would_alone(program, wrap):
    xs = [2.0, -1.5, 30.0]
    notes, seen = Notes(), []

    def mapped(i, x):
        def note(name, y):
            weft.debug.callback(lambda i, y: seen.append((int(i), name, float(y))), i, y)

        return program(note)(x)

    wrap(weft.vmap(mapped))(np.arange(3), np.array(xs))
    for i, x in enumerate(xs):
        expected = in_python(program, notes, x)
        got = [(name, y) for number, name, y in seen if number == i]
        assert [n for n, _ in got] == [n for n, _ in expected]
        numpy.testing.assert_allclose([v for _, v in got], [v for _, v in expected], rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_under_vmap_elements_come_in_the_order_of_their_numbers(wrap):
    notes = Notes()

    def f(x):
        notes.note("x", x)
        notes.note("sign", np.sign(x))

    wrap(weft.vmap(weft.vmap(f)))(np.array([[0.0, 1.0], [2.0, -3.0]]))
    assert notes.taken() == [
        *[("x", v) for v in (0.0, 1.0, 2.0, -3.0)],
        *[("sign", v) for v in (0.0, 1.0, 1.0, -1.0)],
    ]


def test_what_does_not_depend_on_the_mapped_axis_is_called_once():
    notes = Notes()
    weft.vmap(lambda x: (notes.note("fixed", 1.0), x)[1])(np.ones(3))
    assert notes.taken() == [("fixed", 1.0)]


def test_across_programs():
    notes = Notes()
    f = weft.jit(lambda x: (notes.note("f", x), np.dot(x * np.ones((300, 300)), np.ones(300)))[1])
    for k in range(20):
        y = f(float(k))
        weft.debug.callback(lambda: notes.seen.append("between"))
        weft.jit(lambda y: notes.note("g", y[0]))(y)
    expected = []
    for k in range(20):
        expected += [("f", float(k)), "between", ("g", 300.0 * k)]
    assert notes.taken() == expected


def test_a_hundred_prints_in_a_scan(capfd):
    @weft.jit
    def f(x):
        def body(c, i):
            weft.debug.print("step {} {:.1f}", i, c)
            return c + 1, None

        return lax.scan(body, x, np.arange(100))[0]

    assert f(0.5) == 100.5
    assert capfd.readouterr().out == "".join(f"step {i} {i + 0.5:.1f}\n" for i in range(100))


def test_in_repeated_blocks(capsys):
    """Blocks that repeat become functions of the program; their prints keep their order."""

    @weft.jit
    def f(x, count):
        for _ in range(10):
            for _ in range(12):
                x = np.sin(x) * np.cos(x) + 1
            weft.debug.print("layer {}", count)
            count = count + 1
        return x

    assert "func.call @" in f.lower(1.0, 0).as_text()
    f(1.0, 0)
    assert capsys.readouterr().out == "".join(f"layer {i}\n" for i in range(10))


# --- print ---


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_print(wrap, capsys):
    def f(x):
        weft.debug.print("nothing")
        weft.debug.print("{} and {y[0]:.2f}, {name!r} {{}}", x, y=x * 2, name="n", ordered=True)
        weft.debug.print("{0.shape} {0} {1}", np.ones((1, 2)), 3)

    wrap(f)(np.array([1.5]))
    assert capsys.readouterr().out == "nothing\n[1.5] and 3.00, 'n' {}\n(1, 2) [[1. 1.]] 3\n"


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_options_first_and_arguments_then(wrap, capsys):
    seen = []

    def f(x):
        weft.debug.print(ordered=True)("{} {ordered}", x, ordered=x + 1)
        weft.debug.print("{x}", x=x, partitioned=False)
        weft.debug.callback(ordered=True, partitioned=False)(
            lambda x, **named: seen.append((float(x), sorted(named))), x, partitioned=x
        )

    wrap(f)(1.0)
    assert capsys.readouterr().out == "1.0 2.0\n1.0\n"
    assert seen == [(1.0, ["partitioned"])]


def test_a_format_that_is_not_checked(capsys):
    weft.debug.print("x", 1, skip_format_check=True)
    assert capsys.readouterr().out == "x\n"


@pytest.mark.parametrize("name", ["print", "callback"])
def test_options_that_are_refused(name):
    function = getattr(weft.debug, name)
    with pytest.raises(NotImplementedError, match=f"debug.{name}: partitioned=True"):
        function(partitioned=True)
    for args, kwargs in (((None, 1), {}), ((), {"x": 1})):
        with pytest.raises(TypeError, match=f"debug.{name}: got None and arguments") as info:
            function(*args, **kwargs)
        assert any("test_debug.py" in note for note in info.value.__notes__)


def test_print_under_grad_and_vmap(capsys):
    def f(x):
        weft.debug.print("x = {}", x)
        return x * x

    weft.jit(weft.vmap(weft.grad(f)))(np.arange(3.0))
    assert capsys.readouterr().out == "x = 0.0\nx = 1.0\nx = 2.0\n"


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (("{}",), {}, ValueError, r"'\{\}' has places for more than the 0 positional"),
        (("{x}", 1), {}, ValueError, "needs an argument 'x'; got none by name"),
        (("{x}",), {"y": 1}, ValueError, "needs an argument 'x'; got 'y'"),
        (("text", 1), {}, ValueError, "has no place for argument 0"),
        (("{}", 1), {"y": 1}, ValueError, "has no place for 'y'"),
        (("{",), {}, ValueError, "Single '{'"),
        ((1.0,), {}, TypeError, "first argument is the format, a str; got float"),
    ],
)
def test_print_with_a_format_that_does_not_fit(args, kwargs, error, message):
    with pytest.raises(error, match=r"debug\.print") as info:
        weft.jit(lambda: weft.debug.print(*args, **kwargs))()
    assert info.match(message)


def test_what_was_printed_is_seen_before_an_error_leaves():
    program = """
        import os, sys, weft, weft.numpy as np
        def stop(x):
            os.write(2, b"the error comes\\n")
            raise RuntimeError
        @weft.jit
        def f(x):
            weft.debug.callback(lambda x: print("printed", x), x)
            weft.debug.print("printed too")
            weft.debug.callback(stop, x)
        try:
            f(1.0)
        except RuntimeError:
            os.write(1, b"left\\n")
        weft.debug.print("eager")
        os.write(1, b"end\\n")
        os._exit(0)  # nothing is flushed on the way out
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "printed 1.0\nprinted too\nleft\neager\nend\n", done.stderr


# --- callback ---


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_arguments_of_a_callback(wrap):
    seen = []

    def host(x, *rest, flag, **named):
        seen.append(
            (isinstance(x, weft.Array), rest[0], rest[1]["a"].tolist(), flag, named["name"])
        )
        return "ignored"

    f = wrap(lambda x: weft.debug.callback(host, x, "s", {"a": x * 2}, flag=None, name=str))
    assert f(np.arange(2.0)) is None
    assert seen == [(True, "s", [0.0, 2.0], None, str)]


def test_the_jaxpr_names_the_function():
    def tell(x):
        pass

    def f(x):
        weft.debug.callback(tell, x)
        weft.debug.print("x: {}", x)
        return x

    text = str(weft.make_jaxpr(f)(1.0))
    assert "\n    io_callback[function=tell] a\n" in text
    assert "\n    io_callback[function=print('x: {}')] a\n" in text


class Unlucky(Exception):
    pass


def unlucky(x):
    raise Unlucky(float(x))


def failing(x):
    weft.debug.callback(unlucky, x)
    return x


@pytest.mark.parametrize(
    "program",
    [
        lambda x: weft.debug.callback(unlucky, x),
        weft.jit(lambda x: weft.debug.callback(unlucky, x)),
        weft.jit(lambda x: lax.scan(lambda c, _: (failing(c), c), x, None, length=3)),
        lambda x: lax.cond(x > 0, failing, lambda x: x, x),
        weft.grad(weft.jit(failing)),
        lambda x: weft.jit(weft.vmap(failing))(np.array([x, 2.0])),
    ],
)  # fmt: skip
def test_an_exception_comes_out_as_it_is_and_later_calls_are_not_made(program):
    for _ in range(2):
        with pytest.raises(Unlucky, match=r"^1\.0$") as info:
            program(1.0)
        assert info.traceback[-1].name == "unlucky"
        assert any(str(entry.path) == __file__ for entry in info.traceback[:-1])


def test_nothing_is_done_after_an_exception():
    notes = Notes()

    @weft.jit
    def f(x):
        notes.note("before", x)
        weft.debug.callback(unlucky, x)
        notes.note("after", x)

    with pytest.raises(Unlucky):
        f(1.0)
    assert notes.taken() == [("before", 1.0)]


def test_keyboard_interrupt_leaves_cleanly():
    def interrupt(x):
        raise KeyboardInterrupt

    f = weft.jit(lambda x: weft.debug.callback(interrupt, x))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            f(1.0)
    assert weft.jit(lambda x: x + 1)(1.0) == 2


def test_from_two_threads():
    notes = [Notes(), Notes()]
    wrong = []

    def work(k):
        mine = notes[k]
        f = weft.jit(scanned(mine.note))
        expected = in_python(scanned, Notes(), float(k + 1))
        for _ in range(30):
            f(float(k + 1))
            got = mine.taken()
            if [n for n, _ in got] != [n for n, _ in expected]:
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_callback_may_compute_with_weft():
    """With a time limit: waiting for each other would be for ever."""
    program = """
        import os, sys
        os.sched_setaffinity(0, list(os.sched_getaffinity(0))[: int(sys.argv[1])])
        import threading, weft, weft.numpy as np
        big = np.ones((300, 300)) / 300
        @weft.jit
        def inner(x):
            weft.debug.print("inner {:.0f}", np.sum(x @ x))
            return x @ x
        def host(x):
            y = inner(x) @ x          # compiled and not, large enough for XLA's own threads
            assert abs(float(np.sum(weft.grad(lambda z: np.sum(z @ z))(y))) - 180000) < 10
        @weft.jit
        def outer(x):
            y = x @ x
            weft.debug.callback(host, y)
            return y @ y
        def work():
            for _ in range(3):
                outer(big @ big).block_until_ready()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """
    for cores in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), cores],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "inner 300\n" * 12


# --- effects in derivative rules ---


def test_a_tangent_is_shown_by_forward_mode(capsys):
    @weft.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def _(primals, tangents):
        weft.debug.print("{} {}", primals[0], tangents[0])
        return f(primals[0]), 2 * primals[0] * tangents[0]

    weft.jvp(f, (3.0,), (2.0,))
    weft.jit(lambda x: weft.jvp(weft.jit(f), (x,), (2.0,)))(3.0)
    assert capsys.readouterr().out == "3.0 2.0\n" * 2
    for g in (f, weft.jit(f)):
        for h in (weft.grad(g), weft.jit(weft.grad(g))):
            with pytest.raises(TypeError, match=r"(?s)print.*a tangent, which has no value.*jvp"):
                h(3.0)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])
def test_a_cotangent_is_shown_by_the_backward_rule(wrap, capsys):
    @weft.custom_vjp
    def f(x):
        return x * x

    def forward(x):
        weft.debug.print("forward {}", x)
        return x * x, x

    def backward(x, ct):
        weft.debug.print("backward {} {}", x, ct)
        return (2 * x * ct,)

    f.defvjp(forward, backward)
    expected = "forward 3.0\nbackward 3.0 5.0\n"
    weft.grad(lambda x: wrap(f)(x) * 5)(3.0)
    assert capsys.readouterr().out == expected
    weft.jit(weft.grad(lambda x: wrap(f)(x) * 5))(3.0)
    assert capsys.readouterr().out == expected
    weft.vmap(weft.grad(lambda x: wrap(f)(x) * 5))(np.array([3.0, 4.0]))
    assert capsys.readouterr().out == (
        "forward 3.0\nforward 4.0\nbackward 3.0 5.0\nbackward 4.0 5.0\n"
    )


# --- breakpoint ---

STOPPING = """
import weft, weft.numpy as np

def f(x):
    y = x + 1
    words = "not an array"
    weft.debug.breakpoint()
    z = y * 2
    return z

print("gives", TRANSFORM(f)(ARGUMENT))
"""


def debugged(transform, argument, commands, tmp_path):
    file = tmp_path / "stopping.py"
    file.write_text(STOPPING.replace("TRANSFORM", transform).replace("ARGUMENT", argument))
    return subprocess.run(
        [sys.executable, str(file)],
        input="".join(f"{c}\n" for c in commands),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},  # no .pdbrc
    )


@pytest.mark.parametrize(
    ("transform", "argument", "shown"),
    [
        ("", "np.arange(2.0)", "Array([1., 2.], dtype=float32)"),
        ("weft.jit", "np.arange(2.0)", "Array([1., 2.], dtype=float32)"),
        ("weft.grad", "3.0", "Traced<float32[]>with<primal=4.0>"),
    ],
)
def test_breakpoint(transform, argument, shown, tmp_path):
    done = debugged(transform, argument, ["p y", "p words", "l", "c"], tmp_path)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert "stopping.py(" in out.splitlines()[0]
    assert ")f()" in out.splitlines()[0]
    assert f"(Pdb) {shown}\n(Pdb) 'not an array'\n" in out
    assert "weft.debug.breakpoint()" in out
    assert "gives" in out


def test_breakpoint_stops_each_time_that_the_program_comes_to_it(tmp_path):
    commands = ["p y", "c", "p y", "c", "p y", "c"]
    done = debugged("(lambda f: weft.jit(weft.vmap(f)))", "np.arange(3.0)", commands, tmp_path)
    assert [line for line in done.stdout.splitlines() if "Array(" in line] == [
        f"(Pdb) Array({i}., dtype=float32)" for i in (1, 2, 3)
    ]
    assert "gives [2. 4. 6.]" in done.stdout


@pytest.mark.parametrize("transform", ["", "weft.jit"])
def test_quitting_the_debugger_ends_the_program(transform, tmp_path):
    done = debugged(transform, "np.arange(2.0)", ["q"], tmp_path)
    assert done.returncode == 1
    assert "BdbQuit" in done.stderr
    assert "gives" not in done.stdout


def test_breakpoint_in_this_process(monkeypatch, capsys):
    @weft.jit
    def f(x):
        table = {1: "keys", "of": "many kinds"}
        y = {"a": [x * 2]}
        weft.debug.breakpoint()
        return y["a"][0], len(table)

    monkeypatch.setattr(sys, "stdin", io.StringIO("p y['a'][0] + 1\np table\nc\n"))
    trace = sys.gettrace()
    assert f(3.0) == (6.0, 2)
    out = capsys.readouterr().out
    assert "Array(7., dtype=float32)" in out
    assert "many kinds" in out
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    with pytest.raises(bdb.BdbQuit):
        f(3.0)
    sys.settrace(trace)


def test_the_log_of_compilations_is_as_without_callbacks(caplog):
    with weft.log_compiles():
        f = weft.jit(lambda x: (weft.debug.print("{}", x), x)[1])
        f(1.0)
        f(2.0)
        f(np.ones(2))
    text = "\n".join(r.getMessage() for r in caplog.records)
    assert text.count("compiled <lambda>") == 2


def test_the_search_for_a_nan_does_nothing_again(capsys):
    @weft.jit
    def f(x):
        weft.debug.print("x {}", x)
        return np.log(x)

    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        f(-1.0)
    assert capsys.readouterr().out == "x -1.0\n"


PICTURES = {
    "rows and columns": ((4, 4), ("x", "y"), ["┌───────┬───────┐", "│ CPU 0 │ CPU 1 │",
        "├───────┼───────┤", "│ CPU 2 │ CPU 3 │", "└───────┴───────┘"]),
    "rows": ((2, 3), ("x",), ["┌─────────┐", "│ CPU 0,1 │", "├─────────┤", "│ CPU 2,3 │",
        "└─────────┘"]),
    "columns by both": ((3, 4), (None, ("y", "x")), [
        "┌───────┬───────┬───────┬───────┐", "│ CPU 0 │ CPU 2 │ CPU 1 │ CPU 3 │",
        "└───────┴───────┴───────┴───────┘"]),
    "one axis": ((4,), ("y",), ["┌─────────┬─────────┐", "│ CPU 0,2 │ CPU 1,3 │",
        "└─────────┴─────────┘"]),
    "repeated": ((4, 4), (), ["┌─────────────┐", "│ CPU 0,1,2,3 │", "└─────────────┘"]),
}  # fmt: skip


@pytest.mark.parametrize("case", PICTURES)
def test_pictures_of_shardings(case, capsys):
    shape, spec, lines = PICTURES[case]
    mesh = weft.make_mesh((2, 2), ("x", "y"), devices=weft.devices()[:4])
    sharding = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec(*spec))
    weft.debug.visualize_sharding(shape, sharding)
    drawn = capsys.readouterr().out
    assert drawn.splitlines() == lines
    weft.debug.visualize_array_sharding(weft.device_put(np.zeros(shape), sharding))
    assert capsys.readouterr().out == drawn


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_other_shapes_have_no_picture(shape):
    with pytest.raises(ValueError, match="one or two axes"):
        weft.debug.visualize_array_sharding(np.zeros(shape))


def test_a_traced_array_has_no_picture():
    with pytest.raises(TypeError, match=r"on devices; got float32\[3\]"):
        weft.jit(lambda x: weft.debug.visualize_array_sharding(x))(np.zeros(3))
