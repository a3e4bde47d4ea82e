"""line_rows, kernel_rows, move_rows and constant_rows: a record as tables, for the text and the
page.

A kernel is one function that XLA runs: a fusion of operations, or a single operation.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from ..compiler.memory import MemoryPlan
from ..compiler.optimized import UNKNOWN, Instruction, Line, OptimizedProgram
from .equations import all_steps
from .profiler import kernel_seconds
from .recorder import Called, Recorder


class Program(NamedTuple):
    """A jitted function at one signature: its calls, its program, and its memory."""

    called: Called
    compile_seconds: float
    optimized: OptimizedProgram | None
    memory: MemoryPlan | None

    @property
    def is_measured(self) -> bool:
        """True if the seconds of kernels were measured, False if they are estimated."""
        return bool(self.called.profiles)

    def kernel_seconds(self) -> dict[str, float]:
        """The seconds of each kernel, in all calls together."""
        if self.optimized is None:
            return {}
        typical = max(self.called.typical_seconds - self.compile_seconds * self.is_single, 0.0)
        each = kernel_seconds(self.optimized, self.called.profiles, typical)
        return {name: seconds * self.called.count for name, seconds in each.items()}

    @property
    def is_single(self) -> bool:
        """True if it was called once: the call compiled it."""
        return self.called.count == 1

    @property
    def equations(self) -> int:
        """The number of equations; loop bodies count once."""
        return sum(1 for _ in all_steps(self.called.traced.jaxpr))

    @property
    def kernels(self) -> list[Instruction]:
        """The kernels that a call runs; the kernels of loop bodies appear once."""
        return [] if self.optimized is None else [*self.optimized.kernels()]


class LineRow(NamedTuple):
    """A line of the user's code, with its equations and kernels.

    Attributes:
      equations: their number in all programs; `kernels`: the number of kernels attributed to the
        line; `bytes`: the size of their results.
      seconds: the time of the kernels in all calls; estimated unless `measured`.
      operations: the operations outside of jitted functions that ran here.
    """

    line: Line
    text: str
    equations: int
    kernels: int
    bytes: int
    seconds: float
    measured: bool
    operations: int


class KernelRow(NamedTuple):
    """A kernel: the operations fused into it, the lines, the bytes of its result, its seconds."""

    program: str
    name: str
    fused: str
    lines: str
    shape: str
    bytes: int
    seconds: float
    measured: bool


def line_rows(record: Recorder, programs: Iterable[Program]) -> list[LineRow]:
    """The user's lines, the most expensive first."""
    equations: Counter[Line] = Counter()
    kernels: Counter[Line] = Counter()
    sizes: Counter[Line] = Counter()
    spent: defaultdict[Line, float] = defaultdict(float)
    operations: Counter[Line] = Counter()
    guessed: set[Line] = set()
    for program in programs:
        seconds = program.kernel_seconds()
        for _, step in all_steps(program.called.traced.jaxpr):
            equations[step.line] += 1
        for kernel in program.kernels:
            kernels[kernel.line] += 1
            sizes[kernel.line] += kernel.bytes
            spent[kernel.line] += seconds.get(kernel.name, 0.0)
            if not program.is_measured:
                guessed.add(kernel.line)
    for (line, _), count in record.operations.items():
        operations[line] += count
    lines = {*equations, *kernels, *operations} - {UNKNOWN}
    rows = [
        LineRow(
            line,
            record.sources.text(line),
            equations[line],
            kernels[line],
            sizes[line],
            spent[line],
            line not in guessed,
            operations[line],
        )
        for line in lines
    ]
    return sorted(rows, key=lambda r: (-r.seconds, -r.bytes, r.line))


def kernel_rows(programs: Iterable[Program]) -> list[KernelRow]:
    """The kernels of all programs, the slowest first."""
    rows = []
    for program in programs:
        seconds = program.kernel_seconds()
        for kernel in program.kernels:
            assert program.optimized is not None
            inside = program.optimized.inside(kernel)
            names = Counter(i.opcode for i in inside)
            fused = ", ".join(f"{n} {name}" if n > 1 else name for name, n in names.items())
            numbers = sorted({i.line for i in [kernel, *inside]} - {UNKNOWN})
            rows.append(
                KernelRow(
                    program.called.name,
                    kernel.name,
                    f"{len(inside)} fused: {fused}" if len(inside) > 1 else f"{fused} alone",
                    ", ".join(map(str, numbers)),
                    ", ".join(kernel.shapes),
                    kernel.bytes,
                    seconds.get(kernel.name, 0.0),
                    program.is_measured,
                )
            )
    return sorted(rows, key=lambda r: (-r.seconds, -r.bytes))


def move_rows(record: Recorder) -> list[tuple[str, str, str, int, int]]:
    """The transfers between host and devices: direction, line, type, count, bytes."""
    rows = [
        (
            m.direction.replace("_", " "),
            str(m.line),
            str(m.aval),
            m.count,
            m.count * m.aval.size * m.aval.dtype.itemsize,
        )
        for m in record.moves.values()
    ]
    return sorted(rows, key=lambda row: -row[4])


def constant_rows(programs: Iterable[Program]) -> list[tuple[str, str, int]]:
    """The arrays that functions close over: function, type, bytes."""
    return [
        (p.called.name, str(x.aval), x.aval.size * x.aval.dtype.itemsize)
        for p in programs
        for x in p.called.traced.jaxpr.consts
    ]
