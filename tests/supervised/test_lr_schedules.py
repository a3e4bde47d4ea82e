"""Schedules: their formulas in float64 for many steps, un-jitted and compiled; refusals."""

import math

import numpy as onp
import pytest

import weft
from weft import optimizers
from weft.fastmath import numpy as jnp, use_backend
from weft.supervised import lr_schedules
from weft.supervised.lr_schedules import (
    _BodyAndTail,
    _CosineSawtoothTail,
    checked_rate,
    constant,
    exponential_decay,
    multifactor,
    piecewise_constant,
    warmup,
    warmup_and_cosine,
    warmup_and_polynomial_decay,
    warmup_and_rsqrt_decay,
)

FACTORS = {
    "constant": lambda o, step: o["constant"],
    "two_constants": lambda o, step: (
        o["constant"] if step < o["second_constant_step"] else o["second_constant"]
    ),
    "linear_warmup": lambda o, step: min(1.0, step / o["warmup_steps"]),
    "rsqrt_decay": lambda o, step: 1 / math.sqrt(max(step, o["warmup_steps"])),
    "rsqrt_normalized_decay": lambda o, step: (
        math.sqrt(o["warmup_steps"]) / math.sqrt(max(step, o["warmup_steps"]))
    ),
    "decay_every": lambda o, step: o["decay_factor"] ** (step // o["steps_per_decay"]),
    "cosine_decay": lambda o, step: (
        0.5
        * (1 + math.cos(math.pi * (max(0, (step - o["warmup_steps"]) / o["steps_per_cycle"]) % 1)))
    ),
}
DEFAULTS = {
    "constant": 0.1,
    "warmup_steps": 400,
    "decay_factor": 0.5,
    "steps_per_decay": 20000,
    "steps_per_cycle": 100000,
    "second_constant": 0.01,
    "second_constant_step": 10000,
    "minimum": 0,
}
SHORT = {
    "constant": 2.0,
    "warmup_steps": 8,
    "decay_factor": 0.7,
    "steps_per_decay": 16,
    "steps_per_cycle": 32,
    "second_constant": 0.5,
    "second_constant_step": 20,
}


def product(factors, **options):
    options = DEFAULTS | options

    def rate(step):
        names = [name.strip() for name in factors.split("*")]
        values = [FACTORS[name](options, step) for name in names]
        return max(math.prod(values), options["minimum"])

    return rate


def line_to(start, value, tail=lambda step: None):
    """A line from 0 to `value` at `start`, and a function after it."""

    def rate(step):
        if step < start:
            return step / start * value
        after = tail(step)
        return value if after is None else after

    return rate


def cosine(step, start, value, n, least):
    share = 0.5 * (1 + math.cos(math.pi * (((step - start) / n) % 1)))
    return least + (value - least) * share


ROWS = {
    "constant": (constant(0.3), line_to(1, 0.3)),
    "warmup": (warmup(9, 0.3), line_to(10, 0.3)),
    "whole numbers": (constant(2), line_to(1, 2)),
    "warmup of no steps": (warmup(0, 0.3), line_to(1, 0.3)),
    "rsqrt": (
        warmup_and_rsqrt_decay(9, 0.3),
        line_to(10, 0.3, lambda step: 0.3 * math.sqrt(10) / math.sqrt(step)),
    ),
    "cosine once": (
        warmup_and_cosine(9, 0.3, 64, 0.1),
        line_to(10, 0.3, lambda s: cosine(s, 10, 0.3, 64, 0.1) if s < 74 else 0.1),
    ),
    "cosine twice": (
        warmup_and_cosine(9, 0.3, 16, n_cycles=2),
        line_to(10, 0.3, lambda s: cosine(s, 10, 0.3, 16, 0) if s < 42 else 0.0),
    ),
    "cosine without end": (
        warmup_and_cosine(9, 0.3, 16, 0.1, n_cycles=None),
        line_to(10, 0.3, lambda s: cosine(s, 10, 0.3, 16, 0.1)),
    ),
    "line down": (
        warmup_and_polynomial_decay(9, 0.3, 50),
        line_to(10, 0.3, lambda s: 0.3 * (1 - min(s - 10, 50) / 50)),
    ),
    "polynomial": (
        warmup_and_polynomial_decay(9, 0.3, 50, 0.1, 2.5),
        line_to(10, 0.3, lambda s: 0.1 + 0.2 * (1 - min(s - 10, 50) / 50) ** 2.5),
    ),
    "exponential": (exponential_decay(0.3, 0.9, 7), lambda step: 0.3 * 0.9 ** (step / 7)),
    "pieces": (
        piecewise_constant([5, 50], [0.1, 0.5, 0.0]),
        lambda step: 0.1 if step < 5 else 0.5 if step < 50 else 0.0,
    ),
    "multifactor": (multifactor(), product("constant * linear_warmup * rsqrt_decay")),
    **{f"factor {name}": (multifactor(name, **SHORT), product(name, **SHORT)) for name in FACTORS},
    "a minimum": (
        multifactor("constant*decay_every * linear_warmup", **SHORT, minimum=0.3),
        product("constant * decay_every * linear_warmup", **SHORT, minimum=0.3),
    ),
}
STEPS = [*range(90), 399, 400, 401, 9999, 10000, 20000, 10**6]
every_row = pytest.mark.parametrize("row", ROWS)


@every_row
def test_python_steps_give_python_floats(row):
    schedule, expected = ROWS[row]
    for step in STEPS:
        rate = schedule(step)
        assert type(rate) is float
        assert rate == pytest.approx(expected(step), rel=1e-12, abs=1e-15), step


@every_row
def test_numpy_steps_are_as_python_steps(row):
    schedule, _ = ROWS[row]
    for step in (onp.int64(12), onp.float32(12), onp.array(12)):
        assert type(schedule(step)) is float
        assert schedule(step) == schedule(12)


@every_row
@pytest.mark.parametrize("compiled", [False, True])
def test_traced_steps_give_scalars(row, compiled):
    schedule, expected = ROWS[row]
    function = weft.jit(schedule) if compiled else schedule
    for step in STEPS[:: 1 if compiled else 7]:
        rate = function(jnp.array(step))
        assert (rate.shape, rate.dtype) == ((), "float32")
        assert float(rate) == pytest.approx(expected(step), rel=1e-6, abs=1e-9), step


@every_row
def test_many_steps_at_once(row):
    schedule, expected = ROWS[row]
    rates = weft.vmap(schedule)(jnp.arange(90))
    onp.testing.assert_allclose(rates, [expected(s) for s in range(90)], rtol=1e-6, atol=1e-9)
    with use_backend("numpy"):
        rates = schedule(onp.arange(90))
    onp.testing.assert_allclose(rates, [expected(s) for s in range(90)], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (constant(0.5), {0: 0.0, 1: 0.5, 10**6: 0.5}),
        (warmup(4, 1.0), {0: 0.0, 1: 0.2, 4: 0.8, 5: 1.0, 10**6: 1.0}),
        (warmup_and_rsqrt_decay(3, 1.0), {0: 0.0, 1: 0.25, 3: 0.75, 4: 1.0, 16: 0.5, 40000: 0.01}),
        (warmup_and_cosine(3, 1.0, 4), {0: 0.0, 3: 0.75, 4: 1.0, 6: 0.5, 8: 0.0, 9: 0.0}),
        (warmup_and_cosine(3, 1.0, 4, 0.5, None), {4: 1.0, 6: 0.75, 8: 1.0, 44: 1.0, 46: 0.75}),
        (warmup_and_polynomial_decay(0, 1.0, 4), {0: 0.0, 1: 1.0, 2: 0.75, 5: 0.0, 500: 0.0}),
        (multifactor("constant * decay_every", 8.0), {0: 8.0, 19999: 8.0, 20000: 4.0, 60000: 1.0}),
    ],
)
def test_values_by_hand(schedule, values):
    for step, value in values.items():
        assert schedule(step) == pytest.approx(value, abs=1e-15)
        assert float(weft.jit(schedule)(jnp.array(step))) == pytest.approx(value, abs=1e-7)


