"""cond and switch select a function at run time; platform_dependent selects one at compile time.

Loops are in `loops.py`."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, TypeVarTuple, Unpack, overload

from .. import dtypes
from ..compiler.placing import platform_of_types
from ..config import thread
from ..core.array import Array, as_value, literal
from ..core.aval import aval
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.source import check_arity, function_line, located
from ..errors import ShapeError
from ..higher_order.cond import apply_cond, for_platform, with_common_inputs
from ..primitives.comparison import ne
from ..primitives.selection import clamp
from ..primitives.structural import convert_element_type
from ..programs.hash_consing import hash_consed
from ..tree_util import tree_leaves
from ..typing import ArrayLike
from .axes import items_of
from .body_functions import (
    Adapted,
    Body,
    check_function,
    integer_scalar,
    leaf_names,
    traced,
    tree_text,
    values_of,
    with_common_refs,
)

__all__ = ["cond", "platform_dependent", "switch"]


_MISSING: Any = object()


R = TypeVar("R")
S = TypeVar("S")
Operands = TypeVarTuple("Operands")


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[Unpack[Operands]], R],
    false_fun: Callable[[Unpack[Operands]], S],
    *operands: *Operands,
) -> R | S: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., S],
    *operands: Any,
    operand: Any = ...,
) -> R | S: ...
@overload
def cond(
    pred: ArrayLike,
    true_operand: Any,
    true_fun: Callable[[Any], R],
    false_operand: Any,
    false_fun: Callable[[Any], S],
) -> R | S: ...
@overload
def cond(
    pred: ArrayLike,
    *,
    true_fun: Callable[..., R],
    false_fun: Callable[..., S],
    operand: Any = ...,
    true_operand: Any = ...,
    false_operand: Any = ...,
) -> R | S: ...
@located  # type: ignore[misc]  # mypy: Any isn't taken for a TypeVarTuple
def cond(
    pred: Any,
    true_fun: Any = _MISSING,
    false_fun: Any = _MISSING,
    *operands: Any,
    operand: Any = _MISSING,
    true_operand: Any = _MISSING,
    false_operand: Any = _MISSING,
) -> Any:
    """Applies one of two functions, selected by a value at run time.

    Equivalent to `true_fun(*operands) if pred else false_fun(*operands)`, for a `pred` that may be
    traced. Both functions are traced, and one runs. Under `vmap` with a mapped `pred`, both run,
    and each element gets the result of its branch.

    Args:
      pred: a scalar; a number counts as true unless it is zero.
      true_fun, false_fun: functions of the operands, whose results agree in structure and types.
      operands: arrays, scalars or containers of them. Functions may also close over values.
      operand: the only operand, in an older form of the call.
      true_operand, false_operand: an operand for each function, in the oldest form:
        `cond(pred, true_operand, true_fun, false_operand, false_fun)`.
    Returns: the result of the selected function.
    Raises: TypeError: pred is not a scalar, or the results differ in structure or type.
    Example:
      >>> from weft import lax
      >>> print(lax.cond(True, lambda x: x + 1, lambda x: x - 1, 3))
      4

    Source: JAX documentation, `jax.lax.cond`; StableHLO `case`.
    """
    # the current form: functions in the second and third position
    has_two_operands = len(operands) == 2 and callable(operands[1]) and callable(false_fun)
    if has_two_operands and not callable(true_fun):
        true_operand, true_fun, false_operand, false_fun = true_fun, false_fun, *operands
        operands = ()
    for name, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        if function is _MISSING:
            raise TypeError(f"cond: expected true_fun and false_fun; got no {name}")
        check_function("cond", name, function)
    names = ["true_fun", "false_fun"]
    predicate_value = predicate("cond", pred)
    functions: list[Any] = [false_fun, true_fun]
    operand_names: list[str] = []
    if true_operand is not _MISSING or false_operand is not _MISSING:
        if true_operand is _MISSING or false_operand is _MISSING or operands:
            raise TypeError("cond: true_operand and false_operand go together, and alone")
        functions = [Adapted(false_fun, of_second), Adapted(true_fun, of_first)]
        operand_names, operands = ["operand"], (true_operand, false_operand)
    elif operand is not _MISSING:
        if operands:
            raise ShapeError("cond: expected operands by position or operand=; got both")
        operands = (operand,)
    operand_names = operand_names or [f"operand {i}" for i in range(len(operands))]
    for name, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        check_arity(f"cond: the {name}", function, operand_names)
    concrete = predicate_value.concrete()
    if thread.disable_jit and concrete is not None:
        return functions[int(bool(concrete.host()))](*operands)
    index = convert_element_type(predicate_value, dtype=dtypes.int32)
    return choose("cond", index, functions, [false_fun, true_fun], names[::-1], operands)


@overload
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[[Unpack[Operands]], R]],
    *operands: *Operands,
) -> R: ...
@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[..., R]], *operands: Any, operand: Any = ...
) -> R: ...
@located  # type: ignore[misc]
def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _MISSING
) -> Any:
    """Applies one of several functions, selected by an index at run time.

    Equivalent to `branches[clamp(0, index, len(branches) - 1)](*operands)`, for an `index` that may
    be traced. All functions are traced, and one runs. Under `vmap` with a mapped index, all run.

    Args:
      index: an integer scalar; it is clamped to the range of `branches`.
      branches: functions of the operands, with results of one structure, shape and dtype.
      operands: arrays, scalars or containers of them.
      operand: the only operand, in an older form of the call.
    Returns: the result of the selected function.
    Raises:
      ValueError: no branches.
      TypeError: the index is not an integer scalar, or results differ in structure or type.
    Example:
      >>> from weft import lax
      >>> print(lax.switch(2, [lambda x: x, lambda x: -x, lambda x: x * x], 5))
      25

    Source: JAX documentation, `jax.lax.switch`; StableHLO `case`.
    """
    if callable(branches):
        raise TypeError(
            "switch: branches must be a sequence of functions; got one function, "
            f"{function_line(branches)}\n  fix: switch(index, [f, g], *operands)"
        )
    branches = items_of("switch", "branches", branches, "functions")
    if not branches:
        raise ValueError("switch: expected at least one branch; got none")
    if operand is not _MISSING:
        if operands:
            raise ShapeError("switch: expected operands by position or operand=; got both")
        operands = (operand,)
    for i, branch in enumerate(branches):
        operand_names = [f"operand {n}" for n in range(len(operands))]
        check_function("switch", f"branch {i}", branch, operand_names)
    value = integer_scalar("switch", "the index", index)
    last_number = min(len(branches) - 1, int(dtypes.iinfo(value.dtype).max))
    concrete = value.concrete()
    if len(branches) == 1 or (thread.disable_jit and concrete is not None):
        number = 0 if len(branches) == 1 else min(max(int(concrete.host()), 0), last_number)
        return branches[number](*operands)
    low, high = literal(0, value.dtype), literal(last_number, value.dtype)
    position = convert_element_type(clamp(low, value, high), dtype=dtypes.int32)
    names = [f"branches[{i}]" for i in range(len(branches))]
    return choose("switch", position, branches, branches, names, operands)


@located
def platform_dependent(
    *args: Any, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]
) -> R:
    """Applies the function for the platform on which the program runs.

    The choice is made when a program is compiled, and the program contains that function only;
    an exported program has one for each of its platforms. All functions are traced. Outside of
    `jit`, the platform is that of the arguments, or the default.

    Args:
      args: arrays, scalars or containers of them.
      default: the function for platforms that are not named; `None`: other platforms are an error.
      per_platform: a function of `args` by the name of a platform: `cpu`, `tpu`, `gpu`, the name of
        a PJRT plugin; for GPUs of one maker, `cuda` or `rocm`. A program exported on a machine
        without GPUs uses the function for `cuda` on GPUs. Results agree in structure and types.
    Returns: the result of the selected function.
    Raises:
      TypeError: no function is given, an argument is not callable, or the results differ in
        structure or type.
      NotImplementedError: there is no function for the platform when the program is compiled.
    Example:
      >>> from weft import lax
      >>> def halved(x):
      ...     return lax.platform_dependent(x, cpu=lambda x: x / 2, default=lambda x: x * 0.5)
      >>> print(halved(3.0))
      1.5

    Source: JAX documentation, `jax.lax.platform_dependent`.
    """
    functions = per_platform if default is None else {**per_platform, "default": default}
    if not functions:
        raise TypeError(
            "platform_dependent: expected a function for a platform, or default=; got none"
        )
    for name, function in functions.items():
        check_function("platform_dependent", name, function)
    names, branches = list(functions), list(functions.values())
    platforms = (*per_platform, *[None] * (default is not None))
    if thread.disable_jit:
        types = [x.type for x in map(as_value, tree_leaves(args)) if isinstance(x, Array)]
        platform = platform_of_types("platform_dependent", types)
        return branches[for_platform(platforms, platform)](*args)
    index = literal(0, dtypes.int32)
    return choose("platform_dependent", index, branches, branches, names, args, platforms=platforms)


def of_first(function: Callable[[Any], Any], x: Any, _: Any) -> Any:
    """The branch of the first of two operands."""
    return function(x)


def of_second(function: Callable[[Any], Any], _: Any, x: Any) -> Any:
    """The branch of the second operand."""
    return function(x)


def predicate(operation: str, pred: Any) -> Any:
    """The condition as a boolean scalar."""
    try:
        value = as_value(pred)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{operation}: pred must be a scalar; got a {type(pred).__name__}, {pred!r:.60}"
        ) from None
    if value.shape != ():
        raise ShapeError(
            f"{operation}: pred must be a scalar; got {value.aval}\n"
            "  fix: numpy.where(pred, x, y) chooses element by element; numpy.any or numpy.all "
            "make one boolean of many"
        )
    if dtypes.is_bool(value.dtype):
        return value
    if dtypes.is_complex(value.dtype) or dtypes.is_extended(value.dtype):
        raise ShapeError(f"{operation}: pred must be a boolean or a real number; got {value.aval}")
    return ne(value, Array(value.dtype.type(0), aval((), value.dtype)))


def choose(
    operation: str,
    index: Any,
    functions: Sequence[Any],
    operands_and_branches: Sequence[Any],
    names: Sequence[str],
    operands: Sequence[Any],
    **options: Any,
) -> Any:
    """Traces the branches, checks that their results agree, and applies the one at the index."""
    leaves, tree = values_of(operation, "operands", tuple(operands))
    trees = {f"operands[{i}]": t for i, t in enumerate(tree.children())}
    avals = [x.aval for x in leaves]
    by_function: dict[int, Body] = {}  # a repeated function is traced once
    for name, function in zip(names, functions, strict=True):
        if id(function) not in by_function:
            by_function[id(function)] = traced(operation, name, function, trees, avals)
    bodies = [copy.copy(by_function[id(function)]) for function in functions]
    order = range(len(bodies))[::-1] if operation == "cond" else range(len(bodies))
    first_index, *others = order
    for other_index in others:
        check_branches(
            operation,
            (names[first_index], operands_and_branches[first_index], bodies[first_index]),
            (names[other_index], operands_and_branches[other_index], bodies[other_index]),
        )
    bodies, refs = with_common_refs(bodies)
    columns = zip(*[b.jaxpr.out_avals for b in bodies], strict=True)
    weak_types = tuple(all(a.weak_type for a in column) for column in columns)
    for b in bodies:
        b.jaxpr = with_weak_types(b.jaxpr, weak_types)
    consts = [c for b in bodies for c in b.consts]
    branches = [b.jaxpr for b in bodies]
    if consts:
        branches = sharing(bodies)
    outs = apply_cond(branches, index, [*consts, *leaves, *refs.values(operation)], **options)
    results = bodies[0].result_tree
    n = results.num_leaves
    refs.assign(operation, (), outs[n:])
    return results.unflatten(outs[:n])


def with_weak_types(jaxpr: Jaxpr, weak_types: tuple[bool, ...]) -> Jaxpr:
    """The program with outputs weakly typed only where they are in all branches."""
    if all(
        is_weak or not v.aval.weak_type
        for v, is_weak in zip(jaxpr.outvars, weak_types, strict=True)
    ):
        return jaxpr
    return with_strong_types(jaxpr, weak_types)


@cached_on_program
def with_strong_types(jaxpr: Jaxpr, weak_types: tuple[bool, ...]) -> Jaxpr:
    """See `with_weak_types`."""
    equations, outvars = list(jaxpr.equations), []
    for v, is_weak in zip(jaxpr.outvars, weak_types, strict=True):
        if v.aval.weak_type and not is_weak:
            strong_var = Var(v.aval.strong())
            params = (("dtype", v.aval.dtype), ("weak_type", False))
            equations.append(Equation(convert_element_type, [v], params, (strong_var,)))
            outvars.append(strong_var)
        else:
            outvars.append(v)
    return jaxpr.replace(equations=equations, outvars=outvars)


def sharing(bodies: Sequence[Body]) -> list[Jaxpr]:
    """The branches with the constants of all branches as inputs."""
    branch_programs = []
    for b in bodies:
        n = len(b.consts)
        j = b.jaxpr
        branch_programs.append(
            Jaxpr(j.invars[:n], b.consts, j.invars[n:], j.equations, j.outvars, j.name)
        )
    return [*map(hash_consed, with_common_inputs(branch_programs))]


def check_branches(operation: str, one: Any, other: Any) -> None:
    """Refuses branches with results of different structures or types."""
    name_a, fun_a, a = one
    name_b, fun_b, b = other
    where = f"{name_a}, {function_line(fun_a)}, and {name_b}, {function_line(fun_b)}"
    if a.result_tree != b.result_tree:
        raise ShapeError(
            f"{operation}: the branches must return the same structure; got from {where}\n"
            f"  {name_a}: {tree_text(a.result_tree)}\n  {name_b}: {tree_text(b.result_tree)}"
        )
    rows = [
        f"  {leaf}: {x} from {name_a}, {y} from {name_b}"
        for leaf, x, y in zip(leaf_names("result", a.result_tree), a.avals, b.avals, strict=True)
        if x.shape != y.shape or x.dtype != y.dtype
    ]
    if rows:
        raise ShapeError(
            f"{operation}: the branches must return the same types; got from {where}\n"
            + "\n".join(rows)
            + "\n  fix: convert with .astype or numpy.broadcast_to in one of them"
        )
