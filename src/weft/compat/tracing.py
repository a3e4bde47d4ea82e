"""JAX's functions for inspecting traces and for partial evaluation, for libraries that use them."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from ..core.array import Tracer, as_value
from ..core.aval import Aval
from ..core.jaxpr import run
from ..core.primitive import Primitive
from ..core.trace import Params, Trace, current, under
from ..core.value import Value
from ..extend.core import get_opaque_trace_state
from ..extend.linear_util import WrappedFun
from ..higher_order.applying import AppliesJaxpr


class PartialVal(tuple[Any, Any]):
    """An unknown value with its aval, or a known value."""

    @classmethod
    def unknown(cls, aval: Any) -> "PartialVal":
        """A value whose aval alone is known."""
        return cls((aval, None))

    @classmethod
    def known(cls, value: Any) -> "PartialVal":
        """A known value."""
        return cls((None, value))

    def is_known(self) -> bool:
        """True if the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value."""
        return self[1]

    def get_aval(self) -> Aval:
        """The aval."""
        return as_value(self[1]).aval if self[0] is None else self[0]


class UnknownTracer(Tracer):
    """A value whose aval alone is known."""

    __slots__ = ()

    def __init__(self, trace: Trace, aval: Aval) -> None:
        self._trace, self.aval = trace, aval


class PartialTrace(Trace):
    """Computes operations on known values, and only the avals of operations on unknown values."""

    outside: Trace
    __slots__ = ("outside",)
    transform = "partial evaluation"

    def __init__(self, outside: Trace) -> None:
        self.outside = outside

    def bind(
        self, primitive: Primitive, args: Sequence[Value], params: Params, out: Any = None
    ) -> Any:
        if not any(isinstance(a, UnknownTracer) and a._trace is self for a in args):
            return under(self.outside, self.outside.bind, primitive, args, params, out)
        if isinstance(primitive.inside, AppliesJaxpr):  # known parts inside are computed
            return run(dict(params)["jaxpr"], args, self)
        avals = primitive.out(args, params) if out is None else out
        if primitive.multiple:
            return [UnknownTracer(self, aval) for aval in avals]
        return UnknownTracer(self, avals)

    def bind_custom(
        self,
        primitive: Primitive,
        function: Callable[..., list[Value]],
        rules: object,
        args: Sequence[Value],
    ) -> list[Value]:
        """Runs the function."""
        return under(self, function, *args)


def trace_to_jaxpr_nounits(
    function: Any, inputs: Sequence[PartialVal], instantiate: bool = False
) -> tuple[None, list[PartialVal], None]:
    """Computes the results of a function that do not depend on its unknown inputs. Operations on
    unknown values are not computed, so they cost no memory.
    """
    trace = PartialTrace(current.trace)
    values = [
        as_value(value) if aval is None else UnknownTracer(trace, aval) for aval, value in inputs
    ]
    results = under(trace, function.call_wrapped, *values)
    outs = [
        PartialVal.unknown(value.aval)
        if isinstance(value, UnknownTracer)
        else PartialVal.known(value)
        for value in results
    ]
    return None, outs, None


class TraceTag:
    """Identifies the tracers of one trace. weft distinguishes tracers by their trace."""


class TraceStack:
    """JAX's stack of traces of 2024; libraries read its top."""

    def __getitem__(self, index: int) -> SimpleNamespace:
        return SimpleNamespace(trace_type=None, level=get_opaque_trace_state())


thread_local_state = SimpleNamespace(
    trace_state=SimpleNamespace(trace_stack=SimpleNamespace(stack=TraceStack()))
)


def find_top_trace(values: Sequence[Any]) -> SimpleNamespace:
    """The innermost trace of values, and an object that differs if the current trace differs."""
    traces = [value._trace for value in values if isinstance(value, Tracer)]

    def depth(trace: Any) -> int:
        return 0 if trace.outside is None else 1 + depth(trace.outside)

    return SimpleNamespace(
        level=get_opaque_trace_state(), main=max(traces, key=depth) if traces else None
    )


@contextlib.contextmanager
def take_current_trace() -> Iterator[Any]:
    """A context manager that returns the current trace."""
    yield current.trace


