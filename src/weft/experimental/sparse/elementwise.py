"""Elementwise sums, products and functions of sparse matrices, and of sparse matrices and arrays.

An operation whose result would be dense raises an error: use `todense()` first.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from ... import numpy as np
from ...core.value import Value
from ...errors import ShapeError
from ...numpy.promotion import SCALARS
from ...typing import Array, Shape
from .conversion import bcoo_sum_duplicates, bcoo_todense
from .coordinates import Coordinates, SparseArray, axes_behind
from .products import bcoo_multiply_dense, bcoo_multiply_sparse, broadcast_to, flat, read

M = TypeVar("M", bound=Coordinates)


def is_dense(x: Any) -> bool:
    """True for arrays and numbers, the possible other operand of a sparse matrix."""
    return isinstance(x, Value) or type(x) in SCALARS or hasattr(x, "__array__")


def refuse_dense(name: str, *args: Any) -> TypeError:
    """The error for an operation whose result would not be sparse."""
    types = ", ".join(repr(a) if isinstance(a, SparseArray) else str(shape_of(a)) for a in args)
    return TypeError(
        f"{name}: the result for {types} would have elements everywhere\n"
        "  fix: x.todense() (sparse.todense in a sparsified function), if that is what you want"
    )


def common_shape(name: str, x: Any, y: Any) -> Shape:
    """The shape to which two operands broadcast."""
    try:
        return np.broadcast_shapes(shape_of(x), shape_of(y))
    except ValueError:
        raise ShapeError(
            f"{name}: shapes {shape_of(x)} and {shape_of(y)} don't broadcast together"
        ) from None


def shape_of(x: Any) -> Shape:
    """The shape of a sparse matrix, an array or a number."""
    return x.shape if isinstance(x, SparseArray) else np.shape(x)


def applied(function: Callable[[Array], Array], mat: M, linear: bool = False) -> M:
    """Applies a function with f(0) = 0 to each element.

    Args:
      linear: whether the function may be applied before duplicate elements are added.
    """
    if not (linear or mat.unique_indices):
        mat = bcoo_sum_duplicates(mat, mat.nse, False)
    return mat.with_data(function(mat.data))


def added(lhs: Any, rhs: Any) -> Any:
    """lhs + rhs: sparse for two sparse matrices, dense for a sparse matrix and an array of the same
    shape."""
    if not isinstance(lhs, Coordinates):
        lhs, rhs = rhs, lhs
    if isinstance(rhs, Coordinates):
        shape = common_shape("add", lhs, rhs)
        lhs, rhs = broadcast_to(lhs, shape), broadcast_to(rhs, shape)
        if (lhs.n_batch, lhs.n_dense) != (rhs.n_batch, rhs.n_dense):
            lhs, rhs = flat(lhs), flat(rhs)
        return beside(lhs, rhs)
    if np.shape(rhs) != common_shape("add", lhs, rhs):
        raise refuse_dense("add", lhs, rhs)
    return bcoo_todense(lhs) + rhs


def beside(lhs: M, rhs: M) -> M:
    """A matrix with the elements of two matrices of equal shape and layout; their sum."""
    axis = lhs.n_batch
    dtype = np.promote_types(lhs.dtype, rhs.dtype)
    data = np.concatenate([lhs.data.astype(dtype), rhs.data.astype(dtype)], axis=axis)
    indices = np.concatenate([lhs.indices, rhs.indices.astype(lhs.indices.dtype)], axis=axis)
    return lhs.like(data, indices, lhs.inner)


def multiplied(lhs: Any, rhs: Any) -> Any:
    """lhs * rhs, where at least one operand is sparse; so is the result."""
    if not isinstance(lhs, Coordinates):
        lhs, rhs = rhs, lhs
    if isinstance(rhs, Coordinates):
        return bcoo_multiply_sparse(lhs, rhs)
    return by_dense(lhs, rhs, bcoo_multiply_dense)


def divided(lhs: Coordinates, rhs: Any) -> Any:
    """lhs / rhs for an array rhs. Elements that are not stored stay 0, even if the divisor is 0."""
    if isinstance(rhs, Coordinates) or not isinstance(lhs, Coordinates):
        raise refuse_dense("divide", lhs, rhs)
    return by_dense(lhs, rhs, quotients)


def quotients(mat: Coordinates, v: Any) -> Array:
    """The elements of mat / v, and zeros for padding."""
    if not np.ndim(v):
        return mat.data / v
    divisors = read(mat, np.asarray(v))
    inside = mat.inside()
    inside = np.expand_dims(inside, axes_behind(inside, divisors.ndim - inside.ndim))
    return mat.data / np.where(inside, divisors, np.ones((), divisors.dtype))


def by_dense(mat: M, v: Any, data: Callable[[M, Any], Array]) -> M:
    """A matrix with the elements `data(mat, v)`, in the broadcast shape of both operands."""
    mat = broadcast_to(mat, common_shape("multiply", mat, v))
    return mat.with_data(data(mat, v))
