"""CompileReport: the blocks, kernels and compile time of one program."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..core.jaxpr import Jaxpr
from ..runtime.executable import Executable
from . import disk_cache
from .compiled import GroupTarget, ProgramTarget
from .lowered import LoweredProgram
from .optimized import OptimizedProgram
from .outline import block_functions
from .segments import SegmentedExecutable


class RepeatedBlock(NamedTuple):
    """A block of equations that became a function of the program."""

    name: str
    calls: int
    equations: int


@dataclass(frozen=True)
class CompileReport:
    """A report on the compilation of a program: `jit(f).lower(…).compile_report()`. It prints as a
    table.

    Attributes:
      name: the name of the function.
      equations: the number of equations, without dead code and with calls inlined.
      blocks: the functions that replace repeated blocks.
      numbers: the number of literals and start indices that became arguments, because blocks
        differed only in these.
      segments: the number of executables that a run starts one after another (`segments.py`); 1 if
        the program is compiled whole.
      kernels: the number of kernels that a run starts, without kernels on only a few numbers.
      seconds: the time of each stage: "lower" (passes and text), and "compile" or "load".
      is_loaded: True if the executable came from the disk cache.
    """

    name: str
    equations: int
    blocks: tuple[RepeatedBlock, ...]
    numbers: int
    segments: int
    kernels: int
    seconds: dict[str, float]
    is_loaded: bool

    def __str__(self) -> str:
        calls = sum(block.calls for block in self.blocks)
        rows = [
            (f"{self.equations:,}", "equations"),
            (f"{calls:,}", f"calls of {len(self.blocks)} repeated blocks"),
            *[(f"{b.calls:,} ×", f"  {b.name}: {b.equations:,} equations") for b in self.blocks],
            (f"{self.numbers:,}", "numbers that differ between blocks, as arguments"),
            *[(f"{self.segments:,}", "executables in a run, one after another")]
            * (self.segments > 1),
            (f"{self.kernels:,}", "kernels in a run"),
            *[(f"{s:.3f}", f"seconds to {stage}") for stage, s in self.seconds.items()],
        ]
        return "\n".join([f"{self.name}:", *(f"{number:>10} {text}" for number, text in rows)])

    def __repr__(self) -> str:
        return str(self)


def compile_report(program: LoweredProgram, target: ProgramTarget) -> CompileReport:
    """Lowers a program again, compiles it again, and reports what happened."""
    begun = time.perf_counter()
    if isinstance(target, GroupTarget):
        target.text(program)  # written at each request
    else:
        options = {**program.options, "weft_outline": program.outlines}
        target.text(LoweredProgram(program.body, options=options))
    seconds = {"lower": time.perf_counter() - begun}
    hits = disk_cache.info()["hits"]
    begun = time.perf_counter()
    executable = target.compile_anew(program)
    is_loaded = disk_cache.info()["hits"] > hits
    seconds["load" if is_loaded else "compile"] = time.perf_counter() - begun
    executables: Sequence[Executable] = [executable]
    if isinstance(executable, SegmentedExecutable):
        executables = executable.executables
    kernels = {
        e: len([*OptimizedProgram(e.as_text()).kernels()]) for e in dict.fromkeys(executables)
    }
    return CompileReport(
        program.name,
        len(program.body.equations),
        repeated_blocks(program.outlined),
        len(program.pool),
        len(executables),
        sum(kernels[e] for e in executables),
        seconds,
        is_loaded,
    )


def repeated_blocks(jaxpr: Jaxpr) -> tuple[RepeatedBlock, ...]:
    """The functions of a program's blocks, in the order of their first calls."""
    functions = block_functions(jaxpr)
    calls = Counter(map(id, functions))
    first = {id(function): function for function in functions}
    return tuple([RepeatedBlock(f.name, calls[key], len(f.equations)) for key, f in first.items()])
