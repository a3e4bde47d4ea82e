"""The memory that a program needs, before it runs: its peak, and the largest buffers by line.

The totals are XLA's own (`Executable.memory_analysis`). Which buffers live at the peak follows from
the order of the optimised program's instructions and the last use of each value.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..runtime import client
from ..runtime.failures import size_of
from .optimized import CONTAINERS, FREE, UNKNOWN, Computation, Instruction, Line, OptimizedProgram

PRODUCTS = ("dot", "convolution")
IN_PLACE = ("dynamic-update-slice", "scatter")
SHOWN = 10

THREAD_SHARE = 0.6
"""The memory of one thread for a kernel of several products, as a fraction of the operands and the
result."""


class Buffer(NamedTuple):
    """Memory for an array of a program.

    Attributes:
      bytes: its size.
      kind: "argument", "constant", "output" or "temporary".
      shape: the type, as XLA writes it: `f32[3,4]`.
      line: the user's line that made it, or `UNKNOWN`.
      name: the argument, or the operation.
    """

    bytes: int
    kind: str
    shape: str
    line: Line
    name: str

    def __str__(self) -> str:
        where = f" at {self.line}" if self.line.number else ""
        return f"{size_of(self.bytes):>10}  {self.kind:9}  {self.shape}  {self.name}{where}"


class Moment(NamedTuple):
    """The memory in use when an instruction of the program runs."""

    bytes: int
    line: Line
    name: str


class MemoryPlan:
    """The memory of one run of a program.

    Attributes:
      peak_bytes: all arrays of a run together: arguments, outputs and temporary memory.
      argument_bytes, output_bytes, temporary_bytes: its parts. Of the outputs, `shared_bytes` are
        in the memory of donated arguments.
      scratch_bytes: memory that a fused kernel of several products allocates itself, outside XLA's
        plan.
      buffers: the largest buffers that are alive at the peak, the largest first.
      moments: the memory in use over the instructions of the program, in order.
    """

    def __init__(
        self, name: str, analysis: Any, optimized: OptimizedProgram, arguments: Sequence[str]
    ) -> None:
        self.name = name
        self.scratch_bytes = max(map(scratch_of(optimized), optimized.kernels()), default=0)
        self.peak_bytes = analysis.peak_bytes + self.scratch_bytes
        self.argument_bytes = analysis.argument_bytes
        self.output_bytes = analysis.output_bytes
        self.temporary_bytes = analysis.temp_bytes
        self.shared_bytes = analysis.alias_bytes
        self.moments, at_peak = _lives(optimized, arguments)
        self.buffers: list[Buffer] = sorted(at_peak, key=lambda b: -b.bytes)

    def by_line(self) -> list[tuple[Line, int]]:
        """The bytes of each line at the peak, the largest first."""
        totals: dict[Line, int] = {}
        for buffer in self.buffers:
            if buffer.line is not UNKNOWN:
                totals[buffer.line] = totals.get(buffer.line, 0) + buffer.bytes
        return sorted(totals.items(), key=lambda item: -item[1])

    def __str__(self) -> str:
        parts = (
            f"arguments {size_of(self.argument_bytes)}, outputs {size_of(self.output_bytes)}, "
            f"temporary {size_of(self.temporary_bytes)}"
        )
        if self.shared_bytes:
            parts += f", {size_of(self.shared_bytes)} of the outputs in donated memory"
        if self.scratch_bytes:
            parts += f", {size_of(self.scratch_bytes)} inside of kernels"
        head = f"memory of {self.name}: {size_of(self.peak_bytes)} at the peak ({parts})"
        rows = [f"  {buffer}" for buffer in self.buffers[:SHOWN]]
        return "\n".join([head, *rows])

    __repr__ = __str__


class _Value:
    """The buffers of a value: one buffer, or the buffers of a tuple's elements."""

    __slots__ = ("buffers", "elements")

    buffers: set[int]

    def __init__(self, buffers: Sequence[int] = (), elements: Sequence["_Value"] = ()) -> None:
        self.elements = list(elements)
        self.buffers = {*buffers}.union(*(e.buffers for e in elements))


