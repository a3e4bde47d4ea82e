"""Memory is flat: what is called, traced, differentiated, compiled again and again leaves nothing.

Counted are the objects that the garbage collector knows, by type, before and after. Resident bytes
are measured by `benchmarks/endurance.py`.
"""

import collections
import functools
import gc
import pickle
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.jaxpr import Jaxpr
from weft.runtime.executable import Executable
from weft.transforms.jit.dispatch import MAX_SIGNATURES

pytestmark = pytest.mark.usefixtures("what_was_there_uncounted")

X = onp.linspace(0.1, 1.0, 3, dtype=onp.float32)


def objects():
    gc.collect()
    return collections.Counter(type(o).__name__ for o in gc.get_objects())


def growth(work, rounds):
    """What there is more of after `rounds` than before, by type, if it is not just a few.

    Counted twice: modules that are imported, and caches that fill, grow once.
    """
    for _ in range(50):
        work()
    few = max(3, rounds // 20)
    growing = None
    before = objects()
    for _ in range(2):
        for _ in range(rounds):
            work()
        after = objects()
        grown = {name: n - before[name] for name, n in after.items() if n - before[name] > few}
        growing = grown if growing is None else {n: grown[n] for n in growing if n in grown}
        if not growing:
            break
        before = after
    return growing


def executables():
    gc.collect()
    return sum(type(o) is Executable for o in gc.get_objects())


# --- again and again ---


def test_calls_of_a_jitted_function():
    f, x = weft.jit(lambda x: np.sin(x) * 2.0), np.asarray(X)
    assert growth(lambda: f(x), 5000) == {}
    assert growth(lambda: f(X), 1000) == {}
    tree = {"a": x, "b": [x, 1.0]}
    g = weft.jit(lambda t: {"c": t["a"] * t["b"][1]})
    assert growth(lambda: g(tree), 3000) == {}


def custom_jvp():
    f = weft.custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda p, t: (f(p[0]), np.cos(p[0]) * t[0]))
    return f


def custom_vjp():
    f = weft.custom_vjp(lambda x: np.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (np.cos(x) * ct,))
    return f


def rule_that_refers_to_its_function():
    """The program of `f` holds the rule, which holds `f`."""
    h = weft.custom_jvp(lambda x: np.sin(x))
    h.defjvp(lambda p, t: (f(p[0]), np.cos(p[0]) * t[0]))
    f = weft.jit(lambda x: h(x))
    f.trace(X)


def gradient(f):
    weft.grad(lambda x: np.sum(f(x)))(X)


def traced_gradient(f):
    weft.make_jaxpr(weft.grad(weft.jit(lambda x: np.sum(f(x)))))(X)


def an_error():
    with pytest.raises(ZeroDivisionError):
        weft.jit(lambda x: 1 / 0)(X)


RETRACES = {
    "make_jaxpr": lambda: weft.make_jaxpr(lambda x: np.sin(x) * 2.0)(X),
    "eval_shape": lambda: weft.eval_shape(lambda x: np.sin(x) * 2.0, X),
    "jit": lambda: weft.jit(lambda x: np.sin(x) * 2.0).trace(X),
    "jit over a traced value": lambda: weft.make_jaxpr(
        lambda x: weft.jit(lambda y: np.sin(y) * x)(x)
    )(X),
    "grad of jit": lambda: weft.make_jaxpr(
        weft.grad(weft.jit(lambda x: np.sum(np.sin(x) * 2.0)))
    )(X),
    "custom_jvp": lambda: traced_gradient(custom_jvp()),
    "custom_vjp": lambda: traced_gradient(custom_vjp()),
    "rule that refers to its function": rule_that_refers_to_its_function,
    "scan": lambda: weft.make_jaxpr(
        lambda x: lax.scan(lambda c, s: (c * 2.0 + s, np.sin(c)), 0.0, x)
    )(X),
    "an error": an_error,
}  # fmt: skip


