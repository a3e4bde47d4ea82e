"""nan_trace names the operation that made a NaN or an infinity, and the line: a NanTrace."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as onp

from .. import numpy as np
from ..compiler.optimized import UNKNOWN, Line
from ..config import debug_infs, debug_nans
from ..core.array import Array
from ..core.jaxpr import Jaxpr, run
from ..core.source import located
from ..core.trace import current
from ..errors import WeftError
from ..interpreters.debugging.nonfinite import (
    Input,
    Operation,
    Origin,
    cure,
    description,
    float_of,
    kinds,
    nonfinite_origin,
    summary,
)
from ..transforms.derivatives import grad
from ..transforms.tracing import located_program
from .findings import Finding
from .located_call import LocatedCall
from .nan_patterns import finding_of
from .nan_rewritings import Fault, overflows
from .user_code import MAX_TEXT

__all__ = ["NanTrace", "nan_trace"]


@dataclass(frozen=True, eq=False, repr=False)
class NanTrace:
    """The operation that made the first NaN or infinity of a call. It is false if there is none.

    Attributes:
      title: the name of the function; `text`: the lines of the description.
      operation: the name of the operation; empty if an argument or a constant had the number.
      line: the user's line that applied it.
      backward: True in the backward pass.
      inputs: the operation's inputs, as NumPy arrays; `output`: its output.
      inside: the loop steps and branches that contain it: `("step 3 of scan",)`.
      layer: the layers that contain it: `Serial > Dense`; empty outside of layers.
      argument: the name of the argument that already had the number: `params['w']`; empty if an
        operation made it.
      finding: the cause and the remedy, with the rewritten line if the pattern is known, as a
        `Finding`; None if all numbers are finite.
      searched_backward: False if the results cannot be differentiated, or are bad themselves.
    Example:
      >>> import weft.numpy as np
      >>> trace = nan_trace(lambda x: np.log(x), np.array([1.0, 0.0]))
      >>> trace.operation, trace.backward, trace.inputs[0]
      ('log', False, array([1., 0.], dtype=float32))
    """

    title: str
    operation: str = ""
    line: Line = UNKNOWN
    backward: bool = False
    inputs: tuple[Any, ...] = ()
    output: Any = None
    inside: tuple[str, ...] = ()
    layer: str = ""
    argument: str = ""
    finding: Finding | None = None
    searched_backward: bool = False
    text: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.finding is not None

    def __str__(self) -> str:
        if self.finding is None:
            scope = "all results and derivatives" if self.searched_backward else "all results"
            return f"{self.title}: {scope} are finite"
        return "\n".join([*self.text, str(self.finding)])

    __repr__ = __str__


@located
def nan_trace(f: Callable[..., Any], *args: Any, **kwargs: Any) -> NanTrace:
    """Runs a function operation by operation, and names the first that makes a NaN or an infinity.

    If all results are finite, the derivatives of their sum are searched too, with respect to all
    floating-point arguments. A bad number that does not reach a result is not reported. The
    known causes, such as `np.where` over a root, have a rewritten line.

    Args:
      f: the function; it may be jitted, or a derivative such as `grad(loss)`.
      args, kwargs: its arguments. Arrays and floating-point numbers are traced; other arguments,
        such as integers, are constants.
    Returns: a `NanTrace`, which is false if all numbers are finite. `print` shows the operation,
      its arrays, the cause and the rewritten line.
    Raises: TypeError: `f` is not callable, or an argument is traced. Errors of tracing: `f` needs
      elements of its arguments, for example in a Python branch.
    Example:
      >>> import weft, weft.numpy as np
      >>> def loss(x):
      ...     return np.sum(np.where(x > 0, np.sqrt(x), 0.0))
      >>> trace = weft.debug.nan_trace(loss, np.array([4.0, 0.0]))
      >>> trace.operation, trace.backward, trace.finding.kind
      ('div', True, 'where over a singular operation')
      >>> print(trace.finding.after)
      return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))
    """
    call = LocatedCall("nan_trace", f, args, kwargs)
    is_backward = False
    origin = nonfinite_origin(call.jaxpr, call.values)
    if origin is None and (program := gradient_program(call)) is not None:
        is_backward = True
        origin = nonfinite_origin(program, call.values)
    if origin is None:
        return NanTrace(call.title, searched_backward=is_backward)
    if isinstance(origin.cause, Operation):
        return trace_of_operation(call, origin, is_backward)
    if isinstance(origin.cause, Input):
        return trace_of_input(call, origin.cause)
    message = "a compiled function gives a NaN or an infinity, but its operations one by one do not"
    advice = "look for an overflow or a cancellation that depends on the order of operations"
    finding = Finding("compiled program only", call.definition, message, advice)
    text = (f"{call.title}: {message}",)
    return NanTrace(call.title, backward=is_backward, finding=finding, text=text)


def gradient_program(call: LocatedCall) -> Jaxpr | None:
    """The derivative of the sum of all results; `None` if it does not exist."""

    def total(*values: Any) -> Any:
        sums = [np.zeros((), onp.float32)]
        for out in run(call.jaxpr, values, current.trace):
            if out.aval.inexact:
                sums += [np.sum(np.real(out)).astype(onp.float32)]
                sums += [np.sum(np.imag(out)).astype(onp.float32)] if np.iscomplexobj(out) else []
        return sum(sums)

    numbers = [i for i, x in enumerate(call.values) if np.issubdtype(x.dtype, onp.floating)]
    if not numbers or not any(a.inexact for a in call.jaxpr.out_avals):
        return None
    try:
        return located_program("nan_trace", grad(total, numbers), call.values, {})
    except (WeftError, TypeError, ValueError, NotImplementedError):  # has no derivative
        return None


def trace_of_input(call: LocatedCall, cause: Input) -> NanTrace:
    """The trace of a number that was in an argument or a constant."""
    output = float_of(cause.array)
    word = "a NaN" if onp.isnan(output).any() else "an infinity"
    argument = "" if cause.number is None else call.names[cause.number]
    source = argument or "a constant of the function"
    if argument:
        advice = "look at where that argument was made; no operation inside made it"
    else:
        advice = "look at the arrays that the function closes over"
    kind = "bad argument" if argument else "bad constant"
    return NanTrace(
        call.title,
        output=output,
        argument=argument,
        finding=Finding(kind, call.definition, f"{source} has {word} already", advice),
        text=(f"{call.title}: {word} comes in with {source}", f"  {summary(cause.array)}"),
    )


def trace_of_operation(call: LocatedCall, origin: Origin, is_backward: bool) -> NanTrace:
    """The trace of an operation.

    Args:
      is_backward: True if the results themselves are finite. Factors of derivatives, which are
        computed in the forward pass, then belong to the backward pass.
    """
    assert isinstance(origin.cause, Operation)
    operations = [origin.cause, *([origin.nan] if origin.nan is not None else [])]
    if is_backward:
        operations = [o._replace(place=o.place._replace(backward=True)) for o in operations]
    first, name = operations[0], operations[0].primitive.name
    faults = [fault_of(call, operation) for operation in operations]
    with debug_nans(True), debug_infs(True):
        bad = next(x for x in first.outs if not onp.isfinite(float_of(x)).all())
        text = [f"{call.title}: {name} made {kinds(bad)}", *description(first)]
        advice = cure(first).removeprefix("  fix: ")
    for nan in operations[1:]:
        text.append(f"  the infinity becomes a NaN in {nan.primitive} at {nan.place.line}")
    return NanTrace(
        call.title,
        name,
        faults[0].line,
        first.place.backward,
        tuple(faults[0].inputs),
        faults[0].output,
        first.inside,
        " > ".join(part.name for part in first.place.parts),
        finding=finding_of(faults) or unknown_pattern(faults[0], advice),
        searched_backward=is_backward,
        text=tuple(text),
    )


def fault_of(call: LocatedCall, operation: Operation) -> Fault:
    """An operation with its first bad result."""
    floats = [x for x in operation.outs if isinstance(x, Array) and x.aval.inexact]
    output = next((x for x in floats if not onp.isfinite(float_of(x)).all()), floats[0])
    return call.fault(operation.primitive, operation.place, operation.inputs, output)


def unknown_pattern(fault: Fault, advice: str) -> Finding:
    """The finding for an operation whose line has no known pattern."""
    before = fault.code.text(fault.statement) if fault.statement is not None else ""
    kind = f"{fault.operation} out of range"
    message = f"{fault.operation} is not finite for these inputs"
    if not overflows(fault):
        kind, message = "infinity that comes in", f"{fault.operation} gets an infinity"
    elif not onp.isnan(fault.output).any() and fault.operation in LARGE:
        kind = f"overflow of {fault.dtype}"
        message = f"the result of {fault.operation} is above the largest number of {fault.dtype}"
        advice = "smaller numbers, logarithms, or a dtype with a larger range"
    return Finding(kind, fault.line, message, advice, before[:MAX_TEXT])


LARGE = {"mul", "add", "integer_pow", "reduce_sum", "dot_general", "cumprod", "reduce_prod", "sub"}
"""Operations that are infinite for finite inputs only if the result is too large."""
