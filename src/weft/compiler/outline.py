"""Finds blocks of equations that repeat, and makes each a function of the program.

Deep networks are the same block again and again. Written out flat, XLA fuses across the borders of
blocks (the sums of a residual stream most of all), so that compile time grows with the square of
the depth; as calls that it must not inline, it doesn't. Measured on a 12-layer transformer's
gradient: half the compile time, and a faster step (docs/design.md, “Outlining”).

Knows jaxprs; what makes two blocks equal is their structure, so that a wrong guess of where they
begin costs time, never correctness.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import Primitive

SMALLEST = 30  # equations a block: below, XLA's own sharing of equal kernels does as well
FEWEST = 3  # repetitions

block_call = Primitive(
    "block_call", "A call of a repeated block, not to be inlined.", multiple=True
)


@block_call.type
def _(*avals: Any, jaxpr: Jaxpr) -> Any:
    return jaxpr.out_avals


def outlined(jaxpr: Jaxpr) -> Jaxpr:
    """The same program with its repeated blocks as calls; itself if there are none."""
    equations = jaxpr.equations
    if len(equations) < SMALLEST * FEWEST:
        return jaxpr
    numbers = signatures(equations)
    runs = find_runs(numbers)
    if not runs:
        return jaxpr
    used_by = last_uses(jaxpr)
    result: list[Equation] = []
    done = 0
    for begin, period, length in runs:
        start = begin + phase(equations, begin, period, length // period, used_by)
        count = (begin + length - start) // period
        blocks = [equations[start + i * period : start + (i + 1) * period] for i in range(count)]
        result += equations[done:start]
        result += calls(blocks, numbers, start, period, used_by, jaxpr.name)
        done = start + count * period
    result += equations[done:]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, result, jaxpr.outvars, jaxpr.name)


def signatures(equations: Sequence[Equation]) -> list[int]:
    """A number for each equation; equal for equal operations on equal types."""
    numbers: dict[Any, int] = {}
    found = []
    for e in equations:
        key = (
            e.primitive,
            e.params,
            *[v.aval if v.__class__ is Var else id(v) for v in e.inputs],
            len(e.outvars),
        )
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def find_runs(sequence: Sequence[int]) -> list[tuple[int, int, int]]:
    """Tandem repetitions: (start, period, length), in order, disjoint, longest chosen first."""
    totals = Counter(sequence)
    most = len(sequence) // SMALLEST  # the period of a block is the distance of its rare equations
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for i, s in enumerate(sequence):
        if totals[s] <= most:
            if s in last:
                distances[i - last[s]] += 1
            last[s] = i
    longest = len(sequence) // FEWEST
    candidates = [p for p, _ in distances.most_common(4) if SMALLEST <= p <= longest]
    runs = []
    for period in candidates:
        begin = 0
        for i, (a, b) in enumerate(zip(sequence, [*sequence[period:], -1], strict=False)):
            if a != b:
                if i - begin >= (FEWEST - 1) * period:
                    runs.append((begin, period, i - begin + period))
                begin = i + 1
    chosen: list[tuple[int, int, int]] = []
    for begin, period, length in sorted(runs, key=lambda r: (r[1] - r[2], r[1])):
        if all(begin + length <= b or b + n <= begin for b, _, n in chosen):
            chosen.append((begin, period, length))
    return sorted(chosen)


def last_uses(jaxpr: Jaxpr) -> dict[Var, int]:
    """The last equation that uses each variable; outputs are used at the end."""
    uses: dict[Var, int] = {}
    for i, e in enumerate(jaxpr.equations):
        for v in e.inputs:
            if v.__class__ is Var:
                uses[v] = i
    for v in jaxpr.outvars:
        if v.__class__ is Var:
            uses[v] = len(jaxpr.equations)
    return uses


def phase(
    equations: Sequence[Equation], start: int, period: int, count: int, uses: dict[Var, int]
) -> int:
    """Where within a period to cut, so that the fewest values cross (in the middle of the run)."""
    middle = start + (count // 2) * period
    near = max(start, middle - 2 * period)  # what is older crosses every cut alike
    made = [
        (v, near + i) for i, e in enumerate(equations[near : middle + period]) for v in e.outvars
    ]
    crossing = [0] * (period + 1)
    for v, i in made:
        last = uses.get(v, -1)
        low, high = max(i + 1 - middle, 0), min(last - middle, period)
        if low <= high:
            crossing[low] += 1
            if high + 1 <= period:
                crossing[high + 1] -= 1
    total, best, at = 0, None, 0
    for offset in range(period):
        total += crossing[offset]
        if best is None or total < best:
            best, at = total, offset
    return at


def calls(
    blocks: Sequence[Sequence[Equation]],
    numbers: Sequence[int],
    start: int,
    period: int,
    uses: dict[Var, int],
    name: str,
) -> list[Equation]:
    """Calls for the blocks; blocks of one structure share a function."""
    kinds: dict[Any, int] = {}  # structure -> a number: the long key is hashed once a block
    shapes = []
    for n, block in enumerate(blocks):
        begin = start + n * period
        key, inputs = structure(block, numbers[begin : begin + period])
        shapes.append((kinds.setdefault(key, len(kinds)), inputs))
    counts = Counter(kind for kind, _ in shapes)
    exported: dict[int, set[tuple[int, int]]] = {kind: set() for kind in counts}
    for n, (kind, _) in enumerate(shapes):
        if counts[kind] < 2:
            continue
        end = start + (n + 1) * period
        out = exported[kind]
        for i, e in enumerate(blocks[n]):
            for j, v in enumerate(e.outvars):
                if uses.get(v, -1) >= end:
                    out.add((i, j))
    functions: dict[int, Jaxpr] = {}
    result: list[Equation] = []
    for block, (kind, inputs) in zip(blocks, shapes, strict=True):
        places = sorted(exported[kind])
        if not places:
            result += block
            continue
        outvars = [block[i].outvars[j] for i, j in places]
        function = functions.get(kind)
        if function is None:
            function = Jaxpr([], [], inputs, block, outvars, f"{name}_block")
            functions[kind] = function
        result.append(Equation(block_call, inputs, (("jaxpr", function),), outvars))
    return result


def structure(block: Sequence[Equation], numbers: Sequence[int]) -> tuple[Any, list[Var]]:
    """What a block computes, but for the names of variables; and its inputs, by first use.

    The equations' signatures (`numbers`) say their operations, types and literals; what is left is
    where each input comes from: a result within, counted up, or one from outside, counted down.
    """
    places: dict[Var, int] = {}
    outside: list[Var] = []
    key: list[int] = []
    made = 1
    for e, number in zip(block, numbers, strict=True):
        key.append(number)
        for v in e.inputs:
            if v.__class__ is Var:
                place = places.get(v)
                if place is None:
                    outside.append(v)
                    place = places[v] = -len(outside)
                key.append(place)
        for v in e.outvars:
            places[v] = made
            made += 1
    return tuple(key), outside
