"""debug_nans and debug_infs: which operation, on what, at which line, in which pass over it.

A line that makes the NaN is marked with `# <-`; the message must name it.
"""

import inspect
import os
import subprocess
import sys
import threading

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import io_callback
from weft.sharding import PartitionSpec as P

X = onp.array([1.0, 0.0, 2.0], onp.float32)
NEGATIVE = onp.array([3.0, -1.0, 2.0], onp.float32)


def marked(function):
    """`file.py:12, in name` of the line of a function that ends in `# <-`."""
    lines, first = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
    return f"test_debug_nans.py:{first + offset}, in "


def message(function, *args, **switches):
    """What the error of a call says."""
    with (
        weft.config.temporarily(**(switches or {"debug_nans": True})),
        pytest.raises(FloatingPointError) as caught,
    ):
        function(*args)
    text = str(caught.value)
    assert any(note.startswith("  at test_debug_nans.py:") for note in caught.value.__notes__)
    return text


def logarithm(x):
    y = x * 2.0
    z = np.log(y)  # <-
    return z + 1.0


def guarded_root(x):
    y = np.sqrt(x)  # <-
    return np.sum(np.where(x > 0, y, 0.0))


def step(carry, x):
    return carry - 1.0, np.log(carry) * x  # <-


def in_scan(start):
    return lax.scan(step, start, np.arange(5.0))


def in_scan_backwards(start):
    return lax.scan(step, start, np.arange(5.0), reverse=True)


def in_fori(x):
    def body(i, x):
        return np.log(x) - 1.0  # <-

    return lax.fori_loop(0, 4, body, x)


def in_while(x):
    def body(state):
        i, x = state
        return i + 1, np.log(x)  # <-

    return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]


def in_cond(x):
    def yes(x):
        return np.log(x)  # <-

    return lax.cond(x < 0, yes, lambda x: x, x)


def in_jit(x):
    @weft.jit
    def inner(x):
        return np.log(x)  # <-

    return inner(x) * 1.0


def in_checkpoint(x):
    @weft.checkpoint
    def block(x):
        return np.log(x) * x  # <-

    return block(x)


