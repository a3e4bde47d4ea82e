"""What is in scope where programs are traced: named axes and marks, parts of their key."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from weft.config import callbacks, config, enable_x64, thread
from weft.scope import DEVICES, MESH, in_scope, named_axis, on_devices, within_axes


def test_named_axes_are_in_the_key_and_not_in_that_of_switches():
    key, switches = thread.key, thread.switches
    with named_axis("i", 4):
        assert thread.axes == (("i", 4),)
        assert thread.key is not key
        assert thread.switches is switches
        inside = thread.key
        with named_axis("j", 2):
            assert thread.axes == (("i", 4), ("j", 2))
        assert thread.key is inside
        with named_axis("i", 3):  # hides the outer one
            assert thread.axes == (("i", 3),)
        assert thread.key is inside
    assert thread.key is key
    assert thread.axes == ()
    with named_axis("i", 4):
        assert thread.key is inside


def test_named_axes_and_switches_nest_either_way():
    key = thread.key
    with named_axis("i", 4), enable_x64(True):
        both = thread.key
        assert thread.x64
        with named_axis("j", 2):
            config.update("default_matmul_precision", "high")
            assert thread.key[-1] == (("i", 4), ("j", 2))
            assert "high" in thread.key
            assert "high" in thread.switches
            config.update("default_matmul_precision", None)
        assert thread.key is both
    with enable_x64(True), named_axis("i", 4):
        assert thread.key is both
    assert thread.key is key


def test_naming_an_axis_calls_nothing_and_is_seen_in_this_thread_only():
    calls = []
    config.on_change(lambda: calls.append(1))
    try:
        with named_axis("i", 4), ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: thread.axes).result() == ()
    finally:
        callbacks.pop()
    assert calls == []


def test_a_name_that_can_not_be_a_key_changes_nothing():
    key = thread.key
    with pytest.raises(TypeError), named_axis(["i"], 4):
        pass
    assert thread.key is key
    assert thread.axes == ()


def test_marks_stand_for_something_else():
    key = thread.key
    assert in_scope(DEVICES, 0) == 0
    with named_axis(DEVICES, 1), named_axis("i", 4):
        assert in_scope(DEVICES, 0) == 1
        assert in_scope(MESH) is None
        assert thread.key is not key
        with named_axis(DEVICES, 2):
            assert in_scope(DEVICES) == 2
        assert in_scope(DEVICES) == 1
    assert thread.key is key


def test_a_function_runs_within_the_axes_of_maps():
    key = thread.key

    def inside(x, y):
        return in_scope(DEVICES), [a for a in thread.axes if a[0] != DEVICES], x, y

    assert on_devices([("i", 4), ("j", 2)], inside, 5, 6) == (1, [("i", 4), ("j", 2)], 5, 6)
    assert on_devices([("i", 4)], on_devices, [("i", 3)], inside, 5, 6) == (2, [("i", 3)], 5, 6)
    assert within_axes((), inside, 5, 6) == (None, [], 5, 6)
    assert thread.key is key


def test_an_error_within_axes_leaves_the_scope_as_it_was():
    key = thread.key
    with pytest.raises(ZeroDivisionError):
        on_devices([("i", 4), ("j", 2)], lambda: 1 // 0)
    assert thread.key is key
