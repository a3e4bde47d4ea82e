"""Plans of NumPy functions, which eager calls run; a plan is made once for given types. Functions
of one primitive promote their operands and run the plan of the operation. Functions of several
primitives, decorated with `composite` or `planned`, are staged at the first call of a signature,
and always run as that program. `interpreters/plans.py` defines plans. Plans are stored by the state
of the switches, so keys do not contain switches.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import caches, thread
from ..core.array import Array
from ..core.aval import Aval
from ..core.caching import exact, remember_under
from ..core.host_policy import LIMITS
from ..core.primitive import Primitive
from ..core.trace import Params, current
from ..core.value import Value
from ..extended_dtypes import is_extended
from ..interpreters.eager_tiers import numpy_may_compute
from ..interpreters.plans import OperationPlan, PlanTrace, ProgramPlan
from ..interpreters.stage import InlineTemplate, stage_with_aux
from ..lax.operands import uncommitted
from .promotion import value

_base = current.base


def plan_table() -> int:
    """The number of a new table of plans: `caches.now[number][key]`."""
    return caches.add()


def computing() -> bool:
    """True if operations run eagerly here: under no trace and no interpreter."""
    return current.trace is _base


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


# --- functions of one primitive ---


def operation_plan(primitive: Primitive, args: Any, params: Params = ()) -> OperationPlan:
    """The plan of an operation on values like these."""
    out = primitive.out(args, params)
    return OperationPlan(primitive, params, [x.aval for x in args], out)


def cached_plan(table: int, a: Any, b: Any) -> OperationPlan | None:
    """The stored plan for two operands, or `None`."""
    if not (isinstance(a, Value) and isinstance(b, Value)):
        return None
    plan: OperationPlan | None = caches.now[table].get((a.aval, b.aval))
    return plan


def cache_plan(table: int, x: Any, y: Any, primitive: Primitive, params: Params) -> None:
    """Stores the plan of an operation on two values."""
    plan = operation_plan(primitive, (x, y), params)
    remember_under(thread.switches, table, (x.aval, y.aval), plan)


def rearranged(
    primitive: Primitive, target: Callable[[Value, Any], Params | None], name: str
) -> Callable[[Any, Any], Any]:
    """A function of an array and a shape or an order of axes that applies one primitive.

    Args:
      target: returns the primitive's parameters for a value and the argument; `None` if the value
        is unchanged.
    """
    table = plan_table()

    def call(a: Any, argument: Any) -> Any:
        if not isinstance(a, Value):
            a = value(name, a, "a")
        try:
            plan = caches.now[table][a.aval, exact(argument)]
        except (AttributeError, KeyError, TypeError):
            pass  # errors that are raised below have no `__context__`
        else:
            return current.trace.run(plan, (a,))
        state = thread.switches
        x = value(name, a, "a")
        params = target(x, argument)
        if params is None:
            return x
        key = x.aval, exact(argument)
        if not _is_hashable(key):  # a list, or arrays among the lengths
            return current.trace.bind(primitive, (x,), params)
        plan = remember_under(state, table, key, operation_plan(primitive, (x,), params))
        return current.trace.run(plan, (x,))

    return call


# --- functions of several primitives ---


def composite(
    function: Callable[..., Any], evaluate: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Decorates a function of values (by position) and hashable options (by keyword) that applies
    primitives. Eager calls run the staged program; traced calls run the function itself.

    The function returns a value or a tuple of values.

    Args:
      evaluate: (*avals, **options) -> a NumPy function that computes the same bits in one call, or
        `None`; it corresponds to a primitive's `evaluate` rule.
    """
    table = plan_table()

    @functools.wraps(function)
    def call(*xs: Any, **options: Any) -> Any:
        if current.trace is not _base:
            return function(*xs, **options)
        key: Any = tuple([x.aval for x in xs])
        if options:
            key = key, *options, *map(exact, options.values())
        try:
            plan = caches.now[table][key]
        except (KeyError, TypeError):
            plan = None  # errors that are raised below have no `__context__`
        if plan is None:
            if not _is_hashable(key):
                return function(*xs, **options)
            state = thread.switches
            avals = [x.aval for x in xs]
            plan = plan_of(function, avals, options)
            if evaluate is not None and numpy_may_compute():
                plan.kernel = evaluate(*avals, **options) or plan.kernel
            plan = remember_under(state, table, key, plan)
        outs = _base.run(plan, xs)
        return outs if plan.single else tuple(outs)

    return call


