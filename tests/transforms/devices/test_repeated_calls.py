"""Calls on several devices after the first, with arguments that are not to be mistaken."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.sharding import NamedSharding, PartitionSpec as P

pytestmark = pytest.mark.devices(8)


def rows():
    return NamedSharding(weft.make_mesh((8,), ("d",)), P("d"))


def on_devices(x):
    return weft.device_put(np.asarray(x, "float32"), rows())


@pytest.mark.parametrize("make", [weft.jit, weft.pmap], ids=["jit", "pmap"])
def test_an_array_passed_twice_is_not_donated(make):
    f = make(lambda x, y: x + 2 * y, donate_argnums=0)
    for i in range(4):
        x, y = on_devices(np.arange(8)), on_devices(np.arange(8) + i)
        np.testing.assert_array_equal(f(x, y), 3 * np.arange(8) + 2 * i)
        with pytest.raises(ValueError, match="donates an array that is passed twice"):
            f(y, y)
        np.testing.assert_array_equal(y, np.arange(8) + i)


def aligned(x):
    """A copy in memory that XLA could use as it is."""
    memory = np.empty(x.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    copy = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[:] = x
    return copy


@pytest.mark.parametrize("size", [8, 2**10])
def test_a_small_numpy_array_may_be_written_to_while_devices_are_busy(size):
    everywhere = NamedSharding(rows().mesh, P())
    f = weft.jit(lambda x, late: x + late, in_shardings=(everywhere, everywhere))
    busy = weft.jit(
        lambda x: lax.fori_loop(0, 30, lambda i, m: wnp.tanh(m @ m), x).sum() * 0,
        in_shardings=everywhere,
    )
    work = weft.device_put(np.eye(200, dtype="float32"), everywhere)
    for i in range(4):
        x = aligned(np.arange(size, dtype="float32") + i)
        result = f(x, busy(work))
        x[:] = -1
        np.testing.assert_array_equal(result, np.arange(size) + i)


def test_a_sum_in_groups_is_not_the_same_for_all_devices():
    """A branch that only one group takes, in which all four meet."""

    def f(x):
        mine = lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]])
        return lax.cond(mine > 3, lambda x: lax.psum(x, "i"), lambda x: -x, x)

    for _ in range(2):
        got = weft.pmap(f, axis_name="i", devices=weft.devices()[:4])(np.arange(4))
        np.testing.assert_array_equal(got, [0, -1, 6, 6])
