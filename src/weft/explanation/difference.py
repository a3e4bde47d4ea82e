"""diff compares the programs of two functions; ProgramDifference is its result."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..compiler.optimized import Line, OptimizedProgram
from ..config import config
from ..core.source import function_line, located
from ..runtime.failures import size_of
from ..supervised.html_page import clean
from ..transforms.arguments import check_callable
from ..transforms.jit.function import jit
from .explain import is_jitted
from .page import table
from .profiler import bytes_moved
from .program_rows import Row, program_rows
from .report import table_text

__all__ = ["ProgramDifference", "diff"]

MAX_EXACT = 2_000
"""Up to this number of rows, the alignment also uses frequent equations (difflib's autojunk is
off)."""

CONTEXT = 2
"""The number of equal equations shown before and after a difference."""


class ProgramSide(NamedTuple):
    """The program of a function, and its costs per call.

    Attributes:
      name: the function and its line.
      rows: the program, one equation per row.
      flops: the number of floating-point operations.
      bytes: the number of bytes that kernels read and write.
      kernels: the number of kernels that XLA runs.
      peak_bytes: the peak memory.
    """

    name: str
    rows: list[Row]
    flops: float
    bytes: int
    kernels: int
    peak_bytes: int

    @property
    def equations(self) -> int:
        """The number of equations; loop bodies count once."""
        return sum(row.is_equation for row in self.rows)


class Change(NamedTuple):
    """A pair of rows, of which one may be missing.

    Attributes:
      sign: " " for equal rows, "-" for a row of the first program only, "+" for a row of the second
        program only, "~" for equal operations that read different values.
    """

    sign: str
    first: Any  # a `Row`, or `None`
    second: Any

    def __str__(self) -> str:
        row = self.first if self.second is None else self.second
        notes = [f"first: ({', '.join(self.first.inputs)})"] if self.sign == "~" else []
        if self.sign != " " and row.line.number:
            notes.insert(0, str(row.line))
        return f"{self.sign} {row}" + (f"    # {', '.join(notes)}" if notes else "")


class ProgramDifference:
    """The difference between two programs; true if they differ.

    Attributes:
      first, second: the programs, with their equations, flops, bytes, kernels and peak memory.
      changes: both programs, row by row.
      removed, added: the equations of the first program only, and of the second only.
      rewired: pairs of equal operations that read different values.
    """

    def __init__(self, first: ProgramSide, second: ProgramSide) -> None:
        self.first, self.second = first, second
        self.changes = aligned(first.rows, second.rows)
        self.removed: list[Row] = [c.first for c in self.changes if c.sign == "-"]
        self.added: list[Row] = [c.second for c in self.changes if c.sign == "+"]
        self.rewired = [(c.first, c.second) for c in self.changes if c.sign == "~"]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.rewired)

    @property
    def by_operation(self) -> list[tuple[str, int, int, float, float]]:
        """The operations whose number or flops differ: name, equations and flops of each side."""
        sides = self.first.rows, self.second.rows
        counts = [Counter(row.operation for row in rows if row.is_equation) for rows in sides]
        flops: list[defaultdict[str, float]] = [defaultdict(float), defaultdict(float)]
        for total, rows in zip(flops, sides, strict=True):
            for row in rows:
                total[row.operation] += row.flops
        names = sorted({*counts[0], *counts[1]}, key=lambda n: -abs(flops[1][n] - flops[0][n]))
        differing = [(n, counts[0][n], counts[1][n], flops[0][n], flops[1][n]) for n in names]
        return [row for row in differing if (row[1], row[3]) != (row[2], row[4])]

    @property
    def by_line(self) -> list[tuple[Line, int, int]]:
        """The user's lines with differences: removed and added equations."""
        removed = Counter(row.line for row in self.removed)
        added = Counter(row.line for row in self.added)
        return [(line, removed[line], added[line]) for line in sorted({*removed, *added})]

    def __str__(self) -> str:
        parts = [self._summary()]
        if operations := self._operations():
            parts.append(operations)
        parts.append(changes_text(self.changes) or "The programs are equal.")
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The text with the programs side by side, for notebooks."""
        rows = [(c.sign, str(c.first or ""), str(c.second or "")) for c in shown(self.changes) if c]
        return f"<pre>{clean(self._summary())}</pre>\n" + table(
            ("", self.first.name, self.second.name), rows, code=(1, 2)
        )

    def _summary(self) -> str:
        a, b = self.first, self.second
        rows = [
            ("equations", str(a.equations), str(b.equations)),
            ("flops", flops_text(a.flops), flops_text(b.flops)),
            ("kernels", str(a.kernels), str(b.kernels)),
            ("bytes moved", size_of(a.bytes), size_of(b.bytes)),
            ("peak memory", size_of(a.peak_bytes), size_of(b.peak_bytes)),
        ]
        return table_text(("", a.name, b.name), rows)

    def _operations(self) -> str:
        rows = [
            (name, str(n), str(m), flops_text(x), flops_text(y))
            for name, n, m, x, y in self.by_operation
        ]
        return table_text(("operation", "first", "second", "flops of first", "of second"), rows)


@located
def diff(
    f: Callable[..., Any], g: Callable[..., Any], *args: Any, **kwargs: Any
) -> ProgramDifference:
    """Compares the traced programs of two functions, and their costs.

    Equations are matched by operation, parameters and types; names do not matter, and neither do
    the elements of arrays that the functions close over. Both functions are compiled, but not run.

    Args:
      f, g: the functions, jitted or not.
      args, kwargs: the arguments of both: arrays, or objects with a shape and a dtype.
    Returns: a `ProgramDifference`, which is true if the programs differ. `print` shows both side by
      side: equations, flops, kernels, bytes and memory; and the equations that only one has.
    Raises: TypeError: f or g is not a function.
    Example:
      >>> import weft, weft.numpy as np
      >>> def mean_square(x):
      ...     return np.mean(x * x)
      >>> def variance(x):
      ...     return np.mean((x - np.mean(x)) ** 2)
      >>> difference = weft.diff(mean_square, variance, np.ones(1000))
      >>> [row.operation for row in difference.added]
      ['reduce_sum', 'div', 'sub', 'square']
      >>> difference.second.flops - difference.first.flops
      2001.0
      >>> bool(weft.diff(variance, variance, np.ones(1000)))
      False
    """
    check_callable(f, "diff")
    check_callable(g, "diff")
    return ProgramDifference(side_of(f, args, kwargs), side_of(g, args, kwargs))


def side_of(f: Callable[..., Any], args: Any, kwargs: Any) -> ProgramSide:
    """The program of a function, compiled."""
    with config.temporarily(debug_lines=True):
        traced = traced_with_lines(f, args, kwargs)
        compiled = traced.lower().compile()
        optimized = OptimizedProgram(compiled.as_text())
        rows = program_rows(traced.jaxpr)
        return ProgramSide(
            function_line(f),
            rows,
            sum(row.flops for row in rows),
            bytes_moved(optimized),
            len([*optimized.kernels()]),
            compiled.memory().peak_bytes,
        )


def traced_with_lines(f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function traced as `jit` does; `debug_lines` must be on."""
    jitted: Any = f if is_jitted(f) else jit(f)
    return jitted.trace(*args, **kwargs)


