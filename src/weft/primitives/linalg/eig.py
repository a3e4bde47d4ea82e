"""eig: eigenvalues, left and right eigenvectors of any square matrix.

It uses LAPACK's geev on CPUs, cuSOLVER's on GPUs, and the Schur form by the QR algorithm
elsewhere."""

from collections.abc import Sequence

from ... import dtypes
from ...core.aval import Aval
from ...core.primitive import Primitive
from ...core.value import Value
from ...stablehlo import Block, Operand
from ..arithmetic import abs_, div, mul, neg, rem, sqrt, sub
from ..comparison import eq, ne
from ..complex_numbers import complex_, conj, imag, real
from ..creation import full, iota, zeros
from ..cumulative import cumsum
from ..portable.eig import portable_eig
from ..portable.lowering import lowered_algorithm, write_values
from ..reductions import argmax
from ..rule_types import Avals, Batched, Tangents, Values
from ..selection import where
from ..slicing import concatenate
from ..structural import broadcast_in_dim, convert_element_type, reduce_sum
from .lu import solve_by_lu, window
from .matrix_operations import (
    adjoint,
    conjugate,
    diagonal_of,
    guarded_inverse,
    identities,
    in_kind,
    largest,
    matrix_transpose,
    outer,
    product_of,
    scaled_columns,
)
from .solver_calls import (
    check_matrices,
    cusolver,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter,
    nan_where_failed,
    reduced,
)

# --- eig ---

eig = Primitive(
    "eig",
    "Eigenvalues of a square matrix, and left and right eigenvectors of length 1.",
    multiple=True,
)


@eig.type
def _(x: Aval, *, left: bool, right: bool) -> Avals:
    check_matrices("eig", x, square=True)
    dtype, n = dtypes.complex_of(x.dtype), x.shape[-1]
    vectors = reduced(x, n, n, dtype=dtype)
    return (reduced(x, n, dtype=dtype), *[vectors] * (left + right))


@eig.lower
def _(block: Block, x: Operand, out: Avals, left: bool, right: bool) -> list[Operand]:
    values = out[0]
    if x.aval.size == 0:
        return [block.full(0, o) for o in out]
    if has_cusolver(block):
        return eig_by_cusolver(block, x, out, left, right)
    if not has_lapack(block):
        return list(lowered_algorithm(portable_eig)(block, x, out=out, left=left, right=right))
    is_complex = dtypes.is_complex(x.aval.dtype)
    n = values.shape[-1]
    vectors = reduced(x.aval, n, n, dtype=values.dtype)
    each_value = reduced(x.aval, n)
    spectrum = [each_value] if is_complex else [each_value, each_value]
    outs = [*spectrum, vectors, vectors, integers(x.aval)]
    options = ", ".join(
        letter(f"compute_{side}", "V" if is_requested else "N")
        for side, is_requested in (("left", left), ("right", right))
    )
    kinds = f"M>{'V' * len(spectrum)}MMV"
    *numbers, vl, vr = lapack(block, "geev", [x], outs, kinds, options, checked=True)
    w = numbers[0] if is_complex else block.op("complex", *numbers, out=values)
    return [w, *[vl] * left, *[vr] * right]


def eig_by_cusolver(block: Block, x: Operand, out: Avals, left: bool, right: bool) -> list[Operand]:
    """cuSOLVER's `geev`. It does not compute left eigenvectors, so they are computed from the right
    ones."""
    values, n = out[0], x.aval.shape[-1]
    array_aval = x.aval.strong()
    outs = [
        array_aval,
        reduced(x.aval, n, dtype=values.dtype),
        array_aval,
        array_aval,
        integers(x.aval),
    ]
    options = f"left = false, right = {str(left or right).lower()}"
    _, w, _, packed, info = cusolver(block, "cusolver_geev_ffi", [x], outs, "M>MVMMV", options)

    def vectors(w: Value, packed: Value) -> Sequence[Value]:
        v = packed if dtypes.is_complex(packed.dtype) else unpacked_pairs(w, packed)
        return [*[left_vectors(v)] * left, *[v] * right]

    results = write_values(block, vectors, [w, packed]) if left or right else []
    return nan_where_failed(block, info, w, *results)


