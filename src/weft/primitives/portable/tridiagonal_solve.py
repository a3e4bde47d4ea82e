"""Systems of equations with three diagonals (gtsv), by elimination with row exchanges."""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_
from ..creation import full
from ..reductions import reduce_max
from ..structural import reshape, widen
from .lowering import repeated_while
from .stacks import (
    as_dtype,
    concatenate_along,
    from_stacks,
    row,
    select,
    slice_along,
    to_stacks,
    with_row,
)


def portable_gtsv(
    dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False
) -> Sequence[Any]:
    """The solutions of tridiagonal systems [batch…, m], by elimination with exchanges of
    neighbouring rows. A pivot near zero is moved away from zero if `perturb_singular`."""
    batch_shape, m = d.shape[:-1], d.shape[-1]
    (b,) = to_stacks(b)
    stack = b.shape[0]
    dl, d, du = (reshape(x, shape=(stack, m, 1)) for x in (dl, d, du))
    smallest_pivot = full(aval((stack, 1, 1), d.aval.dtype), 0)
    if perturb_singular:
        b_upper = reduce_max(abs_(concatenate_along([dl, d, du], 1)), axes=(1, 2))
        smallest_pivot = as_dtype(b_upper * float(dtypes.finfo(d.dtype).eps), d.dtype)
        smallest_pivot = reshape(smallest_pivot, shape=(stack, 1, 1))

    def nonzero_pivot(pivot: Any, smallest_pivot: Any) -> Any:
        return (
            select(abs_(pivot) < abs_(smallest_pivot), smallest_pivot, pivot)
            if perturb_singular
            else pivot
        )

    def eliminate(
        i: Any, dl: Any, d: Any, du: Any, du2: Any, b: Any, smallest_pivot: Any
    ) -> Sequence[Any]:
        d_row, dl_row, d_next = row(d, i), row(dl, i + 1), row(d, i + 1)
        du_row, du_next = row(du, i), row(du, i + 1)
        b_row, b_next = row(b, i), row(b, i + 1)
        swap = abs_(dl_row) > abs_(d_row)
        pivot = nonzero_pivot(select(swap, dl_row, d_row), smallest_pivot)
        multiplier = select(swap, d_row, dl_row) / pivot
        u_upper, u_lower = select(swap, d_next, du_row), select(swap, du_row, d_next)
        zero = full(du_row.aval.strong(), 0)
        du2 = with_row(du2, i, select(swap, du_next, zero))
        du = with_row(with_row(du, i + 1, select(swap, -multiplier * du_next, du_next)), i, u_upper)
        d = with_row(with_row(d, i + 1, u_lower - multiplier * u_upper), i, pivot)
        swap_rows = widen(swap, b_row.shape)
        b_upper, b_lower = select(swap_rows, b_next, b_row), select(swap_rows, b_row, b_next)
        b = with_row(with_row(b, i + 1, b_lower - multiplier * b_upper), i, b_upper)
        return [dl, d, du, du2, b, smallest_pivot]

    du2_zeros = full(d.aval.strong(), 0)
    state = [dl, d, du, du2_zeros, b, smallest_pivot]
    dl, d, du, du2, b, smallest_pivot = repeated_while(max(m - 1, 0), None, eliminate, state)
    d = with_last_row(d, nonzero_pivot(slice_along(d, 1, m - 1, m), smallest_pivot))
    # two more rows of zeros, so that the last rows are not a special case
    padding_rows = full(aval((stack, 2, b.shape[2]), b.dtype), 0)

    def substitute(n: Any, x: Any, d: Any, du: Any, du2: Any, b: Any) -> Sequence[Any]:
        i = m - 1 - n
        solved_terms = row(du, i) * row(x, i + 1) + row(du2, i) * row(x, i + 2)
        return [with_row(x, i, (row(b, i) - solved_terms) / row(d, i)), d, du, du2, b]

    du = with_last_row(du, full(aval((stack, 1, 1), d.dtype), 0))
    start = concatenate_along([full(b.aval.strong(), 0), padding_rows], 1)
    x, *_ = repeated_while(m, None, substitute, [start, d, du, du2, b])
    return [from_stacks(slice_along(x, 1, 0, m), batch_shape)]


def with_last_row(x: Any, values: Any) -> Any:
    """The matrices with the last row replaced."""
    return concatenate_along([slice_along(x, 1, 0, x.shape[1] - 1), values], 1)
