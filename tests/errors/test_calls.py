"""Wrong programs whose mistake is in a call: a function that takes something else than it is given,
arguments in another order, and x.at used as NumPy's indexing is.

Each error is raised at the user's line, names the operation, says what came, and gives a way out.
"""

import functools
from typing import Any, NamedTuple

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import fastmath, lax, random
from weft.errors import ShapeError
from weft.experimental import optimizers


class Wrong(NamedTuple):
    program: Any
    error: type[Exception]
    told: tuple[str, ...]
    fix: str


x, y = np.ones((2, 3)), np.ones(3)
key = random.PRNGKey(0)
adam = optimizers.adam(0.1)
doubled = functools.partial(weft.custom_vjp, nondiff_argnums=(1,))(lambda x, n: x * n)
tangents = weft.custom_jvp(lambda x: x * 2)


def augmented():
    x.at[0] += 1


def assigned():
    x.at[0] = 1


TABLE = {
    # functions that take another number of arguments
    "scan": Wrong(
        lambda: lax.scan(lambda c: (c, None), 0.0, x),
        TypeError,
        ("scan: the body <lambda> (test_calls.py:", "takes (c)", "2 arguments, (carry, x)"),
        "a function of (carry, x)",
    ),
    "while_loop": Wrong(
        lambda: lax.while_loop(lambda c: c < 3, lambda i, c: c, 0),
        TypeError,
        ("while_loop: the body", "takes (i, c)", "1 argument, (value)"),
        "a function of (value)",
    ),
    "condition": Wrong(
        lambda: lax.while_loop(lambda: True, lambda c: c, 0),
        TypeError,
        ("while_loop: the condition", "takes ()"),
        "a function of (value)",
    ),
    "fori_loop": Wrong(
        lambda: lax.fori_loop(0, 3, lambda c: c, 0),
        TypeError,
        ("fori_loop: the body", "takes (c)", "(i, value)"),
        "a function of (i, value)",
    ),
    "map": Wrong(
        lambda: lax.map(lambda a, b: a, x),
        TypeError,
        ("map: the function", "takes (a, b)"),
        "a function of (x)",
    ),
    "associative_scan": Wrong(
        lambda: lax.associative_scan(lambda a: a, x),
        TypeError,
        ("associative_scan: the function", "takes (a)"),
        "a function of (a, b)",
    ),
    "cond": Wrong(
        lambda: lax.cond(True, lambda: 1, lambda: 2, x),
        TypeError,
        ("cond: the true_fun", "takes ()", "(operand 0)"),
        "a function of (operand 0)",
    ),
    "cond without operands": Wrong(
        lambda: lax.cond(True, lambda: 1, lambda a: a),
        TypeError,
        ("cond: the false_fun", "takes (a)", "0 arguments, ()"),
        "a function of ()",
    ),
    "switch": Wrong(
        lambda: lax.switch(0, [lambda a: a, lambda: 2], x),
        TypeError,
        ("switch: the branch 1", "takes ()"),
        "a function of (operand 0)",
    ),
    "custom_vjp": Wrong(
        lambda: doubled.defvjp(lambda x, n: (x, x), lambda res, g: (g,)),
        TypeError,
        ("custom_vjp: the rule", "takes (res, g)", "(argument 1, residuals, cotangent)"),
        "a function of (argument 1, residuals, cotangent)",
    ),
    "custom_jvp": Wrong(
        lambda: tangents.defjvp(lambda t: (t, t)),
        TypeError,
        ("custom_jvp: the rule", "takes (t)"),
        "a function of (primals, tangents)",
    ),
    # arguments that are something else
    "switch of functions": Wrong(
        lambda: lax.switch(1, lambda: 1, lambda: 2),
        TypeError,
        ("switch: branches must be a sequence of functions", "one function"),
        "switch(index, [f, g], *operands)",
    ),
    "cond of values": Wrong(
        lambda: lax.cond(True, x, -x),
        TypeError,
        ("cond: the true_fun must be a function; got float32[2,3]",),
        "lambda",
    ),
    "concatenate": Wrong(
        lambda: np.concatenate(x, y),
        TypeError,
        ("concatenate: expected one sequence of arrays", "float32[3]"),
        "concatenate([x, y])",
    ),
    "stack": Wrong(
        lambda: np.stack(x, onp.ones(3)),
        TypeError,
        ("stack: expected one sequence of arrays", "float64 (3,)"),
        "stack([x, y])",
    ),
    "vstack": Wrong(
        lambda: np.vstack(x, y),
        TypeError,
        ("vstack: expected one sequence of arrays", "float32[3]"),
        "vstack([x, y])",
    ),
    "zeros": Wrong(
        lambda: np.zeros(2, 3), TypeError, ("zeros: 3 is not a dtype",), "one argument, (2, 3)"
    ),
    "key for a shape": Wrong(
        lambda: random.normal(key, key),
        TypeError,
        ("normal: shape must be ints; got uint32[2]", "random keys"),
        "the key is the first argument",
    ),
    "key for a number": Wrong(
        lambda: random.split(key, key),
        TypeError,
        ("split: num must be ints; got uint32[2]",),
        "the key is the first argument",
    ),
    "opt_update": Wrong(
        lambda: adam[1]({"w": y}, {"w": y}, adam[0]({"w": y})),
        TypeError,
        ("adam: expected the number of the step as the first argument; got a dict",),
        "opt_update(step, gradients, opt_state)",
    ),
    "index": Wrong(
        lambda: range(x.sum()),
        TypeError,
        ("index: expected an integer scalar; got float32[]",),
        "x.astype(int)",
    ),
    "index of an array": Wrong(
        lambda: [1, 2][y], TypeError, ("index: expected an integer scalar; got float32[3]",), "x[i]"
    ),
    "item": Wrong(
        lambda: x.item(),
        ShapeError,
        ("item: expected an array of one element; got float32[2,3]",),
        "x.tolist()",
    ),
    "use_backend": Wrong(
        lambda: fastmath.use_backend("torch").__enter__(),
        ValueError,
        ("No backend with name torch",),
        "",
    ),
    # x.at
    "at called": Wrong(
        lambda: x.at(0).set(1),
        TypeError,
        ("at: x.at is not a function", "float32[2,3]"),
        "x.at[index].set(value)",
    ),
    "at assigned": Wrong(
        assigned,
        TypeError,
        ("at: elements of float32[2,3] cannot be assigned to",),
        "x.at[index].set(value)",
    ),
    "at augmented": Wrong(
        augmented,
        TypeError,
        ("at: x.at[0] selects elements of float32[2,3] to update",),
        "x.at[index].add(value) for +=",
    ),
    "at added": Wrong(
        lambda: 1 + x.at[0], TypeError, ("at: x.at[0] selects elements",), "x[index] reads"
    ),
}


