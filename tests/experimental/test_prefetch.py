"""`prefetch_to_device`: what comes out, in which order, and how much has been asked for by then."""

import itertools
import subprocess
import sys
import threading
import time
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.experimental.prefetch import prefetch_to_device
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

pytestmark = pytest.mark.devices(8)


def batches(count=None):
    for i in itertools.count() if count is None else range(count):
        yield {"x": onp.full((8, 3), i, onp.float32), "y": (onp.arange(8) + i,)}


def over_all():
    return NamedSharding(Mesh(weft.devices()[:8], ("d",)), P("d"))


PLACES = {
    "nowhere": {},
    "device": lambda: {"sharding": weft.devices()[3]},
    "one device": lambda: {"sharding": SingleDeviceSharding(weft.devices()[3])},
    "sharding": lambda: {"sharding": over_all()},
    "tree": lambda: {"sharding": {"x": over_all(), "y": weft.devices()[1]}},
    "devices": lambda: {"devices": weft.devices()[:8]},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_the_batches_are_those_of_the_iterator(place, size):
    options = PLACES[place]() if place != "nowhere" else {}
    got = list(prefetch_to_device(batches(7), size, **options))
    assert len(got) == 7
    for batch, expected in zip(got, batches(7), strict=True):
        assert isinstance(batch["x"], weft.Array)
        onp.testing.assert_array_equal(batch["x"], expected["x"])
        onp.testing.assert_array_equal(batch["y"][0], expected["y"][0])


def test_where_they_are():
    def first(**options):
        return next(prefetch_to_device(batches(), **options))["x"]

    assert first().devices() == {weft.devices()[0]}
    assert not first().committed
    assert first(sharding=weft.devices()[3]).device == weft.devices()[3]
    assert first(sharding=over_all()).sharding == over_all()
    rows = first(devices=weft.devices()[:8][::-1])
    assert [s.device for s in rows.addressable_shards] == weft.devices()[:8][::-1]
    assert rows.addressable_shards[2].data.shape == (1, 3)


def test_pmap_takes_them_as_they_are():
    total = weft.pmap(lambda b: weft.lax.psum(np.sum(b["x"]), "i"), axis_name="i")
    placed = prefetch_to_device(batches(4), devices=weft.devices()[:8])
    assert [float(total(b)[0]) for b in placed] == [0, 24, 48, 72]


def test_jit_takes_them_as_they_are():
    total = weft.jit(lambda b: np.sum(b["x"]))
    assert [float(total(b)) for b in prefetch_to_device(batches(4), sharding=over_all())] == [
        0, 24, 48, 72,
    ]  # fmt: skip


def until(condition):
    """Waits until something is so."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def prefetching():
    """How many threads are at work."""
    return sum(t.name == "weft-prefetch" for t in threading.enumerate())


@pytest.mark.parametrize("size", [1, 2, 4])
def test_as_many_are_made_as_may_wait(size):
    asked = []

    def watched():
        for i in range(10):
            asked.append(i)
            yield onp.float32(i)

    ahead = prefetch_to_device(watched(), size)
    for i in range(10):
        until(lambda: len(asked) == min(i + size, 10))  # noqa: B023
        assert ahead.work.done.qsize() <= size
        assert next(ahead) == i
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(ahead)
    until(lambda: not prefetching())
    assert len(asked) == 10


@pytest.mark.parametrize("size", [1, 2, 5])
def test_an_error_comes_after_the_batches_before_it(size):
    def failing():
        yield onp.float32(1)
        yield onp.float32(2)
        raise OSError("the disk is gone")

    ahead = prefetch_to_device(failing(), size)
    assert next(ahead) == 1
    assert next(ahead) == 2
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)


def test_a_batch_that_cannot_be_put_is_an_error_at_its_step():
    good, bad = onp.ones((8, 2)), onp.ones((7, 2))
    for options, message in [
        ({"devices": weft.devices()[:8]}, r"batch\['a'\] has the shape \(7, 2\)\n  fix: x.reshape"),
        ({"sharding": over_all()}, "axis 0|divide"),
    ]:
        ahead = prefetch_to_device([{"a": good}, {"a": good}, {"a": bad}], 3, **options)
        next(ahead), next(ahead)
        with pytest.raises(ValueError, match=message):
            next(ahead)


def test_the_iterator_may_reuse_its_memory():
    def reusing():
        memory = onp.zeros((8, 1000), onp.float32)
        for i in range(20):
            memory[:] = i
            yield memory

    for place in PLACES:
        if place != "tree":
            options = PLACES[place]() if place != "nowhere" else {}
            for i, batch in enumerate(prefetch_to_device(reusing(), 4, **options)):
                assert (onp.asarray(batch) == i).all(), place


def endless(closed):
    try:
        yield from batches()
    finally:
        closed.append(threading.current_thread().name)


def test_leaving_a_loop_ends_the_thread():
    closed = []
    for i, batch in enumerate(prefetch_to_device(endless(closed), 3, sharding=over_all())):
        last = weakref.ref(batch["x"].addressable_data(0))
        if i == 5:
            break
    del batch
    until(lambda: closed and not prefetching())
    assert closed == ["weft-prefetch"]
    assert last() is None


def test_close_waits_for_the_thread_and_forgets_the_batches():
    closed = []
    ahead = prefetch_to_device(endless(closed), 3)
    next(ahead)
    ahead.close()
    assert closed == ["weft-prefetch"]
    assert ahead.work.done.empty()
    assert not prefetching()
    with pytest.raises(StopIteration):
        next(ahead)
    ahead.close()


def test_an_iterator_that_is_never_used():
    closed = []
    prefetch_to_device(endless(closed))
    until(lambda: closed and not prefetching())


def test_the_switches_of_the_caller_are_those_of_the_thread():
    with weft.enable_x64(True):
        ahead = prefetch_to_device([onp.float64(1)])
        assert next(ahead).dtype == onp.float64
    assert next(prefetch_to_device([onp.float64(1)])).dtype == onp.float32


ENDS = {
    "with batches left": "next(ahead)",
    "in the midst of copying": "big = [next(ahead) for _ in range(3)]",
    "with an iterator that waits": "stuck = prefetch_to_device(iter(threading.Event().wait, 1))",
    "by an exception": "next(ahead); raise SystemExit(0)",
    "in a forked child": """
if True:
    pid = os.fork()
    if not pid:
        try:
            while True:
                next(ahead)
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 1)
    assert os.waitpid(pid, 0)[1] == 0
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_process(end):
    text = f"""
import itertools, os, threading
import numpy as onp
import weft
from weft.experimental.prefetch import prefetch_to_device
weft.devices()
batch = onp.ones((8, 500_000), onp.float32)
ahead = prefetch_to_device(itertools.repeat(batch), 3, devices=weft.devices())
{ENDS[end]}
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


def test_arrays_of_weft_and_numbers():
    there = weft.device_put(onp.arange(3.0), weft.devices()[2])
    (batch,) = prefetch_to_device([{"a": there, "b": 1, "c": [2.5, None]}])
    assert batch["a"].device == weft.devices()[2]
    assert (int(batch["b"]), float(batch["c"][0]), batch["c"][1]) == (1, 2.5, None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"size": 0}, ValueError, "size must be an int of at least 1; got 0"),
        ({"size": 2.0}, ValueError, "got 2.0"),
        ({"devices": ["cpu"]}, TypeError, "expected devices, of devices.*; got 'cpu'"),
        ({"devices": [], "sharding": P()}, ValueError, "both sharding and devices"),
        ({"devices": []}, ValueError, "at least one device"),
    ],
)
def test_wrong_options_are_refused_at_once(options, error, message):
    with pytest.raises(error, match=message):
        prefetch_to_device(batches(), **options)


def test_what_is_no_iterator_is_refused_at_once():
    with pytest.raises(TypeError, match="not iterable"):
        prefetch_to_device(3)
