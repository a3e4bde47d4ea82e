"""QR with columns in an order, products with Q, and systems of three diagonals.

Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 5.4.2. The results have the forms
of LAPACK's geqp3, ormqr and gtsv.
"""

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core.aval import aval
from ..arithmetic import abs_
from ..linalg.values import adjoint, conjugated
from ..reduction import argmax, reduce_max
from ..structural import full, reduce_sum, reshape, widen
from .householder import portable_product, reflection
from .stacks import (
    column,
    in_batches,
    in_stacks,
    numbers,
    of_dtype,
    part,
    picked,
    row,
    scaled,
    side_by_side,
    square_abs,
    times,
    with_column,
    with_row,
)
from .writing import repeated_while


def portable_geqp3(a: Any) -> Sequence[Any]:
    """The QR decomposition of [batch…, m, n] with the longest column that is left first: R and the
    reflections' vectors, the columns' order from 0, and tau."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (a,) = in_stacks(a)
    a, factor = scaled(a)
    stack, k = a.shape[0], min(m, n)
    rows, columns = numbers(m, 1), numbers(n, 2)

    def step(j: Any, a: Any, order: Any, taus: Any) -> Sequence[Any]:
        sizes = reduce_sum(square_abs(picked(rows >= j, a, 0)), axes=(1,))
        sizes = picked(numbers(n, 1, ndim=2) >= j, sizes, -1)
        longest = reshape(argmax(sizes, axis=1, dtype=dtypes.int32), shape=(stack, 1, 1))
        a, order = exchanged_columns(a, j, longest), exchanged_columns(order, j, longest)
        at = column(a, j)
        v, tau, beta = reflection(at, j)
        across = times(adjoint(v), a)
        a = a - v * picked(columns > j, conjugated(tau) * across, 0)
        at = picked(rows > j, v, picked(rows == j, beta, at))
        return [with_column(a, j, at), order, with_column(taus, j, tau)]

    taus = full(aval((stack, 1, k), a.dtype), 0)
    start = [a, widen(columns, (stack, 1, n)), taus]
    a, order, taus = repeated_while(k, None, step, start)
    a = picked(rows > columns, a, a * of_dtype(factor, a.dtype))
    order, taus = reshape(order, shape=(stack, n)), reshape(taus, shape=(stack, k))
    return [in_batches(x, front) for x in (a, order, taus)]


def exchanged_columns(a: Any, j: Any, places: Any) -> Any:
    """Column j exchanged with another, [stack, 1, 1], in each matrix."""
    here, mask = column(a, j), numbers(a.shape[2], 2) == places
    there = reshape(reduce_sum(picked(mask, a, 0), axes=(2,)), shape=here.shape)
    return with_column(picked(mask, widen(here, a.shape), a), j, there)


def portable_ormqr(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Sequence[Any]:
    """Q c, Qᴴ c, c Q or c Qᴴ; Q is the product of reflections, and is formed."""
    front, (m, n) = a.shape[:-2], a.shape[-2:]
    (square, c), (taus,) = in_stacks(a, c), in_stacks(taus, rank=1)
    if n > m:
        square = part(square, 2, 0, m)
    elif n < m:
        square = side_by_side([square, full(aval((square.shape[0], m, m - n), a.dtype), 0)], 2)
    (q,) = portable_product(square, taus)
    q = adjoint(q) if transpose else q
    return [in_batches(times(q, c) if left else times(c, q), front)]


def portable_gtsv(
    dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False
) -> Sequence[Any]:
    """The solutions of systems of three diagonals [batch…, m], by elimination with exchanges of
    neighbouring rows. A pivot that is nearly zero is moved away from it if `perturb_singular`."""
    front, m = d.shape[:-1], d.shape[-1]
    (b,) = in_stacks(b)
    stack = b.shape[0]
    dl, d, du = (reshape(x, shape=(stack, m, 1)) for x in (dl, d, du))
    least = full(aval((stack, 1, 1), d.aval.dtype), 0)
    if perturb_singular:
        top = reduce_max(abs_(side_by_side([dl, d, du], 1)), axes=(1, 2))
        least = of_dtype(top * float(dtypes.finfo(d.dtype).eps), d.dtype)
        least = reshape(least, shape=(stack, 1, 1))

    def safe(pivot: Any, least: Any) -> Any:
        return picked(abs_(pivot) < abs_(least), least, pivot) if perturb_singular else pivot

    def eliminate(i: Any, dl: Any, d: Any, du: Any, far: Any, b: Any, least: Any) -> Sequence[Any]:
        here, there, after = row(d, i), row(dl, i + 1), row(d, i + 1)
        up, up_after = row(du, i), row(du, i + 1)
        b_here, b_there = row(b, i), row(b, i + 1)
        swap = abs_(there) > abs_(here)
        pivot = safe(picked(swap, there, here), least)
        times_pivot = picked(swap, here, there) / pivot
        first, second = picked(swap, after, up), picked(swap, up, after)
        zero = full(up.aval.strong(), 0)
        far = with_row(far, i, picked(swap, up_after, zero))
        du = with_row(
            with_row(du, i + 1, picked(swap, -times_pivot * up_after, up_after)), i, first
        )
        d = with_row(with_row(d, i + 1, second - times_pivot * first), i, pivot)
        wide = widen(swap, b_here.shape)
        top, bottom = picked(wide, b_there, b_here), picked(wide, b_here, b_there)
        b = with_row(with_row(b, i + 1, bottom - times_pivot * top), i, top)
        return [dl, d, du, far, b, least]

    zeros = full(d.aval.strong(), 0)
    state = [dl, d, du, zeros, b, least]
    dl, d, du, far, b, least = repeated_while(max(m - 1, 0), None, eliminate, state)
    d = with_last_row(d, safe(part(d, 1, m - 1, m), least))
    # two rows of zeros below spare the last rows a case of their own
    below = full(aval((stack, 2, b.shape[2]), b.dtype), 0)

    def substitute(n: Any, x: Any, d: Any, du: Any, far: Any, b: Any) -> Sequence[Any]:
        i = m - 1 - n
        known = row(du, i) * row(x, i + 1) + row(far, i) * row(x, i + 2)
        return [with_row(x, i, (row(b, i) - known) / row(d, i)), d, du, far, b]

    du = with_last_row(du, full(aval((stack, 1, 1), d.dtype), 0))
    start = side_by_side([full(b.aval.strong(), 0), below], 1)
    x, *_ = repeated_while(m, None, substitute, [start, d, du, far, b])
    return [in_batches(part(x, 1, 0, m), front)]


def with_last_row(x: Any, last: Any) -> Any:
    """The matrices with another last row."""
    return side_by_side([part(x, 1, 0, x.shape[1] - 1), last], 1)
