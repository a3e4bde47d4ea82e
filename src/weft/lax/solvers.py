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
    for label, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_callable(function, f"custom_root: {label}")
    leaves, tree = values_of("custom_root", "initial_guess", initial_guess)
    guess = tree.unflatten(leaves)
    converted, constants = hoisted("custom_root", f, (guess,), any_value)
    avals = [x.aval for x in leaves]
    jaxpr, out_tree = stage_tree_function("custom_root", f, (guess,), "f")
    expected = "its argument"
    check_like("custom_root: the value of f", f, jaxpr.out_avals, out_tree, expected, avals, tree)

    @functools.wraps(solve)
    def solved(guess: Any, constants: Any) -> Any:
        result = solve(lambda x: converted(x, *constants), guess)
        root = with_aux("custom_root", solve, "root", result)[0] if has_aux else result
        outs, out_tree = values_of("custom_root", "root", root)
        roots = [x.aval for x in outs]
        check_like("custom_root: the root", solve, roots, out_tree, "initial_guess", avals, tree)
        return result

    solver, solve_consts = hoisted("custom_root", solved, (guess, constants), any_value)
    if current.trace.computes:  # nothing is traced, so no derivative is taken
        return solver(guess, constants, *solve_consts)

    @functools.wraps(tangent_solve)
    def tangent_solved(y: Any, x: Any, constants: Any) -> Any:
        _, linear = linearize(lambda x: converted(x, *constants), x)
        dx = tangent_solve(linear, y)
        outs, out_tree = values_of("custom_root", "x", dx)
        out_avals = [x.aval for x in outs]
        label = "custom_root: the solution x of g(x) = y"
        check_like(label, tangent_solve, out_avals, out_tree, "y", avals, tree)
        return tree_map(neg, dx)

    examples = tree_map(zero_tangent, guess), guess, constants
    tangent_solver, tangent_consts = hoisted("custom_root", tangent_solved, examples, any_value)

    @custom_jvp
    def root(constants: Any, guess: Any, solve_consts: Any, tangent_consts: Any) -> Any:
        return solver(guess, constants, *solve_consts)

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        out = root(*primals)
        x, constants_in, tangent_consts = (out[0] if has_aux else out), primals[0], primals[3]
        _, jacobian_product = jvp(lambda *ps: converted(x, *ps), constants_in, tangents[0])
        dx = tangent_solver(jacobian_product, x, constants_in, *tangent_consts)
        return out, (dx, tree_map(zero_tangent, out[1])) if has_aux else dx

    return root(constants, guess, solve_consts, tangent_consts)


def any_value(x: Value) -> bool:
    """True: the user's functions may close over any value, which becomes an argument."""
    return True