@contextlib.contextmanager
def set_current_trace(trace: Any, check_leaks: bool = False) -> Iterator[None]:
    """A context manager for the current trace; raises an error for another trace."""
    if trace is not current.trace:
        raise NotImplementedError("set_current_trace: weft sets traces by extend.under(trace, f)")
    yield


def trace_state_clean() -> bool:
    """True outside any transformation."""
    return bool(current.trace.computes)


def valid_jaxtype(x: object) -> bool:
    """True for arrays, tracers and numbers."""
    try:
        as_value(x)
    except TypeError:
        return False
    return True


def raise_to_shaped(aval: Aval, weak_type: bool | None = None) -> Aval:
    """The aval unchanged, because weft's avals have no values."""
    return aval if weak_type is None else aval.update(weak_type=weak_type)


def mapped_aval(size: int, axis: int | None, aval: Aval) -> Aval:
    """The aval of one element along an axis."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, *args: Any) -> Aval:
    """The aval with a new axis of this size; called (size, axis, aval) or (size, name, axis,
    aval)."""
    *_, axis, aval = args
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def infer_argnums_and_argnames(
    signature: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Completes positions by names and vice versa, for parameters such as `static_argnums`."""
    positional = [
        p.name
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    names = (argnames,) if isinstance(argnames, str) else argnames
    if numbers is None:
        numbers = [i for i, name in enumerate(positional) if name in (names or ())]
    if names is None:
        names = [positional[i] for i in numbers if -len(positional) <= i < len(positional)]
    return tuple(numbers), tuple(names)


def debug_info(*args: Any, **kwargs: Any) -> None:
    """Returns None, because weft finds the names for messages itself."""


def api_boundary(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The function unchanged, because weft filters its own frames."""
    return function if function is not None else lambda f: f


def transformation(generator: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Decorates a generator that yields the arguments for a function, and then the results.

    `transformation(generator)(function, *parameters)` is the transformed function.
    """

    def transformed(function: WrappedFun, *parameters: Any) -> WrappedFun:
        def call(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*parameters, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(function.call_wrapped(*inner_args, **inner_kwargs))

        return WrappedFun(call, {})

    return transformed


def transformation2(transform: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Decorates a function (f, *parameters, *args) that calls `f` and returns the results."""

    def transformed(function: WrappedFun, *parameters: Any) -> WrappedFun:
        return WrappedFun(functools.partial(transform, function.call_wrapped, *parameters), {})

    return transformed


class StoreException(Exception):
    """A `Store` is read before it has a value, or gets a second one."""


class Store:
    """Holds the second result of a transformation after the transformed function was called."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, value: Any) -> None:
        """Sets the value."""
        if self._values:
            raise StoreException("the store has a value already")
        self._values.append(value)

    @property
    def val(self) -> Any:
        """The value."""
        if not self._values:
            raise StoreException("the store has no value: the function was not called")
        return self._values[0]


Transformed = tuple[WrappedFun, Callable[[], Any]]


def transformation_with_aux(generator: Callable[..., Any]) -> Callable[..., Transformed]:
    """Decorates a generator that yields the arguments for a function, and then a pair: the results
    and a value besides.

    `transformation_with_aux(generator)(function, *parameters)` is the transformed function, and a
    function that returns this value after the call.
    """

    def transformed(function: WrappedFun, *parameters: Any) -> Transformed:
        store = Store()

        def call(*args: Any, **kwargs: Any) -> Any:
            steps = generator(*parameters, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            results, aux = steps.send(function.call_wrapped(*inner_args, **inner_kwargs))
            store.store(aux)
            return results

        return WrappedFun(call, {}), lambda: store.val

    return transformed


def transformation_with_aux2(transform: Callable[..., Any]) -> Callable[..., Transformed]:
    """Decorates a function (f, store, *parameters, *args) that calls `f`, puts a value in the
    `Store`, and returns the results."""

    def transformed(function: WrappedFun, *parameters: Any) -> Transformed:
        store = Store()
        call = functools.partial(transform, function.call_wrapped, store, *parameters)
        return WrappedFun(call, {}), lambda: store.val

    return transformed
