"""replay runs a failed call again, equation by equation, and stops where it fails; it returns a
Replay.

The switch `replay_dir` saves such calls in files (`failed_calls.py`). Each operation runs as it
does outside of `jit`; loops run compiled. If an operation raises an error, the programs inside it
run equation by equation too, down to a single operation. NaNs are found as under `debug_nans`
(`interpreters/debugging/nonfinite.py`).
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.compiled import run_jaxpr
from ..config import config
from ..core.caching import cached_on_program
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from ..core.source_location import SourceLocation, at_location, location_of
from ..core.trace import current, with_locations
from ..experimental.checkify.primitive import check_p
from ..higher_order.call import call
from ..higher_order.shard_map import Mapping
from ..interpreters.debugging.nonfinite import (
    Input,
    Operation,
    details,
    inner_runs_of,
    is_bad,
    pass_over,
    search,
    summary,
)
from ..primitives.callbacks import HostFunction
from ..programs.shard_map_as_vmap import shard_map_as_vmap
from .program_file import FailedFunction, ForeignPlace, Missing, MissingFunction, MissingPrimitive
from .replay_file import AROUND, SavedCall, installed, read_call

__all__ = ["Replay", "replay"]

LARGE = 1 << 30
"""Arrays with this many elements or more are described without their smallest and largest ones."""

Announce = Callable[[str], None]
"""A function that is called with the text of each operation before it runs."""


class Failure(Exception):
    """An operation of a program failed.

    Attributes:
      operation: the operation; `reason`: the text of its error.
      is_missing: True if a part of the user's program is not in the file.
    """

    def __init__(self, operation: Operation, reason: str, is_missing: bool) -> None:
        super().__init__(reason)
        self.operation, self.reason, self.is_missing = operation, reason, is_missing


@dataclass(frozen=True)
class Replay:
    """The result of running a failed call again.

    Attributes:
      kind: "error", "NaN" or "infinity": an operation made it; "check": a check of `checkify`
        failed; "argument": an argument or a constant has a NaN or an infinity; "missing": the file
        does not contain a Python function that the operation calls, or the module that defines
        it; "none": nothing failed.
      equation: the name of the operation, and `line` the user's line, such as "model.py:12, in
        loss"; empty if there is none.
      backward: True if the operation belongs to the backward pass of the line.
      inside: the loop steps and branches that contain it, outermost first.
      inputs, outputs: its arrays; no outputs if it raised an error.
      reason: the text of the error, or the name of the argument or of the missing part.
      call: the saved call: the program, its arguments, its place, versions.
    """

    kind: str
    equation: str
    line: str
    backward: bool
    inside: tuple[str, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    reason: str
    call: SavedCall
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def replay(path: str | os.PathLike[str], *, compiled: bool = False) -> Replay:
    """Runs a failed call again, operation by operation, and stops at the operation that fails.

    Args:
      path: a file saved under the switch `replay_dir`.
      compiled: whether to run the compiled program too, if no operation fails, and to compare.
    Returns: a `Replay`; `print` shows it.
    Raises: ValueError: the file is damaged, of another kind, or of a newer version of weft.
      FileNotFoundError: there is no such file.
    Example:
      >>> import os, tempfile, weft
      >>> from weft import explanation
      >>> folder = tempfile.mkdtemp()
      >>> with weft.config.temporarily(replay_dir=folder, debug_nans=True):
      ...     try:
      ...         weft.jit(lambda x: np.log(x - 2.0) + 1.0)(1.0)
      ...     except FloatingPointError:
      ...         print(len(os.listdir(folder)), "file")
      1 file
      >>> again = explanation.replay(os.path.join(folder, os.listdir(folder)[0]))
      >>> again.kind, again.equation, again.inputs
      ('NaN', 'log', (Array(-1., dtype=float32, weak_type=True),))
    """
    return replayed(path, compiled, None, False)


def replayed(
    path: str | os.PathLike[str], compiled: bool, announce: Announce | None, deep: bool
) -> Replay:
    """See `replay`.

    Args:
      announce: called with the text of each operation before it runs.
      deep: whether the programs inside operations run equation by equation before they run
        compiled, to find the operation that ends the process.
    """
    saved = read_call(path)
    switches = saved.switches | {"replay_dir": None, "disable_jit": False}
    kind, _ = saved.outcome or ("", "")
    flags = [(True, False), (False, True)] if kind == "infinity" else [(True, False)]
    if saved.switches["debug_nans"] or saved.switches["debug_infs"]:
        flags = [(saved.switches["debug_nans"], saved.switches["debug_infs"])]
    program = with_locations(without_places, saved.program)
    run = Run(saved, announce, deep)
    with config.temporarily(**switches):
        try:
            results = run.program(program, saved.arguments, ())
        except Failure as failure:
            return failed(saved, failure)
        for nans, infs in flags:
            with config.temporarily(debug_nans=nans, debug_infs=infs):
                if any(map(is_bad, results)):
                    _, culprit = search(program, saved.arguments, ())
                    if culprit is not None:
                        return nonfinite(saved, culprit, "NaN" if nans else "infinity")
        if kind == "check":
            return failed_check(saved)
        lines = [*passed(saved, program, compiled)]
        if compiled:
            if announce is not None:
                announce("  the compiled program")
            lines += compared(program, saved.arguments, results)
        return result(saved, "none", None, "", lines)


class Run:
    """Runs programs equation by equation, and raises Failure at the first one that fails."""

    def __init__(self, saved: SavedCall, announce: Announce | None, deep: bool) -> None:
        self.saved, self.announce, self.deep = saved, announce, deep

    def program(self, jaxpr: Jaxpr, args: Sequence[Any], steps: tuple[str, ...]) -> list[Any]:
        """The results of a program."""
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        for e in jaxpr.equations:
            inputs = [env[v] if type(v) is Var else v for v in e.inputs]
            with at_location(e.source):
                outs = self.equation(e, inputs, steps)
            env.update(zip(e.outvars, outs if e.primitive.multiple else [outs], strict=True))
        return [env[v] if type(v) is Var else v for v in jaxpr.outvars]

    def equation(self, e: Equation, inputs: Sequence[Any], steps: tuple[str, ...]) -> Any:
        """The results of an equation."""
        operation = Operation(e.primitive, inputs, (), location_of(e.primitive.name), steps)
        if self.announce is not None:
            self.announce(operation_text(operation, self.saved))
        if isinstance(e.primitive, MissingPrimitive):
            raise Failure(operation, f"{e.primitive}, of the module {e.primitive.module}", True)
        has_programs = inner_runs_of(e.primitive) is not None
        try:
            if has_programs and self.deep:
                self.inner_programs(e, inputs, steps)
            return current.base.bind(e.primitive, inputs, e.params)
        except Failure:
            raise
        except Exception as error:  # any error is the failure
            if has_programs:
                self.inner_programs(e, inputs, steps)
            if isinstance(error, MissingFunction):
                raise Failure(operation, str(error), True) from None
            if names := [name for name, x in e.params if has(Missing, x)]:
                raise Failure(operation, f"its parameter {', '.join(names)}", True) from None
            if isinstance(error, FailedFunction):
                reason = f"the Python function {error} raised the error"
                raise Failure(operation, reason, False) from None
            raise Failure(operation, f"{type(error).__name__}: {error}", False) from error

    def inner_programs(self, e: Equation, inputs: Sequence[Any], steps: tuple[str, ...]) -> None:
        """Runs the programs inside an operation, one after the other."""
        inner_runs = inner_runs_of(e.primitive)
        assert inner_runs is not None
        runs = inner_runs(inputs, **dict(e.params))
        outs = None
        while True:
            try:
                jaxpr, args, _, step = runs.send(outs)
            except StopIteration:
                return
            outs = self.program(jaxpr, args, (*steps, step) if step else steps)


def has(kind: type, value: Any) -> bool:
    """True for a parameter that contains an object of a class, also inside programs."""
    if isinstance(value, Jaxpr):
        return has_inside(value, kind)
    return isinstance(value, kind) or (
        isinstance(value, tuple) and any(has(kind, item) for item in value)
    )


@cached_on_program
def has_inside(jaxpr: Jaxpr, kind: type) -> bool:
    """True if a parameter of an equation of a program contains an object of a class."""
    return any(has(kind, x) for e in jaxpr.equations for _, x in e.params)


# --- placements ---


@cached_on_program
def without_places(jaxpr: Jaxpr) -> Jaxpr:
    """The program for one device, without the devices of the process that saved it.

    A map over devices becomes a `vmap`, which computes the same results.
    """
    if not has_inside(jaxpr, ForeignPlace):
        return jaxpr
    aliases: dict[Any, Any] = {}
    equations = []
    for e in jaxpr.equations:
        inputs = [aliases.get(v, v) if type(v) is Var else v for v in e.inputs]
        params = {name: placeless(x) for name, x in e.params}
        places = [name for name, x in params.items() if isinstance(x, ForeignPlace)]
        primitive = e.primitive
        if places and primitive.name in ("device_put", "sharding_constraint"):
            aliases[e.outvars[0]] = inputs[0]
            continue
        if places and primitive.name == "shard_map":
            mapping = Mapping(**{name: params[name] for name in Mapping._fields})
            specs = mapping.in_specs, mapping.out_specs
            avals = [v.aval for v in inputs]
            inner = shard_map_as_vmap(params["jaxpr"], avals, *specs, mapping.axes)
            primitive, params = call, {"jaxpr": inner.without_consts()}
            inputs = [*inner.consts, *inputs]
        else:
            for name in places:  # the device of a call
                del params[name]
        named = type(e.params)(params.items())
        equations.append(Equation(primitive, inputs, named, e.outvars, e.source))
    outvars = [aliases.get(v, v) if type(v) is Var else v for v in jaxpr.outvars]
    return jaxpr.replace(equations=equations, outvars=outvars, labels=jaxpr.labels)


def placeless(value: Any) -> Any:
    """A parameter with devices removed from its programs."""
    if isinstance(value, Jaxpr):
        return without_places(value)
    if not isinstance(value, tuple) or isinstance(value, ForeignPlace | Missing):
        return value
    items = map(placeless, value)
    return value._make(items) if hasattr(value, "_make") else tuple(items)


# --- the text ---


def failed(saved: SavedCall, failure: Failure) -> Replay:
    """The replay that stops at an operation that raised an error, or that is missing."""
    o = failure.operation
    if failure.is_missing:
        lines = [f"stops at {o.primitive}: the file does not contain {failure.reason}"]
        fix = "  fix: import the module that defines it, then call weft.explanation.replay"
        fix = fix if isinstance(o.primitive, MissingPrimitive) else ""
    else:
        lines = [f"stops at {o.primitive}: {failure.reason}"]
        fix = ""
    lines += place_lines(o) + source_lines(saved, o.place)
    lines += [
        f"  input {i}: {summary(x) if x.size < LARGE else x.aval}" for i, x in enumerate(o.inputs)
    ]
    kind = "missing" if failure.is_missing else "error"
    return result(saved, kind, o, failure.reason, [*lines, *filter(None, [fix])])


def operation_text(operation: Operation, saved: SavedCall) -> str:
    """The text of an operation that is about to run."""
    inputs = [f"  input {i}: {x.aval}" for i, x in enumerate(operation.inputs)]
    lines = [*place_lines(operation), *source_lines(saved, operation.place), *inputs]
    return "\n".join(lines)


def place_lines(operation: Operation) -> list[str]:
    """The user's line of an operation, and the loop steps that contain it."""
    place = operation.place
    line = f"  operation: {operation.primitive} in the {pass_over(place)} pass of {place.line}"
    return [line, *[f"  inside: {step}" for step in operation.inside]]


