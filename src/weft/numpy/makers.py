"""Makers of public functions from primitives: operands are promoted, eager calls run kept plans.

Knows how a call is planned; knows no function by name.
"""

import sys
from collections.abc import Callable
from typing import Any

from ..config import anywhere, thread
from ..core.array import Array, as_value, literal, literals_of
from ..core.primitive import Primitive
from ..core.source import note_user_line
from ..core.trace import current
from ..core.value import Value
from ..interpreters.evaluate import quietly
from ..lax.operands import uncommitted
from .plans import composite, computing, host_kernel, keep, plan_cache
from .promotion import SCALARS, check_ranks, is_operand, promote_values, strong, value

_base = current.base


def binary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    of_complex: Callable[[Value, Value], Value] | None = None,
) -> Callable[..., Any]:
    """A function of two operands with promotion, applying one primitive.

    Its plans, kept for each pair of operand types, hold the NumPy kernel, if the operation is done
    at once on the host, and the output's aval: 0.1 µs a look-up. `pairs` has them for two values of
    one dtype, `rights` and `lefts` for a Python scalar on that side which takes the dtype of the
    other operand; `mixed` has the pairs of types that need a cast.

    Args:
      to_inexact, to_number: as in `promote_values`.
      operator: return `NotImplemented` for an operand that is no array, as Python's operators do.
      of_complex: does the work for complex numbers, if the primitive can't.
    """
    pairs, rights, lefts, mixed = plan_cache(), plan_cache(), plan_cache(), plan_cache()

    def function(x1: Any, x2: Any, /) -> Any:
        x, y = x1, x2
        try:
            if x1.__class__ is Array and x2.__class__ is Array:
                kernel, out = pairs[x1.type, x2.type]
            elif x2.__class__ in SCALARS:
                kernel, out, dtype, known = rights[x1.aval, x2.__class__]
                y = known.get(x2)
                if y is None:
                    y = literal(x2, dtype)
                if x1.type is not x1.aval:
                    kernel = None
            elif x1.__class__ in SCALARS:
                kernel, out, dtype, known = lefts[x1.__class__, x2.aval]
                x = known.get(x1)
                if x is None:
                    x = literal(x1, dtype)
                if x2.type is not x2.aval:
                    kernel = None
            else:
                _, out = pairs[x1.aval, x2.aval]
                kernel = None
        except (AttributeError, KeyError):
            return planning(x1, x2)
        trace = current.trace
        try:
            if kernel is None or trace is not _base:
                return trace.bind(primitive, (x, y), (), out)
            hx, hy = x._host, y._host
            if hx is None:
                hx = _base.fetch(x)
            if hy is None:
                hy = _base.fetch(y)
            return Array((current.quiet or quietly())(kernel, hx, hy), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def planning(x: Any, y: Any) -> Any:
        """The general way, which leaves a plan."""
        if (
            uncommitted(x)
            and uncommitted(y)
            and computing()
            and (x.aval, y.aval, thread.x64) in mixed
        ):
            return promoted(x, y)
        if operator and not (is_operand(x) and is_operand(y)):
            return NotImplemented
        try:
            x = x if x.__class__ in SCALARS else value(name, x, "x1")
            y = y if y.__class__ in SCALARS else value(name, y, "x2")
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x, y)
            vx, vy = promote_values(name, x, y, to_inexact=to_inexact, to_number=to_number)
            if of_complex is not None and vx.aval.dtype.kind == "c":
                return of_complex(vx, vy)
            out = primitive.out((vx, vy), ())
            # plans are all threads'
            keeps = not anywhere("numpy_rank_promotion", "allow")
            if keeps and remember(x, y, vx, vy, out):
                return promoted(as_value(x), as_value(y))  # with the casts in its plan
            return current.trace.bind(primitive, (vx, vy), (), out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def remember(x: Any, y: Any, vx: Value, vy: Value, out: Any) -> bool:
        """Keeps a plan for operands `x` and `y`, promoted to `vx` and `vy`; True if they needed a
        cast, and are computed with at once."""
        dtype = vx.aval.dtype
        if vx is x and vy is y:
            arrays = x.__class__ is y.__class__ is Array
            key = (x.type, y.type) if arrays else (x.aval, y.aval)
            keep(pairs, key, (host_kernel(primitive, (x, y)), out))
        elif vx is x and y.__class__ in SCALARS and not x.aval.weak_type:
            plan = host_kernel(primitive, (vx, vy)), out, dtype, literals_of(y.__class__, dtype)
            keep(rights, (x.aval, y.__class__), plan)
        elif vy is y and x.__class__ in SCALARS and not y.aval.weak_type:
            plan = host_kernel(primitive, (vx, vy)), out, dtype, literals_of(x.__class__, dtype)
            keep(lefts, (x.__class__, y.aval), plan)
        elif uncommitted(vx) and uncommitted(vy) and computing():
            keep(mixed, (as_value(x).aval, as_value(y).aval, thread.x64), True)
            return True
        return False

    @composite
    def promoted(x: Any, y: Any) -> Any:
        values = promote_values(name, x, y, to_inexact=to_inexact, to_number=to_number)
        return current.trace.bind(primitive, values, ())

    return described(function, name, doc)


def unary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    params: tuple[tuple[str, Any], ...] = (),
) -> Callable[..., Any]:
    """A function of one operand applying one primitive; planned as in `binary`."""
    plans = plan_cache()

    def function(x: Any, /) -> Any:
        try:
            kernel, out = plans[x.aval]
        except (AttributeError, KeyError):
            return planning(x)
        trace = current.trace
        if trace is _base and x.type is x.aval and kernel is not None:
            host = x._host
            if host is None:
                host = _base.fetch(x)
            return Array((current.quiet or quietly())(kernel, host), out)
        return trace.bind(primitive, (x,), params, out)

    def planning(x: Any) -> Any:
        try:
            x = value(name, x)
            (v,) = promote_values(name, x, to_inexact=to_inexact)
            out = primitive.out((v,), params)
            if v is x:
                keep(plans, x.aval, (host_kernel(primitive, (x,), params), out))
            return current.trace.bind(primitive, (v,), params, out)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(function, name, doc)


def derived(
    function: Callable[..., Any],
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    to_number: bool = False,
    operator: bool = False,
    host: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of two operands with promotion, made of several primitives; as `binary`.

    Args:
      host: returns, for two avals, one NumPy function that does the work of all primitives, or
        `None`.
    """
    call = composite(function, host)
    rights = plan_cache()

    def public(x1: Any, x2: Any, /) -> Any:
        if x2.__class__ in SCALARS and isinstance(x1, Value):
            dtype = rights.get((x1.aval, x2.__class__))
            if dtype is not None:
                return call(x1, strong(literal(x2, dtype)))
        if operator and not (is_operand(x1) and is_operand(x2)):
            return NotImplemented
        try:
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x1, x2)
            x, y = promote_values(name, x1, x2, to_inexact=to_inexact, to_number=to_number)
            if x is x1 and x2.__class__ in SCALARS and not x.aval.weak_type:
                keep(rights, (x.aval, x2.__class__), x.aval.dtype)
            if x.aval.weak_type is not y.aval.weak_type:  # else a weak operand may decide
                x, y = strong(x), strong(y)
            return call(x, y)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(public, name, doc)


def described(function: Any, name: str, doc: str) -> Any:
    """A made function with its name, docstring and module."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals["__name__"]  # that of the maker's caller
    if doc:
        function.__doc__ = doc
    return function
