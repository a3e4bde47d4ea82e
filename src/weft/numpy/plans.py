"""Plans: what an eager call runs and returns, found once for each signature and kept.

A plan is a NumPy kernel, or `None` if XLA has to do some of the work, and the aval of the output.
On the host an eager call is then a look-up, the kernel, and an `Array` around its result. This is
the only module, with `makers.py`, that takes elements out of arrays and runs kernels on them.

A cache of plans is one of `config.caches`, and is read as `caches.now[plans][key]`. So the plans
made under one state of the switches serve under that state only; no key has a switch in it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from math import gcd
from operator import index
from typing import Any

import numpy as np

from ..compiler.loaded import run_jaxpr
from ..config import caches, thread
from ..core.array import Array
from ..core.aval import Aval
from ..core.caching import remember_under
from ..core.jaxpr import Jaxpr
from ..core.primitive import Primitive
from ..core.quiet import interrupting, quietly
from ..core.trace import current
from ..core.value import Value
from ..extended_dtypes import is_extended
from ..interpreters.eager_tiers import numpy_may_compute
from ..interpreters.host_program import PreparedJaxpr
from ..interpreters.stage import stage
from ..lax.operands import uncommitted
from ..primitives import reduction, structural
from .promotion import value

Kernel = Callable[..., Any]
_base = current.base


def whole(argument: Any) -> None:
    """Raises TypeError for an argument that is neither an integer nor a tuple of integers.

    Keys are compared by value, and 1 == 1.0 == True: a look-up may find the plan of axis 1 for axis
    1.0, which is an error. `math.gcd` takes integers and booleans only, at C's speed.
    """
    if argument.__class__ is tuple:
        gcd(*argument)
        boolean = bool in map(type, argument)
    else:
        index(argument)
        boolean = argument.__class__ is bool
    if boolean:
        raise TypeError


def computing() -> bool:
    """True if operations are carried out at once here: nothing is traced, nothing watched."""
    return current.trace is _base


def hosts_of(x: Any, y: Any) -> tuple[Any, Any] | None:
    """The elements of two uncommitted arrays, if operations are carried out at once and the
    elements of both are on the host already; `None` otherwise.
    """
    if current.trace is _base and uncommitted(x) and uncommitted(y):
        hx, hy = x._host, y._host
        if hx is not None and hy is not None:
            return hx, hy
    return None


def host_kernel(
    primitive: Primitive, args: Sequence[Value], params: tuple[tuple[str, Any], ...] = ()
) -> Kernel | None:
    """The NumPy kernel of an operation on uncommitted arrays; `None` for others and for XLA's."""
    if all([uncommitted(x) for x in args]):
        kernel: Kernel | None = _base.prepare(primitive, args, params)[0]
        return kernel
    return None


def host_elements(x: Any) -> Any:
    """The elements of an array that is anywhere, in NumPy, if it may move them now: nothing is
    traced or watched, and no accelerator is in use. `None` otherwise."""
    if current.trace is _base and uncommitted(x) and numpy_may_compute():
        return None if is_extended(x.aval.dtype) else np.asarray(x.host())
    return None


def native_elements(*xs: Any) -> list[Any] | None:
    """The elements as NumPy arrays, if NumPy may compute with them now; `None` otherwise.

    They are those of strong, real arrays of dtypes that are NumPy's own. It is for results whose
    length depends on elements, so that they have no plan.
    """
    if any([x.aval.weak_type or not is_native(x.aval) for x in xs]):
        return None
    hosts = [host_elements(x) for x in xs]
    return None if any([h is None for h in hosts]) else hosts


def is_native(*avals: Aval) -> bool:
    """True for real dtypes that are NumPy's own: bfloat16 and the narrower ones are not."""
    return all([a.dtype.kind in "biuf" and a.dtype.isbuiltin == 1 for a in avals])


_LARGE = 400_000


_FOLDED = (reduction.reduce_max, reduction.reduce_min, structural.reduce_sum)


def is_better_fused(jaxpr: Jaxpr) -> bool:
    """True if XLA may do all the work, and several operations, one of which folds, read arrays that
    have no place in a cache. XLA reads them once for all: a variance of 1e6 elements takes it
    0.13 ms, and NumPy, operation by operation, 0.34.
    """
    if thread.eager_tier != "auto":
        return False
    passes = [e.primitive for e in jaxpr.equations if any(v.aval.size > _LARGE for v in e.inputs)]
    return len(passes) > 1 and any(p in _FOLDED for p in passes)


# --- planned functions ---


