"""qr, and its parts: geqrf, geqp3 (with column pivoting), householder_product (orgqr), ormqr.

A reflector is 1 - tau v vᴴ; LAPACK keeps the vectors v below the diagonal of R."""

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..arithmetic import mul, neg, sub
from ..creation import full, zeros
from ..elementwise import same_dtype
from ..portable.lowering import lowered_algorithm
from ..portable.qr import portable_geqp3, portable_geqrf, portable_ormqr, portable_product
from ..rule_types import Avals, Batched, Host, Tangents, Values
from ..selection import where
from ..slicing import concatenate
from ..structural import with_batch_axis
from . import numpy_lapack
from .lu import corner, permuted_rows, trailing_block, window
from .matrix_operations import adjoint, conjugate, mask_of, matrix_transpose, part_of, product_of
from .solver_calls import (
    aval_of_shape,
    check_matrices,
    cusolver,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    upper_triangle,
    work,
    write_identity,
)
from .triangular_solve import triangular_solve

# --- geqrf, geqp3 ---

geqrf = Primitive(
    "geqrf",
    "R with the reflectors below its diagonal, and their factors.",
    multiple=True,
)


@geqrf.type
def _(x: Aval) -> Avals:
    check_matrices("geqrf", x)
    return x.strong(), aval_of_shape(x, min(x.shape[-2:]))


@geqrf.lower
def _(block: Block, x: Operand, out: Avals) -> list[Operand]:
    if x.aval.size == 0:
        return [x, block.full(0, out[1])]
    if has_lapack(block):
        return lapack(block, "geqrf", [x], out, "M>MV", aliases={0: 0})
    if has_cusolver(block):
        return cusolver(block, "cusolver_geqrf_ffi", [x], out, "M>MV", aliases={0: 0})
    return list(lowered_algorithm(portable_geqrf)(block, x, out=out))


@geqrf.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return geqrf(args[0])


geqp3 = Primitive(
    "geqp3",
    "Like geqrf, for x with its columns ordered so that |R[i, i]| does not increase; and that "
    "order.",
    multiple=True,
)


@geqp3.type
def _(x: Aval) -> Avals:
    check_matrices("geqp3", x)
    m, n = x.shape[-2:]
    return x.strong(), integers(x, n), aval_of_shape(x, min(m, n))


@geqp3.lower
def _(block: Block, x: Operand, out: Avals) -> list[Operand]:
    _, order, taus = out
    if x.aval.size == 0:
        return [x, block.iota(order, order.ndim - 1), block.full(0, taus)]
    free_columns = block.full(0, order)  # any column may come first
    if has_lapack(block):
        factors = lapack(block, "geqp3", [x, free_columns], out, "MV>MVV", aliases={0: 0, 1: 1})
    else:
        return list(lowered_algorithm(portable_geqp3)(block, x, out=out))
    factors[1] = block.elementwise("subtract", (factors[1], block.full(1, order)), order)
    return factors


@geqp3.batch
def _(args: Values, batched: Batched, batch_size: int) -> Values:
    return geqp3(args[0])


# --- householder_product, ormqr ---

householder_product = Primitive(
    "householder_product",
    "The first columns of the product of reflectors.",
)


@householder_product.type
def _(a: Aval, taus: Aval) -> Aval:
    name = "householder_product"
    check_matrices(name, a, argument="a")
    check_reflectors(name, a, taus)
    if a.shape[-2] < a.shape[-1]:
        raise ShapeError(f"{name}: a must have at least as many rows as columns; got {a}")
    return a.strong()


def check_reflectors(name: str, a: Aval, taus: Aval) -> None:
    """Raises an error for reflectors and factors with wrong shapes."""
    same_dtype(name, a, taus)
    limit = min(a.shape[-2:])
    if taus.shape[:-1] != a.shape[:-2] or taus.ndim < 1 or taus.shape[-1] > limit:
        raise ShapeError(
            f"{name}: taus must have a's batch and at most {limit} elements; got {taus} for {a}"
        )


def routine_name(x: Aval, suffix: str) -> str:
    """LAPACK's name of a routine: `or…` for orthogonal matrices, `un…` for unitary ones."""
    return ("un" if dtypes.is_complex(x.dtype) else "or") + suffix


@householder_product.lower
def _(block: Block, a: Operand, taus: Operand, out: Aval) -> Operand:
    if out.size == 0:
        return a
    if taus.aval.size == 0:
        return write_identity(block, out)
    if has_lapack(block):
        routine = routine_name(out, "gqr")
        return lapack(block, routine, [a, taus], [out], "MV>M", aliases={0: 0})[0]
    if has_cusolver(block):
        target = "cusolver_orgqr_ffi"
        return cusolver(block, target, [a, taus], [out], "MV>M", aliases={0: 0})[0]
    result: Operand = lowered_algorithm(portable_product)(block, a, taus, out=[out])[0]
    return result


