"""Interrupts a process at random moments of compiling, running and waiting: `ctrl_c.py COUNT`.

After each interrupt the thread is as it was, and the next calls are right. Prints what it hit.
"""

import random
import signal
import sys
import time
from collections import Counter

import numpy as onp

import weft
import weft.numpy as np
from weft import lax
from weft.config import thread
from weft.core.trace import current

COUNT = int(sys.argv[1])
DEVICES = weft.local_device_count()
RNG = random.Random(DEVICES)
X = onp.linspace(-1, 1, 16, dtype="f4").reshape(4, 4)


class Timer:
    """Ctrl-C after a while, unless the block ends before."""

    armed = False

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        Timer.armed = True
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        Timer.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)


def interrupt(number, frame):
    if Timer.armed:
        Timer.armed = False
        raise KeyboardInterrupt


def on_all(f):
    """A function of one array, for all devices."""
    return weft.jit(f) if DEVICES == 1 else weft.pmap(lambda x: lax.psum(f(x), "i") / DEVICES, "i")


def of_all(x):
    """One array, or one for each device."""
    return x if DEVICES == 1 else onp.stack([x] * DEVICES)


def chain(constants, np):
    """A function of many operations, whose compilation takes a while."""

    def f(x):
        for c in constants:
            x = np.sin(x @ x + c) * np.cos(x)
        return x

    return f


def looped(count):
    """A function that takes a while to run."""
    return lambda x: lax.fori_loop(0, count, lambda i, x: np.tanh(x @ x), x)


def check_small(anew):
    if anew:
        c = RNG.random()
        onp.testing.assert_allclose(on_all(lambda x: x * c + 1)(of_all(X)), of_all(X * c + 1), 1e-5)
    onp.testing.assert_allclose(known(of_all(X)), of_all(3 * X), 1e-6)
    onp.testing.assert_allclose(weft.grad(lambda x: np.sum(x * x))(np.asarray(X)), 2 * X, 1e-6)


known = on_all(lambda x: 3 * x)
long_one = on_all(looped(1_000))
big = of_all(onp.eye(128, dtype="f4"))
wide = weft.jit(lambda x: np.sum(np.tanh(np.tanh(np.tanh(x)))))
flat = onp.ones(500_000, "f4")
signal.signal(signal.SIGALRM, interrupt)
begun = time.perf_counter()
onp.asarray(on_all(chain([RNG.random() for _ in range(6)], np))(of_all(X)))
limits = {"compiling": time.perf_counter() - begun, "running": 0.01, "waiting": 0.05}
right_long, right_wide = onp.asarray(long_one(big)), float(wide(flat))
check_small(True)
state = current.trace, thread.key
hits = Counter()
rounds = 0
while sum(hits.values()) < COUNT or len(hits) < len(limits):
    moment = tuple(limits)[rounds % 3]
    rounds += 1
    constants = [RNG.random() for _ in range(6)]
    compiled = on_all(chain(constants, np))
    try:
        with Timer(RNG.uniform(0.0002, limits[moment])):
            if moment == "compiling":
                onp.asarray(compiled(of_all(X)))
            elif moment == "running":
                while True:
                    wide(flat), known(of_all(X))
            else:
                for _ in range(3):
                    weft.block_until_ready(long_one(big))
    except KeyboardInterrupt:
        hits[moment] += 1
    assert (current.trace, thread.key) == state, moment
    check_small(rounds % 5 == 0)
    if moment == "compiling" and rounds % 8 == 1:
        want = of_all(chain(constants, onp)(X))
        onp.testing.assert_allclose(compiled(of_all(X)), want, atol=1e-4)
    elif moment == "running":
        assert float(wide(flat)) == right_wide
    elif moment == "waiting":
        onp.testing.assert_array_equal(long_one(big), right_long)
sys.stdout.write(f"{dict(hits)}\n")
