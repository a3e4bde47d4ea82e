"""cholesky, lu, qr, eigh, eig, svd: matrices as products of simpler ones.

All take stacks of matrices along the last two axes. Where a matrix has no such product (not
positive definite, no convergence), or has NaN in it, the result is NaN. Nothing is promoted.
"""

from collections.abc import Sequence
from typing import Any, Literal, overload

from ...core.array import Array, as_value
from ...core.source import located
from ...core.trace import current
from ...core.value import Value
from ...primitives.arithmetic import mul
from ...primitives.linalg import definite, factors, orthogonal, singular, spectral
from ...primitives.linalg.native import check_matrices
from ...primitives.linalg.values import adjoint
from ...primitives.slicing import slice_
from ...primitives.structural import add, full
from ...transforms.custom_derivatives import custom_jvp
from ...typing import ArrayLike
from .algorithms import EighImplementation, EigImplementation, SvdAlgorithm
from .widening import narrowed, widened

__all__ = ["cholesky", "eig", "eigh", "lu", "lu_pivots_to_permutation", "qr", "svd"]


def symmetrized(name: str, x: Value) -> Value:
    """(x + xᴴ) / 2."""
    check_matrices(name, x.aval, square=True)
    half = full(x.aval.update(shape=(), weak_type=False), 0.5)
    return mul(add(x, adjoint(x)), half)


@located
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangle L with L Lᴴ = x, of Hermitian positive definite matrices.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      symmetrize_input: whether (x + xᴴ) / 2 takes x's place; otherwise the lower triangle is read.
    Returns: array of x's shape and dtype, zero above the diagonal; NaN on and below it where a
      matrix isn't positive definite.
    Raises: ShapeError: x isn't square, or of another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])))
      [[2. 0.]
       [1. 2.]]
    Source: LAPACK `potrf`; JAX documentation, `jax.lax.linalg.cholesky`.
    """
    (value,), narrow = widened(x)
    if symmetrize_input:
        value = symmetrized("cholesky", value)
    found = definite.cholesky(value, lower=True, hermitian=bool(symmetrize_input))
    return narrowed([found], narrow)[0]


@located
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Triangular factors by elimination with exchanges of rows: x[permutation] = L U.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
    Returns: (lu, pivots, permutation). lu has x's shape and dtype: U in the upper triangle, L,
      whose diagonal is ones, below it. pivots [..., min(m, n)] int32: row i was exchanged with row
      pivots[i], one after the other. permutation [..., m] int32: where each row comes from.
    Raises: ShapeError: x has fewer than two axes, or another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> lu, pivots, permutation = lax.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> print(lu, pivots, permutation)
      [[4.   4.  ]
       [0.25 1.  ]] [1 1] [1 0]
    Source: LAPACK `getrf`; JAX documentation, `jax.lax.linalg.lu`.
    """
    (value,), narrow = widened(x)
    return tuple(narrowed(factors.lu(value), narrow))  # type: ignore[return-value]


