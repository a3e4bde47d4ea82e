"""precision_trace compares a run with a run in float64; PrecisionTrace and Loss are its result."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..compiler.optimized import UNKNOWN, Line
from ..config import enable_x64
from ..core.source import located
from ..interpreters.debugging.nonfinite import float_of
from .findings import Finding
from .located_call import LocatedCall
from .nan_patterns import PATTERNS, Pattern, finding_of
from .nan_rewritings import Fault
from .precision_patterns import PRECISION_PATTERNS
from .two_precisions import Applied, Pair, TwoRuns, high_value, relative_error
from .user_code import MAX_TEXT

__all__ = ["Loss", "PrecisionTrace", "precision_trace"]

JUMP = {"float16": 50.0, "bfloat16": 20.0}
"""The growth of the error that counts as a loss, by dtype; for others 1000, which is three
digits."""


class Loss(NamedTuple):
    """An operation of a run that lost digits, overflowed, or became 0.

    Attributes:
      kind: "loss of digits", "overflow" or "underflow".
      operation: the operation of the user's line; `line`: that line.
      backward: True in the backward pass.
      inside: the loop steps and branches that contain it.
      digits: the number of decimal digits that are lost; infinite for an overflow.
      value: the number with the largest error; `exact`: the same number in float64.
      finding: the line with a remedy, and the rewritten line if the pattern is known.
    Example:
      >>> loss = precision_trace(lambda x: np.log(1 + x), 1e-6).losses[0]
      >>> loss.kind, loss.operation, round(loss.digits), round(loss.value / loss.exact, 2)
      ('loss of digits', 'log', 6, 0.95)
    """

    kind: str
    operation: str
    line: Line
    backward: bool
    inside: tuple[str, ...]
    digits: float
    value: Any
    exact: Any
    finding: Finding


class PrecisionTrace:
    """The operations that make the results of a call inexact. It is false if there are none.

    Attributes:
      losses: the operations, as `Loss`, in the order of the program.
      findings: their findings: line, remedy, and the rewritten line.
      digits: for each result, the number of decimal digits that agree with float64; relative to
        a larger result if the error is negligible beside it.
    Example:
      >>> trace = precision_trace(lambda x: 1 - np.cos(x), 1e-3)
      >>> [round(digits, 1) for digits in trace.digits], trace.losses[0].operation
      ([1.3], 'sub')
    """

    def __init__(self, title: str, losses: Sequence[Loss], digits: Sequence[float]) -> None:
        self.title, self.losses, self.digits = title, [*losses], [*digits]
        self.findings = [loss.finding for loss in losses]

    def __bool__(self) -> bool:
        return bool(self.losses)

    def __str__(self) -> str:
        digits = f"{min(self.digits, default=np.inf):.1f}".replace("inf", "all")
        head = f"{self.title}: the results have {digits} correct digits"
        return "\n".join([head, *map(str, self.findings)])

    __repr__ = __str__


@located
def precision_trace(f: Callable[..., Any], *args: Any, **kwargs: Any) -> PrecisionTrace:
    """Runs a function twice, as it is and in float64, and names the operations that differ.

    Both runs apply one operation at a time, with the same integers and branches. An operation is
    reported if its relative error is 1000 times the error of its inputs (50 times in float16, 20
    times in bfloat16), if it is infinite where float64 is finite, or if it becomes 0; and only if
    its error reaches a result of the function.

    Args:
      f: the function; it may be jitted, or a derivative such as `grad(loss)`.
      args, kwargs: its arguments. Arrays and floating-point numbers are traced and exact; other
        arguments are constants.
    Returns: a `PrecisionTrace`, which is false if nothing is lost. `print` shows the lines, the
      digits that they lose, and rewritten lines.
    Raises: TypeError: `f` is not callable, or an argument is traced.
    Example:
      >>> import weft, weft.numpy as np
      >>> def growth(x):
      ...     return np.exp(x) - 1
      >>> trace = weft.debug.precision_trace(growth, 1e-6)
      >>> print(trace.findings[0].after)
      return np.expm1(x)
    """
    call = LocatedCall("precision_trace", f, args, kwargs)
    with enable_x64(True):
        watcher = Watch(call)
        pairs = [Pair(x, high_value(x)) for x in call.values]
        results = [p for p in TwoRuns(watcher).run(call.jaxpr, pairs) if p.low.aval.inexact]
        results = beside_others(results)
        digits = [max(0.0, -float(np.log10(p.error))) if p.error else np.inf for p in results]
        return PrecisionTrace(call.title, watcher.reaching(results), digits)


def beside_others(results: Sequence[Pair]) -> list[Pair]:
    """The results with their errors; an error that is negligible next to another result is ignored.

    So a derivative that is 0 except for rounding is not reported if others are larger.
    """
    sizes = [abs(float_of(p.high)).max(initial=0.0) for p in results]
    pairs = []
    for i, p in enumerate(results):
        error = relative_error(p.low, p.high, p.low.dtype)
        others = max([size for size in (*sizes[:i], *sizes[i + 1 :]) if size < np.inf], default=0.0)
        with np.errstate(invalid="ignore"):
            difference = abs(float_of(p.low) - float_of(p.high)).max(initial=0.0)
        limit = 10 * float(dtypes.finfo(p.low.dtype).eps) * others
        if 0 < difference <= limit and difference / others < error:
            pairs.append(p._replace(error=float(difference / others), causes=frozenset()))
        else:
            pairs.append(p._replace(error=error))
    return pairs


class Watch:
    """Records losses during both runs, and the values that they affect.

    Attributes:
      growth: for each operation of a line, the sum of the errors that it adds, and the call that
        adds most, to find errors that grow slowly.
    """

    def __init__(self, call: LocatedCall) -> None:
        self.call = call
        self.losses: list[Loss] = []
        self.numbers: dict[Any, int] = {}
        self.growth: dict[Any, tuple[float, float, Applied]] = {}

    def __call__(self, applied: Applied) -> Pair:
        """The output of an operation with its error, and the losses that cause it."""
        out, before = applied.out, applied.before
        dtype = out.low.dtype
        eps = float(dtypes.finfo(dtype).eps)
        error = relative_error(out.low, out.high, dtype)
        causes = frozenset[int]().union(*(p.causes for p in applied.inputs))
        vanished = frozenset[int]().union(*(p.vanished for p in applied.inputs))
        is_loss = error == np.inf > before and not causes
        if is_loss or jump_of(dtype) * max(before, eps / 2) <= error < np.inf:
            kind = "overflow" if error == np.inf else "loss of digits"
            causes |= vanished or self.note(kind, applied, error)
        if error < 100 * eps:
            causes = frozenset()
        if not becomes_zero(out):
            vanished = frozenset()
        elif not vanished:
            vanished = self.note("underflow", applied, np.inf)
        if before < error < np.inf:
            key = key_of(applied)
            total, most, largest = self.growth.get(key, (0.0, 0.0, applied))
            added = error - before
            largest = applied if added > most else largest
            self.growth[key] = total + added, max(most, added), largest
        return out._replace(error=error, causes=causes, vanished=vanished)

    def note(self, kind: str, applied: Applied, error: float) -> frozenset[int]:
        """Records a loss, once for each operation of a line; returns its number."""
        key = kind, key_of(applied)
        if key not in self.numbers:
            self.numbers[key] = len(self.losses)
            self.losses.append(self.loss(kind, applied, error))
        return frozenset([self.numbers[key]])

    def loss(self, kind: str, applied: Applied, error: float) -> Loss:
        """The description of a loss, with the user's statement."""
        place, inputs, low = applied.place, applied.inputs, applied.out.low
        fault = self.call.fault(applied.primitive, place, [p.low for p in inputs], low)
        high = float_of(applied.out.high)
        with np.errstate(all="ignore"):
            distance = np.nan_to_num(abs(fault.output - high), nan=np.inf)
            digits = np.log10(error / max(applied.before, float(dtypes.finfo(low.dtype).eps) / 2))
        worst = np.unravel_index(np.argmax(distance), high.shape)
        loss = Loss(
            kind,
            fault.operation,
            fault.line,
            place.backward,
            applied.inside,
            float(digits),
            fault.output[worst].item(),
            high[worst].item(),
            Finding(kind, fault.line, "", ""),
        )
        return loss._replace(finding=finding(fault, loss))

    def reaching(self, results: Sequence[Pair]) -> list[Loss]:
        """The losses whose errors reach the results."""
        numbers = frozenset[int]()
        for p in results:
            vanished = p.vanished if not float_of(p.low).any() else frozenset[int]()
            limit = jump_of(p.low.dtype) * float(dtypes.finfo(p.low.dtype).eps)
            causes = p.causes | vanished
            if not causes and limit <= p.error < np.inf and self.growth:
                _, _, applied = max(self.growth.values(), key=lambda total: total[0])
                causes = self.note("loss of digits", applied, p.error)
            numbers |= causes
        return [self.losses[n] for n in sorted(numbers)]