def nonfinite(saved: SavedCall, culprit: Operation | Input, kind: str) -> Replay:
    """The replay that stops where an operation makes a NaN or an infinity, or an input has one."""
    article = "an" if kind == "infinity" else "a"
    if isinstance(culprit, Input):
        labels = saved.program.labels
        source = "a constant that it closes over"
        if culprit.number is not None:
            source = labels.argument(culprit.number) or f"argument {culprit.number}"
        text = f"{article} {kind} comes in with {source}: {summary(culprit.array)}"
        return result(saved, "argument", None, source, [text])
    first, *rest = details(culprit)
    lines = [
        f"stops at {culprit.primitive}: it {'made' if culprit.makes else 'gives'} {article} {kind}"
    ]
    return result(
        saved, kind, culprit, "", [*lines, first, *source_lines(saved, culprit.place), *rest]
    )


def failed_check(saved: SavedCall) -> Replay:
    """The replay of a call in which a check of `checkify` failed; its results contain the place."""
    assert saved.outcome is not None
    _, text = saved.outcome
    match = re.search(r"\bat ([^:()]+:\d+, in [^()]+)\)", text)
    place = SourceLocation(match[1] if match else "", "check")
    lines = [f"stops where {text}", *source_lines(saved, place)]
    operation = Operation(check_p, (), (), place)
    return result(saved, "check", operation, text, lines)


