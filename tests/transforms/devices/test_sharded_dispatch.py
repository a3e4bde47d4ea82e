"""Calls on several devices again and again: the first, which traces, and those after it."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft.sharding import Mesh, NamedSharding, PartitionSpec

pytestmark = pytest.mark.devices(8)
CALLS = range(3)


def divided():
    return NamedSharding(Mesh(np.array(weft.devices()[:8]), "d"), PartitionSpec("d"))


def mapped():
    return weft.pmap(lambda x, y: x * y, in_axes=(0, None))


def jitted():
    everywhere = NamedSharding(divided().mesh, PartitionSpec())
    return weft.jit(lambda x, y: x * y, in_shardings=(divided(), everywhere))


def computed():
    f = weft.jit(lambda x, y: x * y)
    return lambda x, y: f(weft.device_put(x, divided()), y)


MAKERS = pytest.mark.parametrize("make", [mapped, jitted, computed])


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def aligned(x):
    """A copy where XLA could use the memory as it is."""
    memory = np.empty(x.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    copy = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[:] = x
    return copy


SECOND = {
    "NumPy array": lambda i: draw(i, 3),
    "array": lambda i: wnp.asarray(draw(i, 3)),
    "array of a device": lambda i: wnp.sin(draw(i, 3)) if i else wnp.dot(draw(i, 3, 3), draw(i, 3)),
    "transposed": lambda i: draw(i, 3, 8).T,
    "float64": lambda i: draw(i, 3).astype("float64"),
    "float": lambda i: 0.5 + i,
    "int": lambda i: 3 + i,
}


@MAKERS
@pytest.mark.parametrize("kind", SECOND)
def test_each_call_computes_with_its_own_arguments(make, kind):
    if kind == "transposed" and make is mapped:
        kind = "NumPy array"
    f = make()
    for i in CALLS:
        x, y = draw(i + 9, 8, 3), SECOND[kind](i)
        np.testing.assert_allclose(f(x, y), x * np.asarray(y, "float32"), rtol=1e-6)


@MAKERS
def test_kinds_of_arguments_in_turns(make):
    f = make()
    for i in CALLS:
        for kind in SECOND.keys() - {"transposed"}:
            x, y = draw(i, 8, 3), SECOND[kind](i)
            np.testing.assert_allclose(f(x, y), x * np.asarray(y, "float32"), rtol=1e-6)


@MAKERS
def test_what_is_written_to_a_numpy_array_after_a_call_is_not_seen(make):
    f = make()
    for i in CALLS:
        x, y = aligned(draw(i, 8, 2**17)), aligned(draw(i + 9, 2**17))
        expected = x * y
        result = f(x, y)
        x[:] = y[:] = 7.0  # at once: the devices may not have begun
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_an_integer_that_fits_no_dtype():
    f = mapped()
    for i in CALLS:
        f(draw(i, 8, 3), i)
    with pytest.raises(OverflowError, match="does not fit"):
        f(draw(0, 8, 3), 2**40)


def test_a_donated_array_is_gone_and_a_numpy_array_is_not():
    f = weft.pmap(lambda x, y: x + y, donate_argnums=0)
    y = draw(1, 8, 3)
    for i in CALLS:
        x = draw(i, 8, 3)
        given = weft.device_put(x, divided())
        np.testing.assert_allclose(f(given, y), x + y, rtol=1e-6)
        assert given.is_deleted()
        np.testing.assert_allclose(f(x, y), x + y, rtol=1e-6)