def aligned(first: Sequence[Row], second: Sequence[Row]) -> list[Change]:
    """Both programs row by row. The names of variables do not affect the matching of rows."""
    few = max(len(first), len(second)) <= MAX_EXACT
    kinds = [row.kind for row in first], [row.kind for row in second]
    matcher = difflib.SequenceMatcher(None, kinds[0], kinds[1], autojunk=not few)
    changes: list[Change] = []
    names: dict[str, str] = {}  # of the first program -> of the second
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            changes += [Change("-", row, None) for row in first[a0:a1]]
            changes += [Change("+", None, row) for row in second[b0:b1]]
            continue
        for a, b in zip(first[a0:a1], second[b0:b1], strict=True):
            names.update(zip(a.outs, b.outs, strict=True))
            same = [names.get(x, x) if x.startswith("%") else x for x in a.inputs]
            changes.append(Change(" " if same == list(b.inputs) else "~", a, b))
    return changes


def shown(changes: Sequence[Change]) -> Iterator[Change | None]:
    """The differences with the equal rows around them; `None` where others are left out."""
    near = [
        any(c.sign != " " for c in changes[max(0, i - CONTEXT) : i + CONTEXT + 1])
        for i in range(len(changes))
    ]
    for i, change in enumerate(changes):
        if near[i]:
            yield change
        elif i == 0 or near[i - 1]:
            yield None


def changes_text(changes: Sequence[Change]) -> str:
    """The differences as lines; empty if there are none."""
    if all(c.sign == " " for c in changes):
        return ""
    return "\n".join("  ..." if c is None else str(c) for c in shown(changes))


def flops_text(flops: float) -> str:
    """`1.50 million`, `3`."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if flops >= size:
            return f"{flops / size:.2f} {word}"
    return f"{flops:.0f}"