@located
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that a sequence of exchanges of rows comes to.

    Args:
      pivots: a stack of integer vectors [..., k]: row i is exchanged with row pivots[i].
      permutation_size: the number of rows, at least k.
    Returns: [..., permutation_size], of the dtype of pivots.
    Raises: ShapeError: pivots aren't integers, or more than rows.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.lu_pivots_to_permutation(np.array([2, 2]), 3))
      [2 0 1]
    Source: JAX documentation, `jax.lax.linalg.lu_pivots_to_permutation`.
    """
    return factors.lu_pivots_to_permutation(
        as_value(pivots), permutation_size=int(permutation_size)
    )


@overload
def qr(
    x: ArrayLike,
    *,
    pivoting: Literal[False] = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array]: ...
@overload
def qr(
    x: ArrayLike,
    *,
    pivoting: Literal[True],
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array, Array]: ...
@located
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> Any:
    """Unitary and triangular factors: x = Q R.

    Derivatives are those of LAPACK's choice: R's diagonal is real. The columns that complete Q turn
    as little as they can; a function should depend on the space that they span alone. If R's
    diagonal has a zero there is no derivative.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
      pivoting: whether columns are put in an order in which R's diagonal falls: x[:, p] = Q R.
      full_matrices: whether Q is square.
      use_magma: a wish for a library, which may be whatever it is: there is none here.
    Returns: (q, r), or (q, r, p) with `pivoting`. With k = m for `full_matrices`, else min(m, n):
      q [..., m, k], r [..., k, n], p [..., n] int32.
    Raises: ShapeError: x has fewer than two axes, or another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> x = np.array([[3.0, 1.0], [4.0, 2.0]])
      >>> q, r = lax.linalg.qr(x)
      >>> bool(np.allclose(q @ r, x, atol=1e-6)), abs(r[0, 0].item())
      (True, 5.0)
    Source: LAPACK `geqrf`, `geqp3`; JAX documentation, `jax.lax.linalg.qr`.
    """
    (value,), narrow = widened(x)
    found = orthogonal.qr(value, pivoting=bool(pivoting), full_matrices=bool(full_matrices))
    return tuple(narrowed(found, narrow))


@located
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x V = V diag(w).

    A function should not depend on the choice of the vectors: their phases, and the basis of the
    space that belongs to equal eigenvalues. Where eigenvalues are equal, but for rounding, the
    vectors' turning into each other counts as zero. So derivatives of functions of the eigenvalues,
    and of such spaces, are right there; V diag(f(w)) Vᴴ lacks a term, of which eigh knows nothing.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      lower: the triangle that is read, unless x is symmetrized.
      symmetrize_input: whether (x + xᴴ) / 2 takes x's place.
      sort_eigenvalues: they are rising in any case.
      subset_by_index: (start, end), if only those eigenvalues are wanted.
      implementation: a wish for an algorithm on accelerators.
    Returns: (v, w): v [..., n, d], of x's dtype, with vectors of length 1 in its columns;
      w [..., d], real and rising; d is n, or end - start.
    Raises: ShapeError: x isn't square, or of another dtype. ValueError: a bad subset.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> v, w = lax.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> print(np.round(w, 5))
      [1. 3.]
    Source: LAPACK `syevd`, `heevd`; JAX documentation, `jax.lax.linalg.eigh`.
    """
    check_choice("eigh", "implementation", implementation, EighImplementation)
    (value,), narrow = widened(x)
    if symmetrize_input:
        value = symmetrized("eigh", value)
    v, w = spectral.eigh(value, lower=bool(lower))
    start, end = subset("eigh", subset_by_index, w.shape[-1])
    return tuple(narrowed([taken(v, -1, start, end), taken(w, -1, start, end)], narrow))  # type: ignore[return-value]


