"""Random typed programs: every transformation of them agrees with plain evaluation.

The programs are the same on every run; `--whole` makes all, `WEFT_GENERATED=20` twenty times as
many, and `--sample-seed=N` others. A failure prints the smallest program as Python text.
"""

import os
import random

import numpy as onp
import pytest
import sampling
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from typed_programs import program_of, simplest

import weft
import weft.numpy as np
from weft.core.jaxpr import run
from weft.core.trace import current

TIMES = float(os.environ.get("WEFT_GENERATED", 1 if sampling.whole else 0.12))

# How many programs each law is held against; each in parts, which may run at the same time.
COUNTS = {
    "values": (4, 90),
    "integers": (2, 120),
    "batches": (2, 200),
    "derivatives": (4, 100),
    "gradients": (2, 50),
    "second order": (2, 60),
    "narrow derivatives": (2, 220),
}


def test_there_are_enough_programs():
    assert sum(parts * count for parts, count in COUNTS.values()) >= 2000


def law(name, **options):
    """A test of a law, which is called with each program."""
    parts, count = COUNTS[name]
    count = int(count * TIMES)

    def decorate(check):
        @pytest.mark.parametrize("part", range(parts))
        def test(part):
            texts = set()

            @settings(
                max_examples=count,
                phases=[Phase.generate],
                deadline=None,
                database=None,
                print_blob=False,
                suppress_health_check=list(HealthCheck),
            )
            @seed(part + len(COUNTS) * 100 * sampling.seed)
            @given(st.integers(0, 2**40))
            def holds(number):
                program = program_of(number, **options)
                texts.add(program.text)
                hold(check, program)

            holds()
            assert len(texts) >= 0.95 * count

        return test

    return decorate


def hold(check, program):
    """Checks a program; an error shows the simplest one that fails."""

    def fails(program):
        try:
            check(program)
        except Exception:
            return True
        return False

    if fails(program):
        program = simplest(program, fails)
        try:
            check(program)
        except Exception as error:
            error.add_note(repr(program))
            raise


@pytest.fixture
def in_double_precision():
    with weft.enable_x64():
        yield


# --- comparing ---


def tolerance(value):
    return 1e-1 if value.coarse else 1e-3


def agree(got, expected, tolerances):
    """Equal to a tolerance relative to the largest element; exactly where the tolerance is 0."""
    for a, b, allowed in zip(got, expected, tolerances, strict=True):
        a, b = onp.asarray(a), onp.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if not allowed or a.dtype.kind not in "fcV":
            onp.testing.assert_array_equal(a, b)
            continue
        a, b = (x.astype(complex if x.dtype.kind == "c" else float) for x in (a, b))
        finite = onp.abs(b)[onp.isfinite(b)]
        scale = 1.0 + float(onp.max(finite, initial=0.0))
        onp.testing.assert_allclose(a, b, rtol=allowed, atol=allowed * scale)


def pairing(a, b):
    """The sum of products of two lists of arrays, in which the transpose is meant."""
    return sum(float(onp.real(onp.sum(onp.asarray(x) * onp.asarray(y))))
               for x, y in zip(a, b, strict=True))  # fmt: skip


def bounded(values):
    """Whether finite differences can tell anything."""
    return all(
        onp.all(onp.isfinite(v)) and onp.all(onp.abs(v) < 1e4) for v in map(onp.asarray, values)
    )


# --- values ---


@law("values")
def test_values_in_every_way(program):
    """Compiled, staged and run again, mapped over one, under checkpoint: all as evaluated."""
    f = program.function()
    x, _ = program.numbers()
    expected = f(*map(np.asarray, x))
    assert [(o.shape, o.dtype) for o in expected] == [
        (s.shape, s.dtype) for s in weft.eval_shape(f, *x)
    ]
    allowed = [tolerance(v) * (not v.exact) for v in program.outputs]
    agree(weft.jit(f)(*x), expected, allowed)
    jaxpr = weft.make_jaxpr(f)(*x)
    agree(run(jaxpr, list(map(np.asarray, x)), current.base), expected, allowed)
    agree(weft.checkpoint(f)(*x), expected, allowed)
    ones = weft.vmap(f)(*[v[None] for v in x])
    agree(ones, [onp.asarray(e)[None] for e in expected], allowed)


