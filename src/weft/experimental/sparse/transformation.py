"""sparsify and todense; and derivatives with respect to the elements of sparse matrices: grad,
value_and_grad, jacfwd and jacrev.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, SupportsIndex

from ... import numpy as np
from ...core.source import located, wrapping
from ...core.trace import under
from ...transforms import derivatives, jacobians
from ...transforms.arguments import check_callable
from ...tree_util import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten
from ...typing import PyTree
from .conversion import bcoo_todense
from .coordinates import Coordinates, SparseArray
from .formats import OtherFormat
from .interpreter import SparseTracer, sparse_values

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "sparsify", "todense", "value_and_grad"]


def is_sparse(x: Any) -> bool:
    """True for a leaf of a tree that is a sparse array."""
    return isinstance(x, SparseArray)


@located
def todense(arr: PyTree) -> PyTree:
    """Converts the sparse arrays in a tree to dense ones; it also works in a sparsified function.

    Args:
      arr: an array, sparse or dense, or a tree of them.
    Returns: the tree; dense arrays are unchanged.
    Example:
      >>> from weft.experimental import sparse
      >>> sparse.todense([sparse.eye(2), 3])
      [Array([[1., 0.],
             [0., 1.]], dtype=float32), 3]
    Source: JAX documentation, `jax.experimental.sparse.todense`.
    """

    def dense(x: Any) -> Any:
        if isinstance(x, SparseTracer):
            return under(x._trace.outside, bcoo_todense, x.matrix)
        return x.todense() if isinstance(x, SparseArray) else x

    return tree_map(dense, arr, is_leaf=is_sparse)


@located
def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Converts a function of arrays to a function of sparse arrays, operation by operation.

    Control flow, `jit` and derivatives inside are sparse too. An operation whose result would be
    dense raises `TypeError`; use `sparse.todense` to allow it.

    Args:
      f: a function of arrays, or trees of them.
      use_tracer: accepted for compatibility with JAX, which has two implementations; weft has one.
    Returns: a function that takes sparse arrays where `f` takes arrays; its results are sparse
      where the operations give sparse results, and arrays otherwise.
    Raises: TypeError: a result would be dense. MissingRuleError: an operation has no sparse form.
    Example:
      >>> from weft.experimental import sparse
      >>> @sparse.sparsify
      ... def f(x, v):
      ...     return 2 * (x.T @ v) + x.sum(axis=0).sum()
      >>> f(sparse.eye(3), np.arange(3.0))
      Array([3., 5., 7.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.sparsify`.
    """
    check_callable(f, "sparsify")

    @wrapping(f)
    @located
    def sparsified(*args: PyTree, **kwargs: PyTree) -> PyTree:
        leaves, tree = tree_flatten((args, kwargs), is_leaf=is_sparse)
        places = [i for i, x in enumerate(leaves) if is_sparse(x)]
        matrices = [x.to_bcoo() if isinstance(x, OtherFormat) else x
                    for x in (leaves[i] for i in places)]  # fmt: skip
        structures: list[Any] = []

        def on_values(*values: Any) -> list[Any]:
            filled = list(leaves)
            for i, x in zip(places, values, strict=True):
                filled[i] = x
            args, kwargs = tree_unflatten(tree, filled)
            outs, structure = tree_flatten(f(*args, **kwargs), is_leaf=is_sparse)
            structures.append(structure)
            return outs

        outs = sparse_values(on_values, matrices, f)
        return tree_unflatten(structures[0], outs)

    return sparsified


# --- derivatives ---


def elements(x: PyTree) -> PyTree:
    """A tree with sparse arrays replaced by their data."""
    return tree_map(lambda y: y.data if is_sparse(y) else y, x, is_leaf=is_sparse)


def refilled(x: PyTree, data: PyTree) -> PyTree:
    """The tree `x` with new elements in its sparse arrays, and new leaves."""
    leaves, tree = tree_flatten(x, is_leaf=is_sparse)
    new = [placed(y, d) if is_sparse(y) else d
           for y, d in zip(leaves, tree_leaves(data), strict=True)]  # fmt: skip
    return tree_unflatten(tree, new)


