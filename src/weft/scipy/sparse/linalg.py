"""Iterative solvers of large linear systems: cg, gmres, bicgstab.

The matrix may be a function, and the unknowns a pytree. Derivatives follow from the equation and
solve one more system, independently of the iteration. They are as accurate as both solutions.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as onp

from ... import dtypes, numpy as np
from ...core.array import Array, as_value
from ...core.source import function_line, located
from ...errors import ShapeError
from ...lax.solvers import custom_linear_solve
from ...primitives.products import Precision
from ...primitives.selection import stop_gradient
from ...primitives.structural import convert_element_type
from ...transforms.linear_transpose import linear_transpose
from ...transforms.tracing import eval_shape
from ...tree_util import tree_flatten, tree_leaves, tree_map, tree_structure
from ...typing import ArrayLike, PyTree
from .gmres import minimal_residuals
from .krylov import Operator, bicgstab_steps, conjugate_gradients

__all__ = ["bicgstab", "cg", "gmres"]

Linear: TypeAlias = ArrayLike | Callable[[Any], Any]
"""A square matrix, or a linear function from a tree to a tree of the same structure, shapes and
dtypes."""


@located
def cg(
    A: Linear,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Linear | None = None,
) -> tuple[PyTree, None]:
    """Solves A x = b by conjugate gradients, for a symmetric (Hermitian) positive definite A.

    Args:
      A: matrix [n,n], or a linear function that maps trees like b to trees like b.
      b: array of any shape or tree of arrays, treated as one vector.
      x0: the initial guess, like b; zeros by default.
      tol, atol: the iteration ends when the residual's norm is at most max(tol · |b|, atol).
      maxiter: the maximum number of steps; 10 times the number of unknowns by default.
      M: a preconditioner: a matrix or a function that approximates the inverse of A, and is
        symmetric.
    Returns: (x like b, None). Differentiable in b and in A's parameters, in both modes.
    Raises: TypeError: A or M is neither a matrix nor a function, or trees differ. ValueError:
      maxiter, tol or atol is invalid.
    Example:
      >>> from weft.scipy.sparse.linalg import cg
      >>> x, _ = cg(np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([6.0, 7.0]))
      >>> x
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.sparse.linalg.cg`; JAX documentation, the same name.
    """
    method = functools.partial(conjugate_gradients, **tolerances("cg", tol, atol))
    return solution("cg", A, b, x0, maxiter, M, method, symmetric=True), None


@located
def bicgstab(
    A: Linear,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Linear | None = None,
) -> tuple[PyTree, None]:
    """Solves A x = b by stabilised biconjugate gradients (BiCGSTAB), for any A.

    Args: as in `cg`; A and M need not be symmetric.
    Returns: (x like b, None). Differentiable in b and in A's parameters, in both modes.
    Raises: TypeError: A or M is neither a matrix nor a function, or trees differ. ValueError:
      maxiter, tol or atol is invalid.
    Example:
      >>> from weft.scipy.sparse.linalg import bicgstab
      >>> x, _ = bicgstab(np.array([[4.0, 2.0], [1.0, 3.0]]), np.array([8.0, 7.0]))
      >>> x
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.sparse.linalg.bicgstab`; JAX documentation, the same name.
    """
    method = functools.partial(bicgstab_steps, **tolerances("bicgstab", tol, atol))
    return solution("bicgstab", A, b, x0, maxiter, M, method), None


@located
def gmres(
    A: Linear,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Linear | None = None,
    solve_method: str = "batched",
) -> tuple[PyTree, None]:
    """Solves A x = b by generalised minimal residuals (GMRES), for any A.

    Args:
      A, b, x0, tol, atol: as in `cg`; A need not be symmetric.
      restart: the dimension of the Krylov space between restarts, at most the number of unknowns.
      maxiter: the maximum number of restarts; 10 times the number of unknowns by default.
      M: a preconditioner, as in `cg`; it is applied on the right.
      solve_method: "batched" takes all steps of a cycle; "incremental" ends a cycle when the
        residual is small enough.
    Returns: (x like b, None). Differentiable in b and in A's parameters, in both modes.
    Raises: TypeError: A or M is neither a matrix nor a function, or trees differ. ValueError:
      maxiter, tol, atol, restart or solve_method is invalid.
    Example:
      >>> from weft.scipy.sparse.linalg import gmres
      >>> x, _ = gmres(np.array([[4.0, 2.0], [1.0, 3.0]]), np.array([8.0, 7.0]))
      >>> x
      Array([1., 2.], dtype=float32)
    Source: SciPy documentation, `scipy.sparse.linalg.gmres`; JAX documentation, the same name.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"gmres: solve_method must be 'batched' or 'incremental'; got {solve_method!r}"
        )
    unknowns = sum(as_value(x).size for x in tree_leaves(b))
    steps = max(1, min(positive("gmres", "restart", restart), unknowns))
    stops_early = solve_method == "incremental"
    limits = tolerances("gmres", tol, atol)
    method = functools.partial(minimal_residuals, **limits, restart=steps, stops_early=stops_early)
    return solution("gmres", A, b, x0, maxiter, M, method), None


def tolerances(name: str, tol: Any, atol: Any) -> dict[str, Any]:
    """The tolerances by name. Concrete ones must not be negative or NaN."""
    tolerances_by_name = {"tol": tol, "atol": atol}
    for argument, number in tolerances_by_name.items():
        concrete = as_value(number).concrete()
        if concrete is not None and not onp.all(onp.asarray(concrete) >= 0):
            raise ValueError(f"{name}: {argument} must be 0 or more; got {number!r:.60}")
    return tolerances_by_name


