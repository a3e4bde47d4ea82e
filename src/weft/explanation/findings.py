"""Finding, and the findings about calls: retraces, reads in loops, arrays moved or not donated.

`program_findings.py` has the findings about programs.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..compiler.optimized import UNKNOWN, Line
from ..core.events import Tracing
from ..core.source import function_line, unwrapped
from ..runtime.failures import size_of
from ..tree_util import tree_leaves
from .recorder import LARGE, Called, Moves, Recorder
from .source_lines import Sources, is_part_of_weft, line_of

__all__ = ["Finding"]


class Finding(NamedTuple):
    """Something that costs time or memory, with its line and a remedy.

    Attributes:
      kind: a short name: "weak type", "undonated state".
      line: the user's line.
      message: the cost and its cause.
      advice: the remedy.
      before, after: the user's line and the changed line; `after` is empty if the change concerns
        more than one line.
      weight: determines the order in the report: an estimate of the seconds lost.
    """

    kind: str
    line: Line
    message: str
    advice: str
    before: str = ""
    after: str = ""
    weight: float = 0.0

    def __str__(self) -> str:
        rows = [f"{self.line}: {self.kind}: {self.message}", f"    fix: {self.advice}"]
        if self.after:
            rows += [f"    - {self.before}", f"    + {self.after}"]
        elif self.before:
            rows.append(f"    > {self.before}")
        return "\n".join(rows)


def times(n: int) -> str:
    """`once`, `3 times`."""
    return "once" if n == 1 else f"{n} times"


def call_findings(record: Recorder) -> Iterator[Finding]:
    """All findings about calls."""
    yield from retraces(record)
    yield from reads_in_loops(record)
    yield from eager_updates(record)
    for called in record.calls.values():
        if is_part_of_weft(called.function):
            continue
        yield from undonated(record, called)
        yield from same_from_host(record, called)
        yield from unused_outputs(record, called)


# --- tracing again ---

KINDS = ("new function", "static", "structure", "shape", "dtype", "weak type", "switch")
"""The reasons for tracing again. If there are several, the first of these is reported."""

FEW_CALLS = 3
"""A function that is defined again is reported only if it has fewer calls than this on average."""

LEAST = {"new function": 2, "static": 2, "shape": 2}
"""Two shapes, two values of a flag or two equal functions are common in sound programs."""

ADVICE = {
    "new function": "define the function, and jit it, once outside the loop",
    "static": "pass the number as an ordinary argument, without static_argnums or static_argnames",
    "structure": "pass the same structure in all calls: the entries of later calls from the start",
    "shape": "pad the arguments to one shape, or to one of a few",
    "dtype": "pass one dtype in all calls",
    "weak type": "pass an array in all calls, or a Python number in all",
    "switch": "set the switch once, before the first call",
}


def retraces(record: Recorder) -> Iterator[Finding]:
    """Functions that were traced again, with the reasons by argument."""
    groups: defaultdict[Any, list[Tracing]] = defaultdict(list)
    for tracing in record.tracings:
        own = is_part_of_weft(tracing.function)
        if tracing.reasons and tracing.reasons[0].kind and not own:
            inner = unwrapped(tracing.function)
            groups[getattr(inner, "__code__", inner)].append(tracing)
    for tracings in groups.values():
        by_kind: defaultdict[str, list[Tracing]] = defaultdict(list)
        for tracing in tracings:
            kinds = {reason.kind for reason in tracing.reasons}
            by_kind[next(k for k in KINDS if k in kinds)].append(tracing)
        for kind, all_again in by_kind.items():
            again = at_one_line(record, kind, all_again)
            if len(again) >= LEAST.get(kind, 1):
                yield _retrace(record, kind, again)


def at_one_line(record: Recorder, kind: str, again: list[Tracing]) -> list[Tracing]:
    """The traces that the line with most of them causes: lines may use a function differently."""
    if kind in ("weak type", "switch"):
        return again
    if kind == "static":
        return [t for t in again if any(_CHANGES.search(r.text) for r in t.reasons)]
    groups: defaultdict[Any, list[Tracing]] = defaultdict(list)
    for tracing in again:
        groups[record.sources.at(tracing.place)].append(tracing)
    line, most = max(groups.items(), key=lambda item: len(item[1]))
    if kind == "new function":  # functions that a factory makes are called often
        code = getattr(unwrapped(most[0].function), "__code__", None)
        counts = [
            called.count
            for called in record.calls.values()
            if getattr(unwrapped(called.function), "__code__", None) is code
        ]
        return most if sum(counts) < FEW_CALLS * len(counts) else []
    if kind in ("dtype", "structure"):  # two signatures at the line make it a loop
        code = getattr(unwrapped(most[0].function), "__code__", None)
        signatures = [
            called
            for called in record.calls.values()
            if line in called.lines
            and getattr(unwrapped(called.function), "__code__", None) is code
        ]
        return most if len(signatures) > 1 else []
    return most


_CHANGES = re.compile(r"was [-(\[]*[\d.]|a new function object|look alike")
"""Matches a changed static number, or an object that is new in each call. A static argument may
well be the name of a mode."""


def _retrace(record: Recorder, kind: str, again: list[Tracing]) -> Finding:
    sources, function = record.sources, again[-1].function
    line = sources.at(again[-1].place)
    reasons = [r.text for t in again for r in t.reasons if r.kind == kind]
    name = function_line(function)
    if kind == "new function":
        line = sources.definition(function)
        message = f"{name} was defined, traced and compiled {times(len(again) + 1)}"
        message += f", called at {again[-1].place}"
    else:
        message = f"{name} was traced again {times(len(again))}: {_several(reasons)}"
    if kind == "static":
        line = sources.where_jitted(function)
        message += f", called at {again[-1].place}"
    before = sources.text(line)
    seconds = sum(c.seconds for c in record.compilations if c.program.name == _name(function))
    return Finding(
        f"retrace: {kind}",
        line,
        message,
        ADVICE[kind],
        before,
        _changed(kind, before, reasons),
        max(seconds, 0.05 * len(again)),
    )


def _name(function: Any) -> str:
    return str(getattr(unwrapped(function), "__name__", ""))


def _several(reasons: Sequence[str]) -> str:
    shown = [text.strip() for text in reasons[:3]]
    more = len(reasons) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _changed(kind: str, text: str, reasons: Sequence[str]) -> str:
    """The changed line for a retrace; empty if no single line is at fault."""
    if kind == "weak type" and "float32(" not in text:
        number = re.search(r"(?<=[(, =])-?\d+\.\d*(?:e-?\d+)?(?=[,)])", text)
        if number:
            return f"{text[: number.start()]}np.float32({number[0]}){text[number.end() :]}"
        argument = re.search(r"argument (\w+)", reasons[0]) if reasons else None
        match = re.search(rf"\b{argument[1]}\b(?=[,)])", text) if argument else None
        if match:
            return f"{text[: match.start()]}np.float32({match[0]}){text[match.end() :]}"
    if kind == "static":
        changed = re.sub(r",? *static_arg(nums|names) *= *(\([^)]*\)|\[[^\]]*\]|[^,()]+)", "", text)
        return changed.replace("jit()", "jit") if changed != text else ""
    return ""


# --- reading results while a loop runs ---

MANY_ROUNDS = 4
SHARE = 0.34
"""The least fraction of a loop's rounds with a read for a finding."""


