"""Linearization: computes the primals and records the linear part, for reverse mode.

The tape is a list of nodes, one for each operation on an active value: its `Derivative` and its
residuals. `LinearMap` runs the tape forwards (tangents) or backwards (cotangents).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..config import caches, thread
from ..core.aval import Aval
from ..core.jaxpr import Equation
from ..core.masks import scatter_list
from ..core.primitive import Primitive
from ..core.source_location import SourceLocation, at_location, location_of
from ..core.trace import Params, Trace, current, locations_wanted, under
from ..core.value import Value
from ..errors import DerivativeError
from ..primitives.creation import zeros
from ..primitives.structural import add, convert_element_type
from .debugging.leaks import refuse_leaks
from .dependence import reached
from .derivative import DifferentiatedTracer, Mask, derivative, residual_plan
from .stage import check_open, closes_over, leaked
from .transpose import no_tangents


class Node:
    """One operation on the tape: its residuals, and the nodes of its active arguments."""

    __slots__ = ("avals", "inputs", "linear", "residuals")

    def __init__(self, linear: Any, residuals: Any, inputs: Any, avals: Sequence[Aval]) -> None:
        self.linear, self.residuals, self.inputs, self.avals = linear, residuals, inputs, avals


class LinearizeTracer(DifferentiatedTracer):
    """A primal, and the place of its tangent on the tape: a node and the number of its output.

    Inside a custom derivative rule a tangent is a tracer without a primal.
    """

    __slots__ = "place"

    def __init__(self, trace: Trace, primal: Any, place: tuple[Node, int], aval: Aval) -> None:
        self._trace = trace
        self.primal = primal
        self.place = place
        self.aval = aval

    def plain(self) -> Any:
        return None

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<primal={self.primal}>"

    __str__ = __repr__


_ONE: Mask = (True,)
_LEFT: Mask = (True, False)
_RIGHT: Mask = (False, True)
_BOTH: Mask = (True, True)


class LinearizeTrace(Trace):
    """Runs primals under the trace outside it, and records a tape."""

    outside: Trace
    __slots__ = ("closed", "function", "outside", "tape", "transform")

    def __init__(
        self, outside: Trace, transform: str = "grad", function: Callable[..., Any] | None = None
    ) -> None:
        self.outside, self.closed = outside, False
        self.tape: list[Node] = []
        self.transform, self.function = transform, function

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        if len(args) == 2:  # unrolled, because nearly all operations have one or two arguments
            x, y = args
            if x.__class__ is LinearizeTracer and x._trace is self:
                xp = x.primal
                pure = xp is None
                if y.__class__ is LinearizeTracer and y._trace is self:
                    yp = y.primal
                    pure = pure or yp is None
                    primals, inputs, mask = [xp, yp], [x.place, y.place], _BOTH
                else:
                    primals, inputs, mask = [xp, y], [x.place], _LEFT
            elif y.__class__ is LinearizeTracer and y._trace is self:
                yp = y.primal
                pure = yp is None
                primals, inputs, mask = [x, yp], [y.place], _RIGHT
            else:
                return self.outside.bind(primitive, args, params, out)
            key: Any = (params, mask, x.aval, y.aval)
        elif len(args) == 1:
            (x,) = args
            if x.__class__ is not LinearizeTracer or x._trace is not self:
                return self.outside.bind(primitive, args, params, out)
            xp = x.primal
            pure = xp is None
            primals, inputs, mask = [xp], [x.place], _ONE
            key = (params, _ONE, x.aval)
        else:
            mask = tuple([a.__class__ is LinearizeTracer and a._trace is self for a in args])
            if True not in mask:
                return self.outside.bind(primitive, args, params, out)
            mine = [a for a, m in zip(args, mask, strict=True) if m]
            pure = any([a.primal is None for a in mine])
            inputs = [a.place for a in mine]
            primals = [a.primal if m else a for a, m in zip(args, mask, strict=True)]
            key = (params, mask, *[a.aval for a in args])
        if self.closed:
            raise leaked(self, primitive.name)
        try:
            d = caches.now[primitive.derivatives][key]
        except KeyError:
            d = derivative(primitive, args, params, mask)
        if pure:
            return self.record_pure(primitive, d, args, primals, mask, inputs, params)
        if d is None:
            return self.outside.bind(primitive, primals, params, out)
        results = d.forward.run(primals, self.outside)
        n = d.outs
        if not primitive.multiple:
            primal = results[0]
            node = Node(d, results[1:], inputs, (primal.aval,))
            self.tape.append(node)
            return LinearizeTracer(self, primal, (node, 0), primal.aval)
        outs, residuals = results[:n], results[n:]
        node = Node(d, residuals, inputs, [])
        return self.wrap(node, outs, d.out_mask)

    def wrap(self, node: Node, outs: Sequence[Any], out_mask: Sequence[bool]) -> list[Any]:
        """Puts a node on the tape; returns its outputs as tracers where they have a tangent."""
        self.tape.append(node)
        avals: list[Aval] = []
        wrapped = []
        for o, has_tangent in zip(outs, out_mask, strict=True):
            if has_tangent:
                wrapped.append(LinearizeTracer(self, o, (node, len(avals)), o.aval))
                avals.append(o.aval)
            else:
                wrapped.append(o)
        node.avals = avals
        return wrapped

    def record_pure(
        self,
        primitive: Primitive,
        d: Any,
        args: Any,
        primals: Any,
        mask: Any,
        inputs: Any,
        params: Params,
    ) -> Any:
        """Records an operation on tangents inside a custom rule. It must be linear in them."""
        for a, m in zip(args, mask, strict=True):
            if m and a.primal is not None:
                raise TypeError(
                    f"{primitive}: in a custom derivative rule a tangent meets a value that is "
                    "being differentiated, which the rule closes over\n"
                    "  fix: pass the value as an argument (closure_convert helps)"
                )
        out = primitive.out(args, params)
        outs = out if primitive.multiple else [out]
        if d is None:
            if primitive.effects is not None and primitive.effects.acts:
                raise no_tangents(params)
            if any(reached(Equation(primitive, args, params, outs), mask)):
                raise TypeError(
                    f"{primitive}: a custom derivative rule must be linear in the tangents; "
                    f"{primitive} isn't\n  fix: use the tangent only in sums, products with "
                    "primals and other linear functions"
                )
            full = [zeros(a.aval) if m else p for a, m, p in zip(args, mask, primals, strict=True)]
            return self.outside.bind(primitive, full, params, out)
        inactive_primals = [p for p, m in zip(primals, mask, strict=True) if not m]
        values = residual_plan(d, primitive.name).run(inactive_primals, self.outside)
        n_known = d.out_mask.count(False)
        known_outputs = iter(values[:n_known])
        avals = [o for o, m in zip(outs, d.out_mask, strict=True) if m]
        node = Node(d, values[n_known:], inputs, avals)
        self.tape.append(node)
        tracers = iter([LinearizeTracer(self, None, (node, i), o) for i, o in enumerate(avals)])
        results = [next(tracers) if m else next(known_outputs) for m in d.out_mask]
        return results if primitive.multiple else results[0]

    # --- custom derivatives ---

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        """Applies a function that has its own derivative rule."""
        mine = [a.__class__ is LinearizeTracer and a._trace is self for a in args]
        primals = [a.primal if m else a for a, m in zip(args, mine, strict=True)]
        if not any(mine):
            return self.outside.bind_custom(primitive, function, rules, primals)
        if any(p is None for p in primals):  # tangents, inside the rule of another function
            if rules.jvp is None:
                raise TypeError(
                    f"{rules.name}: a custom_vjp function is applied to a tangent, in a custom "
                    "derivative rule: its own rule needs the value, which a tangent doesn't have\n"
                    "  fix: use custom_jvp, or the function without a rule"
                )
            return function(*args)  # linear in the tangents, so the function is its own derivative
        inputs = [a.place if m else None for a, m in zip(args, mine, strict=True)]
        if rules.jvp is not None:
            tangents = [
                LinearizeTracer(self, None, a.place, a.aval.strong()) if i else None
                for a, i in zip(args, inputs, strict=True)
            ]
            outs, t_outs = rules.jvp(primals, tangents)
            if any(o.__class__ is LinearizeTracer and o._trace is self for o in outs):
                raise closes_over(rules.name)
            for t in t_outs:
                if t is not None:
                    check_open(t, self, rules.name)
            return [
                LinearizeTracer(self, o, t.place, o.aval)
                if t.__class__ is LinearizeTracer and t._trace is self
                else o
                for o, t in zip(outs, t_outs, strict=True)
            ]
        outs, residuals, tree = under(self.outside, rules.forward, primals, mine)
        live = [i for i in inputs if i is not None]
        mask = [i is not None for i in inputs]
        out_mask = [o.aval.inexact for o in outs]
        pullback = CustomPullback(rules, tree, [a.aval for a in args], mask, [o.aval for o in outs])
        return self.wrap(Node(pullback, residuals, live, []), outs, out_mask)


class LocatingLinearizeTrace(LinearizeTrace):
    """A tape whose nodes have the user's line (`core/source_location.py`)."""

    __slots__ = ()

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        return self.noting(location_of(primitive.name), super().bind, primitive, args, params, out)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        return self.noting(
            location_of(rules.name), super().bind_custom, primitive, function, rules, args
        )

    def origin(self, tracer: Any) -> str:
        linear = tracer.place[0].linear
        if linear is None:
            return "as an argument"
        return f"by {linear.place.operation} at {linear.place.line}"

    def noting(self, place: SourceLocation, method: Any, *args: Any) -> Any:
        """Calls a method, and gives the location to the nodes that it put on the tape."""
        count = len(self.tape)
        with at_location(place):
            result = method(*args)
        for node in self.tape[count:]:
            if node.linear.__class__ is not LocatedMap:
                node.linear = LocatedMap(node.linear, place)
        return result