def placed(mat: Any, data: Any) -> Any:
    """A sparse array with new elements; additional leading axes are batch axes."""
    more = data.ndim - mat.data.ndim
    if not more:
        return mat.with_data(data)
    if not isinstance(mat, Coordinates):
        mat = mat.to_bcoo()
    indices = np.broadcast_to(mat.indices, (*data.shape[:more], *mat.indices.shape))
    return mat.like(data, indices, mat.inner, mat.indices_sorted, mat.unique_indices)


def differentiated(
    transform: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    **options: Any,
) -> Callable[..., Any]:
    """Applies a derivative transformation to the elements of sparse arrays."""
    check_callable(fun, f"sparse.{transform.__name__}")
    single = isinstance(argnums, SupportsIndex)
    numbers = [operator.index(argnums)] if isinstance(argnums, SupportsIndex) else list(argnums)

    @wrapping(fun)
    @located
    def derivative(*args: PyTree, **kwargs: PyTree) -> PyTree:
        chosen = [n % len(args) if -len(args) <= n < len(args) else n for n in numbers]

        def of_elements(*data: PyTree, **kwargs: PyTree) -> Any:
            filled = [refilled(a, d) if i in chosen else a
                      for i, (a, d) in enumerate(zip(args, data, strict=True))]  # fmt: skip
            return fun(*filled, **kwargs)

        data = [elements(a) if i in chosen else None for i, a in enumerate(args)]
        differentiated = [args[i] for i in chosen if i < len(args)]
        template = differentiated[0] if single and differentiated else tuple(differentiated)
        result = transform(of_elements, argnums, has_aux, **options)(*data, **kwargs)
        structure = tree_structure(elements(template))

        def back(tree: PyTree) -> PyTree:
            return tree_map(
                partial(refilled, template), tree, is_leaf=lambda x: tree_structure(x) == structure
            )

        if transform is derivatives.value_and_grad:
            return result[0], back(result[1])
        return (back(result[0]), result[1]) if has_aux else back(result)

    return derivative


@located
def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[..., Any]:
    """Like `weft.grad`, but also differentiates with respect to the stored elements of sparse
    arrays.

    Args: as for `weft.grad`.
    Returns: a function that returns the gradient. For a sparse argument, the gradient is a sparse
      array with the same positions.
    Example:
      >>> from weft.experimental import sparse
      >>> x = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.grad(lambda x, v: (x @ v) @ v)(x, np.array([1.0, 10.0])).data
      Array([10., 10.], dtype=float32)
    Source: JAX documentation, `jax.experimental.sparse.grad`.
    """
    return differentiated(derivatives.grad, fun, argnums, has_aux, **options)


@located
def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[..., Any]:
    """Like `weft.value_and_grad`, but also for functions of sparse arrays: see `grad`.

    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> value, gradient = sparse.value_and_grad(lambda m: (m @ np.ones(2)).sum())(mat)
      >>> value, gradient.data
      (Array(5., dtype=float32), Array([1., 1.], dtype=float32))
    Source: JAX documentation, `jax.experimental.sparse.value_and_grad`.
    """
    return differentiated(derivatives.value_and_grad, fun, argnums, has_aux, **options)


@located
def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[..., Any]:
    """Like `weft.jacfwd`, but also for functions of sparse arrays, with dense results.

    Args: as for `weft.jacfwd`.
    Returns: a function that returns, for an output of shape `out` and a sparse argument of shape
      `in`, a sparse matrix of shape `(*out, *in)`, whose batch axes are the axes of the output.
    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.jacfwd(lambda m: m @ np.ones(2))(mat).shape
      (2, 2, 2)
    Source: JAX documentation, `jax.experimental.sparse.jacfwd`.
    """
    return differentiated(jacobians.jacfwd, fun, argnums, has_aux, **options)


@located
def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Callable[..., Any]:
    """Like `weft.jacrev`, but also for functions of sparse arrays: see `jacfwd`.

    Example:
      >>> from weft.experimental import sparse
      >>> mat = sparse.BCOO.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> sparse.jacrev(lambda m: m @ np.ones(2))(mat).shape
      (2, 2, 2)
    Source: JAX documentation, `jax.experimental.sparse.jacrev`.
    """
    return differentiated(jacobians.jacrev, fun, argnums, has_aux, **options)


jacobian = jacrev