def passed(saved: SavedCall, program: Jaxpr, compiled: bool) -> Iterator[str]:
    """The text of a replay in which nothing failed."""
    yield "runs to its end, equation by equation: nothing fails"
    skipped = skipped_functions(program)
    if skipped:
        yield "  Python functions without results were not called:"
        yield from (f"    {text}" for text in skipped)
    if compiled:
        return
    kind, _ = saved.outcome or ("", "")
    if kind in ("NaN", "infinity"):
        yield "  the compiled program made it: XLA fuses operations and changes their order"
    elif kind == "error":
        yield "  the error came from the whole program: its compilation, its memory, or a switch"
    yield "  weft replay --compiled runs the compiled program, and compares"


def skipped_functions(jaxpr: Jaxpr) -> list[str]:
    """The Python functions without results that a program calls, with the lines of the calls."""
    texts = []
    for e in jaxpr.equations:
        for _, x in e.params:
            if isinstance(x, HostFunction):
                line = e.source.line if e.source is not None else "an unknown line"
                texts.append(f"{x}, called at {line}")
        for inner in subjaxprs(e.params):
            texts += skipped_functions(inner)
    return [*dict.fromkeys(texts)]


def compared(program: Jaxpr, arguments: Sequence[Any], results: Sequence[Any]) -> list[str]:
    """The differences between the results of the compiled program and of its equations."""
    lines = []
    names = program.labels.results
    try:
        compiled = run_jaxpr(program, arguments)
    except Exception as error:  # any error is the result
        return [f"  the compiled program fails: {type(error).__name__}: {error}"]
    for i, (x, y) in enumerate(zip(compiled, results, strict=True)):
        a, b = np.asarray(x.host()), np.asarray(y.host())
        different = int((bits(a) != bits(b)).sum())
        name = names[i] if i < len(names) else f"result {i}"
        if different:
            lines.append(
                f"  {name}: {different} of {a.size} elements differ: {summary(x)} compiled"
            )
            lines.append(f"    and equation by equation {summary(y)}")
    return lines or ["  the compiled program gives the same bits"]