@law("integers", kinds=("i32", "b1"), longest=9)
def test_integers_bit_for_bit(program):
    f = program.function()
    many, _ = program.numbers(batch=(3,))
    rows = [f(*[np.asarray(a[k]) for a in many]) for k in range(3)]
    expected = [onp.stack(list(map(onp.asarray, column))) for column in zip(*rows, strict=True)]
    exactly = [0] * len(expected)
    agree(weft.vmap(f)(*many), expected, exactly)
    agree(weft.jit(weft.vmap(f))(*many), expected, exactly)


@law("batches")
def test_vmap_equals_a_loop(program):
    f = program.function()
    draw = random.Random(program.seed)
    mapped = [draw.random() < 0.7 for _ in program.inputs]
    mapped[draw.randrange(len(mapped))] = True
    many, _ = program.numbers(batch=(3,))
    args = [a if m else a[0] for a, m in zip(many, mapped, strict=True)]
    rows = [
        f(*[np.asarray(a[k] if m else a) for a, m in zip(args, mapped, strict=True)])
        for k in range(3)
    ]
    expected = [onp.stack(list(map(onp.asarray, column))) for column in zip(*rows, strict=True)]
    axes = [draw.randrange(a.ndim) if m else None for a, m in zip(args, mapped, strict=True)]
    moved = [a if k is None else onp.moveaxis(a, 0, k) for a, k in zip(args, axes, strict=True)]
    allowed = [tolerance(v) * (not v.exact) for v in program.outputs]
    agree(weft.vmap(f, tuple(axes))(*moved), expected, allowed)


# --- derivatives, in double precision ---


def chosen(f, args, places):
    """The function of the arguments at those places, and they."""

    def g(*some):
        full = list(map(np.asarray, args))
        for i, x in zip(places, some, strict=True):
            full[i] = x
        return [o for o in f(*full) if weft.dtypes.is_inexact(o.dtype)]

    return g, [args[i] for i in places]


def random_like(rng, x):
    v = rng.normal(size=x.shape)
    return (v + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else v).astype(x.dtype)


def slopes(f, x, v, step=1e-6):
    """The derivative of f at x along v by finite differences."""
    up = f(*[np.asarray(a + step * b) for a, b in zip(x, v, strict=True)])
    down = f(*[np.asarray(a - step * b) for a, b in zip(x, v, strict=True)])
    return [(onp.asarray(a) - onp.asarray(b)) / (2 * step) for a, b in zip(up, down, strict=True)]


@pytest.mark.usefixtures("in_double_precision")
@law("derivatives", need="f32")
def test_derivatives(program):
    """jvp is finite differences, linearize jvp, vjp the transpose; checkpoint changes nothing."""
    x, rng = program.numbers(wide=True)
    places = program.inexact()
    f, some = chosen(program.function(wide=True, forward=True), x, places)
    v = [random_like(rng, a) for a in some]
    y, t = weft.jvp(f, some, v)
    plain = f(*map(np.asarray, some))
    if not bounded([*y, *t]):
        return
    agree(y, plain, [1e-12] * len(y))
    if not program.stops:
        agree(t, slopes(f, some, v), [2e-5] * len(t))
    agree(weft.linearize(f, *some)[1](*v), t, [1e-12] * len(t))
    if program.loops:
        return
    g, _ = chosen(program.function(wide=True), x, places)
    ct = [np.asarray(random_like(rng, onp.asarray(a))) for a in y]
    _, pull = weft.vjp(g, *some)
    back = pull(ct)
    size = sum(float(onp.sum(onp.abs(onp.asarray(c) * b))) for c, b in zip(back, v, strict=True))
    assert abs(pairing(ct, t) - pairing(back, v)) <= 1e-10 * (1 + size)
    agree(pull(ct), back, [0] * len(back))  # a pullback can be used again
    again = weft.vjp(weft.checkpoint(g), *some)[1](ct)
    agree(again, back, [1e-11] * len(back))


def loss_of(f):
    """A smooth number of all inexact results."""
    zero = np.zeros(())
    return lambda *x: sum((np.sum(np.sin(np.real(o)) + np.cos(np.imag(o))) for o in f(*x)), zero)