FORWARD = [
    (logarithm, NEGATIVE, "log", ""),
    (in_scan, 3.0, "log", "step 4 of scan"),
    (in_scan_backwards, 3.0, "log", "step 0 of scan"),
    (in_fori, 2.0, "log", "step 1 of"),
    (in_while, 2.0, "log", "step 2 of while_loop"),
    (in_cond, -1.0, "log", "branch 1 of cond"),
    (in_jit, -1.0, "log", ""),
    (in_checkpoint, -1.0, "log", ""),
]
WRAPPERS = {
    "eager": lambda f: f,
    "jit": weft.jit,
    "jit of jit": lambda f: weft.jit(lambda x: weft.jit(f)(x)),
    "vmap": lambda f: lambda x: weft.vmap(f)(np.asarray(x)[None]),
    "jit of vmap": lambda f: lambda x: weft.jit(weft.vmap(f))(np.asarray(x)[None]),
    "jvp": lambda f: lambda x: weft.jvp(f, (np.asarray(x),), (np.ones_like(np.asarray(x)),)),
    "vjp": lambda f: lambda x: weft.vjp(f, x),
    "jit of jvp": lambda f: weft.jit(lambda x: weft.jvp(f, (x,), (np.ones_like(x),))),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(
    ("function", "x", "operation", "inside"), FORWARD, ids=lambda f: getattr(f, "__name__", "")
)
def test_the_first_operation_is_named_with_its_line(function, x, operation, inside, wrapper):
    text = message(WRAPPERS[wrapper](function), x)
    assert text.startswith(f"{operation}: made a NaN; debug_nans is on\n")
    line = marked(step if function in (in_scan, in_scan_backwards) else function)
    assert f"in the forward pass of {line}" in text
    assert "input 0: float32[" in text
    # a mapped condition runs both branches, and a mapped loop may be another loop
    assert inside in text or "vmap" in wrapper


GRADIENTS = {
    "grad": weft.grad,
    "jit of grad": lambda f: weft.jit(weft.grad(f)),
    "grad of jit": lambda f: weft.grad(weft.jit(f)),
    "grad of checkpoint": lambda f: weft.grad(weft.checkpoint(f)),
    "jit of grad of checkpoint": lambda f: weft.jit(weft.grad(weft.checkpoint(f))),
    "pullback": lambda f: lambda x: weft.vjp(f, x)[1](1.0),
    "vmap of grad": lambda f: lambda x: weft.vmap(weft.grad(f))(x[None]),
    "grad in scan": lambda f: (
        lambda x: lax.scan(lambda c, y: (c, weft.grad(f)(y)), 0.0, np.asarray(x)[None])
    ),
}


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_the_backward_pass_is_told_from_the_forward_pass(gradient):
    text = message(GRADIENTS[gradient](guarded_root), X)
    assert f"mul in the backward pass of {marked(guarded_root)}" in text
    assert "for sqrt and its derivative" in text
    assert "is 0.0" in text
    assert "is inf" in text  # 0 · inf, where x is 0
    assert "fix:" in text


@pytest.mark.parametrize("wrapper", ["eager", "jit"])
def test_the_backward_rule_of_a_custom_vjp(wrapper):
    @weft.custom_vjp
    def f(x):
        return x * 2.0

    def backward(_, ct):
        zero = ct * 0.0
        return (zero / zero,)  # <-

    f.defvjp(lambda x: (f(x), x), backward)
    for gradient in (weft.grad(f), weft.grad(weft.jit(f)), weft.grad(lambda x: f(x) * 3.0)):
        text = message(weft.jit(gradient) if wrapper == "jit" else gradient, 1.0)
        assert f"div in the backward pass of {marked(backward)}backward" in text


def test_the_rule_of_a_custom_jvp():
    @weft.custom_jvp
    def f(x):
        return x * 2.0

    def rule(primals, tangents):
        zero = primals[0] - primals[0]
        return f(*primals), tangents[0] * (zero / zero)  # <-

    f.defjvp(rule)
    for g in (weft.grad(f), weft.jit(weft.grad(f)), lambda x: weft.jvp(f, (x,), (x,))):
        assert f"div in the forward pass of {marked(rule)}rule" in message(g, 1.0)


def test_values_are_summed_up():
    text = message(logarithm, NEGATIVE)
    assert "output: float32[3], 1 of 3 are nan, the others from 1.38629 to 1.79176" in text
    assert "the first at [1]" in text
    assert "input 0: float32[3], from -2 to 6; [1] is -2.0" in text


# --- what was bad before ---


def test_a_nan_that_came_in_is_called_by_its_path():
    f = weft.jit(lambda params, x: {"out": params["w"][0] * x, "n": x})
    text = message(f, {"w": [onp.array([1.0, onp.nan], onp.float32)]}, 2.0)
    assert "it came in with its argument params['w'][0]: float32[2], 1 of 2 are nan" in text


def test_a_constant_that_is_nan():
    c = np.array([1.0, onp.nan])
    assert "a constant that it closes over" in message(weft.jit(lambda x: x + c), 2.0)
    text = message(weft.jit(lambda x: x * onp.nan), 2.0)
    assert "it came in: input 1 already has it" in text
    assert "it came in: input 0 already has it" in message(lambda x: x + 1, np.array([onp.nan]))


def test_a_nan_that_is_thrown_away_does_no_harm_under_jit():
    f = weft.jit(lambda x: np.where(x > 0, np.log(x), 0.0))
    g = weft.jit(lambda x: np.where(x > 0, np.log(x), 0.0) / (x - x))  # the log isn't to blame
    with weft.debug_nans(True):
        assert f(NEGATIVE).tolist() == pytest.approx([onp.log(3), 0, onp.log(2)])
    assert message(g, -1.0).startswith("div: made a NaN")


def test_looking_at_nans_is_allowed():
    with weft.debug_nans(True):
        x = np.array([1.0, onp.nan])
        assert np.isnan(x).tolist() == [False, True]
        assert np.full(2, onp.nan).shape == (2,)  # a constant is only spread
        assert np.where(np.isnan(x), 0.0, x).tolist() == [1.0, 0.0]
        assert float(np.nansum(x)) == 1.0


def test_what_only_the_compiled_program_makes(monkeypatch):
    """Run operation by operation there is none: here, because that sees other values."""
    f = weft.jit(lambda x: {"y": x * 2.0})
    monkeypatch.setattr(
        "weft.interpreters.debugging.nonfinite.search", lambda jaxpr, args, steps: ([], None)
    )
    text = message(f, onp.float32(onp.nan))
    assert "gives a NaN in its result['y']" in text
    assert "run operation by operation it gives none: the compiled program made it" in text


# --- kinds of numbers, and of switches ---


def test_infinities():
    text = message(lambda x: np.asarray(x) / 0.0, X, debug_infs=True)
    assert text.startswith("div: made an infinity; debug_infs is on")
    assert "2 of 3 are inf" in text
    with weft.debug_infs(True):
        assert np.isnan(np.zeros(1) / np.zeros(1)).all()  # a NaN is no infinity
    with weft.debug_nans(True):
        assert np.isinf(np.ones(1) / 0.0).all()
    both = message(lambda x: np.asarray(x) / 0.0, X, debug_nans=True, debug_infs=True)
    assert "made a NaN and an infinity; debug_nans and debug_infs is on" in both


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64", "float8_e4m3fn"])
def test_every_inexact_dtype(dtype):
    x = np.zeros(2, dtype)
    for f in (np.divide, weft.jit(np.divide)):
        assert message(f, x, x).startswith("div: made a NaN")


def test_integers_have_none():
    with weft.debug_nans(True), weft.debug_infs(True):
        assert (np.arange(3) // 0).shape == (3,)
        assert weft.jit(lambda x: x << 31)(np.arange(3)).shape == (3,)


def test_off_it_is_as_ever():
    f = weft.jit(logarithm)
    assert onp.isnan(f(NEGATIVE)[1])
    message(f, NEGATIVE)
    with weft.debug_nans(False):
        assert onp.isnan(f(NEGATIVE)[1])
    assert onp.isnan(np.log(-1.0))
    assert weft.core.trace.current.trace is weft.core.trace.current.base


def test_inside_of_a_transformation():
    def f(x):
        with weft.debug_nans(True):
            return np.log(x)

    with pytest.raises(FloatingPointError, match="log: made a NaN"):
        weft.grad(f)(-1.0)
    assert onp.isnan(weft.grad(np.log)(onp.nan))
    assert onp.isnan(np.log(-1.0))


def test_the_global_switch_holds_in_every_thread():
    """Threads that are there already, and new ones; and it ends in all."""
    ready, turned, off = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def attempt():
        try:
            seen.append(bool(np.isnan(np.log(np.float32(-1.0)))))
        except FloatingPointError:
            seen.append("refused")

    def work():
        weft.grad(np.sin)(1.0)  # this thread has had a trace of its own
        attempt()
        ready.set()
        turned.wait(30)
        attempt()
        ready.set()
        off.wait(30)
        attempt()

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(30)
    ready.clear()
    try:
        weft.config.update("debug_nans", True)
        new = threading.Thread(target=attempt)
        new.start()
        new.join()
        turned.set()
        assert ready.wait(30)
    finally:
        weft.config.update("debug_nans", False)
        turned.set()
        off.set()
        thread.join()
    assert seen == [True, "refused", "refused", True]
    attempt()
    assert seen[-1] is True


def test_the_environment_turns_it_on():
    code = "import weft.numpy as np\ntry: np.log(-1.0)\nexcept FloatingPointError as e: print(e)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WEFT_DEBUG_NANS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "log: made a NaN" in run.stdout


def test_a_program_compiled_ahead_of_time_is_looked_at_too():
    with weft.debug_nans(True):
        compiled = weft.jit(logarithm).lower(NEGATIVE).compile()
    assert "log: made a NaN" in message(compiled, NEGATIVE)


# --- on many devices ---


@pytest.mark.devices(8)
@pytest.mark.parametrize("way", ["pmap", "shard_map", "jit of pmap", "grad of pmap"])
def test_the_line_within_a_map_over_devices(way):
    def f(x):
        y = lax.psum(x, "i") * 0 + x - 3
        return np.log(y) * 2  # <-

    mapped = weft.pmap(f, axis_name="i")
    ways = {
        "pmap": mapped,
        "shard_map": weft.shard_map(
            f, mesh=weft.make_mesh((8,), "i"), in_specs=P("i"), out_specs=P("i")
        ),
        "jit of pmap": weft.jit(mapped),
        "grad of pmap": weft.grad(lambda x: mapped(x).sum()),
    }
    text = message(ways[way], onp.arange(8.0))
    assert text.startswith("log: made a NaN")
    assert f"log in the forward pass of {marked(f)}" in text
    assert "] is -3.0, [1" in text


@pytest.mark.parametrize("transform", [weft.vmap, weft.jit, weft.grad], ids=["vmap", "jit", "grad"])
def test_turned_on_within_a_traced_function_it_holds_after_it(transform):
    def f(x):
        weft.config.update("debug_nans", True)
        return x * 2

    try:
        transform(f)(np.ones(3) if transform is weft.vmap else 1.0)
        with pytest.raises(FloatingPointError, match="log: made a NaN"):
            np.log(np.float32(-1))
    finally:
        weft.config.update("debug_nans", False)
    assert np.isnan(np.log(np.float32(-1)))


@pytest.mark.parametrize("wrap", [weft.jit, lambda f: lambda x: lax.cond(True, f, f, x)])
def test_of_several_operations_the_first_is_named(wrap):
    @wrap
    def f(x):
        root, y = np.sqrt(x), np.log(x)
        return y * 2 + root

    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="sqrt: made a NaN"):
        f(-1.0)


def test_effects_do_not_happen_again_in_the_search():
    seen = []

    @weft.jit
    def f(x):
        weft.debug.callback(lambda x: seen.append(float(x)), x)
        y = io_callback(lambda x: onp.float32(x), weft.ShapeDtypeStruct((), "float32"), x * 2)
        weft.debug.callback(lambda y: seen.append(float(y)), y)
        return np.log(x)

    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="log: made a NaN"):
        f(-1.0)
    assert sorted(seen) == [-2, -1]


def test_a_nan_that_came_in_is_counted_among_the_operands():
    """Of a choice the first operand is the index, which no branch has."""
    good, bad = onp.float32(1), onp.float32("nan")
    with weft.debug_nans(True):
        for number, args in ((1, (bad, good)), (2, (good, bad))):
            with pytest.raises(FloatingPointError, match=f"it came in with its input {number}:"):
                lax.cond(True, lambda x, y: (x * y, y), lambda x, y: (x, y), *args)


def test_numbers_written_in_a_program_are_not_counted_among_its_inputs():
    x, bad = onp.ones(2, onp.float32), onp.full(2, onp.nan, onp.float32)
    message = "it came in with one of its inputs: float32"
    with weft.debug_nans(True), pytest.raises(FloatingPointError, match=message):
        lax.cond(True, lambda x, y: x * y * 1.5, lambda x, y: x, x, bad)


def test_a_program_of_map_is_named_after_the_user_s_function():
    def half(row):
        return row * 0.5

    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="half: gives a NaN"):
        lax.map(half, onp.full(2, onp.nan, onp.float32))
