"""make_mesh: devices row by row; what can't be is refused."""

import numpy as np
import pytest

import weft

DEVICES = weft.devices()
pytestmark = pytest.mark.devices(8)


@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 1), (3,)])
def test_devices_are_counted_row_by_row(shape):
    names = "abc"[: len(shape)]
    mesh = weft.make_mesh(shape, tuple(names))
    count = int(np.prod(shape))
    assert list(mesh.devices.flat) == DEVICES[:count]
    assert mesh.shape == dict(zip(names, shape, strict=True))
    assert mesh.device_ids.tolist() == np.arange(count).reshape(shape).tolist()


def test_devices_that_are_given():
    chosen = DEVICES[:4][::-1]
    assert list(weft.make_mesh((2, 2), ("a", "b"), devices=chosen).devices.flat) == chosen
    assert weft.make_mesh((4,), "a", devices=chosen).axis_names == ("a",)


def test_a_mesh_is_a_block_in_which_specs_do():
    outer, inner = weft.make_mesh((8,), "x"), weft.make_mesh((4,), "x")
    double = lambda: weft.jit(lambda x: 2 * x, out_shardings=weft.sharding.PartitionSpec("x"))  # noqa: E731
    with outer:
        assert len(double()(np.ones(8)).sharding.mesh.devices) == 8
        with inner:
            assert len(double()(np.ones(8)).sharding.mesh.devices) == 4
        assert len(double()(np.ones(8)).sharding.mesh.devices) == 8
    with pytest.raises(ValueError, match=r"(?s)no mesh.*with mesh"):
        double()(np.ones(8))


@pytest.mark.parametrize(
    ("shape", "names", "words"),
    [((2, 8), ("a", "b"), ["(2, 8)", "16 devices", "8"]), ((2, 2), ("a",), ["1 names", "2 axes"])],
)
def test_refused(shape, names, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        weft.make_mesh(shape, names)
    assert all(word in str(caught.value) for word in words), caught.value
