"""precision_trace: lines that lose digits, overflow or vanish, and the rewritten lines."""

from typing import Any, NamedTuple

import numpy as onp
import pytest
import scipy.special
from rewriting import marked, rewritten

import weft
import weft.numpy as np
from weft import lax, nn, random
from weft.debug import precision_trace
from weft.explanation.located_call import LocatedCall
from weft.explanation.two_precisions import Pair, TwoRuns, high_value
from weft.scipy.special import erf

RNG = onp.random.default_rng(0)
SAMPLE = RNG.normal(1000, 0.1, 100).astype("float32")
MATRIX = RNG.normal(size=(20, 8)).astype("float32")


class Program(NamedTuple):
    """A program that loses digits at its marked line, and its value by NumPy in float64."""

    function: Any
    args: tuple[Any, ...]
    kind: str
    operation: str
    value: Any = None  # None if there is no rewritten line


def growth(x):
    return np.exp(x) - 1.0  # <-


def decay(x):
    rate = np.exp(-x)
    return 1 - rate  # <-


def small_logarithm(x):
    y = 1.0 + x
    return np.log(y)  # <-


def complement(x):
    return np.log(1.0 - x)  # <-


def cosine(x):
    return 1.0 - np.cos(x)  # <-


def tail(x):
    return 1 - nn.sigmoid(x)  # <-


def slope(x):
    return 1 - np.tanh(x) ** 2  # <-


def error_function(x):
    return 1 - erf(x)  # <-


def moments(x):
    mean = np.mean(x)
    return np.mean(x * x) - mean**2  # <-


def roots(x):
    return np.sqrt(x + 1.0) - np.sqrt(x)  # <-


def squares(x, y):
    return x**2 - y**2  # <-


def logarithms(x, y):
    return np.log(x) - np.log(y)  # <-


def reciprocals(x, y):
    return 1 / x - 1 / y  # <-


def softplus(x):
    return np.log(1 + np.exp(x))  # <-


def hypotenuse(x, y):
    return np.sqrt(x**2 + y**2)  # <-


def half_squares(x):
    return np.sum(x * x)  # <-


def likelihood(p):
    product = np.prod(p)  # <-
    return np.log(product)


def partition(x):
    e = np.exp(x)  # <-
    return np.log(np.sum(e))


def in_a_loop(x):
    return lax.fori_loop(0, 3, lambda i, c: c + (np.exp(x) - 1.0), 0.0)  # <-


def in_a_branch(x):
    return lax.cond(x > 0, lambda x: np.exp(x) - 1.0, lambda x: x, x)  # <-


def running_sum(x):
    def step(total, x):
        return total + x, None  # <-

    return lax.scan(step, np.bfloat16(0), x)[0]


def vanishing_gradient(x):
    return np.sum(x * np.float16(1e-5)) * np.float16(1e-4)  # <-


