"""Arrays of devices for meshes."""

from dataclasses import dataclass

import pytest

import weft
from weft.experimental import mesh_utils


@dataclass(frozen=True)
class FakeDevice:
    """What the order of devices is decided by."""

    id: int
    process_index: int


@pytest.mark.devices(8)
def test_all_devices_in_their_order():
    for shape in [(8,), (2, 4), (2, 2, 2), (8, 1)]:
        found = mesh_utils.create_device_mesh(shape)
        assert found.shape == shape
        assert [d.id for d in found.flat] == list(range(8))
        weft.sharding.Mesh(found, tuple("abc"[: len(shape)]))


@pytest.mark.devices(8)
def test_some_devices():
    chosen = weft.devices()[4:6]
    assert [d.id for d in mesh_utils.create_device_mesh((2,), chosen)] == [4, 5]


def test_devices_of_several_processes():
    devices = [FakeDevice(i, (3, 1)[i // 4]) for i in range(8)]
    mesh = mesh_utils.create_hybrid_device_mesh
    ids = [[d.id for d in row] for row in mesh((2, 2), (2, 1), devices)]
    assert ids == [[4, 5], [6, 7], [0, 1], [2, 3]]
    ids = [[d.id for d in row] for row in mesh((2, 2), (1, 2), devices)]
    assert ids == [[4, 5, 0, 1], [6, 7, 2, 3]]
    ids = [d.id for d in mesh((4,), (2,), devices, should_sort_granules_by_key=False)]
    assert ids == list(range(8))


WRONG = {
    "devices": (lambda d: mesh_utils.create_device_mesh((3,), d), r"\(3,\) is 3 devices; got 4"),
    "axes": (lambda d: mesh_utils.create_hybrid_device_mesh((4,), (1, 1), d), "one entry for each"),
    "processes": (
        lambda d: mesh_utils.create_hybrid_device_mesh((2,), (2,), d), "the devices belong to 1"),
    "in a process": (
        lambda d: mesh_utils.create_hybrid_device_mesh((2,), (1,), d), "2 devices; got 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_numbers_that_do_not_fit(name):
    function, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        function([FakeDevice(i, 0) for i in range(4)])
