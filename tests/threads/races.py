"""What threads do at once, one function a scenario: `python races.py SCENARIO`.

Each scenario runs in a process of its own, so that a deadlock is a process that is ended, and so
that first calls are first. It prints `ok` at the end.
"""

import faulthandler
import functools
import sys
import threading
from pathlib import Path

import numpy as onp
import numpy.testing  # NumPy imports it when it is asked for, which no two threads may do at once
import pytest

import weft
from weft.compiler import disk_cache

THREADS = 8
SECONDS = 100  # then all stacks are printed, and the process ends

compiled: list[str] = []  # the programs that XLA was given
original = disk_cache.compile_or_load


def noting(text, *args, **kwargs):
    compiled.append(text)
    return original(text, *args, **kwargs)


disk_cache.compile_or_load = noting


def together(work, count=THREADS):
    """The results of `work(i)` in threads that begin at once; the first error is raised."""
    barrier = threading.Barrier(count)
    results, errors = [None] * count, []

    def go(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=go, args=(i,), daemon=True) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def close(got, expected, tolerance=1e-5):
    onp.testing.assert_allclose(onp.asarray(got), expected, rtol=tolerance, atol=tolerance)


def first_calls(make, programs, rounds=6):
    """Calls race to be the first, several times; each time so many programs are compiled.

    Args:
      make: gives a function of the thread's number, and what it is to give.
    """
    for k in range(rounds):
        call, expected = make(k)
        compiled.clear()
        for result in together(call):
            close(result, expected)
        assert len(compiled) == programs, (len(compiled), programs)


def array(n=3):
    return weft.numpy.linspace(0.1, 1.0, n)


X = onp.linspace(0.1, 1.0, 3, dtype=onp.float32)


# --- first calls: one compilation for each signature ---


def jit_first_calls():
    traced = []

    def make(k):
        np = weft.numpy

        def f(x):
            traced.append(k)
            return np.sin(x) * 2.0

        g, x = weft.jit(f), array()
        return lambda i: g(x), onp.sin(X) * 2

    first_calls(make, 1)
    assert set(traced) == set(range(6))  # several may trace one; one compiles it


def jit_said_in_each_thread():
    def make(k):
        f = lambda x: weft.numpy.sin(x) * 2.0  # noqa: E731
        x = array()
        return lambda i: weft.jit(f)(x), onp.sin(X) * 2

    first_calls(make, 1)


def gradient_of_jit():
    def make(k):
        np, x = weft.numpy, array()
        f = weft.jit(lambda x: np.sum(np.sin(x) * 2.0))
        return lambda i: weft.grad(f)(x), onp.cos(X) * 2

    first_calls(make, 2)  # forward, and its linear part backward


def second_derivatives_of_jit():
    def make(k):
        f = weft.jit(lambda x: weft.numpy.sin(x) * x)
        slope = 2 * onp.cos(0.5) - 0.5 * onp.sin(0.5)
        return lambda i: weft.grad(weft.grad(f))(0.5), slope

    call, expected = make(0)
    close(call(0), expected)
    alone = len(compiled)
    first_calls(make, alone)


def jit_inside_jit():
    def make(k):
        np, x = weft.numpy, array()
        f = weft.jit(lambda x: np.sin(x))
        g = weft.jit(lambda x: f(x) * f(x + 1.0))
        expected = onp.stack([onp.sin(X), onp.sin(X) * onp.sin(X + 1)])

        def call(i):  # some begin inside, some outside
            if i % 2:
                return np.stack([f(x), g(x)])
            other = g(x)
            return np.stack([f(x), other])

        return call, expected

    x = array()
    weft.numpy.stack([x, x])
    first_calls(make, 2)


def functions_that_call_each_other():
    def make(k):
        np, x = weft.numpy, array()
        f = weft.jit(lambda n, x: g(n - 1, x) + 1.0 if n else np.sin(x), static_argnums=0)
        g = weft.jit(lambda n, x: f(n - 1, x) * 2.0 if n else np.cos(x), static_argnums=0)
        expected = (onp.sin(X) * 2 + 1) * 2 + 1
        return lambda i: f(4, x) if i % 2 else g(4, x) * 0.0 + f(4, x), expected

    x = array()
    x * 0.0 + x
    first_calls(make, 2)