def test_borders_are_exact_under_jit():
    """Cycles and decays begin at their step, although 1 / 3 is rounded in float32."""
    cycles = weft.jit(warmup_and_cosine(0, 1.0, 3, n_cycles=None))
    decays = weft.jit(multifactor("decay_every", decay_factor=0.5, steps_per_decay=3))
    for k in range(1, 300):
        assert float(cycles(jnp.array(1 + 3 * k))) == 1.0
        if k < 100:
            assert float(decays(jnp.array(3 * k))) == 0.5**k
            assert float(decays(jnp.array(3 * k - 1))) == 0.5 ** (k - 1)


def test_a_schedule_inside_a_compiled_step():
    schedule, optimizer = warmup(9, 1.0), optimizers.SGD()
    slots, opt_params = optimizer.tree_init((jnp.zeros(1),))

    @weft.jit
    def step(t, tree):
        numbers = {**opt_params, "learning_rate": schedule(t)}
        return optimizer.tree_update(t, tree, tree, slots, numbers, store_slots=False)[0]

    assert float(step(5, (jnp.ones(1),))[0][0]) == 0.5


@pytest.mark.parametrize("warmup_steps", [0, 1])
@pytest.mark.parametrize("factor", ["linear_warmup", "rsqrt_decay", "rsqrt_normalized_decay"])
def test_no_warm_up_divides_by_nothing(factor, warmup_steps):
    schedule = multifactor(factor, warmup_steps=warmup_steps)
    assert schedule(4) == {"linear_warmup": 1.0}.get(factor, 0.5)
    assert math.isfinite(schedule(0))
    assert math.isfinite(float(weft.jit(schedule)(0)))