def with_aux(operation: str, function: Any, name: str, result: Any) -> Any:
    """A solver's result under `has_aux`, which must be a pair."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{operation}: with has_aux=True {function_line(function)} must return a pair "
            f"({name}, auxiliary data); got {described(result)}"
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
    for name, function in (("matvec", matvec), ("solve", solve)):
        check_callable(function, f"custom_linear_solve: {name}")
    if transpose_solve is not None:
        check_callable(transpose_solve, "custom_linear_solve: transpose_solve")
    leaves, tree = values_of("custom_linear_solve", "b", b)
    for x in leaves:
        if not dtypes.is_inexact(x.dtype):
            raise ShapeError(f"custom_linear_solve: b must be floating-point or complex; got {x}")
    rhs = [convert_element_type(x, dtype=x.dtype) if x.weak_type else x for x in leaves]
    avals = [x.aval for x in rhs]

    product, out_tree = stage_tree_function(
        "custom_linear_solve", matvec, (tree.unflatten(rhs),), "matvec"
    )
    check_like("custom_linear_solve: A x", matvec, product.out_avals, out_tree, "b", avals, tree)
    parameters = list(product.consts)
    product = hash_consed(product.without_consts())
    product_positions = range(len(parameters))

    def solver(program: Jaxpr, function: TreeFunction) -> tuple[Jaxpr, list[int], PyTreeDef]:
        """A solver's program, the positions of its parameters among all, and its result's
        structure."""
        count = len(product_positions)

        @functools.wraps(function)
        def solved(parameters: list[Value], b: PyTree) -> PyTree:
            def multiply(x: PyTree) -> PyTree:
                values, _ = values_of("custom_linear_solve", "x", x)
                return tree.unflatten(run(program, [*parameters, *values], current.trace))

            return function(multiply, b)

        inputs = [v.aval for v in program.invars[:count]]
        example = inputs, tree.unflatten(rhs)
        solver_program, out_tree = stage_tree_function(
            "custom_linear_solve", solved, example, "solve"
        )
        solution_tree = out_tree
        if has_aux:
            kind = out_tree.node_data()
            if kind is None or kind[0] is not tuple or len(out_tree.children()) != 2:
                raise ShapeError(
                    f"custom_linear_solve: with has_aux=True {function_line(function)} must return "
                    f"a pair (x, auxiliary data); got {out_tree}"
                )
            solution_tree = out_tree.children()[0]
        outs = solver_program.out_avals[: solution_tree.num_leaves]
        check_like("custom_linear_solve: x", function, outs, solution_tree, "b", avals, tree)
        positions = [
            *range(len(parameters), len(parameters) + len(solver_program.consts)),
            *product_positions,
        ]
        parameters.extend(solver_program.consts)
        return solver_program.without_consts(), positions, out_tree

    solve_program, solve_positions, out_tree = solver(product, solve)
    sides = [((product, [*product_positions]), (solve_program, solve_positions))]
    if symmetric:
        sides *= 2
    elif transpose_solve is not None:
        linear = [False] * len(product_positions) + [True] * len(avals)
        vecmat, _ = transpose_jaxpr(product, linear, [True] * len(avals), linear)
        transposed_solve_program, positions, _ = solver(vecmat, transpose_solve)
        sides.append(((vecmat, [*product_positions]), (transposed_solve_program, positions)))
    shared = [p.aval for p in parameters]
    side, *transposed_sides = [
        Side(*[with_shared_inputs(shared, *program) for program in pair]) for pair in sides
    ]
    params = SolveParams(side, transposed_sides[0] if transposed_sides else None, len(parameters))
    outs = params.apply([*parameters, *rhs])
    return out_tree.unflatten(outs)


def stage_tree_function(
    operation: str, function: TreeFunction, args: tuple[PyTree, ...], name: str
) -> tuple[Jaxpr, PyTreeDef]:
    """The program of a function of arrays, or of avals, and the structure of its result."""
    flat_function = FlatFunction(operation, function, args, abstract=True)
    jaxpr = flat_function.stage(name=name)
    return jaxpr, flat_function.out_tree


def with_shared_inputs(shared: list[Aval], jaxpr: Jaxpr, positions: list[int]) -> Jaxpr:
    """The program with all parameters as leading inputs; it uses those at `positions`."""
    leading = [Var(a) for a in shared]
    for position, var in zip(positions, jaxpr.invars, strict=False):
        leading[position] = var
    invars = [*leading, *jaxpr.invars[len(positions) :]]
    program = jaxpr.replace(invars=invars)
    return program if program.constvars else hash_consed(program)


def check_like(
    label: str,
    function: Any,
    out_avals: list[Aval],
    got_tree: PyTreeDef,
    expected: str,
    avals: list[Aval],
    tree: PyTreeDef,
) -> None:
    """Refuses a value of another structure, or other shapes or dtypes."""
    if got_tree == tree and [a.strong() for a in out_avals] == [a.strong() for a in avals]:
        return
    descriptions = [
        f"{t} of {', '.join(map(str, a))}" for t, a in ((tree, avals), (got_tree, out_avals))
    ]
    raise ShapeError(
        f"{label}, from {function_line(function)}, must be like {expected}, {descriptions[0]}; got "
        f"{descriptions[1]}"
    )
