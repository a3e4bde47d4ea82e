"""Strict promotion refuses operands of several dtypes that the user mixes, not those that weft
makes: the calls in docstrings' examples whose operands have one dtype give the same bits."""

import ast
import inspect

import numpy as np
import pytest
import wrong_calls

import weft
from weft.config import eager_tier
from weft.tree_util import tree_leaves

NAMES = wrong_calls.imported()
FUNCTIONS = ("layers", "nn.initializers", "ops", "tree_util")  # of these the results are functions
COMPILED = ("random",)  # that takes long
NAMESPACES = [n for n in wrong_calls.NAMESPACES if n not in (*FUNCTIONS, *COMPILED)]
MIXING = {
    "numpy": """
        add array_equal average block concatenate inner matvec promote_types result_type vecdot
        vecmat
    """,
    "numpy.linalg": "vecdot",
    "lax": "rng_uniform",  # gives other numbers each time
    "scipy.special": "lambertw",  # complex numbers with real ones, inside too
}
"""Functions whose examples have operands of several dtypes, or that are other exceptions."""


def bits(value):
    return [
        (str(x.dtype), x.shape, np.asarray(x).tobytes()) if hasattr(x, "dtype") else type(x)
        for x in tree_leaves(value)
    ]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_examples_of_one_dtype_are_taken_under_strict_promotion(namespace):
    different = []
    for name, function in wrong_calls.public_functions(namespace).items():
        mixes = name in MIXING.get(namespace, "").split()
        example = wrong_calls.example_of(function, name, wrong_calls.path_of(namespace, name))
        if example is None or mixes or not inspect.isfunction(inspect.unwrap(function)):
            continue
        setup, call = ast.parse("\n".join(example[0])), ast.unparse(example[1])
        scope = dict(NAMES)
        with eager_tier("host"):
            try:
                exec(compile(setup, "<setup>", "exec"), scope)
                expected = bits(eval(call, scope))
            except Exception:  # it needs what stands elsewhere in the docstring
                continue
            try:
                with weft.numpy_dtype_promotion("strict"):
                    result = bits(eval(call, scope))
            except weft.errors.TypePromotionError as error:
                result = str(error)
        if result != expected:
            different.append((call, result))
    assert different == []