def vmap_of_jit():
    def make(k):
        f, x = weft.jit(lambda x: weft.numpy.sin(x) * 2.0), array()
        return lambda i: weft.vmap(f)(x), onp.sin(X) * 2

    first_calls(make, 1)


def vmap_with_names():
    from weft import lax

    def make(k):
        np, x = weft.numpy, array()
        f = weft.jit(weft.vmap(lambda x: x / lax.psum(np.exp(x), "i"), axis_name="i"))
        return lambda i: f(x), X / onp.sum(onp.exp(X))

    first_calls(make, 1)

    def call(i):  # each thread with a name of its own, around one function
        f = lambda x: x - lax.pmean(x, f"axis{i % 3}")  # noqa: E731
        for _ in range(20):
            got = weft.vmap(f, axis_name=f"axis{i % 3}")(X)
        return got

    for got in together(call):
        close(got, X - onp.mean(X))


def loops():
    from weft import lax

    np = weft.numpy

    def make(k):
        x = np.linspace(0.1, 1.0, 4 + k)  # a signature that is new
        host = onp.asarray(x)

        def call(i):
            return lax.scan(lambda c, s: (np.sin(c * s), np.cos(c)), 1.0, x)[0]

        c = 1.0
        for s in host:
            c = onp.sin(c * s)
        return call, c

    first_calls(make, 1)


def gradients_of_loops():
    from weft import lax

    np = weft.numpy

    def make(k):
        x = np.linspace(0.1, 1.0, 24 + k)

        def call(i):
            return weft.grad(lambda y: lax.scan(lambda c, s: (c * s * y, None), 1.0, x)[0])(1.0)

        return call, onp.prod(onp.asarray(x), dtype=float) * (24 + k)

    make(-1)[0](0)
    first_calls(make, 2)


def numbers_that_vary():
    """A loop that closes over a number takes it as an input: one program serves all numbers."""
    from weft import lax

    np, x = weft.numpy, array(5)
    total = float(onp.sum(onp.linspace(0.1, 1.0, 5)))

    def call(i):
        for k in range(12):
            rate, shift = 0.1 * (i * 12 + k + 1), float(k % 3)
            last, _ = lax.scan(
                lambda c, s, r=rate, z=shift: (c + r * np.tanh(s) * 0 + s * r + z, None), 0.0, x
            )
            close(last, rate * total + 5 * shift, 1e-4)

    together(call)
    assert len(compiled) < 20


def rules_of_the_user():
    np = weft.numpy

    def make(k):
        f = weft.custom_jvp(lambda x: np.sin(x))
        f.defjvp(lambda p, t: (f(p[0]), 3.0 * np.cos(p[0]) * t[0]))
        g = weft.custom_vjp(lambda x: f(x) * 2.0)
        g.defvjp(lambda x: (g(x), x), lambda x, ct: (weft.grad(lambda x: f(x) * 2.0)(x) * ct,))
        h = weft.jit(lambda x: g(x) + f(x))
        return lambda i: weft.grad(h)(0.5), 9 * onp.cos(0.5)

    call, expected = make(-1)
    close(call(0), expected)
    first_calls(make, len(compiled))


def checkpoints():
    np = weft.numpy

    def make(k):
        x = np.linspace(0.1, 1.0, 5 + k)
        f = weft.checkpoint(lambda x: np.sum(np.sin(x) * 2.0))
        return lambda i: weft.jit(weft.grad(f))(x) * 0.0 + weft.grad(f)(x), 2 * onp.cos(
            onp.linspace(0.1, 1.0, 5 + k)
        )

    for k in range(5):
        call, expected = make(k)
        for got in together(call):
            close(got, expected)


def one_large_operation():
    np = weft.numpy

    def make(k):
        x = np.linspace(0.0, 1.0, 300_000 + k)
        return lambda i: np.expm1(x)[:3], onp.expm1(onp.asarray(x))[:3]

    make(-1)[0](0)
    first_calls(make, 1)


# --- switches in threads ---