class LocatedMap:
    """The linear map of a node, which enters the node's location when it runs."""

    __slots__ = ("linear", "place")

    def __init__(self, linear: Any, place: SourceLocation) -> None:
        self.linear, self.place = linear, place

    def push(self, *args: Any) -> Any:
        with at_location(self.place):
            return self.linear.push(*args)

    def pull(self, *args: Any) -> Any:
        with at_location(self.place, backward=True):
            return self.linear.pull(*args)


class CustomPullback:
    """The linear map of a `custom_vjp` function. It only runs backwards."""

    __slots__ = ("in_avals", "mask", "out_avals", "rules", "tree")

    def __init__(self, rules: Any, tree: Any, in_avals: Any, mask: Any, out_avals: Any) -> None:
        self.rules, self.tree = rules, tree
        self.in_avals, self.mask, self.out_avals = in_avals, mask, out_avals

    def push(self, residuals: Any, tangents: Any, trace: Trace) -> Any:
        raise DerivativeError(
            f"{self.rules.name}: forward-mode differentiation (jvp, jacfwd, linearize) of a "
            "custom_vjp function: only its reverse-mode rule is known\n"
            "  fix: use custom_jvp, which serves both modes"
        )

    def pull(self, residuals: Any, cts: Any, trace: Trace) -> list[Any]:
        full = scatter_list(cts, [a.inexact for a in self.out_avals])
        results = self.rules.backward(self.tree, residuals, full, self.in_avals)
        return [r for r, m in zip(results, self.mask, strict=True) if m]