PROGRAMS = [
    Program(growth, (1e-6,), "loss of digits", "sub", onp.expm1),
    Program(decay, (1e-6,), "loss of digits", "sub", lambda x: -onp.expm1(-x)),
    Program(small_logarithm, (1e-6,), "loss of digits", "log", onp.log1p),
    Program(complement, (1e-6,), "loss of digits", "log", lambda x: onp.log1p(-x)),
    Program(cosine, (1e-3,), "loss of digits", "sub", lambda x: 2 * onp.sin(x / 2) ** 2),
    Program(tail, (14.0,), "loss of digits", "sub", lambda x: scipy.special.expit(-x)),
    Program(slope, (7.5,), "loss of digits", "sub", lambda x: onp.cosh(x) ** -2.0),
    Program(error_function, (3.5,), "loss of digits", "sub", scipy.special.erfc),
    Program(moments, (SAMPLE,), "loss of digits", "sub", onp.var),
    Program(roots, (1e6,), "loss of digits", "sub", lambda x: onp.sqrt(x + 1) - onp.sqrt(x)),
    Program(squares, (10 * SAMPLE + 0.1, 10 * SAMPLE), "loss of digits", "sub",
            lambda x, y: (x - y) * (x + y)),
    Program(logarithms, (onp.float32(1000.01), 1000.0), "loss of digits", "sub",
            lambda x, y: onp.log(x) - onp.log(y)),
    Program(reciprocals, (onp.float32(3.00001), 3.0), "loss of digits", "sub",
            lambda x, y: 1 / x - 1 / y),
    Program(softplus, (-14.0,), "loss of digits", "log", lambda x: onp.log1p(onp.exp(x))),
    Program(hypotenuse, (3e25, 4e25), "overflow", "square", onp.hypot),
    Program(half_squares, (onp.full(8, 300, onp.float16),), "overflow", "mul",
            lambda x: onp.sum(x * x)),
    Program(likelihood, (onp.full(100, 0.1, onp.float32),), "underflow", "reduce_prod",
            lambda p: onp.sum(onp.log(p))),
    Program(partition, (onp.float32([200, 100]),), "overflow", "exp", scipy.special.logsumexp),
    Program(in_a_loop, (1e-6,), "loss of digits", "sub", lambda x: 3 * onp.expm1(x)),
    Program(in_a_branch, (1e-6,), "loss of digits", "sub", onp.expm1),
    Program(running_sum, (onp.ones(1000, "bfloat16"),), "loss of digits", "add"),
    Program(vanishing_gradient, (onp.full(3, 1e-2, onp.float16),), "underflow", "mul"),
]  # fmt: skip


def name(program):
    return program.function.__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_the_line_and_the_kind(program):
    trace = precision_trace(program.function, *program.args)
    assert trace
    loss = trace.losses[0]
    assert (loss.kind, loss.operation) == (program.kind, program.operation)
    assert (loss.line.file, loss.line.number) == (
        "test_precision_trace.py",
        marked(program.function),
    )
    assert str(loss.line) in str(trace)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.value], ids=name)
def test_the_rewritten_line_has_the_digits(program):
    finding = precision_trace(program.function, *program.args).findings[0]
    function = rewritten(program.function, finding)
    values = [*map(np.asarray, program.args)]
    expected = program.value(*[onp.asarray(x, onp.float64) for x in values])
    onp.testing.assert_allclose(
        function(*values), expected, rtol=2e-3 if "half" in name(program) else 2e-5
    )
    assert not precision_trace(function, *program.args)


@pytest.mark.parametrize("x", [1e-3, 1e-5])
def test_the_digits_are_those_of_numpy(x):
    low = onp.log(onp.float32(1) + onp.float32(x))
    high = onp.log1p(onp.float64(onp.float32(x)))
    trace = precision_trace(small_logarithm, onp.float32(x))
    (digits,) = trace.digits
    assert digits == pytest.approx(-onp.log10(abs(low - high) / high), abs=0.05)
    if trace:
        (loss,) = trace.losses
        assert loss.value == pytest.approx(low)
        assert loss.exact == pytest.approx(high)


# --- what is not reported ---


def harmless(x):
    return np.log(1.0 + x) + 100.0


def discarded(x):
    return np.where(x > 1.0, np.exp(x) - 1.0, x)


def large_and_discarded(x):
    return 1.0 / (1.0 + np.exp(x))


def regression(w, x):
    return np.mean((x @ w - 1.0) ** 2)


def normalized(x):
    return nn.log_softmax(x) + nn.standardize(x)


def in_float16(x):
    return np.mean(x.astype(np.float16) ** 2)


def noise(key):
    return random.normal(key, (8,))


@weft.custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, None), lambda _, ct: (2.0 * ct,))

