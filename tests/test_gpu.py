"""The engine on an accelerator gives what it gives on the CPU. Skips itself where there is none."""

import gc

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax, random

pytestmark = pytest.mark.gpu


def network(params, x):
    for w, b in params:
        x = np.tanh(np.dot(x, w) + b)
    return np.sum(x**2)


def arguments():
    keys = random.split(random.PRNGKey(0), 4)
    params = [(random.normal(k, (16, 16)) * 0.3, np.zeros(16)) for k in keys[:3]]
    return params, random.normal(keys[3], (4, 16))


def power(x):
    """The power of some of a signal's frequencies, by real and complex transforms of several axes,
    of odd and even lengths, one among transposed arrays."""
    half = np.fft.rfftn(x, norm="ortho")
    whole = np.fft.fft(x.T + 1j * x[::-1].T, axis=0, norm="ortho")
    again = np.fft.irfftn(half * np.arange(half.shape[-1]), (*x.shape[:-1], 7), (0, 1, 2))
    return np.sum(np.abs(half) ** 2) + np.sum(whole[1:].imag ** 2) + np.sum(again**2)


def signal():
    return random.normal(random.PRNGKey(3), (3, 4, 7))


def rounded(tree):
    return [onp.asarray(x) for x in weft.tree_util.tree_leaves(tree)]


PROGRAMS = {
    "eager": lambda: np.sum(np.sin(np.arange(100.0)) * 2.0),
    "gradient": lambda: weft.grad(network)(*arguments()),
    "compiled gradient": lambda: weft.jit(weft.grad(network))(*arguments()),
    "per example": lambda: weft.jit(weft.vmap(weft.grad(network), (None, 0)))(*arguments()),
    "scan": lambda: lax.scan(lambda c, x: (c * 0.9 + x, c), 0.0, np.arange(10.0)),
    "random bits": lambda: random.bits(random.PRNGKey(1), (1000,)),
    "sort": lambda: np.sort(random.normal(random.PRNGKey(2), (1000,))),
    "fourier transform": lambda: np.fft.fft(signal() + 1j * signal()[::-1], 6, 1),
    "inverse fourier transform": lambda: np.fft.ifftn(signal() * (1 - 2j)),
    "real fourier transforms": lambda: [
        f(signal()) for f in (np.fft.rfft, np.fft.rfftn, np.fft.rfft2, np.fft.ihfft, np.fft.irfft2)
    ],
    # not a spectrum of real numbers: what doesn't count is left out alike
    "real inverse": lambda: np.fft.irfftn(signal() + 1j * signal()[::-1], (3, 4, 12), (0, 1, 2)),
    "gradient of fourier transforms": lambda: weft.grad(power)(signal()),
    "compiled gradient of fourier transforms": lambda: weft.jit(weft.grad(power))(signal()),
    "gradient of a complex transform": lambda: weft.grad(
        lambda z: np.sum(np.abs(np.fft.fft2(z)) ** 2)
    )(signal() * (1 + 1j)),
    "convolution": lambda: lax.conv(np.ones((1, 2, 8, 8)), np.ones((3, 2, 3, 3)), (1, 1), "SAME"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_accelerator_agrees_with_the_cpu(name):
    with weft.default_matmul_precision("highest"):  # by default products round to TF32
        on_accelerator = rounded(PROGRAMS[name]())
    with weft.config.temporarily(eager_tier="host"), weft.disable_jit():
        on_cpu = rounded(PROGRAMS[name]())
    for a, b in zip(on_accelerator, on_cpu, strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4)


# ---- what is special there ----


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones((100, 100)),
        lambda: np.zeros(10_000, "int32"),
        lambda: np.full((5000,), 2.5),
        lambda: np.arange(10_000),
        lambda: np.arange(3, 30_000, 2),
        lambda: np.ones_like(np.zeros(10_000)),
    ],
)
def test_large_arrays_are_made_there(make):
    x = make()
    assert x._host is None
    with weft.config.temporarily(eager_tier="host"):
        assert onp.asarray(x).tobytes() == onp.asarray(make()).tobytes()


def seen(x):
    return onp.sin(onp.asarray(x))


def called(x):
    there = weft.ShapeDtypeStruct(x.shape, x.dtype)
    return weft.pure_callback(seen, there, x, vmap_method="sequential") + 1


@pytest.mark.parametrize(
    "transformed",
    [
        called,
        weft.jit(called),
        weft.jit(weft.vmap(called)),
        weft.jit(lambda x: lax.map(called, x)),
        weft.jit(lambda x: lax.cond(x[0, 1] < 5, called, lambda x: x, x)),
    ],
)
def test_programs_call_python(transformed):
    x = np.arange(6.0).reshape(2, 3)
    onp.testing.assert_allclose(transformed(x), onp.sin(onp.asarray(x)) + 1, atol=1e-6)


