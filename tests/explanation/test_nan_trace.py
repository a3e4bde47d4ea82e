"""nan_trace: the operation, the pass and the line of 40 programs, and rewritten lines that run."""

import numpy as onp
import pytest
from nan_programs import KNOWN, PROGRAMS, ROWS, SOUND, ZEROS, X, logarithm, norm_by_hand
from rewriting import marked, rewritten

import weft
import weft.numpy as np
from weft.debug import nan_trace


def name(case):
    return getattr(case, "function", case).__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_the_operation_the_pass_and_the_line(program):
    trace = nan_trace(program.function, *program.args)
    assert trace
    assert (trace.operation, trace.backward) == (program.operation, program.backward)
    assert (trace.line.file, trace.line.number) == ("nan_programs.py", marked(program.function))
    assert program.words in str(trace)
    assert not onp.isfinite(trace.output).all()
    assert trace.inputs


@pytest.mark.parametrize("case", KNOWN, ids=name)
def test_the_rewritten_line_removes_it_and_keeps_the_value(case):
    finding = nan_trace(case.function, *case.args).finding
    assert finding.kind == case.kind
    function = rewritten(case.function, finding)
    result = onp.asarray(function(*map(np.asarray, case.args)), onp.float64)
    with onp.errstate(all="ignore"):
        expected = case.value(*[onp.asarray(x, onp.float64) for x in case.args])
    onp.testing.assert_allclose(result, expected, rtol=2e-3, atol=2e-3)
    assert onp.isfinite(result).all()
    trace = nan_trace(function, *case.args)
    assert not trace or (trace.backward and case.forward_only)


@pytest.mark.parametrize(("function", "args"), SOUND, ids=lambda x: getattr(x, "__name__", ""))
def test_sound_programs_have_no_finding(function, args):
    trace = nan_trace(function, *args)
    assert not trace
    assert trace.finding is None
    assert "are finite" in str(trace)


# --- what comes in, arguments, refusals ---


def scaled(params, x, power=1):
    return params["w"] * x**power


def test_a_number_that_comes_in_with_an_argument():
    trace = nan_trace(scaled, {"w": onp.array([1.0, onp.nan])}, x=2.0)
    assert (trace.argument, trace.operation, trace.finding.kind) == (
        "params['w']",
        "",
        "bad argument",
    )
    assert "a NaN comes in with params['w']" in str(trace)
    onp.testing.assert_array_equal(trace.output, onp.float32([1, onp.nan]))
    assert trace.line.number == 0
    assert trace.finding.line.number == scaled.__code__.co_firstlineno


def test_a_keyword_is_named():
    assert nan_trace(scaled, {"w": 1.0}, x=onp.float32("inf")).argument == "x"


def test_a_constant():
    table = np.array([1.0, onp.inf])
    trace = nan_trace(lambda x: table + x, 1.0)
    assert (trace.argument, trace.finding.kind) == ("", "bad constant")
    assert "a constant of the function" in str(trace)


def test_an_infinity_that_comes_in_and_becomes_a_nan():
    trace = nan_trace(lambda x, y: x - y, onp.float32("inf"), onp.float32("inf"))
    assert (trace.operation, trace.argument) == ("sub", "")


def test_a_nan_of_the_compiled_program_only():
    values = [onp.nan, 1.0]

    def read():
        return onp.float32(values.pop(0) if len(values) > 1 else values[0])

    @weft.jit
    def f(x):
        return x + weft.pure_callback(read, weft.ShapeDtypeStruct((), "float32"))

    trace = nan_trace(lambda x: f(x), 1.0)
    assert trace
    assert (trace.operation, trace.finding.kind) == ("", "compiled program only")
    assert "one by one do not" in str(trace)


