"""Determinants from the results of `lu`; NumPy's LAPACK computes them for small matrices.

Their derivatives are in `numpy/linalg/determinants.py`, since the factors are not enough at
singular matrices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import abs_, like, mul, sign
from ..bitwise import bitwise_and
from ..comparison import eq, ne
from ..creation import full, iota
from ..exponential import log
from ..portable.lowering import write_values
from ..reductions import reduce_prod
from ..rule_types import Avals, Batched, Host, Values
from ..selection import select_n
from ..slicing import slice_
from ..structural import convert_element_type, reduce_sum, reshape, with_batch_axis
from . import numpy_lapack
from .solver_calls import work


def parity(factors: Value, pivots: Value) -> Value:
    """1 or -1: the determinants of the permutations."""
    last_axis = pivots.ndim - 1
    positions = iota(dtype=pivots.dtype, shape=pivots.shape, dimension=last_axis)
    n_swaps = reduce_sum(
        convert_element_type(ne(pivots, positions), dtype=dtypes.int32), axes=(last_axis,)
    )
    is_even = eq(bitwise_and(n_swaps, like(n_swaps, 1)), like(n_swaps, 0))
    return select_n(is_even, like(factors, -1), like(factors, 1))


def diagonal(x: Value) -> Value:
    """The diagonals of square matrices."""
    *batch_shape, n, _ = x.shape
    if not n:
        return full(x.aval.strong().update(shape=(*batch_shape, 0)), 0)
    last_axis = len(batch_shape)
    elements = reshape(x, shape=(*batch_shape, n * n))
    strides = (*[1] * last_axis, n + 1)
    return slice_(elements, start=(0,) * (last_axis + 1), limit=elements.shape, strides=strides)


def determinants(factors: Value, pivots: Value) -> list[Value]:
    """The determinants."""
    diagonals = diagonal(factors)
    return [mul(reduce_prod(diagonals, axes=(diagonals.ndim - 1,)), parity(factors, pivots))]


def signs_and_logarithms(factors: Value, pivots: Value) -> list[Value]:
    """The signs of the determinants, and the logarithms of their absolute values."""
    diagonals = diagonal(factors)
    last_axis = (diagonals.ndim - 1,)
    signs = mul(reduce_prod(sign(diagonals), axes=last_axis), parity(factors, pivots))
    return [signs, reduce_sum(log(abs_(diagonals)), axes=last_axis)]


factored_det = Primitive(
    "factored_det", "The determinants of a, from the factors and pivots of `lu`.",
)  # fmt: skip
factored_slogdet = Primitive(
    "factored_slogdet",
    "The signs of the determinants of a and the logarithms of their absolute values, "
    "from the factors and pivots of `lu`.",
    multiple=True,
)


def work_of_last(avals: Avals, outs: Avals) -> int:
    """The `work` rule: the factorization of the last operand."""
    return work(avals[2])


def all_batched(primitive: Primitive) -> None:
    """Defines the batch rule: a stack has one more axis in front."""

    @primitive.batch
    def _(args: Values, batched: Batched, batch_size: int) -> Any:
        return primitive(*with_batch_axis(args, batched, batch_size))


for _primitive in (factored_det, factored_slogdet):
    _primitive.host.unread = (0, 1)
    _primitive.host.work(work_of_last)
    all_batched(_primitive)


@factored_det.type
def _(factors: Aval, pivots: Aval, a: Aval) -> Aval:
    return a.strong().update(shape=a.shape[:-2])


@factored_det.evaluate
def _(factors: Host, pivots: Host, a: Host) -> Host:
    result: Host = numpy_lapack.det(a)
    return result


@factored_det.lower
def _(block: Block, factors: Operand, pivots: Operand, a: Operand, out: Aval) -> Operand:
    return write_values(block, determinants, [factors, pivots])[0]


@factored_slogdet.type
def _(factors: Aval, pivots: Aval, a: Aval) -> Avals:
    out = a.strong().update(shape=a.shape[:-2])
    return out, out.update(dtype=dtypes.real_of(a.dtype))


@factored_slogdet.evaluate
def _(factors: Host, pivots: Host, a: Host) -> list[Host]:
    signs, logarithms = numpy_lapack.slogdet(a)
    return [np.asarray(signs, a.dtype), np.asarray(logarithms, dtypes.real_of(a.dtype))]


@factored_slogdet.lower
def _(block: Block, factors: Operand, pivots: Operand, a: Operand, out: Avals) -> Sequence[Operand]:
    return write_values(block, signs_and_logarithms, [factors, pivots])
