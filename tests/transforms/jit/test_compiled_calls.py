"""Calls of compiled functions: where they run, who waits for whom, and what is left of them."""

import gc
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import weft
from weft.core.jaxpr import Jaxpr
from weft.runtime.executable import Executable
from weft.sharding import Mesh, NamedSharding, PartitionSpec

DEVICES = weft.devices()
X = np.arange(8, dtype=np.float32)
DIVIDED = NamedSharding(Mesh(DEVICES[:4], "x"), PartitionSpec("x"))


# --- the fast path ---


def test_one_function_for_arrays_in_several_places():
    """Each call runs where its arguments are, also when all of them are known."""
    f = weft.jit(lambda x, y: (x * 2, y + x.sum()))
    places = [None, DEVICES[0], DEVICES[3], DIVIDED]
    arrays = [weft.numpy.asarray(X)] + [weft.device_put(X, p) for p in places[1:]]
    for _ in range(3):
        for place, x in zip(places, arrays, strict=True):
            for arguments in ((x, x), (x, 1.0), (x, X)):
                for out, expected in zip(
                    f(*arguments), (X * 2, np.asarray(arguments[1]) + X.sum()), strict=True
                ):
                    np.testing.assert_array_equal(out, expected)
                    assert out.committed == (place is not None)
                    where = {DEVICES[0]} if place is None else x.devices()
                    assert out.devices() == where


def test_an_array_of_another_devices_switch_runs_on_the_default_device():
    with weft.default_device(DEVICES[2]):
        x = weft.numpy.asarray(X) + 1
    assert x.devices() == {DEVICES[2]}
    f = weft.jit(lambda x: x * 2)
    for _ in range(3):
        assert f(x).devices() == {DEVICES[0]}
        np.testing.assert_array_equal(f(x), (X + 1) * 2)


@pytest.mark.parametrize("place", [None, DEVICES[3], DIVIDED])
def test_donation_on_every_call(place):
    f = weft.jit(lambda x, y: x + y, donate_argnums=0)
    x, one = (weft.device_put(a, place) for a in (X, np.ones_like(X)))
    x = x + 0
    for n in range(4):
        before, x = x, f(x, one)
        assert before.is_deleted()
        with pytest.raises(weft.errors.DeletedArrayError):
            before + 1
        np.testing.assert_array_equal(x, X + n + 1)
    with pytest.raises(weft.errors.DeletedArrayError, match="argument x of"):
        f(before, one)
    with pytest.raises(ValueError, match="is passed twice"):
        f(x, x)


def test_results_in_another_order_than_they_are_computed():
    f = weft.jit(lambda x: {"b": (y := x + 1), "a": y * 2, "c": y})
    for place in (None, DEVICES[1], DIVIDED):
        x = weft.device_put(X, place)
        for _ in range(3):
            got = f(x)
            for name, expected in {"a": (X + 1) * 2, "b": X + 1, "c": X + 1}.items():
                np.testing.assert_array_equal(got[name], expected)


# --- threads and signals ---


def test_no_lock_is_held_while_a_function_is_traced():
    """A thread that holds a lock calls a function which another one, that wants it, traces."""
    lock, tracing = threading.RLock(), threading.Event()
    results = []

    @weft.jit
    def f(x):
        tracing.set()
        with lock:
            return x * 2

    def holding():
        with lock:
            other.start()
            assert tracing.wait(10)
            results.append(f(X))

    other = threading.Thread(target=lambda: results.append(f(X)), daemon=True)
    first = threading.Thread(target=holding, daemon=True)
    first.start()
    first.join(20)
    other.join(20)
    assert [np.asarray(r).tolist() for r in results] == [(X * 2).tolist()] * 2


INTERRUPTED = """
import signal, numpy, weft
from weft.compiler import compiled

X = numpy.arange(8, dtype="float32")
f = weft.jit(lambda x: weft.numpy.sin(x) * 3)
compile_program, inside = compiled.compile_program, []

def interrupted(*args):
    if not inside:
        signal.raise_signal(signal.SIGUSR1)
    return compile_program(*args)

def handler(*args):
    inside.append(True)
    inside.append(f(X))

compiled.compile_program = interrupted
signal.signal(signal.SIGUSR1, handler)
for result in (f(X), inside[1]):
    numpy.testing.assert_allclose(result, numpy.sin(X) * 3, rtol=1e-6)
"""


def test_a_signal_handler_may_call_the_function_that_is_compiled():
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], timeout=60, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


# --- names ---


def my_model(x):
    return x * 2


@pytest.mark.parametrize(
    ("function", "name"), [(my_model, "jit_my_model"), (lambda x: x * 2, "jit__lambda_")]
)
def test_programs_have_the_names_of_their_functions(function, name):
    for x in (X, weft.device_put(X, DIVIDED)):
        lowered = weft.jit(function).lower(x)
        assert f"module @{name} " in lowered.as_text()
        for text in (lowered.as_text("hlo"), lowered.compile().as_text()):
            assert re.match(rf"HloModule {name}\b", text)


# --- what is left ---


def executables():
    gc.collect()
    return sum(type(o) is Executable for o in gc.get_objects())


def alive(kind):
    gc.collect()
    return sum(isinstance(o, kind) for o in gc.get_objects())


@pytest.mark.usefixtures("what_was_there_uncounted")
def test_dead_functions_leave_nothing():
    """A thousand that were traced, thirty of them compiled and differentiated."""
    closures = []

    def make(number):
        weight = np.full(3, number, np.float32)

        def f(x):
            return weft.numpy.sum(weft.numpy.sin(x) * weight)

        g = weft.jit(f)
        closures.append(weakref.ref(f))
        g.eval_shape(X[:3])
        if number % 33 == 0:
            for _ in range(2):
                g(X[:3])
                weft.grad(g)(X[:3])

    make(0)
    before = alive(Jaxpr), executables()
    for number in range(1, 1000):
        make(number)
    after = alive(Jaxpr), executables()
    assert [r() for r in closures] == [None] * 1000
    assert after[0] <= before[0] + 5
    assert after[1] <= before[1] + 1
