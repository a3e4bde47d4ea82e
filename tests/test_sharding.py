"""Meshes and shardings as values: what is equal, what is refused, whose devices they are."""

from types import SimpleNamespace

import numpy as np
import pytest

import weft
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

pytestmark = pytest.mark.devices(8)


def grid():
    return Mesh(np.array(weft.devices()[:8]).reshape(2, 4), ("a", "b"))


@pytest.mark.parametrize(
    ("spec", "other", "equal"),
    [
        (P("a"), P("a", None), True),
        (P("a"), P(("a",)), True),
        (P(), P(None, None), True),
        (P("a"), P(None, "a"), False),
        (P(("a", "b")), P(("b", "a")), False),
        (P(("a", "b")), P("a", "b"), False),
        (P("a"), P("b"), False),
        (P("a"), P(), False),
    ],
)
def test_shardings_are_equal_if_they_divide_alike(spec, other, equal):
    first, second = NamedSharding(grid(), spec), NamedSharding(grid(), other)
    assert (first == second) == equal
    assert (hash(first) == hash(second)) or not equal
    indices = [s.devices_indices_map((8, 8)) for s in (first, second)]
    assert (indices[0] == indices[1]) == equal


def test_an_equal_sharding_is_no_reason_to_trace_again():
    traced = []
    f = weft.jit(lambda x: (traced.append(x), x + 1)[1])
    for spec in (P("a"), P("a", None), P(("a",), None)):
        f(weft.device_put(np.ones((4, 4), "float32"), NamedSharding(grid(), spec)))
    assert len(traced) == 1


def test_meshes_are_equal_by_devices_and_names():
    assert grid() == grid()
    assert hash(grid()) == hash(grid())
    assert grid() != Mesh(grid().devices, ("a", "c"))
    assert grid() != Mesh(grid().devices[::-1], ("a", "b"))
    assert grid() != Mesh(grid().devices.reshape(4, 2), ("a", "b"))


def test_a_mesh_with_a_device_twice_is_refused():
    first, second = weft.devices()[:2]
    with pytest.raises(ValueError, match="Mesh: a device is repeated"):
        Mesh([first, second, first], "x")


def test_a_mesh_names_each_axis_once():
    with pytest.raises(ValueError, match="repeated"):
        Mesh(np.array(weft.devices()[:4]).reshape(2, 2), ("a", "a"))
    with pytest.raises(ValueError, match="one name for each axis"):
        Mesh(np.array(weft.devices()[:4]).reshape(2, 2), ("a",))


def devices_of(*processes):
    """Devices of several processes, as process 0 sees them."""
    client = SimpleNamespace(process_index=0)
    return [
        SimpleNamespace(process_index=p, client=client, id=n, platform="cpu")
        for n, p in enumerate(processes)
    ]


class Device(SimpleNamespace):
    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("processes", "here"), [((0, 0), 2), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]
)
def test_devices_of_other_processes_are_not_addressable(processes, here):
    devices = [Device(**vars(d)) for d in devices_of(*processes)]
    sharding = NamedSharding(Mesh(devices, "x"), P("x"))
    assert sharding.is_fully_addressable == (here == 2)
    assert len(sharding.addressable_devices) == here


def test_a_spec_names_each_axis_of_the_mesh_once():
    for spec in (P("a", "a"), P(("a", "b"), "a"), P(("b", "b"))):
        with pytest.raises(ValueError, match="can be named once"):
            NamedSharding(grid(), spec)


def test_equivalent_shardings_have_the_same_parts_on_the_same_devices():
    turned = Mesh(grid().devices[:, ::-1], ("a", "b"))  # copies of a part in another order
    first, second = NamedSharding(grid(), P("a")), NamedSharding(turned, P("a"))
    assert first.is_equivalent_to(second, 1)
    assert first != second
    assert not NamedSharding(grid(), P("b")).is_equivalent_to(NamedSharding(turned, P("b")), 1)
    assert not first.is_equivalent_to(NamedSharding(grid(), P("b")), 1)


@pytest.mark.parametrize(
    "spec", [P(None, None, ("a", "b")), P(None, "a", "b"), P("a", "b")], ids=str
)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fft2", "rfft2"])
def test_transforms_of_divided_axes_are_numpys(name, spec):
    x = np.random.RandomState(0).randn(4, 8, 16).astype(np.float32)
    expected = getattr(np.fft, name)(x)
    where = NamedSharding(grid(), spec)
    transform = getattr(weft.numpy.fft, name)
    divided = weft.device_put(x, where)
    for run in (transform, weft.jit(transform)):
        np.testing.assert_allclose(run(divided), expected, rtol=1e-5, atol=1e-4)
    if expected.shape == x.shape:  # the result's axis is divided too
        out = weft.jit(transform, in_shardings=where, out_shardings=where)(divided)
        assert out.sharding == where
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", [None, "device"])
def test_the_memory_of_a_sharding_is_the_devices_own(kind):
    device = weft.devices()[0]
    one = weft.sharding.SingleDeviceSharding(device, memory_kind=kind)
    assert one == weft.sharding.SingleDeviceSharding(device)
    assert NamedSharding(grid(), P("a"), memory_kind=kind) == NamedSharding(grid(), P("a"))
    assert device.addressable_memories() == [device.default_memory()]
    assert device.default_memory().device is device


def test_another_memory_is_refused():
    for make in (
        lambda: weft.sharding.SingleDeviceSharding(weft.devices()[0], memory_kind="pinned_host"),
        lambda: NamedSharding(grid(), P(), memory_kind="pinned_host"),
    ):
        with pytest.raises(ValueError, match=r"must be None or 'device'.*got 'pinned_host'"):
            make()


def test_the_parts_of_this_process():
    sharding = NamedSharding(grid(), P("a", "b"))
    indices = sharding.addressable_devices_indices_map((4, 8))
    assert indices == sharding.devices_indices_map((4, 8))  # there is one process
    assert list(indices) == [*sharding._addressable_device_assignment] == weft.devices()[:8]
    assert indices[weft.devices()[5]] == (slice(2, 4), slice(2, 4))
