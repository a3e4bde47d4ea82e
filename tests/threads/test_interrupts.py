"""Ctrl-C, or a signal handler that raises, at any moment: the thread goes on as if nothing was."""

import gc
import random
import signal

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.config import thread
from weft.core.trace import current

X = np.ones((3, 2))


@weft.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))


def staged():
    weft.make_jaxpr(lambda x: np.sin(x) * 2)(X)


def transposed():
    weft.linear_transpose(lambda x: np.sum(3 * x), X)(1.0)
    weft.make_jaxpr(weft.grad(lambda x: np.sum(np.tanh(x) * x)))(X)


def planned():
    # a new constant each time: the derivative of an operation is found anew
    shape = (random.randrange(2, 60), random.randrange(2, 60))
    weft.grad(lambda x: np.sum(x * x + np.exp(x)))(np.ones(shape))


def batched():
    weft.vmap(lambda x: x - lax.psum(x, "i"), axis_name="i")(X)
    weft.vmap(weft.grad(lambda x: np.sum(doubled(x))))(X)


def pushed():
    weft.jvp(lambda x: np.sin(x) * x, (X,), (X,))


def switched():
    with weft.ensure_compile_time_eval():
        weft.vmap(lambda x: x * 2)(X)


class Interrupt(BaseException):
    """What the handler raises; nothing in weft catches it."""


def bombard(work, hits):
    """Interrupts `work` at random moments; after each one looks whether all is as it was.

    Python drops what a handler raises inside a `__del__` or a weak reference's callback: then the
    work goes on to its end.
    """
    armed = False

    def handler(*_):
        nonlocal armed
        if armed:
            armed = False
            raise Interrupt

    work()
    rng = random.Random(7)
    state = current.trace, thread.key, gc.isenabled()
    before = signal.signal(signal.SIGALRM, handler)
    interrupted = 0
    try:
        while interrupted < hits:
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(20e-6, 500e-6))
                while True:  # see tests/structure/test_loops.py
                    if not armed:
                        break
                    work()
            except Interrupt:
                interrupted += 1
            assert (current.trace, thread.key, gc.isenabled()) == state, interrupted
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert onp.asarray(X + 1).tolist() == [[2, 2]] * 3


DROPPED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
WORK = [staged, transposed, planned, batched, pushed]


@DROPPED
@pytest.mark.parametrize("work", WORK, ids=lambda f: f.__name__)
def test_an_interrupt_leaves_the_thread_usable(work):
    bombard(work, 300)


@DROPPED
@pytest.mark.slow
@pytest.mark.parametrize("work", WORK, ids=lambda f: f.__name__)
def test_twenty_thousand_interrupts_leave_the_thread_usable(work):
    bombard(work, 20_000 // len(WORK))