class _Lives:
    """The buffers of a computation's instructions, and their first and last uses."""

    def __init__(
        self, program: OptimizedProgram, computation: Computation, fused: bool = False
    ) -> None:
        self.program, self.computation, self.fused = program, computation, fused
        self.made: dict[int, tuple[int, Instruction, int]] = {}  # size, maker, element
        self.last: dict[int, int] = {}
        self.values: dict[str, _Value] = {}
        self.extra: dict[int, int] = {}  # the temporary memory inside a loop, branch or call
        self.positions = {i.name: n for n, i in enumerate(computation.instructions)}
        for n, i in enumerate(computation.instructions):
            operands = [self.values[x] for x in i.operands if x in self.values]
            for value in operands:
                self.last.update(dict.fromkeys(value.buffers, n))
            self.values[i.name] = value = self.value_of(n, i, operands)
            self.last.update(dict.fromkeys(value.buffers, n))
        self.results = value.buffers
        self.last.update(dict.fromkeys(self.results, len(computation.instructions)))

    def value_of(self, n: int, i: Instruction, operands: Sequence[_Value]) -> _Value:
        """The value of an instruction. Its buffers are new, or they are its operands' buffers."""
        if i.opcode == "tuple":
            return _Value(elements=operands)
        if i.opcode == "get-tuple-element" and operands:
            index = int(i.rest.partition("index=")[2].partition(",")[0])
            elements = operands[0].elements
            return elements[index] if index < len(elements) else operands[0]
        if i.opcode in ("bitcast", "while") and operands:
            if i.opcode == "while":
                self.extra[n] = max(inner_bytes(self.program, name) for name in i.called)
            return operands[0]
        if i.opcode in CONTAINERS and i.called:
            self.extra[n] = max(inner_bytes(self.program, name) for name in i.called)
        if i.opcode in FREE - {"parameter", "iota"}:
            return _Value()
        if (place := self.in_place(i)) is not None:
            return operands[place]
        if self.fused and i.opcode not in (*PRODUCTS, "parameter", "reduce"):
            # elementwise operations overwrite an operand, or are fused into the reader
            same = [v for v in operands if self.owned(v, i)]
            return same[0] if same else _Value()
        made = []
        for element, size in enumerate(i.sizes):
            number = len(self.made)
            self.made[number] = size, i, element
            made.append(_Value([number]))
        return made[0] if len(made) == 1 else _Value(elements=made)

    def owned(self, value: _Value, i: Instruction) -> bool:
        """True if an operand is a buffer of this size that is not an argument."""
        return any(
            self.made[b][0] == i.bytes and self.made[b][1].opcode != "parameter"
            for b in value.buffers
        )

    def in_place(self, i: Instruction) -> int | None:
        """The operand that an update overwrites, which XLA makes possible by copies before it."""
        if i.opcode in IN_PLACE:
            return 0
        if i.opcode != "fusion" or not i.called:
            return None
        body = self.program.computations[i.called[0]]
        if body.root.opcode not in IN_PLACE:
            return None
        parameters = [x.name for x in body.instructions if x.opcode == "parameter"]
        target = body.root.operands[0]
        return parameters.index(target) if target in parameters else None

    def alive(self) -> Iterator[tuple[int, list[int]]]:
        """For each instruction the bytes in use, and the buffers."""
        first = {number: self.position(maker) for number, (_, maker, _) in self.made.items()}
        changes: dict[int, list[int]] = {}
        for number, n in first.items():
            changes.setdefault(n, []).append(number)
        alive: set[int] = set()
        for n, i in enumerate(self.computation.instructions):
            shares = i.opcode == "fusion" and "kind=kLoop" in i.rest
            # an elementwise kernel may overwrite an operand that is not read later
            alive = {b for b in alive if self.last[b] > n or (self.last[b] == n and not shares)}
            alive.update(changes.get(n, ()))
            total = sum(self.made[b][0] for b in alive) + self.extra.get(n, 0)
            yield total, [*alive]
            alive = {b for b in alive if self.last[b] > n}

    def position(self, maker: Instruction) -> int:
        """The position of an instruction in the order; arguments are there from the beginning."""
        if maker.opcode == "parameter":
            return 0
        return self.positions[maker.name]


def inner_bytes(program: OptimizedProgram, name: str, fused: bool = False) -> int:
    """The temporary memory inside a loop's body, a called computation, or a fused kernel."""
    if name not in program.computations:
        return 0
    lives = _Lives(program, program.computations[name], fused)
    own = {
        number: size
        for number, (size, maker, _) in lives.made.items()
        if maker.opcode != "parameter" and number not in lives.results
    }
    totals = [
        sum(own.get(b, 0) for b in alive) + lives.extra.get(n, 0)
        for n, (_, alive) in enumerate(lives.alive())
    ]
    return max(totals, default=0)


def scratch_of(program: OptimizedProgram) -> Callable[[Instruction], int]:
    """A function from kernels to the memory that each allocates itself.

    On CPUs the library YNNPACK runs several products as one kernel, as in attention. It allocates
    their results, and for each thread a fraction of the kernel's operands and result (measured
    with 2 and 8 threads: tests/explanation).
    """
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    threads = max(len(allowed), len(client.devices("cpu")))

    def scratch(kernel: Instruction) -> int:
        products = [i for i in program.inside(kernel) if i.opcode in PRODUCTS]
        if "__ynn_fusion" not in kernel.rest or len(products) < 2:
            return 0
        body = program.computations[kernel.called[0]].instructions
        ends = kernel.bytes + sum(i.bytes for i in body if i.opcode == "parameter")
        share = int(THREAD_SHARE * threads * ends)
        return inner_bytes(program, kernel.called[0], fused=True) + share

    return scratch


def _lives(
    program: OptimizedProgram, arguments: Sequence[str]
) -> tuple[list[Moment], list[Buffer]]:
    """The memory over the instructions of a program, and the buffers at its peak."""
    lives = _Lives(program, program.entry)
    for number, (_, maker, _) in lives.made.items():
        if maker.opcode == "parameter":  # the caller keeps it
            lives.last[number] = len(program.entry.instructions)
    moments, at_peak, most = [], list[int](), -1
    for i, (total, alive) in zip(program.entry.instructions, lives.alive(), strict=True):
        if i.opcode not in FREE or i is program.entry.root:
            moments.append(Moment(total, i.line, i.name))
        if total > most:
            most, at_peak = total, alive
    numbers: dict[str, int] = {}
    for i in program.entry.instructions:
        if i.opcode == "parameter":
            numbers[i.name] = i.number
    buffers = []
    for b in at_peak:
        size, maker, element = lives.made[b]
        kind, name = "temporary", operation_of(program, maker)
        if maker.opcode == "parameter":
            number = numbers[maker.name]
            known = number < len(arguments)
            kind, name = ("argument", arguments[number]) if known else ("constant", "closed over")
        elif b in lives.results:
            kind = "output"
        buffers.append(Buffer(size, kind, maker.shapes[element], maker.line, name))
    return moments, buffers


def operation_of(program: OptimizedProgram, i: Instruction) -> str:
    """The operation that makes the result of an instruction."""
    inside = program.inside(i)
    last = inside[-1].opcode
    return last if len(inside) == 1 else f"{last} ({len(inside)} operations fused)"
