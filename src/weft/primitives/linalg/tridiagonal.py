"""tridiagonal and tridiagonal_solve: reduce Hermitian matrices to three diagonals, and solve
systems with three diagonals.

They use LAPACK's sytrd or hetrd and gtsv on CPUs, cuSOLVER's and cuSPARSE's on GPUs, and `portable`
elsewhere."""

from typing import Any

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..arithmetic import neg, sub
from ..creation import zeros
from ..elementwise import same_dtype
from ..portable.hessenberg import portable_sytrd
from ..portable.lowering import lowered_algorithm
from ..portable.tridiagonal_solve import portable_gtsv
from ..rule_types import Argument, Avals, Batched, Tangent, Tangents, Values
from ..slicing import concatenate, slice_
from ..structural import add, move_axis, reshape, with_batch_axis
from .matrix_operations import scaled_rows
from .solver_calls import (
    aval_of_shape,
    check_dtype,
    check_matrices,
    cusolver,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
    nan_where_failed,
    native_call,
)

# --- tridiagonal ---

tridiagonal = Primitive(
    "tridiagonal",
    "The tridiagonal form of Hermitian matrices: reflectors, diagonal, subdiagonal, factors.",
    multiple=True,
)


@tridiagonal.type
def _(x: Aval, *, lower: bool) -> Avals:
    check_matrices("tridiagonal", x, square=True, argument="a")
    n, real = x.shape[-1], dtypes.real_of(x.dtype)
    off_diagonal_length = max(n - 1, 0)
    return (
        x.strong(),
        aval_of_shape(x, n, dtype=real),
        aval_of_shape(x, off_diagonal_length, dtype=real),
        aval_of_shape(x, off_diagonal_length),
    )


@tridiagonal.lower
def _(block: Block, x: Operand, out: Avals, lower: bool) -> list[Operand]:
    if x.aval.size == 0:
        return [x, *[block.full(0, o) for o in out[1:]]]
    outs = [*out, integers(x.aval)]
    if has_lapack(block):
        routine = "hetrd" if dtypes.is_complex(x.aval.dtype) else "sytrd"
        options = letter_attribute("uplo", "L" if lower else "U")
        return lapack(block, routine, [x], outs, "M>MVVVV", options, {0: 0}, checked=True)
    if has_cusolver(block):
        options = f"lower = {str(lower).lower()}"
        target = "cusolver_sytrd_ffi"
        *results, info = cusolver(block, target, [x], outs, "M>MVVVV", options, {0: 0})
        return nan_where_failed(block, info, *results)
    return list(lowered_algorithm(portable_sytrd)(block, x, out=out, lower=lower))


@tridiagonal.batch
def _(args: Values, batched: Batched, batch_size: int, *, lower: bool) -> Values:
    return tridiagonal(args[0], lower=lower)


# --- tridiagonal_solve ---

tridiagonal_solve = Primitive(
    "tridiagonal_solve",
    "Solves tridiagonal systems of equal lengths; the first element of dl and the last "
    "of du are ignored.",
)


@tridiagonal_solve.type
def _(dl: Aval, d: Aval, du: Aval, b: Aval, *, perturb_singular: bool) -> Aval:
    name = "tridiagonal_solve"
    same_dtype(name, dl, d, du, b)
    check_dtype(name, d, "d")
    shapes_fit = b.ndim >= 2 and d.shape == b.shape[:-1] == dl.shape == du.shape
    if not shapes_fit:
        raise ShapeError(
            f"{name}: expected dl, d, du [..., m] and b [..., m, k]; got {dl}, {d}, {du} and {b}"
        )
    return b.strong()


