"""reduce_max, reduce_min, reduce_prod, reduce_and, reduce_or, reduce_xor, argmax and argmin.

The sum, reduce_sum, is in `structural.py`."""

from collections.abc import Callable, Sequence

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.value import Value
from ..errors import ShapeError
from ..stablehlo import Block, Operand
from ..stablehlo.attributes import ints
from .arithmetic import div, mul
from .comparison import eq
from .creation import full
from .cumulative import cumprod
from .elementwise import KINDS, check_kind
from .monoids import (
    AND,
    MAXIMUM,
    MINIMUM,
    OR,
    PRODUCT,
    REDUCTION_DTYPE,
    SUM,
    XOR,
    Monoid,
    highest,
    lowest,
    signed_zeros,
)
from .rule_types import DType, Host, Integers, Kernel, Tangent, Ufunc, Values
from .slicing import concatenate, slice_, split
from .structural import (
    batch_in_front,
    broadcast_in_dim,
    check_axes,
    convert_element_type,
    others,
    reduce_sum,
    reshape,
    transpose,
)


def monoid_reduction(
    name: str, doc: str, monoid: Monoid, *, accepts: str, host: str = "arithmetic"
) -> Primitive:
    """A reduction of `axes` by a binary operation.

    Args:
      accepts: one of `elementwise.KINDS`.
    """
    _, ufunc, identity = monoid
    primitive = Primitive(name, doc, host=host)

    def type_rule(x: Aval, *, axes: tuple[int, ...]) -> Aval:
        check_kind(name, accepts, x)
        check_axes(name, x, axes)
        return x.update(shape=tuple(x.shape[a] for a in others(axes, x.ndim)))

    def evaluate_rule(x: Host, *, axes: tuple[int, ...]) -> Host:
        dtype = x.dtype
        wide_dtype = REDUCTION_DTYPE.get(dtype)
        if wide_dtype is not None:
            x = x.astype(wide_dtype)
        if x.size and ufunc is np.multiply and x.dtype.kind == "c":
            result = ufunc.reduce(x, axis=axes, initial=None)  # 1 * (inf + 1j) has a NaN
        elif x.size:
            result = with_signs(ufunc, x, axes, ufunc.reduce(x, axis=axes, dtype=x.dtype))
        else:
            shape = tuple(x.shape[a] for a in others(axes, x.ndim))
            return np.full(shape, identity(dtype), dtype)
        return result if wide_dtype is None else result.astype(dtype)

    def lower_rule(block: Block, x: Operand, out: Aval, axes: Integers) -> Operand:
        start = block.constant(identity(out.dtype), out.update(shape=(), weak_type=False))
        (result,) = block.op(
            "reduce",
            x,
            start,
            out=[out],
            attributes=f"dimensions = {ints(axes)}",
            regions=[monoid.region(block, out)],
        )
        return result

    primitive.type(type_rule)
    primitive.evaluate(evaluate_rule)
    primitive.lower(lower_rule)
    primitive.batch(batch_in_front(primitive, "axes"))
    return primitive


def with_signs(ufunc: Ufunc, x: Host, axes: tuple[int, ...], result: Host) -> Host:
    """The result of a reduction, with XLA's sign where a maximum or minimum is zero."""
    if ufunc in (np.maximum, np.minimum) and np.count_nonzero(result) != result.size:
        return signed_zeros(ufunc, np.logical_or.reduce, x, axes, result)
    return result


# --- extremes ---

reduce_max = monoid_reduction(
    "reduce_max",
    "Maximum over `axes`; NaN if there is one. Complex numbers compare by real part first.",
    MAXIMUM, accepts="any",
)  # fmt: skip

reduce_min = monoid_reduction(
    "reduce_min",
    "Minimum over `axes`; NaN if there is one. Complex numbers compare by real part first.",
    MINIMUM, accepts="any",
)  # fmt: skip


def mean_at_extreme(x: Value, dx: Value, extreme: Value, total: Callable[[Value], Value]) -> Value:
    """The tangent of an extreme: the mean of the tangents of the elements that are equal to it.

    Args:
      extreme: the extreme, broadcast to the shape of `x`.
      total: the sum over the elements that are compared.
    """
    is_extreme = convert_element_type(eq(x, extreme), dtype=x.dtype)
    return div(total(mul(dx, is_extreme)), total(is_extreme))


def _reduce_extreme_jvp(
    primals: Values, tangents: Values, out: Value, *, axes: Integers
) -> Tangent:
    (x,), (dx,) = primals, tangents
    if not x.size:
        return None
    extreme = broadcast_in_dim(out, shape=x.shape, dims=others(axes, x.ndim))
    return mean_at_extreme(x, dx, extreme, lambda v: reduce_sum(v, axes=axes))


