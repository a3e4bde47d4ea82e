"""Write it down: a trace that records equations into a jaxpr.

Knows how to record; knows nothing of what the equations mean.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..config import thread
from ..core.array import Tracer
from ..core.aval import Aval
from ..core.checking import check_jaxpr
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import Primitive
from ..core.source import function_line, noted, user_line
from ..core.source_location import location_of, locations_wanted
from ..core.trace import Params, Trace, current, under
from ..core.value import Value
from .debugging.leaks import refuse_leaks


class StageTracer(Tracer):
    """Stands for one variable of the jaxpr being written."""

    __slots__ = ("_var",)

    def __init__(self, trace: "StageTrace", aval: Aval, var: Var) -> None:
        self._trace, self.aval, self._var = trace, aval, var

    def concrete(self) -> Any:
        return self._trace.value_of(self)

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        if self._trace.closed:
            return leaked(self._trace, operation, self)
        return error(self._trace.why_unknown(self, operation))


class StageTrace(Trace):
    """Records every operation as an equation; operations that the caller wants done now too."""

    __slots__ = (
        "captured",
        "closed",
        "equations",
        "function",
        "inputs",
        "locating",
        "names",
        "outside",
        "record",
        "transform",
    )

    def __init__(
        self, transform: str = "trace", function: Callable[..., Any] | str | None = None
    ) -> None:
        self.equations: list[Equation] | None = []
        self.captured: dict[int, tuple[StageTracer, Any]] = {}
        self.inputs: list[StageTracer] = []
        self.names: Any = ()
        self.transform, self.function = transform, function
        self.outside: Trace | None = None  # the trace that this one is made in
        self.closed = False
        self.record: Any = ((), ())  # what it consisted of, once closed: equations and inputs
        self.locating = False  # whether equations get the user's line; rules' own programs never do

    def input(self, aval: Aval) -> StageTracer:
        """A new input of the program."""
        tracer = StageTracer(self, aval, Var(aval))
        self.inputs.append(tracer)
        return tracer

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: Any = None
    ) -> Any:
        equations = self.equations
        if equations is None:
            raise leaked(self, primitive.name)
        inputs: list[Any] = []
        for a in args:
            if a.__class__ is StageTracer and a._trace is self:
                inputs.append(a._var)
            elif a.type is a.aval and not a.aval.ndim:
                inputs.append(a)
            else:
                inputs.append(self.capture(a, primitive.name)._var)
        if out is None:
            out = primitive.out(args, params)
        source = location_of(primitive.name) if self.locating else None
        if primitive.multiple:
            outvars = [Var(o) for o in out]
            equations.append(Equation(primitive, inputs, params, outvars, source))
            return [StageTracer(self, v.aval, v) for v in outvars]
        var = Var(out)
        equations.append(Equation(primitive, inputs, params, (var,), source))
        return StageTracer(self, out, var)

    def inline(self, template: "InlineTemplate", args: Any) -> list[Any]:
        """Copies a program's equations into this one: what interpreting it would record, faster."""
        equations = self.equations
        if equations is None:
            raise leaked(self, template.name)
        env: list[Any] = [
            a._var if a.__class__ is StageTracer and a._trace is self else self.atom(a)
            for a in args
        ]
        if template.fixed:
            env += [self.atom(c) for c in template.fixed]
        source = location_of(template.name) if self.locating else None
        for primitive, params, places, avals in template.steps:
            outvars = [Var(a) for a in avals]
            equations.append(Equation(primitive, [env[i] for i in places], params, outvars, source))
            env += outvars
        count = template.inputs
        results: list[Any] = []
        for i in template.outputs:
            if i < count:
                results.append(args[i])
            else:
                atom = env[i]
                results.append(
                    StageTracer(self, atom.aval, atom) if atom.__class__ is Var else atom
                )
        return results

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Value],
    ) -> Any:
        """A function with a derivative rule of its own: one equation that keeps both."""
        assert primitive.stage_custom_rule is not None
        return primitive.stage_custom_rule(self, function, rules, args)

    def value_of(self, tracer: StageTracer) -> Any:
        """The array that a tracer stands for, if that is known: see `concrete_stage.py`."""
        return None

    def capture(self, x: Any, operation: str = "return") -> StageTracer:
        """The constant that stands for a value from outside."""
        key = id(x)
        if key not in self.captured:
            check_open(x, self, operation)
            self.captured[key] = (StageTracer(self, x.aval, Var(x.aval)), x)
        return self.captured[key][0]

    def atom(self, x: Any) -> Any:
        """The variable or literal for a value."""
        if x.__class__ is StageTracer and x._trace is self:
            return x._var
        if x.type is x.aval and not x.aval.ndim:
            return x
        return self.capture(x)._var

    def finish(self, outputs: Sequence[Any], name: str = "main") -> Jaxpr:
        """The jaxpr from the inputs to `outputs`; the trace is closed."""
        outs = [self.atom(o) for o in outputs]
        equations = self.equations
        self.close()
        captured = self.captured.values()
        jaxpr = Jaxpr(
            [t._var for t, _ in captured],
            [x for _, x in captured],
            list(self.record[1]),
            equations or [],
            outs,
            name,
        )
        self.captured = {}
        if thread.enable_checks:
            check_jaxpr(jaxpr)
        return jaxpr

    def close(self) -> None:
        """Ends the trace: its tracers can't be used from now on."""
        if self.equations is not None:
            self.record = self.equations, [t._var for t in self.inputs]
            self.equations, self.inputs = None, []  # no cycle of references: freed at once
            self.closed = True

    def origin(self, tracer: StageTracer) -> str:
        """The origin of a tracer, for the message when it is used too late."""
        equations, inputs = self.record
        for e in equations:
            if tracer._var in e.outvars:
                return f"by {e.primitive}{'' if e.source is None else f' at {e.source.line}'}"
        names = self.names() if callable(self.names) else self.names
        return next(
            (
                f"as the argument {names[i]}"
                for i, v in enumerate(inputs)
                if v is tracer._var and i < len(names)
            ),
            "",
        )

    def why_unknown(self, tracer: StageTracer, operation: str) -> str:
        """The message for a use of a traced value that needs its elements."""
        lines = [
            f"{operation}: the elements of a traced {tracer.aval} are not known while "
            f"{function_line(self.function)} is traced by {self.transform}"
        ]
        depends = self.depends_on(tracer)
        if depends:
            lines.append(
                f"  the value depends on the argument{'s' * (len(depends) > 1)} "
                + ", ".join(depends)
            )
        cure = {
            "bool": "lax.cond or numpy.where instead of if; lax.while_loop instead of while",
            "numpy.asarray": "weft.numpy functions instead of NumPy's",
        }.get(operation, "keep it an array")
        lines.append(
            f"  fix: {cure}; or make the argument static (static_argnums, static_argnames)"
        )
        return "\n".join(lines)

    def depends_on(self, tracer: StageTracer) -> list[str]:
        """The names of the inputs that a value was computed from."""
        wanted = {tracer._var}
        for equation in reversed(self.equations or []):
            if not wanted.isdisjoint(equation.outvars):
                wanted.update(v for v in equation.inputs if type(v) is Var)
        names = self.names() if callable(self.names) else self.names
        return [
            names[i] if i < len(names) else f"#{i}"
            for i, t in enumerate(self.inputs)
            if t._var in wanted
        ]


