"""Operations on sparse operands: a rule for each primitive that maps zeros to zeros.

A rule takes the operands, at least one of which is a sparse matrix, and the parameters.
"""

import functools
from collections.abc import Callable
from typing import Any

from ... import numpy as np
from ...core.primitive import Primitive
from ...primitives import arithmetic, complex_numbers, exponential, trigonometric
from ...primitives.activations import relu
from ...primitives.dynamic_slicing import dynamic_slice
from ...primitives.error_functions import erf
from ...primitives.products import dot_general
from ...primitives.selection import copy, stop_gradient
from ...primitives.slicing import concatenate, rev, slice_
from ...primitives.structural import (
    add,
    broadcast_in_dim,
    convert_element_type,
    reduce_sum,
    reshape,
    transpose,
)
from .conversion import bcoo_todense, bcoo_update_layout
from .coordinates import Coordinates
from .elementwise import added, applied, divided, multiplied, refuse_dense
from .manipulation import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
)
from .products import bcoo_dot_general

rules: dict[Primitive, Callable[..., Any]] = {}

_KEEP_ZERO = (
    arithmetic.abs_, arithmetic.cbrt, arithmetic.ceil, arithmetic.floor, arithmetic.round_,
    arithmetic.sign, arithmetic.sqrt, arithmetic.square, erf, relu, trigonometric.atanh,
    exponential.expm1, exponential.log1p, trigonometric.sin, trigonometric.sinh,
    trigonometric.tan, trigonometric.tanh,
)  # fmt: skip
_LINEAR = (
    arithmetic.neg, complex_numbers.conj, complex_numbers.imag, complex_numbers.real, copy,
    stop_gradient,
)  # fmt: skip


def unary(primitive: Primitive, linear: bool) -> None:
    """A rule for a function of one operand with f(0) = 0."""

    def rule(x: Coordinates, **params: Any) -> Coordinates:
        return applied(functools.partial(primitive, **params), x, linear)

    rules[primitive] = rule


for _primitive in _KEEP_ZERO:
    unary(_primitive, linear=False)
for _primitive in _LINEAR:
    unary(_primitive, linear=True)


def of_integer_pow(x: Coordinates, *, y: int) -> Coordinates:
    """An integer power. Only positive powers are 0 at 0."""
    if y <= 0:
        raise refuse_dense(f"integer_pow with y={y}", x)
    return applied(lambda data: arithmetic.integer_pow(data, y=y), x)


def of_conversion(x: Coordinates, *, dtype: Any, weak_type: bool = False) -> Coordinates:
    """Converts the dtype. For integers, duplicate elements are added first."""
    linear = np.issubdtype(dtype, np.inexact)
    return applied(
        lambda data: convert_element_type(data, dtype=dtype, weak_type=weak_type), x, linear
    )


def of_difference(x: Any, y: Any) -> Any:
    """x - y."""
    return added(x, y.with_data(-y.data) if isinstance(y, Coordinates) else -y)


def of_dot_general(x: Any, y: Any, *, dims: Any, dtype: Any = None, precision: Any = None) -> Any:
    """Sums of products."""
    return bcoo_dot_general(
        x, y, dimension_numbers=dims, precision=precision, preferred_element_type=dtype
    )


def of_reshape(x: Coordinates, *, shape: tuple[int, ...]) -> Coordinates:
    """A reshape. Axes of length 1 may be added and removed in every layout."""
    if not (x.n_batch or x.n_dense):
        return bcoo_reshape(x, new_sizes=shape)
    if tuple(n for n in x.shape if n != 1) == tuple(n for n in shape if n != 1):
        x = bcoo_squeeze(x, dimensions=tuple(a for a, n in enumerate(x.shape) if n == 1))
        axes = tuple(a for a, n in enumerate(shape) if n != 1)
        return bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=axes)
    x = bcoo_update_layout(x, n_batch=0, n_dense=0)
    return bcoo_reshape(x, new_sizes=shape)


def of_concatenate(*xs: Any, dimension: int) -> Any:
    """Concatenation. If one operand is an array, all become dense."""
    if not all(isinstance(x, Coordinates) for x in xs):
        dense = [bcoo_todense(x) if isinstance(x, Coordinates) else x for x in xs]
        return concatenate(*dense, dimension=dimension)
    if len({(x.n_batch, x.n_dense) for x in xs}) > 1:
        xs = tuple(bcoo_update_layout(x, n_batch=0, n_dense=0) for x in xs)
    return bcoo_concatenate(xs, dimension=dimension)


def of_dynamic_slice(x: Any, *starts: Any, sizes: tuple[int, ...]) -> Coordinates:
    """A window at run-time indices."""
    return bcoo_dynamic_slice(x, starts, sizes)


rules |= {
    add: added,
    arithmetic.div: divided,
    arithmetic.integer_pow: of_integer_pow,
    arithmetic.mul: multiplied,
    arithmetic.sub: of_difference,
    broadcast_in_dim: lambda x, *, shape, dims: bcoo_broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=dims
    ),
    concatenate: of_concatenate,
    convert_element_type: of_conversion,
    dot_general: of_dot_general,
    dynamic_slice: of_dynamic_slice,
    reduce_sum: lambda x, *, axes: bcoo_reduce_sum(x, axes=axes),
    reshape: of_reshape,
    rev: lambda x, *, dimensions: bcoo_rev(x, dimensions=dimensions),
    slice_: lambda x, *, start, limit, strides: bcoo_slice(
        x, start_indices=start, limit_indices=limit, strides=strides
    ),
    transpose: lambda x, *, permutation: bcoo_transpose_any(x, permutation),
}


def bcoo_transpose_any(x: Coordinates, permutation: tuple[int, ...]) -> Coordinates:
    """A transpose. Where kinds of axes would mix, all axes become indexed."""
    first, end = x.n_batch, x.n_batch + x.n_sparse
    kinds = [0 if a < first else 1 if a < end else 2 for a in permutation]
    if kinds != sorted(kinds):
        x = bcoo_update_layout(x, n_batch=0, n_dense=0)
    return bcoo_transpose(x, permutation=permutation)
