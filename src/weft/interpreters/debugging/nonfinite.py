"""Finds the operation that made a NaN or an infinity, and writes the message about it.

A compiled program is run again equation by equation, and so are the programs inside the equation
that made the bad value, down to one operation.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...compiler.simplify import quiet_params
from ...config import debug_infs, debug_nans, thread
from ...core.array import Array, is_shared
from ...core.jaxpr import NO_LABELS, Equation, Jaxpr, Labels, Var
from ...core.primitive import Primitive
from ...core.source_location import SourceLocation, at_location, location_of
from ...core.trace import Params, current
from ...core.value import Value
from ...dtypes import is_inexact
from ...primitives.exponential import pow_
from ...primitives.selection import select_n
from ...primitives.structural import broadcast_in_dim, convert_element_type, reshape
from ...user_lines import noted

MAX_LISTED_ELEMENTS = 5  # elements of an array that a message lists

# These only copy a constant: `np.full(3, np.nan)` does not compute a NaN.
_SPREAD = (broadcast_in_dim, convert_element_type, reshape)


def bad_elements(x: object) -> Any:
    """A mask of the elements that the switches forbid; `None` if the dtype has no such elements."""
    if not isinstance(x, Array) or not x.aval.inexact:
        return None
    host = float_of(x)
    nans, infs = thread.debug_nans, thread.debug_infs
    if nans and infs:
        return ~np.isfinite(host)
    return np.isnan(host) if nans else np.isinf(host)


def float_of(x: Array) -> Any:
    """The elements on the host, in a dtype for which NumPy has `isfinite`."""
    host = np.asarray(x.host())
    return host if host.dtype.kind in "fcbiu" else host.astype(np.float32)  # bfloat16, float8


def is_bad(x: object) -> bool:
    """True if an array has a NaN or infinity that a switch forbids."""
    mask = bad_elements(x)
    return mask is not None and bool(mask.any())


class Operation(NamedTuple):
    """An operation with its arguments and its bad results."""

    primitive: Primitive
    inputs: Sequence[Any]
    outs: Sequence[Any]
    place: SourceLocation
    inside: tuple[str, ...] = ()  # "step 3 of scan", the innermost last

    @property
    def makes(self) -> bool:
        """True if all inputs are good."""
        return not any(map(is_bad, self.inputs))


class Input(NamedTuple):
    """A bad array that enters a program: the number of the input, or `None` for a constant."""

    number: int | None
    array: Any


def report(
    primitive: Primitive, args: Sequence[Value], params: Params, outs: Sequence[Value]
) -> None:
    """Raises FloatingPointError for bad results, naming the first operation that made them.

    Operations that only copy a constant are allowed.
    """
    if primitive in _SPREAD and args[0].aval.ndim == 0 and is_bad(args[0]):
        return
    applied = Operation(primitive, args, outs, location_of(primitive.name))
    if inner_runs_of(primitive) is None:
        raise noted(FloatingPointError(message_about(applied)))
    culprit = culprit_inside(primitive, args, quiet_params(params), ())  # effects are over
    if isinstance(culprit, Operation):
        raise noted(FloatingPointError(message_about(culprit)))
    if culprit is not None:
        raise noted(FloatingPointError(came_in(applied, culprit, params)))
    raise noted(FloatingPointError(compiled_only(applied, params)))


# --- the search ---


class Origin(NamedTuple):
    """The origin of a NaN or an infinity in a program's results.

    Attributes:
      cause: the first operation that made a NaN or an infinity on which the results depend, or the
        input that had it; `None` if only the compiled program makes it.
      nan: the operation that turned the infinity into a NaN, if there is one.
    """

    cause: Operation | Input | None
    nan: Operation | None = None


def nonfinite_origin(jaxpr: Jaxpr, args: Sequence[Value]) -> Origin | None:
    """The origin of a NaN or an infinity in the results of a program; `None` if all are finite.

    An infinity in an input, such as a mask, is the origin only if no operation turns it into a NaN.
    """
    with debug_nans(True), debug_infs(True):
        results, cause = search(jaxpr, args, ())
        if cause is None:
            return Origin(None) if any(map(is_bad, results)) else None
        makes = isinstance(cause, Operation) and cause.makes
    with debug_nans(True), debug_infs(False):
        has_nan = any(map(is_bad, results))
        nan = search(jaxpr, args, ())[1] if has_nan else None
    if isinstance(nan, Operation) and makes:
        return Origin(cause, nan)
    return Origin(cause if makes or nan is None else nan)


def inner_runs_of(primitive: Primitive) -> Callable[..., Any] | None:
    """The rule that runs the programs inside an operation, one after the other."""
    return None if primitive.inside is None else primitive.inside.inner_runs


def culprit_inside(
    primitive: Primitive, args: Sequence[Value], params: Params, steps: tuple[str, ...]
) -> Any:
    """The operation that made the bad results, inside an operation with programs inside.

    Returns: an `Operation`; an `Input` of the operation if the bad value came from there; `None` if
      the results are good when the programs run operation by operation.
    """
    inner_runs = inner_runs_of(primitive)
    assert inner_runs is not None
    runs = inner_runs(args, **dict(params))
    outs = None
    while True:
        try:
            jaxpr, inputs, origins, step = runs.send(outs)
        except StopIteration:
            return None
        outs, culprit = search(jaxpr, inputs, (*steps, step) if step else steps)
        if isinstance(culprit, Input) and culprit.number is not None:
            return Input(origins[culprit.number], culprit.array)
        if culprit is not None:
            return culprit


def search(jaxpr: Jaxpr, args: Sequence[Value], steps: tuple[str, ...]) -> tuple[list[Any], Any]:
    """The results of a program, and the origin of bad results as `culprit_inside` returns it."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    made_by: dict[Any, Any] = {}
    for e in jaxpr.equations:
        inputs = [env[v] if type(v) is Var else v for v in e.inputs]
        with at_location(e.source):
            place = location_of(e.primitive.name)
            outs = current.base.bind(e.primitive, inputs, e.params)
        outs = outs if e.primitive.multiple else [outs]
        env.update(zip(e.outvars, outs, strict=True))
        made_by.update((v, (e, place)) for v in e.outvars)
    results = [env[v] if type(v) is Var else v for v in jaxpr.outvars]
    return results, culprit(jaxpr, env, made_by, steps)