def planned(
    name: str,
    function: Callable[..., Array],
    argument: str = "a",
    direct: Callable[..., Kernel | None] | None = None,
) -> Callable[..., Array]:
    """`function(x, first, *rest)` for an array of any kind, with a plan for each signature.

    The plan is made when a signature comes the second time: one NumPy kernel, or where XLA has to
    do a part of several operations, one program. `first` is an axis, a tuple of axes, an
    exponent, or `None`: what is equal to an integer and isn't one is not taken for it. The classes
    of the other arguments, which are flags and numbers, don't matter.

    Args:
      direct: returns, for a value and the other arguments, one kernel that does the work of all
        primitives, or `None`.
    """
    plans, seen = caches.add(), caches.add()

    def call(a: Any, first: Any, *rest: Any) -> Array:
        try:
            kernel, out, known, program = caches.now[plans][a.type, first, rest]
            if known is not first:
                whole(first)
        except (AttributeError, KeyError, TypeError):
            x = a if isinstance(a, Value) else value(name, a, argument)
            return planning(x, first, rest)
        if kernel is not None and current.trace is _base:
            host = a._host
            if host is None:
                host = _base.fetch(a)
            try:
                result = (current.quiet or quietly())(kernel, host)
            except RuntimeError as error:
                result = interrupting(error, kernel, host)
            return Array(result, out)
        if program is not None and current.trace is _base and not thread.disable_jit:
            found: Array = run_jaxpr(program, [a])[0]  # XLA does it, as one program
            return found
        return planning(a, first, rest)

    def planning(x: Any, first: Any, rest: tuple[Any, ...]) -> Array:
        state = thread.switches
        result = function(x, first, *rest)  # refuses bad arguments, which so have no plan
        if x.type is x.aval and computing():  # an array that may be anywhere
            key = x.aval, first, rest
            try:
                again = key in state.caches[seen]
            except TypeError:  # a list of axes
                return result
            if not again:
                remember_under(state, seen, key, True)
            elif key not in state.caches[plans]:

                def compute(x: Array) -> Array:
                    return function(x, first, *rest)

                kernel, out, plan = plan_of(compute, [x.aval], {})
                if is_better_fused(plan.jaxpr):
                    kernel = None
                if direct is not None and numpy_may_compute():
                    kernel = direct(x, first, *rest) or kernel
                several = kernel is None and len(plan.jaxpr.equations) > 1
                program = plan.jaxpr if several else None
                remember_under(state, plans, key, (kernel, out, first, program))
        return result

    return call


def rearranged(
    primitive: Primitive,
    target: Callable[[Value, Any], tuple[tuple[str, Any], ...] | None],
    name: str,
) -> Callable[[Any, Any], Any]:
    """A function of an array and a shape or an order of axes, applying one primitive.

    Args:
      target: returns the primitive's parameters for a value and the argument; `None` if the value
        is as wanted.
    """
    plans = caches.add()

    def call(a: Any, argument: Any) -> Any:
        try:
            kernel, out, params, known = caches.now[plans][a.aval, argument]
            if known is not argument:  # as `whole`, without the call
                if argument.__class__ is tuple:
                    gcd(*argument)
                    boolean = bool in map(type, argument)
                else:
                    index(argument)
                    boolean = argument.__class__ is bool
                if boolean:
                    return planning(a, argument)
        except (AttributeError, KeyError, TypeError):
            return planning(a, argument)
        trace = current.trace
        if kernel is not None and trace is _base and a.type is a.aval:
            host = a._host
            if host is None:
                host = _base.fetch(a)
            return Array(kernel(host), out)
        return trace.bind(primitive, (a,), params, out)

    def planning(a: Any, argument: Any) -> Any:
        state = thread.switches
        x = value(name, a, "a")
        params = target(x, argument)
        if params is None:
            return x
        out = primitive.out((x,), params)
        if uncommitted(x) and (argument is None or isinstance(argument, (tuple, int))):
            plan = host_kernel(primitive, (x,), params), out, params, argument
            remember_under(state, plans, (x.aval, argument), plan)
        return current.trace.bind(primitive, (x,), params, out)

    return call


class Products:
    """The plans of a product of two arrays by one primitive."""

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive
        self.plans = caches.add()

    def run(self, a: Any, b: Any) -> Array | None:
        """The product by a kept kernel, or `None`."""
        try:
            kernel, out = caches.now[self.plans][a.type, b.type]
        except (AttributeError, KeyError):
            return None
        if current.trace is _base:
            x, y = a._host, b._host
            if x is None:
                x = _base.fetch(a)
            if y is None:
                y = _base.fetch(b)
            try:
                result = (current.quiet or quietly())(kernel, x, y)
            except RuntimeError as error:
                result = interrupting(error, kernel, x, y)
            return Array(result, out)
        return None

    def add(self, x: Any, y: Any, params: tuple[tuple[str, Any], ...]) -> None:
        """Keeps the kernel of the product of two values, if it has one."""
        state = thread.switches
        kernel = host_kernel(self.primitive, (x, y), params)
        if kernel is not None:
            plan = kernel, self.primitive.out((x, y), params)
            remember_under(state, self.plans, (x.aval, y.aval), plan)


