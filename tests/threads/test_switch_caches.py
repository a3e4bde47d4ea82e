"""What is kept for eager calls belongs to the state of the switches: blocks and threads that set
other switches neither empty it nor use it."""

import threading

import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.config import caches, config, default_matmul_precision, eager_tier, enable_x64, thread
from weft.core.primitive import Primitive
from weft.primitives.trigonometric import sin as sin_p
from weft.switch_state import MAX_STATES, Caches

X = np.ones(3)


def entries(number):
    return dict(caches.here().caches[number])


def test_a_block_leaves_the_caches_as_they_were():
    lax.sin(X)
    weft.grad(lambda x: lax.sin(x))(1.0)
    before = [entries(n) for n in (sin_p.kernels, sin_p.types, sin_p.derivatives)]
    assert all(before)
    with default_matmul_precision("highest"):
        assert not entries(sin_p.derivatives)
        weft.grad(lambda x: lax.sin(x))(1.0)
        inside = entries(sin_p.derivatives)
        assert inside
    assert [entries(n) for n in (sin_p.kernels, sin_p.types, sin_p.derivatives)] == before
    with default_matmul_precision("highest"):
        assert entries(sin_p.derivatives) == inside  # the block's own are there the next time


def test_threads_with_other_switches_look_into_their_own_caches():
    number = caches.add()
    caches.here().caches[number]["key"] = "global"
    seen, entered, done = [], threading.Event(), threading.Event()

    def other():
        with enable_x64(not thread.x64):
            caches.here().caches[number]["key"] = "block"
            entered.set()
            done.wait(10)
            seen.append(caches.now[number]["key"])

    worker = threading.Thread(target=other)
    worker.start()
    entered.wait(10)
    assert caches.now[number]["key"] == "global"
    with pytest.raises(KeyError):
        caches.now[number]["another"]
    done.set()
    worker.join()
    assert seen == ["block"]
    assert caches.now is thread.switches.caches  # one state again: look-ups ask no thread


def test_a_thread_that_begins_while_another_is_in_a_block_has_the_global_caches():
    number = caches.add()
    caches.here().caches[number]["key"] = "global"
    seen = []
    with enable_x64(not thread.x64):
        caches.here().caches[number]["key"] = "block"
        worker = threading.Thread(
            target=lambda: seen.append((thread.x64, caches.now[number]["key"]))
        )
        worker.start()
        worker.join()
        assert caches.now[number]["key"] == "block"
    assert seen == [(thread.x64, "global")]


def test_what_was_made_while_a_switch_was_turned_is_not_kept():
    doubled = Primitive("doubled_for_switch_caches", "Twice; its type rule turns a switch.")

    @doubled.type
    def _(x):
        config.update("default_matmul_precision", "highest")
        return x

    try:
        weft.make_jaxpr(lambda x: doubled(x))(X)
        assert not entries(doubled.types)
    finally:
        config.update("default_matmul_precision", None)
    assert not entries(doubled.types)


def plans_here():
    """The entries of all caches of this thread's state."""
    return [dict(cache) for cache in caches.here().caches]


def numpy_calls():
    for _ in range(3):
        X + X, X * 2.0, X**2, np.sum(X), np.reshape(X, (3, 1)), np.sin(X), np.zeros(3)


def test_an_empty_block_leaves_the_plans_of_numpy_functions():
    numpy_calls()
    before = plans_here()
    with enable_x64(thread.x64):
        pass
    with enable_x64(not thread.x64):
        pass
    assert plans_here() == before


def test_a_numpy_function_uses_the_plans_of_its_own_state():
    numpy_calls()
    tiers = []
    plain = X + X
    before = plans_here()

    def other():
        with eager_tier("xla"):
            tiers.extend(
                y._host is None for y in (X + X, X * 2.0, np.sin(X), np.reshape(X, (3, 1)))
            )

    worker = threading.Thread(target=other)
    worker.start()
    worker.join()
    assert plain._host is not None
    assert tiers == [True] * 4  # XLA's results are in its buffers
    assert plans_here() == before
    assert (X + X)._host is not None


WITH_WIDE_RESULTS = {
    "true_divide": lambda x: np.true_divide(x, x),
    "mean": lambda x: np.mean(x, 0),
    "median": np.median,
    "interp": lambda x: np.interp(x, x, x),
    "power": lambda x: x**-1.0,
    "exp": np.exp,
    "method": lambda x: x.mean(),
    "conversion": lambda x: x.astype(float),
}


@pytest.mark.parametrize("name", WITH_WIDE_RESULTS)
def test_a_plan_made_in_a_block_of_another_thread_is_not_used_here(name):
    f, x = WITH_WIDE_RESULTS[name], np.array([1, 2, 3], "int32")
    made, done = threading.Event(), threading.Event()
    seen = []

    def other():
        with enable_x64(True):
            seen.extend(f(x).dtype for _ in range(3))
            made.set()
            done.wait(10)

    worker = threading.Thread(target=other)
    worker.start()
    made.wait(10)
    here = [f(x).dtype for _ in range(3)]
    done.set()
    worker.join()
    assert seen == ["float64"] * 3
    assert here == ["float32"] * 3


@pytest.mark.parametrize("name", WITH_WIDE_RESULTS)
def test_the_first_operation_of_a_thread_uses_no_plan_of_a_block_that_another_is_in(name):
    f, x = WITH_WIDE_RESULTS[name], np.array([1, 2, 3], "int32")
    seen = []
    with enable_x64(True):
        assert [f(x).dtype for _ in range(3)] == ["float64"] * 3
        worker = threading.Thread(target=lambda: seen.append(f(x).dtype))
        worker.start()
        worker.join()
    assert seen == ["float32"]


def test_of_very_many_states_those_in_use_stay():
    states = Caches(lambda: used)
    used = states.state(("in use",), [])
    for i in range(3 * MAX_STATES):
        states.state((i,), [used])
        assert states.state(("in use",), [used]) is used
