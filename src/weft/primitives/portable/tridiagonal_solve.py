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
    front, m = d.shape[:-1], d.shape[-1]
    (b,) = to_stacks(b)
    stack = b.shape[0]
    dl, d, du = (reshape(x, shape=(stack, m, 1)) for x in (dl, d, du))
    least = full(aval((stack, 1, 1), d.aval.dtype), 0)
    if perturb_singular:
        top = reduce_max(abs_(concatenate_along([dl, d, du], 1)), axes=(1, 2))
        least = as_dtype(top * float(dtypes.finfo(d.dtype).eps), d.dtype)
        least = reshape(least, shape=(stack, 1, 1))

    def safe(pivot: Any, least: Any) -> Any:
        return select(abs_(pivot) < abs_(least), least, pivot) if perturb_singular else pivot

    def eliminate(i: Any, dl: Any, d: Any, du: Any, far: Any, b: Any, least: Any) -> Sequence[Any]:
        here, there, after = row(d, i), row(dl, i + 1), row(d, i + 1)
        up, up_after = row(du, i), row(du, i + 1)
        b_here, b_there = row(b, i), row(b, i + 1)
        swap = abs_(there) > abs_(here)
        pivot = safe(select(swap, there, here), least)
        times_pivot = select(swap, here, there) / pivot
        first, second = select(swap, after, up), select(swap, up, after)
        zero = full(up.aval.strong(), 0)
        far = with_row(far, i, select(swap, up_after, zero))
        du = with_row(
            with_row(du, i + 1, select(swap, -times_pivot * up_after, up_after)), i, first
        )
        d = with_row(with_row(d, i + 1, second - times_pivot * first), i, pivot)
        swap_rows = widen(swap, b_here.shape)
        top, bottom = select(swap_rows, b_there, b_here), select(swap_rows, b_here, b_there)
        b = with_row(with_row(b, i + 1, bottom - times_pivot * top), i, top)
        return [dl, d, du, far, b, least]

    zeros = full(d.aval.strong(), 0)
    state = [dl, d, du, zeros, b, least]
    dl, d, du, far, b, least = repeated_while(max(m - 1, 0), None, eliminate, state)
    d = with_last_row(d, safe(slice_along(d, 1, m - 1, m), least))
    # two more rows of zeros, so that the last rows are not a special case
    below = full(aval((stack, 2, b.shape[2]), b.dtype), 0)

    def substitute(n: Any, x: Any, d: Any, du: Any, far: Any, b: Any) -> Sequence[Any]:
        i = m - 1 - n
        solved_terms = row(du, i) * row(x, i + 1) + row(far, i) * row(x, i + 2)
        return [with_row(x, i, (row(b, i) - solved_terms) / row(d, i)), d, du, far, b]

    du = with_last_row(du, full(aval((stack, 1, 1), d.dtype), 0))
    start = concatenate_along([full(b.aval.strong(), 0), below], 1)
    x, *_ = repeated_while(m, None, substitute, [start, d, du, far, b])
    return [from_stacks(slice_along(x, 1, 0, m), front)]


def with_last_row(x: Any, last: Any) -> Any:
    """The matrices with the last row replaced."""
    return concatenate_along([slice_along(x, 1, 0, x.shape[1] - 1), last], 1)
