"""Explanation is the result of `weft.explain`: findings and tables, as text, page and object."""

import os
import time
from collections.abc import Sequence

from ..runtime.failures import size_of
from ..supervised.html_page import write_page
from .findings import Finding, call_findings
from .page import explanation_page, seconds_text
from .program_findings import program_findings
from .recorder import Recorder
from .tables import (
    KernelRow,
    LineRow,
    Program,
    constant_rows,
    kernel_rows,
    line_rows,
    move_rows,
)

__all__ = ["Explanation"]

LINES_SHOWN, KERNELS_SHOWN, BUFFERS_SHOWN = 12, 6, 5


class Explanation:
    """The time and memory of a program by line, and suggested changes.

    Attributes:
      findings: unnecessary costs in time or memory, the costliest first.
      lines: for each of the user's lines, its equations, kernels, bytes and seconds.
      kernels: the kernels that XLA runs, with the operations fused into them.
      programs: the jitted functions, by signature, with calls, memory and compile time.
      moves: the transfers between host and devices: direction, line, type, count, bytes.
      constants: the arrays that functions close over.
      retraces: why functions were traced, as text.
    """

    findings: list[Finding]
    lines: list[LineRow]
    kernels: list[KernelRow]

    def __init__(self, title: str, record: Recorder, programs: list[Program]) -> None:
        begun = time.perf_counter()
        self.title, self.programs = title, programs
        self.lines = line_rows(record, programs)
        self.kernels = kernel_rows(programs)
        self.moves = move_rows(record)
        self.constants = constant_rows(programs)
        self.retraces = [t.text for t in record.tracings]
        found = [*call_findings(record)]
        for program in programs:
            found += program_findings(record, program.called, program.optimized)
        self.findings = without_repetition(found)
        self.seconds_to_explain = time.perf_counter() - begun

    def __str__(self) -> str:
        parts = [self._head(), *map(str, self.findings)]
        if not self.findings:
            parts.append("Nothing found that costs time or memory without need.")
        parts += [self._programs_text(), self._lines_text(), self._memory_text()]
        return "\n\n".join(filter(None, parts))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The page, for notebooks."""
        return explanation_page(self)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes one HTML page, which needs no other file and no network.

        Args:
          path: the file.
        Returns: the path.
        Raises: OSError: the file cannot be written.
        """
        return write_page("explain", os.fspath(path), explanation_page(self))

    # --- text ---

    def _head(self) -> str:
        count = len(self.findings)
        calls = sum(p.called.count for p in self.programs)
        return (
            f"{self.title}: {count} finding{'s' * (count != 1)}; {len(self.programs)} programs, "
            f"{calls} calls, {sum(len(p.kernels) for p in self.programs)} kernels"
        )

    def _programs_text(self) -> str:
        rows = []
        for p in self.programs[:LINES_SHOWN]:
            peak = size_of(p.memory.peak_bytes) if p.memory is not None else "-"
            rows.append(
                (
                    p.called.name,
                    str(p.called.count),
                    seconds_text(p.called.typical_seconds),
                    seconds_text(p.compile_seconds),
                    str(p.equations),
                    str(len(p.kernels)),
                    peak,
                )
            )
        titles = ("function", "calls", "each", "to compile", "equations", "kernels", "peak")
        return table_text(titles, rows)

    def _lines_text(self) -> str:
        rows = [
            (
                str(r.line),
                seconds_text(r.seconds, r.measured),
                str(r.equations),
                str(r.kernels),
                size_of(r.bytes),
                r.text[:60],
            )
            for r in self.lines[:LINES_SHOWN]
        ]
        return table_text(("line", "seconds", "equations", "kernels", "bytes", "text"), rows, 1)

    def _memory_text(self) -> str:
        plans = [p.memory for p in self.programs if p.memory is not None]
        if not plans:
            return ""
        plan = max(plans, key=lambda m: m.peak_bytes)
        return "\n".join(str(plan).splitlines()[: 1 + BUFFERS_SHOWN])


def without_repetition(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, the costliest first; only one of each kind at a line."""
    first: dict[object, Finding] = {}
    for finding in sorted(findings, key=lambda f: -f.weight):
        first.setdefault((finding.kind, finding.line), finding)
    return [*first.values()]


def table_text(titles: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in columns; the first `left` columns and the column "text" are flush left."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles))]
    lines = []
    for row in [titles, *rows]:
        cells = [
            cell.ljust(w) if i < left or titles[i] == "text" else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
