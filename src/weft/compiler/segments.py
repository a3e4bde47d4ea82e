"""Segments: a deep program as a sequence of executables, one for each distinct block.

Within one executable XLA compiles every call of a block again, though equal kernels only once. So a
program with many calls of large blocks is divided: a block is compiled once, and the equations
between blocks are segments too. The host runs the segments in order, and frees each value after its
last use. The disk cache has an entry for each segment, which models of other depths share.

Small blocks run faster within one executable, since to start a segment takes the host some time;
large ones run faster as segments, since glibc keeps the memory of their values between calls.

The division depends on the program alone, so every call runs the same executables.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..config import thread
from ..core.jaxpr import Equation, Jaxpr, Var
from ..runtime.client import Device
from ..runtime.executable import Executable, MemoryAnalysis, RawBuffer
from ..runtime.failures import XlaRuntimeError
from .flops import flops
from .lowered import LoweredProgram, Result
from .outline import block_function

MIN_CALLS = 32  # with fewer, one executable compiles as fast
MIN_FLOPS = 500_000_000  # of a block; smaller ones run faster within one executable


class Segment(NamedTuple):
    """A part of a program, which reads and makes numbered values.

    Attributes:
      program: the lowered part. Segments for equal blocks share it.
      inputs: the numbers of the values that it reads.
      results: the numbers of its results.
      dead: the numbers of the values that no later segment reads.
    """

    program: LoweredProgram
    inputs: list[int]
    results: list[int]
    dead: list[int]


class Segments(NamedTuple):
    """A divided program. Its inputs are the first values; the others are results of segments.

    Attributes:
      parts: the segments, in the order in which they run.
      outputs: the numbers of the program's results.
    """

    parts: list[Segment]
    outputs: list[int]


def segments_of(program: LoweredProgram, device: Device) -> Segments | None:
    """The segments of a program; `None` if it is compiled whole.

    A program is divided if it calls large blocks at least `MIN_CALLS` times. The calls of other
    blocks stay within a segment.
    """
    if device.platform != "cpu" or thread.debug_lines:
        return None
    calls = sum(map(is_large_block, program.outlined.equations))
    return segmented(program) if calls >= MIN_CALLS else None


def is_large_block(e: Equation) -> bool:
    """True for a call of a block with at least `MIN_FLOPS` operations."""
    function = block_function(e)
    return function is not None and flops(function) >= MIN_FLOPS


def segmented(program: LoweredProgram) -> Segments:
    """The program, cut before and after every large block."""
    jaxpr = program.outlined
    parts: list[list[Equation]] = [[]]
    for e in jaxpr.equations:
        if is_large_block(e):
            parts += [[e], []]
        else:
            parts[-1].append(e)
    parts = [part for part in parts if part]
    last_use: dict[Any, int] = {}
    for i, part in enumerate(parts):
        last_use.update(dict.fromkeys([v for e in part for v in e.inputs if type(v) is Var], i))
    last_use.update(dict.fromkeys(jaxpr.outvars, len(parts)))
    number = {v: i for i, v in enumerate(jaxpr.invars)}
    donated = {jaxpr.invars[i] for i in program.donated}
    lowered: dict[Jaxpr, LoweredProgram] = {}
    segments = []
    for i, part in enumerate(parts):
        overwritten: list[int] = []
        function = block_function(part[0]) if is_large_block(part[0]) else None
        if function is not None:
            inputs, outs = part[0].inputs, part[0].outvars
        else:
            function = between_blocks(part, last_use, i, jaxpr.name)
            inputs, outs = function.invars, function.outvars
            if i == len(parts) - 1:  # an interrupt before it must not cost the caller an argument
                overwritten = [n for n, v in enumerate(inputs) if v in donated]
        if function not in lowered:
            options = {**program.options, "weft_outline": False}
            lowered[function] = LoweredProgram(function, overwritten, options=options)
        segment = lowered[function]
        results = [0] * len(segment.result_types)
        for v, output in zip(outs, segment.outputs, strict=True):
            assert isinstance(output, Result)  # equations of the segment compute its outputs
            results[output.index] = number.setdefault(v, len(number))
        read = [inputs[n] for n in segment.live]
        dead = [number[v] for v in {*read, *outs} if last_use.get(v, -1) <= i]
        segments.append(Segment(segment, [number[v] for v in read], results, dead))
    return Segments(segments, [number[v] for v in jaxpr.outvars])


def between_blocks(part: Sequence[Equation], last_use: dict[Any, int], i: int, name: str) -> Jaxpr:
    """The equations between two blocks, the part number `i`, as a program."""
    made = dict.fromkeys([v for e in part for v in e.outvars])
    read = [v for e in part for v in e.inputs if type(v) is Var and v not in made]
    outs = [v for v in made if last_use.get(v, -1) > i]
    return Jaxpr([], [], [*dict.fromkeys(read)], part, outs, f"{name}_segment")


class SegmentedExecutable(Executable):
    """The executables of a program's segments, as one.

    Args:
      program: the divided program.
      segments: its segments.
      executables: the executable of each segment; segments of one program have the same.
    """

    def __init__(
        self, program: LoweredProgram, segments: Segments, executables: Sequence[Executable]
    ) -> None:
        self.segments, self.executables = segments, executables
        self.outputs, self.device = tuple(program.result_types), executables[0].device
        self.handlers = None
        avals = program.outlined.in_avals
        self.input_bytes = sum(a.size * a.stored.itemsize for a in avals)
        self.execute = self.run = runner(segments, executables)

    @property
    def distinct(self) -> list[Executable]:
        """The executables, each once, in the order of their first runs."""
        return [*dict.fromkeys(self.executables)]

    def serialize(self) -> bytes:
        """Raises an error: the machine code is in several executables."""
        raise XlaRuntimeError(
            f"serialize: the program runs as {len(self.executables)} segments\n"
            '  fix: compile it whole: jit(f, compiler_options={"weft_segments": False})'
        )

    def as_text(self) -> str:
        """The optimised segments, each once, as HLO text."""
        return "\n".join([e.as_text() for e in self.distinct])

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work, summed over the segments."""
        total: Counter[str] = Counter()
        costs = {e: e.cost_analysis() for e in self.distinct}
        for executable in self.executables:
            total.update(costs[executable])
        return dict(total)

    def memory_analysis(self) -> MemoryAnalysis:
        """The memory that one run needs, with the values between segments."""
        plans = {e: e.memory_analysis() for e in self.distinct}
        size: dict[int, int] = {}
        live = peak = 0
        for segment, executable in zip(self.segments.parts, self.executables, strict=True):
            plan = plans[executable]
            for n, (shape, dtype) in zip(segment.results, executable.outputs, strict=True):
                size[n] = math.prod(shape) * dtype.itemsize
                live += size[n]
            peak = max(peak, live + plan.temp_bytes - plan.alias_bytes)
            live -= sum(size.get(n, 0) for n in segment.dead)
        outputs = sum(size[n] for n in self.segments.outputs)
        alias = plans[self.executables[-1]].alias_bytes
        return MemoryAnalysis(
            argument_bytes=self.input_bytes,
            output_bytes=outputs,
            temp_bytes=max(peak - (outputs - alias), 0),
            alias_bytes=alias,
            peak_bytes=self.input_bytes + peak,
            generated_code_bytes=sum(p.generated_code_bytes for p in plans.values()),
        )

    def __repr__(self) -> str:
        return f"SegmentedExecutable({len(self.executables)} segments, {self.device})"


def runner(
    segments: Segments, executables: Sequence[Executable]
) -> Callable[[Sequence[RawBuffer]], list[RawBuffer]]:
    """The function that runs the segments: buffers in, buffers out."""
    steps = [
        (executable.execute, segment.inputs, segment.results, segment.dead)
        for segment, executable in zip(segments.parts, executables, strict=True)
    ]
    made = sum(len(segment.results) for segment in segments.parts)
    outputs = segments.outputs

    def execute(arguments: Sequence[RawBuffer]) -> list[RawBuffer]:
        values = [*arguments, *[None] * made]
        for run, inputs, results, dead in steps:
            for n, result in zip(results, run([values[n] for n in inputs]), strict=True):
                values[n] = result
            for n in dead:
                values[n] = None
        return [values[n] for n in outputs]

    return execute
