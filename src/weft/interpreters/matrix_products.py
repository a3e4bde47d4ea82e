"""Products outside `jit`: as products of matrices, whose axes NumPy permutes.

XLA compiles a product of matrices quickly. For other products it compiles transpositions too, which
takes ten times as long. But it copies a NumPy array of any strides to a device without a compiler,
and NumPy permutes axes by changing strides only.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..compiler.lowered import LoweredProgram, program_of
from ..core.array import Array
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.trace import Params
from ..core.value import Value
from ..primitives.products import are_matrices, dot_general
from ..primitives.structural import others, reshape
from .eager_tiers import numpy_may_compute
from .stage import stage

Axes = tuple[int, ...]


class MatrixProduct(NamedTuple):
    """A product of two arrays, as a product of matrices or of stacks of matrices.

    Attributes:
      orders: for each operand the order of its axes in the program; `None` if it is unchanged.
      program: reshapes the operands, multiplies and reshapes the product.
    """

    orders: list[Axes | None]
    program: LoweredProgram

    def operands(self, args: Sequence[Array]) -> list[Array]:
        """The operands of the program."""
        permuted = []
        for x, order in zip(args, self.orders, strict=True):
            if order is not None:
                host = x.host().transpose(order)
                x = Array(host, x.aval.update(shape=host.shape))
            permuted.append(x)
        return permuted


def matrix_product(
    primitive: Primitive, params: Params, avals: Sequence[Aval]
) -> MatrixProduct | None:
    """The product of matrices that computes a `dot_general` of arrays with more axes. It is `None`
    for matrices, for other operations, and on an accelerator."""
    if (
        primitive is not dot_general
        or not numpy_may_compute()
        or are_matrices(*avals, **dict(params))
    ):
        return None
    x, y = avals
    options = dict(params)
    (cx, cy), (bx, by) = options.pop("dims")
    free = others((*cx, *bx), x.ndim), others((*cy, *by), y.ndim)
    choices = []
    for k in 0, 1:  # the contracted axes in the order of x, or in that of y
        pairs = sorted(zip(cx, cy, strict=True), key=lambda pair: pair[k])
        contracted = tuple(i for i, _ in pairs), tuple(j for _, j in pairs)
        layouts = (
            layout(bx, free[0], contracted[0], rows=True),
            layout(by, free[1], contracted[1], rows=False),
        )
        moved = sum(a.size for a, (order, _) in zip((x, y), layouts, strict=True) if order)
        choices.append((moved, k, layouts))
    (order_x, rows_x), (order_y, rows_y) = min(choices)[2]

    stack = tuple(x.shape[i] for i in bx)
    rows, columns = tuple(x.shape[i] for i in free[0]), tuple(y.shape[i] for i in free[1])
    lead = (math.prod(stack),) * bool(stack)
    m, n, k = math.prod(rows), math.prod(columns), math.prod(x.shape[i] for i in cx)
    first = len(lead)
    axes = (first + rows_x,), (first + rows_y,)
    batch = ((0,) * first,) * 2

    def product(x: Value, y: Value) -> list[Value]:
        x = reshape(x, shape=(*lead, m, k) if rows_x else (*lead, k, m))
        y = reshape(y, shape=(*lead, n, k) if rows_y else (*lead, k, n))
        out = dot_general(x, y, dims=(axes, batch), **options)
        return [reshape(out, shape=(*stack, *rows, *columns))]

    avals = [
        a.update(shape=tuple(a.shape[i] for i in order)) if order else a
        for a, order in ((x, order_x), (y, order_y))
    ]
    jaxpr = stage(product, avals, name=dot_general.name)
    return MatrixProduct([order_x, order_y], program_of(jaxpr))


def layout(batch: Axes, free: Axes, contracted: Axes, rows: bool) -> tuple[Axes | None, bool]:
    """The order of an operand's axes, `None` for their own, and whether the contracted axes come
    last. If axes have to be moved, they come last for `rows`."""
    orders = {True: (*batch, *free, *contracted), False: (*batch, *contracted, *free)}
    for last, order in orders.items():
        if order == tuple(range(len(order))):
            return None, last
    return orders[rows], rows
