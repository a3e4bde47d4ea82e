"""Arrays made part by part, on one process; `tests/distributed` has those over several."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

pytestmark = pytest.mark.devices(8)

WHOLE = onp.arange(128.0, dtype=onp.float32).reshape(16, 8)
SPECS = [
    P(),
    P("a"),
    P("b"),
    P(None, "a"),
    P("a", "b"),
    P("b", "a"),
    P(("a", "b")),
    P(None, ("b", "a")),
]


def sharding(spec):
    return NamedSharding(Mesh(onp.array(weft.devices()[:8]).reshape(4, 2), ("a", "b")), spec)


def parts(where, whole=WHOLE):
    """Each part on its device."""
    indices = where.devices_indices_map(whole.shape)
    return [weft.device_put(whole[index], device) for device, index in indices.items()]


MAKERS = {
    "local data": weft.make_array_from_process_local_data,
    "local data, of a shape": lambda s, x: weft.make_array_from_process_local_data(s, x, x.shape),
    "callback": lambda s, x: weft.make_array_from_callback(x.shape, s, lambda i: x[i]),
    "devices": lambda s, x: weft.make_array_from_single_device_arrays(x.shape, s, parts(s, x)),
}


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_the_array_is_that_of_device_put(maker, spec):
    where = sharding(spec)
    x = MAKERS[maker](where, WHOLE)
    onp.testing.assert_array_equal(x, WHOLE)
    assert x.sharding == where
    assert x.type is weft.device_put(WHOLE, where).type  # what programs look up
    onp.testing.assert_array_equal(weft.jit(lambda x: x @ x.T)(x), WHOLE @ WHOLE.T)


@pytest.mark.parametrize("maker", MAKERS)
def test_on_one_device(maker):
    where = SingleDeviceSharding(weft.devices()[3])
    x = MAKERS[maker](where, WHOLE)
    onp.testing.assert_array_equal(x, WHOLE)
    assert x.device == weft.devices()[3]
    onp.testing.assert_array_equal(x + 1, WHOLE + 1)


@pytest.mark.parametrize("maker", ["local data", "callback"])
@pytest.mark.parametrize(
    ("given", "kept"), [("f8", "f4"), ("i8", "i4"), ("c16", "c8"), ("?", "?"), (">f4", "<f4")]
)
def test_dtypes_are_those_of_weft(maker, given, kept):
    x = MAKERS[maker](sharding(P("a")), onp.arange(8).astype(given))
    assert x.dtype == onp.dtype(kept)
    onp.testing.assert_array_equal(x, onp.arange(8).astype(kept))


@pytest.mark.parametrize("maker", ["local data", "callback"])
def test_shapes(maker):
    for shape, spec in [((), P()), ((0, 4), P(None, "a")), ((8, 0), P("a"))]:
        x = MAKERS[maker](sharding(spec), onp.zeros(shape, onp.float32))
        assert x.shape == shape
        assert onp.asarray(x).shape == shape


def test_a_callback_is_called_once_for_each_part():
    asked = []

    def part(index):
        asked.append(index)
        return WHOLE[index]

    weft.make_array_from_callback(WHOLE.shape, sharding(P("b")), part)
    assert asked == [(slice(0, 8), slice(None)), (slice(8, 16), slice(None))]


def test_a_spec_is_of_the_mesh_in_scope():
    with sharding(P()).mesh:
        x = weft.make_array_from_process_local_data(P("a"), WHOLE)
    assert x.sharding == sharding(P("a"))


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize(
    "put",
    [
        lambda x, s: weft.device_put(x, s),
        lambda x, s: weft.device_put({"a": [x]}, s)["a"][0],
        lambda x, s: weft.make_array_from_process_local_data(s, x),
        lambda x, s: weft.make_array_from_callback(x.shape, s, lambda i: x[i]),
        lambda x, s: weft.jit(lambda x: x, in_shardings=s)(x),
        lambda x, s: weft.jit(lambda x: x + 0, in_shardings=s)(x),
    ],
)
def test_the_caller_may_change_his_array_at_once(put, spec):
    """Copying goes on after the function has returned where it can; what is copied is what was."""
    aligned = weft.runtime.aligned_empty((1024, 512), onp.float32)  # XLA could use it in place
    for host in (
        aligned,
        onp.empty((1024, 513), onp.float32)[:, 1:],
        onp.empty((512, 1024), "f").T,
    ):
        host[:] = 1
        x = put(host, sharding(spec))
        host[:] = 2
        assert (onp.asarray(x) == 1).all()
        assert (onp.asarray(x) == 1).all()


def test_copies_of_one_host_array_can_be_donated():
    """On the CPU, devices that have the same part of a host array share memory."""
    everywhere = sharding(P())
    add = weft.jit(lambda x: x + 1, donate_argnums=0, out_shardings=everywhere)
    x = weft.device_put(onp.zeros((512, 512), onp.float32), everywhere)
    for _ in range(4):
        x = add(x)
    for shard in x.addressable_shards:
        assert (onp.asarray(shard.data) == 4).all()


local_data = weft.make_array_from_process_local_data
from_callback = weft.make_array_from_callback
from_arrays = weft.make_array_from_single_device_arrays


def rows():
    return sharding(P("a"))


def test_a_dtype_that_the_parts_have():
    x = from_callback((8,), rows(), lambda i: onp.ones(2, onp.int8), "int8")
    assert x.dtype == onp.int8
    assert from_arrays((16, 8), rows(), parts(rows()), dtype=float).dtype == onp.float32


REFUSED = {
    "another dtype": (
        lambda: from_callback((8,), rows(), lambda i: onp.ones(2, onp.int8), "int16"),
        ValueError,
        "dtype=int16 differs from the dtype of the parts, int8",
    ),
    "another dtype of arrays": (
        lambda: from_arrays((16, 8), rows(), parts(rows()), dtype="int32"),
        ValueError,
        "dtype=int32 differs from the dtype of the parts, float32",
    ),
    "no sharding": (
        lambda: from_callback((8,), "a", None),
        TypeError,
        "expected a sharding; got 'a'",
    ),
    "indivisible": (
        lambda: local_data(rows(), WHOLE[:6]),
        ValueError,
        r"float32\[6,8\]: .* multiple",
    ),
    "a number of axes": (
        lambda: local_data(rows(), WHOLE, (16,)),
        ValueError,
        "as many axes as local_data",
    ),
    "a length": (
        lambda: local_data(rows(), WHOLE, (32, 8)),
        ValueError,
        "length 16 along axis 0; expected 32",
    ),
    "no data": (lambda: local_data(rows(), "text"), TypeError, "local_data"),
    "a part": (
        lambda: from_callback((8,), rows(), lambda i: onp.ones(3)),
        ValueError,
        r"data_callback\(.*shape \(2,\); got \(3,\)",
    ),
    "dtypes": (
        lambda: from_callback((8,), rows(), lambda i: onp.ones(2, "if"[i[0].start > 0])),
        ValueError,
        "one dtype; got float32, int32",
    ),
    "numpy": (
        lambda: from_arrays((16, 8), rows(), [WHOLE]),
        TypeError,
        r"arrays\[0\] must be an array on a device; got ndarray",
    ),
    "spread": (
        lambda: from_arrays((16, 8), rows(), [weft.device_put(WHOLE, sharding(P()))]),
        ValueError,
        r"arrays\[0\] is on several devices",
    ),
    "one missing": (
        lambda: from_arrays((16, 8), rows(), parts(rows())[1:]),
        ValueError,
        "got none on cpu:0",
    ),
    "one twice": (
        lambda: from_arrays((16, 8), rows(), parts(rows()) * 2),
        ValueError,
        "two arrays are on cpu:0",
    ),
    "a wrong shape": (
        lambda: from_arrays((32, 8), rows(), parts(rows())),
        ValueError,
        r"expected parts float32\[8,8\] of float32\[32,8\]; arrays\[0\] is float32\[4,8\]",
    ),
    "another device": (
        lambda: from_arrays((16, 8), SingleDeviceSharding(weft.devices()[1]), [np.ones((16, 8))]),
        ValueError,
        "is on cpu:0, where",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_array(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=f"(?s)make_array_from_.*{message}"):
        call()
