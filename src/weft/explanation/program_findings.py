"""The findings about programs: copies, donations, constants, loops, dtypes, gathers.

They come from the equations of a program (`equations.py`) and from XLA's optimized program
(`compiler/optimized.py`).
"""

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..compiler.optimized import UNKNOWN, Line, OptimizedProgram
from ..core.jaxpr import Var
from ..core.source import unwrapped
from ..runtime.failures import size_of
from ..transforms.jit.donation import unusable_donations
from ..tree_util import keystr, tree_flatten_with_path
from .equations import Scope, Step, flat_scopes
from .findings import UPDATES, Finding, argument_name, donating
from .recorder import LARGE, Called, Recorder
from .source_lines import Sources, is_part_of_weft

SHAPING = ("broadcast_in_dim", "reshape", "convert_element_type", "transpose", "squeeze", "copy")


class ProgramFindings:
    """The findings about a jitted function at one signature.

    Args:
      optimized: XLA's optimized program; `None` if XLA runs nothing.
    """

    def __init__(
        self, record: Recorder, called: Called, optimized: OptimizedProgram | None
    ) -> None:
        self.sources, self.called, self.optimized = record.sources, called, optimized
        self.scopes = flat_scopes(called.traced.jaxpr)

    def all(self) -> Iterator[Finding]:
        """All findings."""
        yield from self.unusable_donations()
        yield from self.closed_over()
        yield from self.copies()
        for scope in self.scopes:
            yield from self.unrolled(scope)
            yield from self.known_values(scope)
            for step in scope.steps:
                yield from self.of_step(scope, step)

    def of_step(self, scope: Scope, step: Step) -> Iterator[Finding]:
        """The findings about one equation."""
        if step.name == "dot_general":
            yield from self.one_hot(scope, step)
        elif step.name == "gather":
            yield from self.windows(step)
        elif step.name == "convert_element_type":
            yield from self.double_precision(step)
        elif step.name in ("scan", "while", "while_loop"):
            yield from self.carries(scope, step)

    def finding(
        self, kind: str, line: Line, message: str, advice: str, after: str = "", weight: float = 0.0
    ) -> Finding:
        """A finding, with the text of its line."""
        return Finding(kind, line, message, advice, self.sources.text(line), after, weight)

    # --- memory ---

    def unusable_donations(self) -> Iterator[Finding]:
        """Donated arguments whose memory no result can use."""
        program = self.called.traced.program()
        for i in unusable_donations(program):
            a = program.in_avals[i]
            name = self.called.traced.jaxpr.labels.argument(i) or f"#{i}"
            line = self.sources.where_jitted(self.called.function)
            text = self.sources.text(line)
            yield self.finding(
                "failed donation",
                line,
                f"{name}, {a} ({size_of(a.size * a.dtype.itemsize)}), is donated to "
                f"{self.called.name}, but no result has its shape and dtype: it is lost, and saves "
                "no memory",
                "donate only arguments that a result replaces, or return the result in their dtype",
                re.sub(r",? *donate_arg(nums|names) *= *(\([^)]*\)|\[[^\]]*\]|[^,()]+)", "", text)
                if "donate" in text
                else "",
                a.size * a.dtype.itemsize * 1e-9,
            )

    def closed_over(self) -> Iterator[Finding]:
        """Large arrays that the function closes over."""
        jaxpr = self.called.traced.jaxpr
        for var, x in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            size = x.aval.size * x.aval.dtype.itemsize
            name = variable_name(self.called.function, x)
            if size < (LARGE if name else LARGE_INSIDE):
                continue
            users = self.scopes[0].users.get(var, [])
            line = next((s.line for s in users if s.line is not UNKNOWN), UNKNOWN)
            if line is UNKNOWN:
                line = self.sources.definition(self.called.function)
            yield self.finding(
                "closure constant",
                line,
                f"{self.called.name} closes over {name or 'an array'}, {x.aval} ({size_of(size)}): "
                "the array lives as long as the function, and another array means another trace",
                f"pass {name or 'it'} as an argument",
                weight=size * 1e-9,
            )

    def copies(self) -> Iterator[Finding]:
        """Updates by `x.at[i]` for which XLA copies `x`, because the old `x` is still needed."""
        if self.optimized is None:
            return
        copied: defaultdict[Line, int] = defaultdict(int)
        for kernel in self.optimized.kernels():
            if kernel.opcode == "copy" and kernel.bytes >= LARGE:
                copied[kernel.line] += kernel.bytes
        for scope in self.scopes:
            for n, step in enumerate(scope.steps):
                if step.name not in UPDATES or step.line not in copied or step.backward:
                    continue
                size = copied.pop(step.line)
                yield self.copy_of(scope, n, step, size)

    def copy_of(self, scope: Scope, n: int, step: Step, size: int) -> Finding:
        """The finding about one copy, with the use that makes it necessary."""
        x = step.inputs[0]
        name = re.match(r"[^=]*= *(\w+)\.at\b|return (\w+)\.at\b", self.sources.text(step.line))
        shown = (name[1] or name[2]) if name else "the array"
        later = [s for s in scope.steps[n + 1 :] if any(v is x for v in s.inputs)]
        lines = [s.line for s in later if s.line not in (UNKNOWN, step.line)]
        head = f"`{shown}.at[…]` copies {size_of(size)}"
        jaxpr = self.called.traced.jaxpr
        line, after = step.line, ""
        if lines:
            why = f"since {shown} is used again at line {lines[0].number}"
            cure = f"use {shown} at line {lines[0].number} before this line updates it, "
            cure += "or read only the elements that are needed"
        elif scope.owner is not None and len(scope.users[x]) > 1:
            other = next(s for s in scope.users[x] if s is not step)
            why = f"in each round of {scope.owner.name}, since {shown} is read at line "
            why += f"{other.line.number} too, and XLA does not move that read before the update"
            cure = f"read from the new value instead, or read {shown} outside of the loop"
        elif any(v is x for v in scope.results):
            why, cure = f"since {shown} is a result too", f"do not return {shown}"
        elif any(v is x for v in jaxpr.invars):
            argument = argument_name(self.called, jaxpr.invars.index(x))
            where = self.sources.where_jitted(self.called.function)
            why = f"since the argument {argument} is not donated, and so must not change"
            cure = f'donate it at line {where.number}: donate_argnames="{argument}"'
            after = donating(self.sources.text(where), [argument])
            return Finding(
                "copy", line, f"{head}, {why}", cure, self.sources.text(where), after, size * 2e-9
            )
        else:
            why, cure = "since it is needed unchanged", "use the old array before the update"
        return self.finding("copy", line, f"{head}, {why}", cure, after, size * 2e-9)

    # --- work ---

    def unrolled(self, scope: Scope) -> Iterator[Finding]:
        """Python loops that were unrolled: chains of equal operations at one line."""
        depth: dict[Any, dict[Any, int]] = {}
        counts: defaultdict[Any, int] = defaultdict(int)
        longest: defaultdict[Any, int] = defaultdict(int)
        keys = []
        for step in scope.steps:
            key = step.line, step.name, *(str(v.aval) for v in step.inputs)
            keys.append(key)
            counts[key] += 1
        for step, key in zip(scope.steps, keys, strict=True):
            before: dict[Any, int] = {}
            for v in step.inputs:
                for k, n in depth.get(v, {}).items() if isinstance(v, Var) else ():
                    before[k] = max(n, before.get(k, 0))
            if counts[key] >= MANY_STEPS and not step.backward:
                before[key] = before.get(key, 0) + 1
                longest[key] = max(longest[key], before[key])
            for v in step.outs:
                depth[v] = before
        lines: dict[Line, int] = {}
        for key, n in longest.items():
            # a function of weft, such as searchsorted, may repeat operations too
            if n >= MANY_STEPS and key[0] is not UNKNOWN and self.sources.in_loop(key[0]):
                lines[key[0]] = max(n, lines.get(key[0], 0))
        if lines:
            sizes = Counter(s.line for s in scope.steps if s.line in lines)
            line, many = max(reversed(lines), key=lambda a: sizes[a]), sum(sizes.values())
            n = lines[line]
            yield self.finding(
                "unrolled loop",
                line,
                f"a Python loop was unrolled: {n} rounds, {many} equations of {self.called.name}; "
                "the program and the time to compile it grow with the rounds",
                "lax.fori_loop or lax.scan, which compile the body once",
                fori_loop(self.sources, line, n),
                many * 1e-3,
            )

    def known_values(self, scope: Scope) -> Iterator[Finding]:
        """Work that depends on no argument: XLA does it when it compiles, or again at each call."""
        known = scope.known()
        for step in scope.steps:
            if not step.outs or step.outs[0] not in known or step.name in CHEAP:
                continue
            size = max((v.aval.size for v in (*step.inputs, *step.outs)), default=0)
            if size * 4 < LARGE:
                continue
            yield self.finding(
                "constant folding",
                step.line,
                f"{step.name} of {size:,} elements does not depend on the arguments of "
                f"{self.called.name}: XLA computes it while it compiles, or again at each call",
                "compute it once, outside of the jitted function, and pass it as an argument",
                weight=size * 1e-8,
            )
            return

    def one_hot(self, scope: Scope, step: Step) -> Iterator[Finding]:
        """A product with a one-hot matrix, which only selects rows, or adds them by group."""
        for side in (0, 1):
            x, table = step.inputs[side], step.inputs[1 - side]
            compare = scope.origin(x, SHAPING)
            if compare is None or compare.name != "eq" or step.backward:
                continue
            makers = [scope.origin(v, SHAPING) for v in compare.inputs]
            classes = [m.outs[0].aval.size for m in makers if m is not None and m.name == "iota"]
            if not classes:
                continue
            contracted = step.params["dims"][0][side]
            length = int(np.prod([x.aval.shape[axis] for axis in contracted]))
            work = 2 * x.aval.size * table.aval.size // max(length, 1)
            if work < LARGE:
                continue
            selects = length == classes[0]
            verb, cheap = ("selects", "a look-up") if selects else ("adds", "a sum by group")
            text = self.sources.text(step.line)
            yield self.finding(
                "one-hot product",
                step.line,
                f"a product with a one-hot matrix of {x.aval} {verb} rows of {table.aval}: "
                f"{work / 1e6:,.0f} million operations in place of {cheap}",
                "np.take(table, indices, axis=0)"
                if selects
                else f"weft.ops.segment_sum(x, groups, {classes[0]})",
                one_hot_changed(text) if selects else "",
                work * 1e-10,
            )
            return

    def windows(self, step: Step) -> Iterator[Finding]:
        """Slices under `vmap` that became a gather of overlapping windows."""
        source, out = step.inputs[0].aval, step.outs[0].aval
        size = out.size * out.dtype.itemsize
        if out.size < 4 * source.size or size < LARGE or step.backward:
            return
        # whole rows do not overlap: such a gather is a look-up
        sizes = zip(step.params["slice_sizes"], source.shape, strict=True)
        windows = [n for n, length in sizes if 1 < n < length]
        if not windows or out.size == 0:
            return
        count = out.size // int(np.prod(step.params["slice_sizes"]))
        shape = "×".join(map(str, windows))
        yield self.finding(
            "vmap of a gather",
            step.line,
            f"slices under vmap became one gather: {count:,} windows of {shape} elements take "
            f"{size_of(size)}, of an array of {size_of(source.size * source.dtype.itemsize)}",
            "reduce each window inside lax.map(f, starts, batch_size=…), or use a convolution or "
            "a reshape, so that the windows are not all in memory",
            re.sub(
                r"\b(weft\.)?vmap\((.*)\)\((.*)\)",
                r"\1lax.map(\2, \3, batch_size=64)",
                self.sources.text(step.line),
            )
            if re.search(r"\bvmap\(.*\)\(", self.sources.text(step.line))
            else "",
            size * 2e-9,
        )

    # --- dtypes ---

    def double_precision(self, step: Step) -> Iterator[Finding]:
        """float32 values that are combined with float64 values, and become float64."""
        before, after = step.inputs[0].aval, step.outs[0].aval
        if after.dtype != np.float64 or before.dtype != np.float32 or step.backward:
            return
        if before.size < MANY_ELEMENTS or self.sources.states_dtype(step.line):
            return
        yield self.finding(
            "float64 by accident",
            step.line,
            f"{before} meets a float64 value and becomes {after}: twice the memory and time",
            "make the other value float32: x.astype(np.float32), or a Python number",
            weight=before.size * 8e-9,
        )

    def carries(self, scope: Scope, step: Step) -> Iterator[Finding]:
        """Carries of a loop that begin in a narrower dtype than the body returns."""
        # a function of weft, such as odeint, may have a loop of its own
        is_loop = re.search("scan|loop", self.sources.statement(step.line))
        if not is_loop or self.sources.states_dtype(step.line):
            return
        for v in step.inputs:
            made = scope.maker.get(v) if isinstance(v, Var) else None
            if made is None or made.name != "convert_element_type" or made.line != step.line:
                continue
            before, after = made.inputs[0].aval, made.outs[0].aval
            if before.dtype == after.dtype:
                continue
            yield self.finding(
                "carry dtype",
                step.line,
                f"the carry of {step.name} begins as {before}, and the body returns "
                f"{after.dtype.name}: the body is traced twice, and runs in {after.dtype.name}",
                f"begin with the dtype that the body returns: np.zeros(…, {after.dtype.name!r}), "
                "or convert the body's result to the dtype of the carry",
                weight=0.05,
            )