# --- building blocks ---


def test_a_body_without_a_tail():
    schedule = _BodyAndTail(2.0, body_start=4)
    assert [schedule.learning_rate(step) for step in (0, 1, 4, 400)] == [0.0, 0.5, 2.0, 2.0]


def test_a_body_between_its_start_and_its_tail():
    calls = []

    def tail(step, tail_start, body_value):
        calls.append(step)
        return body_value - (step - tail_start)

    schedule = _BodyAndTail(2.0, body_start=2, tail_start=5, tail_fn=tail)
    assert [schedule(step) for step in range(8)] == [0, 1, 2, 2, 2, 2, 1, 0]
    assert min(calls) == 5


def test_a_tail_from_the_beginning():
    tail = _CosineSawtoothTail(180, min_value=0.1)
    schedule = _BodyAndTail(0.3, tail_start=0, tail_fn=tail)
    values = [schedule(step) for step in (0, 45, 90, 180, 270)]
    assert values == pytest.approx([0.3, 0.2 + 0.1 * 0.5**0.5, 0.2, 0.3, 0.2])
    assert _CosineSawtoothTail(2)(1, 0, 1.0) == pytest.approx(0.5 + 0.5e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected body_start or tail_start; got neither"),
        ({"tail_start": 5}, "tail_start=5 needs tail_fn; got none"),
        ({"body_start": 1, "tail_start": 5}, "tail_start=5 needs tail_fn; got none"),
    ],
)
def test_incomplete_blocks_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        _BodyAndTail(1.0, **options)


