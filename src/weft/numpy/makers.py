"""Makers of public functions from primitives: these promote operands and run a plan."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ..config import caches, thread
from ..core.array import Array, as_value, literal, literals_of
from ..core.caching import remember_under
from ..core.primitive import Primitive
from ..core.trace import Params, current
from ..core.value import Value
from ..errors import ShapeError
from ..interpreters.plans import OperationPlan
from ..primitives.structural import broadcast_shape
from ..typing import ArrayLike
from ..user_lines import note_user_line
from .plans import composite, operation_plan, plan_of, plan_table
from .promotion import SCALARS, check_ranks, fits, is_operand, promote_values, strong, value
from .ufunc_options import check_options

base = current.base

UnaryFunction = Callable[[ArrayLike | Value], Array]
BinaryFunction = Callable[[ArrayLike | Value, ArrayLike | Value], Array]


def binary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    of_complex: Callable[[Value, Value], Value] | None = None,
    beyond: Callable[[str, Any, Any], Value | None] | None = None,
) -> BinaryFunction:
    """Makes a public function of two operands, which promotes them and applies one primitive.

    Its table contains a plan for each pair of avals. For a Python scalar, the key has its class,
    and the entry has its dtype and the cached literals of that dtype.

    Args:
      to_inexact, to_number: as in `promote_values`.
      operator: whether to return `NotImplemented` for other operands, like Python's operators.
      of_complex: the function for complex numbers, if the primitive does not support them.
      beyond: (name, operands) -> the result for a Python integer that is out of range for the dtype
        of the other operand, or `None`.
    """
    table = plan_table()

    def function(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        return operate(x1, x2)

    def operate(x1: Any, x2: Any) -> Any:
        try:
            if x2.__class__ in SCALARS:
                plan, dtype, literals = caches.now[table][x1.aval, x2.__class__]
                y = literals.get(x2)
                args = x1, literal(x2, dtype) if y is None else y
            elif x1.__class__ in SCALARS:
                plan, dtype, literals = caches.now[table][x1.__class__, x2.aval]
                x = literals.get(x1)
                args = literal(x1, dtype) if x is None else x, x2
            else:
                plan = caches.now[table][x1.aval, x2.aval]
                args = x1, x2
        except (AttributeError, KeyError, OverflowError):
            return planning(x1, x2)
        # objects with `__jax_array__` may have an `aval`; traces must not depend on what ran before
        trace, are_values = current.trace, isinstance(args[0], Value) and isinstance(args[1], Value)
        if not are_values or (trace is not base and plan.__class__ is not OperationPlan):
            return planning(x1, x2)
        try:
            return trace.run(plan, args)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def planning(x: Any, y: Any) -> Any:
        if operator and not (is_operand(x) and is_operand(y)):
            return NotImplemented
        try:
            return apply(x, y)
        except (OverflowError, TypeError, ValueError) as error:
            overflows = isinstance(error, OverflowError) and beyond is not None
            result = beyond(name, x, y) if overflows else None  # type: ignore[misc]
            if result is not None:
                return result
            note_user_line(error)
            raise

    apply = functools.partial(
        planned_pair, table, primitive, name, to_inexact, to_number, of_complex
    )
    return operate if operator else described(function, name, doc)


def planned_pair(
    table: int,
    primitive: Primitive,
    name: str,
    to_inexact: bool,
    to_number: bool,
    of_complex: Callable[[Value, Value], Value] | None,
    x: Any,
    y: Any,
) -> Any:
    """The result of a function from `binary` for new types; stores a plan for them."""
    state = thread.switches
    x = x if x.__class__ in SCALARS else value(name, x, "x1")
    y = y if y.__class__ in SCALARS else value(name, y, "x2")
    is_cacheable = thread.numpy_rank_promotion == "allow"  # plans do not check ranks
    if not is_cacheable:
        check_ranks(name, x, y)

    def promote(x: Any, y: Any) -> list[Any]:
        return promote_values(name, x, y, to_inexact=to_inexact, to_number=to_number)

    vx, vy = promote(x, y)
    if of_complex is not None and vx.aval.dtype.kind == "c":
        return of_complex(vx, vy)
    scalars = [v for v in (x, y) if v.__class__ in SCALARS]
    if len(scalars) == 2 or not is_cacheable:
        return current.trace.bind(primitive, (vx, vy), ())
    if all([v is u or u.__class__ in SCALARS for v, u in ((vx, x), (vy, y))]):
        args: tuple[Any, Any] = vx, vy
        plan: Any = operation_plan(primitive, args)
    elif current.trace is base and all([fits(v) and v.__class__ is not bool for v in scalars]):
        args = as_value(x), as_value(y)
        avals = [v.aval for v in args]
        plan = plan_of(lambda x, y: primitive(*promote(x, y)), avals, {}, name)
    else:
        return current.trace.bind(primitive, (vx, vy), ())
    key = tuple([v.__class__ if v.__class__ in SCALARS else v.aval for v in (x, y)])
    if scalars:
        dtype, kind = args[x is not scalars[0]].aval.dtype, scalars[0].__class__
        remember_under(state, table, key, (plan, dtype, literals_of(kind, dtype)))
    else:
        remember_under(state, table, key, plan)
    return current.trace.run(plan, args)


def unary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    params: Params = (),
) -> UnaryFunction:
    """Makes a public function of one operand, which applies one primitive; like `binary`."""
    table = plan_table()

    def function(x: Any, /, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        try:
            plan = caches.now[table][x.aval]
        except (AttributeError, KeyError):
            return planning(x)
        if not isinstance(x, Value):  # it exposes the attributes of its array
            return planning(x)
        trace = current.trace
        if trace is not base and plan.__class__ is not OperationPlan:
            return planning(x)
        return trace.run(plan, (x,))

    def promoted(x: Any) -> Any:
        return current.trace.bind(primitive, promote_values(name, x, to_inexact=to_inexact), params)

    def planning(x: Any) -> Any:
        state = thread.switches
        try:
            x = value(name, x)
            (v,) = promote_values(name, x, to_inexact=to_inexact)
            if v is x:
                plan: Any = operation_plan(primitive, (x,), params)
            elif current.trace is base:
                plan = plan_of(promoted, [x.aval], {}, name)
            else:
                return current.trace.bind(primitive, (v,), params)
            return current.trace.run(remember_under(state, table, x.aval, plan), (x,))
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(function, name, doc)


def composite_binary(
    function: Callable[..., Any],
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    evaluate: Callable[..., Any] | None = None,
) -> BinaryFunction:
    """Makes a public function of two operands from several primitives; like `binary`.

    Args:
      evaluate: as in `composite`.
    """
    call = composite(function, evaluate)

    def public(x1: Any, x2: Any, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        if operator and not (is_operand(x1) and is_operand(x2)):
            return NotImplemented
        try:
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x1, x2)
            x, y = promote_values(name, x1, x2, to_inexact=to_inexact, to_number=to_number)
            if (
                x.aval.weak_type is not y.aval.weak_type
            ):  # otherwise a weak operand decides the dtype
                x, y = strong(x), strong(y)
            return call(x, y)
        except (TypeError, ValueError) as error:
            if isinstance(error, ShapeError):
                name_function(error, name, x1, x2)
            note_user_line(error)
            raise

    return described(public, name, doc)


def name_function(error: ShapeError, name: str, x1: Any, x2: Any) -> None:
    """Puts the name of a function of two operands into the message of an error of its primitives,
    with the shapes of the operands if they do not broadcast together."""
    try:
        broadcast_shape(name, [v.aval for v in promote_values(name, x1, x2)])
    except ShapeError as named:
        error.args = named.args
    inner_name, colon, text = str(error).partition(": ")
    if inner_name.isidentifier() and inner_name != name:
        error.args = (name + colon + text,)


_SIGNATURES = {
    (names, named): inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if named
                else inspect.Parameter.POSITIONAL_ONLY,
                annotation=Any,
            )
            for name in names
        ],
        return_annotation=Any,
    )
    for names, named in ((("x",), False), (("x1", "x2"), False), (("x1", "x2"), True))
}
"""The visible signatures: only operands, as derivative rules receive them."""


def described(function: Any, name: str, doc: str) -> Any:
    """Sets the name, docstring and module of a function."""
    function.__name__ = function.__qualname__ = name
    code = function.__code__
    operands = code.co_varnames[: code.co_varnames.index("out")]
    function.__signature__ = _SIGNATURES[operands, not code.co_posonlyargcount]
    function.__module__ = sys._getframe(2).f_globals["__name__"]  # the module that calls the maker
    if doc:
        function.__doc__ = doc
    return function


def unary_docstring(summary: str, example: str, result: str, *, note: str = "") -> str:
    """The docstring of a public function of one operand."""
    operand_note = note or "integers and booleans become float32."
    return f"""{summary}

    Args:
      x: array of any shape; {operand_note}
    Returns: array of the shape of `x`.
    Example:
      >>> {example}
      {result}
    """


def binary_docstring(summary: str, example: str, result: str, *, note: str = "") -> str:
    """The docstring of a public function of two operands."""
    return f"""{summary}

    Args:
      x1, x2: arrays that broadcast together; they are promoted to one dtype.{note}
    Returns: array of the broadcast shape.
    Example:
      >>> {example}
      {result}
    """
