"""Tracing costs what there is to trace: sizes and work are counted, and grow linearly.

Counted are the equations of a program and of the programs inside, each once; equations made on the
way, kept or not; and programs traced. Nothing here measures time; `benchmarks/growth.py` does.
"""

import functools
import itertools
import re
from typing import NamedTuple

import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.jaxpr import Equation, subjaxprs
from weft.interpreters.stage import StageTrace


class Work(NamedTuple):
    """What tracing a function took."""

    size: int  # distinct equations of the program, with those inside
    equations: int  # made on the way
    traces: int  # programs begun


def size_of(jaxpr, seen=None):
    """Distinct equations: a program that is called twice is one."""
    seen = set() if seen is None else seen
    if id(jaxpr) in seen:
        return 0
    seen.add(id(jaxpr))
    return sum(
        1 + sum(size_of(inner, seen) for inner in subjaxprs(e.params)) for e in jaxpr.equations
    )


@pytest.fixture
def work(monkeypatch):
    """Traces a function, and gives the `Work` that it took."""
    made = {Equation: 0, StageTrace: 0}

    def counting(kind):
        original = kind.__init__

        def init(self, *args, **kwargs):
            made[kind] += 1
            original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "__init__", init)

    def measure(function, *args):
        before = dict(made)
        jaxpr = weft.make_jaxpr(function)(*args)
        return Work(
            size_of(jaxpr), made[Equation] - before[Equation], made[StageTrace] - before[StageTrace]
        )

    counting(Equation)
    counting(StageTrace)
    return measure


def assert_linear(measure, sizes, slack=12):
    """Of sizes n, 2n, 4n: going from the second to the third costs twice what the first step does.

    Each is measured after another one, so that what is derived of primitives has been.
    """
    measure(sizes[0])
    found = [measure(n) for n in sizes]
    for name, a, b, c in zip(Work._fields, *found, strict=True):
        assert c - b <= 2.1 * max(b - a, 0) + slack, (name, a, b, c)
    return found


def jvp(f):
    return lambda x: weft.jvp(f, (x,), (1.0,))[1]


def over_two(f):
    return lambda x: weft.vmap(f)(np.stack([x, x + 1.0]))


TRANSFORMS = {
    "none": lambda f: f,
    "jit": weft.jit,
    "grad": weft.grad,
    "jvp": jvp,
    "vmap": over_two,
    "grad grad": lambda f: weft.grad(weft.grad(f)),
    "grad jit": lambda f: weft.grad(weft.jit(f)),
    "grad grad jit": lambda f: weft.grad(weft.grad(weft.jit(f))),
    "vmap grad": lambda f: over_two(weft.grad(f)),
    "grad checkpoint": lambda f: weft.grad(weft.checkpoint(f)),
    "jvp grad": lambda f: jvp(weft.grad(f)),
}


def nested(wrap, depth):
    f = lambda x: np.sin(x) * x  # noqa: E731
    for _ in range(depth):
        f = wrap(f)
    return f


def jit_and_more(f):
    return weft.jit(lambda x: f(x) * 1.5 + 1.0)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_nested_jit(work, transform):
    """A depth of 40 is a depth of 10, four times."""
    of = TRANSFORMS[transform]
    assert_linear(lambda n: work(of(nested(jit_and_more, n)), 0.5), (10, 20, 40))


def custom_jvp(f):
    g = weft.custom_jvp(lambda x: f(x) * 1.5 + 1.0)
    g.defjvp(lambda p, t: weft.jvp(lambda x: f(x) * 1.5 + 1.0, p, t))
    return g


LEVELS = {
    "jit over a value from outside": lambda f: lambda x: weft.jit(lambda y: f(y) * x)(x + 1.0),
    "checkpoint": lambda f: weft.checkpoint(lambda x: f(x) * 1.5 + 1.0),
    "scan": lambda f: (
        lambda x: lax.scan(lambda c, s: (f(c) + s, None), x, np.ones(2))[0]
    ),
    "scan over slices": lambda f: (
        lambda x: np.sum(lax.scan(lambda c, s: (c, f(s)), 0.0, np.stack([x, x]))[1])
    ),
    "fori": lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x),
    "while": lambda f: (
        lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1]
    ),
    "cond": lambda f: lambda x: lax.cond(x > 0.0, f, lambda x: x, x),
    "vmap": lambda f: lambda x: np.sum(weft.vmap(f)(np.stack([x, x]))),
    "custom_jvp": custom_jvp,
}  # fmt: skip


@pytest.mark.parametrize("transform", ["none", "grad", "jvp", "vmap", "grad grad"])
@pytest.mark.parametrize("level", LEVELS)
def test_nested_levels(work, level, transform):
    if level == "while" and "grad" in transform:
        transform = "jvp"  # a loop of unknown length has no reverse mode
    of = TRANSFORMS[transform]
    assert_linear(lambda n: work(of(nested(LEVELS[level], n)), 0.5), (5, 10, 20), slack=60)


def test_both_branches_call_one_function(work):
    """Under vmap too, where all branches are done: the one function isn't copied 2ⁿ times."""

    def levels(depth):
        f = weft.jit(lambda x: np.sin(x) * x)
        for _ in range(depth):
            f = weft.jit(lambda x, f=f: lax.cond(x > 0.0, f, lambda x: f(x) * 2.0, x))
        return f

    for of in (TRANSFORMS["none"], TRANSFORMS["vmap"], TRANSFORMS["grad"]):
        assert_linear(lambda n, of=of: work(of(levels(n)), 0.5), (5, 10, 20), slack=60)


