"""Carry a mapped axis along: it is axis 0 of every batched value.

Knows batch rules; knows nothing of in_axes and out_axes trees (`transforms/vmap.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..core.array import Tracer
from ..core.aval import aval
from ..core.trace import Trace, current
from ..primitives.structural import broadcast_in_dim
from .stage import leaked


class BatchTracer(Tracer):
    """A batch of values: `value` has one more axis, its first, than the tracer shows."""

    __slots__ = ("value",)

    def __init__(self, trace: Any, value: Any) -> None:
        a = value.aval
        self._trace, self.value = trace, value
        self.aval = aval(a.shape[1:], a.dtype, a.weak_type)

    def conversion_error(self, operation: str, error: type[Exception]) -> Exception:
        if self._trace.closed:
            return leaked(self._trace, operation, self)
        cure = {
            "bool": "lax.cond or numpy.where instead of if",
            "numpy.asarray": "weft.numpy functions instead of NumPy's",
        }.get(operation, "keep it an array")
        return error(
            f"{operation}: a {self.aval} under vmap stands for {self.value.aval.shape[0]} values "
            f"at once: no single one is known\n  fix: {cure}"
        )

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<batch={self.value}>"

    __str__ = __repr__


class Shared:
    """What a batch rule of several outputs gives for one that is the same for all of the batch."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class BatchTrace(Trace):
    """Runs the batched form of each operation under the trace outside it."""

    __slots__ = ("axis_name", "closed", "function", "outside", "size", "transform")

    def __init__(
        self, outside: Any, size: int, axis_name: Any = None, function: Any = None
    ) -> None:
        self.outside, self.size, self.axis_name = outside, size, axis_name
        self.closed, self.transform, self.function = False, "vmap", function

    def process(self, primitive: Any, args: Any, params: Any, out: Any = None) -> Any:
        values, batched = [], []
        for a in args:
            mine = a.__class__ is BatchTracer and a._trace is self
            values.append(a.value if mine else a)
            batched.append(mine)
        if True not in batched:
            return self.outside.process(primitive, values, params, out)
        if self.closed:
            raise leaked(self, primitive.name)
        if primitive.batch_rule is None:
            raise errors.MissingRuleError(
                f"{primitive}: can't be mapped by vmap: it has no batch rule"
            )
        before = current.trace
        current.trace = self.outside
        try:
            result = primitive.batch_rule(values, batched, self.size, **dict(params))
        finally:
            current.trace = before
        if primitive.multiple:
            return [r.value if r.__class__ is Shared else BatchTracer(self, r) for r in result]
        return BatchTracer(self, result)

    def process_custom(self, primitive: Any, function: Any, rules: Any, args: Any) -> Any:
        """A function with a derivative rule of its own: both are batched."""
        mine = [a.__class__ is BatchTracer and a._trace is self for a in args]
        values = [a.value if m else a for a, m in zip(args, mine, strict=True)]
        if not any(mine):
            return self.outside.process_custom(primitive, function, rules, values)

        def batched_function(*xs: Any) -> list[Any]:
            return self.over(function, xs, mine)

        before = current.trace
        current.trace = self.outside
        try:
            outs = self.outside.process_custom(
                primitive, batched_function, rules.batched(mine, self.over), values
            )
        finally:
            current.trace = before
        return [BatchTracer(self, o) for o in outs]

    def over(self, function: Any, args: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
        """Maps a function, which may close over values of this trace, under the current trace."""
        before, state = current.trace, (self.outside, self.closed)
        self.outside, self.closed, current.trace = before, False, self
        try:
            outs = function(
                *[BatchTracer(self, a) if b else a for a, b in zip(args, batched, strict=True)]
            )
            return [
                o.value
                if o.__class__ is BatchTracer and o._trace is self
                else repeated(o, self.size)
                for o in outs
            ]
        finally:
            current.trace = before
            self.outside, self.closed = state


def batch(
    function: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    batched: Sequence[bool],
    size: int,
    *,
    axis_name: Any = None,
    about: Any = None,
    keep: bool = False,
) -> list[Any]:
    """Maps `function` over axis 0 of the batched arguments; every output is batched along axis 0.

    With `keep`, outputs that don't depend on the batch stay as they are, and the result is a list
    of pairs (output, whether it is batched).
    """
    trace = BatchTrace(current.trace, size, axis_name, about)
    inputs = [BatchTracer(trace, a) if b else a for a, b in zip(args, batched, strict=True)]
    before = current.trace
    current.trace = trace
    try:
        outs = function(*inputs)
    finally:
        current.trace = before
        trace.closed = True
    if keep:
        mine = [o.__class__ is BatchTracer and o._trace is trace for o in outs]
        return [(o.value if m else o, m) for o, m in zip(outs, mine, strict=True)]
    return [
        o.value if o.__class__ is BatchTracer and o._trace is trace else repeated(o, size)
        for o in outs
    ]


def repeated(x: Any, size: int) -> Any:
    """A value with a new first axis, along which it is repeated."""
    return broadcast_in_dim(x, shape=(size, *x.aval.shape), dims=tuple(range(1, x.aval.ndim + 1)))
