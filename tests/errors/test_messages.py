"""The table of wrong programs: what each error says.

A message has one form: the operation, what was expected, what came (argument's name or path,
shapes, dtypes), the way out; and, as a note, the user's line. That line is marked with `# <-` here.
"""

import inspect
import re

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.core.array import Array

WRONG = []


def wrong(error, *fragments):
    """A wrong program, the error that it must give, and what its message must contain."""

    def add(function):
        WRONG.append(pytest.param(function, error, fragments, id=function.__name__))
        return function

    return add


def f32(*shape):
    return weft.device_put(onp.ones(shape, onp.float32))


def i32(*shape):
    return weft.device_put(onp.ones(shape, onp.int32))


# --- shapes and dtypes ---


@wrong(TypeError, "add:", "float32[3]", "float32[4]", "fix:")
def shapes_that_do_not_broadcast():
    f32(3) + f32(4)  # <-


@wrong(TypeError, "mul:", "float32[2,3]", "float32[4,3]", "axis", "fix:")
def shapes_that_do_not_broadcast_under_jit():
    @weft.jit
    def f(x, y):
        return x * y  # <-

    f(f32(2, 3), f32(4, 3))


@wrong(TypeError, "dot", "float32[2,3]", "float32[4,5]")
def shapes_of_a_matrix_product():
    np.dot(f32(2, 3), f32(4, 5))  # <-


@wrong(TypeError, "matmul", "float32[2,3]", "float32[4]")
def shapes_of_a_matmul_operator():
    f32(2, 3) @ f32(4)  # <-


@wrong(TypeError, "reshape", "float32[2,3]", "6", "(4, 2)", "fix:")
def a_reshape_that_does_not_fit():
    f32(2, 3).reshape(4, 2)  # <-


@wrong(TypeError, "add:", "float32[3]", "int32[3]", "fix:")
def operands_of_lax_of_different_dtypes():
    lax.add(f32(3), i32(3))  # <-


@wrong(TypeError, "and:", "integer or bool", "float32[3]")
def bits_of_a_float():
    f32(3) & f32(3)  # <-


@wrong((TypeError, ValueError), "concatenate", "float32[2,3]", "float32[2,4]")
def arrays_that_do_not_join():
    np.concatenate([f32(2, 3), f32(2, 4)], axis=0)  # <-


@wrong(TypeError, "sin:", "an array", "for x", "got a str")
def a_string_for_an_array():
    np.sin("text")  # <-


@wrong(TypeError, "list", "fix:")
def a_list_for_an_array():
    f32(3) * [1, 2, 3]  # <-


# --- derivatives ---


@wrong(TypeError, "grad: f (test_messages.py:", "scalar", "got float32[3]", "fix:", "jacrev")
def a_loss_that_is_no_scalar():
    def f(x):
        return x * 2

    weft.grad(f)(f32(3))  # <-


@wrong(
    TypeError,
    "grad:",
    "floating-point",
    "got int32[3] for n of f (test_messages.py:",
    "fix:",
    "allow_int",
)
def grad_in_an_integer():
    def f(n):
        return np.sum(n * 1.0)

    weft.grad(f)(i32(3))  # <-


@wrong(TypeError, "value_and_grad:", "got int32[] for params['n'][0] of loss")
def grad_in_an_integer_in_a_tree():
    def loss(params):
        return params["w"]

    weft.value_and_grad(loss)({"w": 1.0, "n": [3]})  # <-


@wrong(TypeError, "grad: argnums=2", "f (test_messages.py:", "(x, y)", "2 positional", "fix:")
def argnums_out_of_range():
    def f(x, y):
        return x * y

    weft.grad(f, argnums=2)(1.0, 2.0)  # <-


@wrong(TypeError, "grad:", "one scalar", "float32[], float32[]", "has_aux=True")
def a_loss_with_forgotten_aux():
    weft.grad(lambda x: (x, x))(1.0)  # <-


@wrong(TypeError, "jvp:", "tangent of x", "float32[3]", "got float32[4]")
def a_tangent_of_another_shape():
    def f(x):
        return x

    weft.jvp(f, (f32(3),), (f32(4),))  # <-


@wrong(TypeError, "vjp:", "cotangent of output['y']", "float32[3]", "got float32[4]")
def a_cotangent_of_another_shape():
    _, pull = weft.vjp(lambda x: {"y": x}, f32(3))
    pull({"y": f32(4)})  # <-


