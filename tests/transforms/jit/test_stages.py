"""The steps of a compilation: trace, lower, compile, and what each can tell."""

import numpy as np
import pytest

import weft
from weft.primitives.trigonometric import sin, tanh


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


@weft.jit
def f(params, x, scale=2.0):
    return {"y": tanh(x * params["w"]) * scale, "x": x}


PARAMS = {"w": f32([1.0, 2.0])}
X = f32([0.5, 0.25])
Y = np.tanh(np.array([0.5, 0.5])) * 2


def test_trace_lower_compile_call():
    traced = f.trace(PARAMS, X)
    assert [e.primitive.name for e in traced.jaxpr.equations] == ["mul", "tanh", "mul"]
    lowered = traced.lower()
    compiled = lowered.compile()
    for _ in range(2):
        out = compiled(PARAMS, X)
        same(out["y"], Y)
        same(out["x"], X)


def test_shapes_without_running():
    info = f.trace(PARAMS, X).out_info
    assert info["y"] == weft.ShapeDtypeStruct((2,), np.float32)
    assert f.lower(PARAMS, X).out_info == info
    assert f.eval_shape(PARAMS, X) == info


def test_lowering_for_shapes_only():
    struct = weft.ShapeDtypeStruct((3,), np.float32)
    compiled = weft.jit(lambda x: x * 2).lower(struct).compile()
    same(compiled(np.ones(3, np.float32)), [2.0, 2.0, 2.0])


def test_texts():
    lowered = f.lower(PARAMS, X)
    assert "stablehlo.tanh" in lowered.as_text()
    assert "func.func public @main" in lowered.as_text()
    assert "tensor<2xf32>" in lowered.as_text()
    assert "HloModule" in lowered.as_text("hlo")
    assert "HloModule" in lowered.compile().as_text()
    assert lowered.compiler_ir() == lowered.as_text()
    with pytest.raises(ValueError, match="dialect must be 'stablehlo' or 'hlo'; got 'llvm'"):
        lowered.as_text("llvm")


def test_analyses():
    compiled = weft.jit(lambda x: sin(x) + x).lower(f32(np.ones(1000))).compile()
    costs = compiled.cost_analysis()
    assert costs["flops"] >= 1000
    assert weft.jit(lambda x: sin(x) + x).lower(f32(np.ones(1000))).cost_analysis()["flops"] >= 1000
    memory = compiled.memory_analysis()
    assert memory.argument_bytes == 4000
    assert memory.output_bytes == 4000
    for name in memory._fields:
        given = name.replace("_bytes", "_memory_in_bytes" if "peak" in name else "_size_in_bytes")
        assert getattr(memory, given) == getattr(memory, name)