@pytest.mark.parametrize("name", RETRACES)
def test_retraces_of_fresh_functions(name):
    rounds = 1000 if name == "make_jaxpr" else 120
    assert growth(RETRACES[name], rounds) == {}


GRADIENTS = {
    "grad": lambda: weft.grad(lambda x: np.sum(np.sin(x) * 2.0))(X),
    "vjp": lambda: weft.vjp(lambda x: np.sin(x) * 2.0, X)[1](X),
    "linearize": lambda: weft.linearize(lambda x: np.sin(x) * 2.0, X)[1](X),
    "vmap of grad of grad": lambda: weft.vmap(weft.grad(weft.grad(lambda x: np.sin(x) * x)))(X),
    "hessian": lambda: weft.hessian(lambda x: np.sum(np.sin(x) * x))(X),
    "custom_jvp": lambda: gradient(custom_jvp()),
    "custom_vjp": lambda: gradient(custom_vjp()),
    "checkpoint": lambda: weft.grad(weft.checkpoint(lambda x: np.sum(np.sin(x))))(X),
    "scan": lambda: weft.grad(
        lambda x: lax.scan(lambda c, s: (c * 2.0 + np.sin(s), None), 0.0, x)[0]
    )(X),
    "cond": lambda: weft.grad(lambda x: lax.cond(x > 0.0, np.sin, np.cos, x))(0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_without_jit(name):
    assert growth(GRADIENTS[name], 500 if name == "grad" else 100) == {}


def test_precision_blocks_and_device_puts():
    def work():
        with weft.enable_x64():
            np.sin(np.asarray(X)) + 1
        weft.device_put(X)

    assert growth(work, 200) == {}


# --- compiled programs ---


def test_compiled_programs_of_dead_functions_are_freed():
    def compile_some(count):
        for i in range(count):
            f = weft.jit(lambda x, i=i: np.sin(x) * float(i))
            f(X)
            weft.grad(lambda x, f=f: np.sum(f(x)))(X)

    compile_some(2)
    before = executables()
    compile_some(20)
    assert executables() - before <= 2


def test_compiled_programs_are_freed_with_what_they_refer_to():
    """A function, what it closes over, its rules, and an array of them: all die."""
    references = []
    before = executables()
    for i in range(5):
        f = custom_jvp()
        w = np.full(1000, float(i))
        g = weft.jit(lambda x, f=f, w=w: np.sum(f(x)) + np.sum(w))
        weft.grad(g)(X)
        weft.jit(weft.vmap(g))(X[None])
        references += [weakref.ref(o) for o in (f, f.fun, w, g, g.__wrapped__)]
    del f, g, w
    gc.collect()
    assert [r() for r in references] == [None] * len(references)
    assert executables() <= before + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda w: weft.jit(lambda x: x * w),
        lambda w: weft.jit(weft.grad(lambda x: np.sum(x * w))),
        lambda w: weft.vmap(weft.jit(lambda x: x * w[0])),
        lambda w: weft.jit(lambda x: lax.scan(lambda s, r: (s + r * w[0], None), 0.0, x)[0]),
        lambda w: weft.jit(lambda x: x * w).lower(X).compile({"xla_cpu_enable_fast_math": False}),
    ],
    ids=["jit", "grad", "vmap", "scan", "compiled with options"],
)
def test_what_a_jitted_function_closes_over_is_freed_with_it(make):
    """At once, and not when the garbage collector comes: it may be all the memory there is."""
    w = np.full(3, 7.0)
    f = make(w)
    f(X), f(X)
    reference = weakref.ref(w)
    gc.collect()
    gc.disable()
    try:
        del f, w
        assert reference() is None
    finally:
        gc.enable()


def test_clear_cache_frees_what_was_compiled():
    f = weft.jit(lambda x: np.sin(x) * 3.0)
    before = executables()
    f(X)
    f({"x": X}["x"][:2])
    assert executables() == before + 2
    f.clear_cache()
    assert executables() == before