def test_an_error_in_a_callback_comes_out():
    def fails(x):
        raise KeyError("mine")

    @weft.jit
    def program(x):
        return weft.pure_callback(fails, weft.ShapeDtypeStruct((), "float32"), x)

    with pytest.raises(KeyError, match="mine"):
        program(1.0)
    assert float(weft.jit(called)(np.zeros(3))[0]) == 1.0


def test_prints_of_a_loop_are_in_order(capfd):
    def body(i, x):
        weft.debug.print("step {} {}", i, x, ordered=True)
        return x * 2

    weft.jit(lambda x: lax.fori_loop(0, 4, body, x))(1.0).block_until_ready()
    weft.effects_barrier()
    printed = capfd.readouterr().out.splitlines()
    assert printed == ["step 0 1.0", "step 1 2.0", "step 2 4.0", "step 3 8.0"]


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "bfloat16", "complex64", "uint8"])
def test_memory_is_shared_with_torch(dtype):
    torch = pytest.importorskip("torch")
    x = weft.jit(lambda x: (x + 1).astype(dtype))(np.arange(6.0).reshape(2, 3))
    assert x.__dlpack_device__() == (2, 0)
    theirs = torch.from_dlpack(x)
    assert theirs.is_cuda
    assert theirs.data_ptr() == x.unsafe_buffer_pointer()
    assert theirs.cpu().to(torch.complex64).tolist() == x.astype("complex64").tolist()
    back = np.from_dlpack(theirs.clone())
    assert (back.dtype, back.devices()) == (x.dtype, x.devices())
    assert back.tolist() == x.tolist()
    del theirs, x
    gc.collect()
    assert (back.astype("complex64") + 1).shape == (2, 3)


def test_torch_s_wide_integers_arrive_as_weft_has_them():
    torch = pytest.importorskip("torch")
    x = np.from_dlpack(torch.arange(4, device="cuda"))
    assert (x.dtype, x.tolist()) == (onp.dtype("int32"), [0, 1, 2, 3])
    rows = np.from_dlpack(torch.arange(6.0, device="cuda").reshape(2, 3).T)
    assert rows.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_too_much_memory_says_so():
    with pytest.raises(weft.errors.WeftError, match=r"(?s)[Oo]ut of memory|RESOURCE_EXHAUSTED"):
        np.ones((200_000, 200_000)).block_until_ready()
    assert float(np.ones(10).sum()) == 10


def test_nan_is_found_where_it_is_made():
    x = np.zeros(3)
    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        np.log(x - 1)
    with weft.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        weft.jit(lambda x: np.sum(np.log(x - 1)))(x)


def test_the_cpu_can_be_the_default_device():
    (cpu, *_) = weft.devices("cpu")
    with weft.default_device(cpu):
        assert (np.ones(8) + 1).devices() == {cpu}
        assert weft.jit(lambda x: x + 1)(np.ones(10_000)).devices() == {cpu}


def test_numpy_s_arrays_are_put_there_at_once():
    host = onp.arange(10_000.0)
    x = weft.device_put(host)
    host[:] = 0
    assert (x._host, x.devices(), x.committed) == (None, set(weft.devices()), False)
    assert (x.dtype, float(x[-1])) == (onp.dtype("float32"), 9999.0)
    (cpu, *_) = weft.devices("cpu")
    y = weft.device_put(host, cpu)
    assert (y.devices(), y.committed) == ({cpu}, True)
    z = weft.device_put(host, weft.devices()[0])
    assert (z.committed, z._host) == (True, None)


def test_a_callback_computes_with_weft():
    double = weft.jit(lambda x: np.sum(x) * 2)

    def function(x):
        return double(x) + np.mean(np.ones(3) * x)

    @weft.jit
    def program(x):
        there = weft.ShapeDtypeStruct((), "float32")
        return weft.pure_callback(function, there, x + 1) * 2

    assert float(program(np.ones(3))) == 28.0


def test_tangents_of_integers_have_no_place_there():
    def loop(x, n):
        return lax.fori_loop(0, n, lambda i, x: x * 1.5, x)

    zero = onp.zeros((), weft.dtypes.float0)
    pushed = weft.vmap(lambda x, n: weft.jvp(loop, (x, n), (1.0, zero)), (0, None))
    values, slopes = pushed(np.arange(3.0), 2)
    assert (values.tolist(), slopes.tolist()) == ([0, 2.25, 4.5], [2.25] * 3)