def culprit(jaxpr: Jaxpr, env: Any, made_by: Any, steps: tuple[str, ...]) -> Any:
    """The first equation that returns a bad value from good ones, among those that the program's
    bad results depend on. Bad values that are never used are ignored."""
    waiting = [v for v in jaxpr.outvars if type(v) is Var and is_bad(env[v])]
    seen, makers, sources = set(waiting), [], []
    while waiting:
        v = waiting.pop()
        if v not in made_by:
            sources.append(v)
            continue
        e, place = made_by[v]
        bad = bad_inputs(e, [env[u] if type(u) is Var else u for u in e.inputs])
        if not bad or not any(type(u) is Var for u in bad):
            makers.append((e, place))
        new = [u for u in bad if type(u) is Var and u not in seen]
        seen.update(new)
        waiting += new
    if makers:
        order = {id(e): i for i, e in enumerate(jaxpr.equations)}
        e, place = min(makers, key=lambda pair: order[id(pair[0])])
        inputs = [env[u] if type(u) is Var else u for u in e.inputs]
        if is_factor(jaxpr, e):
            place = place._replace(backward=True)
        if inner_runs_of(e.primitive) is not None:
            with at_location(place):  # for operations without a location
                return culprit_inside(e.primitive, inputs, e.params, steps)
        return Operation(e.primitive, inputs, [env[v] for v in e.outvars], place, steps)
    for v in sources:
        number = jaxpr.invars.index(v) if v in jaxpr.invars else None
        return Input(number, env[v])
    return None


