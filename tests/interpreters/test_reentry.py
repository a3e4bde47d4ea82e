"""Rules that are entered while they run: by other threads, by signal handlers, by Python code."""

import gc
import signal
import threading

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.primitives.elementwise import unary

X = onp.linspace(0.1, 1.0, 3).astype("float32")
SECONDS = 30


@pytest.fixture(scope="session")
def during():
    """A primitive of x + 0 whose NumPy kernel runs Python code in its midst: `during.action()`."""

    class During:
        action = staticmethod(lambda: None)

        def evaluate(self, x):
            self.action()
            return x + 0

    found = During()
    found.primitive = unary(
        "during", "x + 0", evaluate=found.evaluate, stablehlo=lambda block, x, out: x,
        accepts="float", jvp=lambda dx, out, x: found.primitive(dx),
    )  # fmt: skip
    found.primitive.transpose(lambda ct, x: (found.primitive(ct),))
    return found


def test_rules_of_a_mapped_function_run_in_two_threads_at_one_time():
    """Both threads are inside the forward rule; the first leaves it, and then the second."""
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def wait():
        if threading.current_thread() is threads[0]:
            assert second_is_in.wait(SECONDS)
        elif threading.current_thread() is threads[1]:
            second_is_in.set()
            assert first_is_out.wait(SECONDS)

    @weft.custom_vjp
    def f(x):
        return np.sin(x)

    def forward(x):
        wait()
        return np.sin(x), x

    f.defvjp(forward, lambda x, ct: (ct * np.cos(x),))
    results = {}

    def derive(number):
        try:
            results[number] = onp.asarray(weft.grad(g)(X))
        finally:
            if number == 0:
                first_is_out.set()

    threads = [threading.Thread(target=derive, args=(i,)) for i in range(2)]
    g = weft.jit(lambda x: np.sum(weft.vmap(f)(x)))
    g(X)  # the rules are in its program: they belong to a trace that has ended
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(2):
        onp.testing.assert_allclose(results[i], onp.cos(X), rtol=1e-6)


def computing(during):
    """What an action computes: an operation, a gradient by a plan, and one with the kernel."""
    action, during.action = during.action, lambda: None
    try:
        y = np.asarray(X)
        slope = weft.grad(lambda y: np.sum(during.primitive(y) * y))(y)
        return onp.asarray(during.primitive(y)), onp.asarray(slope)
    finally:
        during.action = action


RUNS = {
    "an operation": lambda during: during.primitive(np.asarray(X)),
    "a pushforward": lambda during: weft.jvp(during.primitive, (X,), (X,))[1],
    "a pullback": lambda during: weft.vjp(during.primitive, X)[1](X)[0],
}


@pytest.mark.usefixtures("what_was_there_uncounted")
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("way", ["call", "signal", "finalizer"])
def test_python_code_in_the_midst_of_a_kernel_computes_with_weft(during, run, way):
    seen = []

    def act(*_):
        seen.append(computing(during))

    class Finalized:
        __del__ = act

    def finalize():
        Finalized()
        gc.collect()

    before = signal.signal(signal.SIGUSR1, act)
    try:
        ways = {"call": act, "finalizer": finalize}
        during.action = ways.get(way, lambda: signal.raise_signal(signal.SIGUSR1))
        for _ in range(3):
            onp.testing.assert_array_equal(run(during), X)
    finally:
        signal.signal(signal.SIGUSR1, before)
        during.action = lambda: None
    assert len(seen) >= 3
    for value, slope in seen:
        onp.testing.assert_array_equal(value, X)
        onp.testing.assert_allclose(slope, 2 * X, rtol=1e-6)