def chain(length):
    def f(x):
        for _ in range(length):
            x = np.sin(x) * 2.0
        return x

    return f


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_deep_chains(work, transform):
    of = TRANSFORMS[transform]
    assert_linear(lambda n: work(of(chain(n)), 0.5), (50, 100, 200))


def calls(function, count):
    def f(x):
        for _ in range(count):
            x = function(x)
        return x

    return f


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_one_function_called_a_thousand_times(work, transform):
    """The function is traced once, whatever is around it, and so is what is derived from it."""
    executions = []

    def body(x):
        executions.append(x)
        return np.sin(x) * 2.0

    of = TRANSFORMS[transform]
    f = weft.jit(body)
    counts = assert_linear(lambda n: work(of(calls(f, n)), 0.5), (250, 500, 1000))
    assert len(executions) == 1
    assert counts[2].traces <= counts[1].traces  # derived once, kept on the program


def functions_in(text):
    return re.findall(r"func\.func (?:public|private) @(\w+)", text)


def test_what_is_called_often_is_lowered_once():
    f = weft.jit(lambda x: np.sin(x) * 2.0)
    text = weft.jit(calls(f, 1000)).lower(0.5).as_text()
    assert text.count("stablehlo.sine") == 1
    assert text.count("func.call @") == 1000
    assert len(functions_in(text)) == 2

    text = weft.jit(weft.grad(calls(f, 300))).lower(0.5).as_text()
    assert text.count("stablehlo.cosine") == 1  # one for the forward pass, with its residuals
    assert text.count("stablehlo.sine") == 1
    assert len(functions_in(text)) == 3

    text = weft.jit(over_two(calls(f, 300))).lower(0.5).as_text()
    assert text.count("stablehlo.sine") == 1
    assert len(functions_in(text)) == 2


def test_nested_jit_is_lowered_once_for_each_level():
    sizes = []
    for depth in (10, 20, 40):
        text = weft.jit(nested(jit_and_more, depth)).lower(0.5).as_text()
        assert len(functions_in(text)) <= depth + 2
        sizes.append(len(text.splitlines()))
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_two_calls_at_each_level_are_no_tree():
    """Programs that call one another twice a level: 2ⁿ calls in the end, n functions.

    Of a gradient the functions are n too; it keeps 2ⁿ residuals, which is what there is to keep.
    """
    executions = []

    def levels(depth):
        def level(f, x):
            executions.append(f)
            return f(x) + f(x * 0.5)

        f = weft.jit(lambda x: np.sin(x) * x)
        for _ in range(depth):
            f = weft.jit(functools.partial(level, f))
        return f

    text = weft.jit(levels(20)).lower(0.5).as_text()
    assert len(executions) == 20
    assert len(functions_in(text)) <= 23
    executions.clear()
    f = levels(8)
    for g in (weft.grad(f), over_two(weft.grad(f)), weft.grad(over_two_and_sum(f))):
        assert size_of(weft.make_jaxpr(g)(0.5)) < 8 * 20
    assert len(executions) == 8


def over_two_and_sum(f):
    return lambda x: np.sum(over_two(f)(x))


def repeated(transform, count, f):
    for _ in range(count):
        f = transform(f)
    return f


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("product", lambda x: np.sin(x) * x),
        ("exponential", lambda x: np.exp(x * 0.5)),
        ("ratio", lambda x: x / (1.0 + x * x)),
    ],
)
def test_higher_derivatives_of_a_jitted_function_are_those_of_the_plain_one(work, name, f):
    """grad of grad of … of `jit(f)` has the equations of that of f, and some calls around. Without
    calls more of them are found to be equal: the fifth derivative of a ratio has 517, and 935."""
    for n in range(1, 6):
        plain = work(repeated(weft.grad, n, f), 0.5)
        jitted = work(repeated(weft.grad, n, weft.jit(f)), 0.5)
        assert jitted.size <= 1.9 * plain.size + 10, (n, plain, jitted)


def test_higher_derivatives_grow_as_the_mathematics_does(work):
    """The nth derivative of a product of n factors has a term more each time; that of exp has one.

    Each grad differentiates a forward and a backward pass: at most three times the program.
    """
    sizes = [work(repeated(weft.grad, n, lambda x: np.exp(x)), 0.5).size for n in range(1, 8)]
    assert all(b <= 2.5 * a + 4 for a, b in itertools.pairwise(sizes)), sizes
    sizes = [work(repeated(jvp, n, lambda x: np.exp(x)), 0.5).size for n in range(1, 8)]
    assert all(b <= 2.5 * a + 4 for a, b in itertools.pairwise(sizes)), sizes


def test_reverse_mode_of_a_sum_of_many_uses(work):
    """A value used n times has n cotangents, which are added once each."""

    def uses(count):
        return lambda x: sum(np.sin(x * float(k)) for k in range(1, count))

    for of in (weft.grad, lambda f: weft.grad(weft.grad(f))):
        assert_linear(lambda n, of=of: work(of(uses(n)), 0.5), (25, 50, 100))


def test_linearize_and_transpose_cost_what_grad_does(work):
    def through(f):
        def g(x):
            _, push = weft.linearize(f, x)
            return weft.linear_transpose(push, x)(1.0)[0]

        return g

    assert_linear(lambda n: work(through(chain(n)), 0.5), (50, 100, 200))


def test_the_counters_count(work):
    """The instrument itself, against a program counted by hand."""
    found = work(lambda x: np.sin(x) * 2.0 + weft.jit(lambda y: y * y)(x), 0.5)
    assert found == Work(size=5, equations=5, traces=2)