@wrong((TypeError, NotImplementedError), "while_loop", "reverse-mode", "fix:", "scan", "jvp")
def reverse_mode_of_a_while_loop():
    def f(x):
        return lax.while_loop(lambda y: y < 10.0, lambda y: y * 2.0, x)

    weft.grad(f)(1.0)  # <-


@wrong(TypeError, "f", "forward-mode", "custom_vjp", "fix:", "custom_jvp")
def forward_mode_of_custom_vjp():
    @weft.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    weft.jvp(f, (1.0,), (1.0,))  # <-


# --- traced values where Python needs numbers ---


@wrong(
    weft.errors.TracerBoolConversionError,
    "bool:", "bool[]", "f (test_messages.py:", "jit", "argument x", "fix:", "lax.cond", "where",
    "static_argnums",
)  # fmt: skip
def an_if_on_a_tracer():
    @weft.jit
    def f(x, y):
        if x * 2 > 0:  # <-
            return x
        return y

    f(1.0, 2.0)


@wrong(weft.errors.TracerBoolConversionError, "bool:", "arguments x, y['a']", "while_loop")
def a_while_on_a_tracer():
    @weft.jit
    def f(x, y, z):
        while x + y["a"] < 3:  # <-
            x = x + 1
        return x + z

    f(1.0, {"a": 2.0}, 0.0)


@wrong(
    weft.errors.ConcretizationTypeError, "int:", "argument n", "float32[]", "fix:", "static_argnums"
)
def int_of_a_tracer():
    @weft.jit
    def f(n):
        return np.zeros(int(n))  # <-

    f(3.0)


@wrong(weft.errors.ConcretizationTypeError, "float:", "argument x", "fix:")
def float_of_a_tracer():
    @weft.jit
    def f(x):
        return float(x)  # <-

    f(3.0)


@wrong(weft.errors.ConcretizationTypeError, "item:", "argument x", "fix:")
def item_of_a_tracer():
    @weft.jit
    def f(x):
        return x.item()  # <-

    f(3.0)


@wrong(weft.errors.TracerIntegerConversionError, "index:", "argument i", "int32[]", "fix:")
def indexing_a_list_with_a_tracer():
    @weft.jit
    def f(i):
        return [1, 2, 3][i]  # <-

    f(1)


@wrong(weft.errors.TracerIntegerConversionError, "index:", "argument n", "fix:")
def range_of_a_tracer():
    @weft.jit
    def f(n):
        return sum(range(n))  # <-

    f(3)


@wrong(weft.errors.TracerArrayConversionError, "numpy.asarray:", "argument x", "weft.numpy", "fix:")
def numpy_of_a_tracer():
    @weft.jit
    def f(x):
        return onp.sin(onp.asarray(x))  # <-

    f(f32(3))


@wrong(TypeError, "x", "fix:")
def a_function_of_numpy_on_a_tracer():
    @weft.jit
    def f(x):
        return onp.sort(x)  # <-

    f(f32(3))


@wrong(weft.errors.TracerArrayConversionError, "numpy.asarray:", "differentiated", "fix:")
def numpy_of_a_value_that_is_differentiated():
    def f(x):
        return np.sum(onp.asarray(x))  # <-

    weft.grad(f)(f32(3))


@wrong(weft.errors.TracerBoolConversionError, "bool:", "vmap", "3 values", "fix:", "where")
def an_if_on_a_batch():
    def f(x):
        return x if x > 0 else -x  # <-

    weft.vmap(f)(f32(3))


@wrong(ValueError, "bool:", "one element", "bool[3]")
def an_if_on_an_array():
    if f32(3) > 0:  # <-
        pass


@wrong(weft.errors.NonConcreteBooleanIndexError, "float32[3]", "bool[3]", "fix:", "where")
def a_boolean_mask_under_jit():
    @weft.jit
    def f(x):
        return x[x > 0]  # <-

    f(f32(3))


# --- leaked tracers ---

_kept = []


@wrong(
    weft.errors.UnexpectedTracerError,
    "add:", "float32[3]", "jit of f (test_messages.py:", "created: as the argument x",
    "used: test_messages.py:", "in a_leaked_argument", "fix:", "return",
)  # fmt: skip
def a_leaked_argument():
    @weft.jit
    def f(x):
        _kept[:] = [x]
        return x

    f(f32(3))
    _kept[0] + 1.0  # <-


@wrong(weft.errors.UnexpectedTracerError, "mul", "created: by sin", "used: test_messages.py:")
def a_leaked_result_in_another_function():
    @weft.jit
    def f(x):
        _kept[:] = [np.sin(x)]
        return x

    @weft.jit
    def g(x):
        return x * _kept[0]  # <-

    f(1.0)
    g(1.0)