LARGE_INSIDE = 16 << 20
"""The least size in bytes, for a finding, of a constant that the function makes itself, such as
`np.arange(n)`."""

MANY_STEPS = 32
MANY_ELEMENTS = 1000
CHEAP = {
    *SHAPING,
    *("iota", "full", "zeros", "rng_bit_generator", "threefry2x32", "random_bits", "slice", "pad"),
    *("add", "mul", "sub", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"),
    *("select_n", "concatenate", "rev", "where", "exp", "sin", "cos", "sqrt", "pow", "log", "tanh"),
    *("stop_gradient", "max", "min", "abs", "sign", "floor", "integer_pow", "xor", "rem"),
}
"""Operations that XLA fuses into the kernel that needs their result, at no extra cost."""


def variable_name(function: Any, x: Any) -> str | None:
    """The name of the variable through which a function accesses an array; `None` if unknown."""
    inner = unwrapped(function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return None
    variables = {n: v for n, v in inner.__globals__.items() if n in code.co_names}
    for name, cell in zip(code.co_freevars, inner.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # not assigned yet
            variables[name] = cell.cell_contents
    if (self := getattr(function, "__self__", None)) is not None:
        variables[code.co_varnames[0]] = self
    for name, value in variables.items():
        if value is x:
            return str(name)
        attributes = getattr(value, "__dict__", {})
        for attribute, part in attributes.items() if isinstance(attributes, dict) else ():
            if part is x:
                return f"{name}.{attribute}"
        for path, leaf in leaves_of(value):
            if leaf is x:
                return f"{name}{path}"
    # a jitted function that it calls may access the array
    return next((str(n) for n, value in inner.__globals__.items() if value is x), None)


def leaves_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in a list, tuple or dict, with their paths."""
    if isinstance(value, list | tuple | dict):
        for path, leaf in tree_flatten_with_path(value)[0]:
            yield keystr(path), leaf


def fori_loop(sources: Sources, line: Line, rounds: int) -> str:
    """The line of an unrolled loop, `x = f(x)`, as a `fori_loop`; empty for other lines."""
    match = re.fullmatch(r"(\w+) = (.*\b\1\b.*)", sources.text(line))
    if not match:
        return ""
    return f"{match[1]} = lax.fori_loop(0, {rounds}, lambda i, {match[1]}: {match[2]}, {match[1]})"


def one_hot_changed(text: str) -> str:
    """A line that multiplies by `one_hot(…)`, rewritten as a look-up; empty if it has another
    form."""
    call = r"(?:[\w.]*\.)?one_hot\(([^,]+),[^()]*(?:\([^()]*\))?[^()]*\)"
    match = re.search(rf"{call} @ ([\w.\[\]\"']+)", text)
    match = match or re.search(rf"\w+\.(?:dot|matmul)\({call}, ([\w.]+)\)", text)
    if not match:
        return ""
    new = f"np.take({match[2]}, {match[1]}, axis=0)"
    return text[: match.start()] + new + text[match.end() :]


def program_findings(
    record: Recorder, called: Called, optimized: OptimizedProgram | None
) -> Iterator[Finding]:
    """All findings about the program of a jitted function."""
    is_own = is_part_of_weft(called.function)
    for finding in ProgramFindings(record, called, optimized).all():
        # users cannot change weft's own programs, such as a training step
        if not is_own or not (finding.line in called.lines or finding.line is UNKNOWN):
            yield finding