def positive(name: str, argument: str, number: Any) -> int:
    """A positive integer."""
    try:
        integer = operator.index(number)
    except TypeError:
        raise TypeError(f"{name}: {argument} must be an int; got {number!r}") from None
    if integer < 1 or isinstance(number, bool):
        raise ValueError(f"{name}: {argument} must be a positive int; got {number!r}")
    return integer


def linear(name: str, argument: str, operator_or_matrix: Any) -> Operator:
    """The linear function x -> A x of a matrix or a function."""
    if callable(operator_or_matrix):
        return operator_or_matrix
    try:
        matrix = as_value(operator_or_matrix)
    except TypeError:
        raise TypeError(
            f"{name}: {argument} must be a square matrix or a function; got a "
            f"{type(operator_or_matrix).__name__}"
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            f"{name}: {argument} must be a square matrix or a function; got {matrix.aval}"
        )
    return functools.partial(np.dot, matrix, precision=Precision.HIGHEST)


def like(name: str, argument: str, tree: PyTree, b: PyTree) -> PyTree:
    """A tree of arrays, which must have the structure, shapes and dtypes of b.

    Raises: TypeError: it differs.
    """
    leaves, structure = tree_flatten(tree)
    values = [as_value(x) for x in leaves]
    b_leaves = tree_leaves(b)
    if structure != tree_structure(b) or [x.shape for x in values] != [x.shape for x in b_leaves]:
        descriptions = [
            f"{t}: {', '.join(str(x.aval) for x in v)}"
            for t, v in ((tree_structure(b), b_leaves), (structure, values))
        ]
        raise ShapeError(
            f"{name}: {argument} must be like b, {descriptions[0]}; got {descriptions[1]}"
        )
    return structure.unflatten([x.astype(y.dtype) for x, y in zip(values, b_leaves, strict=True)])


def solution(
    name: str,
    A: Any,
    b: PyTree,
    x0: PyTree | None,
    maxiter: int | None,
    M: Any,
    method: Callable[..., PyTree],
    symmetric: bool = False,
) -> PyTree:
    """The solution by an iterative method, with derivatives from the equation."""
    multiply = linear(name, "A", A)
    precondition = (lambda x: x) if M is None else linear(name, "M", M)
    original_b = b
    b = tree_map(inexact, b)
    product = eval_shape(multiply, b)
    if tree_structure(product) != tree_structure(b) or any(
        p.shape != x.shape for p, x in zip(tree_leaves(product), tree_leaves(b), strict=True)
    ):
        source = function_line(A) if callable(A) else f"A, {as_value(A).aval}"
        raise ShapeError(
            f"{name}: A x must be like b, {shapes(b)}; got {shapes(product)} from {source}"
        )
    leaf_dtypes = tree_map(lambda x, p: np.promote_types(x.dtype, p.dtype), b, product)
    dtype = np.result_type(*tree_leaves(leaf_dtypes))  # the tree is one vector: it has one dtype
    b = tree_map(lambda x: x.astype(dtype), b)
    precondition = in_dtype(precondition, dtype)
    start = tree_map(np.zeros_like, b) if x0 is None else like(name, "x0", x0, b)
    start = tree_map(stop_gradient, start)
    unknowns = sum(x.size for x in tree_leaves(b))
    steps = 10 * unknowns if maxiter is None else positive(name, "maxiter", maxiter)

    def solve(matvec: Operator, right: PyTree) -> PyTree:
        return method(matvec, right, start, maxiter=steps, M=precondition)

    def transposed(vecmat: Operator, right: PyTree) -> PyTree:
        zeros = tree_map(np.zeros_like, right)
        backwards = linear_transpose(precondition, right)
        return method(vecmat, right, zeros, maxiter=steps, M=lambda x: backwards(x)[0])

    real = not dtypes.is_complex(dtype)
    x = custom_linear_solve(
        in_dtype(multiply, dtype), b, solve, transposed, symmetric=symmetric and real
    )
    if real or all(map(dtypes.is_complex, tree_leaves(leaf_dtypes))):
        x = tree_map(lambda x, dtype: x.astype(dtype), x, leaf_dtypes)
    if not any(as_value(leaf).aval.weak_type for leaf in tree_leaves(original_b)):
        return x
    # as in arithmetic, the result is weakly typed if all its sources are
    sources = [original_b, eval_shape(multiply, original_b), original_b if x0 is None else x0]
    return tree_map(weak_if_all, x, *sources)


def in_dtype(function: Operator, dtype: Any) -> Operator:
    """The function with its results converted to a dtype."""
    return lambda x: tree_map(lambda y: as_value(y).astype(dtype), function(x))


def weak_if_all(x: Any, *sources: Any) -> Array:
    """A value, weakly typed if all its sources are."""
    weak_type = all(getattr(s, "weak_type", isinstance(s, (int, float, complex))) for s in sources)
    array: Array = convert_element_type(x, dtype=x.dtype, weak_type=weak_type)
    return array


def inexact(x: Any) -> Array:
    """A value of a float or complex dtype that is not weakly typed."""
    x = as_value(x)
    return x.astype(x.dtype if dtypes.is_inexact(x.dtype) else dtypes.default_float())


def shapes(tree: PyTree) -> str:
    """The types of the leaves of a tree, for messages."""
    return ", ".join(f"{x.dtype}[{','.join(map(str, x.shape))}]" for x in tree_leaves(tree))
