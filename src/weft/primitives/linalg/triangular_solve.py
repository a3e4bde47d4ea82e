"""triangular_solve: systems of equations with triangular matrices, by BLAS' trsm."""

from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..arithmetic import neg, sub
from ..elementwise import same_dtype
from ..rule_types import Argument, Avals, Batched, Host, Tangent, Tangents, Values
from ..structural import move_axis, reshape, with_batch_axis
from .matrix_operations import conjugate, matrix_transpose, part_of, product_of
from .solver_calls import check_matrices, has_lapack, lapack, letter_attribute

triangular_solve = Primitive(
    "triangular_solve",
    "Solves op(a) x = b, or x op(a) = b; op transposes, conjugates, or does neither.",
    host="other",
)


@triangular_solve.type
def _(
    a: Aval,
    b: Aval,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Aval:
    name = "triangular_solve"
    same_dtype(name, a, b)
    check_matrices(name, a, square=True, argument="a")
    check_matrices(name, b, argument="b")
    side = -2 if left_side else -1
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
        raise ShapeError(
            f"{name}: a and b must have equal batches, and b as many "
            f"{'rows' if left_side else 'columns'} as a; got {a} and {b}"
        )
    return b.strong()


@triangular_solve.host.work
def _(avals: Avals, outs: Avals, **params: Any) -> int:
    return max(8192 * avals[0].shape[-1], 4 * avals[1].size)  # a Python loop over the rows


@triangular_solve.evaluate
def _(
    a: Host,
    b: Host,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Host:
    if conjugate_a:
        a = np.conjugate(a)
    if transpose_a == left_side:  # solves a' x' = b' or a x = b, with the matrix on the left
        a, lower = a.swapaxes(-1, -2), not lower
    out = np.array(b if left_side else b.swapaxes(-1, -2))
    n = a.shape[-1]
    for i in range(n) if lower else range(n - 1, -1, -1):
        solved_rows = slice(0, i) if lower else slice(i + 1, n)
        row = out[..., i, :]  # a view
        if (i if lower else n - 1 - i) > 0:
            row -= np.matmul(a[..., i : i + 1, solved_rows], out[..., solved_rows, :])[..., 0, :]
        if not unit_diagonal:
            row /= a[..., i, i, None]
    return out if left_side else np.ascontiguousarray(out.swapaxes(-1, -2))


@triangular_solve.lower
def _(
    block: Block,
    a: Operand,
    b: Operand,
    out: Aval,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Operand:
    if out.size == 0:
        return b
    if conjugate_a and not transpose_a and dtypes.is_complex(a.aval.dtype):
        a, conjugate_a = block.op("chlo.conj", a, out=a.aval), False
    conjugate_a = conjugate_a and dtypes.is_complex(a.aval.dtype)
    if has_lapack(block):
        return trsm(block, a, b, out, left_side, lower, transpose_a, conjugate_a, unit_diagonal)
    change = "ADJOINT" if conjugate_a else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    words = (
        f"left_side = {str(left_side).lower()}",
        f"lower = {str(lower).lower()}",
        f"unit_diagonal = {str(unit_diagonal).lower()}",
        f"transpose_a = #stablehlo<transpose {change}>",
    )
    result: Operand = block.op("triangular_solve", a, b, out=out, attributes=", ".join(words))
    return result


def trsm(
    block: Block,
    a: Operand,
    b: Operand,
    out: Aval,
    left_side: bool,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
) -> Operand:
    """LAPACK's solution, without copies. LAPACK sees bᵀ, so op(a)ᵀ is on the other side; it also
    sees aᵀ, or a itself if a is stored by columns."""
    is_column_major = block.has_transpose(a) and not conjugate
    options = (
        letter_attribute("side", "R" if left_side else "L"),
        letter_attribute("uplo", "L" if lower is is_column_major else "U"),
        letter_attribute(
            "trans_x", "C" if conjugate else "T" if transpose is not is_column_major else "N"
        ),
        letter_attribute("diag", "U" if unit_diagonal else "N"),
    )
    kinds = "MT>T" if is_column_major else "TT>T"
    return lapack(block, "trsm", [a, b], [out], kinds, ", ".join(options), {1: 0})[0]


@triangular_solve.jvp
def _(primals: Values, tangents: Tangents, out: Value, **params: Any) -> Tangent:
    (a, _), (da, total) = primals, tangents
    if da is not None:
        part = "lower" if params["lower"] else "upper"
        change = part_of(da, f"strictly {part}" if params["unit_diagonal"] else part)
        if params["conjugate_a"]:
            change = conjugate(change)
        if params["transpose_a"]:
            change = matrix_transpose(change)
        pair = (change, out) if params["left_side"] else (out, change)
        product = product_of(*pair)
        total = neg(product) if total is None else sub(total, product)
    return triangular_solve(a, total, **params)


@triangular_solve.transpose
def _(ct: Value, a: Argument, b: Argument, *, transpose_a: bool, **params: Any) -> Tangents:
    if isinstance(a, Aval):
        raise TypeError("triangular_solve: is linear in its second operand only")
    return None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)


@triangular_solve.batch
def _(args: Values, batched: Batched, batch_size: int, *, left_side: bool, **params: Any) -> Value:
    a, b = args
    if batched[0] or a.ndim > 2:
        a, b = with_batch_axis(args, batched, batch_size)
        return triangular_solve(a, b, left_side=left_side, **params)
    # all share one matrix, so their right-hand sides are placed side by side
    _, m, n = b.shape
    if left_side:
        side_by_side = reshape(move_axis(b, 0, 1), shape=(m, batch_size * n))
        x = triangular_solve(a, side_by_side, left_side=True, **params)
        return move_axis(reshape(x, shape=(m, batch_size, n)), 1, 0)
    side_by_side = reshape(b, shape=(batch_size * m, n))
    x = triangular_solve(a, side_by_side, left_side=False, **params)
    return reshape(x, shape=b.shape)