@tridiagonal_solve.lower
def _(
    block: Block,
    dl: Operand,
    d: Operand,
    du: Operand,
    b: Operand,
    out: Aval,
    perturb_singular: bool,
) -> Operand:
    if out.size == 0:
        return b
    operands, batch = [dl, d, du, b], out.ndim - 2
    if perturb_singular and has_lapack(block):
        target = "tridiagonal_solve_perturbed_ffi"
        return native_call(block, target, operands, [out], "VVVM>M", batch=batch)[0]
    if has_lapack(block):
        outs = [dl.aval, d.aval, du.aval, out, integers(out)]
        aliases = {0: 0, 1: 1, 2: 2, 3: 3}
        kinds = "VVVM>VVVMV"
        return lapack(block, "gtsv", operands, outs, kinds, aliases=aliases, checked=True)[3]
    if (
        has_cusolver(block) and not perturb_singular and d.aval.shape[-1] > 2
    ):  # cuSPARSE needs at least three rows
        target = "cusparse_gtsv2_ffi"
        return native_call(block, target, operands, [out], "VVVM>M", "", {3: 0}, batch)[0]
    rule = lowered_algorithm(portable_gtsv)
    result: Operand = rule(block, *operands, out=[out], perturb_singular=perturb_singular)[0]
    return result


@tridiagonal_solve.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    """Solves a dx = db - da x, which follows from a x = b."""
    dl, d, du, _ = primals
    change_below, change, change_above, total = tangents
    product = banded_product(change_below, change, change_above, out)
    if product is not None:
        total = neg(product) if total is None else sub(total, product)
    return tridiagonal_solve(dl, d, du, total, **params)


def banded_product(dl: Tangent, d: Tangent, du: Tangent, x: Value) -> Tangent:
    """The product of a tridiagonal matrix with x; `None` is a diagonal of zeros."""
    terms = []
    if d is not None:
        terms.append(scaled_rows(x, d))
    if dl is not None:
        terms.append(scaled_rows(shift_rows(x, 1, 2), dl))
    if du is not None:
        terms.append(scaled_rows(shift_rows(x, -1, 2), du))
    total = None
    for term in terms:
        total = term if total is None else add(total, term)
    return total


def shift_rows(x: Value, offset: int, trailing: int) -> Value:
    """The array shifted by one along the axis `-trailing`, down for 1 and up for -1, and filled
    with zeros."""
    axis = x.ndim - trailing
    n = x.shape[axis]
    if n == 0:
        return x
    start_row, limit_row = (0, n - 1) if offset > 0 else (1, n)
    start = tuple(start_row if i == axis else 0 for i in range(x.ndim))
    limit = tuple(limit_row if i == axis else length for i, length in enumerate(x.shape))
    remaining_rows = slice_(x, start=start, limit=limit, strides=(1,) * x.ndim)
    edge = zeros(
        x.aval.update(shape=tuple(1 if i == axis else s for i, s in enumerate(x.shape))).strong()
    )
    parts = (edge, remaining_rows) if offset > 0 else (remaining_rows, edge)
    return concatenate(*parts, dimension=axis)


@tridiagonal_solve.transpose
def _(ct: Value, dl: Argument, d: Argument, du: Argument, b: Argument, **params: Any) -> Tangents:
    """Solves with the transposed matrix: dl, shifted up, is above its diagonal, and du, shifted
    down, is below."""
    if isinstance(dl, Aval) or isinstance(d, Aval) or isinstance(du, Aval):
        raise TypeError("tridiagonal_solve: is linear in its last operand only")
    lower, upper = shift_rows(du, 1, 1), shift_rows(dl, -1, 1)
    return None, None, None, tridiagonal_solve(lower, d, upper, ct, **params)


@tridiagonal_solve.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Value:
    *diagonals, b = args
    if any(batched[:3]) or b.ndim > 3:
        return tridiagonal_solve(*with_batch_axis(args, batched, batch_size), **params)
    _, m, k = b.shape  # all share one matrix, so right-hand sides are placed side by side
    side_by_side = reshape(move_axis(b, 0, 1), shape=(m, batch_size * k))
    x = tridiagonal_solve(*diagonals, side_by_side, **params)
    return move_axis(reshape(x, shape=(m, batch_size, k)), 1, 0)