def planned(name: str, function: Callable[..., Array], argument: str = "a") -> Callable[..., Array]:
    """Like `composite`, for `function(x, *options)` of an array of any kind. The first option is an
    axis, a tuple of axes, an exponent, or `None`; the classes of other options, which are flags and
    numbers, are ignored.
    """
    table = plan_table()

    def call(a: Any, *options: Any) -> Array:
        if current.trace is not _base:
            return function(a if isinstance(a, Value) else value(name, a, argument), *options)
        if not isinstance(a, Value):
            a = value(name, a, argument)
        first_option = options[0]
        kind = exact(first_option) if first_option.__class__ is tuple else first_option.__class__
        try:
            plan = caches.now[table][a.aval, options, kind]
        except (AttributeError, KeyError, TypeError):
            plan = None  # errors that are raised below have no `__context__`
        if plan is None:
            switches = thread.switches
            a = value(name, a, argument)
            if not _is_hashable(options):  # a list of axes
                return function(a, *options)
            plan = plan_of(lambda x: function(x, *options), [a.aval], {}, name)
            plan = remember_under(switches, table, (a.aval, options, kind), plan)
        result: Array = _base.run(plan, (a,))
        return result

    return call


def plan_of(
    function: Callable[..., Any],
    avals: Sequence[Aval],
    options: dict[str, Any],
    name: str = "",
) -> ProgramPlan:
    """The plan of a function of values that returns a value or a tuple of values."""

    def results_as_list(*xs: Value) -> tuple[Sequence[Value], bool]:
        result = function(*xs, **options)
        single = not isinstance(result, tuple)
        return [result] if single else result, single

    trace = PlanTrace("trace", function)
    name = name or function.__name__
    jaxpr, is_single = stage_with_aux(
        results_as_list, avals, name=name, about=function, trace=trace
    )
    return ProgramPlan(jaxpr, InlineTemplate(jaxpr), is_single)


def are_few(*avals: Aval) -> bool:
    """True for small arrays, for which a slow NumPy function is faster than a compiled program."""
    return max([a.size for a in avals]) <= LIMITS["other"]


# --- results whose length depends on elements ---


def hosts_of(x: Any, y: Any) -> tuple[Any, Any] | None:
    """The elements of two uncommitted arrays, if operations run eagerly and the elements of both
    are already on the host; `None` otherwise.
    """
    if current.trace is _base and uncommitted(x) and uncommitted(y):
        hx, hy = x._host, y._host
        if hx is not None and hy is not None:
            return hx, hy
    return None


def host_elements(x: Any) -> Any:
    """The elements of an array as a NumPy array, if operations run eagerly and no accelerator is in
    use; `None` otherwise."""
    if current.trace is _base and uncommitted(x) and numpy_may_compute():
        return None if is_extended(x.aval.dtype) else np.asarray(x.host())
    return None


def native_elements(*xs: Any) -> list[Any] | None:
    """The elements as NumPy arrays, if NumPy may compute with them now; `None` otherwise.

    NumPy may compute with strong, real arrays of its own dtypes.
    """
    if any([x.aval.weak_type or not is_native(x.aval) for x in xs]):
        return None
    hosts = [host_elements(x) for x in xs]
    return None if any([h is None for h in hosts]) else hosts


def is_native(*avals: Aval) -> bool:
    """True for real dtypes of NumPy; bfloat16 and narrower floats are not."""
    return all([a.dtype.kind in "biuf" and a.dtype.isbuiltin == 1 for a in avals])