def unpacked_pairs(w: Value, packed: Value) -> Value:
    """The complex eigenvectors of real matrices. LAPACK stores the real and imaginary parts of a
    conjugate pair in two columns."""
    flat = convert_element_type(ne(imag(w), zeros(imag(w).aval)), dtype=dtypes.int32)
    count = cumsum(flat, axis=w.ndim - 1, reverse=False)
    parity = rem(count, full(count.aval.update(shape=()), 2))
    # 0: real, 1: the first of a pair, 2: the second
    role = where(eq(flat, zeros(flat.aval)), zeros(flat.aval), sub(full(flat.aval, 2), parity))
    role = broadcast_in_dim(role, shape=packed.shape, dims=(*range(w.ndim - 1), packed.ndim - 1))
    size, n = packed.shape, packed.shape[-1]
    edge = zeros(packed.aval.update(shape=(*size[:-1], 1), weak_type=False))
    axis = packed.ndim - 1
    before = concatenate(edge, window(packed, 0, n, 0, n - 1), dimension=axis)
    after = concatenate(window(packed, 0, n, 1, n), edge, dimension=axis)
    is_first, is_second = (eq(role, full(role.aval, k)) for k in (1, 2))
    nothing = zeros(packed.aval)
    re = where(is_second, before, packed)
    im = where(is_first, after, where(is_second, neg(packed), nothing))
    return complex_(re, im)


def left_vectors(v: Value) -> Value:
    """The left eigenvectors, computed as the columns of V⁻ᴴ, and scaled to length 1 and to real
    largest elements."""
    u = adjoint(solve_by_lu(v, identities(v.aval, v.shape[-1])))
    sizes = abs_(u)
    length = sqrt(reduce_sum(mul(sizes, sizes), axes=(u.ndim - 2,)))
    top = where(largest_places(u), u, zeros(u.aval.update(shape=(), weak_type=False)))
    top = reduce_sum(top, axes=(u.ndim - 2,))
    turn = div(conj(top), in_kind(mul(abs_(top), length), u))
    return scaled_columns(u, turn)


def largest_places(v: Value) -> Value:
    """True at the largest element of each column."""
    top = argmax(abs_(v), axis=v.ndim - 2, dtype=dtypes.int32)
    rows = iota(dtype=dtypes.int32, shape=v.shape, dimension=v.ndim - 2)
    dims = (*range(v.ndim - 2), v.ndim - 1)
    return eq(rows, broadcast_in_dim(top, shape=v.shape, dims=dims))


@eig.jvp
def _(primals: Values, tangents: Values, out: Values, *, left: bool, right: bool) -> Tangents:
    """dw is the diagonal of V⁻¹ dx V, and dV = V (F ∘ V⁻¹ dx V), F[i, j] = 1 / (w[j] - w[i]),
    scaled so that vectors keep their length and their largest elements stay real, as in LAPACK.

    Source: M. Giles, 2008, 3.1; see eigh.
    """
    (x,), (dx,) = primals, tangents
    w = out[0]
    dx = in_kind(dx, w)
    v = out[-1] if right else eig(x, left=False, right=True)[1]
    if not left and not right:
        return [eigenvalues_tangent(dx, v)]
    dw, dv = eigenvectors_tangent(dx, w, v)
    results = [dw]
    if left:
        results.append(eigenvectors_tangent(adjoint(dx), conjugate(w), out[1])[1])
    if right:
        results.append(dv)
    return results


def eigenvalues_tangent(dx: Value, v: Value) -> Value:
    """The tangent of the eigenvalues of x, from its right eigenvectors: the diagonal of V⁻¹ dx
    V."""
    left = solve_by_lu(v, in_kind(dx, v))
    return reduce_sum(mul(left, matrix_transpose(v)), axes=(v.ndim - 1,))


def eigenvectors_tangent(dx: Value, w: Value, v: Value) -> tuple[Value, Value]:
    """The tangents of eigenvalues and right eigenvectors."""
    inner = solve_by_lu(v, product_of(dx, v))
    inverse = guarded_inverse(outer(w, w, lambda a, b: sub(b, a)), largest(w))
    dv = product_of(v, mul(inverse, inner))
    along = reduce_sum(real(mul(conj(v), dv)), axes=(v.ndim - 2,))
    # the largest element of each vector, and the change of its phase
    here = largest_places(v)
    scalar = v.aval.update(shape=(), weak_type=False)
    share = where(here, div(dv, where(here, v, full(scalar, 1))), zeros(scalar))
    phase = imag(reduce_sum(share, axes=(v.ndim - 2,)))
    dv = sub(dv, scaled_columns(v, complex_(along, phase)))
    return diagonal_of(inner), dv


@eig.batch
def _(args: Values, batched: Batched, batch_size: int, *, left: bool, right: bool) -> Values:
    return eig(args[0], left=left, right=right)
