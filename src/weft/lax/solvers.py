"""custom_root and custom_linear_solve: solutions of equations, differentiated by the implicit
function theorem.

The caller supplies the solver. The derivative of the solution follows from the equation, and solves
one more linear system.
"""

import functools
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr, Var, run
from ..core.source import function_line, located
from ..core.trace import current
from ..core.value import Value
from ..errors import ShapeError
from ..higher_order.linear_solve import Side, SolveParams
from ..interpreters.linearize import float0_zeros
from ..primitives.arithmetic import neg
from ..primitives.creation import zeros
from ..primitives.structural import convert_element_type
from ..programs.hash_consing import hash_consed
from ..programs.transform import transpose_jaxpr
from ..transforms.arguments import FlatFunction, TreeFunction, check_callable, described
from ..transforms.closures import hoisted
from ..transforms.custom_derivatives import custom_jvp
from ..transforms.derivatives import jvp, linearize
from ..tree_util import PyTreeDef, tree_map
from ..typing import PyTree
from .body_functions import values_of

__all__ = ["custom_linear_solve", "custom_root"]


@located
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of a function, differentiated by the implicit function theorem.

    From f(x, p) = 0 follows dx = -(df/dx)⁻¹ (df/dp) dp. Here p are the values that `f` closes over.
    The solver is traced but never differentiated, so it may be a `while_loop`. All three functions
    may close over values that are differentiated.

    Args:
      f: a function from x to a value of x's structure, shapes and dtypes.
      initial_guess: the initial x, on which the root should not depend.
      solve: `solve(f, initial_guess)` returns the root.
      tangent_solve: `tangent_solve(g, y)` solves g(x) = y for a linear g; for scalars it is
        `lambda g, y: y / g(1.0)`. In reverse mode it must be linear in y by its operations.
      has_aux: if True, `solve` returns a pair (root, auxiliary data, whose derivative is zero).
    Returns: the result of `solve`.
    Raises: TypeError: the value of f does not have the structure and type of its argument.
    Example:
      >>> from weft import grad, lax
      >>> def square_root(p):
      ...     def newton(f, x):
      ...         return lax.fori_loop(0, 6, lambda i, x: x - f(x) / (2 * x), x)
      ...     return lax.custom_root(lambda x: x * x - p, 1.0, newton, lambda g, y: y / g(1.0))
      >>> print(square_root(4.0), grad(square_root)(4.0))
      2.0 0.25
    Source: JAX documentation, `jax.lax.custom_root`.
    """
    for what, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_callable(function, f"custom_root: {what}")
    leaves, tree = values_of("custom_root", "initial_guess", initial_guess)
    guess = tree.unflatten(leaves)
    converted, constants = hoisted("custom_root", f, (guess,), any_value)
    avals = [x.aval for x in leaves]
    jaxpr, out_tree = staged("custom_root", f, (guess,), "f")
    like = "its argument"
    check_like("custom_root: the value of f", f, jaxpr.out_avals, out_tree, like, avals, tree)

    @functools.wraps(solve)
    def solved(guess: Any, constants: Any) -> Any:
        result = solve(lambda x: converted(x, *constants), guess)
        root = with_aux("custom_root", solve, "root", result)[0] if has_aux else result
        outs, out_tree = values_of("custom_root", "root", root)
        roots = [x.aval for x in outs]
        check_like("custom_root: the root", solve, roots, out_tree, "initial_guess", avals, tree)
        return result

    solver, extra = hoisted("custom_root", solved, (guess, constants), any_value)
    if current.trace.computes:  # nothing is traced, so no derivative is taken
        return solver(guess, constants, *extra)

    @functools.wraps(tangent_solve)
    def tangent_solved(y: Any, x: Any, constants: Any) -> Any:
        _, linear = linearize(lambda x: converted(x, *constants), x)
        dx = tangent_solve(linear, y)
        outs, out_tree = values_of("custom_root", "x", dx)
        out_avals = [x.aval for x in outs]
        what = "custom_root: the solution x of g(x) = y"
        check_like(what, tangent_solve, out_avals, out_tree, "y", avals, tree)
        return tree_map(neg, dx)

    examples = tree_map(zero_tangent, guess), guess, constants
    tangent_solver, more = hoisted("custom_root", tangent_solved, examples, any_value)

    @custom_jvp
    def root(constants: Any, guess: Any, extra: Any, more: Any) -> Any:
        return solver(guess, constants, *extra)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        out = root(*primals)
        x, fixed, more = (out[0] if has_aux else out), primals[0], primals[3]
        _, change = jvp(lambda *ps: converted(x, *ps), fixed, tangents[0])
        dx = tangent_solver(change, x, fixed, *more)
        return out, (dx, tree_map(zero_tangent, out[1])) if has_aux else dx

    return root(constants, guess, extra, more)


def any_value(x: Value) -> bool:
    """True: the user's functions may close over any value, which becomes an argument."""
    return True


