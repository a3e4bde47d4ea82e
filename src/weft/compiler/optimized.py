"""Reads programs that XLA has optimised: their instructions, with bytes, uses and the user's lines.

XLA prints such a program as HLO text (`Executable.as_text`): computations, which are lists of
instructions in the order in which they run. A line is known if the program was lowered with lines
(`lower.py: lower_at_locations`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Line(NamedTuple):
    """A line of the user's code: the name of the file without its folder, and the line number."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}" if self.number else "an unknown line"


UNKNOWN = Line("", 0)

# Instructions that do not compute: their results are other values, or parts of them.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "iota"}
CONTAINERS = {"while", "call", "conditional", "async-start", "async-done"}


@dataclass
class Instruction:
    """An instruction: `name = type opcode(operands)`.

    Attributes:
      shapes: the arrays of its result, as text: `f32[3,4]`.
      sizes: their bytes.
      called: the computations that it calls, for example as a fusion or a loop.
      number: the position of a parameter.
      line: the user's line, or `UNKNOWN`.
      rest: the other attributes, as text.
    """

    name: str
    opcode: str
    shapes: list[str]
    sizes: list[int]
    operands: list[str]
    called: list[str]
    line: Line
    rest: str
    number: int = 0

    @property
    def bytes(self) -> int:
        """The bytes of its result."""
        return sum(self.sizes)


@dataclass
class Computation:
    """A list of instructions, in the order in which they run; the last one is the result."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's result."""
        return self.instructions[-1]


