"""Host functions: when they are the same, and what becomes of what they give."""

import numpy as np
import pytest

import weft
from weft import errors
from weft.compiler.lower import lower
from weft.config import caches
from weft.core.aval import aval
from weft.core.trace import current
from weft.primitives.callbacks import (
    HostFunction,
    dtype_rank,
    io_callback,
    one_by_one,
    pure_callback,
)

SCALAR = aval((), "float32")


def host(function=lambda args, device: [], outs=(), key=None):
    return HostFunction(function, outs, "host", one_by_one, key)


def test_functions_of_one_key_are_equal():
    assert host(key="a") == host(key="a")
    assert hash(host(key="a")) == hash(host(key="a"))
    assert host(key="a") != host(key="b")
    assert host(key="a") != host(key="a", outs=(SCALAR,))
    assert host() != host()
    assert host(key=["unhashable"]) != host(key=["unhashable"])
    assert host() != "host"


def test_the_function_of_a_batch_is_made_once():
    f, g = host(key="a"), host(key="a")
    assert f.batched((True,), 3) is f.batched([True], 3)
    assert f.batched((True,), 3) == g.batched((True,), 3)
    assert f.batched((True,), 3) != f.batched((True,), 4)
    assert f.batched((True, False), 3) != f.batched((True, True), 3)


def test_nothing_is_kept_of_a_function_outside_of_it():
    f = host(lambda args, device: args, (SCALAR,), key="kept")
    before = [
        sum(len(caches.now[number]) for number in (p.kernels, p.types, p.derivatives))
        for p in (pure_callback, io_callback)
    ]
    for p in (pure_callback, io_callback):
        p(1.0, function=f)
        weft.vmap(lambda x, p=p: p(x, function=f)[0])(np.ones(2, "f4"))
        with pytest.raises(errors.MissingRuleError):
            weft.grad(lambda x, p=p: p(x, function=f)[0])(1.0)
    after = [
        sum(len(caches.now[number]) for number in (p.kernels, p.types, p.derivatives))
        for p in (pure_callback, io_callback)
    ]
    assert after == before


def test_python_runs_under_the_base_trace_whatever_is_going_on():
    seen = []

    def note(args, device):
        seen.append(current.trace is current.base)
        return []

    weft.vmap(weft.grad(lambda x: (io_callback(1.0, function=host(note)), x)[1]))(np.ones(2, "f4"))
    weft.jit(lambda: io_callback(function=host(note)))()
    assert seen == [True, True]


@pytest.mark.parametrize(
    ("given", "dtype", "fits"),
    [
        (True, "bool", True),
        (True, "float32", True),
        (3, "int8", True),
        (3, "float32", True),
        (3, "bfloat16", True),
        (3, "bool", False),
        (2.5, "float16", True),
        (2.5, "complex64", True),
        (2.5, "int32", False),
        (1j, "complex64", True),
        (1j, "float32", False),
        (np.float64(2.5), "float32", True),  # as in all of weft while 64 bits are off
        (np.float16(2.5), "float32", False),
        (np.int64(3), "int32", True),
        (np.int32(3), "float32", False),
        (np.ones(1, "f4"), "float32", False),
    ],
)
def test_what_fits_a_type(given, dtype, fits):
    f = host(lambda args, device: [given], (aval((), dtype),))
    if fits:
        (result,) = pure_callback(function=f)
        assert (result.dtype, result.shape) == (dtype, ())
        assert complex(result.item()) == complex(given)
        return
    with pytest.raises(TypeError, match=r"host: expected .* as result 0 of the callback"):
        pure_callback(function=f)


def test_kinds_of_numbers_are_in_order():
    assert [dtype_rank(np.dtype(d)) for d in ("?", "i1", "u8", "f2", "f8", "c8")] == [
        0,
        1,
        1,
        2,
        2,
        3,
    ]


def test_a_program_for_a_gpu_calls_the_function_of_that_platform():
    jaxpr = weft.make_jaxpr(lambda x: io_callback(x, function=host()))(1.0)
    assert "@xla_ffi_python_gpu_callback(" in lower(jaxpr, platform="gpu")[0]


def test_on_other_accelerators_a_compiled_program_cannot_call():
    jaxpr = weft.make_jaxpr(lambda x: io_callback(x, function=host()))(1.0)
    with pytest.raises(errors.MissingRuleError, match=r"(?s)on CPUs and GPUs.*tpu.*outside of jit"):
        lower(jaxpr, platform="tpu")


def test_one_function_has_one_number():
    f, g = host(key="f"), host(key="g")

    def program(x):
        for function in (f, g, f, host(key="f")):
            io_callback(x, function=function)

    text, module = lower(weft.make_jaxpr(program)(1.0))
    assert [c.key for c in module.callbacks] == [f.key, g.key]
    calls = [line for line in text.splitlines() if "custom_call" in line]
    assert ["index = 0" in line for line in calls] == [True, False, True, True]
    # each takes what the one before it gave
    tokens = [line.split("(")[1].split(",")[0] for line in calls]
    results = [line.split("=")[0].strip() for line in calls]
    assert tokens[1:] == results[:-1]
