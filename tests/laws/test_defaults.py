"""An option that is named at its default changes nothing: the calls in docstrings' examples give
the same bits with all other options at the defaults that the signature says.

That these defaults are NumPy's, SciPy's and JAX's is held by tests/names/test_signatures.py.
"""

import ast
import importlib
import inspect

import numpy as np
import pytest
import wrong_calls

import weft
from weft.config import eager_tier
from weft.tree_util import tree_leaves

NAMES = wrong_calls.imported()
FUNCTIONS = ("layers", "nn.initializers", "ops", "tree_util")  # of these the results are functions
COMPILED = ("random", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg")  # that takes long
NAMESPACES = [n for n in wrong_calls.NAMESPACES if n not in FUNCTIONS]


def calls(namespace):
    """(statements before, the call, the call with every option named) of examples."""
    for name, function in wrong_calls.public_functions(namespace).items():
        if inspect.isfunction(inspect.unwrap(function)):
            example = wrong_calls.example_of(function, name, wrong_calls.path_of(namespace, name))
            if example and (options := unnamed(example[1], function)):
                setup, call = example
                named = ast.Call(call.func, call.args, [*call.keywords, *options])
                yield setup, ast.unparse(call), ast.unparse(named)


def unnamed(call, function):
    """The options that a call leaves out, as keywords at their defaults."""
    given = {k.arg for k in call.keywords}
    listed = list(inspect.signature(function).parameters.values())[len(call.args) :]
    return [
        ast.keyword(p.name, ast.Constant(p.default))
        for p in listed
        if p.kind.name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY") and p.name not in given
        and (p.default is None or type(p.default) in (bool, int, float, str))
    ]  # fmt: skip


def bits(value):
    """What a result is made of."""
    return [
        (str(x.dtype), x.shape, np.asarray(x).tobytes())
        if hasattr(x, "dtype") and hasattr(x, "shape") else repr(x)
        for x in tree_leaves(value)
    ]  # fmt: skip


def program(call, scope):
    """The text of a program that computes a call."""
    return str(weft.make_jaxpr(lambda: eval(call, scope))())


def result(call, scope):
    """The bits of a second call; that the first has them too is another law."""
    eval(call, scope)
    return bits(eval(call, scope))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_options_at_their_defaults_change_nothing(namespace):
    compared, changed = 0, []
    of = program if namespace in COMPILED else result
    with eager_tier("host"):
        for setup, call, named in calls(namespace):
            scope = vars(importlib.import_module(f"weft.{namespace}")) | NAMES
            exec("\n".join(setup), scope)
            try:
                expected = of(call, scope)
            except NameError:  # of the argument of a function around it
                continue
            compared += 1
            if expected != of(named, scope):
                changed.append(named)
    assert changed == []
    assert compared
