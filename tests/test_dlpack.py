"""weft.dlpack: arrays to and from capsules and other libraries' arrays."""

import gc
import weakref

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import dlpack
from weft.runtime import capsules

NARROW = ["bfloat16", "float8_e5m2", "float8_e4m3fn"]
DTYPES = ["float32", "int8", "uint32", "complex64", "float16", "bool", *NARROW]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_there_and_back(dtype, shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.dtype(getattr(wnp, dtype)))
    for y in (weft.device_put(x), weft.jit(lambda x: x | x if dtype == "bool" else x + 0)(x)):
        back = dlpack.from_dlpack(dlpack.to_dlpack(y))
        assert isinstance(back, weft.Array)
        assert back.dtype == x.dtype
        np.testing.assert_array_equal(back, x)
        np.testing.assert_array_equal(wnp.from_dlpack(Other(y)), x)  # without a capsule, too
        if dtype not in NARROW:  # which NumPy doesn't know
            np.testing.assert_array_equal(np.from_dlpack(y), x)
    if dtype in NARROW:
        return
    np.testing.assert_array_equal(dlpack.from_dlpack(x), x)


class Other:
    """An array of another library."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_memory_is_shared_strides_are_kept_and_capsules_are_let_go():
    x = wnp.arange(6.0).astype("bfloat16").reshape(2, 3)
    shared = wnp.from_dlpack(Other(x))
    assert shared.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    turned = np.asarray(x).copy().T
    kept = weakref.ref(x)
    back = wnp.from_dlpack(Other(Strided(turned)))
    np.testing.assert_array_equal(back, turned)
    del x, shared
    gc.collect()
    assert kept() is None
    assert back.astype("float32").tolist() == [[0, 3], [1, 4], [2, 5]]


class Strided:
    """A NumPy array of bfloat16 as a library would give it that knows this dtype."""

    def __init__(self, host):
        self.host = host

    def __dlpack__(self, **options):
        return capsules.exported(self.host, {})


def test_options_of_the_protocol():
    x = wnp.arange(3.0)
    for options in (
        {},
        {"stream": None, "max_version": (1, 0)},
        {"stream": 1},
        {"dl_device": (1, 0), "copy": None},
        {"copy": False, "max_version": (1, 0)},
    ):
        assert "dltensor" in str(x.__dlpack__(**options))
    copied = np.from_dlpack(x, copy=True)
    copied[0] = 7
    assert x.tolist() == [0, 1, 2]
    assert not np.from_dlpack(x).flags.writeable
    assert not np.from_dlpack(weft.jit(lambda x: x + 1)(x)).flags.writeable
    number = wnp.asarray(5.0)
    copied = np.from_dlpack(number)  # many arrays may share a number
    copied[...] = 7
    assert (number, wnp.asarray(5.0)) == (5.0, 5.0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises((BufferError, TypeError)):
        wnp.zeros(3, "int4").__dlpack__()


def test_where_and_whether_an_array_is_copied():
    x = np.arange(64.0, dtype=np.float32)
    apart = dlpack.from_dlpack(x, copy=True)
    x[0] = 7
    assert apart[0] == 0
    device = weft.devices()[-1]
    assert dlpack.from_dlpack(x, device).devices() == {device}


def test_a_number_is_copied():
    kept = wnp.positive(21.5)
    shared = np.from_dlpack(kept)
    if shared.flags.writeable:
        shared[...] = 0
    assert float(wnp.asarray(21.5)) == float(kept) == 21.5


@pytest.mark.parametrize("place", [(2, 99), (10, 0), (4, 0)], ids=["CUDA", "ROCm", "OpenCL"])
def test_memory_of_another_device_is_refused(place):
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        wnp.from_dlpack(Other(wnp.ones(2, "bfloat16"), place))


def test_types_in_capsules():
    for dtype in ("float32", "int8", "uint32", "complex64", "bool", "bfloat16", "float8_e5m2"):
        x = wnp.ones((2, 3)).astype(dtype)
        assert capsules.type_in(x.__dlpack__()) == ((2, 3), x.dtype)


def test_what_is_no_array():
    with pytest.raises(TypeError, match=r"to_dlpack: expected an array; got list \[1, 2\]"):
        dlpack.to_dlpack([1, 2])
    with pytest.raises(weft.errors.TracerArrayConversionError):
        weft.jit(dlpack.to_dlpack)(1.0)
    with pytest.raises((TypeError, AttributeError), match="dlpack"):
        dlpack.from_dlpack([1, 2])