def precision_in_some_threads():
    """Half of the threads are in double precision; results and programs don't mix."""
    np = weft.numpy
    f = weft.jit(lambda x: np.sin(x) * 2.0)
    loss = lambda x: np.sum(np.tanh(x) * x) / 3  # noqa: E731
    host = onp.linspace(0.1, 1.0, 7)
    slope = (onp.tanh(host) + host * (1 - onp.tanh(host) ** 2)) / 3

    def call(i):
        for _ in range(60):
            with weft.enable_x64(i % 2 == 1):
                wide = onp.float64 if i % 2 else onp.float32
                x = np.asarray(host)
                assert x.dtype == wide
                for got, expected in (
                    (f(x), onp.sin(host) * 2),
                    (weft.grad(loss)(x), slope),
                    (weft.vmap(weft.grad(lambda x: x * x * 1.5))(x), 3 * host),
                    (np.arange(3) / 2, onp.arange(3) / 2),
                    (np.mean(np.array([1, 2, 4])), 7 / 3),
                ):
                    assert got.dtype == wide, (got.dtype, wide)
                    close(got, expected, 1e-12 if i % 2 else 1e-5)

    together(call)
    mine = [text for text in compiled if "stablehlo.sine" in text]
    assert len(mine) == 2, len(mine)