@pytest.mark.parametrize("row", TABLE)
def test_what_the_error_says(row):
    program, error, told, fix = TABLE[row]
    with pytest.raises(error) as caught:
        program()
    text = str(caught.value)
    for fact in told:
        assert fact in text, text
    assert fix in text.partition("\n  fix: ")[2], text
    line = program.__code__.co_firstlineno + (program.__name__ != "<lambda>")
    notes = getattr(caught.value, "__notes__", [])
    assert notes == [f"  at test_calls.py:{line}, in {program.__name__}"]


def test_functions_that_take_what_they_are_given():
    """Optional and any number of arguments, and what isn't a function written in Python."""
    assert lax.fori_loop(0, 3, lambda i, c, step=2: c + step, 0) == 6
    assert lax.fori_loop(0, 3, lambda *state: state[1] + 1, 0) == 3
    assert lax.fori_loop(0, 3, functools.partial(lambda d, i, c: c + d, 5), 0) == 15
    assert lax.cond(True, np.sin, np.cos, 0.0) == 0
    assert lax.switch(1, [np.sin, np.negative], 2.0) == -2
    assert lax.switch(0, iter([np.negative, np.sin]), 2.0) == -2


def test_the_users_line_is_not_that_of_a_context_manager():
    with pytest.raises(ValueError, match="No backend") as caught, fastmath.use_backend("torch"):
        pass
    assert caught.value.__notes__ == [
        "  at test_calls.py:"
        f"{test_the_users_line_is_not_that_of_a_context_manager.__code__.co_firstlineno + 1}, in "
        "test_the_users_line_is_not_that_of_a_context_manager"
    ]
