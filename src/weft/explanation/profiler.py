"""Profiler times the kernels of single calls with XLA's profiler; kernel_seconds returns the times,
or estimates them; bytes_moved counts the bytes that they read and write.

If no call was profiled (the first one is not, nor is a long loop), the seconds of a call are
divided among its kernels by their bytes and operations.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..compiler.optimized import CONTAINERS, Instruction, OptimizedProgram
from ..runtime import profiling

BYTES_PER_SECOND = 1e10
FLOPS_PER_SECOND = 5e10
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


class Profiler:
    """Records the kernels of a call, unless the user is recording a profile."""

    active = False

    def begin(self) -> None:
        """Starts to record."""
        options = profiling.options(
            {"host_tracer_level": 1, "python_tracer_level": 0, "enable_hlo_proto": False}
        )
        try:
            profiling.start("memory", options)
            self.active = True
        except RuntimeError:
            self.active = False

    def end(self) -> dict[str, float] | None:
        """The seconds of each kernel, by the name of its instruction; `None` if nothing was
        recorded."""
        if not self.active:
            return None
        self.active = False
        data: Any = profiling.read_trace(profiling.stop_in_memory())
        seconds: dict[str, float] = {}
        for plane in data.planes:
            for line in plane.lines:
                for event in line.events:
                    if not event.name.startswith("end: "):
                        seconds[event.name] = (
                            seconds.get(event.name, 0.0) + event.duration_ns * 1e-9
                        )
        return seconds


def kernel_seconds(
    program: OptimizedProgram, profiles: Sequence[dict[str, float]], seconds: float
) -> dict[str, float]:
    """The seconds of each kernel in a call, by the name of its instruction.

    Args:
      profiles: the seconds of the kernels in some calls; if empty, they are estimated.
      seconds: the time of a call without profiling, an upper bound for the sum over the kernels.
    """
    names = [k.name for k in program.kernels()]
    if profiles:
        means = {n: sum(p.get(n, 0.0) for p in profiles) / len(profiles) for n in names}
        total = sum(means.values())
        # recording slows down small kernels, and those of several threads overlap
        scale = min(1.0, seconds / total) if total else 1.0
        return {n: mean * scale for n, mean in means.items()}
    runs = rounds(program)
    costs = {
        i.name: cost(program, computation.instructions, i) * runs[computation.name]
        for computation in program.running()
        for i in computation.instructions
        if i.name in names
    }
    total = sum(costs.values()) or 1.0
    return {name: seconds * c / total for name, c in costs.items()}


def rounds(program: OptimizedProgram) -> dict[str, int]:
    """The number of times that each computation runs in a call; a loop of unknown length counts
    once."""
    counts = {program.entry.name: 1}
    waiting = [program.entry]
    while waiting:
        computation = waiting.pop()
        for i in computation.instructions:
            if i.opcode not in CONTAINERS:
                continue
            trips = _TRIPS.search(i.rest)
            for name in i.called:
                if name not in counts and name in program.computations:
                    counts[name] = counts[computation.name] * (int(trips[1]) if trips else 1)
                    waiting.append(program.computations[name])
    return counts


def cost(program: OptimizedProgram, around: Sequence[Instruction], i: Instruction) -> float:
    """An estimate of a kernel's time in seconds."""
    sizes = {x.name: x.bytes for x in around}
    operands = [sizes.get(name, 0) for name in i.operands]
    total = (i.bytes + sum(operands)) / BYTES_PER_SECOND
    if any(x.opcode in ("dot", "convolution") for x in program.inside(i)) and len(operands) >= 2:
        a, b = sorted(operands)[-2:]
        total += 2 * (a * b * i.bytes / 64) ** 0.5 / FLOPS_PER_SECOND
    return total


def bytes_moved(program: OptimizedProgram) -> int:
    """The bytes of the operands and the results of all kernels, in a call.

    The body of a loop counts once per iteration if XLA knows their number, otherwise once.
    """
    runs = rounds(program)
    kernels = {id(i) for i in program.kernels()}
    total = 0
    for computation in program.running():
        sizes = {i.name: i.bytes for i in computation.instructions}
        for i in computation.instructions:
            if id(i) in kernels:
                operands = sum(sizes.get(name, 0) for name in i.operands)
                total += (i.bytes + operands) * runs[computation.name]
    return total