def programs_in_two_precisions():
    """Random programs and their derivatives, in single and double precision at the same time."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from typed_programs import program_of

    np = weft.numpy
    found = [program_of(number, need="f32", longest=5) for number in range(14)]
    found = [program for program in found if not program.loops]

    def derivatives(program, wide):
        x, _ = program.numbers(wide=wide)
        f = program.function(wide=wide)
        places = program.inexact()

        def g(*some):
            full = list(map(np.asarray, x))
            for i, v in zip(places, some, strict=True):
                full[i] = v
            return [o for o in f(*full) if weft.dtypes.is_inexact(o.dtype)]

        y, pull = weft.vjp(g, *[x[i] for i in places])
        return [onp.asarray(o) for o in (*y, *pull([np.ones(o.shape, o.dtype) for o in y]))]

    def all_of(wide):
        with weft.enable_x64(wide):
            return [derivatives(program, wide) for program in found]

    alone = {wide: all_of(wide) for wide in (False, True)}

    def call(i):
        wide = i % 2 == 1
        for got, expected in zip(all_of(wide), alone[wide], strict=True):
            for a, b in zip(got, expected, strict=True):
                assert a.dtype == b.dtype, (a.dtype, b.dtype)
                allowed = 1e-9 if wide else 2e-2
                onp.testing.assert_allclose(
                    a.astype(complex), b.astype(complex), rtol=allowed, atol=allowed
                )

    together(call, 4)


def a_switch_turned_for_all():
    """While one thread updates the configuration, the others go on, with right values."""
    np = weft.numpy
    f = weft.jit(lambda x: np.sin(x) * 2.0)

    def call(i):
        for k in range(150):
            if i == 0:
                weft.config.update("numpy_rank_promotion", "allow" if k % 2 else "warn")
            x = np.asarray(X)
            close(f(x), onp.sin(X) * 2)
            close(weft.grad(lambda x: np.sum(x * x))(x), 2 * X)

    try:
        together(call)
    finally:
        weft.config.update("numpy_rank_promotion", "allow")


def without_jit_in_one_thread():
    np = weft.numpy
    f = weft.jit(lambda x: np.sin(x) * 2.0)

    def call(i):
        for _ in range(50):
            if i == 0:
                with weft.disable_jit():
                    got = f(np.asarray(X))
            else:
                got = f(np.asarray(X))
            close(got, onp.sin(X) * 2)

    together(call)
    assert len(compiled) == 1


# --- the hot path ---


def two_forms_of_arguments():
    """Calls with different trees and the same types: each gets its own program."""
    np = weft.numpy
    f = weft.jit(lambda t: t["a"] - t["b"] if isinstance(t, dict) else t[0] * t[1])
    a, b = np.asarray(X), np.asarray(X + 1)

    def call(i):
        for _ in range(1000):
            if i % 2:
                close(f({"a": a, "b": b}), onp.full(3, -1.0))
            else:
                close(f((a, b)), X * (X + 1))

    together(call, 4)
    assert len(compiled) == 2


def clearing_the_cache():
    np = weft.numpy
    f = weft.jit(lambda x, y: np.sin(x) * y)

    def call(i):
        for k in range(40 if i == 0 else 400):
            if i == 0:
                f.clear_cache()
            close(f({"x": X}["x"], 2.0) if k % 2 else f(np.asarray(X), 2.0), onp.sin(X) * 2)

    together(call, 4)


def new_types_of_containers():
    """Classes that no tree has had before, in all threads at once."""
    from collections import namedtuple

    for k in range(30):
        pair = namedtuple(f"Pair{k}", "a b")

        def call(i, pair=pair):
            got = weft.tree_util.tree_map(lambda x: x + 1, [pair(1, 2), {"k": pair(i, 3)}])
            assert got == [pair(2, 3), {"k": pair(i + 1, 4)}]

        together(call)


def errors_in_some_threads():
    np = weft.numpy
    f = weft.jit(lambda x, n: np.sin(x.reshape(n)), static_argnums=1)

    def call(i):
        for _ in range(30):
            if i % 2:
                with pytest.raises(TypeError, match="reshape"):
                    f(np.asarray(X), 2)
            else:
                close(f(np.asarray(X), 3), onp.sin(X))

    together(call)
    assert len(compiled) == 1


def first_use_of_weft():
    """The namespaces load themselves; several threads may be the first to ask."""

    def call(i):
        if i % 2:
            x = weft.numpy.asarray(X)
            return weft.grad(lambda x: weft.numpy.sum(weft.numpy.tanh(x) * x))(x)
        x = weft.numpy.array(X)
        f = weft.jit(lambda x: weft.lax.tanh(x) * x)
        return weft.grad(lambda x: f(x).sum())(x)

    for got in together(call):
        close(got, onp.tanh(X) + X * (1 - onp.tanh(X) ** 2))


def random_numbers():
    from weft import random

    expected = onp.asarray(random.normal(random.PRNGKey(3), (4,)))
    for got in together(lambda i: random.normal(random.PRNGKey(3), (4,))):
        onp.testing.assert_array_equal(onp.asarray(got), expected)


def calls_of_python():
    """Callbacks from programs that run in several threads."""
    np = weft.numpy
    seen = []

    def host(x):
        seen.append(threading.get_ident())
        return onp.sin(x) * 2

    f = weft.jit(lambda x: weft.pure_callback(host, x, x) + 1.0)

    def call(i):
        for k in range(30):
            x = onp.full(3, i + 0.1 * k, onp.float32)
            close(f(np.asarray(x)), onp.sin(x) * 2 + 1)

    together(call)
    assert len(seen) >= 30 * THREADS
    assert len(compiled) == 1


def everything_at_once():
    """Each thread its own functions: fresh closures, transformed, compiled, dropped."""
    from weft import lax

    np = weft.numpy

    def call(i):
        for k in range(3):
            a = 1.0 + i + 0.1 * k
            f = lambda x, a=a: np.sum(np.sin(a * x))  # noqa: E731
            expected = a * onp.cos(a * X)
            for g in (
                weft.grad(f),
                weft.jit(weft.grad(f)),
                weft.grad(weft.jit(f)),
                weft.grad(weft.checkpoint(f)),
                lambda x, f=f: weft.vjp(f, x)[1](1.0)[0],
                weft.vmap(weft.grad(lambda x, a=a: np.sin(a * x))),
            ):
                close(g(np.asarray(X)), expected, 1e-4)
            total = lax.fori_loop(0, 3, functools.partial(lambda a, n, c: c + a, a), 0.0)
            close(total, 3 * a, 1e-4)

    together(call)


SCENARIOS = {
    name: function
    for name, function in list(globals().items())
    if getattr(function, "__module__", None) == __name__
    and name not in ("noting", "together", "close", "first_calls", "array")
}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    sys.setswitchinterval(1e-5)
    SCENARIOS[sys.argv[1]]()
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write("ok\n")
