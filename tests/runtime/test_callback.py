"""Programs that call Python functions."""

import threading

import ml_dtypes
import numpy as np
import pytest

from weft import runtime
from weft.runtime import callback

F32, I32, BOOL = np.dtype("f4"), np.dtype("i4"), np.dtype(bool)
BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {F32: "f32", I32: "i32", BOOL: "i1", BF16: "bf16", np.dtype("c8"): "complex<f32>"}


def tensor(spec):
    shape, dtype = spec
    return f"tensor<{''.join(f'{n}x' for n in shape)}{NAMES[dtype]}>"


def calling(index, inputs, outputs, index_type="i64"):
    """The text of a program that does nothing but call back."""
    args = ", ".join(f"%a{i}: {tensor(spec)}" for i, spec in enumerate(inputs))
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    ins, outs = ", ".join(map(tensor, inputs)), ", ".join(map(tensor, outputs))
    call = (
        f"stablehlo.custom_call @weft_callback({names}) {{api_version = 4 : i32, "
        f"has_side_effect = true, backend_config = {{index = {index} : {index_type}}}}} "
        f": ({ins}) -> ({outs})"
    )
    if not outputs:
        return f"func.func public @main({args}) {{\n {call}\n return }}"
    results = ", ".join(f"%0#{i}" if len(outputs) > 1 else "%0" for i in range(len(outputs)))
    count = f":{len(outputs)}" if len(outputs) > 1 else ""
    return (
        f"func.func public @main({args}) -> ({outs}) {{\n %0{count} = {call}\n"
        f" return {results} : {outs} }}"
    )


@pytest.fixture
def program(device):
    """Makes a program that calls a function; forgets the function after the test."""
    made = []

    def make(function, inputs, outputs, **options):
        made.append(callback.register(function, inputs, outputs))
        return runtime.compile_text(calling(made[-1], inputs, outputs, **options), outputs, device)

    yield make
    for index in made:
        callback.release(index)


def run(program, *arrays):
    buffers = program.execute([runtime.put(a, program.device) for a in arrays])
    return [runtime.to_host(b, *out) for b, out in zip(buffers, program.outputs, strict=True)]


