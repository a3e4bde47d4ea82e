"""The base trace under switches that check or record every result.

`core/trace.py` puts this trace in place of the base trace under `debug_nans`, `debug_infs`,
`enable_checks`, `debug_key_reuse`, `debug_lines`, `replay_dir` and `default_device`, in the threads
where they are on. So the base trace and its fast paths never test these switches. A call of a
jitted function is one operation here. It runs compiled, and its program is searched only if its
results are bad. Under `replay_dir`, `explanation/failed_calls.py` saves each call first; it is
loaded by name.
"""

import contextlib
import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ... import errors
from ...config import thread
from ...core.array import Array
from ...core.checking import check_results
from ...core.events import CallBegins, EagerOperation, FunctionCall, tell
from ...core.primitive import Primitive
from ...core.source_location import living_arrays_text, note_arrays
from ...core.trace import Params, current, looked_at, watch, watched
from ...extended_dtypes import host_dtype
from ...lazy import Deferred
from ...runtime import client
from ...runtime.failures import size_of
from ...tree_util import tree_leaves
from ...user_lines import user_place
from ..evaluate import EvaluateTrace
from ..plans import OperationPlan
from .key_uses import follow, mark_results
from .nonfinite import is_bad, report

_failed_calls = Deferred("weft.explanation.failed_calls")


class WatchTrace(EvaluateTrace):
    """Runs operations under the base trace, and checks or records their results."""

    __slots__ = ()

    def run(self, plan: Any, args: Any) -> Any:
        if looked_at() or thread.default_device is not None:
            return plan.under(self, args)  # every operation inside is checked
        with memory_errors():
            result = current.base.run(plan, args)
        if thread.debug_lines:
            record(plan_name(plan), args, result)
        return result

    def run_traced(self, traced: Any, flat: Any, values: Sequence[Any]) -> Any:
        if thread.replay_dir:
            run = functools.partial(self.run_reported, traced, flat, values)
            return _failed_calls.recorded(traced.whole_jaxpr, values, run)
        return self.run_reported(traced, flat, values)

    def run_reported(self, traced: Any, flat: Any, values: Sequence[Any]) -> Any:
        """The result of a traced function. Under `debug_lines`, the listener is called."""
        if not thread.debug_lines or flat is None:
            return traced.run(values)
        place = user_place()
        tell(CallBegins(traced))
        begun = time.perf_counter()
        with memory_errors():
            result = traced.run(values)
            outs = [x for x in tree_leaves(result) if isinstance(x, Array)]
            for x in outs:
                x.block_until_ready()
        seconds = time.perf_counter() - begun
        note_arrays(outs, place)
        tell(FunctionCall(flat.function, traced, flat.leaves, outs, place, seconds))
        return result

    def bind(self, primitive: Primitive, args: Any, params: Params, out: Any = None) -> Any:
        if thread.replay_dir and primitive.inside is not None:
            program = _failed_calls.program_of(primitive, args, params)
            run = functools.partial(self.bind_checked, primitive, args, params, out)
            return _failed_calls.recorded(program, args, run)
        return self.bind_checked(primitive, args, params, out)

    def bind_checked(self, primitive: Primitive, args: Any, params: Params, out: Any) -> Any:
        """The results of an operation, after the checks that the switches enable."""
        base = current.base
        marks = follow(primitive, args, params) if thread.debug_key_reuse else []
        if client.chosen_device() is None or not compiles(primitive):
            with memory_errors():
                result = base.bind(primitive, args, params, out)
        else:  # a result on the host would have no device; a compiled one is on the right device
            result = computed_there(primitive, args, params)
        if not watched():  # another thread turned it off for all threads
            watch()
            return result
        outs = result if primitive.multiple else [result]
        if thread.debug_lines:
            record(primitive.name, args, outs)
        if thread.debug_key_reuse:
            mark_results(outs, marks)
        if thread.enable_checks:
            check_elements(primitive, args, params, outs)
        if (thread.debug_nans or thread.debug_infs) and any(map(is_bad, outs)):
            report(primitive, args, params, outs)
        return result


def plan_name(plan: Any) -> str:
    """The name of the operation or the program of a plan."""
    return str(plan.primitive.name if isinstance(plan, OperationPlan) else plan.jaxpr.name)


def record(name: str, args: Sequence[Any], result: Any) -> None:
    """Records the line that made the results of an operation."""
    results = result if isinstance(result, list | tuple) else [result]
    outs = [x for x in results if isinstance(x, Array)]
    place = user_place()
    note_arrays(outs, place)
    tell(EagerOperation(name, args, outs, place))


@contextlib.contextmanager
def memory_errors() -> Iterator[None]:
    """A context in which NumPy's MemoryError lists the largest live arrays by line."""
    try:
        yield
    except MemoryError as error:
        if text := living_arrays_text(size_of):
            error.add_note(text)
        raise


def computed_there(primitive: Primitive, args: Any, params: Params) -> Any:
    """The result of an operation, computed on the device of the switch `default_device`."""
    if primitive.host.execute_rule is not None:
        return primitive.host.execute_rule(args, **dict(params))
    return current.base.plan(primitive, args, params).execute(args)


def compiles(primitive: Primitive) -> bool:
    """True if an operation can be compiled."""
    return primitive.lower_rule is not None or primitive.host.execute_rule is not None


def check_elements(primitive: Primitive, args: Any, params: Params, outs: Any) -> None:
    """Raises an error for results whose types or elements contradict the type rule."""
    expected = primitive.out(args, params)
    avals = expected if primitive.multiple else [expected]
    inputs = [a.aval for a in args]
    check_results(str(primitive), "evaluate or lower", outs, avals, inputs)
    for x, a in zip(outs, avals, strict=True):
        if isinstance(x, Array):
            host = np.asarray(x.host())
            if (host.shape, host.dtype) != (a.shape, host_dtype(a.dtype)):
                actual = f"{host.dtype}{list(host.shape)}"
                raise errors.InvalidJaxprError(
                    f"{primitive}: its evaluate or lower rule must give {a.strong()}, as its type "
                    f"rule says; got {actual}; its inputs: {', '.join(map(str, inputs))}"
                )


watching = WatchTrace()
