"""Programs as JSON: a program that is read prints and computes as before; nonsense is refused."""

import copy
import json
import sys
from pathlib import Path

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import grad, jit, lax, random, vmap
from weft.core.array import Array, as_value
from weft.core.aval import aval
from weft.core.jaxpr import Equation, Jaxpr, Var, run
from weft.core.trace import current, with_locations
from weft.explanation.program_file import Malformed, read_program, written_program
from weft.extend import Primitive

sys.path.append(str(Path(__file__).parents[1] / "laws"))
sys.path.append(str(Path(__file__).parents[1]))

from collect import CASES

X = onp.linspace(0.5, 2.0, 6, dtype=onp.float32)
FAMILIES = {}
for one in CASES:
    FAMILIES.setdefault(one.family, []).append(one)


def again(program):
    """A program, written as text and read."""
    content, arrays = written_program(program)
    return read_program(json.loads(json.dumps(content)), arrays)


def bits(program, args):
    return [(x.aval, onp.asarray(x.host()).tobytes()) for x in run(program, args, current.trace)]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_primitive_is_written_and_read(family):
    evaluated = set()
    for case in FAMILIES[family]:
        args = [as_value(x) for x in case.arguments()]
        program = weft.make_jaxpr(lambda *xs, c=case: c.function(*xs, **c.params))(*args)
        read = again(program)
        assert str(read) == str(program), case.name
        if case.operation not in evaluated:  # compiling takes the time
            evaluated.add(case.operation)
            assert bits(read, args) == bits(program, args), case.name


# --- operations with programs inside, and what parameters can be ---


@weft.custom_vjp
def scaled(x):
    return 2 * x


scaled.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))


@weft.custom_jvp
def shifted(x):
    return x + 1


shifted.defjvp(lambda p, t: (shifted(p[0]), t[0]))


@weft.custom_batching.custom_vmap
def doubled(x):
    return x * 2


@doubled.def_vmap
def _(size, batched, x):
    return x + x, batched[0]


