"""Staging: a trace that records equations into a jaxpr."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from .. import errors
from ..config import thread
from ..core.array import Tracer
from ..core.aval import Aval
from ..core.checking import check_jaxpr
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import Primitive
from ..core.ref import Ref, StandIn
from ..core.source import function_line
from ..core.source_location import location_of
from ..core.trace import Params, Trace, current, locations_wanted, under
from ..core.value import Value
from ..user_lines import noted, user_line
from .debugging.leaks import refuse_leaks

T = TypeVar("T")


class StageTracer(Tracer):
    """A variable of the jaxpr that is being recorded."""

    __slots__ = ("_var",)

    def __init__(self, trace: "StageTrace", aval: Aval, var: Var) -> None:
        self._trace, self.aval, self._var = trace, aval, var

    def concrete(self) -> Any:
        return self._trace.value_of(self)

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        if self._trace.closed:
            return leaked(self._trace, operation, self)
        return error(self._trace.why_unknown(self, operation))


var_of = attrgetter("_var")


class StageTrace(Trace):
    """Records every operation as an equation, including operations on known values."""

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
        "stand_ins",
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
        self.outside: Trace | None = None  # the surrounding trace
        self.closed = False
        self.record: Any = ((), ())  # its equations and inputs, after it is closed
        self.stand_ins: dict[Ref, StandIn] | None = None  # by ref from outside; None: not followed
        self.locating = False  # True if equations get the user's line; programs of rules never do

    def add_inputs(self, avals: Iterable[Aval | None]) -> list[Any]:
        """New inputs of the program; `None` for `None`."""
        added: list[Any] = []
        for aval in avals:
            if aval is None:
                added.append(None)
            else:
                tracer = StageTracer(self, aval, Var(aval))
                self.inputs.append(tracer)
                added.append(tracer)
        return added

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

    def inline(self, template: "InlineTemplate", args: Sequence[Any]) -> list[Any]:
        """Copies a program's equations into this one, which is faster than interpreting it."""
        equations = self.equations
        if equations is None:
            raise leaked(self, template.name)
        env: list[Any] = []
        for a in args:
            mine = a.__class__ is StageTracer and a._trace is self
            env.append(a._var if mine else self.atom(a))
        for c in template.fixed:
            env.append(self.atom(c))
        source = location_of(template.name) if self.locating else None
        for primitive, params, places, avals in template.steps:
            outvars = [*map(Var, avals)]
            inputs = [env[i] for i in places]
            equations.append(Equation(primitive, inputs, params, outvars, source))
            env += outvars
        results: list[Any] = []
        for i in template.outputs:
            if i < len(args):
                results.append(args[i])
                continue
            atom = env[i]
            results.append(StageTracer(self, atom.aval, atom) if atom.__class__ is Var else atom)
        return results

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Value],
    ) -> Any:
        """Records a function that has its own derivative rule as one equation with both."""
        assert primitive.inside is not None
        assert primitive.inside.stage_custom is not None
        return primitive.inside.stage_custom(primitive, function, rules, args)

    def value_of(self, tracer: StageTracer) -> Any:
        """The array behind a tracer, if it is known: see `concrete.py`."""
        return None

    def capture(self, x: Any, operation: str = "return") -> StageTracer:
        """The constant for a value from outside."""
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

    def stand_in(self, ref: Ref, operation: str) -> StandIn:
        """The stand-in for a ref from outside. The ref's first value becomes one more input."""
        if self.stand_ins is None:
            cure = "pass the value as an argument, and return the new value"
            by = self.transform
            if by == "trace":  # the program of a rule
                by = "a derivative of a whole program"
                cure = "differentiate inside the outermost jit or loop: jit(grad(f))"
            raise noted(
                TypeError(
                    f"{operation}: a Ref of {ref.aval} from outside is used in "
                    f"{function_line(self.function)}, which {by} traces: the program can't read or "
                    f"write refs from outside\n  fix: {cure}"
                )
            )
        if ref not in self.stand_ins:
            self.stand_ins[ref] = StandIn(self.add_inputs([ref.aval])[0], self)
        return self.stand_ins[ref]

    def finish(self, outputs: Sequence[Any], name: str = "main") -> Jaxpr:
        """The jaxpr from the inputs to `outputs`; the trace is closed."""
        outs = []
        for o in outputs:
            mine = o.__class__ is StageTracer and o._trace is self
            outs.append(o._var if mine else self.atom(o))
        self.close()
        constvars, consts = [], []
        for tracer, x in self.captured.values():
            constvars.append(tracer._var)
            consts.append(x)
        self.captured = {}
        equations, invars = self.record
        jaxpr = Jaxpr(constvars, consts, invars, equations, outs, name)
        if thread.enable_checks:
            check_jaxpr(jaxpr)
        return jaxpr

    def close(self) -> None:
        """Ends the trace. Its tracers cannot be used afterwards."""
        if self.equations is not None:
            self.record = self.equations, [*map(var_of, self.inputs)]
            self.equations, self.inputs, self.stand_ins = (
                None,
                [],
                None,
            )  # no reference cycle remains, so it is freed at once
            self.closed = True

    def origin(self, tracer: StageTracer) -> str:
        """The origin of a tracer, for the error message if it is used too late."""
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
        """The message for code that needs the elements of a traced value."""
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
        needed = {tracer._var}
        for equation in reversed(self.equations or []):
            if not needed.isdisjoint(equation.outvars):
                needed.update(v for v in equation.inputs if type(v) is Var)
        names = self.names() if callable(self.names) else self.names
        return [
            names[i] if i < len(names) else f"#{i}"
            for i, t in enumerate(self.inputs)
            if t._var in needed
        ]