@pytest.mark.usefixtures("in_double_precision")
@law("gradients", kinds=("f32", "bf16", "i32", "b1"), longest=5, need="f32")
def test_gradients_in_every_way(program):
    if program.loops:
        return
    x, _ = program.numbers(wide=True)
    f, some = chosen(program.function(wide=True), x, program.inexact())
    loss, nums = loss_of(f), tuple(range(len(some)))
    g = weft.grad(loss, nums)(*some)
    if not bounded(g):
        return
    close = [1e-11] * len(g)
    agree(weft.grad(weft.checkpoint(loss), nums)(*some), g, close)
    agree(weft.grad(weft.jit(loss), nums)(*some), g, close)
    agree(weft.jit(weft.grad(loss, nums))(*some), g, close)
    mapped = weft.vmap(weft.grad(loss, nums))(*[onp.stack([a, a * 0.5]) for a in some])
    agree([m[0] for m in mapped], g, close)


@pytest.mark.usefixtures("in_double_precision")
@law("second order", kinds=("f32", "i32", "b1"), longest=5, need="f32")
def test_second_order(program):
    if program.loops:
        return
    x, rng = program.numbers(wide=True)
    f, some = chosen(program.function(wide=True, forward=True), x, program.inexact())
    v = [random_like(rng, a) for a in some]
    loss, nums = loss_of(f), tuple(range(len(some)))
    gradient = weft.grad(loss, nums)
    forward = weft.jvp(gradient, some, v)[1]
    if not bounded(forward):
        return
    back = weft.grad(
        lambda *x: sum(np.sum(a * b) for a, b in zip(gradient(*x), v, strict=True)), nums
    )(*some)
    if not program.stops:  # then the Hessian is symmetric
        agree(back, forward, [1e-8] * len(back))
        agree(forward, slopes(gradient, some, v, 1e-5), [1e-4] * len(forward))
    compiled = weft.jit(lambda *x: weft.jvp(gradient, x, tuple(v))[1])(*some)
    agree(compiled, forward, [1e-9] * len(forward))


@law("narrow derivatives", longest=5, need="f32")
def test_narrow_derivatives_are_those_of_the_wide_program(program):
    """float32, bfloat16 and complex64: derivatives of their dtypes, near those in float64."""
    if program.loops:
        return
    places = program.inexact()
    x, rng = program.numbers()
    f, some = chosen(program.function(), x, places)
    y, pull = weft.vjp(f, *some)
    ct = [random_like(rng, onp.asarray(a)) for a in y]
    back = pull(list(map(np.asarray, ct)))
    assert [b.dtype for b in back] == [a.dtype for a in some]
    with weft.enable_x64():
        x, _ = program.numbers(wide=True)
        f, some = chosen(program.function(wide=True), x, places)
        y, pull = weft.vjp(f, *some)
        ct = [np.asarray(c.astype(onp.asarray(a).dtype)) for c, a in zip(ct, y, strict=True)]
        expected = pull(ct)
    if not bounded([*expected, *y]):
        return
    coarse = any(v.kind == "bf16" for v, _ in program.steps) or any(
        program.inputs[i].kind == "bf16" for i in places
    )
    for a, b in zip(back, expected, strict=True):
        a, b = (onp.asarray(v) for v in (a, b))
        a = a.astype(b.dtype)
        scale = 1.0 + float(onp.max(onp.abs(b), initial=0.0))
        allowed = (0.2 if coarse else 1e-3) * scale
        onp.testing.assert_allclose(a, b, rtol=0, atol=allowed)


def test_a_failure_shows_the_simplest_program():
    """Its text, with the types of all values; it can be run."""

    def check(program):
        assert "sort(" not in program.text

    shown = 0
    for number in range(200):
        program = program_of(number)
        if "sort(" in program.text:
            with pytest.raises(AssertionError) as info:
                hold(check, program)
            (text,) = info.value.__notes__
            assert text.startswith("\ndef program(x0")
            assert "    return x" in text
            lines = [line for line in text.splitlines() if " = " in line and "def" not in line]
            assert any("sort(" in line for line in lines)
            assert len(lines) <= len(program.steps)
            compile(text, "<shown>", "exec")
            shown += 1
    assert shown > 2
