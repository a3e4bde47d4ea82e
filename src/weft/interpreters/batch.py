"""Batching: `vmap` of each operation. The mapped axis is axis 0 of every batched value.

The trees `in_axes` and `out_axes` are handled in `transforms/vmap.py`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, TypeVar

from .. import errors
from ..config import thread
from ..core.array import Tracer
from ..core.aval import aval
from ..core.checking import check_results
from ..core.jaxpr import uses_axis
from ..core.primitive import Axis, Primitive, Shared
from ..core.source_location import location_of
from ..core.trace import Params, Trace, current, under
from ..core.value import Value
from ..primitives.creation import full
from ..primitives.slicing import slice_
from ..primitives.structural import broadcast_in_dim, reshape
from ..scope import within_axis
from .debugging.leaks import refuse_leaks
from .stage import leaked, stage

T = TypeVar("T")
WithAux = Callable[..., tuple[Sequence[Any], T]]
"""A function that returns its outputs and a result that is not a value, such as a mask."""


class BatchTracer(Tracer):
    """A batch of values. `value` has the batch axis in front of the tracer's axes."""

    __slots__ = ("value",)

    def __init__(self, trace: Trace, value: Any) -> None:
        a = value.aval
        self._trace, self.value = trace, value
        self.aval = aval(a.shape[1:], a.dtype, a.weak_type)

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        if self._trace.has_ended():
            return leaked(self._trace, operation, self)
        cure = {
            "bool": "lax.cond or numpy.where instead of if",
            "numpy.asarray": "weft.numpy functions instead of NumPy's",
        }.get(operation, "keep it an array")
        return error(
            f"{operation}: a {self.aval} under vmap represents {self.value.aval.shape[0]} values "
            f"at once: no single one is known\n  fix: {cure}"
        )

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<batch={self.value}>"

    __str__ = __repr__


class BatchTrace(Trace):
    """Runs the batched form of each operation under the trace outside it."""

    outside: Trace
    __slots__ = ("axis", "closed", "function", "name", "outside", "size", "transform")

    def __init__(
        self, outside: Trace, axis: Axis, function: Callable[..., Any] | str | None = None
    ) -> None:
        self.outside, self.axis = outside, axis
        self.size, self.name = axis.size, axis.name
        self.closed, self.transform, self.function = False, "vmap", function

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        values, batched = [], []
        for a in args:
            mine = a.__class__ is BatchTracer and a._trace is self
            values.append(a.value if mine else a)
            batched.append(mine)
        uses_this_axis = self.name is not None and uses_axis(primitive, params, self.name)
        if True not in batched and not uses_this_axis:
            return self.outside.bind(primitive, values, params, out)
        if self.closed:
            raise leaked(self, primitive.name)
        collective = primitive.collective if uses_this_axis else None
        rule = (collective and collective.rule) or primitive.batch_rule
        if rule is None:
            raise errors.MissingRuleError(
                f"{primitive}: can't be mapped by vmap: it has no batch rule"
            )
        if not (self.size or uses_this_axis or primitive.effects or primitive.takes_axis):
            return self.nothing(primitive, args, params)
        if out is None and not (uses_this_axis or primitive.elementwise or primitive.effects):
            primitive.out(args, params)  # checks shapes, which might match only with the batch axis
        axis = self.axis if uses_this_axis or primitive.takes_axis else self.size
        named = partial(rule, **dict(params)) if params else rule
        result = under(self.outside, named, values, batched, axis)
        if primitive.multiple:
            return [r.value if r.__class__ is Shared else BatchTracer(self, r) for r in result]
        return result.value if result.__class__ is Shared else BatchTracer(self, result)

    def nothing(self, primitive: Primitive, args: Sequence[Any], params: Params) -> Any:
        """The outputs for a batch of size 0, without applying the rule. Rules would divide lengths
        by the size, or read one element of the batch."""
        out = primitive.out(args, params)
        avals = [a.update(shape=(0, *a.shape)) for a in (out if primitive.multiple else [out])]
        tracers = under(self.outside, lambda: [BatchTracer(self, full(a, 0)) for a in avals])
        return tracers if primitive.multiple else tracers[0]

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        """Batches a function that has its own derivative rule, and the rule."""
        mine = [a.__class__ is BatchTracer and a._trace is self for a in args]
        values = [a.value if m else a for a, m in zip(args, mine, strict=True)]
        # a rule may refer to the axis
        if not any(mine) and self.name is None and not holds(rules.functions(), self.root, set()):
            return self.outside.bind_custom(primitive, function, rules, values)

        same: list[bool] = []  # which results are batched

        def batched_function(*xs: Value) -> list[Any]:
            pairs, _ = self.map_again(lambda *ys: (function(*ys), None), xs, mine)
            same[:] = [not differs for _, differs in pairs]
            return all_repeated(pairs, self.size)

        def applied() -> list[Any]:
            outs = self.outside.bind_custom(
                primitive, batched_function, rules.batched(mine, self.over), values
            )
            if self.name is None:
                return [BatchTracer(self, o) for o in outs]
            if not same:  # the rule was called, and not the function
                stage(batched_function, [v.aval for v in values])
            return [
                first(o) if s else BatchTracer(self, o) for o, s in zip(outs, same, strict=True)
            ]

        return under(self.outside, applied)

    def over(
        self, function: WithAux[T], args: Sequence[Any], batched: Sequence[bool]
    ) -> tuple[list[Any], T]:
        """Maps a function as `map_again` does; all outputs are batched."""
        pairs, aux = self.map_again(function, args, batched)
        return all_repeated(pairs, self.size), aux

    def map_again(
        self, function: WithAux[T], args: Sequence[Any], batched: Sequence[bool]
    ) -> tuple[list[tuple[Any, bool]], T]:
        """Maps a function that may close over values of this trace, under the current trace.

        Returns: the same as `batch_with_aux`.
        """
        trace = ReopenedTrace(current.trace, self)
        inputs = [BatchTracer(trace, a) if b else a for a, b in zip(args, batched, strict=True)]
        before = current.reopened
        try:
            current.reopened = (*before, self.root)
            outs, aux = mapped(trace, function, inputs)
            return trace.results(trace.adopted(outs)), aux
        finally:
            current.reopened = before
            trace.closed = True

    def results(self, outs: Sequence[Any]) -> list[tuple[Any, bool]]:
        """Outputs of a mapped function as pairs: a value, and whether it is batched."""
        return [
            (o.value, True) if o.__class__ is BatchTracer and o._trace is self else (o, False)
            for o in outs
        ]

    @property
    def root(self) -> "BatchTrace":
        """The trace of the `vmap` that this trace serves: itself, unless a rule has reopened it."""
        return self

    def has_ended(self) -> bool:
        return self.closed and self.root not in current.reopened