@located
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Eigenvalues and eigenvectors of any square matrices: x v = w v, and uᴴ x = w uᴴ.

    Eigenvectors have derivatives too where eigenvalues are distinct, always: those of vectors of
    length 1 whose largest elements are real, which is LAPACK's choice.

    Args:
      x: a stack of square matrices [..., n, n], of a float or complex dtype. 16-bit floats are
        computed in float32.
      compute_left_eigenvectors, compute_right_eigenvectors: which vectors are wanted.
      enable_eigvec_derivs: a permission, which isn't asked for.
      implementation, use_magma: wishes for a library on GPUs.
    Returns: [w, u, v], or those of them that are wanted: w [..., n], vectors in the columns of
      [..., n, n]; all complex.
    Raises: ShapeError: x isn't square, or of another dtype.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> w, u, v = lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
      >>> print(w.imag)
      [ 1. -1.]
    Source: LAPACK `geev`; JAX documentation, `jax.lax.linalg.eig`.
    """
    check_choice("eig", "implementation", implementation, EigImplementation)
    (value,), _ = widened(x)
    left, right = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    if not left and not right:
        at_once = current.trace is current.base
        return [(eigenvalues if at_once else differentiable_eigenvalues)(value)]  # type: ignore[list-item]
    return list(spectral.eig(value, left=left, right=right))


# Derivatives of values need vectors. What finds these finds the values too: so they are not found
# a second time, which takes as long. Where nothing is differentiated, calls do without the rule.


def eigenvalues(x: Value) -> Value:
    """Eigenvalues alone."""
    return spectral.eig(x, left=False, right=False)[0]


differentiable_eigenvalues = custom_jvp(eigenvalues)


@differentiable_eigenvalues.defjvp
def _(primals: Any, tangents: Any) -> Any:
    w, v = spectral.eig(*primals, left=False, right=True)
    return w, spectral.eigenvalues_tangent(tangents[0], v)


def singular_values(x: Value, algorithm: str) -> Value:
    """Singular values alone."""
    (s,) = singular.svd(x, full_matrices=False, compute_uv=False, algorithm=algorithm)
    return s


differentiable_singular_values = custom_jvp(singular_values, nondiff_argnums=(1,))


@differentiable_singular_values.defjvp
def _(algorithm: str, primals: Any, tangents: Any) -> Any:
    s, u, vt = singular.svd(*primals, full_matrices=False, compute_uv=True, algorithm=algorithm)
    return s, singular.values_tangent(tangents[0], u, vt)


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...
@located
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Singular values and vectors: x = U diag(s) Vᴴ.

    Where singular values are equal or zero, but for rounding, the vectors' turning into each other
    counts as zero. So derivatives of functions of the values, of U Vᴴ, and of the spaces that
    belong to equal values, are right there; U diag(f(s)) Vᴴ lacks a term, of which svd knows
    nothing.

    Args:
      x: a stack of matrices [..., m, n], of a float or complex dtype. 16-bit floats are computed
        in float32.
      full_matrices: whether U and V are square.
      compute_uv: whether vectors are wanted.
      subset_by_index: (start, end), if only those singular values are wanted; not with square
        U and V.
      algorithm: a wish for an algorithm. A CPU has QR and DIVIDE_AND_CONQUER, which is the default.
    Returns: (u, s, vh), or s. With k = min(m, n): s [..., k], real and falling; u [..., m, k] and
      vh [..., k, n], or [..., m, m] and [..., n, n] for `full_matrices`.
    Raises: ShapeError: x has fewer than two axes, or another dtype. ValueError: a bad subset.
    Example:
      >>> from weft import lax
      >>> import weft.numpy as np
      >>> print(lax.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
      [4. 3.]
    Source: LAPACK `gesdd`, `gesvd`; JAX documentation, `jax.lax.linalg.svd`.
    """
    check_choice("svd", "algorithm", algorithm, SvdAlgorithm)
    (value,), narrow = widened(x)
    name = "default" if algorithm is None else algorithm.value.lower()
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError(
            "svd: subset_by_index needs full_matrices=False: the vectors that complete a basis "
            "belong to no singular value"
        )
    if compute_uv:
        found = singular.svd(
            value, full_matrices=bool(full_matrices), compute_uv=True, algorithm=name
        )
    else:
        at_once = current.trace is current.base
        values = singular_values if at_once else differentiable_singular_values
        found = [values(value, name)]
    s, *vectors = narrowed(found, narrow)
    if subset_by_index is not None:
        start, end = subset("svd", subset_by_index, s.shape[-1])
        s = taken(s, -1, start, end)
        vectors = [taken(v, axis, start, end) for v, axis in zip(vectors, (-1, -2), strict=False)]
    return (vectors[0], s, vectors[1]) if compute_uv else s


def check_choice(name: str, option: str, value: Any, kind: type) -> None:
    """Refuses what isn't a member of an enumeration, nor None."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name}: {option} must be a {kind.__name__} or None; got {value!r}")


def subset(name: str, wanted: Sequence[int] | None, count: int) -> tuple[int, int]:
    """The range of eigenvalues or singular values that is wanted."""
    if wanted is None:
        return 0, count
    start, end = map(int, wanted)
    if not 0 <= start <= end <= count:
        raise ValueError(
            f"{name}: subset_by_index must be (start, end) with 0 <= start <= end <= {count}; got "
            f"{wanted!r}"
        )
    return start, end


def taken(x: Value, axis: int, start: int, end: int) -> Value:
    """A range along an axis."""
    axis %= x.ndim
    if (start, end) == (0, x.shape[axis]):
        return x
    lows = tuple(start if i == axis else 0 for i in range(x.ndim))
    highs = tuple(end if i == axis else n for i, n in enumerate(x.shape))
    return slice_(x, start=lows, limit=highs, strides=(1,) * x.ndim)
