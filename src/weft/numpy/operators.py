"""What operators and methods of arrays mean. Fills the second hook: `Value.operators`."""

import sys

from ..core.value import Value
from ..primitives import arithmetic, structural
from .promotion import binary, unary

add = binary(structural.add, "add", operator=True)
subtract = binary(arithmetic.sub, "subtract", operator=True)
multiply = binary(arithmetic.mul, "multiply", operator=True)
true_divide = binary(arithmetic.div, "true_divide", to_inexact=True, operator=True)

negative = unary(arithmetic.neg, "negative")


def array_str(x):
    return str(x.__array__())


def array_repr(x):
    return f"Array({x.__array__()!r})"


Value.operators = sys.modules[__name__]
