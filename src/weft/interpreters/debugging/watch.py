"""The base trace under switches that check every result.

`core/trace.py` puts this trace in place of the base trace under `debug_nans`, `debug_infs`,
`enable_checks`, `debug_key_reuse` and `default_device`, in the threads where they are on. So the
base trace and its fast paths never test these switches. A call of a jitted function is one
operation here: it runs compiled, and its program is searched only if its results are bad.
"""

from typing import Any

import numpy as np

from ... import errors
from ...config import thread
from ...core.array import Array
from ...core.checking import check_results
from ...core.primitive import Primitive
from ...core.trace import Params, current, watch, watched
from ...extended_dtypes import host_dtype
from ...runtime import client
from ..evaluate import EvaluateTrace
from .key_uses import follow, mark_results
from .nonfinite import is_bad, report


class WatchTrace(EvaluateTrace):
    """Lets the base trace compute, and checks the results."""

    __slots__ = ()

    def run(self, plan: Any, args: Any) -> Any:
        return plan.under(self, args)  # every operation inside is checked

    def bind(self, primitive: Primitive, args: Any, params: Params, out: Any = None) -> Any:
        base = current.base
        marks = follow(primitive, args, params) if thread.debug_key_reuse else []
        if client.chosen_device() is None or not compiles(primitive):
            result = base.bind(primitive, args, params, out)
        else:  # results on the host would be on no device; `run_program` puts them on the right one
            result = computed_there(primitive, args, params)
        if not watched():  # turned off for all threads, by another one
            watch()
            return result
        outs = result if primitive.multiple else [result]
        if thread.debug_key_reuse:
            mark_results(outs, marks)
        if thread.enable_checks:
            check_elements(primitive, args, params, outs)
        if (thread.debug_nans or thread.debug_infs) and any(map(is_bad, outs)):
            report(primitive, args, params, outs)
        return result


def computed_there(primitive: Primitive, args: Any, params: Params) -> Any:
    """The result of an operation on the device that the switch `default_device` names."""
    if primitive.host.execute_rule is not None:
        return primitive.host.execute_rule(args, **dict(params))
    return current.base.plan(primitive, args, params).execute(args)


def compiles(primitive: Primitive) -> bool:
    """True if an operation can be compiled."""
    return primitive.lower_rule is not None or primitive.host.execute_rule is not None


def check_elements(primitive: Primitive, args: Any, params: Params, outs: Any) -> None:
    """Refuses results whose types or elements differ from what the type rule states."""
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