# --- several primitives ---


def composite(
    function: Callable[..., Any],
    direct: Callable[..., Kernel | None] | None = None,
    instead: Callable[..., Kernel | None] | None = None,
) -> Callable[..., Any]:
    """Decorates a function of values (by position) and hashable options (by keyword), made of
    primitives. Eager calls run it from a plan, staged when a signature comes the second time: then
    it costs its NumPy kernels and about one microsecond. Traced calls run it as it is.

    The function returns a value or a tuple of values. Who calls it has checked the options: keys
    are compared by value, and 1 == 1.0.

    Args:
      direct: returns, for avals and the options, one kernel that does the work of all primitives,
        or `None`.
      instead: the same, for work of which XLA would do a part. Such a kernel may raise NumPy's
        LinAlgError: then the primitives do it after all.
    """
    plans, seen = caches.add(), caches.add()

    @functools.wraps(function)
    def call(*xs: Any, **options: Any) -> Any:
        if current.trace is not _base:
            return function(*xs, **options)
        key = (*options.items(), *[x.aval for x in xs])
        try:
            found: Any = caches.now[plans][key]
        except KeyError:
            found = None
        except TypeError:  # an option that has no hash
            return function(*xs, **options)
        if found is None:
            state = thread.switches
            if key not in state.caches[seen]:
                result = function(*xs, **options)  # refuses bad options, which so have no plan
                remember_under(state, seen, key, True)
                return result
            avals = [x.aval for x in xs]
            kernel, out, plan = plan_of(function, avals, options)
            by_xla = plan.prepared().steps is None or is_better_fused(plan.jaxpr)
            whole = direct(*avals, **options) if direct is not None and not by_xla else None
            if instead is not None and numpy_may_compute():
                whole = instead(*avals, **options) or whole
            kernel = whole or (None if by_xla else kernel)
            program = plan.jaxpr if by_xla and plan.jaxpr.equations else None
            found = remember_under(state, plans, key, (kernel, out, plan, program))
        kernel, out, plan, program = found
        hosts = []
        for x in xs:
            if x.type is not x.aval:
                outs = plan.run(xs, _base)
                break
            host = x._host
            hosts.append(_base.fetch(x) if host is None and kernel is not None else host)
        else:
            if kernel is not None:
                try:
                    result = (current.quiet or quietly())(kernel, *hosts)
                except RuntimeError as error:
                    result = interrupting(error, kernel, *hosts)
                except np.linalg.LinAlgError:
                    result = None  # of a kernel that does all the work: see above
                if result is not None:
                    if out.__class__ is tuple:
                        return tuple(map(Array, result, out))
                    return Array(result, out)
            if program is not None and not thread.disable_jit:
                outs = run_jaxpr(program, xs)  # XLA does it, as one program
            else:
                outs = plan.run(xs, _base)
        return tuple(outs) if out.__class__ is tuple else outs[0]

    return call


def plan_of(
    function: Callable[..., Any], avals: Sequence[Aval], options: Mapping[str, Any]
) -> tuple[Kernel | None, Any, PreparedJaxpr]:
    """(kernel, aval, plan) for a function of values: the kernel is one NumPy function that returns
    the output, or `None` if there are several outputs or XLA has to do a part of it; the aval is
    that of the output, or a tuple of them if there are several.
    """
    one = True

    def listed(*xs: Value) -> list[Value]:
        nonlocal one
        result = function(*xs, **options)
        one = not isinstance(result, tuple)
        return [result] if one else result

    plan = PreparedJaxpr(stage(listed, avals, name=function.__name__, about=function))
    if not one:
        return None, tuple([v.aval for v in plan.jaxpr.outvars]), plan
    out: Aval = plan.jaxpr.outvars[0].aval
    kernels = plan.prepared()
    if kernels.steps is None or kernels.outputs[0][0]:
        return None, out, plan
    steps = kernels.steps[0]
    if len(steps) == 1 and not steps[0][2] and steps[0][1] == tuple(range(len(avals))):
        return steps[0][0], out, plan
    program = kernels.generate(of_arrays=False)
    return (lambda *hosts: program(*hosts)[0]), out, plan