def bad_inputs(e: Equation, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of an equation with bad elements, except those that `select_n` does not select."""
    bad = [is_bad(x) for x in inputs]
    if e.primitive is select_n and sum(bad) > 1:
        which = np.asarray(inputs[0].host())
        for i, x in enumerate(inputs[1:]):
            bad[i + 1] = bad[i + 1] and bool(np.any(bad_elements(x) & (which == i)))
    return [u for u, b in zip(e.inputs, bad, strict=True) if b]


def is_factor(jaxpr: Jaxpr, e: Equation) -> bool:
    """True for an equation that runs in the forward pass but computes a factor of the derivative.

    Such equations follow the operation that is differentiated and have its location. No operation
    of the forward pass uses them.
    """
    used: set[Any] = set()
    for i in reversed(range(len(jaxpr.equations))):
        other = jaxpr.equations[i]
        place = other.source
        if place is None or place.backward:
            continue
        follows = i > 0 and jaxpr.equations[i - 1].source == place
        repeats = place.operation == other.primitive.name and other.primitive is not pow_
        factor = follows and not repeats and used.isdisjoint(other.outvars)
        if other is e:
            return factor
        if not factor:
            used.update(u for u in other.inputs if type(u) is Var)
    return False


# --- messages ---


def message_about(operation: Operation) -> str:
    """The message for an operation that made or passed on a bad value."""
    bad = next(x for x in operation.outs if is_bad(x))
    verb = "made" if operation.makes else "gives"
    first = f"{operation.primitive}: {verb} {kinds(bad)}; {switches_on()} is on"
    return "\n".join([first, *details(operation)])


def details(operation: Operation) -> list[str]:
    """The lines below the first one of a message: where the operation is, its arrays, the fix."""
    return [*description(operation), cure(operation)]


def description(operation: Operation) -> list[str]:
    """The lines of a message about an operation: where it is, and its arrays."""
    primitive, inputs, outs, place, steps = operation
    bad = next(x for x in outs if is_bad(x))
    lines = []
    if not operation.makes:
        where = [f"input {i}" for i, x in enumerate(inputs) if is_bad(x)]
        lines.append(f"  it came in: {', '.join(where)} already has it")
    lines.append(f"  operation: {primitive} in the {pass_over(place)} pass of {place.line}")
    if place.operation != str(primitive):
        lines[-1] += f", for {place.operation} and its derivative"
    if place.parts:
        made_at = f"{os.path.basename(place.parts[-1].file)}:{place.parts[-1].line}"
        names = " > ".join(part.name for part in place.parts)
        lines.append(f"  layer: {names}, made at {made_at}")
    lines += [f"  inside: {step}" for step in steps]
    lines.append(f"  output: {summary(bad)}")
    mask = bad_elements(bad)
    at = np.argwhere(mask)[:MAX_LISTED_ELEMENTS]
    for i, x in enumerate(inputs):
        lines.append(f"  input {i}: {summary(x)}{there(x, at, mask.shape)}")
    return lines


def came_in(applied: Operation, passed: Input, params: Params) -> str:
    """The message for a bad value that a program only passed on."""
    names = labels(params).inputs
    if passed.number is None:
        source = "a constant that it closes over"
    elif passed.number < len(names):
        source = names[passed.number]
    elif any(is_number(x) for x in applied.inputs):
        source = "one of its inputs"  # numbers written in the program are inputs too
    else:
        source = f"its input {passed.number}"
    return (
        f"{title(applied, params)}: gives {kinds(next(x for x in applied.outs if is_bad(x)))}; "
        f"{switches_on()} is on\n"
        f"  it came in with {source}: {summary(passed.array)}\n"
        "  fix: look at where that value was made; no operation inside made it"
    )


def is_number(x: Any) -> bool:
    """True for an array that represents a floating-point number in a program."""
    return isinstance(x, Array) and is_shared(x) and is_inexact(x.aval.dtype)


def compiled_only(applied: Operation, params: Params) -> str:
    """The message for a bad value that only the compiled program produces."""
    number = next(i for i, x in enumerate(applied.outs) if is_bad(x))
    names = labels(params).results
    where = names[number] if number < len(names) else f"result {number}"
    return (
        f"{title(applied, params)}: gives {kinds(applied.outs[number])} in {where}, "
        f"{summary(applied.outs[number])}; {switches_on()} is on\n"
        "  run operation by operation it gives none: the compiled program made it, because XLA "
        "may fuse operations, change their order, or evaluate them in another precision\n"
        "  fix: look for an overflow or a cancellation that depends on the order of operations; "
        "with weft.disable_jit() the function runs un-jitted"
    )


def switches_on() -> str:
    """The names of the switches that forbid the value."""
    return " and ".join(s for s in ("debug_nans", "debug_infs") if getattr(thread, s))


def pass_over(place: SourceLocation) -> str:
    """The pass (forward or backward) over a line to which an operation belongs."""
    return "backward" if place.backward else "forward"


def kinds(x: Any) -> str:
    """The kinds of bad elements in an array, in words."""
    host = float_of(x)
    present = [("a NaN", bool(np.isnan(host).any()) and thread.debug_nans)]
    present.append(("an infinity", bool(np.isinf(host).any()) and thread.debug_infs))
    return " and ".join(word for word, is_present in present if is_present)


def summary(x: object) -> str:
    """Describes an array in one line: its aval, the number of non-finite elements, and the range of
    the others."""
    aval = getattr(x, "aval", None)
    if not isinstance(x, Array) or not x.aval.size:
        return str(aval)
    host = np.asarray(x.host())
    if host.dtype.kind in "biu":
        shown = f" = {host}" if not host.ndim else f", from {host.min()} to {host.max()}"
        return f"{aval}{shown}"
    host = float_of(x)
    if not host.ndim:
        return f"{aval} = {host:.6g}"
    nans, infs = int(np.isnan(host).sum()), int(np.isinf(host).sum())
    parts = [f"{n} of {host.size} are {word}" for n, word in ((nans, "nan"), (infs, "inf")) if n]
    finite = host[np.isfinite(host)]
    if finite.size and host.dtype.kind == "c":
        parts.append(f"absolute values from {abs(finite).min():.6g} to {abs(finite).max():.6g}")
    elif finite.size:
        others = "the others " if nans or infs else ""
        parts.append(f"{others}from {finite.min():.6g} to {finite.max():.6g}")
    first = np.argwhere(np.isnan(host) if nans else np.isinf(host))
    if len(first):
        parts.append(f"the first at {[int(i) for i in first[0]]}")
    return f"{aval}, {', '.join(parts)}"


def there(x: object, at: Any, shape: tuple[int, ...]) -> str:
    """The elements of an input at the indices of bad outputs, if the shapes agree."""
    if not isinstance(x, Array) or x.aval.shape != shape or not shape:
        return ""
    host = np.asarray(x.host())
    shown = [f"{[int(i) for i in place]} is {host[tuple(place)]}" for place in at]
    return "; " + ", ".join(shown)


_CURES = {
    "log": "keep the argument positive: np.log(np.maximum(x, tiny))",
    "sqrt": "its derivative at 0 is infinite: keep the argument away from 0, before the root",
    "div": "keep the divisor away from 0, by np.where around the divisor too",
    "pow": "a power of a negative base or of 0: choose a safe base by np.where before the power",
}


def cure(operation: Operation) -> str:
    """The suggested fix."""
    if not operation.makes:
        return "  fix: look at where that input was made"
    name = operation.place.operation
    fix = _CURES.get(str(operation.primitive)) or _CURES.get(name)
    arrays = [float_of(x) for x in operation.inputs if isinstance(x, Array)]
    at_edge = not all(np.isfinite(x).all() for x in arrays)
    if operation.place.backward and at_edge:
        fix = (
            "an infinite derivative is multiplied by the 0 of a branch that np.where did not "
            "choose: give the operation a safe argument by an np.where before it"
        )
    return f"  fix: {fix or 'keep the inputs in the range where the operation is finite'}"


def title(applied: Operation, params: Params) -> str:
    """The name of an operation; for a call, the name of the program."""
    inner: Any = params[0][1] if params else None
    return inner.name if isinstance(inner, Jaxpr) else str(applied.primitive)


def labels(params: Params) -> Labels:
    """The names of inputs and results of the first program in an operation's parameters."""
    inner: Any = params[0][1] if params else None
    return inner.labels if isinstance(inner, Jaxpr) else NO_LABELS