@householder_product.batch
def _(args: Values, batched: Batched, batch_size: int) -> Value:
    return householder_product(*with_batch_axis(args, batched, batch_size))


ormqr = Primitive("ormqr", "Q c, Qᴴ c, c Q or c Qᴴ; Q is the product of reflectors.")


@ormqr.type
def _(a: Aval, taus: Aval, c: Aval, *, left: bool, transpose: bool) -> Aval:
    check_matrices("ormqr", a, argument="a")
    check_matrices("ormqr", c, argument="c")
    check_reflectors("ormqr", a, taus)
    same_dtype("ormqr", a, c)
    side = -2 if left else -1
    if a.shape[:-2] != c.shape[:-2] or a.shape[-2] != c.shape[side]:
        raise ShapeError(
            f"ormqr: a and c must have equal batches, and c as many "
            f"{'rows' if left else 'columns'} as a has rows; got {a} and {c}"
        )
    return c.strong()


@ormqr.lower
def _(
    block: Block, a: Operand, taus: Operand, c: Operand, out: Aval, left: bool, transpose: bool
) -> Operand:
    if out.size == 0 or taus.aval.size == 0:
        return c
    options = f"left = {str(left).lower()}, transpose = {str(transpose).lower()}"
    if has_lapack(block):
        operands = [a, taus, c]
        routine = routine_name(out, "mqr")
        return lapack(block, routine, operands, [out], "MVM>M", options, {2: 0})[0]
    if has_cusolver(block):
        operands = [a, taus, c]
        target = "cusolver_ormqr_ffi"
        return cusolver(block, target, operands, [out], "MVM>M", options, {2: 0})[0]
    params = {"left": left, "transpose": transpose}
    result: Operand = lowered_algorithm(portable_ormqr)(block, a, taus, c, out=[out], **params)[0]
    return result


@ormqr.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Value:
    return ormqr(*with_batch_axis(args, batched, batch_size), **params)


# --- qr ---

qr = Primitive(
    "qr",
    "A unitary Q and an upper triangular R with Q R = x, or Q R = x[:, p] with `pivoting`.",
    multiple=True,
)


@qr.type
def _(x: Aval, *, pivoting: bool, full_matrices: bool) -> Avals:
    check_matrices("qr", x)
    m, n = x.shape[-2:]
    k = m if full_matrices else min(m, n)
    outs = aval_of_shape(x, m, k), aval_of_shape(x, k, n)
    return (*outs, integers(x, n)) if pivoting else outs


@qr.host.work
def _(avals: Avals, outs: Avals, *, pivoting: bool, full_matrices: bool) -> float:
    return math.inf if pivoting else work(avals[0])


@qr.evaluate
def _(x: Host, *, pivoting: bool, full_matrices: bool) -> list[Host]:
    if not pivoting:
        return list(numpy_lapack.qr(x, full_matrices))
    m, n = x.shape[-2:]
    k = m if full_matrices else min(m, n)
    batch = x.shape[:-2]
    q, r = np.zeros((*batch, m, k), x.dtype), np.zeros((*batch, k, n), x.dtype)
    order = np.zeros((*batch, n), np.int32)
    for index in np.ndindex(batch):
        order[index] = pivot_order(x[index])
        permuted = x[index][:, order[index]]
        q[index], r[index] = np.linalg.qr(permuted, "complete" if full_matrices else "reduced")
    return [q, r, order]


def pivot_order(x: Host) -> Host:
    """The order of column pivoting. Each next column is the longest of the remaining ones, after
    projection orthogonal to the columns before it."""
    remainder, (m, n) = np.array(x), x.shape
    order = np.arange(n, dtype=np.int32)
    for i in range(min(m, n)):
        norms = np.linalg.norm(remainder[:, i:], axis=0)
        j = i + int(np.argmax(norms))
        order[[i, j]], remainder[:, [i, j]] = order[[j, i]], remainder[:, [j, i]]
        if norms[j - i] > 0:
            direction = remainder[:, i] / norms[j - i]
            remainder[:, i + 1 :] -= np.outer(direction, direction.conj() @ remainder[:, i + 1 :])
    return order