def test_several_dtypes(program):
    seen = []

    def function(a, b, c, d):
        seen.extend([a, b, c, d])
        return a + 1, -b, ~c, d + d

    specs = [((2, 3), F32), ((3,), I32), ((4,), BOOL), ((2,), BF16)]
    arrays = [
        np.arange(6, dtype=F32).reshape(2, 3),
        np.array([1, -2, 3], I32),
        np.array([True, False, False, True]),
        np.array([1.5, -3], BF16),
    ]
    outs = run(program(function, specs, specs), *arrays)
    for given, got in zip(arrays, seen, strict=True):
        assert got.dtype == given.dtype
        np.testing.assert_array_equal(got, given)
        assert not got.flags.writeable
    a, b, c, d = arrays
    for got, expected in zip(outs, [a + 1, -b, ~c, d + d], strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("index_type", ["i32", "i64", "ui32", "ui64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 4)])
def test_shapes_and_index_types(program, shape, index_type):
    spec = (shape, F32)
    x = np.full(shape, 2, F32)
    (out,) = run(program(lambda x: (x * x,), [spec], [spec], index_type=index_type), x)
    np.testing.assert_array_equal(out, x * x)


def test_results_of_any_strides(program):
    x = np.arange(6, dtype=F32).reshape(2, 3)
    (out,) = run(program(lambda x: (x.T,), [((2, 3), F32)], [((3, 2), F32)]), x)
    np.testing.assert_array_equal(out, x.T)


def test_inputs_may_be_kept(program):
    kept = []
    spec = ((1000,), F32)
    f = program(lambda x: (kept.append(x), (x,))[1], [spec], [spec])
    for k in range(20):
        run(f, np.full(1000, k, F32))
    assert [int(x[0]) for x in kept] == list(range(20))
    assert all((x == x[0]).all() for x in kept)


def test_effects_alone(program):
    seen = []
    f = program(lambda x: (seen.append(int(x)), ())[1], [((), I32)], [])
    for k in range(3):
        assert run(f, np.int32(k)) == []
    assert seen == [0, 1, 2]


def test_an_exception_comes_back_with_its_traceback(program):
    class Mine(Exception):
        pass

    def unlucky(x):
        raise Mine("bad luck")

    spec = ((2,), F32)
    f = program(unlucky, [spec], [spec])
    with pytest.raises(runtime.XlaRuntimeError, match="bad luck") as info:
        run(f, np.ones(2, F32))
    assert "in unlucky" in str(info.value)
    original = callback.take_error(info.value)
    assert type(original) is Mine
    assert callback.take_error(info.value) is None
    assert callback.take_error() is None


def test_the_latest_error_is_taken_first(program):
    spec = ((), F32)

    def fail(x):
        raise ValueError(str(float(x)))

    f = program(fail, [spec], [spec])
    for k in range(3):
        with pytest.raises(runtime.XlaRuntimeError):
            run(f, np.float32(k))
    assert [str(callback.take_error()) for _ in range(3)] == ["2.0", "1.0", "0.0"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: (x.astype("f8"),), "gave float64[2]; float32[2] was announced"),
        (lambda x: (x[:1],), "gave float32[1]; float32[2] was announced"),
        (lambda x: (x, x), "gave 2 results; 1 were announced"),
        (lambda x: None, "has no len()"),
    ],
)
def test_wrong_results_are_errors(program, result, message):
    spec = ((2,), F32)
    f = program(result, [spec], [spec])
    with pytest.raises(runtime.XlaRuntimeError) as info:
        run(f, np.ones(2, F32))
    assert message in str(info.value)
    assert isinstance(callback.take_error(info.value), TypeError)


def test_a_released_function_is_an_error(device):
    spec = ((), F32)
    index = callback.register(lambda x: (x,), [spec], [spec])
    f = runtime.compile_text(calling(index, [spec], [spec]), [spec], device)
    callback.release(index)
    callback.release(index)
    with pytest.raises(runtime.XlaRuntimeError, match="was released"):
        run(f, np.float32(1))
    assert isinstance(callback.take_error(), LookupError)


def test_a_mismatch_with_the_text_is_an_error(device):
    spec = ((), F32)
    index = callback.register(lambda x, y: (x,), [spec, spec], [spec])
    f = runtime.compile_text(calling(index, [spec], [spec]), [spec], device)
    with pytest.raises(runtime.XlaRuntimeError, match="registered with 2 inputs and 1 outputs"):
        run(f, np.float32(1))
    callback.take_error()
    callback.release(index)


def test_numbers_are_never_used_twice():
    first = callback.register(lambda: (), [], [])
    callback.release(first)
    second = callback.register(lambda: (), [], [])
    callback.release(second)
    assert first != second


def test_packed_dtypes_are_refused():
    with pytest.raises(TypeError, match="int4 has several elements a byte"):
        callback.register(lambda x: (x,), [((2,), ml_dtypes.int4)], [])


def test_inside_a_larger_program_with_serialization(device):
    spec = ((4,), F32)
    index = callback.register(lambda x: (np.sort(x),), [spec], [spec])
    text = f"""
    func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = stablehlo.negate %a : tensor<4xf32>
      %1 = stablehlo.custom_call @weft_callback(%0) {{api_version = 4 : i32,
        backend_config = {{index = {index} : i64}}}} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = stablehlo.add %1, %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    }}"""
    x = np.array([3, 1, 4, 2], F32)
    first = runtime.compile_text(text, [spec], device)
    second = runtime.load_executable(first.serialize(), [spec], device)
    for f in (first, second):
        np.testing.assert_array_equal(run(f, x)[0], 2 * np.sort(-x))
    callback.release(index)


def test_a_callback_may_run_programs(program, device):
    double = runtime.compile_text(
        "func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.add %a, %a : tensor<2xf32>\n  return %0 : tensor<2xf32> }",
        [((2,), F32)],
        device,
    )
    spec = ((2,), F32)
    (out,) = run(program(lambda x: run(double, x), [spec], [spec]), np.ones(2, F32))
    np.testing.assert_array_equal(out, [2, 2])


def test_from_several_threads(program):
    spec = ((8,), F32)
    f = program(lambda x: (x + 1,), [spec], [spec])
    wrong = []

    def work(k):
        for i in range(100):
            (out,) = run(f, np.full(8, i * k, F32))
            if not (out == i * k + 1).all():
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_on_several_devices(python):
    done = python(
        """
        import numpy as np
        from weft import runtime
        from weft.runtime import callback
        f32 = np.dtype("f4")
        spec = ((2,), f32)
        index = callback.register(lambda x: (x * 10,), [spec], [spec])
        text = '''func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %0 = stablehlo.custom_call @weft_callback(%a) {api_version = 4 : i32,
            backend_config = {index = INDEX : i64}} : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32> }'''.replace("INDEX", str(index))
        for d in runtime.devices():
            f = runtime.compile_text(text, [spec], d)
            (out,) = f.execute([runtime.put(np.full(2, d.id, f32), d)])
            print(runtime.to_host(out, *spec), runtime.device_of(out))
        """,
        WEFT_CPU_DEVICES="3",
    )
    assert done.stdout == "[0. 0.] CPU_0\n[10. 10.] CPU_1\n[20. 20.] CPU_2\n"
    assert done.stderr == ""
