"""Forward mode, operation by operation, with the same derivatives as `linearize`."""

from collections.abc import Callable, Sequence
from typing import Any

from ..config import thread
from ..core.aval import Aval
from ..core.caching import Owner, cached_on_program
from ..core.jaxpr import Jaxpr, run
from ..core.masks import scatter_list
from ..core.primitive import Primitive
from ..core.source_location import at_location, location_of
from ..core.trace import Params, Trace, current, locations_wanted, under
from ..core.value import Value
from .debugging.leaks import refuse_leaks
from .derivative import DifferentiatedTracer, Mask, derivative
from .stage import leaked


class JvpTracer(DifferentiatedTracer):
    """A primal and its tangent."""

    __slots__ = "tangent"

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self._trace, self.primal, self.tangent, self.aval = trace, primal, tangent, primal.aval

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<primal={self.primal}, tangent={self.tangent}>"

    __str__ = __repr__


class JvpTrace(Trace):
    """Runs primals and tangents under the trace outside it."""

    outside: Trace
    __slots__ = ("closed", "function", "outside", "transform")

    def __init__(
        self, outside: Trace, transform: str = "jvp", function: Callable[..., Any] | None = None
    ) -> None:
        self.outside, self.closed = outside, False
        self.transform, self.function = transform, function

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: object = None
    ) -> Any:
        primals, tangents, mask = self.split(args)
        outside = self.outside
        if not tangents:
            return outside.bind(primitive, primals, params, out)
        if self.closed:
            raise leaked(self, primitive.name)
        if primitive.inside is not None:
            owner: Any = primitive.owner(params)
            avals = tuple([p.aval for p in primals])
            jaxpr, out_mask = pushforward(owner, primitive, params, mask, avals)
            results = run(jaxpr, [*primals, *tangents], outside)
            n = len(out_mask)
            outs, t_outs = results[:n], results[n:]
        else:
            d = derivative(primitive, args, params, mask)
            if d is None:
                return outside.bind(primitive, primals, params, out)
            results = d.forward.run(primals, outside)
            n, out_mask = d.outs, d.out_mask
            outs = results[:n]
            t_outs = d.push(results[n:], tangents, outside)
        if not primitive.multiple:
            return JvpTracer(self, outs[0], t_outs[0])
        return [
            JvpTracer(self, o, t) if m else o
            for o, t, m in zip(outs, scatter_list(t_outs, out_mask), out_mask, strict=True)
        ]

    def split(self, args: Sequence[Value]) -> tuple[list[Any], list[Any], tuple[bool, ...]]:
        """The primals, the nonzero tangents, and a mask of the arguments that have one."""
        primals, tangents, mask = [], [], []
        for a in args:
            if a.__class__ is JvpTracer and a._trace is self:
                primals.append(a.primal)
                active = a.aval.inexact
                mask.append(active)
                if active:
                    tangents.append(a.tangent)
            else:
                primals.append(a)
                mask.append(False)
        return primals, tangents, tuple(mask)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Value],
    ) -> Any:
        """Applies the derivative rule of a function that has its own."""
        primals, tangents, mask = self.split(args)
        if not tangents:
            return self.outside.bind_custom(primitive, function, rules, primals)
        if rules.jvp is None:
            if self.outside.computes:
                raise rules.forward_mode()
            assert primitive.inside is not None
            assert primitive.inside.stage_custom is not None
            return primitive.inside.stage_custom(primitive, function, rules, args)
        outs, t_outs = under(self.outside, rules.jvp, primals, scatter_list(tangents, mask))
        return [
            o if t is None else JvpTracer(self, o, t) for o, t in zip(outs, t_outs, strict=True)
        ]


class LocatingJvpTrace(JvpTrace):
    """Records the current operation of the user: see `core/source_location.py`."""

    __slots__ = ("made",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.made: dict[
            int, str
        ] = {}  # by the tracer's id; for tracers that are alive the last entry is right

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: object = None
    ) -> Any:
        with at_location(place := location_of(primitive.name)):
            result = super().bind(primitive, args, params, out)
        for x in result if primitive.multiple else [result]:
            self.made[id(x)] = f"by {place.operation} at {place.line}"
        return result

    def origin(self, tracer: object) -> str:
        return self.made.get(id(tracer), "")


@cached_on_program
def pushforward(
    owner: Owner, primitive: Primitive, params: Params, mask: Mask, avals: tuple[Aval, ...]
) -> tuple[Jaxpr, Mask]:
    """The program (primals, tangents) -> (outputs, tangents) of a higher-order operation, and a
    mask of the outputs that have a tangent."""
    assert primitive.inside is not None
    return primitive.inside.pushforward(mask, avals, **dict(params))


def jvp(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Value],
    tangents: Sequence[Value | None],
    about: Callable[..., Any] | None = None,
) -> tuple[list[Any], list[Any]]:
    """The outputs and the output tangents. `None` is a zero tangent.

    Example:
      >>> from weft import extend
      >>> extend.jvp(lambda x: [np.sin(x)], [np.array(0.0)], [np.array(2.0)])
      ([Array(0., dtype=float32, weak_type=True)], [Array(2., dtype=float32)])
    """
    kind = LocatingJvpTrace if locations_wanted() else JvpTrace
    trace = kind(current.trace, "jvp", about)
    args = [
        p if t is None else JvpTracer(trace, p, t) for p, t in zip(primals, tangents, strict=True)
    ]
    try:
        results = under(trace, function, *args)
    finally:
        trace.closed = True
    mine = [r.__class__ is JvpTracer and r._trace is trace for r in results]
    outs = [r.primal if m else r for r, m in zip(results, mine, strict=True)]
    t_outs = [r.tangent if m else None for r, m in zip(results, mine, strict=True)]
    if thread.check_tracer_leaks and about is not None:
        del args, results
        refuse_leaks(trace)
    return outs, t_outs
