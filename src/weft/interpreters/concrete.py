"""Traces under which Python code may read values.

`CompileTimeTrace` computes operations on known values at once; `ConcreteStageTrace` also records
them."""

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.simplify import has_effects, live_equations
from ..core.array import Tracer
from ..core.jaxpr import Var
from ..core.primitive import Primitive
from ..core.trace import Params, Trace, current, under
from ..core.value import Value
from .stage import StageTrace, StageTracer


class CompileTimeTrace(Trace):
    """Computes operations on arrays now; operations on tracers go to the outside trace."""

    outside: Trace
    __slots__ = ("outside",)

    def __init__(self, outside: Trace) -> None:
        self.outside = outside

    def for_(self, args: Sequence[Value]) -> Any:
        """The trace under which an operation on these arguments is applied."""
        if any(isinstance(a, Tracer) for a in args):
            return self.outside
        return current.bottom

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: object = None
    ) -> Any:
        return self.for_(args).bind(primitive, args, params, out)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: object,
        args: Sequence[Value],
    ) -> Any:
        """Runs a function that has its own derivative rule; known values are not differentiated."""
        trace = self.for_(args)
        if trace is self.outside:
            return trace.bind_custom(primitive, function, rules, args)
        return function(*args)


class ConcreteStageTrace(StageTrace):
    """Records operations. When Python needs a value, it evaluates the operations that the value
    depends on.

    Args:
      values: an `Array` for each input, or `None` where it is not known.
    """

    __slots__ = ("known", "values")

    def __init__(self, values: Sequence[Value | None], transform: str, function: Any) -> None:
        super().__init__(transform, function)
        self.values = values
        self.known: dict[Var, Any] = {}

    def value_of(self, tracer: StageTracer) -> Any:
        if self.equations is None:
            return None
        values, needed = self.known, {tracer._var}
        if not values:
            values.update(zip([t._var for t in self.inputs], self.values, strict=True))
        for stand_in, x in self.captured.values():
            if stand_in._var not in values:
                values[stand_in._var] = x.concrete()
        # some results of an equation with programs inside may be known and others unknown
        todo = [e for e in self.equations if any(v not in values for v in e.outvars)]
        todo = live_equations(todo, needed, effects=False)
        if any(v in values and values[v] is None for v in needed):
            return None
        for e in todo:
            if has_effects(e):
                raise TypeError(
                    f"{self.transform}: Python code reads a value that depends on "
                    f"{e.primitive}, which has effects: it would be done twice\n"
                    "  fix: do it outside of the function"
                )
            inputs = [values[v] if type(v) is Var else v for v in e.inputs]
            outs = under(current.base, current.base.bind, e.primitive, inputs, e.params)
            values.update(zip(e.outvars, outs if e.primitive.multiple else [outs], strict=True))
        return values[tracer._var]

    def close(self) -> None:
        super().close()
        self.known, self.values = {}, ()