class OptimizedProgram:
    """A program as XLA runs it.

    Args:
      text: HLO text of a scheduled module.
    Attributes:
      computations: the computations by name; `entry` is the first to run.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, Computation] = {}
        frames = _frames(text)
        current = None
        for line in text.splitlines():
            if line.startswith(("%", "ENTRY ")) and line.endswith("{"):
                name = line.removeprefix("ENTRY ").split(" ", 1)[0].lstrip("%")
                current = self.computations[name] = Computation(name)
                if line.startswith("ENTRY "):
                    self.entry = current
            elif line.startswith("}"):
                current = None
            elif current is not None and (instruction := _instruction(line, frames)):
                current.instructions.append(instruction)
                if line.lstrip().startswith("ROOT "):
                    root = instruction
            if current is None and line.startswith("}"):
                made = [*self.computations.values()][-1]
                made.instructions.remove(root)  # the root may not be printed last
                made.instructions.append(root)
        self._fill_in_lines()

    def kernels(self) -> Iterator[Instruction]:
        """The instructions that run as kernels, including those in loops and branches."""
        for computation in self.running():
            sizes = {i.name: i.bytes for i in computation.instructions}
            for i in computation.instructions:
                most = max([i.bytes, *(sizes.get(name, 0) for name in i.operands)])
                if i.opcode not in FREE and i.opcode not in CONTAINERS and most > SCALAR:
                    yield i

    def running(self) -> list[Computation]:
        """The computations that run: the entry, and the insides of loops, branches and calls."""
        names, found = [self.entry.name], dict[str, Computation]()
        while names:
            name = names.pop()
            if name not in found and name in self.computations:
                found[name] = self.computations[name]
                for i in found[name].instructions:
                    if i.opcode in CONTAINERS:
                        names += i.called
        return [*found.values()]

    def inside(self, instruction: Instruction) -> list[Instruction]:
        """The instructions that a fusion computes together, or the instruction itself if it is not
        a fusion."""
        if instruction.opcode != "fusion" or not instruction.called:
            return [instruction]
        body = self.computations[instruction.called[0]].instructions
        return [i for i in body if i.opcode not in FREE and i.opcode != "broadcast"] or [body[-1]]

    def _fill_in_lines(self) -> None:
        """Gives a line to instructions without one: the line of an instruction fused into it, or
        else of an operand or a user."""
        for computation in self.computations.values():
            by_name = {i.name: i for i in computation.instructions}
            for i in computation.instructions:
                if i.line is UNKNOWN and i.opcode == "fusion" and i.called:
                    lines = [x.line for x in self.computations[i.called[0]].instructions]
                    i.line = next((x for x in reversed(lines) if x is not UNKNOWN), UNKNOWN)
            for i in computation.instructions:
                if i.line is UNKNOWN and i.opcode not in FREE and i.opcode != "copy":
                    i.line = _known_line(i, by_name)
            for i in reversed(computation.instructions):
                for name in i.operands if i.line is not UNKNOWN else ():
                    operand = by_name.get(name)
                    if operand is not None and operand.opcode == "copy":
                        operand.line = i.line if operand.line is UNKNOWN else operand.line
            for i in computation.instructions:
                if i.line is UNKNOWN and i.opcode == "copy":
                    i.line = _known_line(i, by_name)
        for computation in self.running():  # a rule may write a loop whose body lacks lines
            for i in computation.instructions:
                for name in i.called if i.opcode in CONTAINERS else ():
                    for inner in self.computations[name].instructions:
                        inner.line = i.line if inner.line is UNKNOWN else inner.line


def _known_line(i: Instruction, by_name: dict[str, Instruction]) -> Line:
    """The line of an operand."""
    lines = [by_name[n].line for n in i.operands if n in by_name]
    return next((x for x in reversed(lines) if x is not UNKNOWN), UNKNOWN)


SCALAR = 16
"""A size in bytes. Kernels on smaller arrays only update loop counters and similar numbers."""

_TYPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%([\w.\-]+)"
)
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_SOURCE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_NAME = re.compile(r"%([\w.\-]+)")


def bytes_of(dtype: str, dims: str) -> int:
    """The bytes of an array type of HLO: `f32`, `3,4`."""
    digits = re.search(r"\d+", dtype)
    bits = int(digits[0]) if digits else 8 * (dtype == "pred")
    count = 1
    for n in dims.split(","):
        count *= int(n) if n else 1
    return count * max(bits // 8, 1) if bits else 0


def _instruction(line: str, frames: dict[int, Line]) -> Instruction | None:
    """Parses an instruction from a line of text; returns `None` for other lines."""
    name, equals, text = line.strip().removeprefix("ROOT ").partition(" = ")
    if not equals or not name.startswith("%"):
        return None
    end = _closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
    kind, call = text[:end], text[end:].lstrip()
    opcode, _, _ = call.partition("(")
    closing = _closing(call, len(opcode))
    operands = _NAME.findall(call[len(opcode) : closing]) if opcode != "constant" else []
    rest = call[closing + 1 :]
    arrays = [(d, dims) for d, dims in _TYPE.findall(kind) if d != "token"]
    called = _CALLED.findall(rest)
    for branches in _BRANCHES.findall(rest):
        called += _NAME.findall(branches)
    return Instruction(
        name.lstrip("%"),
        opcode,
        [f"{d}[{dims}]" for d, dims in arrays],
        [bytes_of(d, dims) for d, dims in arrays],
        operands,
        called,
        _line_of(rest, frames),
        rest,
        int(call[len(opcode) + 1 : closing]) if opcode == "parameter" else 0,
    )


def _closing(text: str, start: int) -> int:
    """The position of the parenthesis that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
            if not depth:
                return i
    return len(text)


def _line_of(rest: str, frames: dict[int, Line]) -> Line:
    """The user's line in the metadata of an instruction."""
    if source := _SOURCE.search(rest):
        # "-" stands for the program's own text
        return UNKNOWN if source[1] == "-" else Line(source[1], int(source[2]))
    frame = _FRAME.search(rest)
    return frames.get(int(frame[1]), UNKNOWN) if frame else UNKNOWN


def _frames(text: str) -> dict[int, Line]:
    """The lines of the stack frames that the head of a module lists."""
    head = text.partition("\n%")[0].partition("\nENTRY")[0]
    files = dict(re.findall(r'^(\d+) "([^"]*)"', _table(head, "FileNames"), re.MULTILINE))
    places = {
        number: Line(files.get(file, ""), int(line))
        for number, file, line in re.findall(
            r"^(\d+) \{file_name_id=(\d+).*? line=(\d+)",
            _table(head, "FileLocations"),
            re.MULTILINE,
        )
    }
    frames = {}
    for number, place in re.findall(
        r"^(\d+) \{file_location_id=(\d+)", _table(head, "StackFrames"), re.MULTILINE
    ):
        line = places.get(place, UNKNOWN)
        frames[int(number)] = UNKNOWN if line.file in ("", "-") else line
    return frames


def _table(head: str, name: str) -> str:
    """A table in the head of a module."""
    return head.partition(f"\n{name}\n")[2].partition("\n\n")[0]