reduce_max.jvp(_reduce_extreme_jvp)
reduce_min.jvp(_reduce_extreme_jvp)

# --- product ---

reduce_prod = monoid_reduction(
    "reduce_prod",
    "Product over `axes`.",
    PRODUCT,
    accepts="number",
    host="other",  # NumPy multiplies one element at a time
)


_MAX_CUMPROD_ELEMENTS = 32_768  # length for cumulative products; more levels take longer to compile


@reduce_prod.jvp
def _(primals: Values, tangents: Values, out: Value, *, axes: Integers) -> Tangent:
    # Each tangent is multiplied by the product of the other elements. This avoids division by zero.
    (x,), (dx,) = primals, tangents
    if not x.size or not axes:
        return dx if not axes else full(out.aval.strong(), 0)
    order = (*axes, *others(axes, x.ndim))
    shape = (x.size // out.size, *out.shape)

    def rows(v: Value) -> Value:
        return reshape(transpose(v, permutation=order), shape=shape)

    if shape[0] == 1:
        return reshape(rows(dx), shape=out.shape)
    return reduce_sum(mul(rows(dx), products_of_others(rows(x))), axes=(0,))


def products_of_others(x: Value) -> Value:
    """For each element, the product of the other elements along axis 0.

    Many elements are first multiplied in groups of four, which is several times faster than
    cumulative products.
    """
    n, other_axes = x.shape[0], x.shape[1:]

    def part(start: int, stop: int) -> Value:
        begin, end = (start, *[0] * len(other_axes)), (stop, *other_axes)
        return slice_(x, start=begin, limit=end, strides=(1,) * x.ndim)

    if n <= _MAX_CUMPROD_ELEMENTS:
        one = full(x.aval.update(shape=(1, *other_axes), weak_type=False), 1)
        products_before = concatenate(
            one, cumprod(part(0, n - 1), axis=0, reverse=False), dimension=0
        )
        products_after = concatenate(cumprod(part(1, n), axis=0, reverse=True), one, dimension=0)
        return mul(products_before, products_after)
    multiple = 4
    while n > _MAX_CUMPROD_ELEMENTS * multiple:
        multiple *= 4
    if n % multiple:
        divisible_part, end = split(x, sizes=(n - n % multiple, n % multiple), axis=0)
        pairs = (divisible_part, end), (end, divisible_part)
        products = [mul(products_of_others(v), reduce_prod(w, axes=(0,))) for v, w in pairs]
        return concatenate(*products, dimension=0)
    a, b, c, d = split(x, sizes=(n // 4,) * 4, axis=0)
    left, right = mul(a, b), mul(c, d)
    outer_products = products_of_others(mul(left, right))
    left_products, right_products = mul(outer_products, right), mul(outer_products, left)
    ends = (left_products, b), (left_products, a), (right_products, d), (right_products, c)
    return concatenate(*[mul(v, w) for v, w in ends], dimension=0)


# --- logic ---

reduce_and = monoid_reduction(
    "reduce_and", "Bitwise *and* over `axes`.", AND, accepts="integer or bool",
)  # fmt: skip
reduce_or = monoid_reduction(
    "reduce_or", "Bitwise *or* over `axes`.", OR, accepts="integer or bool",
)  # fmt: skip
reduce_xor = monoid_reduction(
    "reduce_xor", "Bitwise exclusive *or* over `axes`.", XOR, accepts="integer or bool",
)  # fmt: skip

_PAIRS = (
    (reduce_sum, SUM), (reduce_prod, PRODUCT), (reduce_max, MAXIMUM), (reduce_min, MINIMUM),
    (reduce_and, AND), (reduce_or, OR), (reduce_xor, XOR),
)  # fmt: skip
BY_OPERATION = {monoid.by.name: (reduction, monoid) for reduction, monoid in _PAIRS}
"""The reduction by a primitive of two operands, and its monoid, by that primitive's name."""


# --- positions of extremes ---


def arg_reduction(name: str, doc: str, *, evaluate: Kernel, largest: bool) -> Primitive:
    """The index along `axis` of the first extreme element. A NaN counts as extreme."""
    primitive = Primitive(name, doc, host="always")

    def type_rule(x: Aval, *, axis: int, dtype: DType) -> Aval:
        if x.dtype not in KINDS["real or bool"]:
            raise ShapeError(f"{name}: expected an operand of real or bool dtype; got {x}")
        if not dtypes.is_integer(dtype):
            raise ShapeError(f"{name}: index_dtype must be an integer dtype; got {dtype.name}")
        check_axes(name, x, (axis,))
        if not x.shape[axis]:
            raise ShapeError(
                f"{name}: axis {axis} of {x} is empty: there is no element to point to"
            )
        return x.update(
            shape=[n for i, n in enumerate(x.shape) if i != axis], dtype=dtype, weak_type=False
        )

    def evaluate_rule(x: Host, *, axis: int, dtype: DType) -> Host:
        wide_dtype = REDUCTION_DTYPE.get(x.dtype)
        return evaluate(x if wide_dtype is None else x.astype(wide_dtype), axis).astype(dtype)

    def lower_rule(block: Block, x: Operand, out: Aval, axis: int, dtype: DType) -> Operand:
        lower = two_passes if block.module.platform == "cpu" else one_pass
        index = out.update(dtype=dtypes.int32 if out.dtype.itemsize < 4 else out.dtype)
        return block.convert(lower(block, x, index, axis, largest), out.dtype)

    primitive.type(type_rule)
    primitive.evaluate(evaluate_rule)
    primitive.lower(lower_rule)
    primitive.jvp(lambda primals, tangents, out, **params: None)
    primitive.batch(batch_in_front(primitive, "axis"))
    return primitive


def two_passes(block: Block, x: Operand, out: Aval, axis: int, largest: bool) -> Operand:
    """Finds the extreme, then the least index that has it. CPUs vectorise both steps, which is
    several times faster than one pass over pairs."""
    shape, dtype = x.aval.shape, x.aval.dtype
    start = lowest(dtype) if largest else highest(dtype)
    extreme = block.reduce(
        "maximum" if largest else "minimum", start, x, [axis], out.update(dtype=dtype)
    )
    extreme = block.broadcast(extreme, others((axis,), len(shape)), shape)
    mask = x.aval.update(dtype=dtypes.bool_, weak_type=False)
    is_extreme = block.compare("EQ", x, extreme, mask)
    if dtypes.is_inexact(dtype):
        is_extreme = block.elementwise("or", (is_extreme, block.compare("NE", x, x, mask)), mask)
    indices = out.update(shape=shape)
    last_index = dtypes.iinfo(out.dtype).max
    index = block.select(is_extreme, block.iota(indices, axis), block.full(last_index, indices))
    return block.reduce("minimum", last_index, index, [axis], out)


def better_pair(largest: bool) -> Callable[[Block, Sequence[Operand]], list[Operand]]:
    """Writes the choice between two pairs (element, index): the pair with the larger, or smaller,
    element. A NaN beats all numbers, and the first of equal elements wins."""

    def write(block: Block, args: Sequence[Operand]) -> list[Operand]:
        x, i, y, j = args
        mask = i.aval.update(dtype=dtypes.bool_)

        def logic(name: str, a: Operand, b: Operand) -> Operand:
            return block.elementwise(name, (a, b), mask)

        is_better = block.compare("GT" if largest else "LT", x, y, mask)
        is_tie = block.compare("EQ", x, y, mask)
        if x.aval.inexact:
            x_nan, y_nan = (block.compare("NE", v, v, mask) for v in (x, y))
            is_better = logic("or", is_better, logic("and", x_nan, block.compare("EQ", y, y, mask)))
            is_tie = logic("or", is_tie, logic("and", x_nan, y_nan))
        takes_first = logic("or", is_better, logic("and", is_tie, block.compare("LT", i, j, mask)))
        return [block.select(takes_first, x, y), block.select(takes_first, i, j)]

    return write


def one_pass(block: Block, x: Operand, out: Aval, axis: int, largest: bool) -> Operand:
    """A reduction of (element, index) pairs: one kernel on accelerators."""
    element, index = x.aval.update(shape=(), weak_type=False), out.update(shape=())
    start = lowest(x.aval.dtype) if largest else highest(x.aval.dtype)
    _, positions = block.op(
        "reduce",
        x,
        block.iota(out.update(shape=x.aval.shape), axis),
        block.constant(start, element),
        block.full(0, index),
        out=[out.update(dtype=x.aval.dtype), out],
        attributes=f"dimensions = {ints([axis])}",
        regions=[block.region([element, index] * 2, better_pair(largest))],
    )
    return positions


argmax = arg_reduction(
    "argmax", "Index of the first maximum along `axis`.", evaluate=np.argmax, largest=True
)
argmin = arg_reduction(
    "argmin", "Index of the first minimum along `axis`.", evaluate=np.argmin, largest=False
)