def test_integers_and_texts_are_constants():
    def f(n, name, x):
        assert (n, name) == (3, "log")
        return np.log(x) if name == "log" else x

    assert nan_trace(f, 3, "log", X).operation == "log"
    jitted = weft.jit(f, static_argnums=(0, 1))
    assert nan_trace(jitted, 3, "log", X).operation == "log"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: f,
        weft.jit,
        weft.checkpoint,
        lambda f: weft.vmap(f, in_axes=0),
        lambda f: weft.jit(weft.vmap(f)),
        lambda f: lambda x: weft.lax.map(f, x),
    ],
)
def test_wrapped_functions_have_the_same_line(wrap):
    trace = nan_trace(wrap(logarithm), X)
    assert (trace.operation, trace.backward) == ("log", False)
    assert trace.line.number == marked(logarithm)


def distance(x):
    return norm_by_hand(x, x)


@pytest.mark.parametrize(
    "wrap",
    [
        weft.grad,
        weft.value_and_grad,
        weft.jacrev,
        lambda f: weft.jit(weft.grad(f)),
        lambda f: lambda x: weft.vjp(f, x)[1](1.0),
        lambda f: weft.grad(weft.jit(f)),
    ],
)
def test_derivatives_name_the_backward_pass(wrap):
    trace = nan_trace(wrap(distance), ZEROS)
    assert (trace.operation, trace.backward) == ("div", True)
    assert trace.line.number == marked(norm_by_hand)
    assert not trace.searched_backward
    assert nan_trace(distance, ZEROS).searched_backward


def test_a_function_without_a_derivative_has_a_forward_search_only():
    def f(x):
        return weft.lax.while_loop(lambda y: y < 10.0, lambda y: 2.0 * y, x)

    trace = nan_trace(f, 1.0)
    assert not trace
    assert not trace.searched_backward
    assert str(trace) == "f: all results are finite"


def test_text():
    lines = str(nan_trace(logarithm, X)).splitlines()
    assert lines[0] == "logarithm: log made an infinity"
    assert lines[-2:] == [
        "    - return np.log(y) + 1.0",
        "    + return np.log(np.maximum(y, 1e-30)) + 1.0",
    ]
    assert any("input 0: float32[3], from 0 to 8; [1] is 0.0" in line for line in lines)


def test_names_are_not_seen_through_if_they_are_bound_again():
    def f(x):
        e = np.exp(x)
        x = x * 2.0
        return np.log(np.sum(e)) + 0.0 * x

    finding = nan_trace(f, ROWS * 100).finding
    assert "logsumexp" not in finding.after  # the x in e is another one


def test_names_are_not_seen_through_two_steps_if_they_are_bound_again():
    def f(x):
        e = np.exp(x)
        total = np.sum(e)
        x = x * 2.0
        return np.log(total) + 0.0 * x

    assert "logsumexp" not in nan_trace(f, ROWS * 100).finding.after


def test_a_lambda_of_the_same_name_is_not_seen_through():
    def f(x):
        y = np.exp(x)
        return weft.vmap(lambda y: np.log(np.sum(y)))(y)

    assert "logsumexp" not in nan_trace(f, ROWS * 100).finding.after


def test_a_program_without_source_has_no_line_to_change():
    names = {"np": np}
    exec("def f(x):\n    return np.log(x)\n", names)
    finding = nan_trace(names["f"], 0.0).finding
    assert (finding.before, finding.after) == ("", "")
    assert "keep the argument positive" in finding.advice


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nan_trace(3.0), "nan_trace: expected a function; got float 3.0"),
        (
            lambda: weft.jit(lambda x: nan_trace(logarithm, x))(X),
            r"nan_trace: the argument x must be an array with elements; got Traced<float32\[3\]>",
        ),
        (
            lambda: nan_trace(logarithm, weft.ShapeDtypeStruct((3,), "float32")),
            "nan_trace: the argument x must be an array with elements; got ShapeDtypeStruct",
        ),
        (lambda: nan_trace(lambda x: x if x > 0 else -x, 1.0), "traced by nan_trace"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(TypeError, match=message):
        call()