def test_another_signature_is_an_error():
    compiled = weft.jit(lambda x, y: x + y).lower(f32([1.0]), f32([2.0])).compile()
    with pytest.raises(TypeError, match=r"compiled for float32\[1\].*got float32\[2\]"):
        compiled(f32([1.0, 2.0]), f32([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"compiled for float32\[1\].*got int32\[1\]"):
        compiled(f32([1.0]), np.ones(1, np.int32))
    with pytest.raises(TypeError, match="structure"):
        compiled(f32([1.0]))
    with pytest.raises(TypeError, match="can't be traced again"):
        weft.grad(lambda x: compiled(x, f32([1.0])).sum())(f32([1.0]))


def test_compiled_with_static_arguments_takes_the_others():
    g = weft.jit(lambda x, n: x * n, static_argnums=1)
    compiled = g.lower(f32(2.0), 3).compile()
    same(compiled(f32(2.0)), 6.0)


def test_compiled_with_keywords_and_donation():
    g = weft.jit(lambda x, *, y: x + y, donate_argnames="y")
    compiled = g.lower(f32([1.0]), y=f32([2.0])).compile()
    y = f32([5.0])
    same(compiled(f32([1.0]), y=y), [6.0])
    assert y.is_deleted()


def test_compiler_options_of_jit():
    f = lambda x: x * 3 + 1  # noqa: E731
    options = {"xla_backend_optimization_level": 0}
    g = weft.jit(f, compiler_options=options)
    for _ in range(3):  # at first, and on the fast path
        assert g(2.0) == 7.0
    assert g.trace(2.0).program().options == options
    assert weft.jit(f).trace(2.0).program().options == {}
    assert weft.jit(compiler_options=options)(f)(2.0) == 7.0
    with pytest.raises(RuntimeError, match="nonsense"):
        weft.jit(f, compiler_options={"nonsense": True})(2.0)
    for inside in (weft.grad(g), weft.jit(g), lambda x: weft.vmap(g)(np.array([x]))):
        with pytest.raises(ValueError, match=r"jit: compiler_options=.*whole program") as info:
            inside(2.0)
        assert any("test_stages.py" in note for note in info.value.__notes__)
    for wrong in ("O0", {1: 2}, {"xla_backend_optimization_level": [0]}):
        with pytest.raises(TypeError, match="jit: compiler_options must map names"):
            weft.jit(f, compiler_options=wrong)


def test_compiler_options():
    lowered = weft.jit(lambda x: x * 2 + 1).lower(f32([1.0]))
    compiled = lowered.compile({"xla_backend_optimization_level": 0})
    same(compiled(f32([1.0])), [3.0])
    # what runs is what was compiled with the options
    assert list(compiled.program.executables.values()) == [compiled.runtime_executable()]
    assert compiled.runtime_executable() is not lowered.compile().runtime_executable()
    assert lowered.compile().runtime_executable() is lowered.compile().runtime_executable()
    with pytest.raises((ValueError, RuntimeError), match="xla_no_such_option"):
        lowered.compile({"xla_no_such_option": 1})


def test_keep_unused():
    plain = weft.jit(lambda x, y: x * 2).lower(f32([1.0]), f32(np.ones(77)))
    kept = weft.jit(lambda x, y: x * 2, keep_unused=True).lower(f32([1.0]), f32(np.ones(77)))
    assert "77" not in plain.as_text()
    assert "77" in kept.as_text()
    same(weft.jit(lambda x, y: x * 2, keep_unused=True)(2.0, f32(np.ones(77))), 4.0)


def test_compiling_ahead_serves_later_calls():
    calls = []

    @weft.jit
    def g(x):
        calls.append(1)
        return x * 2

    g.lower(f32([1.0])).compile()
    same(g(f32([3.0])), [6.0])
    assert len(calls) == 1


def test_shape_struct():
    s = weft.ShapeDtypeStruct((2, 3), "float32")
    assert (s.shape, s.dtype, s.ndim, s.size) == ((2, 3), np.float32, 2, 6)
    assert s == weft.ShapeDtypeStruct([2, 3], np.float32)
    assert hash(s) == hash(weft.ShapeDtypeStruct([2, 3], np.float32))
    assert s != weft.ShapeDtypeStruct((2, 3), "int32")
    assert repr(s) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"


def test_compiler_ir():
    lowered = weft.jit(lambda x: x + 1).lower(1.0)
    assert lowered.compiler_ir(dialect="hlo").as_hlo_text().startswith("HloModule")
    assert str(lowered.compiler_ir(dialect="stablehlo")) == lowered.as_text()
    assert lowered.compiler_ir() == lowered.as_text()
    with pytest.raises(ValueError, match="dialect must be"):
        lowered.compiler_ir("llvm")


def test_lowered_knows_what_is_donated():
    f = weft.jit(lambda x, y: x + y, donate_argnums=(0,))
    assert f.lower(1.0, 2.0).donate_argnums == (0,)
    assert f.lower(1.0, 2.0).compile().donate_argnums == (0,)
    assert weft.jit(lambda x: x).lower(1.0).donate_argnums == ()


@pytest.mark.parametrize("transform", [weft.jit, weft.pmap])
def test_lowered_and_compiled_can_be_called(transform):
    x = f32([[1.0, 2.0]])
    compiled = transform(lambda x: x + 1).lower(x).compile()
    same(compiled(x), [[2.0, 3.0]])
    same(compiled(x), [[2.0, 3.0]])


def test_equations_have_a_source():
    f = lambda x: x + 1  # noqa: E731
    info = weft.make_jaxpr(f)(1.0).eqns[0].source_info
    assert (info.operation, str(info.name_stack)) == ("add", "")
    with weft.debug_nans():
        info = weft.make_jaxpr(f)(1.0).eqns[0].source_info
    assert info.line.startswith("test_stages.py:")