class InlineTemplate:
    """A jaxpr written for `StageTrace.inline`: variables are places in a list.

    First the inputs, then constants and literals, then the results in their order.
    """

    __slots__ = ("fixed", "inputs", "name", "outputs", "steps")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.name, self.inputs = jaxpr.name, len(jaxpr.invars)
        self.fixed: list[Any] = list(jaxpr.consts)
        places: dict[Any, int] = {v: i for i, v in enumerate([*jaxpr.invars, *jaxpr.constvars])}
        for atom in [v for e in jaxpr.equations for v in e.inputs] + jaxpr.outvars:
            if atom.__class__ is not Var and id(atom) not in places:
                places[id(atom)] = self.inputs + len(self.fixed)
                self.fixed.append(atom)

        def place(atom: Any) -> int:
            return places[atom if atom.__class__ is Var else id(atom)]

        self.steps = []
        for e in jaxpr.equations:
            inputs = tuple(map(place, e.inputs))
            for v in e.outvars:
                places[v] = len(places)
            self.steps.append((e.primitive, e.params, inputs, [v.aval for v in e.outvars]))
        self.outputs = [place(v) for v in jaxpr.outvars]


def check_open(x: Any, user: Any, operation: str) -> None:
    """Refuses a tracer whose trace has ended, or is made inside the trace that is to use it."""
    if isinstance(x, Tracer):
        trace = x._trace
        if trace.has_ended():
            raise leaked(trace, operation, x)
        while trace is not None:
            trace = trace.outside
            if trace is user:
                raise leaked(x._trace, operation, x)


def leaked(trace: Trace, operation: str, tracer: Any = None) -> Exception:
    """The error for a tracer that is used where its trace isn't being made."""
    return noted(errors.UnexpectedTracerError(leak_text(trace, operation, tracer)))


def leak_text(trace: Trace, operation: str, tracer: Any) -> str:
    """The message for a tracer that is used where its trace isn't being made."""
    what = f"a traced {tracer.aval}" if tracer is not None else "a traced value"
    where = function_line(trace.function) if trace.function is not None else "a function"
    if not trace.closed:
        return (
            f"{operation}: {what} from {trace.transform} of {where} is used where that "
            "transformation can't follow it: in a derivative rule, callback or thread that closes "
            f"over it\n  used: {user_line()}\n  fix: pass the value as an argument"
        )
    made = trace.origin(tracer) if tracer is not None else ""
    return (
        f"{operation}: {what} from {trace.transform} of {where} is used after that trace has "
        "ended\n"
        f"  created: {made}{', ' if made else ''}while {where} was traced\n"
        f"  used: {user_line()}\n"
        "  fix: return the value from the function instead of keeping it in a variable outside"
    )


def closes_over(name: str, kind: str = "custom derivative") -> TypeError:
    """The error for a derivative in what a function with a rule of its own closes over."""
    return TypeError(
        f"{kind}: {name} closes over a value that is being differentiated; its rule says nothing "
        "of that value\n  fix: pass the value as an argument (closure_convert helps)"
    )


def stage(
    function: Callable[..., Sequence[Value]],
    avals: Sequence[Aval],
    *,
    name: str = "main",
    transform: str = "trace",
    about: Callable[..., Any] | None = None,
    names: Any = (),
    trace: StageTrace | None = None,
) -> Jaxpr:
    """Traces `function` on abstract arguments; returns the jaxpr of its list of outputs.

    Args:
      avals: the arguments' avals.
      transform, about, names: for messages: which transformation traces, the user's function, and
        what its arguments are called (a list, or a function that returns it).
      trace: a new one of another kind than `StageTrace`.
    """
    if trace is None:
        trace = StageTrace(transform, about if about is not None else function)
    trace.names = names
    trace.locating = locations_wanted()
    args = [trace.input(a) for a in avals]
    trace.outside = current.trace
    try:
        outputs = under(trace, function, *args)
        jaxpr = trace.finish(outputs, name)
        if thread.check_tracer_leaks and about is not None:  # about: the user's function
            del args, outputs
            refuse_leaks(trace)
        return jaxpr
    finally:
        trace.close()