def test_a_function_and_its_jitted_form_may_refer_to_each_other():
    reference = None

    def make():
        nonlocal reference

        def f(x, n):
            return x * 2.0 if n == 0 else g(x, n - 1)

        g = weft.jit(f, static_argnums=1)
        g.trace(X, 3)
        reference = weakref.ref(f)

    make()
    gc.collect()
    assert reference() is None


def test_static_arguments_that_are_always_new():
    """Fresh functions as static arguments: the oldest are forgotten, in time."""
    apply = weft.jit(lambda f, x: f(x), static_argnums=0)
    references = []
    for _ in range(MAX_SIGNATURES + 10):
        f = lambda x: x  # noqa: E731
        apply.trace(f, X)
        references.append(weakref.ref(f))
    del f
    gc.collect()
    assert sum(r() is not None for r in references) <= 20


def test_loops_with_rules_that_are_always_new():
    """What is kept of loops lives no longer than the rules inside them."""
    references = []
    for n in range(60):
        f = custom_jvp()
        loop = lambda x, f=f: lax.scan(lambda c, s: (f(c), None), x, None, length=2)[0]  # noqa: E731
        if n % 3 == 0:
            weft.make_jaxpr(loop)(1.0)
        elif n % 3 == 1:
            loop(1.0)
        else:
            weft.grad(loop)(1.0)
        references.append(weakref.ref(f))
    del f, loop
    for _ in range(4):  # what dies with a function may hold another one
        gc.collect()
    assert [r() for r in references] == [None] * len(references)


class Table:
    """An object that a function closes over."""


def checkpointed(i, table):
    f = weft.checkpoint(lambda x: np.sum(np.sin(x * float(i)) * (1.0 if table else 0.0)))
    weft.grad(f)(X)
    return f


def checkpointed_in_jit(i, table):
    f = weft.jit(weft.checkpoint(lambda x: np.sin(x * float(i)) * (1.0 if table else 0.0)))
    f.trace(X)
    return f


def named(i, table):
    f = weft.named_call(lambda x: np.sin(x * float(i)) * (1.0 if table else 0.0))
    weft.jit(f).trace(X)
    return f


def loop_in_jit(i, table):
    f = weft.jit(lambda x: lax.scan(lambda c, s: (c * float(i) + s, c), 0.0 if table else 1.0, x))
    weft.grad(lambda x: f(x)[0])
    f.trace(X)
    return f


def loop(i, table):
    body = lambda c, s: (c * float(i) + s, c if table else s)  # noqa: E731
    lax.scan(body, 0.0, X)
    return body


def choice(i, table):
    branch = lambda x: np.sin(x * float(i)) if table else x  # noqa: E731
    lax.cond(True, branch, lambda x: x, 1.0)
    return branch


DEAD = (checkpointed, checkpointed_in_jit, named, loop_in_jit, loop, choice)


@pytest.mark.parametrize("use", DEAD, ids=lambda f: f.__name__)
def test_dead_functions_leave_no_program(use):
    """Programs of functions that are gone, and what they close over, are gone too.

    Outside jit the programs used last stay: a lambda in a loop is a new function each time.
    """

    def programs():
        for _ in range(4):  # what dies with a function may hold another one
            gc.collect()
        counts = collections.Counter(type(o) for o in gc.get_objects())
        return counts[Jaxpr], counts[Executable]

    references = []

    def some(count):
        for i in range(count):
            table = Table()
            f = use(i, table)
            references.extend([weakref.ref(table), weakref.ref(f)])

    count = 120 if use in (loop, choice, checkpointed) else 1000
    some(count)
    before = programs()
    some(count)
    after = programs()  # fewer, where earlier tests' programs died meanwhile
    assert all(a <= b for a, b in zip(after, before, strict=True)), (after, before)
    assert [r() for r in references] == [None] * len(references)


