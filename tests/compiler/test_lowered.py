"""Programs: what is passed to XLA, and what is passed through."""

import threading

import numpy as np
import pytest

import weft
from weft.compiler.compiled import run_program
from weft.compiler.lowered import Constant, LoweredProgram, PassedInput, Result, program_of
from weft.primitives.structural import add, reduce_sum
from weft.primitives.trigonometric import sin


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def program(f, *args, **options):
    return LoweredProgram(weft.make_jaxpr(f)(*args), **options)


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "flat"),
    [
        (lambda x: sin(x), True),
        (lambda x: add(x, x), True),
        (lambda x: add(x, f32([[1.0], [2.0]])), False),  # operands of two shapes
        (lambda x: sin(sin(x)), False),  # XLA fuses several
        (lambda x: reduce_sum(x, axes=(0,)), False),
    ],
)
def test_one_elementwise_operation_is_a_loop_over_one_axis(f, flat):
    x = f32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    p = program(f, x)
    assert ("tensor<6xf32>" in p.text("cpu")[0]) is flat
    (got,) = run_program(p, [x])
    same(got, np.asarray(f(x)))


def test_outputs_of_every_kind():
    w = f32([5.0, 6.0])
    p = program(lambda x, y: (x, x + y, w, 3.0, x + y, sin(y)), f32([1.0, 2.0]), f32([1.0, 1.0]))
    assert [type(output) for output in p.outputs] == [
        PassedInput,
        Result,
        Constant,
        Constant,
        Result,
        Result,
    ]
    x, y = f32([1.0, 2.0]), f32([3.0, 4.0])
    a, b, c, d, e, f = run_program(p, [x, y])
    assert a is x
    same(b, [4.0, 6.0])
    same(c, [5.0, 6.0])
    same(d, 3.0)
    same(e, [4.0, 6.0])
    same(f, np.sin([3.0, 4.0]))


def test_unused_inputs_are_not_passed():
    p = program(lambda x, y, z: (y * 2, z), 1.0, 2.0, 3.0)
    assert p.live == [1]
    kept = program(lambda x, y, z: (y * 2, z), 1.0, 2.0, 3.0, keep_unused=True)
    assert kept.live == [0, 1, 2]
    for q in (p, kept):
        same(run_program(q, [f32(1.0), f32(5.0), f32(7.0)])[0], 10.0)


def test_nothing_to_compute_is_not_compiled():
    p = program(lambda x: (x, 2.0), 1.0)
    out = run_program(p, [f32(4.0)])
    same(out[0], 4.0)
    assert not p.executables


def test_constants_are_passed_not_written_into_the_program():
    w = f32(np.arange(1000))
    p = program(lambda x: x + w, 1.0)
    assert len(p.consts) == 1
    assert len(p.text("cpu")[0]) < 2000
    same(run_program(p, [f32(1.0)])[0], np.arange(1000) + 1)


def test_committed_arguments_decide_the_device():
    device = weft.devices()[0]
    p = program(lambda x, y: x + y, 1.0, 2.0)
    placed = weft.device_put(np.float32(2.0), device)
    assert run_program(p, [f32(1.0), placed])[0].committed
    assert not run_program(p, [f32(1.0), f32(1.0)])[0].committed


def test_one_program_a_jaxpr():
    jaxpr = weft.make_jaxpr(sin)(1.0)
    assert program_of(jaxpr) is program_of(jaxpr)


def test_many_threads_compile_once(monkeypatch):
    from weft.compiler import disk_cache

    count = []
    compile_ = disk_cache.compile_or_load
    monkeypatch.setattr(
        disk_cache, "compile_or_load", lambda *a, **k: (count.append(1), compile_(*a, **k))[1]
    )
    p = program(lambda x: sin(x) * 2, f32(np.ones(7)))
    barrier = threading.Barrier(6)
    results = []

    def work():
        barrier.wait()
        results.append(run_program(p, [f32(np.ones(7))])[0])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 6
    assert len(count) == 1


def test_results_are_computed_anew_each_time():
    p = program(lambda x: x * 2, f32([1.0]))
    first = run_program(p, [f32([1.0])])[0]
    second = run_program(p, [f32([2.0])])[0]
    same(first, [2.0])
    same(second, [4.0])


@pytest.mark.parametrize(
    "dtype", ["float32", "int32", "bool", "float16", "complex64", "uint8", "int8"]
)
def test_dtypes_pass_through_xla(dtype):
    x = weft.device_put(np.array([[0, 1], [1, 1]], dtype))
    p = program(lambda x: (x.T, x), x)
    a, b = run_program(p, [x])
    assert a.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(np.asarray(a), np.asarray(x).T)
    assert b is x