class InlineTemplate:
    """A jaxpr prepared for `StageTrace.inline`, with its values numbered.

    The inputs come first, then constants and literals, then the results in order.
    """

    __slots__ = ("fixed", "name", "outputs", "steps")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.name = jaxpr.name
        self.fixed: list[Any] = list(jaxpr.consts)
        places: dict[Any, int] = {}  # of variables, and of literals by identity
        for v in (*jaxpr.invars, *jaxpr.constvars):
            places[v] = len(places)
        for atoms in (*[e.inputs for e in jaxpr.equations], jaxpr.outvars):
            for atom in atoms:
                if atom.__class__ is not Var and id(atom) not in places:
                    places[id(atom)] = len(places)
                    self.fixed.append(atom)
        self.steps: list[Any] = []
        for e in jaxpr.equations:
            inputs, avals = [], []
            for v in e.inputs:
                inputs.append(places[v if v.__class__ is Var else id(v)])
            for v in e.outvars:
                places[v] = len(places)
                avals.append(v.aval)
            self.steps.append((e.primitive, e.params, inputs, avals))
        self.outputs: list[int] = []
        for v in jaxpr.outvars:
            self.outputs.append(places[v if v.__class__ is Var else id(v)])


def check_open(x: Any, user: Any, operation: str) -> None:
    """Raises an error for a tracer whose trace has ended, or was started inside the trace that uses
    it."""
    if isinstance(x, Tracer):
        trace = x._trace
        if trace.has_ended():
            raise leaked(trace, operation, x)
        while trace is not None:
            trace = trace.outside
            if trace is user:
                raise leaked(x._trace, operation, x)


def leaked(trace: Trace, operation: str, tracer: Any = None) -> Exception:
    """The error for a tracer that is used outside its trace."""
    return noted(errors.UnexpectedTracerError(leak_text(trace, operation, tracer)))


def leak_text(trace: Trace, operation: str, tracer: Any) -> str:
    """The message for a tracer that is used outside its trace."""
    subject = f"a traced {tracer.aval}" if tracer is not None else "a traced value"
    where = function_line(trace.function) if trace.function is not None else "a function"
    if not trace.closed:
        return (
            f"{operation}: {subject} from {trace.transform} of {where} is used where that "
            "transformation can't follow it: in a derivative rule, callback or thread that closes "
            f"over it\n  used: {user_line()}\n  fix: pass the value as an argument"
        )
    origin = trace.origin(tracer) if tracer is not None else ""
    return (
        f"{operation}: {subject} from {trace.transform} of {where} is used after that trace has "
        "ended\n"
        f"  created: {origin}{', ' if origin else ''}while {where} was traced\n"
        f"  used: {user_line()}\n"
        "  fix: return the value from the function instead of keeping it in a variable outside"
    )


def closes_over(name: str, kind: str = "custom derivative") -> TypeError:
    """The error for a derivative with respect to a value that a function with its own rule closes
    over."""
    return TypeError(
        f"{kind}: {name} closes over a value that is being differentiated; its rule does not cover "
        "that value\n  fix: pass the value as an argument (closure_convert helps)"
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
      transform, about, names: for messages: the transformation that traces, the user's function,
        and the names of its arguments (a list, or a function that returns it).
      trace: a trace to use instead of a new `StageTrace`.
    Example:
      >>> import numpy
      >>> from weft import extend
      >>> extend.stage(lambda x: [x * 2.0], [extend.aval((3,), numpy.dtype("float32"))])
      { lambda ; a:f32[3]. let
          b:f32[3] = mul a 2.0:f32[]*
        in (b,) }
    """
    if trace is None:
        trace = StageTrace(transform, about if about is not None else function)
    return stage_with_aux(
        lambda *args: (function(*args), None),
        avals,
        name=name,
        about=about,
        names=names,
        trace=trace,
    )[0]


def stage_with_aux(
    function: Callable[..., tuple[Sequence[Value], T]],
    avals: Sequence[Aval],
    *,
    name: str = "main",
    about: Callable[..., Any] | None = None,
    names: Any = (),
    trace: StageTrace | None = None,
) -> tuple[Jaxpr, T]:
    """Like `stage`, for a function that also returns another result, such as a mask. Returns the
    jaxpr and this result."""
    if trace is None:
        trace = StageTrace("trace", about if about is not None else function)
    trace.names = names
    trace.locating = locations_wanted()
    args = trace.add_inputs(avals)
    trace.outside = current.trace
    try:
        outputs, aux = under(trace, function, *args)
        jaxpr = trace.finish(outputs, name)
        if thread.check_tracer_leaks and about is not None:  # about: the user's function
            del args, outputs
            refuse_leaks(trace)
        return jaxpr, aux
    except BaseException:
        trace.close()
        raise
