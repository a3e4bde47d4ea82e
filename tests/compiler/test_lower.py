"""Jaxprs as StableHLO text."""

import re

import numpy as np
import pytest

import weft
import weft.numpy as jnp
from weft import nn
from weft.compiler.lower import lower
from weft.core.array import literal
from weft.core.primitive import Primitive, registry
from weft.primitives.trigonometric import cos, sin


def text_of(f, *args, **options):
    jaxpr = weft.make_jaxpr(f)(*args).without_consts()
    return lower(jaxpr, **options)[0]


def test_a_small_program():
    text = text_of(lambda x: sin(x) * 2.0, np.ones(3, np.float32))
    assert "func.func public @main(%" in text
    assert "tensor<3xf32>" in text
    assert text.count("stablehlo.sine") == 1
    assert text.count("stablehlo.multiply") == 1


def test_repeated_constants_and_functions_are_written_once():
    f = weft.jit(lambda x: cos(x) * 3.0)
    text = text_of(lambda x: f(f(x)) + f(x), 1.0)
    assert text.count("stablehlo.cosine") == 1
    assert text.count("call @") == 3


def test_functions_have_names_of_their_own():
    # the program's is "main"; XLA refused two of one name
    def named(f, name):
        return weft.named_call(f, name=name)

    main = named(lambda x: sin(x) + 1.0, "main")
    first, second = named(lambda x: cos(x) * 2.0, "f"), named(lambda x: cos(x) * 3.0, "f")
    taken = named(lambda x: cos(x) * 4.0, "f_1")

    def f(x):
        return first(x) + taken(x) + second(x) + main(x)

    names = re.findall(r"func\.func \w+ @(\w+)", text_of(f, 1.0))
    assert len(set(names)) == len(names) == 5
    np.testing.assert_allclose(weft.jit(f)(1.0), 9 * np.cos(1.0) + np.sin(1.0) + 1, rtol=1e-6)


def test_donation_is_marked():
    text = text_of(lambda x, y: x + y, 1.0, 2.0, donated=[1])
    assert text.count("jax.buffer_donor") == 1


def test_a_program_without_inputs_or_outputs():
    assert "return" in text_of(lambda: ())
    assert "tensor<f32>" in text_of(lambda: 3.0)


def test_outputs_that_are_inputs_and_literals():
    text = text_of(lambda x: (x, 2.0, x), 1.0)
    assert len(re.findall(r"stablehlo\.constant dense<2\.0", text)) == 1
    assert re.search(r"return (%\w+), (%\w+), \1 : ", text)


@pytest.mark.parametrize(
    "value", [np.inf, -np.inf, np.nan, -0.0, 1e-45, 3.4028235e38, 0.1, 2.0**-126],
)  # fmt: skip
def test_constants_keep_every_bit(value):
    many = np.array([value, 1.0, value], np.float32)
    whole = weft.jit(lambda x: (x * 2, weft.device_put(many).reshape(3, 1)))(1.0)[1]
    assert np.asarray(whole).tobytes() == many.tobytes()


def test_a_missing_rule_is_an_error_that_names_the_primitive():
    bare = Primitive("bare_for_lowering", "No rules.")
    bare.type(lambda x: x)
    try:
        with pytest.raises(weft.errors.MissingRuleError, match=r"bare_for_lowering.*no lower rule"):
            weft.jit(lambda x: bare(x))(1.0)
    finally:
        del registry["bare_for_lowering"]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0, 3.4028235e38, 0.1])
def test_literals_keep_every_bit(value):
    got = weft.jit(lambda x: weft.numpy.where(x > 0, x, value))(np.float32(-1.0))
    assert np.asarray(got).tobytes() == np.float32(value).tobytes()


# --- forms: the text of an equation, with other names filled in ---


