"""Compiling, running, inspecting and serializing programs; and their errors."""

import concurrent.futures

import ml_dtypes
import numpy as np
import pytest

from weft import runtime

F32 = np.dtype("f4")
DOUBLE = """
func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
DONATE = DOUBLE.replace("%a: tensor<8xf32>", "%a: tensor<8xf32> {jax.buffer_donor = true}")
OUT = [((8,), F32)]
X = np.arange(8, dtype=F32)


def run(program, *arrays):
    buffers = program.execute([runtime.put(a, program.device) for a in arrays])
    return [runtime.to_host(b, *out) for b, out in zip(buffers, program.outputs, strict=True)]


def test_runs(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    np.testing.assert_array_equal(run(program, X)[0], 2 * X)
    assert program.device is device
    assert program.outputs == (((8,), F32),)


def test_many_inputs_and_outputs_of_several_dtypes(device):
    bf16 = np.dtype(ml_dtypes.bfloat16)
    program = runtime.compile_text(
        """
        func.func public @main(%a: tensor<2x3xf32>, %b: tensor<i32>, %c: tensor<0xf64>)
            -> (tensor<2x3xbf16>, tensor<i32>, tensor<i1>, tensor<0xf64>) {
          %0 = stablehlo.convert %a : (tensor<2x3xf32>) -> tensor<2x3xbf16>
          %1 = stablehlo.add %b, %b : tensor<i32>
          %2 = stablehlo.compare LT, %b, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
          return %0, %1, %2, %c : tensor<2x3xbf16>, tensor<i32>, tensor<i1>, tensor<0xf64>
        }""",
        [((2, 3), bf16), ((), np.int32), ((), np.bool_), ((0,), np.float64)],
        device,
    )
    a = np.arange(6, dtype=F32).reshape(2, 3)
    outs = run(program, a, np.int32(4), np.zeros(0))
    np.testing.assert_array_equal(outs[0], a.astype(bf16))
    assert [o.dtype for o in outs] == [bf16, np.int32, np.bool_, np.float64]
    assert (int(outs[1]), bool(outs[2]), outs[3].shape) == (8, True, (0,))


def test_no_inputs_and_no_outputs(device):
    constant = runtime.compile_text(
        "func.func public @main() -> tensor<2xi32> {\n"
        "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
        "  return %0 : tensor<2xi32>\n}",
        [((2,), np.dtype("i4"))],
        device,
    )
    np.testing.assert_array_equal(run(constant)[0], [1, 2])
    nothing = runtime.compile_text("func.func public @main() { return }", [], device)
    assert run(nothing) == []


def test_results_feed_programs(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    buffers = [runtime.put(X, device)]
    for _ in range(100):
        buffers = program.execute(buffers)
    np.testing.assert_array_equal(runtime.to_host(buffers[0], (8,), F32), X * 2.0**100)


def test_serialized(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    again = runtime.load_executable(program.serialize(), OUT, device)
    np.testing.assert_array_equal(run(again, X)[0], 2 * X)


def test_a_damaged_blob_is_an_error(device):
    blob = runtime.compile_text(DOUBLE, OUT, device).serialize()
    with pytest.raises(runtime.XlaRuntimeError, match="load_executable"):
        runtime.load_executable(blob[: len(blob) // 2], OUT, device)


def test_serialized_on_another_device(python):
    done = python(
        """
        import numpy as np
        from weft import runtime
        d0, d1 = runtime.devices()
        f32 = np.dtype("f4")
        text = '''func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.add %a, %a : tensor<3xf32>
          return %0 : tensor<3xf32> }'''
        first = runtime.compile_text(text, [((3,), f32)], d0)
        second = runtime.load_executable(first.serialize(), [((3,), f32)], d1)
        (out,) = second.execute([runtime.put(np.ones(3, f32), d1)])
        print(runtime.to_host(out, (3,), f32), runtime.device_of(out))
        try:
            second.execute([runtime.put(np.ones(3, f32), d0)])
        except runtime.XlaRuntimeError as error:
            print("wrong device")
        """,
        WEFT_CPU_DEVICES="2",
    )
    assert done.stdout == "[2. 2. 2.] cpu:1\nwrong device\n"


def test_analyses(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    memory = program.memory_analysis()
    assert (memory.argument_bytes, memory.output_bytes, memory.alias_bytes) == (32, 32, 0)
    assert memory.peak_bytes >= 0
    assert memory.temp_bytes >= 0
    assert memory.generated_code_bytes >= 0
    assert program.cost_analysis()["flops"] == 8
    assert "f32[8]" in program.as_text()
    donating = runtime.compile_text(DONATE, OUT, device)
    assert donating.memory_analysis().alias_bytes == 32


def test_unoptimised_forms():
    hlo = runtime.HloComputation(DOUBLE)
    assert "add" in hlo.as_hlo_text()
    assert b"main" in hlo.as_serialized_hlo_module_proto()
    assert hlo.as_hlo_dot_graph().startswith("digraph")
    with pytest.raises(runtime.XlaCompileError):
        runtime.HloComputation("nonsense")


def test_unoptimised_forms_with_tuples():
    hlo = runtime.HloComputation(DOUBLE, tuple_args=True, return_tuple=True)
    assert "{((f32[8]{0}))->(f32[8]{0})}" in hlo.as_hlo_text()


def test_options_change_the_program(device):
    chain = "\n".join(f"  %{i + 1} = stablehlo.tanh %{i} : tensor<8xf32>" for i in range(3))
    text = (
        f"func.func public @main(%0: tensor<8xf32>) -> tensor<8xf32> {{\n{chain}\n"
        "  return %3 : tensor<8xf32>\n}"
    )
    fused = runtime.compile_text(text, OUT, device)
    unfused = runtime.compile_text(text, OUT, device, {"xla_disable_hlo_passes": "fusion"})
    assert fused.as_text().count(" fusion(") == 1
    assert unfused.as_text().count(" fusion(") == 3
    expected = np.tanh(np.tanh(np.tanh(X)))
    np.testing.assert_allclose(run(fused, X)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(run(unfused, X)[0], expected, rtol=1e-6)


def test_an_unknown_option_is_an_error(device):
    with pytest.raises(runtime.XlaCompileError, match="xla_nonsense"):
        runtime.compile_text(DOUBLE, OUT, device, {"xla_nonsense": 1})


def test_a_wrong_text_shows_its_line(device):
    wrong = DOUBLE.replace("stablehlo.add", "stablehlo.addition")
    with pytest.raises(
        runtime.XlaCompileError, match=r"in line 3: %0 = stablehlo.addition"
    ) as info:
        runtime.compile_text(wrong, OUT, device)
    assert "forward incompatibility" not in str(info.value)
    assert info.value.__cause__ is None


def test_too_few_arguments(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    with pytest.raises(runtime.XlaRuntimeError, match="supplied 0 arguments") as info:
        program.execute([])
    assert info.value.code == "INVALID_ARGUMENT"
    assert "Source Location" not in str(info.value)


def test_a_deleted_argument_is_named(device):
    program = runtime.compile_text(DOUBLE, OUT, device)
    buffer = runtime.put(X, device)
    runtime.delete(buffer)
    with pytest.raises(runtime.DeletedArrayError, match="argument 0 of 1: Array has been deleted"):
        program.execute([buffer])


def test_donation(device):
    program = runtime.compile_text(DONATE, OUT, device)
    buffer = runtime.put(X, device)
    pointer = runtime.unsafe_pointer(buffer)
    (out,) = program.execute([buffer])
    assert runtime.is_deleted(buffer)
    assert runtime.unsafe_pointer(out) == pointer
    np.testing.assert_array_equal(runtime.to_host(out, (8,), F32), 2 * X)
    with pytest.raises(runtime.DeletedArrayError, match="donated"):
        program.execute([buffer])


def test_donating_what_numpy_still_sees_does_no_harm(device):
    program = runtime.compile_text(DONATE, OUT, device)
    source = runtime.aligned_empty((8,), F32)
    source[:] = X
    buffer = runtime.put(source, device, alias=True)
    view = runtime.to_host(buffer, (8,), F32)
    (out,) = program.execute([buffer])
    np.testing.assert_array_equal(runtime.to_host(out, (8,), F32), 2 * X)
    np.testing.assert_array_equal(source, X)
    np.testing.assert_array_equal(view, X)


def test_lapack_is_registered_when_a_program_mentions_it(device):
    text = """
    func.func public @main(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>) {
      %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32,
        backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
        result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
        : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<3x3xf32>, tensor<i32>
    }"""
    outputs = [((3, 3), F32), ((), np.dtype("i4"))]
    a = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 6]], F32)
    program = runtime.compile_text(text, outputs, device)
    factor, status = run(program, a)
    assert status == 0
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(a), rtol=1e-6)


def test_lapack_in_a_program_loaded_by_a_fresh_process(device, python, tmp_path):
    test_lapack = """
    func.func public @main(%a: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<i32>) {
      %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32,
        backend_config = {uplo = 76 : ui8}}
        : (tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<1x1xf32>, tensor<i32>
    }"""
    outputs = [((1, 1), F32), ((), np.dtype("i4"))]
    (tmp_path / "blob").write_bytes(runtime.compile_text(test_lapack, outputs, device).serialize())
    done = python("""
        import numpy as np
        from weft import runtime
        outputs = [((1, 1), np.dtype("f4")), ((), np.dtype("i4"))]
        d = runtime.default_device()
        program = runtime.load_executable(open("blob", "rb").read(), outputs, d)
        buffers = program.execute([runtime.put(np.full((1, 1), 9, np.float32), d)])
        print(runtime.to_host(buffers[0], *outputs[0]))
    """)
    assert done.stdout == "[[3.]]\n"


def test_threads_run_programs(device):
    program = runtime.compile_text(DOUBLE, OUT, device)

    def work(k):
        for _ in range(200):
            (result,) = run(program, X + k)
            np.testing.assert_array_equal(result, 2 * (X + k))
        return k

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
