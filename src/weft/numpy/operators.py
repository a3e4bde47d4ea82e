"""The operators and methods of arrays, `Value.operators`.

Operators return `NotImplemented` for operands that are not arrays, as Python requires; the
functions with the same names in other modules raise an error. Operators are defined here; methods
are functions of other modules, which are imported at their first use.
"""

import sys
from typing import Any

from ..core.value import Value, fill_operators
from ..lazy import Deferred, exports
from ..primitives import arithmetic, bitwise, comparison, structural
from .arithmetic import (
    _divmod,
    _floor_divide,
    _host_floor_divide,
    _host_remainder,
    _power,
    _remainder,
    absolute as absolute,
    host_divmod,
    negative as negative,
    positive as positive,
)
from .bitwise import _right_shift
from .comparison import compared, lexicographic_comparison
from .makers import binary, composite_binary
from .promotion import is_operand

add = binary(structural.add, "add", operator=True)
subtract = binary(arithmetic.sub, "subtract", operator=True)
multiply = binary(arithmetic.mul, "multiply", operator=True)
true_divide = binary(arithmetic.div, "true_divide", to_inexact=True, operator=True)
floor_divide = composite_binary(
    _floor_divide, "floor_divide", to_number=True, operator=True, evaluate=_host_floor_divide
)
remainder = composite_binary(
    _remainder, "remainder", to_number=True, operator=True, evaluate=_host_remainder
)
divmod = composite_binary(_divmod, "divmod", to_number=True, operator=True, evaluate=host_divmod)
bitwise_and = binary(bitwise.bitwise_and, "bitwise_and", operator=True)
bitwise_or = binary(bitwise.bitwise_or, "bitwise_or", operator=True)
bitwise_xor = binary(bitwise.bitwise_xor, "bitwise_xor", operator=True)
left_shift = binary(bitwise.shift_left, "left_shift", to_number=True, operator=True)
right_shift = composite_binary(_right_shift, "right_shift", to_number=True, operator=True)
equal = binary(comparison.eq, "equal", operator=True, beyond=compared)
not_equal = binary(comparison.ne, "not_equal", operator=True, beyond=compared)
less = lexicographic_comparison("less", comparison.lt, comparison.lt, "", operator=True)
less_equal = lexicographic_comparison("less_equal", comparison.le, comparison.lt, "", operator=True)
greater = lexicographic_comparison("greater", comparison.gt, comparison.gt, "", operator=True)
greater_equal = lexicographic_comparison(
    "greater_equal", comparison.ge, comparison.gt, "", operator=True
)


def power(x: Any, y: Any) -> Any:
    """x ** y."""
    if not (is_operand(x) and is_operand(y)):
        return NotImplemented
    return _power("power", x, y)


def matmul(x: Any, y: Any) -> Any:
    """x @ y."""
    if not isinstance(y, Value) and not (is_operand(x) and is_operand(y)):
        return NotImplemented
    return Value.operators.multiply_matrices(x, y)


def namespace(api_version: str | None = None) -> Any:
    """The module of the array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: unknown version of the array API {api_version!r}")
    return sys.modules[__name__.rpartition(".")[0]]


_, __getattr__, __dir__ = exports(
    "weft.numpy",
    {
        "array_methods": "byteswap to_device view",
        "at": "at",
        "bitwise": "invert",
        "complex_numbers": "conjugate imag real",
        "creation": "astype copy",
        "cumulative": "cumprod cumsum",
        "extrema": "clip",
        "indexing": "getitem nonzero",
        "matrices": "diagonal trace",
        "printing": "array_repr array_str",
        "products": "dot multiply_matrices",
        "reductions": "all any argmax argmin max min prod ptp sum",
        "rounding": "round",
        "selection": "choose",
        "shapes": "matrix_transpose ravel reshape squeeze swapaxes transpose",
        "sorting": "argpartition argsort searchsorted sort",
        "splitting": "unstack",
        "statistics": "mean std var",
        "taking": "compress take",
        "tiling": "repeat",
    },
    into=__name__,
)

fill_operators(
    sys.modules[__name__],
    add=add,
    sub=subtract,
    mul=multiply,
    truediv=true_divide,
    neg=negative,
    eq=equal,
    ne=not_equal,
    lt=less,
    le=less_equal,
    gt=greater,
    ge=greater_equal,
    **{"and": bitwise_and, "or": bitwise_or},
)

if "einops" in sys.modules:  # it looks for backends at the first array
    Deferred("weft.interop.einops").Backend  # noqa: B018