def test_functions_that_differ_in_a_number_share_their_programs():
    """Outside jit a floating-point number is an input of the program, whatever code it is in."""

    def programs():
        for _ in range(4):  # what dies with a function may hold another one
            gc.collect()
        return sum(type(o) is Jaxpr for o in gc.get_objects())

    source = "def body(c, s):\n    return c * {0}.0 + s, c"

    def some(count):
        for i in range(count):
            space = {}
            exec(source.format(i), space)
            lax.scan(space["body"], 0.0, X)

    some(3)
    before = programs()
    some(20)
    assert programs() <= before


# --- compiled once, though it is said again ---


@pytest.fixture
def compilations(monkeypatch):
    """What XLA is asked to compile."""
    from weft.compiler import disk_cache

    texts = []
    original = disk_cache.compile_or_load

    def noting(text, *args, **kwargs):
        texts.append(text)
        return original(text, *args, **kwargs)

    monkeypatch.setattr(disk_cache, "compile_or_load", noting)
    return texts


rule, backward_rule = custom_jvp(), custom_vjp()
halved = weft.jit(lambda x: np.sin(x) * 0.5)
WEIGHTS = onp.ones(3, onp.float32)

AGAIN = {
    "checkpoint": lambda: weft.checkpoint(lambda x: np.sum(np.sin(x * WEIGHTS)))(X),
    "gradient of checkpoint": lambda: weft.grad(
        weft.checkpoint(lambda x: np.sum(np.sin(x * WEIGHTS)))
    )(X),
    "scan of custom_jvp": lambda: lax.scan(lambda c, s: (rule(c), c), 1.0, X),
    "gradient of scan of custom_jvp": lambda: weft.grad(
        lambda x: lax.scan(lambda c, s: (rule(c) * s, c), 1.0, x)[0]
    )(X),
    "gradient of scan of custom_vjp": lambda: weft.grad(
        lambda x: lax.scan(lambda c, s: (backward_rule(c) * s, c), 1.0, x)[0]
    )(X),
    "vmap of scan of custom_jvp": lambda: weft.vmap(
        lambda x: lax.scan(lambda c, s: (rule(c) * x, c), 1.0, X)[0]
    )(X),
    "scan of scan": lambda: lax.scan(
        lambda c, s: (lax.scan(lambda c, s: (np.sin(c), None), c, X)[0], c), 1.0, X
    ),
    "scan of cond": lambda: lax.scan(
        lambda c, s: (lax.cond(c > 1, lambda c: c * 2.0, lambda c: np.sin(c), c), c), 1.0, X
    ),
    "scan of checkpoint": lambda: lax.scan(
        weft.checkpoint(lambda c, s: (np.sin(c) * 1.5, c)), 1.0, X
    ),
    "scan of jit": lambda: lax.scan(lambda c, s: (halved(c), c), 1.0, X),
    "gradient of jit": lambda: weft.grad(halved)(1.0),
    "hessian of jit": lambda: weft.hessian(halved)(1.0),
    "while": lambda: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, np.sin(c[1])), (0, X)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
def test_nothing_is_compiled_again_without_jit(compilations, name):
    """Loops and transformations outside jit trace anew each time, and know programs again."""
    for _ in range(3):
        AGAIN[name]()
    del compilations[:]
    for _ in range(3):
        AGAIN[name]()
    assert compilations == []


# --- the attribute by which programs die with their function ---


def test_programs_are_not_taken_over_by_wraps():
    """`functools.wraps` copies the attributes of a function: its programs are still its own."""

    def f(x):
        return x * 2.0

    assert weft.jit(f)(3.0).item() == 6.0

    @functools.wraps(f)
    def g(x):
        return f(x) + 1.0

    assert weft.jit(g)(3.0).item() == 7.0
    assert weft.jit(f)(3.0).item() == 6.0
    assert weft.jit(weft.jit(f))(3.0).item() == 6.0


def test_attributes_of_a_jitted_function_can_be_pickled():
    """Tools that pickle functions by value pickle their attributes, and don't get programs."""

    def f(x):
        return x * 2.0

    weft.jit(f)(3.0)
    copy = pickle.loads(pickle.dumps(f.__dict__))
    f.__dict__.update(copy)
    assert weft.jit(f)(3.0).item() == 6.0