def bits(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of each element, as an array of `void` items."""
    return np.ascontiguousarray(host).reshape(-1).view((np.void, host.itemsize))


def source_lines(saved: SavedCall, place: SourceLocation) -> list[str]:
    """The user's line and the lines around it, as they were in the process that failed."""
    if place.place is None:
        return []
    file, number = place.place
    lines = saved.lines.get(file, {})
    texts = []
    for n in sorted(n for n in lines if abs(n - number) <= AROUND):
        texts.append(f"  {'>' if n == number else ' '} {n:5}  {lines[n]}".rstrip())
        if n == number and place.span is not None and place.span[:2] == (n, n):
            first, last = place.span[2:]  # in bytes
            before, marked = (
                len(lines[n].encode()[:i].decode(errors="ignore")) for i in (first, last)
            )
            texts.append(" " * (11 + before) + "^" * (marked - before))
    return texts


def result(
    saved: SavedCall, kind: str, operation: Operation | None, reason: str, lines: Sequence[str]
) -> Replay:
    """The `Replay` of a saved call, with its text."""
    outcome = "the process ended during the call"
    if saved.outcome is not None:
        outcome = saved.outcome[1].partition("\n")[0]
    head = [
        f"{saved.function}, called at {saved.place}: {outcome}",
        f"  {saved.time}, process {saved.process}, {os.path.basename(saved.path)}",
    ]
    here = installed()
    differences = [
        f"  differs: {name} was {there}, is {here.get(name, 'unknown')}"
        for name, there in saved.versions.items()
        if here.get(name) != there
    ]
    text = "\n".join([*head, *differences, *lines])
    if operation is None:
        return Replay(kind, "", "", False, (), (), (), reason, saved, text)
    primitive, inputs, outs, place, inside = operation
    return Replay(
        kind,
        str(primitive),
        place.line,
        place.backward,
        inside,
        tuple(inputs),
        tuple(outs),
        reason,
        saved,
        text,
    )