@wrong(weft.errors.UnexpectedTracerError, "float:", "after that trace has ended", "created: by")
def a_leaked_result_as_a_number():
    @weft.jit
    def f(x):
        _kept[:] = [x * 2]
        return x

    f(1.0)
    float(_kept[0])  # <-


@wrong(weft.errors.UnexpectedTracerError, "grad of f (test_messages.py:", "used:", "fix:")
def a_leaked_value_of_grad():
    def f(x):
        _kept[:] = [x * 2]
        return x

    weft.grad(f)(1.0)
    np.sin(_kept[0])  # <-


@wrong(weft.errors.UnexpectedTracerError, "vmap of f (test_messages.py:", "used:", "fix:")
def a_leaked_value_of_vmap():
    def f(x):
        _kept[:] = [x * 2]
        return x

    weft.vmap(f)(f32(3))
    _kept[0] * 2.0  # <-


# --- arguments of transformations ---


@wrong(
    ValueError,
    "jit:",
    "'shape' of f (test_messages.py:",
    "hashable",
    "list [2, 3]",
    "fix:",
    "tuple",
)
def an_unhashable_static_argument():
    def f(x, shape):
        return x

    weft.jit(f, static_argnums=1)(1.0, [2, 3])  # <-


@wrong(
    TypeError, "jit:", "argument y['name'] of f (test_messages.py:", "str 'text'", "fix:", "static"
)
def an_argument_that_is_no_array():
    def f(x, y):
        return x

    weft.jit(f)(1.0, {"name": "text"})  # <-


@wrong(
    TypeError, "jit: f (test_messages.py:", "must return arrays", "leaf 1", "str: 'text'", "fix:"
)
def a_function_that_returns_no_array():
    def f(x):
        return x, "text"

    weft.jit(f)(1.0)  # <-


@wrong(TypeError, "grad: f (test_messages.py:", "must return", "str")
def a_loss_that_returns_no_array():
    def f(x):
        return "text"

    weft.grad(f)(1.0)  # <-


@wrong(
    ValueError, "vmap:", "one length", "argument x: float32[3,2], axis 0: length 3",
    "argument y['b']: float32[4], axis 0: length 4", "fix:", "in_axes",
)  # fmt: skip
def axes_of_different_lengths():
    def f(x, y):
        return x

    weft.vmap(f)(f32(3, 2), {"b": f32(4)})  # <-


@wrong((TypeError, ValueError), "vmap: in_axes", "tree")
def in_axes_of_another_structure():
    def f(x):
        return x["a"]

    weft.vmap(f, in_axes=({"b": 0},))({"a": f32(3)})  # <-


@wrong(ValueError, "vmap:", "in_axes", "2 entries", "1 arguments", "f (test_messages.py:")
def too_many_in_axes():
    def f(x):
        return x

    weft.vmap(f, in_axes=(0, 0))(f32(3))  # <-


@wrong(ValueError, "vmap:", "axis 1 is out of range", "argument x", "float32[3]", "fix:")
def a_mapped_axis_out_of_range():
    def f(x):
        return x

    weft.vmap(f, in_axes=1)(f32(3))  # <-


@wrong(ValueError, "vmap:", "out_axes is None", "depends", "fix:")
def an_unmapped_output_that_depends():
    weft.vmap(lambda x: x, out_axes=None)(f32(3))  # <-


@wrong(TypeError, "grad: expected a function", "float32[3]")
def no_function_at_all():
    weft.grad(f32(3))  # <-


@wrong(TypeError, "jit: expected a function", "generator function f (test_messages.py:", "fix:")
def a_generator():
    def f(x):
        yield x

    weft.jit(f)  # <-


# --- arrays ---


@wrong(TypeError, "item assignment", "immutable", "float32[3]", "fix:", ".at[index].set")
def item_assignment():
    x = f32(3)
    x[0] = 1.0  # <-


@wrong(TypeError, "item assignment", "immutable", "float32[3]", ".at[index].set")
def item_assignment_under_jit():
    @weft.jit
    def f(x):
        x[0] = 1.0  # <-
        return x

    f(f32(3))


@wrong(weft.errors.DeletedArrayError, "float32[3]", "donated", "fix:")
def use_of_a_donated_array():
    x = f32(3)
    weft.jit(lambda x: x + 1, donate_argnums=0)(x)
    x + 1.0  # <-