@qr.lower
def _(block: Block, x: Operand, out: Avals, pivoting: bool, full_matrices: bool) -> list[Operand]:
    q, r = out[:2]
    m, n = x.aval.shape[-2:]
    k = min(m, n)
    order = []
    if x.aval.size == 0:
        order = [block.iota(o, o.ndim - 1) for o in out[2:]]
        return [write_identity(block, q), block.full(0, r), *order]
    if pivoting:
        parts = aval_of_shape(x.aval, m, n), out[2], aval_of_shape(x.aval, k)
        packed_factors, *order, taus = geqp3.lower_rule(block, x, out=parts)  # type: ignore[misc]
    else:
        packed_factors, taus = geqrf.lower_rule(
            block, x, out=(x.aval.strong(), aval_of_shape(x.aval, k))
        )  # type: ignore[misc]
    reflectors = resize_matrices(block, packed_factors, q)
    left = householder_product.lower_rule(block, reflectors, taus, out=q)  # type: ignore[misc]
    right = upper_triangle(block, resize_matrices(block, packed_factors, r))
    return [left, right, *order]


def resize_matrices(block: Block, x: Operand, aval: Aval) -> Operand:
    """Matrices cropped, or padded with zeros, to another number of rows and columns."""
    shape, batch = aval.shape, aval.ndim - 2
    common_shape = [min(a, b) for a, b in zip(x.aval.shape, shape, strict=True)]
    x = block.slice(x, [0] * len(common_shape), common_shape)
    if tuple(common_shape) == shape:
        return x
    padding = [*[(0, 0, 0)] * batch, *[(0, shape[i] - common_shape[i], 0) for i in (-2, -1)]]
    return block.pad(x, block.full(0, aval.update(shape=())), padding)


@qr.jvp
def _(
    primals: Values, tangents: Values, out: Values, *, pivoting: bool, full_matrices: bool
) -> Tangents:
    """Uses dx R⁻¹ = dQ + Q dR R⁻¹ for square R. Qᴴ dQ is skew-Hermitian. Its strict lower triangle
    equals that part of Qᴴ dx R⁻¹. Its diagonal is imaginary, and the diagonal of LAPACK's R real.

    The derivative of the columns Q₂ that complete Q is chosen so that Q₂ᴴ dQ₂ = 0. If x has more
    columns than rows, its other columns x₂ = Q R₂ give dR₂ = Qᴴ (dx₂ - dQ R₂). Source: Roberts and
    Roberts, QR and LQ decomposition matrix backpropagation algorithms, arXiv:2009.10071.
    """
    (dx,), (q, r, *order) = tangents, out
    if order:
        dx = matrix_transpose(permuted_rows(matrix_transpose(dx), order[0]))
    m, n = dx.shape[-2:]
    k = min(m, n)
    q_main, r_main = corner(q, m, k), corner(r, k, k)
    dx_main = corner(dx, m, k)
    by_r = triangular_solve(
        r_main, dx_main, left_side=False, lower=False,
        transpose_a=False, conjugate_a=False, unit_diagonal=False,
    )  # fmt: skip
    q_product = product_of(adjoint(q_main), by_r)
    upper = sub(q_product, skew_part(q_product))
    dr_main = product_of(upper, r_main)
    dq_main = sub(by_r, product_of(q_main, upper))
    if n > m:
        columns_beside = sub(trailing_block(dx, 0, k), product_of(dq_main, trailing_block(r, 0, k)))
        dr = concatenate(
            part_of(dr_main, "upper"),
            product_of(adjoint(q_main), columns_beside),
            dimension=dx.ndim - 1,
        )
        return dq_main, dr, *[None] * len(order)
    dr = part_of(dr_main, "upper")
    if q.shape[-1] > k:  # the columns that complete Q
        q_complement = window(q, 0, m, k, m)
        rotation = product_of(adjoint(q_complement), by_r)
        dq_complement = neg(product_of(q_main, adjoint(rotation)))
        dq_main = concatenate(dq_main, dq_complement, dimension=dx.ndim - 1)
        dr = concatenate(dr, zeros(trailing_block(r, k, 0).aval), dimension=dx.ndim - 2)
    return dq_main, dr, *[None] * len(order)


def skew_part(x: Value) -> Value:
    """The skew-Hermitian matrix with the strict lower triangle of x and the imaginary part of its
    diagonal."""
    lower = part_of(x, "strictly lower")
    skew = sub(lower, adjoint(lower))
    if not dtypes.is_complex(x.dtype):
        return skew
    half = full(x.aval.update(shape=(), weak_type=False), 0.5)
    imaginary = mul(sub(x, conjugate(x)), half)
    return where(mask_of(x.shape, "diagonal"), imaginary, skew)


@qr.batch
def _(args: Values, batched: Batched, batch_size: int, **params: Any) -> Values:
    return qr(args[0], **params)
