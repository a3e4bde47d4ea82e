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
    in_dtype_of_matrix,
    largest,
    matrix_transpose,
    outer,
    product_of,
    scaled_columns,
)
from .solver_calls import (
    aval_of_shape,
    check_matrices,
    cusolver,
    has_cusolver,
    has_lapack,
    integers,
    lapack,
    letter_attribute,
    nan_where_failed,
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
    vectors = aval_of_shape(x, n, n, dtype=dtype)
    return (aval_of_shape(x, n, dtype=dtype), *[vectors] * (left + right))


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
    vectors = aval_of_shape(x.aval, n, n, dtype=values.dtype)
    eigenvalues_aval = aval_of_shape(x.aval, n)
    spectrum = [eigenvalues_aval] if is_complex else [eigenvalues_aval, eigenvalues_aval]
    outs = [*spectrum, vectors, vectors, integers(x.aval)]
    options = ", ".join(
        letter_attribute(f"compute_{side}", "V" if is_requested else "N")
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
        aval_of_shape(x.aval, n, dtype=values.dtype),
        array_aval,
        array_aval,
        integers(x.aval),
    ]
    options = f"left = false, right = {str(left or right).lower()}"
    _, w, _, packed_vectors, info = cusolver(
        block, "cusolver_geev_ffi", [x], outs, "M>MVMMV", options
    )

    def vectors(w: Value, packed_vectors: Value) -> Sequence[Value]:
        v = (
            packed_vectors
            if dtypes.is_complex(packed_vectors.dtype)
            else unpack_conjugate_pairs(w, packed_vectors)
        )
        return [*[left_vectors(v)] * left, *[v] * right]

    results = write_values(block, vectors, [w, packed_vectors]) if left or right else []
    return nan_where_failed(block, info, w, *results)


def unpack_conjugate_pairs(w: Value, packed_vectors: Value) -> Value:
    """The complex eigenvectors of real matrices. LAPACK stores the real and imaginary parts of a
    conjugate pair in two columns."""
    is_complex = convert_element_type(ne(imag(w), zeros(imag(w).aval)), dtype=dtypes.int32)
    count = cumsum(is_complex, axis=w.ndim - 1, reverse=False)
    parity = rem(count, full(count.aval.update(shape=()), 2))
    # 0: real, 1: the first of a pair, 2: the second
    role = where(
        eq(is_complex, zeros(is_complex.aval)),
        zeros(is_complex.aval),
        sub(full(is_complex.aval, 2), parity),
    )
    role = broadcast_in_dim(
        role, shape=packed_vectors.shape, dims=(*range(w.ndim - 1), packed_vectors.ndim - 1)
    )
    shape, n = packed_vectors.shape, packed_vectors.shape[-1]
    edge = zeros(packed_vectors.aval.update(shape=(*shape[:-1], 1), weak_type=False))
    axis = packed_vectors.ndim - 1
    previous_columns = concatenate(edge, window(packed_vectors, 0, n, 0, n - 1), dimension=axis)
    next_columns = concatenate(window(packed_vectors, 0, n, 1, n), edge, dimension=axis)
    is_first, is_second = (eq(role, full(role.aval, k)) for k in (1, 2))
    zero = zeros(packed_vectors.aval)
    re = where(is_second, previous_columns, packed_vectors)
    im = where(is_first, next_columns, where(is_second, neg(packed_vectors), zero))
    return complex_(re, im)


def left_vectors(v: Value) -> Value:
    """The left eigenvectors, computed as the columns of V⁻ᴴ, and scaled to length 1 and to real
    largest elements."""
    u = adjoint(solve_by_lu(v, identities(v.aval, v.shape[-1])))
    sizes = abs_(u)
    length = sqrt(reduce_sum(mul(sizes, sizes), axes=(u.ndim - 2,)))
    largest_element = where(largest_mask(u), u, zeros(u.aval.update(shape=(), weak_type=False)))
    largest_element = reduce_sum(largest_element, axes=(u.ndim - 2,))
    factor = div(conj(largest_element), in_dtype_of_matrix(mul(abs_(largest_element), length), u))
    return scaled_columns(u, factor)


def largest_mask(v: Value) -> Value:
    """True at the largest element of each column."""
    largest_row = argmax(abs_(v), axis=v.ndim - 2, dtype=dtypes.int32)
    rows = iota(dtype=dtypes.int32, shape=v.shape, dimension=v.ndim - 2)
    dims = (*range(v.ndim - 2), v.ndim - 1)
    return eq(rows, broadcast_in_dim(largest_row, shape=v.shape, dims=dims))


@eig.jvp
def _(primals: Values, tangents: Values, out: Values, *, left: bool, right: bool) -> Tangents:
    """dw is the diagonal of V⁻¹ dx V, and dV = V (F ∘ V⁻¹ dx V), F[i, j] = 1 / (w[j] - w[i]),
    scaled so that vectors keep their length and their largest elements stay real, as in LAPACK.

    Source: M. Giles, 2008, 3.1; see eigh.
    """
    (x,), (dx,) = primals, tangents
    w = out[0]
    dx = in_dtype_of_matrix(dx, w)
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
    left = solve_by_lu(v, in_dtype_of_matrix(dx, v))
    return reduce_sum(mul(left, matrix_transpose(v)), axes=(v.ndim - 1,))


def eigenvectors_tangent(dx: Value, w: Value, v: Value) -> tuple[Value, Value]:
    """The tangents of eigenvalues and right eigenvectors."""
    v_product = solve_by_lu(v, product_of(dx, v))
    inverse = guarded_inverse(outer(w, w, lambda a, b: sub(b, a)), largest(w))
    dv = product_of(v, mul(inverse, v_product))
    parallel = reduce_sum(real(mul(conj(v), dv)), axes=(v.ndim - 2,))
    # the largest element of each vector, and the change of its phase
    is_largest = largest_mask(v)
    scalar = v.aval.update(shape=(), weak_type=False)
    ratio = where(is_largest, div(dv, where(is_largest, v, full(scalar, 1))), zeros(scalar))
    phase = imag(reduce_sum(ratio, axes=(v.ndim - 2,)))
    dv = sub(dv, scaled_columns(v, complex_(parallel, phase)))
    return diagonal_of(v_product), dv


@eig.batch
def _(args: Values, batched: Batched, batch_size: int, *, left: bool, right: bool) -> Values:
    return eig(args[0], left=left, right=right)