SOUND = [
    (harmless, (1e-6,)),
    (discarded, (1e-6,)),
    (large_and_discarded, (onp.float32([100, 0]),)),
    (regression, (MATRIX[0], MATRIX)),
    (weft.jit(weft.grad(regression)), (MATRIX[0], MATRIX)),
    (normalized, (MATRIX,)),
    (in_float16, (MATRIX,)),
    (noise, (random.key(0),)),
    (weft.grad(lambda x: np.sum(doubled(np.sin(x)))), (SAMPLE,)),
    (weft.vmap(lambda x: lax.cond(x[0] > 0, np.sin, np.cos, x)), (MATRIX,)),
    (lambda x: lax.while_loop(lambda c: c < 100.0, lambda c: 1.1 * c, x), (1.0,)),
    (lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x, reverse=True), (SAMPLE,)),
    (lambda x: np.linalg.solve(x[:8] + 5 * np.eye(8), x[0]), (MATRIX,)),
    (lambda x: np.sort(x)[np.argsort(x)] + np.floor(x), (SAMPLE,)),
    (lambda x: (np.sum(x - np.mean(x)), np.sum(x)), (SAMPLE,)),  # 0 but for rounding, beside 1e5
    (lambda x: lax.reduce_precision(x, 5, 10), (SAMPLE,)),
    (lambda x: np.floor(10 * x), (0.7,)),  # 7 in float32, and 6 in float64
    (lambda n: n // 2, (onp.arange(3),)),
    (lambda x: np.fft.fft(x), (SAMPLE,)),
]


@pytest.mark.parametrize(("function", "args"), SOUND)
def test_sound_programs_have_no_finding(function, args):
    trace = precision_trace(function, *args)
    assert not trace.losses, str(trace)
    assert "correct digits" in str(trace)


def test_the_run_is_in_step_and_leaves_the_switches():
    """A comparison that differs in float64 does not change the branch."""

    def f(x):
        y = (x + 1e8) - 1e8  # 0 in float32
        return np.where(y == 0, x, 2.0 * x)

    before = weft.config.enable_x64
    trace = precision_trace(f, 1.0)
    assert not trace
    assert weft.config.enable_x64 == before


def loops(x):
    def step(carry, x):
        return carry * 0.5 + x, np.sin(carry)

    forward = lax.scan(step, 0.0, x)
    back = lax.scan(step, 0.0, x, reverse=True)
    rounds = lax.while_loop(lambda c: c < 100.0, lambda c: 1.5 * c + 1.0, x[0])
    branch = lax.cond(rounds > 0, np.exp, np.cos, x / 1000.0)
    return forward, back, rounds, branch, weft.jit(np.tanh)(x), lax.map(np.sqrt, x[:0])


def test_both_runs_give_the_results_of_the_function():
    call = LocatedCall("test", loops, (SAMPLE[:5],), {})
    with weft.enable_x64(True):
        pairs = [Pair(x, high_value(x)) for x in call.values]
        results = TwoRuns(lambda applied: applied.out).run(call.jaxpr, pairs)
        high = weft.tree_util.tree_leaves(loops(np.asarray(SAMPLE[:5].astype("float64"))))
    low = weft.tree_util.tree_leaves(loops(np.asarray(SAMPLE[:5])))
    for pair, a, b in zip(results, low, high, strict=True):
        assert (pair.low.dtype, pair.high.dtype) == ("float32", "float64")
        onp.testing.assert_allclose(pair.low, a, rtol=1e-6)
        onp.testing.assert_allclose(pair.high, b, rtol=1e-7)


def test_a_few_elements_without_digits_beside_large_ones_are_reported():
    x = onp.float32([1e-6, 1e-6, 1.0, 1.0])
    assert [loss.operation for loss in precision_trace(small_logarithm, x).losses] == ["log"]


def test_loops_and_branches_are_named():
    assert precision_trace(in_a_loop, 1e-6).losses[0].inside == ("step 0 of scan",)
    assert precision_trace(in_a_branch, 1e-6).losses[0].inside == ("branch 1 of cond",)


def test_a_derivative_names_the_backward_pass():
    def f(x):
        return x * np.sqrt(1.0 + x) - x * np.sqrt(x)

    trace = precision_trace(weft.grad(f), 1e6)
    assert trace.losses[0].operation == "add"
    assert "a sum of derivatives loses 6 digits" in str(trace)


def test_refusals():
    with pytest.raises(TypeError, match="precision_trace: expected a function; got int 3"):
        precision_trace(3)
