"""How arrays lie on several devices; arrays that do are in `sharded_on_four_devices.py`."""

import numpy as np
import pytest

import weft
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

MESH = Mesh(np.arange(6).reshape(2, 3), ("a", "b"))  # any values will do for devices


@pytest.mark.parametrize(
    "spec", [P(), P("a"), P("b"), P(None, "b"), P("b", "a"), P(("a", "b")), P(("b", "a"), None)]
)
def test_shards_make_up_the_array(spec):
    x = np.arange(12 * 6).reshape(12, 6)
    sharding = NamedSharding(MESH, spec)
    times = np.zeros(x.shape, int)
    for index in sharding.indices(x.shape):
        assert x[index].shape == sharding.shard_shape(x.shape)
        times[index] += 1
    split = int(np.prod([MESH.shape[n] for part in spec for n in np.atleast_1d(part) if n]))
    assert (times == 6 // split).all()
    assert sharding.is_fully_replicated is (split == 1)
    assert list(sharding.devices_indices_map(x.shape)) == [0, 1, 2, 3, 4, 5]


def test_parts_are_numbered_row_by_row():
    starts = lambda spec: [i[0].start for i in NamedSharding(MESH, spec).indices((6,))]  # noqa: E731
    assert starts(P(("a", "b"))) == [0, 1, 2, 3, 4, 5]
    assert starts(P(("b", "a"))) == [0, 2, 4, 1, 3, 5]


def test_equal_shardings():
    assert NamedSharding(MESH, P("a")) == NamedSharding(MESH, P(("a",), None))
    assert hash(NamedSharding(MESH, P("a"))) == hash(NamedSharding(MESH, P(("a",), None)))
    assert NamedSharding(MESH, P("a")) != NamedSharding(MESH, P("b"))
    assert SingleDeviceSharding(1) == SingleDeviceSharding(1)
    assert SingleDeviceSharding(1) != NamedSharding(Mesh([1], "x"), P())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mesh([1, 1], "x"), ["twice"]),
        (lambda: Mesh([1, 2], ("x", "y")), ["2 names", "1 axes"]),
        (lambda: Mesh([[1], [2]], ("x", "x")), ["repeated"]),
        (lambda: NamedSharding(MESH, P("c")), ["'c'", "a=2, b=3"]),
        (lambda: NamedSharding(MESH, P("a", "a")), ["once"]),
        (lambda: list(NamedSharding(MESH, P("a")).indices((3,))), ["length 3", "2 parts"]),
        (lambda: list(NamedSharding(MESH, P(None, "a")).indices((4,))), ["2 entries", "1 axes"]),
    ],
)
def test_refused(make, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_one_device():
    device = weft.devices()[0]
    x = weft.device_put_sharded([np.ones(2)], [device])
    assert x.devices() == {device}
    assert x.committed
    assert x.is_fully_replicated
    assert weft.numpy.ones(2).sharding == SingleDeviceSharding(device)
    assert weft.numpy.ones(2).is_fully_replicated