def jump_of(dtype: Any) -> float:
    """The growth of the error that counts as a loss."""
    return JUMP.get(dtype.name, 1000.0)


def key_of(applied: Applied) -> Any:
    """A key for the line and the operation."""
    return applied.place[:3], applied.primitive.name


def becomes_zero(pair: Pair) -> bool:
    """True if some elements are 0 because they are too small for the dtype, but not for float64."""
    low, high = float_of(pair.low), abs(float_of(pair.high))
    tiny = float(dtypes.finfo(pair.low.dtype).tiny)
    return bool(((low == 0) & (high > 0) & (high < tiny)).any())


CAUSES = {
    "overflow": "is infinite, and {exact:.3g} in float64",
    "underflow": "is 0, and {exact:.3g} in float64",
    "loss of digits": "loses {digits:.0f} digits: {value:.6g}, and {exact:.6g} in float64",
}
ADVICE = {
    "overflow": "a dtype with a larger range, smaller numbers, or logarithms",
    "underflow": "larger numbers, such as a scaled loss, or logarithms",
    "loss of digits": "a formula that subtracts no nearly equal numbers; sums in a wider dtype",
}


def finding(fault: Fault, loss: Loss) -> Finding:
    """The finding for a loss: a known pattern, or general advice."""
    numbers = {"digits": loss.digits, "value": loss.value, "exact": loss.exact}
    subject = "a sum of derivatives" if loss.line is UNKNOWN else loss.operation
    message = f"{subject} {CAUSES[loss.kind].format(**numbers)}"
    tables: tuple[Sequence[Pattern], ...] = (PRECISION_PATTERNS, PATTERNS)
    if loss.kind == "loss of digits":
        tables = (PRECISION_PATTERNS,)
    for table in tables:
        if known := finding_of([fault], table):
            if known.line != loss.line:
                message = message.replace(" ", f" at {loss.line} ", 1)
            return known._replace(message=f"{known.kind}: {message}", kind=loss.kind)
    before = fault.code.text(fault.statement) if fault.statement is not None else ""
    return Finding(loss.kind, loss.line, message, ADVICE[loss.kind], before[:MAX_TEXT])