def with_aux(operation: str, function: Any, what: str, result: Any) -> Any:
    """A solver's result under `has_aux`, which must be a pair."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{operation}: with has_aux=True {function_line(function)} must return a pair "
            f"({what}, auxiliary data); got {described(result)}"
        )
    return result


def zero_tangent(x: Any) -> Any:
    """The tangent of an auxiliary value."""
    aval = as_value(x).aval
    return zeros(aval.strong()) if dtypes.is_inexact(aval.dtype) else float0_zeros(aval.shape)


@located
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution of A x = b, differentiated implicitly, in both modes, with respect to A and b.

    The solvers are never differentiated, so they may be iterations (`while_loop`).

    Args:
      matvec: the linear function x -> A x; it may close over differentiated values.
      b: the right-hand side: arrays or containers of them.
      solve: `solve(matvec, b)` returns x, like b.
      transpose_solve: `transpose_solve(vecmat, b)` solves Aᵀ x = b; `vecmat` is x -> Aᵀ x. Needed
        for reverse mode, unless A is symmetric.
      symmetric: whether A equals its transpose (not conjugated): then `solve` serves both.
      has_aux: if True, the solvers return pairs (x, auxiliary data, whose derivative is zero).
    Returns: the result of `solve`.
    Raises: TypeError: A x or x does not have the structure and type of b; or a derivative needs
      the transpose, and there is none.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft import lax
      >>> def ratio(a, b):
      ...     solver = lambda matvec, b: b / matvec(1.0)
      ...     return lax.custom_linear_solve(lambda x: a * x, b, solver, symmetric=True)
      >>> slopes = weft.grad(ratio, (0, 1))(2.0, 6.0)
      >>> print(ratio(2.0, 6.0), *slopes)
      3.0 -1.5 0.5
    Source: JAX documentation, `jax.lax.custom_linear_solve`.
    """
    for what, function in (("matvec", matvec), ("solve", solve)):
        check_callable(function, f"custom_linear_solve: {what}")
    if transpose_solve is not None:
        check_callable(transpose_solve, "custom_linear_solve: transpose_solve")
    leaves, tree = values_of("custom_linear_solve", "b", b)
    for x in leaves:
        if not dtypes.is_inexact(x.dtype):
            raise ShapeError(f"custom_linear_solve: b must be floating-point or complex; got {x}")
    rhs = [convert_element_type(x, dtype=x.dtype) if x.weak_type else x for x in leaves]
    avals = [x.aval for x in rhs]

    product, out_tree = staged("custom_linear_solve", matvec, (tree.unflatten(rhs),), "matvec")
    check_like("custom_linear_solve: A x", matvec, product.out_avals, out_tree, "b", avals, tree)
    parameters = list(product.consts)
    product = hash_consed(product.without_consts())
    own = range(len(parameters))

    def solver(program: Jaxpr, function: TreeFunction) -> tuple[Jaxpr, list[int], PyTreeDef]:
        """A solver's program, the positions of its parameters among all, and its result's
        structure."""
        count = len(own)

        @functools.wraps(function)
        def solved(parameters: list[Value], b: PyTree) -> PyTree:
            def multiply(x: PyTree) -> PyTree:
                values, _ = values_of("custom_linear_solve", "x", x)
                return tree.unflatten(run(program, [*parameters, *values], current.trace))

            return function(multiply, b)

        inputs = [v.aval for v in program.invars[:count]]
        example = inputs, tree.unflatten(rhs)
        solver, out_tree = staged("custom_linear_solve", solved, example, "solve")
        result = out_tree
        if has_aux:
            kind = out_tree.node_data()
            if kind is None or kind[0] is not tuple or len(out_tree.children()) != 2:
                raise ShapeError(
                    f"custom_linear_solve: with has_aux=True {function_line(function)} must return "
                    f"a pair (x, auxiliary data); got {out_tree}"
                )
            result = out_tree.children()[0]
        outs = solver.out_avals[: result.num_leaves]
        check_like("custom_linear_solve: x", function, outs, result, "b", avals, tree)
        places = [*range(len(parameters), len(parameters) + len(solver.consts)), *own]
        parameters.extend(solver.consts)
        return solver.without_consts(), places, out_tree

    solve_program, solve_places, out_tree = solver(product, solve)
    sides = [((product, [*own]), (solve_program, solve_places))]
    if symmetric:
        sides *= 2
    elif transpose_solve is not None:
        linear = [False] * len(own) + [True] * len(avals)
        vecmat, _ = transpose_jaxpr(product, linear, [True] * len(avals), linear)
        transposed, places, _ = solver(vecmat, transpose_solve)
        sides.append(((vecmat, [*own]), (transposed, places)))
    shared = [p.aval for p in parameters]
    side, *other = [Side(*[over(shared, *program) for program in pair]) for pair in sides]
    params = SolveParams(side, other[0] if other else None, len(parameters))
    outs = params.apply([*parameters, *rhs])
    return out_tree.unflatten(outs)


def staged(
    operation: str, function: TreeFunction, args: tuple[PyTree, ...], name: str
) -> tuple[Jaxpr, PyTreeDef]:
    """The program of a function of arrays, or of avals, and the structure of its result."""
    flat = FlatFunction(operation, function, args, abstract=True)
    jaxpr = flat.stage(name=name)
    return jaxpr, flat.out_tree


def over(shared: list[Aval], jaxpr: Jaxpr, places: list[int]) -> Jaxpr:
    """The program with all parameters as leading inputs; it uses those at `places`."""
    leading = [Var(a) for a in shared]
    for place, var in zip(places, jaxpr.invars, strict=False):
        leading[place] = var
    invars = [*leading, *jaxpr.invars[len(places) :]]
    program = jaxpr.replace(invars=invars)
    return program if program.constvars else hash_consed(program)


def check_like(
    what: str,
    function: Any,
    out_avals: list[Aval],
    got_tree: PyTreeDef,
    like: str,
    avals: list[Aval],
    tree: PyTreeDef,
) -> None:
    """Refuses a value of another structure, or other shapes or dtypes."""
    if got_tree == tree and [a.strong() for a in out_avals] == [a.strong() for a in avals]:
        return
    shown = [f"{t} of {', '.join(map(str, a))}" for t, a in ((tree, avals), (got_tree, out_avals))]
    raise ShapeError(
        f"{what}, from {function_line(function)}, must be like {like}, {shown[0]}; got {shown[1]}"
    )