def reads_in_loops(record: Recorder) -> Iterator[Finding]:
    """Results that are read, or moved to the host, between the calls of a loop."""
    groups: defaultdict[Line, list[Moves]] = defaultdict(list)
    for moves in record.moves.values():
        if moves.direction == "device_to_host":
            groups[moves.line].append(moves)
    for line, group in groups.items():
        moves = max(group, key=lambda m: m.rounds)
        calls = moves.last_call - moves.first_call
        if moves.rounds < MANY_ROUNDS or moves.rounds < SHARE * calls:
            continue
        # the arithmetic of small numbers outside jit, and weft's own loops, wait at other lines
        if not record.sources.reads(line):
            continue
        sent = [
            called
            for called in record.calls.values()
            for number in called.from_host
            if called.traced.avals[0][number].shape == moves.aval.shape
            and called.from_host[number] >= moves.rounds
            and moves.aval.shape
        ]
        text = record.sources.text(line)
        if sent:
            name = sent[0].name
            yield Finding(
                "host round trip",
                line,
                f"{moves.aval} goes to NumPy {times(moves.count)}, and back to {name}: each round "
                "waits for the device, and the host works alone",
                f"compute it with weft.numpy, inside {name} or another jitted function",
                text,
                re.sub(r"\b(onp|numpy)\.", "np.", text) if re.search("onp|numpy", text) else "",
                moves.count * 1e-3 + moves.count * moves.aval.size * 8e-9,
            )
        else:
            yield Finding(
                "read in a loop",
                line,
                f"{moves.aval} is read {times(moves.count)}, in a loop that calls jitted functions "
                f"{times(calls + 1)}: each read waits for the device",
                "read it every hundred steps, or keep the arrays and read them after the loop",
                text,
                _less_often(text, record.sources.loop_variable(line)),
                moves.count * 1e-3,
            )


def _less_often(text: str, step: str) -> str:
    appended = re.sub(r"\b(?:float|int)\(([^()]+)\)|(\w+)\.item\(\)", r"\1\2", text)
    if ".append(" in text and appended != text:
        return appended
    return f"if {step} % 100 == 0: {text}" if re.match(r"\w*(print|log)\b", text) else ""


# --- memory of arguments and results ---

UPDATES = {
    *("dynamic_update_slice", "scatter", "scatter_add", "scatter_mul", "scatter_min"),
    *("scatter_max", "scatter_sub", "scatter_apply"),
}
"""The operations that `x.at[i]` applies."""


