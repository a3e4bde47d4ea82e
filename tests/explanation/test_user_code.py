"""UserCode: what a name stands for, which statement has a line, and text that is replaced in it."""

import ast
import linecache
import textwrap

import pytest

import weft
import weft.numpy as np
from weft import nn
from weft.explanation.user_code import UserCode, assigned


def code(text, **names):
    """The code of a text, as of a file."""
    name = "<test_user_code>"
    lines = textwrap.dedent(text).lstrip("\n").splitlines(keepends=True)
    linecache.cache[name] = len(text), None, lines, name
    try:
        return UserCode(name, {"np": np, "nn": nn, "weft": weft} | names)
    finally:
        del linecache.cache[name]


def seen(text, number, name):
    """The text of the expression that a name stands for at a line."""
    user = code(text)
    here = user.statement(number)
    node = next(
        n for n, owner in user.owner.items() if owner is here and getattr(n, "id", "") == name
    )
    return user.source(user.see(node))


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [
        ("def f(x):\n    e = g(x)\n    return e\n", 3, "g(x)"),
        ("def f(x):\n    e = x\n    e = g(x)\n    return e\n", 4, "g(x)"),
        ("def f(x):\n    y = g(x)\n    e = y\n    return e\n", 4, "g(x)"),
        ("def f(x):\n    e: int = g(x)\n    return e\n", 3, "g(x)"),
        ("def f(x):\n    e = g(x)\n    if x:\n        return e\n", 4, "g(x)"),
        ("def f(x):\n    e = g(x)\n    for i in x:\n        h(e)\n", 4, "g(x)"),
        ("def f(x):\n  try:\n    pass\n  except E:\n    e = g(x)\n    return e\n", 6, "g(x)"),
        # bound again, or perhaps not: the name is only a name
        ("def f(x):\n    e = g(x)\n    x = 2\n    return e\n", 4, "e"),
        ("def f(x):\n    e = g(x)\n    e += 1\n    return e\n", 4, "e"),
        ("def f(x):\n    if x:\n        e = g(x)\n    return e\n", 4, "e"),
        ("def f(x):\n    e, y = g(x)\n    return e\n", 3, "e"),
        ("def f(x):\n    e = g(x)\n    for i in x:\n        h(e)\n        e = i\n", 4, "e"),
        ("def f(x):\n    e = g(x)\n    while x:\n        h(e)\n        x = e\n", 4, "e"),
        ("def f(x):\n    for e in x:\n        h(e)\n", 3, "e"),
        ("def f(x):\n    with x as e:\n        h(e)\n", 3, "e"),
        ("def f(e):\n    return e\n", 2, "e"),
        ("e = 1\ndef f(x):\n    return e\n", 3, "e"),
        ("def f(x):\n    e = g(x)\n    return map(lambda e: e, x)\n", 3, "e"),
        ("def f(x):\n    e = g(x)\n    return [e for e in x]\n", 3, "e"),
    ],
)
def test_what_a_name_stands_for(text, number, expected):
    assert seen(text, number, "e") == expected


def logarithms_of_one(user):
    """A rewriting: `log(x)` becomes `LOG(x)`."""

    def rewriting(node):
        args = user.call(node, "log") if isinstance(node, ast.Call) else None
        return f"LOG({user.source(args[0])})" if args else ""

    return rewriting


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [
        ("y = np.log(x)  # a comment\n", 1, "y = LOG(x)"),
        ("if np.log(x) > 0:\n    y = 1\n", 1, "if LOG(x) > 0:"),
        ("if x > 0: y = np.log(x)\n", 1, "if x > 0: y = LOG(x)"),
        ("y = np.log(np.log(x))\n", 1, "y = LOG(np.log(x))"),
        ("y = np.log(a) + np.log(b)\n", 1, "y = LOG(a) + LOG(b)"),
        ("é = 'ß' + np.log(x)\n", 1, "é = 'ß' + LOG(x)"),
        ("y = f(\n    1,  # one\n    np.log(\n        x\n    ),\n)\n", 3, "y = f(1, LOG(x),)"),
        ("y = (a\n     + np.log(x))\n", 2, "y = (a + LOG(x))"),
        ("@jit\ndef f(x):\n\treturn np.log(x)\n", 3, "return LOG(x)"),
        ("for i in np.log(x):\n    pass\n", 1, "for i in LOG(x):"),
        ("y = f'{np.log(x)}'\n", 1, ""),
        ("y = np.exp(x)\n", 1, ""),
        ("y = np.log(x)" + " + 1" * 200 + "\n", 1, ""),  # too long to read
    ],
)
def test_rewritten_text(text, number, expected):
    user = code(text)
    after = user.rewritten(user.statement(number), logarithms_of_one(user))
    assert after == expected


@pytest.mark.parametrize("text", ["", "def f(:\n", "x = '\0'\n"])
def test_text_that_is_no_program_has_no_statement(text):
    assert code(text).statement(1) is None


def test_uses_and_sources_go_through_variables():
    user = code(
        """
        def f(x):
            a = g(x)
            b = h(a)
            c = h(x)
            if c:
                return k(b)
            return c
        """
    )
    first, last = user.statement(2), user.statement(6)
    assert [s.lineno for s in user.uses(first)] == [3, 6]
    assert [s.lineno for s in user.sources(last)] == [6, 3, 2]
    assert assigned(first) == "a"


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("np.sum(x)", ""),
        ("np.sum(x, 0)", ", axis=0"),
        ("np.sum(x, axis=-1, keepdims=True)", ", axis=-1, keepdims=True"),
        ("x.sum((0, 1))", ", axis=(0, 1)"),
        ("x.sum(axis=n)", ", axis=n"),
    ],
)
def test_reductions_of_both_forms(text, axis):
    user = code(f"y = {text}\n")
    total = user.reduction(user.statement(1).value, "sum")
    assert (user.source(total.operand), total.options) == ("x", axis)


@pytest.mark.parametrize("text", ["np.sum(x, where=m)", "np.prod(x)", "np.sum", "np.sum(x, 0, d)"])
def test_other_calls_are_no_reductions(text):
    user = code(f"y = {text}\n")
    assert user.reduction(user.statement(1).value, "sum") is None


def test_the_name_of_a_namespace_is_that_of_the_file():
    user = code("y = jnp.log(x)\nz = np.log(x)\n", jnp=np)
    for number, name in ((1, "jnp"), (2, "np")):
        user.rewritten(user.statement(number), lambda node: "")
        assert user.alias("numpy") == name
    assert user.alias("nn") == "nn"
    assert user.alias("scipy.special") == "weft.scipy.special"
    assert UserCode("no such file", {}).alias("nn") == "weft.nn"