def test_equations_written_by_forms_compute_the_same():
    """Many equations of few signatures, of inputs, results, constants and literals."""
    random = np.random.RandomState(0)
    operations = [
        lambda a, b, np: a + b,
        lambda a, b, np: a - b,
        lambda a, b, np: a * b,
        lambda a, b, np: np.maximum(a, b),
        lambda a, b, np: np.where(a > b, a, b),
        lambda a, b, np: a ^ b[..., ::-1],
        lambda a, b, np: a + b.sum(-1, keepdims=True),
        lambda a, b, np: a + 3,
        lambda a, b, np: 2 - a,
        lambda a, b, np: a * np.zeros((2, 3), "int32") + b,
        lambda a, b, np: np.ones((2, 3), "int32") - np.zeros((2, 3), "int32") + a,
    ]
    steps = [(random.randint(len(operations)), *random.randint(0, 50, 2)) for _ in range(110)]

    def program(x, y, np):
        values = [x, y]
        for kind, i, j in steps:
            a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
            values.append(operations[kind](a, b, np))
        return np.stack(values)

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    y = x[::-1] * 7 - 3
    got = weft.jit(lambda x, y: program(x, y, weft.numpy))(x, y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, program(x, y, np))


def test_a_form_is_not_made_where_a_name_has_two_meanings():
    zeros, ones = np.zeros(3, np.float32), np.ones(3, np.float32)

    def f(x, y):
        total = x
        for i in range(40):  # of one signature: x * x, x * y, and with a constant as operand
            total = total * weft.numpy.full(3, 0.5 + i % 2)
            total = total + x * x
            total = total + x * y
        return total

    total = x = ones * 2
    y = zeros + 5
    for i in range(40):
        total = total * np.float32(0.5 + i % 2) + x * x + x * y
    np.testing.assert_allclose(weft.jit(f)(x, y), total, rtol=1e-5)


# A program's text does not depend on what was lowered before it: the text of an operation is kept
# for its signature, and filled in for later ones.


def normalized(x, y):
    """The same row is broadcast several times, in the forward pass and in the backward one."""
    centered = x - jnp.mean(x, axis=0, keepdims=True)
    return jnp.sum(jnp.tanh(centered * y / jnp.sqrt(y + 1)) * y * y)


def with_constant(x, y):
    row = jnp.asarray(np.arange(1.0, 5.0, dtype="float32"))
    return jnp.sum(x * row + (x * y) * row), x * x


def looped(x, y):
    row = np.arange(4.0, dtype="float32")
    return weft.lax.scan(lambda c, _: (c * y + c * row, c * y), x, None, length=3)[0]


ROWS = np.ones((3, 4), np.float32), np.ones((1, 4), np.float32)
PROGRAMS = {
    "gradient": weft.grad(normalized, (0, 1)),
    "second": weft.grad(lambda x, y: jnp.sum(weft.grad(normalized)(x, y))),
    "batched": lambda x, y: weft.vmap(normalized, (0, None))(x[:, None], y),
    "constants": with_constant,
    "loop": looped,
    "softmax": lambda x, y: weft.grad(lambda z: jnp.sum(nn.softmax(z * y)))(x),
    "statistics": lambda x, y: (jnp.var(x, axis=0), jnp.std(x * y), jnp.linalg.norm(x - y)),
}


def forget_templates():
    for primitive in registry.values():
        primitive.templates.clear()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_text_does_not_depend_on_what_was_lowered_before(name):
    def text():
        return text_of(lambda *xs: PROGRAMS[name](*xs), *ROWS)

    forget_templates()
    first = text()
    assert text() == text() == first
    forget_templates()
    for other in PROGRAMS.values():
        text_of(lambda *xs, f=other: f(*xs), *ROWS)
    assert text() == first


def test_a_program_does_not_depend_on_the_cache_of_literals():
    """Equal numbers are one object until the cache is emptied; texts compare them by value."""

    def function(x, emptied):
        for i in range(60):
            x = jnp.sin(x) * (1.5 + i % 9) + x.sum()
            if i % 13 == emptied:
                for number in range(5000):
                    literal(number + 0.25, np.dtype("float32"))
        return x

    texts = set()
    for emptied in (-1, 3, 5):
        jitted = weft.jit(function, static_argnames="emptied")
        texts.add(jitted.lower(jnp.ones(3), emptied=emptied).as_text())
    assert len(texts) == 1
