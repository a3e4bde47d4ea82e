"""`Prefetch`: the order, the end, exceptions, threads, and positions on devices too."""

import json
import threading
import time

import numpy as np
import pytest

from weft import data
from weft.experimental.prefetch import prefetch_to_device


def test_the_examples_come_in_order_and_end():
    before = threading.active_count()
    out = data.Prefetch(3)(range(20))
    assert list(out) == list(range(20))
    assert next(out, "end") == "end"
    out.thread.join(10)
    assert threading.active_count() == before


def test_no_more_are_made_than_wait():
    made = []

    def source():
        for i in range(100):
            made.append(i)
            yield i

    out = data.Prefetch()(source())
    assert next(out) == 0
    for _ in range(400):
        if len(made) == 3:
            break
        time.sleep(0.005)
    assert made == [0, 1, 2]
    out.close()


def test_an_exception_comes_in_its_turn():
    def source():
        yield 1
        yield 2
        raise OSError("gone")

    out = data.Prefetch(5)(source())
    assert [next(out), next(out)] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(out)


def test_sizes():
    for size in (0, 1.5, None):
        with pytest.raises((TypeError, ValueError), match="Prefetch: n_prefetch must be"):
            data.Prefetch(size)


@pytest.mark.parametrize("drawn", [0, 1, 5])
def test_batches_on_devices_have_the_position_of_the_stream(drawn):
    source = data.Arrays(np.arange(40, dtype=np.float32), shuffle=True, seed=1)
    pipeline = data.Serial(source, data.Batch(4))
    batches = prefetch_to_device(pipeline(), 3)
    for _ in range(drawn):
        next(batches)
    state = json.loads(json.dumps(batches.get_state()))
    expected = [np.asarray(x) for (x,) in batches]
    assert len(expected) == 10 - drawn
    again = prefetch_to_device(pipeline(), 2)
    next(again)
    again.set_state(state)
    np.testing.assert_array_equal([np.asarray(x) for (x,) in again], expected)
    assert len(list(again)) == 10, "the next epoch"
    again.close()
    plain = pipeline()
    plain.set_state(state)
    np.testing.assert_array_equal([x for (x,) in plain], expected)


def test_an_iterator_without_a_position_gets_none():
    assert not hasattr(prefetch_to_device(iter([np.ones(2)])), "get_state")
