"""sort, which sorts several arrays by the first few of them, and top_k.

Order: numbers ascend, -0 equals 0, NaNs are equal and come last; complex numbers by real part, then
imaginary part.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.trace import Params
from ..core.value import Value
from ..errors import ShapeError
from ..extended_dtypes import is_extended, no_numbers
from ..stablehlo import Block, Operand
from .comparison import ordinal
from .elementwise import lowered_in_bytes
from .gather_dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from .indexing import gather
from .monoids import REDUCTION_DTYPE
from .rule_types import Avals, Host, Tangents, Values
from .structural import batch_in_front, check_axes, others, reshape

# --- sort ---


class Sort(Primitive):
    """Sorts. For a derivative, the positions are computed once for all tangents."""

    def primal(self, args: Values, params: Params) -> Values:
        result: Values = self(*args, **{**dict(params), "with_places": True})
        return result if dict(params).get("with_places") else result[:-1]


sort = Sort(
    "sort",
    "Sorts slices of several arrays along an axis by the first `num_keys` of them; "
    "`with_places` adds an int32 array of the elements' original positions.",
    multiple=True,
    host="always",  # NumPy is 2 to 20 times faster than XLA's CPU sort at every size
)
sort.takes_keys = True  # reordered, but not used as a sort key


@sort.type
def _(
    *operands: Aval, dimension: int, is_stable: bool, num_keys: int, with_places: bool = False
) -> list[Aval]:
    if not operands:
        raise TypeError("sort: expected at least one operand; got none")
    if any(x.shape != operands[0].shape for x in operands):
        raise ShapeError(f"sort: operands must have one shape; got {', '.join(map(str, operands))}")
    check_axes("sort", operands[0], (dimension,))
    if not 1 <= num_keys <= len(operands):
        raise ShapeError(
            f"sort: num_keys must be from 1 to {len(operands)}, as many as operands; got {num_keys}"
        )
    for x in operands[:num_keys]:
        if is_extended(x.dtype):
            raise no_numbers("sort", x)
    positions = operands[0].update(dtype=dtypes.int32, weak_type=False)
    return [*operands, *[positions] * with_places]


@sort.evaluate
def _(
    *operands: Host, dimension: int, is_stable: bool, num_keys: int, with_places: bool = False
) -> Sequence[Host]:
    if len(operands) == 1 and not with_places and not dtypes.is_complex(operands[0].dtype):
        return [sort_one_array(operands[0], dimension, is_stable)]
    keys = [k for x in operands[:num_keys] for k in numpy_keys(x)]
    if len(keys) == 1:
        order = stable_order(keys[0], dimension)
    else:
        order = np.lexsort(keys[::-1], axis=dimension)
    results = [np.take_along_axis(x, order, dimension) for x in operands]
    return [*results, order.astype(np.int32)] if with_places else results


def sort_one_array(x: Host, dimension: int, is_stable: bool) -> Host:
    """One array sorted. NumPy's unstable sort is up to six times faster, and differs only in the
    order of 0 and -0."""
    wide_dtype = REDUCTION_DTYPE.get(x.dtype)
    dtype, x = x.dtype, x if wide_dtype is None else x.astype(wide_dtype)
    result = np.sort(x, axis=dimension)
    if is_stable and x.dtype.kind == "f":
        signs = np.signbit(result[result == 0])
        if signs.any() and not signs.all():
            result = np.sort(x, axis=dimension, kind="stable")
    return result if wide_dtype is None else result.astype(dtype)


def stable_order(x: Host, axis: int) -> Host:
    """`np.argsort(x, axis, kind="stable")`.

    Many elements of 32 bits are sorted as unique numbers of 64 bits, the element and its index.
    NumPy sorts these with vector instructions, which its stable sort lacks.
    """
    n = x.shape[axis]
    if x.dtype.itemsize != 4 or not 1 << 12 <= n < 1 << 31:
        return np.argsort(x, axis=axis, kind="stable")
    if x.dtype.kind == "f":
        x = ordinal(np.where(np.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0)))  # -0 is 0
    numbers = unique_numbers(np.moveaxis(x, axis, -1), np.arange(n))
    numbers.sort(axis=-1)
    return np.moveaxis(numbers & 0xFFFFFFFF, -1, axis)


def unique_numbers(keys: Host, positions: Host) -> Host:
    """64-bit numbers in the order of integer keys of up to 32 bits, then of `positions`."""
    numbers = keys.astype(np.int64)
    if keys.dtype == np.uint32:
        numbers -= 1 << 31
    return (numbers << 32) | positions


def numpy_keys(x: Host) -> list[Host]:
    """The arrays, most important first, that NumPy sorts as XLA would sort `x`."""
    if dtypes.is_complex(x.dtype):
        return [x.real, x.imag]
    return [x.astype(REDUCTION_DTYPE[x.dtype]) if x.dtype in REDUCTION_DTYPE else x]


@sort.lower
@lowered_in_bytes
def _(
    block: Block,
    *operands: Operand,
    out: Avals,
    dimension: int,
    is_stable: bool,
    num_keys: int,
    with_places: bool = False,
) -> Sequence[Operand]:
    if with_places:
        operands = (*operands, block.iota(out[-1], dimension))
    # unstable only where the result is the same; a derivative must find the same order
    is_stable = is_stable or len(operands) > 1
    scalars = [a.update(shape=(), weak_type=False) for a in out for _ in range(2)]

    def body(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        pairs = [
            pair for k in range(num_keys) for pair in key_pairs(inner, args[2 * k], args[2 * k + 1])
        ]
        return [precedes(inner, pairs)]

    return block.op(
        "sort",
        *operands,
        out=list(out),
        attributes=f"dimension = {dimension} : i64, is_stable = {str(is_stable).lower()}",
        regions=[block.region(scalars, body)],
    )


def key_pairs(block: Block, x: Operand, y: Operand) -> list[tuple[Operand, Operand]]:
    """The pairs of real scalars that a comparison of two scalars compares."""
    if not dtypes.is_complex(x.aval.dtype):
        return [(x, y)]
    part = x.aval.update(dtype=dtypes.real_of(x.aval.dtype))
    return [(block.op(p, x, out=part), block.op(p, y, out=part)) for p in ("real", "imag")]


def precedes(block: Block, pairs: Sequence[tuple[Operand, Operand]]) -> Operand:
    """Writes the comparison of the first of each pair with the second, in lexicographic order."""
    (x, y), other_pairs = pairs[0], pairs[1:]
    flag = x.aval.update(dtype=dtypes.bool_)

    def logic(name: str, a: Operand, b: Operand) -> Operand:
        return block.elementwise(name, (a, b), flag)

    is_less = block.compare("LT", x, y, flag)
    inexact = x.aval.inexact
    if inexact:
        y_nan, x_number = block.compare("NE", y, y, flag), block.compare("EQ", x, x, flag)
        is_less = logic("or", is_less, logic("and", y_nan, x_number))
    if not other_pairs:
        return is_less
    is_tie = block.compare("EQ", x, y, flag)
    if inexact:
        is_tie = logic("or", is_tie, logic("and", block.compare("NE", x, x, flag), y_nan))
    return logic("or", is_less, logic("and", is_tie, precedes(block, other_pairs)))


@sort.jvp
def _(
    primals: Values,
    tangents: Tangents,
    out: Values,
    *,
    dimension: int,
    with_places: bool = False,
    **params: Any,
) -> Tangents:
    if primals[0].aval.size:
        *_, order = sort(*primals, dimension=dimension, **params, with_places=True)
        tangents = [None if t is None else take_along(t, order, dimension) for t in tangents]
    return [*tangents, *[None] * with_places]


def take_along(
    x: Value,
    positions: Value,
    axis: int,
    mode: GatherScatterMode = GatherScatterMode.PROMISE_IN_BOUNDS,
    unique: bool = True,
) -> Any:
    """Elements of `x` at positions along an axis, one set for each slice along it."""
    other_axes = others((axis,), x.ndim)
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=other_axes,
        start_indices_batching_dims=other_axes,
    )
    return gather(
        x,
        reshape(positions, shape=(*positions.shape, 1)),
        dimension_numbers=numbers,
        slice_sizes=(1,) * x.ndim,
        indices_are_sorted=False,
        unique_indices=unique,
        mode=mode,
        fill_value=0 if mode is GatherScatterMode.FILL_OR_DROP else None,
    )


sort.batch(batch_in_front(sort, "dimension"))


# --- top_k ---

top_k = Primitive(
    "top_k",
    "The `k` largest elements along the last axis, largest first, and their indices (int32).",
    multiple=True,
    host="other",
)


@top_k.type
def _(x: Aval, *, k: int) -> list[Aval]:
    if dtypes.is_complex(x.dtype):
        raise ShapeError(f"top_k: expected an operand of real or bool dtype; got {x}")
    if not x.ndim:
        raise ShapeError(f"top_k: expected an operand of at least one axis; got {x}")
    if not 0 <= k <= x.shape[-1]:
        raise ShapeError(
            f"top_k: k must be from 0 to the length of the last axis of {x}, {x.shape[-1]}; got {k}"
        )
    values = x.update(shape=(*x.shape[:-1], k))
    return [values, values.update(dtype=dtypes.int32, weak_type=False)]


@top_k.evaluate
def _(x: Host, *, k: int) -> Sequence[Host]:
    n = x.shape[-1]
    keys = x.astype(REDUCTION_DTYPE[x.dtype]) if x.dtype in REDUCTION_DTYPE else x
    if keys.dtype.kind == "f":
        unknown = np.isnan(keys)
        if unknown.any():  # NaNs of any sign are the largest
            x = np.where(unknown, x.dtype.type(np.nan), x)
            keys = np.where(unknown, keys.dtype.type(np.nan), keys)
        keys = ordinal(keys)
    if keys.dtype.itemsize == 8:
        keys = ~keys  # descending, by a stable sort
        order = np.argsort(keys, axis=-1, kind="stable")[..., :k]
    else:
        unique = unique_numbers(keys, n - 1 - np.arange(n))
        if 0 < k < n:
            unique = np.partition(unique, n - k, axis=-1)
        unique = unique[..., n - k :]
        order = n - 1 - (np.sort(unique, axis=-1)[..., ::-1] & 0xFFFFFFFF)
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


@top_k.lower
@lowered_in_bytes
def _(block: Block, x: Operand, out: Avals, k: int) -> Sequence[Operand]:
    array_aval = x.aval.update(weak_type=False)
    scalar, index = array_aval.update(shape=()), array_aval.update(shape=(), dtype=dtypes.int32)
    flag, axis = index.update(dtype=dtypes.bool_), array_aval.ndim - 1
    if dtypes.is_inexact(array_aval.dtype):
        nan = block.compare("NE", x, x, array_aval.update(dtype=dtypes.bool_))
        x = block.select(nan, block.full(np.nan, array_aval), x)

    # XLA recognises this comparison and slice as its TopK
    def body(inner: Block, args: Sequence[Operand]) -> list[Operand]:
        return [inner.compare("GT", args[0], args[1], flag, total=True)]

    results = block.op(
        "sort",
        x,
        block.iota(array_aval.update(dtype=dtypes.int32), axis),
        out=[array_aval, array_aval.update(dtype=dtypes.int32)],
        attributes=f"dimension = {axis} : i64, is_stable = true",
        regions=[block.region([scalar, scalar, index, index], body)],
    )
    return [block.slice(r, [0] * array_aval.ndim, out[0].shape) for r in results]


@top_k.jvp
def _(primals: Values, tangents: Values, out: Values, *, k: int) -> Tangents:
    (dx,) = tangents
    if not out[0].size:
        return [None, None]
    return [take_along(dx, out[1], dx.ndim - 1), None]


top_k.batch(batch_in_front(top_k))