Place = tuple[int, int]
Wiring = tuple[
    tuple[tuple[Any, int, tuple[Place, ...], tuple[Aval, ...]], ...],
    tuple[tuple[Aval, ...], ...],
    tuple[Place | None, ...],
]
"""A tape without residuals. Each operation has its linear map, the number of residuals, the nodes
and output numbers of its arguments, and the avals of its outputs. The inputs and the outputs
follow. Equal programs have equal tapes, because linear maps are cached by signature."""


class LinearMap:
    """The derivative at a point: a tape, with its inputs and outputs.

    Example:
      >>> from weft import extend
      >>> _, derivative = extend.linearize(lambda x: [x * x], [np.array(3.0)])
      >>> residuals, wiring = derivative.flatten()
      >>> residuals
      [Array(3., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True)]
    """

    __slots__ = ("inputs", "outputs", "tape")

    def __init__(
        self,
        tape: list[Node],
        inputs: list[Node],
        outputs: Sequence[tuple[Node, int] | None],
    ) -> None:
        self.tape, self.inputs, self.outputs = tape, inputs, outputs

    def flatten(self) -> tuple[list[Any], "Wiring"]:
        """The residuals of all operations, and the tape without them."""
        numbers = {node: i for i, node in enumerate([*self.inputs, *self.tape])}
        steps = []
        residuals: list[Any] = []
        for node in self.tape:
            residuals += node.residuals
            places = tuple([(numbers[n], i) for n, i in node.inputs])
            steps.append((node.linear, len(node.residuals), places, tuple(node.avals)))
        inputs = tuple([tuple(node.avals) for node in self.inputs])
        outputs = [None if o is None else (numbers[o[0]], o[1]) for o in self.outputs]
        return residuals, (tuple(steps), inputs, tuple(outputs))

    @classmethod
    def unflatten(cls, wiring: "Wiring", residuals: Sequence[Any]) -> "LinearMap":
        """Rebuilds a linear map from the parts that `flatten` returned, perhaps with other
        residuals."""
        steps, input_avals, outputs = wiring
        inputs = [Node(None, (), (), avals) for avals in input_avals]
        nodes = [*inputs]
        start = 0
        for linear, count, places, avals in steps:
            node_residuals = list(residuals[start : start + count])
            start += count
            nodes.append(Node(linear, node_residuals, [(nodes[n], i) for n, i in places], avals))
        ends = [None if o is None else (nodes[o[0]], o[1]) for o in outputs]
        return cls(nodes[len(inputs) :], inputs, ends)

    def __repr__(self) -> str:
        return f"LinearMap({len(self.tape)} operations)"

    def push(self, tangents: Sequence[Value | None]) -> list[Any]:
        """Output tangents (`None` for zero) for input tangents, under the current trace."""
        trace = current.trace
        tangents_of: dict[Node, Any] = {n: (t,) for n, t in zip(self.inputs, tangents, strict=True)}
        for node in self.tape:
            ins = [tangents_of[n][i] if n in tangents_of else None for n, i in node.inputs]
            missing = [t is None for t in ins]
            if False not in missing:
                continue
            if True in missing:
                ins = [
                    zeros(n.avals[i]) if t is None else t
                    for t, (n, i) in zip(ins, node.inputs, strict=True)
                ]
            tangents_of[node] = node.linear.push(node.residuals, ins, trace)
        return [
            tangents_of[o[0]][o[1]] if o is not None and o[0] in tangents_of else None
            for o in self.outputs
        ]

    def pull(self, cts: Sequence[Value | None]) -> list[Any]:
        """Input cotangents (`None` for zero) for output cotangents, under the current trace."""
        trace = current.trace
        pending: dict[Node, list[Any]] = {}  # cotangents of a node's outputs
        accumulate(pending, self.outputs, cts, trace)
        for node in reversed(self.tape):
            slots = pending.pop(node, None)
            if slots is not None:
                arg_cts = node.linear.pull(node.residuals, slots, trace)
                accumulate(pending, node.inputs, arg_cts, trace)
        return [pending[n][0] if n in pending else None for n in self.inputs]

    def pull_back(
        self,
        cts: Sequence[Value | None],
        in_avals: Sequence[Aval],
        around: Callable[..., list[Any]] | None = None,
    ) -> list[Any]:
        """Cotangents of the inputs, with zeros written out: float0 for integers, weak for weak
        types.

        Args:
          cts: cotangents of the first outputs; the others (auxiliary data) have zero cotangents.
          around: if present, `around(pull, cotangents)` is called instead of `pull(cotangents)`.
        """
        every = [*cts, *[None] * (len(self.outputs) - len(cts))]
        input_cts = self.pull(every) if around is None else around(self.pull, every)
        for i, a in enumerate(in_avals):
            if input_cts[i] is None or a.weak_type or not a.inexact:
                input_cts[i] = full_tangent(a, input_cts[i])
        return input_cts


