"""Threads that share NumPy's work on one large array. Knows neither arrays nor primitives.

NumPy lets other threads run while it computes, and computes in the calling thread. What takes it
several times as long as reading the memory does, an exponential or a sine, is cut into parts.
Each thread takes the next part as it becomes free, the calling one too: where no other core is idle
that one does it all, and waits at most for a part that another has begun.
"""

import _thread
import math
import os
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np

from .quiet import quiet_runner

PART = 1 << 17
"""The number of elements of a part: 25 to 50 µs of work, and to wake a thread takes about 20."""

LEAST = 2 * PART
"""The number of elements from which on work is shared."""

_MOST = 8
"""The threads that share one array, the calling one counted."""

Part = Callable[[int], object]
"""Does the part of a number, and leaves its result where the caller will look."""

Ended = SimpleQueue[tuple[int, BaseException | None]]
"""The ends of a job in each of its threads: the number of parts done, and the error raised."""


class HostThreads:
    """The threads, which begin with the first job and wait for more, and their queue of jobs."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[Part, Iterator[int], Ended]] = SimpleQueue()
        self.count = 0
        self.started = False

    def start(self) -> None:
        """Starts the threads: one for each usable core but one, which is the calling thread's.

        `OMP_NUM_THREADS` bounds them, as it does those of BLAS.
        """
        self.started = True
        bound = os.environ.get("OMP_NUM_THREADS", "")
        most = min(usable_cores(), int(bound) if bound.isdecimal() else _MOST, _MOST)
        while self.count < most - 1:
            try:
                _thread.start_new_thread(quiet_runner(), (serve, self.jobs))
            except RuntimeError:  # the process may have no more threads, or is about to end
                return
            self.count += 1


threads = HostThreads()
if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=lambda: threads.__init__())  # type: ignore[misc]


def usable_cores() -> int:
    """The number of cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(usable(0)) if usable else os.cpu_count() or 1


def serve(jobs: SimpleQueue[tuple[Part, Iterator[int], Ended]]) -> None:
    """Takes parts of one job after the other, for ever."""
    while True:
        part, numbers, ended = jobs.get()
        done, error = 0, None
        try:
            for i in numbers:
                part(i)
                done += 1
        except BaseException as raised:
            error = raised
        del part  # and with it the arrays, before the caller goes on
        ended.put((done, error))
        del numbers, ended, error


def share(part: Part, count: int) -> None:
    """Does the parts 0 to `count` - 1, each once, in this thread and in others that are free.

    Raises:
      BaseException: the first error of a part; others may still be under way then.
    """
    if not threads.started:
        threads.start()
    numbers, ended = iter(range(count)), Ended()
    for _ in range(min(threads.count, count - 1)):
        threads.jobs.put((part, numbers, ended))
    for i in numbers:  # a range's iterator gives each number to one thread only
        part(i)
        count -= 1
    while count:
        done, error = ended.get()
        if error is not None:
            raise error
        count -= done


def in_parts(
    function: np.ufunc, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Callable[..., Any]:
    """A NumPy function, in parts of its result, whose shape and dtype are given.

    What isn't contiguous is left to NumPy as a whole, and so are operands of several shapes, but
    for numbers.
    """
    size = math.prod(shape)

    def run(*hosts: Any) -> Any:
        if not all([h.flags.c_contiguous and h.shape in ((), shape) for h in hosts]):
            return function(*hosts)
        out = np.empty(shape, dtype)
        rows = [h.reshape(-1) if h.ndim else h for h in (*hosts, out)]

        def part(i: int) -> None:
            here = slice(i * PART, (i + 1) * PART)
            *operands, result = [row[here] if row.ndim else row for row in rows]
            function(*operands, out=result)

        share(part, -(-size // PART))
        return out

    return run
