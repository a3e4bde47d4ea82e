"""Makers of public functions from primitives: operands are promoted, eager calls run kept plans.

Knows how a call is planned; knows no function by name.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from ..config import caches, thread
from ..core.array import Array, as_value, literal, literals_of
from ..core.caching import remember_under
from ..core.primitive import Primitive
from ..core.quiet import interrupting, quietly
from ..core.source import note_user_line
from ..core.trace import current
from ..core.value import Value
from ..lax.operands import uncommitted
from ..switch_state import SwitchState
from ..typing import ArrayLike
from .plans import composite, computing, host_kernel
from .promotion import SCALARS, check_ranks, fits, is_operand, promote_values, strong, value
from .ufunc_options import check_options

_base = current.base

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
    """A function of two operands with promotion, applying one primitive.

    Eager calls run a plan, found in 0.1 µs: see `_BinaryPlans`.

    Args:
      to_inexact, to_number: as in `promote_values`.
      operator: return `NotImplemented` for an operand that is no array, as Python's operators do.
      of_complex: does the work for complex numbers, if the primitive can't.
      beyond: the result where a Python integer doesn't fit the other operand's dtype, if there is
        one: (name, operands).
    """
    plans = _BinaryPlans(primitive, name, to_inexact, to_number, operator, of_complex, beyond)
    pairs, rights, lefts, planning = plans.pairs, plans.rights, plans.lefts, plans.planning

    def function(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        x, y = x1, x2
        try:
            if x1.__class__ is Array and x2.__class__ is Array:
                kernel, target = caches.now[pairs][x1.type, x2.type]
            elif x2.__class__ in SCALARS:
                kernel, target, dtype, known = caches.now[rights][x1.aval, x2.__class__]
                y = known.get(x2)
                if y is None:
                    y = literal(x2, dtype)
                if x1.type is not x1.aval:
                    kernel = None
            elif x1.__class__ in SCALARS:
                kernel, target, dtype, known = caches.now[lefts][x1.__class__, x2.aval]
                x = known.get(x1)
                if x is None:
                    x = literal(x1, dtype)
                if x2.type is not x2.aval:
                    kernel = None
            else:
                _, target = caches.now[pairs][x1.aval, x2.aval]
                kernel = None
        except (AttributeError, KeyError, OverflowError):
            return planning(x1, x2)
        trace = current.trace
        try:
            if kernel is None or trace is not _base:
                return trace.bind(primitive, (x, y), (), target)
            hx, hy = x._host, y._host
            if hx is None:
                hx = _base.fetch(x)
            if hy is None:
                hy = _base.fetch(y)
            try:
                result = (current.quiet or quietly())(kernel, hx, hy)
            except RuntimeError as error:
                result = interrupting(error, kernel, hx, hy)
            return Array(result, target)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(function, name, doc)


class _BinaryPlans:
    """The plans of a function that `binary` made, kept for each pair of operand types.

    A plan holds the NumPy kernel, if the operation is done at once on the host, and the output's
    aval.

    Attributes:
      pairs: the cache of plans for two values of one dtype.
      rights, lefts: of plans for a Python scalar on that side which takes the dtype of the other
        operand.
      mixed: of the pairs of types that need a cast; `promoted` has their plans.
    """

    def __init__(
        self,
        primitive: Primitive,
        name: str,
        to_inexact: bool,
        to_number: bool,
        operator: bool,
        of_complex: Callable[[Value, Value], Value] | None,
        beyond: Callable[[str, Any, Any], Value | None] | None,
    ) -> None:
        self.primitive, self.name, self.of_complex = primitive, name, of_complex
        self.beyond = beyond
        self.to_inexact, self.to_number, self.operator = to_inexact, to_number, operator
        self.pairs, self.rights, self.lefts = caches.add(), caches.add(), caches.add()
        self.mixed = caches.add()

        @composite
        def promoted(x: Any, y: Any) -> Any:
            return current.trace.bind(primitive, self.promote(x, y), ())

        self.promoted = promoted

    def promote(self, x: Any, y: Any) -> Any:
        """The operands as values of one dtype."""
        return promote_values(self.name, x, y, to_inexact=self.to_inexact, to_number=self.to_number)

    def planning(self, x: Any, y: Any) -> Any:
        """The function's result in the general way, which leaves a plan."""
        at_once = uncommitted(x) and uncommitted(y) and computing()
        if at_once and (x.aval, y.aval) in thread.switches.caches[self.mixed]:
            return self.promoted(x, y)
        if self.operator and not (is_operand(x) and is_operand(y)):
            return NotImplemented
        try:
            return self.apply(x, y)
        except OverflowError as error:
            result = None if self.beyond is None else self.beyond(self.name, x, y)
            if result is not None:
                return result
            note_user_line(error)
            raise
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    def apply(self, x: Any, y: Any) -> Any:
        """The primitive applied to two operands after promotion."""
        state = thread.switches
        x = x if x.__class__ in SCALARS else value(self.name, x, "x1")
        y = y if y.__class__ in SCALARS else value(self.name, y, "x2")
        may_differ = thread.numpy_rank_promotion == "allow"
        if not may_differ:
            check_ranks(self.name, x, y)
        vx, vy = self.promote(x, y)
        if self.of_complex is not None and vx.aval.dtype.kind == "c":
            return self.of_complex(vx, vy)
        out = self.primitive.out((vx, vy), ())
        if may_differ and self.keep(state, x, y, vx, vy, out):  # a plan checks no ranks
            return self.promoted(as_value(x), as_value(y))  # with the casts in its plan
        return current.trace.bind(self.primitive, (vx, vy), (), out)

    def keep(self, state: SwitchState, x: Any, y: Any, vx: Value, vy: Value, out: Any) -> bool:
        """Keeps a plan for operands `x` and `y`, promoted to `vx` and `vy`; True if they needed a
        cast, and are computed with at once."""
        if vx is x and vy is y:
            arrays = x.__class__ is y.__class__ is Array
            key = (x.type, y.type) if arrays else (x.aval, y.aval)
            remember_under(state, self.pairs, key, (host_kernel(self.primitive, (x, y)), out))
        elif vx is x and y.__class__ in SCALARS and not x.aval.weak_type:
            plan = self.scalar_plan(vx, vy, out, y.__class__)
            remember_under(state, self.rights, (x.aval, y.__class__), plan)
        elif vy is y and x.__class__ in SCALARS and not y.aval.weak_type:
            plan = self.scalar_plan(vx, vy, out, x.__class__)
            remember_under(state, self.lefts, (x.__class__, y.aval), plan)
        elif uncommitted(vx) and uncommitted(vy) and computing() and fits(x) and fits(y):
            remember_under(state, self.mixed, (as_value(x).aval, as_value(y).aval), True)
            return True
        return False

    def scalar_plan(self, vx: Value, vy: Value, out: Any, kind: type) -> tuple[Any, ...]:
        """The plan for an operand and a Python scalar of class `kind`; it has the literals too."""
        dtype = vx.aval.dtype
        return host_kernel(self.primitive, (vx, vy)), out, dtype, literals_of(kind, dtype)


