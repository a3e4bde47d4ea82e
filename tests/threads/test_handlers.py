"""A signal handler that computes with weft while the main thread is in the midst of a kernel."""

import signal
import time

import pytest

import weft.numpy as np

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


class Computed:
    """An object whose conversion to an array computes with weft."""

    def __array__(self, dtype=None, copy=None):
        return (Y * 2.0).__array__(dtype)


def test_a_kernel_may_call_python_code_that_computes():
    assert np.ones((2, 3)).at[0].set(Computed()).tolist() == [[2, 2, 2], [1, 1, 1]]
