"""What operators and methods of arrays mean. Fills the second hook: `Value.operators`."""

import sys

from ..core.value import Value
from ..primitives import arithmetic, structural
from .promotion import binary

add = binary(structural.add, "add")
subtract = binary(arithmetic.sub, "subtract")
multiply = binary(arithmetic.mul, "multiply")
true_divide = binary(arithmetic.div, "true_divide", to_inexact=True)


def negative(x):
    return arithmetic.neg(x)


def array_str(x):
    return str(x.__array__())


def array_repr(x):
    return f"Array({x.__array__()!r})"


Value.operators = sys.modules[__name__]
