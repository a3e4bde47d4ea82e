"""weft.dlpack: arrays to and from capsules and other libraries' arrays."""

import numpy as np
import pytest

import weft
from weft import dlpack


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint32", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_there_and_back(dtype, shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for y in (weft.device_put(x), weft.jit(lambda x: x + 0)(x)):
        back = dlpack.from_dlpack(dlpack.to_dlpack(y))
        assert isinstance(back, weft.Array)
        assert back.dtype == x.dtype
        np.testing.assert_array_equal(back, x)
        np.testing.assert_array_equal(np.from_dlpack(y), x)  # without a capsule, too
    np.testing.assert_array_equal(dlpack.from_dlpack(x), x)


def test_what_is_no_array():
    with pytest.raises(TypeError, match=r"to_dlpack: expected an array; got list \[1, 2\]"):
        dlpack.to_dlpack([1, 2])
    with pytest.raises(weft.errors.TracerArrayConversionError):
        weft.jit(dlpack.to_dlpack)(1.0)
    with pytest.raises((TypeError, AttributeError), match="dlpack"):
        dlpack.from_dlpack([1, 2])