# --- refusals ---


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: constant(-1.0), "constant: value must be at least 0"),
        (lambda: constant(math.nan), "constant: value must be"),
        (lambda: constant(math.inf), "constant: value must be finite"),
        (lambda: constant("0.1"), "constant: value must be a number"),
        (lambda: warmup(-1, 0.1), "warmup: n_warmup_steps must be at least 0"),
        (lambda: warmup(1.5, 0.1), "warmup: n_warmup_steps must be an int"),
        (lambda: warmup_and_rsqrt_decay(4, -1), "warmup_and_rsqrt_decay: max_value must be"),
        (lambda: warmup_and_cosine(4, 1.0, 0), "steps_per_cycle must be at least 1"),
        (lambda: warmup_and_cosine(4, 1.0, 1, n_cycles=0), "n_cycles must be at least 1"),
        (lambda: warmup_and_cosine(4, 1.0, 1, -1.0), "min_value must be at least 0"),
        (lambda: warmup_and_polynomial_decay(4, 1.0, 0), "n_decay_steps must be at least 1"),
        (lambda: warmup_and_polynomial_decay(4, 1.0, 1, 0, 0), "power must be greater than 0"),
        (lambda: exponential_decay(1.0, 0.0, 1), "decay_factor must be"),
        (lambda: exponential_decay(1.0, 1.1, 1), "decay_factor must be"),
        (lambda: piecewise_constant([2, 1], [1, 2, 3]), r"boundaries must increase; got \[2, 1\]"),
        (lambda: piecewise_constant([1], [1]), "2 values for 1 boundaries; got 1"),
        (lambda: piecewise_constant([1], [1, -1]), r"values\[1\] must be"),
        (lambda: piecewise_constant([0], [1, 1]), r"boundaries\[0\] must be"),
        (lambda: multifactor("constant * linear_warmpu"), "did you mean 'linear_warmup'"),
        (lambda: multifactor("nothing"), "factors must be among constant, .*; got 'nothing'\n  at"),
        (lambda: multifactor(""), "factors must be among"),
        (lambda: multifactor("constant * "), "got ''"),
        (lambda: multifactor(["constant"]), "factors must be a string"),
        (lambda: multifactor(steps_per_decay=0), "steps_per_decay must be greater than 0"),
        (lambda: multifactor(steps_per_cycle=0), "steps_per_cycle must be greater than 0"),
        (lambda: multifactor(warmup_steps=-1), "warmup_steps must be at least 0"),
        (lambda: multifactor(minimum=-1), "minimum must be at least 0"),
    ],
)
def test_wrong_options_are_refused_when_a_schedule_is_made(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        make()
    assert any("test_lr_schedules.py" in note for note in error.value.__notes__)


# --- checked_rate ---


@pytest.mark.parametrize(
    "schedule",
    [lambda step: step / 8, lambda step: jnp.array(step / 8), lambda step: onp.float32(step / 8)],
)
def test_a_checked_rate_is_a_float(schedule):
    assert checked_rate(schedule, 4) == 0.5
    assert type(checked_rate(schedule, 4)) is float
    assert checked_rate(schedule, 0) == 0.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.1, jnp.array(math.nan)])
def test_a_rate_that_no_step_can_take_is_refused(value):
    def broken(step):
        return value

    message = f"learning rate of step 12 must be finite and at least 0; broken returned {value}"
    with pytest.raises(ValueError, match=message):
        checked_rate(broken, 12)


@pytest.mark.parametrize("value", [None, "0.1", [0.1], {"learning_rate": 0.1}, jnp.ones(2)])
def test_a_rate_that_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="step 12 must be a number; <lambda> returned"):
        checked_rate(lambda step: value, 12)


def test_what_is_no_schedule_is_refused():
    with pytest.raises(TypeError, match=r"must be a function of the step; got 0\.1"):
        checked_rate(0.1, 12)


def test_schedules_name_themselves():
    assert repr(warmup(3, 0.1)) == "warmup(3, 0.1)"
    assert repr(multifactor("constant")) == "multifactor('constant')"
    shown = {repr(schedule).partition("(")[0] for schedule, _ in ROWS.values()}
    assert shown == set(lr_schedules.__all__) - {"checked_rate"}  # no schedule lacks a row