TABLE = np.arange(12.0).reshape(3, 4)
PROGRAMS = {
    "scan": lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x, reverse=True),
    "while": lambda x: lax.while_loop(lambda x: x[0] < 9.0, lambda x: x * 1.5, x),
    "cond": lambda x: lax.cond(x[0] > 1, np.sin, np.cos, x),
    "switch": lambda x: lax.switch(2, [np.sin, np.cos, np.tan], x),
    "call": lambda x: jit(lambda x: x @ x)(x) + jit(lambda x: x @ x)(2 * x),
    "custom_vjp": lambda x: (scaled(x), grad(lambda x: scaled(x).sum())(x)),
    "custom_jvp": lambda x: grad(lambda x: shifted(x).sum())(x) + shifted(x),
    "custom_vmap": lambda x: doubled(x),
    "checkpoint": lambda x: grad(lambda x: weft.checkpoint(np.sin)(x).sum())(x),
    "linear_solve": lambda x: np.linalg.solve(np.diag(x), x),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda y: 2 * y, x, lambda _, b: b / 2, symmetric=True
    ),
    "constants": lambda x: TABLE[:, 0] + x[:3] + onp.float32(0.5),
    "shared programs": lambda x: [lax.map(f, x) for f in (np.sin, np.sin)],
    "named axis": lambda x: vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(x),
    "reduce": lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b * 1.0, (0,)),
    "sort": lambda x: lax.sort((x, -x), num_keys=2),
    "keys": lambda x: random.normal(random.key(3), (4,)) + random.key_data(random.key(1))[0],
    "other keys": lambda x: random.normal(random.key(3, impl="rbg"), (4,)),
    "precision": lambda x: lax.dot(x, x, precision="BF16_BF16_F32"),
    "device_put": lambda x: weft.device_put(x, weft.devices()[0]) * 2,
    "print": lambda x: weft.debug.print("x is {}", x) or x,
    "complex": lambda x: np.fft.fft(x * (1 + 2j)),
    "small dtypes": lambda x: x.astype("int4") + x.astype("float8_e5m2").astype("int4"),
    "empty": lambda x: x[:0],
    "no equations": lambda x: (x, 1.0),
    "nan literal": lambda x: np.where(x > 1, np.nan, -np.inf) + (-0.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_inside_and_other_parameters(name):
    program = with_locations(weft.make_jaxpr(PROGRAMS[name]), X)
    read = again(program)
    assert str(read) == str(program)
    assert [e.source for e in read.equations] == [e.source for e in program.equations]
    assert all(e.source.line for e in read.equations)
    assert read.labels == program.labels
    if name != "device_put":  # devices are names
        args = [as_value(X)]
        assert bits(read, args) == bits(program, args)


def test_wide_types(request):
    with weft.enable_x64():
        args = [as_value(X.astype(onp.float64)), as_value(3)]
        program = weft.make_jaxpr(lambda x, n: (x * n, x.astype(int), 1e300 * x))(*args)
        read = again(program)
        assert str(read) == str(program)
        assert "f64" in str(read)
        assert bits(read, args) == bits(program, args)


def test_equal_programs_stay_one():
    """So what is derived of them is derived once."""
    read = again(weft.make_jaxpr(PROGRAMS["shared programs"])(X))
    first, second = [dict(e.params)["jaxpr"] for e in read.equations]
    assert first is second


with_any_parameter = Primitive("with_any_parameter", "The same array.")


@with_any_parameter.type
def _(x, *, value):
    return x


@with_any_parameter.evaluate
def _(x, *, value):
    return x


def one_equation(value, primitive=with_any_parameter):
    a = aval((2,), onp.dtype(onp.float32))
    x, y = Var(a), Var(a)
    equation = Equation(primitive, [x], (("value", value),), [y])
    return Jaxpr([], [], [x], [equation], [y])


VALUES = [
    None, True, False, 0, -(2**80), "", "naïve ☃ \ud800", (), ((), (1, (None,))),
    0.1, -0.0, float("inf"), float("nan"), 5e-324, complex(-0.0, 1.5),
    onp.float32(0.1), onp.int8(-3), onp.bool_(True), onp.complex64(1j),
    onp.dtype("float16"), np.bfloat16.dtype, aval((3,), onp.dtype("int8"), True),
    weft.dtypes.float0, random.key(0).dtype,
    lax.Precision.HIGHEST, lax.RoundingMethod.TO_NEAREST_EVEN,
    lax.GatherScatterMode.CLIP, lax.DotAlgorithmPreset.F32_F32_F32,
    lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_parameters_of_every_kind(value):
    (equation,) = again(one_equation(value)).equations
    ((_, read),) = equation.params
    assert type(read) is type(value)
    assert repr(read) == repr(value)


def test_objects_of_the_user_become_names():
    class Mine:
        def __repr__(self):
            return "Mine!"

    (equation,) = again(one_equation((Mine(), len))).equations
    ((_, (mine, function)),) = equation.params
    assert (mine.kind, repr(mine), repr(function)) == ("Mine", "Mine!", "len")


def test_a_callback_is_its_name():
    def callback(x):
        return x

    program = weft.make_jaxpr(lambda x: weft.pure_callback(callback, x, x))(X)
    read = again(program)
    assert str(read) == str(program)
    assert "callback" in str(read)
    with pytest.raises(Exception, match=r"callback \(test_program_file.py:\d+\)"):
        run(read, [as_value(X)], current.trace)


def test_an_operation_of_a_module_that_is_not_loaded():
    content, arrays = written_program(one_equation(1))
    equation = content["programs"][0]["equations"][0]
    assert equation["module"] == __name__
    equation["op"] = "of_another_module"
    (read,) = read_program(content, arrays).equations
    assert (read.primitive.name, read.primitive.module) == ("of_another_module", __name__)
    assert again(one_equation(1)).equations[0].primitive is with_any_parameter


# --- what is refused ---


FIRST = ("programs", 0, "equations", 0)
AXES = (*FIRST, "params", "axes")
WRONG = {
    "no table": (["avals"], None, "avals must be a list; it is None"),
    "no program": (["programs"], [], "there is no program"),
    "unknown dtype": (["avals", 0, 1], "float31", "there is no dtype 'float31'"),
    "dtype is no text": (["avals", 0, 1], 3, "an aval must be a str; it is 3"),
    "negative shape": (["avals", 0, 0], [-1], r"an aval has the shape \[-1\]"),
    "too many axes": (["avals", 0, 0], [1] * 65, "an aval has the shape"),
    "unknown operation": ([*FIRST, "op"], "cosinus", "no operation 'cosinus'"),
    "operation is a list": ([*FIRST, "op"], [], "the name of an operation must be a str"),
    "later variable": ([*FIRST, "in"], [5], "there is no variable 5"),
    "negative variable": ([*FIRST, "in"], [-1], "there is no variable -1"),
    "variable is true": ([*FIRST, "in"], [True], "must be a int; it is True"),
    "other inputs": ([*FIRST, "in"], [], "reduce_sum rejects its inputs"),
    "other results": ([*FIRST, "out"], [1], "results of reduce_sum contradict its type rule"),
    "no parameter": ([*FIRST, "params"], {}, "reduce_sum rejects"),
    "wrong parameter": (AXES, [7], "reduce_sum rejects"),
    "parameter of no kind": (AXES, {"import": "os"}, "a parameter is {'import': 'os'}"),
    "two kinds": (AXES, {"float": "1", "place": "x"}, "a parameter is"),
    "no float": (AXES, {"float": "zz"}, "a number is 'zz'"),
    "a number": (AXES, 0.5, "a parameter must be a dict; it is 0.5"),
    "no enum": (AXES, {"enum": ["Popen", "x"]}, "no Popen.x"),
    "no member": (AXES, {"enum": ["Precision", "mro"]}, "no Precision.mro"),
    "no record": (AXES, {"record": ["Popen", []]}, "no Popen of 0"),
    "no program inside": (AXES, {"program": 0}, "there is no program 0"),
    "no source": ([*FIRST, "at"], 9, "there is no source 9"),
    "array as literal": ([*FIRST, "in"], [{"literal": [1, "00"]}], r"a literal is float32\[2,3\]"),
    "labels": (["programs", 0, "labels"], [[1], []], "a label must be a str"),
    "constants": (["programs", 0, "constants"], [[0, 0]], "there is no array 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_nonsense_is_refused(name):
    content, arrays = written_program(weft.make_jaxpr(lambda x: np.sum(x, axis=0))(np.ones((2, 3))))
    (*path, last), value, message = WRONG[name]
    at = content = copy.deepcopy(content)
    for key in path:
        at = at[key]
    at[last] = value
    with pytest.raises(Malformed, match=message):
        read_program(content, arrays)


def test_a_constant_of_another_type_is_refused():
    content, arrays = written_program(weft.make_jaxpr(lambda x: x + TABLE)(1.0))
    other = [Array(onp.zeros(3, onp.float32), aval((3,), onp.dtype("float32"))) for _ in arrays]
    with pytest.raises(Malformed, match=r"a constant of type float32\[3\] has a variable of"):
        read_program(content, other)


@pytest.mark.parametrize("digits", ["07", "zz", "", "0101"])
def test_literals_have_the_bytes_of_their_type(digits):
    content, arrays = written_program(weft.make_jaxpr(lambda x: x & True)(np.array([True])))
    text = json.dumps(content)
    assert '"01"' in text
    with pytest.raises(Malformed, match=f"'{digits}' is no bool"):
        read_program(json.loads(text.replace('"01"', f'"{digits}"')), arrays)
