"""What operators and methods of arrays mean. Fills the second hook: `Value.operators`.

Operators give way (`NotImplemented`) to operands that are no arrays, as Python's should; the
functions of the same names in other modules refuse them.
"""

import sys
from typing import Any

from .. import dtypes
from ..core.value import Value
from ..primitives import arithmetic, bitwise, comparison, conversion, structural
from . import elementwise, logic
from .at import At as at
from .bits import _right_shift, invert as invert
from .creation import astype as astype, copy as copy, wanted_dtype
from .elementwise import (
    _divmod,
    _floor_divide,
    _power,
    _remainder,
    absolute as absolute,
    conjugate as conjugate,
    imag as imag,
    negative as negative,
    positive as positive,
    real as real,
)
from .indexing import getitem as getitem, nonzero as nonzero, unstack as unstack
from .joining import concatenate
from .matrices import diagonal as diagonal, trace as trace
from .means import mean as mean, std as std, var as var
from .printing import array_repr as array_repr, array_str as array_str
from .products import dot as dot
from .products import matmul as _matmul
from .promotion import binary, cast, derived, is_operand, noted
from .reductions import all as all, any as any, max as max, min as min, prod as prod, ptp as ptp, sum as sum
from .repeating import repeat as repeat
from .rounding import clip as clip, round as round
from .running import argmax as argmax, argmin as argmin, cumprod as cumprod, cumsum as cumsum
from .shapes import matrix_transpose as matrix_transpose, ravel as ravel, reshape as reshape, squeeze as squeeze, swapaxes as swapaxes, transpose as transpose
from .taking import choose as choose, compress as compress, take as take
from .sorting import argsort as argsort, searchsorted as searchsorted, sort as sort

add = binary(structural.add, "add", operator=True)
subtract = binary(arithmetic.sub, "subtract", operator=True)
multiply = binary(arithmetic.mul, "multiply", operator=True)
true_divide = binary(arithmetic.div, "true_divide", to_inexact=True, operator=True)
floor_divide = derived(_floor_divide, "floor_divide", to_number=True, operator=True)
remainder = derived(_remainder, "remainder", to_number=True, operator=True)
divmod = derived(_divmod, "divmod", to_number=True, operator=True)
bitwise_and = binary(bitwise.bitwise_and, "bitwise_and", operator=True)
bitwise_or = binary(bitwise.bitwise_or, "bitwise_or", operator=True)
bitwise_xor = binary(bitwise.bitwise_xor, "bitwise_xor", operator=True)
left_shift = binary(bitwise.shift_left, "left_shift", to_number=True, operator=True)
right_shift = derived(_right_shift, "right_shift", to_number=True, operator=True)
equal = binary(comparison.eq, "equal", operator=True)
not_equal = binary(comparison.ne, "not_equal", operator=True)
less = logic.in_order("less", comparison.lt, comparison.lt, "", operator=True)
less_equal = logic.in_order("less_equal", comparison.le, comparison.lt, "", operator=True)
greater = logic.in_order("greater", comparison.gt, comparison.gt, "", operator=True)
greater_equal = logic.in_order("greater_equal", comparison.ge, comparison.gt, "", operator=True)


def power(x: Any, y: Any) -> Any:
    """x ** y."""
    if not (is_operand(x) and is_operand(y)):
        return NotImplemented
    return _power("power", x, y)


def matmul(x: Any, y: Any) -> Any:
    """x @ y."""
    if not isinstance(y, Value) and not (is_operand(x) and is_operand(y)):
        return NotImplemented
    return _matmul(x, y)


def view(x: Any, dtype: Any = None) -> Any:
    """The bits of an array read as another dtype."""
    if dtype is None:
        return x
    wanted = wanted_dtype("view", dtype)
    found = x.aval.dtype
    if wanted == found:
        return x
    if not x.aval.ndim and wanted.itemsize != found.itemsize:
        raise noted(ValueError(f"view: {x.aval} without axes can't be read as {wanted.name}, of another width"))
    if dtypes.is_bool(wanted):
        if found.itemsize != 1:
            raise noted(ValueError(f"view: {x.aval} can't be read as bool\n  fix: x != 0"))
        return comparison.ne(x, structural.zeros(x.aval))
    if dtypes.is_bool(found):
        x = cast(x, dtypes.uint8)
    if dtypes.is_complex(found) or dtypes.is_complex(wanted):
        return _complex_view(x, wanted)
    old, new = dtypes.bit_width(x.aval.dtype), dtypes.bit_width(wanted)
    shape = x.aval.shape
    if new > old:
        ratio = new // old
        if shape[-1] % ratio:
            raise noted(
                ValueError(f"view: the last axis of {x.aval} can't be read as {wanted.name}: its length must be a multiple of {ratio}")
            )
        x = structural.reshape(x, shape=(*shape[:-1], shape[-1] // ratio, ratio))
    out = conversion.bitcast_convert_type(x, dtype=wanted)
    if new < old:
        out = structural.reshape(out, shape=(*shape[:-1], shape[-1] * (old // new)))
    return out


def _complex_view(x: Any, wanted: Any) -> Any:
    """Complex numbers as pairs of real ones, and the reverse."""
    found = x.aval.dtype
    if dtypes.is_complex(found):
        real_dtype = dtypes.real_of(found)
        parts = [structural.reshape(p, shape=(*p.shape, 1)) for p in (real(x), imag(x))]
        pairs = concatenate(parts, -1)
        flat = structural.reshape(pairs, shape=(*x.shape[:-1], x.shape[-1] * 2))
        return view(flat, wanted) if wanted != real_dtype else flat
    real_dtype = dtypes.real_of(wanted)
    flat = view(x, real_dtype)
    pairs = structural.reshape(flat, shape=(*flat.shape[:-1], flat.shape[-1] // 2, 2))
    return elementwise.complex_numbers.complex_(pairs[..., 0], pairs[..., 1])


def namespace(api_version: str | None = None) -> Any:
    """The module of the array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: unknown version of the array API {api_version!r}")
    return sys.modules[__name__.rpartition(".")[0]]


Value.operators = sys.modules[__name__]