def eager_updates(record: Recorder) -> Iterator[Finding]:
    """Updates by `x.at[i]` outside of jitted functions, each of which copies `x`."""
    for (line, name), count in record.operations.items():
        size = record.operation_bytes[line, name]
        if name not in UPDATES or count < MANY_ROUNDS or size < count * LARGE:
            continue
        yield Finding(
            "copy",
            line,
            f"`x.at[…]` outside jit copies {size_of(size / count)} each time, {times(count)}",
            "update inside a jitted function that donates the array, or by one update for all "
            "indices",
            record.sources.text(line),
            "",
            size * 2e-9,
        )


OFTEN = 3


def undonated(record: Recorder, called: Called) -> Iterator[Finding]:
    """State that a function replaces at each call, but does not donate."""
    donated = set(called.traced.donated)
    avals_in, avals_out = called.traced.avals
    leaves = [
        i
        for (i, out), n in called.fed_back.items()
        if n >= OFTEN
        and i not in donated
        and called.freed[i] >= OFTEN - 1
        and (avals_in[i].shape, avals_in[i].dtype) == (avals_out[out].shape, avals_out[out].dtype)
    ]
    size = sum(_bytes(avals_in[i]) for i in leaves)
    if size < LARGE:
        return
    names = sorted({argument_name(called, i) for i in leaves})
    line = record.sources.where_jitted(called.function)
    text = record.sources.text(line)
    shown = ", ".join(names)
    yield Finding(
        "undonated state",
        line,
        f"{called.name} gets {shown} ({size_of(size)}) from its own earlier call and nothing else "
        f"uses it, {times(called.count)}: old and new state are in memory at the same time",
        f"donate_argnames={names[0] if len(names) == 1 else tuple(names)!r}: the results then use "
        "the memory of the arguments",
        text,
        donating(text, names),
        called.count * size * 2e-9,
    )


def donating(text: str, names: Sequence[str]) -> str:
    """A line that calls `jit`, with the option that donates the arguments."""
    option = f"donate_argnames={names[0] if len(names) == 1 else tuple(names)!r}"
    if len(names) == 1:
        option = f'donate_argnames="{names[0]}"'
    decorator = re.match(r"(@[\w.]*jit)$", text)
    if decorator:
        return f"{decorator[1]}({option})"
    call = re.search(r"\bjit\((.*)\)", text)
    if not call:
        return ""
    inside = f"{call[1]}, {option}" if call[1] else option
    return f"{text[: call.start(1)]}{inside}{text[call.end(1) :]}"


def same_from_host(record: Recorder, called: Called) -> Iterator[Finding]:
    """NumPy arrays that are passed with the same values at each call."""
    for number, count in called.same_host.items():
        if count < OFTEN - 1:
            continue
        line = called.lines.most_common(1)[0][0]
        name, aval = argument_name(called, number), called.traced.avals[0][number]
        passed = record.sources.argument(line, position_of(called, number)) or name
        made = record.sources.assignment(passed, line)
        if re.search(r"array\(", record.sources.text(made)):
            line = made
        yield Finding(
            "host to device in a loop",
            line,
            f"the argument {name} of {called.name}, {aval}, comes from the host in "
            f"{count + 1} calls with the same values: {size_of(_bytes(aval))} are copied each time",
            "put it on the device once, before the loop",
            record.sources.text(line),
            "" if line is made else f"{passed} = weft.device_put({passed})  # before the loop",
            count * _bytes(aval) * 1e-9,
        )


def position_of(called: Called, number: int) -> int:
    """The position of the argument that a leaf belongs to."""
    args, _ = called.traced.in_tree.unflatten(range(called.traced.in_tree.num_leaves))
    places = (i for i, arg in enumerate(args) if number in tree_leaves(arg))
    return next(places, len(args))


def unused_outputs(record: Recorder, called: Called) -> Iterator[Finding]:
    """Large results that are never used, of functions whose other results are used."""
    avals = called.traced.avals[1]
    names = called.traced.jaxpr.labels.results
    for number, count in called.unused.items():
        size = _bytes(avals[number])
        if number in called.used or count < OFTEN - 1 or size < LARGE or not called.used:
            continue
        line = result_line(record.sources, called, number)
        name = names[number].removeprefix("its ") if number < len(names) else f"result {number}"
        yield Finding(
            "unused result",
            line,
            f"{name} of {called.name}, {avals[number]} ({size_of(size)}), is computed and stored "
            f"{times(called.count)}, and never used",
            "do not return it, so that XLA leaves it out",
            record.sources.text(line),
            "",
            count * size * 2e-9,
        )


def result_line(sources: Sources, called: Called, number: int) -> Line:
    """The line that makes a result; the function's line if that is unknown."""
    jaxpr = called.traced.jaxpr
    out = jaxpr.outvars[number]
    for e in jaxpr.equations:
        if any(v is out for v in e.outvars) and (line := line_of(e.source)) is not UNKNOWN:
            return line
    return sources.definition(called.function)


def argument_name(called: Called, number: int) -> str:
    """The name of the argument that a leaf belongs to: `params` for `params['w']`."""
    name = called.traced.jaxpr.labels.argument(number) or f"#{number}"
    return re.split(r"[\[.]", name)[0].strip("'")


def _bytes(aval: Any) -> int:
    return int(aval.size * aval.dtype.itemsize)
