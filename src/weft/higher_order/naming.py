"""Named parts of programs (named_call, named_scope): staged equations become one call with a name.

The rest of the program can use all values of such a part.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.trace import Trace, current
from ..interpreters.linearize import LinearizeTrace
from ..interpreters.stage import StageTrace
from ..primitives.structural import add
from ..programs.hash_consing import hash_consed
from .call import call

T = TypeVar("T")


def recording_trace(trace: Trace) -> StageTrace | None:
    """The innermost surrounding trace that stages a program; `None` if there is none."""
    inner: Trace | None = trace
    while inner is not None and not isinstance(inner, StageTrace):
        inner = inner.outside
    return inner


def named_block(trace: StageTrace, begin: int, name: str, shared: bool = False) -> None:
    """Replaces the equations of a trace from number `begin` on by one named call.

    Args:
      shared: whether equal blocks share one program.
    """
    equations = trace.equations
    if not equations or begin == len(equations):
        return
    block = equations[begin:]
    outvars = [v for e in block for v in e.outvars]
    defined = set(outvars)
    free = [v for e in block for v in e.inputs if type(v) is Var and v not in defined]
    inputs = list(dict.fromkeys(free))
    program = Jaxpr([], [], inputs, block, outvars, name)
    if shared:
        program = hash_consed(program)
    params = (("jaxpr", program), ("named", True))
    equations[begin:] = [Equation(call, inputs, params, outvars)]


def block_to_extend(trace: StageTrace, name: str) -> int | None:
    """The number of the last equation that is not a sum, if it is a block with this name."""
    equations = trace.equations or []
    last = len(equations) - 1
    while last >= 0 and equations[last].primitive is add:  # cotangents
        last -= 1
    params = dict(equations[last].params) if last >= 0 else {}
    return last if params.get("named") and params["jaxpr"].name == name else None


class NamedMap:
    """The linear map of an operation in a named part. Staged equations get the name."""

    __slots__ = ("linear", "name")

    def __init__(self, linear: Any, name: str) -> None:
        self.linear, self.name = linear, name

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NamedMap) and self.linear == other.linear and self.name == other.name
        )

    def __hash__(self) -> int:
        return hash((self.linear, self.name))

    def push(self, residuals: Any, tangents: Any, trace: Trace) -> Any:
        return self.named(self.name, self.linear.push, residuals, tangents, trace)

    def pull(self, residuals: Any, cts: Any, trace: Trace) -> Any:
        return self.named(self.name + "_t", self.linear.pull, residuals, cts, trace)

    @staticmethod
    def named(name: str, run: Callable[..., T], residuals: object, ins: object, trace: Trace) -> T:
        """The result of a map. Its staged equations become a block, or extend the block before."""
        recording = recording_trace(trace)
        if recording is None or recording.equations is None:
            return run(residuals, ins, trace)
        begin = len(recording.equations)
        before = block_to_extend(recording, name)
        result = run(residuals, ins, trace)
        if before is not None and len(recording.equations) > begin:
            block: Jaxpr = dict(recording.equations[before].params)["jaxpr"]
            recording.equations[before : before + 1] = block.equations
            begin = before
        named_block(recording, begin, name)
        return result


def tapes_of(trace: Trace, recording: StageTrace) -> Sequence[tuple[LinearizeTrace, int]]:
    """The traces with tapes inside the recording trace, and the lengths of their tapes."""
    tapes = []
    inner: Trace | None = trace
    while inner is not None and inner is not recording:
        if isinstance(inner, LinearizeTrace):
            tapes.append((inner, len(inner.tape)))
        inner = inner.outside
    return tapes


def under_name(name: str, function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """The result of a function. Its staged equations get a name, including those of its backward
    pass."""
    recording = recording_trace(current.trace)
    if recording is None:
        return function(*args, **kwargs)
    begin = len(recording.equations or ())
    tapes = tapes_of(current.trace, recording)
    result = function(*args, **kwargs)
    named_block(recording, begin, name, shared=True)
    for trace, count in tapes:
        for node in trace.tape[count:]:
            node.linear = NamedMap(node.linear, name + "_linear")
    return result
