"""Threads that share NumPy's work: each part is done once, by any, and nothing waits for ever."""

import gc
import os
import threading
import time
import weakref

import numpy as np
import pytest

import weft.numpy as wnp
from weft.core import host_threads
from weft.core.host_threads import LEAST, PART, HostThreads, in_parts, share


@pytest.fixture(autouse=True, scope="module")
def three():
    """Three threads, however many cores there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_threads, "usable_cores", lambda: 3)
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.setattr(host_threads, "threads", HostThreads())
        yield


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_each_part_is_done_once(count: int):
    done: list[int] = []
    share(done.append, count)
    assert sorted(done) == list(range(count))


def test_parts_run_side_by_side():
    meeting = threading.Barrier(3, timeout=20)  # breaks unless three threads come
    share(lambda i: meeting.wait(), 3)


def test_the_caller_does_what_nobody_else_is_free_for():
    free, begun = threading.Event(), threading.Semaphore(0)

    def wait(i: int) -> None:
        begun.release()
        free.wait(20)

    busy = threading.Thread(target=share, args=(wait, 3))
    busy.start()
    assert all(begun.acquire(timeout=20) for _ in range(3))
    done: list[int] = []
    share(lambda i: done.append(threading.get_ident()), 5)
    free.set()
    busy.join()
    assert done == [threading.get_ident()] * 5


@pytest.mark.parametrize("of_caller", [True, False])
def test_an_error_of_a_part_reaches_the_caller(of_caller: bool):
    caller, meeting = threading.get_ident(), threading.Barrier(2, timeout=20)

    def part(i: int) -> None:
        meeting.wait()  # one part each
        if (threading.get_ident() == caller) is of_caller:
            raise ValueError(f"part {i}")

    with pytest.raises(ValueError, match="part"):
        share(part, 2)
    test_each_part_is_done_once(20)  # and the threads serve on


def test_what_a_job_holds_dies_with_it():
    class Held:
        def __call__(self, i: int) -> None:
            time.sleep(0.001)  # both threads get some

    held = Held()
    dead = weakref.ref(held)
    share(held, 6)
    del held
    for _ in range(200):  # a thread that came too late for a part may hold it a moment longer
        if dead() is None:
            break
        time.sleep(0.01)
    assert dead() is None


def test_no_more_threads_than_openmp_may_have(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = HostThreads()
    alone.start()
    assert alone.count == 0
    monkeypatch.setenv(
        "OMP_NUM_THREADS", "2,1"
    )  # one for each level of nesting: nothing is bounded
    monkeypatch.setattr(host_threads._thread, "start_new_thread", _none_left)
    alone.start()
    assert alone.count == 0


def _none_left(*args: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    share(lambda i: None, 3)
    child = os.fork()
    if not child:
        try:
            meeting = threading.Barrier(3, timeout=20)
            share(lambda i: meeting.wait(), 3)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SIZES = [LEAST, LEAST + 1, 3 * PART - 1, 5 * PART + 12345]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [np.exp, np.sqrt, np.fmod], ids=lambda f: f.__name__)
def test_parts_make_the_whole(function: np.ufunc, size: int):
    x = np.linspace(-3, 50, size, dtype="float32")
    operands = [x, x[::-1].copy()][: function.nin]
    with np.errstate(all="ignore"):
        expected = function(*operands)
        result = in_parts(function, x.shape, x.dtype)(*operands)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == np.float32


def test_numbers_and_what_is_not_contiguous():
    x = np.linspace(-3, 3, 2 * LEAST, dtype="float32").reshape(2, -1)
    fmod = in_parts(np.fmod, x.shape, x.dtype)
    np.testing.assert_array_equal(fmod(x, np.float32(0.7)), np.fmod(x, np.float32(0.7)))
    np.testing.assert_array_equal(fmod(np.float32(0.7), x + 9), np.fmod(np.float32(0.7), x + 9))
    np.testing.assert_array_equal(fmod(x, x[:1] + 9), np.fmod(x, x[:1] + 9))
    every_other = x[:, ::2]
    sines = in_parts(np.sin, every_other.shape, x.dtype)(every_other)
    np.testing.assert_array_equal(sines, np.sin(every_other))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_arrays_are_shared(name: str, monkeypatch: pytest.MonkeyPatch):
    jobs: list[int] = []
    original = host_threads.share
    monkeypatch.setattr(
        host_threads, "share", lambda part, n: (jobs.append(n), original(part, n))[1]
    )
    x = np.linspace(-9, 9, 5 * PART + 1, dtype="float32").reshape(1, -1, 1)
    result = getattr(wnp, name)(wnp.asarray(x))
    np.testing.assert_array_equal(result, getattr(np, name)(x))
    assert jobs == [6]
    getattr(wnp, name)(wnp.asarray(x[:, : LEAST - 1]))
    assert jobs == [6]


def test_threads_and_collections_side_by_side():
    """Several threads share work at once, while another one collects."""
    x = np.linspace(-9, 9, LEAST + 5, dtype="float32")
    expected, stop = np.sin(x), threading.Event()
    wrong: list[str] = []

    def compute() -> None:
        kernel = in_parts(np.sin, x.shape, x.dtype)
        for _ in range(20):
            if not np.array_equal(kernel(x), expected):
                wrong.append("values")

    def collect() -> None:
        while not stop.wait(0.005):
            gc.collect(0)

    collector = threading.Thread(target=collect)
    workers = [threading.Thread(target=compute) for _ in range(4)]
    for t in (collector, *workers):
        t.start()
    for t in workers:
        t.join()
    stop.set()
    collector.join()
    assert not wrong