class ReopenedTrace(BatchTrace):
    """Maps a user's rule over the axis of a trace that may have ended.

    A rule runs when the derivative is taken. That is later, under a different trace from its
    function, and perhaps in several threads at once. The rule may close over tracers of the trace
    in which it was defined, its root; these count as tracers of this trace. So the root does not
    change, and each run has its own trace.
    """

    __slots__ = ("_root",)

    def __init__(self, outside: Trace, origin: BatchTrace) -> None:
        super().__init__(outside, origin.axis, origin.function)
        self._root = origin.root

    @property
    def root(self) -> BatchTrace:
        return self._root

    def adopted(self, args: Sequence[Any]) -> list[Any]:
        """The values. Tracers of the root and of other runs become tracers of this trace."""
        root = self._root
        return [
            BatchTracer(self, a.value)
            if a.__class__ is BatchTracer and a._trace is not self and a._trace.root is root
            else a
            for a in args
        ]

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        return super().bind(primitive, self.adopted(args), params, out)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: Any,
        args: Sequence[Any],
    ) -> Any:
        return super().bind_custom(primitive, function, rules, self.adopted(args))


class CheckingBatchTrace(BatchTrace):
    """Under `check_tracer_leaks` and `enable_checks`, records the lines that make its tracers and
    checks the results of batch rules."""

    __slots__ = ("made",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.made: dict[
            int, str
        ] = {}  # by the tracer's id; for tracers that are alive the last entry is right

    def bind(
        self, primitive: Primitive, args: Sequence[Any], params: Params, out: Any = None
    ) -> Any:
        result = super().bind(primitive, args, params, out)
        outs = result if primitive.multiple else [result]
        if thread.enable_checks:
            expected = primitive.out(args, params)
            avals = expected if primitive.multiple else [expected]
            check_results(str(primitive), "batch", outs, avals, [a.aval for a in args])
        if thread.check_tracer_leaks:
            place = location_of(primitive.name)
            for x in outs:
                self.made[id(x)] = f"by {place.operation} at {place.line}"
        return result

    def origin(self, tracer: object) -> str:
        return self.made.get(id(tracer), "")


_DEEPEST = 6  # from a rule to a value that it closes over


def holds(x: object, root: BatchTrace, seen: set[int], depth: int = _DEEPEST) -> bool:
    """True if a function is, or closes over, a value that a trace maps."""
    if isinstance(x, BatchTracer):
        return x._trace.root is root
    if depth == 0 or x is None or id(x) in seen:
        return False
    seen.add(id(x))
    inside: Iterable[Any] = ()
    if isinstance(x, FunctionType):
        inside = [content for cell in x.__closure__ or () for content in contents(cell)]
    elif isinstance(x, partial):
        inside = (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, MethodType):
        inside = (x.__func__, *getattr(x.__self__, "__dict__", {}).values())
    elif isinstance(x, (tuple, list)):
        inside = x
    elif isinstance(x, dict):
        inside = x.values()
    return any(holds(y, root, seen, depth - 1) for y in inside)


def contents(cell: CellType) -> tuple[Any, ...]:
    """The content of a cell of a closure, if it was assigned."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def mapped(trace: BatchTrace, function: Callable[..., T], inputs: Any) -> T:
    """The results of a function under a trace. The function's collectives may name the axis."""
    if trace.name is None:
        return under(trace, function, *inputs)
    return within_axis(trace.name, trace.size, under, trace, function, *inputs)


def batch(
    function: Callable[..., Sequence[Any]],
    args: Sequence[Value | None],
    batched: Sequence[bool],
    axis: Axis,
    *,
    about: Callable[..., Any] | None = None,
    keep: bool = False,
) -> list[Any]:
    """Maps `function` over axis 0 of the batched arguments; every output is batched along axis 0.

    With `keep`, outputs that do not depend on the batch are unchanged, and the result is a list
    of pairs (output, whether it is batched).

    Example:
      >>> from weft import extend
      >>> x, y = np.arange(3.0), np.array(2.0)
      >>> extend.batch(lambda x, y: [x * y], [x, y], [True, False], extend.Axis(3))
      [Array([0., 2., 4.], dtype=float32)]
    """
    pairs, _ = batch_with_aux(lambda *xs: (function(*xs), None), args, batched, axis, about=about)
    return pairs if keep else all_repeated(pairs, axis.size)


def batch_with_aux(
    function: WithAux[T],
    args: Sequence[Value | None],
    batched: Sequence[bool],
    axis: Axis,
    *,
    about: Callable[..., Any] | None = None,
) -> tuple[list[tuple[Any, bool]], T]:
    """Maps a function that returns its outputs and another result.

    Returns: a pair (output, whether it is batched) for each output, and the other result. Outputs
      that do not depend on the batch are unchanged.
    """
    kind = CheckingBatchTrace if thread.check_tracer_leaks or thread.enable_checks else BatchTrace
    trace = kind(current.trace, axis, about)
    inputs = [BatchTracer(trace, a) if b else a for a, b in zip(args, batched, strict=True)]
    try:
        outs, aux = mapped(trace, function, inputs)
    finally:
        trace.closed = True
    pairs = trace.results(outs)
    if thread.check_tracer_leaks and about is not None:
        del inputs, outs
        refuse_leaks(trace)
    return pairs, aux


def all_repeated(pairs: Sequence[tuple[Any, bool]], size: int) -> list[Any]:
    """The outputs from pairs (output, whether it is batched). Outputs that are not batched are
    repeated."""
    return [x if is_batched else repeated(x, size) for x, is_batched in pairs]


def first(x: Any) -> Any:
    """The first element of a batch whose elements are all equal."""
    shape, n = x.aval.shape[1:], x.aval.ndim
    one = slice_(x, start=(0,) * n, limit=(1, *shape), strides=(1,) * n)
    return reshape(one, shape=shape)


def repeated(x: Any, size: int) -> Any:
    """A value repeated along a new first axis."""
    return broadcast_in_dim(x, shape=(size, *x.aval.shape), dims=tuple(range(1, x.aval.ndim + 1)))


def with_batch(
    args: Sequence[Any], batched: Sequence[bool], needs_batch: Sequence[bool], size: int
) -> list[Any]:
    """The arguments. An argument that lacks a required batch axis is repeated along a new axis
    0."""
    return [
        repeated(a, size) if w and not b else a
        for a, b, w in zip(args, batched, needs_batch, strict=True)
    ]