def unary(
    primitive: Primitive,
    name: str,
    doc: str = "",
    *,
    to_inexact: bool = False,
    params: tuple[tuple[str, Any], ...] = (),
) -> UnaryFunction:
    """A function of one operand applying one primitive; planned as in `binary`."""
    plans = caches.add()

    def function(x: Any, /, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        try:
            kernel, target = caches.now[plans][x.aval]
        except (AttributeError, KeyError):
            return planning(x)
        trace = current.trace
        if trace is _base and x.type is x.aval and kernel is not None:
            host = x._host
            if host is None:
                host = _base.fetch(x)
            try:
                result = (current.quiet or quietly())(kernel, host)
            except RuntimeError as error:
                result = interrupting(error, kernel, host)
            return Array(result, target)
        return trace.bind(primitive, (x,), params, target)

    def planning(x: Any) -> Any:
        state = thread.switches
        try:
            x = value(name, x)
            (v,) = promote_values(name, x, to_inexact=to_inexact)
            out = primitive.out((v,), params)
            if v is x:
                plan = host_kernel(primitive, (x,), params), out
                remember_under(state, plans, x.aval, plan)
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
) -> BinaryFunction:
    """A function of two operands with promotion, made of several primitives; as `binary`.

    Args:
      host: returns, for two avals, one NumPy function that does the work of all primitives, or
        `None`.
    """
    call = composite(function, host)
    rights = caches.add()

    def public(x1: Any, x2: Any, out: Any = None, **options: Any) -> Any:
        if options or out is not None:
            check_options(name, out, options)
        if x2.__class__ in SCALARS and isinstance(x1, Value):
            try:
                dtype = caches.now[rights][x1.aval, x2.__class__]
            except KeyError:
                pass
            else:
                return call(x1, strong(literal(x2, dtype)))
        if operator and not (is_operand(x1) and is_operand(x2)):
            return NotImplemented
        state = thread.switches
        try:
            if thread.numpy_rank_promotion != "allow":
                check_ranks(name, x1, x2)
            x, y = promote_values(name, x1, x2, to_inexact=to_inexact, to_number=to_number)
            if x is x1 and x2.__class__ in SCALARS and not x.aval.weak_type:
                remember_under(state, rights, (x.aval, x2.__class__), x.aval.dtype)
            if x.aval.weak_type is not y.aval.weak_type:  # else a weak operand may decide
                x, y = strong(x), strong(y)
            return call(x, y)
        except (TypeError, ValueError) as error:
            note_user_line(error)
            raise

    return described(public, name, doc)


_OF_OPERANDS = {
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
"""The signatures that are shown, of operands only: they are what a rule for derivatives gets."""


def described(function: Any, name: str, doc: str) -> Any:
    """A made function with its name, docstring and module."""
    function.__name__ = function.__qualname__ = name
    code = function.__code__
    operands = code.co_varnames[: code.co_varnames.index("out")]
    function.__signature__ = _OF_OPERANDS[operands, not code.co_posonlyargcount]
    function.__module__ = sys._getframe(2).f_globals["__name__"]  # that of the maker's caller
    if doc:
        function.__doc__ = doc
    return function