@wrong(weft.errors.DeletedArrayError, "donated", "fix:")
def use_of_a_donated_array_in_jit():
    step = weft.jit(lambda x: x + 1, donate_argnums=0)
    x = f32(3)
    step(x)
    step(x)  # <-


@wrong(ValueError, "sum", "axis 2", "out of range", "float32[2,3]")
def a_reduction_axis_out_of_range():
    np.sum(f32(2, 3), axis=2)  # <-


@wrong(ValueError, "axis -3", "out of range", "float32[2,3]")
def a_negative_axis_out_of_range():
    np.mean(f32(2, 3), axis=-3)  # <-


@wrong((ValueError, TypeError), "squeeze", "axis 1", "float32[2,3]")
def squeezing_a_longer_axis():
    np.squeeze(f32(2, 3), axis=1)  # <-


@wrong(IndexError, "float32[2,3]")
def too_many_indices():
    f32(2, 3)[0, 0, 0]  # <-


@wrong(TypeError, "index", "float32")
def indexing_with_a_float():
    f32(3)[f32()]  # <-


# --- control flow ---


@wrong(TypeError, "cond:", "float32[3]", "float32[2]", "true", "false")
def branches_of_different_shapes():
    def yes(x):
        return x

    def no(x):
        return x[:2]

    lax.cond(True, yes, no, f32(3))  # <-


@wrong(TypeError, "cond:", "structure")
def branches_of_different_structure():
    lax.cond(True, lambda x: (x, x), lambda x: x, 1.0)  # <-


@wrong(TypeError, "scan:", "carry", "float32[3]", "float32[]")
def a_carry_of_another_shape():
    def f(carry, x):
        return carry + x, None

    lax.scan(f, 0.0, f32(2, 3))  # <-


@wrong(TypeError, "scan:", "carry", "int32[]", "float32[]")
def a_carry_of_another_dtype():
    def f(carry, x):
        return carry + x, None

    lax.scan(f, i32(), f32(2))  # <-


@wrong(TypeError, "while_loop", "body (test_messages.py:", "int32[]", "float32[]", "fix:")
def a_while_body_that_changes_the_dtype():
    def body(x):
        return x * 1.5

    lax.while_loop(lambda x: x < 3, body, i32())  # <-


@wrong((TypeError, ValueError), "scan:", "length", "xs['a']", "2", "xs['b']", "3")
def slices_of_different_lengths():
    lax.scan(lambda c, x: (c, x), 0.0, {"a": f32(2), "b": f32(3)})  # <-


@wrong(TypeError, "while_loop", "cond", "bool", "float32[]")
def a_condition_that_is_no_boolean():
    lax.while_loop(lambda x: x, lambda x: x, 1.0)  # <-


# --- devices and options ---


@wrong(TypeError, "device_put", "device", "'cpu'")
def a_name_for_a_device():
    weft.device_put(f32(3), "cpu")  # <-


@wrong(AttributeError, "no_such_switch", "config.describe()")
def a_switch_that_does_not_exist():
    weft.config.update("no_such_switch", 1)  # <-


def marked_line(function):
    """The number of the line that ends in `# <-`, and the innermost function that it is in."""
    lines, first = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
    indent = len(lines[offset]) - len(lines[offset].lstrip())
    name = next(
        m.group(2)
        for line in reversed(lines[:offset])
        if (m := re.match(r"( *)def (\w+)", line)) and len(m.group(1)) < indent
    )
    return first + offset, name


PYTHONS_OWN = {AttributeError}  # raised by plain Python objects: the traceback shows the line


@pytest.mark.parametrize(("function", "error", "fragments"), WRONG)
def test_message(function, error, fragments):
    with pytest.raises(error) as caught:
        function()
    text = str(caught.value)
    notes = getattr(caught.value, "__notes__", [])
    for fragment in fragments:
        assert fragment in text, f"{fragment!r} is not in:\n{text}"
    assert "object at 0x" not in text
    assert "Tracer object" not in text
    if error in PYTHONS_OWN:
        return
    line, name = marked_line(function)
    assert f"  at test_messages.py:{line}, in {name}" in notes, f"{notes}\n{text}"
    assert sum(note.startswith("  at ") for note in notes) == 1


@pytest.mark.parametrize(("function", "error", "fragments"), WRONG)
def test_nothing_is_left_behind(function, error, fragments):
    """The current trace is the evaluating one again."""
    with pytest.raises(error):
        function()
    assert type(f32(2) + 1.0) is Array
