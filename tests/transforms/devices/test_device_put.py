"""device_put, device_get, block_until_ready; several devices are in `test_placement.py`."""

import numpy as np
import pytest

import weft


def test_device_put_and_get():
    tree = {"a": np.ones(3), "b": [1, 2.5, None, True], "c": np.arange(2, dtype=np.int8)}
    put = weft.device_put(tree)
    assert isinstance(put["a"], weft.Array)
    assert put["a"].dtype == np.float32
    assert put["b"][2] is None
    assert not put["a"].committed
    got = weft.device_get(put)
    assert type(got["a"]) is np.ndarray
    np.testing.assert_array_equal(got["c"], [0, 1])
    assert got["c"].dtype == np.int8
    assert weft.device_get({"x": 3, "t": "text"}) == {"x": 3, "t": "text"}
    traced = []
    weft.jit(lambda x: traced.append(weft.device_get(x) is x) or x)(1.0)
    assert traced == [True]  # a tracer passes through


def test_device_put_copies_numpy_memory():
    x = np.ones(3, np.float32)
    for device in (None, weft.devices()[0]):
        y = weft.device_put(x, device)
        x[0] = 5.0
        assert np.asarray(y)[0] == 1.0
        x[0] = 1.0


def test_what_device_get_gives_does_not_write_into_the_array():
    y = weft.device_put(np.ones(3, np.float32))
    got = weft.device_get(y)
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 2.0


def test_placing():
    device = weft.devices()[0]
    y = weft.device_put(np.ones(2, np.float32), device)
    assert y.committed
    assert y.device is device
    assert y.devices() == {device}
    assert weft.device_put(y).committed
    z = y + 1.0
    assert z.committed
    with pytest.raises(TypeError, match="expected a device, one of devices"):
        weft.device_put(np.ones(2), "cpu")
    with pytest.raises(TypeError, match="device_put"):
        weft.device_put({"x": "text"})


def test_inside_transformations():
    device = weft.devices()[0]
    f = lambda x: weft.device_put(x * 2.0, device)  # noqa: E731
    assert float(weft.grad(f)(1.0)) == 2.0
    assert float(weft.jit(f)(1.0)) == 2.0


def test_block_until_ready():
    tree = {"a": weft.jit(lambda x: x * 2)(1.0), "b": 3, "c": None}
    assert weft.block_until_ready(tree) is tree
    assert weft.jit(lambda x: weft.block_until_ready(x) * 2)(1.0).block_until_ready() == 2.0


def test_counts():
    assert weft.device_count() == len(weft.devices())
    assert weft.local_device_count() == len(weft.local_devices())
    assert weft.process_count() == 1
    assert weft.process_indices() == [0]
    assert weft.process_index() == 0
    assert weft.default_backend() == weft.devices()[0].platform


def test_of_a_platform():
    backend = weft.default_backend()
    assert weft.devices(backend) == weft.devices(backend=None)
    assert weft.device_count(backend) == len(weft.devices(backend))
    assert weft.local_device_count(backend=backend) == len(weft.local_devices(0, backend))
    assert weft.process_index(backend) == 0
    assert weft.process_count(backend=backend) == 1
    for question in (weft.devices, weft.device_count, weft.process_index, weft.process_count):
        with pytest.raises(RuntimeError, match=r"no platform 'abacus'; this process has: .*cpu"):
            question("abacus")


def test_devices_of_other_processes():
    with pytest.raises(ValueError, match=r"local_devices: process_index .* processes, 1; got 3"):
        weft.local_devices(process_index=3)
    with pytest.raises(ValueError, match=r"local_devices: .*got both"):
        weft.local_devices(process_index=0, host_id=0)
