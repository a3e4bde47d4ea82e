"""NumPy arrays to devices and back: every dtype, layout and state."""

import ml_dtypes
import numpy as np
import pytest

from weft import runtime

# fmt: off
WIDE = [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)]
SPECIAL = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "int4", "uint4", "int2", "uint2", "float4_e2m1fn",
)]
# fmt: on


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", WIDE + SPECIAL, ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("alias", [False, True])
def test_there_and_back(device, dtype, shape, alias):
    host = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)
    back = runtime.to_host(runtime.put(host, device, alias=alias), shape, dtype)
    assert same_bits(back, host)
    assert not back.flags.writeable


def test_values_survive_in_narrow_types(device):
    for name, values in {
        "int4": range(-8, 8),
        "uint4": range(16),
        "int2": range(-2, 2),
        "uint2": range(4),
        "float4_e2m1fn": [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -6],
        "float8_e8m0fnu": [0.25, 1, 2, 1024],
    }.items():
        host = np.array(list(values), dtype=getattr(ml_dtypes, name))
        for _ in range(2):
            back = runtime.to_host(runtime.put(host, device), host.shape, host.dtype)
            assert same_bits(back, host)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.asfortranarray(x),
        lambda x: x[::-1, ::2],
        lambda x: np.broadcast_to(x[:, :1], x.shape),
        lambda x: x.T,
        lambda x: x[1:, 1:],
    ],
)
def test_any_strides(device, make):
    host = make(np.arange(24, dtype=np.float32).reshape(4, 6))
    back = runtime.to_host(runtime.put(host, device, alias=True), host.shape, host.dtype)
    np.testing.assert_array_equal(back, host)


@pytest.mark.parametrize("code", [">f4", ">i8", ">c16", "<u2", ">u2"])
def test_any_byte_order(device, code):
    host = np.arange(5).astype(code)
    native = host.dtype.newbyteorder("=")
    back = runtime.to_host(runtime.put(host, device), (5,), native)
    assert back.dtype == native
    np.testing.assert_array_equal(back, host)


def test_put_copies_unless_told_otherwise(device):
    host = runtime.aligned_empty((1000,), np.float32)
    host[:] = 1
    copied = runtime.put(host, device)
    shared = runtime.put(host, device, alias=True)
    assert runtime.unsafe_pointer(shared) == host.ctypes.data
    host[:] = 2
    assert runtime.to_host(copied, host.shape, host.dtype)[0] == 1
    assert runtime.to_host(shared, host.shape, host.dtype)[0] == 2


def test_shared_memory_outlives_its_array(device):
    host = runtime.aligned_empty((1000,), np.float32)
    host[:] = 3
    buffer = runtime.put(host, device, alias=True)
    del host
    for _ in range(50):
        np.empty(1000, np.float32).fill(9)
    np.testing.assert_array_equal(runtime.to_host(buffer, (1000,), np.dtype("f4")), 3)


@pytest.mark.parametrize("shape", [(), (7,), (3, 0), (5, 4, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.bool_, ml_dtypes.bfloat16])
def test_aligned_empty(shape, dtype):
    for _ in range(20):
        array = runtime.aligned_empty(shape, dtype)
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
        assert array.flags.writeable
        assert array.flags.c_contiguous


@pytest.mark.parametrize(
    "host",
    [
        np.array([None]),
        np.array(["a"]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, [("a", "f4")]),
        np.zeros(2, np.longdouble),
    ],
)
def test_a_dtype_that_xla_does_not_have(device, host):
    with pytest.raises(TypeError, match=r"put: arrays of dtype .* can't be put on a device"):
        runtime.put(host, device)


def test_to_host_keeps_the_memory(device):
    host = runtime.to_host(runtime.put(np.arange(1000.0), device), (1000,), np.dtype("f8"))
    for _ in range(10):
        runtime.put(np.zeros(1000), device)
    np.testing.assert_array_equal(host, np.arange(1000.0))


def test_special_dtypes_keep_the_memory(device):
    dtype = np.dtype(ml_dtypes.bfloat16)
    expected = np.arange(256).astype(dtype)
    host = runtime.to_host(runtime.put(expected, device), (256,), dtype)
    for _ in range(10):
        runtime.put(np.zeros(256, dtype), device)
    assert same_bits(host, expected)


def test_delete(device):
    buffer = runtime.put(np.ones(3), device)
    view = runtime.to_host(buffer, (3,), np.dtype("f8"))
    assert not runtime.is_deleted(buffer)
    assert runtime.is_ready(buffer)
    runtime.delete(buffer)
    runtime.delete(buffer)
    assert runtime.is_deleted(buffer)
    np.testing.assert_array_equal(view, 1)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.int4])
@pytest.mark.parametrize(
    "use",
    [
        lambda b, d, t: runtime.to_host(b, (3,), t),
        lambda b, d, t: runtime.copy_to(b, d, (3,), t),
        lambda b, d, t: runtime.block_until_ready(b),
        lambda b, d, t: runtime.is_ready(b),
        lambda b, d, t: runtime.on_device_size(b),
        lambda b, d, t: runtime.unsafe_pointer(b),
        lambda b, d, t: runtime.dlpack_capsule(b),
    ],
)
def test_using_a_deleted_buffer(device, dtype, use):
    dtype = np.dtype(dtype)
    buffer = runtime.put(np.ones(3, dtype), device)
    runtime.delete(buffer)
    with pytest.raises(runtime.DeletedArrayError, match="Array has been deleted"):
        use(buffer, device, dtype)


def test_copy_to_is_a_copy(device):
    host = np.arange(4.0)
    buffer = runtime.put(host, device)
    copy = runtime.copy_to(buffer, device, (4,), host.dtype)
    assert runtime.unsafe_pointer(copy) != runtime.unsafe_pointer(buffer)
    runtime.delete(buffer)
    np.testing.assert_array_equal(runtime.to_host(copy, (4,), host.dtype), host)


def test_sizes_and_device(device):
    buffer = runtime.put(np.zeros((3, 5), np.float32), device)
    assert runtime.on_device_size(buffer) == 60
    assert runtime.device_of(buffer) is device


def test_dlpack_shares_memory(device):
    class Wrapper:
        def __init__(self, buffer):
            self.buffer = buffer

        def __dlpack__(self, **_):
            return runtime.dlpack_capsule(self.buffer)

        def __dlpack_device__(self):
            return (1, 0)

    buffer = runtime.put(np.arange(4, dtype=np.float32), device)
    array = np.from_dlpack(Wrapper(buffer))
    np.testing.assert_array_equal(array, [0, 1, 2, 3])
    assert array.ctypes.data == runtime.unsafe_pointer(buffer)


def test_waiting_can_be_interrupted(python):
    done = python("""
        import signal, threading, time, os
        import numpy as np
        from weft import runtime
        d = runtime.default_device()
        f32 = np.dtype("f4")
        n = 3000
        t = f"tensor<{n}x{n}xf32>"
        text = f'''func.func public @main(%a: {t}) -> {t} {{
          %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %2 = stablehlo.dot_general %1, %a, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          return %2 : {t} }}'''
        program = runtime.compile_text(text, [((n, n), f32)], d)
        a = runtime.put(np.zeros((n, n), f32), d)
        (out,) = program.execute([a])
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            runtime.to_host(out, (n, n), f32)
            print("finished first")
        except KeyboardInterrupt:
            print("interrupted")
        print(runtime.to_host(out, (n, n), f32).sum())
    """)
    assert done.stdout == "interrupted\n0.0\n"