def float0_zeros(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """The tangent or cotangent of an integer: a NumPy array of dtype float0, without data."""
    return np.zeros(shape, dtypes.float0)


def full_tangent(primal: Aval, t: Value | None) -> Value | np.ndarray[Any, Any]:
    """A tangent with zeros written out, of weak type where its primal is."""
    if not primal.inexact:
        return float0_zeros(primal.shape)
    full: Value = zeros(primal.strong()) if t is None else t
    if primal.weak_type:
        full = convert_element_type(full, dtype=primal.dtype, weak_type=True)
    return full


def accumulate(
    pending: dict[Node, list[Any]], places: Sequence[Any], cts: Sequence[Value | None], trace: Trace
) -> None:
    """Adds cotangents to those collected for the outputs in `places`."""
    for place, ct in zip(places, cts, strict=True):
        if place is None or ct is None:
            continue
        node, index = place
        slots = pending.get(node)
        if slots is None:
            pending[node] = slots = [None] * len(node.avals)
        before = slots[index]
        slots[index] = ct if before is None else trace.bind(add, (before, ct), (), ct.aval)


def linearize(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Value],
    transform: str = "grad",
    about: Callable[..., Any] | None = None,
    mask: Sequence[bool] | None = None,
) -> tuple[list[Any], LinearMap]:
    """The outputs of `function` (a list of values) at `primals`, and its derivative there with
    respect to all primals, or to the primals in `mask`.

    Example:
      >>> from weft import extend
      >>> outs, derivative = extend.linearize(lambda x: [x * x], [np.array(3.0)])
      >>> outs, type(derivative).__name__
      ([Array(9., dtype=float32, weak_type=True)], 'LinearMap')
    """
    kind = LocatingLinearizeTrace if locations_wanted() else LinearizeTrace
    trace = kind(current.trace, transform, about)
    nodes: list[Node] = []
    args: list[Any] = []
    for p, is_active in zip(primals, mask or [True] * len(primals), strict=True):
        if not is_active:
            args.append(p)
            continue
        aval = p.aval
        node = Node(None, (), (), (aval.strong() if aval.weak_type else aval,))
        nodes.append(node)
        args.append(LinearizeTracer(trace, p, (node, 0), aval) if aval.inexact else p)
    try:
        results = under(trace, function, *args)
    finally:
        trace.closed = True
    outs: list[Any] = []
    places: list[tuple[Node, int] | None] = []
    for r in results:
        mine = r.__class__ is LinearizeTracer and r._trace is trace
        outs.append(r.primal if mine else r)
        places.append(r.place if mine else None)
    tape, trace.tape = trace.tape, []
    if thread.check_tracer_leaks and about is not None:
        r = None  # no references to tracers remain
        del args, results
        refuse_leaks(trace)
    return outs, LinearMap(tape, nodes, places)
