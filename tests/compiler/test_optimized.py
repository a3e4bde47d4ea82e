"""The reader of optimised programs: instructions, bytes, lines, kernels."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.compiler.optimized import UNKNOWN, Line, OptimizedProgram, bytes_of

TEXT = """HloModule jit_f, is_scheduled=true

FileNames
1 "model.py"
2 "-"

FileLocations
1 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=0 end_column=0}
2 {file_name_id=2 function_name_id=1 line=3 end_line=3 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}


%fused (p.0: f32[8,4]) -> f32[8,4] {
  %p.0 = f32[8,4]{1,0} parameter(0)
  %sine.1 = f32[8,4]{1,0} sine(%p.0), metadata={source_file="model.py" source_line=9}
  ROOT %add.1 = f32[8,4]{1,0} add(%sine.1, %sine.1), metadata={op_name="block" stack_frame_id=1}
}

%body (t.1: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %t.1 = (s32[], f32[8,4]{1,0}) parameter(0)
  %g.0 = s32[] get-tuple-element(%t.1), index=0
  %g.1 = f32[8,4]{1,0} get-tuple-element(%t.1), index=1
  %fusion.2 = f32[8,4]{1,0} fusion(%g.1), kind=kLoop, calls=%fused
  ROOT %tuple.2 = (s32[], /*index=1*/f32[8,4]{1,0}) tuple(%g.0, %fusion.2)
}

%condition (t.2: (s32[], f32[8,4])) -> pred[] {
  %t.2 = (s32[], f32[8,4]{1,0}) parameter(0)
  ROOT %c.1 = pred[] constant(true)
}

ENTRY %main.4 (Arg_0: f32[8,4]) -> f32[8,4] {
  %Arg_0 = f32[8,4]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %copy.1 = f32[8,4]{1,0} copy(%Arg_0)
  %tuple.1 = (s32[], f32[8,4]{1,0}) tuple(%zero, %copy.1)
  %while.1 = (s32[], f32[8,4]{1,0}) while(%tuple.1), condition=%condition, body=%body
  %g.2 = f32[8,4]{1,0} get-tuple-element(%while.1), index=1
  ROOT %dot.1 = f32[8,4]{1,0} custom-call(%g.2), metadata={source_file="-" source_line=3}
}
"""


def test_a_program_of_a_loop_is_read():
    program = OptimizedProgram(TEXT)
    assert program.entry.name == "main.4"
    kernels = {k.name: k for k in program.kernels()}
    assert kernels.keys() == {"copy.1", "fusion.2", "dot.1"}
    assert {k.bytes for k in kernels.values()} == {8 * 4 * 4}
    assert kernels["fusion.2"].line == Line("model.py", 14)
    assert kernels["dot.1"].line is UNKNOWN
    assert [i.opcode for i in program.inside(kernels["fusion.2"])] == ["sine", "add"]
    assert [i.line.number for i in program.inside(kernels["fusion.2"])] == [9, 14]
    (loop,) = [i for i in program.entry.instructions if i.opcode == "while"]
    assert (loop.called, loop.sizes) == (["condition", "body"], [4, 128])


@pytest.mark.parametrize(
    ("dtype", "numpy_name"),
    [("f32", "f4"), ("s64", "i8"), ("pred", "?"), ("c64", "c8"), ("u8", "u1")],
)
def test_bytes_of_types(dtype, numpy_name):
    assert bytes_of(dtype, "3,4") == onp.zeros((3, 4), numpy_name).nbytes
    assert bytes_of(dtype, "") == onp.dtype(numpy_name).itemsize


def block(x):
    return np.cumsum(np.sin(x) @ x)


def test_the_lines_of_kernels_are_those_of_the_source():
    """Against the numbers of the lines in this file, also in a part of the program with a name."""

    @weft.jit
    def f(x):
        y = np.sort(x, axis=0)
        return weft.named_call(block, name="block")(y)

    with weft.config.temporarily(debug_lines=True):
        text = f.lower(np.ones((40, 40))).compile().as_text()
    lines = {k.opcode: k.line for k in OptimizedProgram(text).kernels()}
    first = f.__wrapped__.__code__.co_firstlineno
    assert lines["sort"] == Line("test_optimized.py", first + 2)
    numbers = {line.number for line in lines.values()} - {first + 2}
    assert numbers == {block.__code__.co_firstlineno + 1}


def test_lines_change_neither_bits_nor_the_plain_program():
    def f(x):
        return np.tanh(x @ x) + np.sin(x).sum(0)

    x = np.asarray(onp.random.default_rng(0).normal(size=(30, 30)).astype("float32"))
    jitted = weft.jit(f)
    plain, text = jitted(x), jitted.lower(x).as_text()
    with weft.config.temporarily(debug_lines=True):
        located, located_text = jitted(x), jitted.lower(x).as_text()
    assert onp.array_equal(plain, located)
    assert " loc(" not in text
    assert located_text.count(' loc("test_optimized.py":') >= 4
    assert jitted.lower(x).as_text() == text
