"""A signal handler that computes with weft while the main thread is in the midst of a kernel."""

import itertools
import signal
import time

import numpy as onp
import pytest

import weft.numpy as np
from weft.core.aval import aval

X, Y = np.ones((300, 300)), np.ones(3)


@pytest.mark.parametrize(
    "work",
    [
        lambda: X + X,
        lambda: np.tan(X),
        lambda: np.sum(X, axis=0),
        lambda: X.at[0].set(2.0),
    ],
    ids=["binary", "unary", "planned", "at"],
)
def test_a_handler_may_compute(work):
    failed, done = [], []

    def handler(*_):
        try:
            done.append((Y + 1.0).tolist())
            np.sin(Y), np.sum(Y), Y.at[0].set(1.0)
        except RuntimeError as error:
            failed.append(error)

    for _ in range(3):
        handler(), work()
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 5e-4, 5e-4)
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not failed
    assert done.count([2, 2, 2]) == len(done) > 3


def test_a_handler_may_make_avals_while_one_is_made():
    """It needs the lock of the table of avals, which the interrupted call may have."""
    numbers, made = itertools.count(1), []
    float32 = onp.dtype("float32")

    def new_aval():
        return aval((next(numbers), 3), float32)

    def handler(*_):
        if not made or made[-1] is not None:  # not inside itself
            made.append(None)
            made[-1] = new_aval()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 5e-4, 5e-4)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            new_aval()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(made) > 3
    assert all([a is aval(a.shape, float32) for a in made])


class Computed:
    """An object whose conversion to an array computes with weft."""

    def __array__(self, dtype=None, copy=None):
        return (Y * 2.0).__array__(dtype)


def test_a_kernel_may_call_python_code_that_computes():
    assert np.ones((2, 3)).at[0].set(Computed()).tolist() == [[2, 2, 2], [1, 1, 1]]
