"""Finds blocks of equations that repeat, and makes each a function of the program.

Deep networks repeat one block. If the blocks are written out flat, XLA fuses across their borders
(above all the sums of a residual stream), and compile time grows with the square of the depth.
Calls that XLA may not inline prevent this (docs/how_it_works/3_compiler.md, “Outlining”).

An unrolled loop repeats short blocks. Several of them make one function where numbers differ
between them (`constant_pool.py`), or where XLA would compute values again.

Blocks are equal if they have the same structure, so a bad cut costs time but never correctness.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import OF_PROGRAMS_INSIDE, Primitive
from ..primitives.reductions import reduce_max, reduce_min, reduce_prod
from ..primitives.structural import reduce_sum
from ..stablehlo import Block, Operand
from .constant_pool import loose_numbers, pooled
from .lower import lower_call, no_inlining, operation_numbers

MIN_BLOCK = 30  # equations
MIN_REPEATS = 3
MIN_LAYERS = 10  # XLA compiles fewer repetitions of a block well by itself
MIN_EQUATIONS = MIN_BLOCK * MIN_REPEATS  # the least length of a program that is searched
REDUCTIONS = frozenset([reduce_sum, reduce_max, reduce_min, reduce_prod])


class Run(NamedTuple):
    """Equations that repeat: `length` of them from `start` on, in blocks of `period`.

    A block is one repetition, of `unit` equations, or several short ones.
    """

    start: int
    period: int
    length: int
    unit: int


def outlined(jaxpr: Jaxpr, pool: Sequence[Var] = (), runs: Sequence[Run] = ()) -> Jaxpr:
    """The same program with its repeated blocks as calls; the program itself if no blocks repeat.

    Args:
      pool: the inputs for numbers that differ between blocks.
      runs: what `find_runs` finds in it, if that is known.
    """
    numbers = operation_numbers(jaxpr)
    runs = [r for r in runs or find_runs(numbers) if is_worth_a_call(jaxpr, r, pool)]
    if not runs:
        return jaxpr
    flow = Flow(jaxpr)
    equations = jaxpr.equations
    result: list[Equation] = []
    done = 0
    for begin, period, length, _ in runs:
        start = begin + phase(flow, begin, period, length // period)
        count = (begin + length - start) // period
        starts = range(start, start + count * period, period)
        result += equations[done:start]
        result += calls(flow, numbers, starts, period, jaxpr)
        done = start + count * period
    result += equations[done:]
    return jaxpr.replace(equations=result)


def outlined_with_pool(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Array]]:
    """The program with repeated blocks as calls, including blocks that differ in numbers.

    Returns: the program, whose last inputs are these numbers, and their values.
    """
    runs = find_runs(loose_numbers(jaxpr))
    program, values = pooled(jaxpr, runs)
    if not values:  # no numbers differ between the blocks
        return outlined(program, runs=runs), values
    return outlined(program, program.invars[len(jaxpr.invars) :]), values


def is_worth_a_call(jaxpr: Jaxpr, run: Run, pool: Sequence[Var]) -> bool:
    """True if a program compiles faster with the blocks as calls, and runs as fast.

    A few blocks are better flat. Short blocks are also better flat, since XLA compiles equal
    kernels once. The exceptions are blocks that read numbers from the pool, and blocks for which
    XLA would compute values repeatedly.
    """
    # the last block may lack equations with unused results
    are_many = run.length > (MIN_LAYERS - 1) * run.unit
    if run.unit >= MIN_BLOCK:
        return are_many
    block = jaxpr.equations[run.start : run.start + run.period]
    numbers = set(pool)
    reads_pool = any(v in numbers for e in block for v in e.inputs if v.__class__ is Var)
    return reads_pool or (are_many and fuses_again(block))


def fuses_again(block: Sequence[Equation]) -> bool:
    """True if the operand of a reduction is computed, element by element, from a value with another
    reader, and the block reads the result. XLA fuses the computation of that value into both
    readers, block after block. A result that leaves the block, such as the gradient of a bias, ends
    the chain."""
    reads = Counter(v for e in block for v in {v for v in e.inputs if v.__class__ is Var})
    reduced: set[Any] = set()
    for e in reversed(block):
        inputs = [v for v in e.inputs if v.__class__ is Var]
        out = e.outvars[0]
        is_reduction = e.primitive in REDUCTIONS and reads[out]
        if is_reduction or (e.primitive.elementwise and out in reduced):
            if any(reads[v] > 1 for v in inputs):
                return True
            reduced.update(inputs)
    return False


class Flow:
    """The use of results by equations, as arrays of numbers.

    Results are numbered in order, the program's inputs downwards from -1.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        inputs = [*jaxpr.constvars, *jaxpr.invars]
        number: dict[Var, int] = {v: -1 - i for i, v in enumerate(inputs)}
        sources: list[int] = []
        reads, results = [0], [0]
        out_vars: list[Var] = []
        count = 0
        for e in jaxpr.equations:
            for v in e.inputs:
                if v.__class__ is Var:
                    sources.append(number[v])
            for v in e.outvars:
                number[v] = count
                count += 1
            out_vars += e.outvars
            reads.append(len(sources))
            results.append(count)
        self.variables = out_vars + inputs[::-1]  # by number
        self.sources = np.array(sources, np.int64)
        self.reads, self.results = (
            np.array(reads),
            np.array(results),
        )  # the first read and result of each equation
        self.maker = np.repeat(np.arange(len(jaxpr.equations)), np.diff(self.results))
        reader = np.repeat(np.arange(len(jaxpr.equations)), np.diff(self.reads))
        self.last_use = np.full(len(out_vars) + len(inputs), -1)
        self.last_use[self.sources] = reader  # the last reader remains
        self.last_use[[number[v] for v in jaxpr.outvars if v.__class__ is Var]] = len(
            jaxpr.equations
        )


def find_runs(sequence: Sequence[int] | np.ndarray[Any, Any]) -> list[Run]:
    """Disjoint tandem repetitions, in order; longer ones are chosen first.

    The equations between them are searched again, where other periods are likely: the updates of an
    optimizer are so many that they hide the period of the backward pass.
    """
    numbers = np.array(sequence)
    runs: list[Run] = []
    begin = 0
    longest = longest_runs(numbers)
    for run in [*longest, Run(len(numbers), 0, 0, 0)]:
        if longest and run.start - begin >= MIN_EQUATIONS:
            between = find_runs(numbers[begin : run.start])
            runs += [r._replace(start=begin + r.start) for r in between]
        runs.append(run)
        begin = run.start + run.length
    return runs[:-1]


def longest_runs(numbers: Any) -> list[Run]:
    """The repetitions of likely periods, as `find_runs` returns them, without a second search."""
    runs = []
    for period, unit in likely_periods(numbers):
        (differ,) = np.nonzero(numbers[:-period] != numbers[period:])
        begin = 0
        for end in [*differ.tolist(), len(numbers) - period]:
            if end - begin >= (MIN_REPEATS - 1) * period:
                runs.append(Run(begin, period, end - begin + period, unit))
            begin = end + 1
    chosen: list[Run] = []
    for run in sorted(runs, key=lambda r: (r.period - r.length, r.period)):
        begin, end = run.start, run.start + run.length
        if all(end <= r.start or r.start + r.length <= begin for r in chosen):
            chosen.append(run)
    return sorted(chosen)


def likely_periods(numbers: Any) -> list[tuple[int, int]]:
    """(period, unit): distances at which many equations repeat. Short periods are several
    repetitions long."""
    frequency = np.bincount(numbers)[numbers]
    is_rare = frequency <= len(numbers) // MIN_BLOCK  # these repeat at a distance of the period
    periods: dict[int, int] = {}
    for (places,) in (np.nonzero(is_rare), np.nonzero(~is_rare & (frequency >= MIN_REPEATS))):
        places = places[np.argsort(numbers[places], kind="stable")]
        again = np.diff(numbers[places]) == 0
        distances = np.bincount(np.diff(places)[again], minlength=1)
        likely = np.argsort(-distances, kind="stable")[:4]
        for unit in likely[distances[likely] > 0].tolist():
            period = unit * -(-MIN_BLOCK // unit)
            if period <= len(numbers) // MIN_REPEATS:
                periods.setdefault(period, unit)
    return [*periods.items()]


def phase(flow: Flow, start: int, period: int, count: int) -> int:
    """The position within a period at which the fewest values cross the cut (in the middle of the
    run)."""
    middle = start + (count // 2) * period
    near = max(start, middle - 2 * period)  # older values cross every cut equally
    out_slice = slice(flow.results[near], flow.results[middle + period])
    low = np.maximum(flow.maker[out_slice] + 1 - middle, 0)
    high = np.minimum(flow.last_use[out_slice] - middle, period)
    crosses = low <= high
    crossing = np.bincount(low[crosses], minlength=period + 2)
    crossing -= np.bincount(high[crosses] + 1, minlength=period + 2)
    return int(np.argmin(np.cumsum(crossing)[:period]))


def calls(
    flow: Flow, numbers: Sequence[int], starts: Sequence[int], period: int, jaxpr: Jaxpr
) -> list[Equation]:
    """Calls for the blocks that begin at `starts`; blocks of one structure share a function."""
    kinds: dict[
        Any, int
    ] = {}  # structure -> number, so that the long key is hashed once for each block
    blocks = []
    needed: dict[int, Any] = {}  # kind -> the results that are used after any of its blocks
    for start in starts:
        end = start + period
        key, inputs = structure(flow, start, end)
        kind = kinds.setdefault((key, *numbers[start:end]), len(kinds))
        used = flow.last_use[flow.results[start] : flow.results[end]] >= end
        needed[kind] = needed[kind] | used if kind in needed else used
        blocks.append((start, kind, inputs))
    functions: dict[int, Jaxpr] = {}
    result: list[Equation] = []
    times = Counter(kind for _, kind, _ in blocks)
    for start, kind, inputs in blocks:
        block = jaxpr.equations[start : start + period]
        (places,) = np.nonzero(needed[kind])
        if times[kind] < 2 or not len(places):
            result += block
            continue
        outvars = [flow.variables[flow.results[start] + i] for i in places]
        function = functions.get(kind)
        if function is None:
            function = Jaxpr([], [], inputs, block, outvars, f"{jaxpr.name}_block")
            functions[kind] = function
        result.append(Equation(block_call, inputs, (("jaxpr", function),), outvars))
    return result


def structure(flow: Flow, start: int, end: int) -> tuple[Any, list[Var]]:
    """A key that describes a block's computation without names of variables; and its inputs, in
    order of first use.

    The equations' signatures have their operations, types and literals. The key adds where each
    input comes from: a result of the block, counted up, or an outside value, counted down.
    """
    sources = flow.sources[flow.reads[start] : flow.reads[end]]
    within = sources - flow.results[start]
    (outside,) = np.nonzero(within < 0)
    order: dict[int, int] = {}
    within[outside] = [order.setdefault(n, -1 - len(order)) for n in sources[outside].tolist()]
    return within.tobytes(), [flow.variables[n] for n in order]


block_call = Primitive(
    "block_call", "A call of a repeated block, not to be inlined.", multiple=True
)


block_call.effects = OF_PROGRAMS_INSIDE


@block_call.type
def _(*avals: Aval, jaxpr: Jaxpr) -> Sequence[Aval]:
    return jaxpr.out_avals


@block_call.lower
def _(block: Block, *operands: Operand, out: Sequence[Aval], jaxpr: Jaxpr) -> list[Operand]:
    return lower_call(block, jaxpr, operands, no_inlining(block))


def block_function(e: Equation) -> Jaxpr | None:
    """The function that a block call applies; `None` for other equations."""
    return dict(e.params)["jaxpr"] if e.primitive.name == block_call.name else None


def block_functions(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The functions that a program's block calls apply, in the order of the calls."""
    functions = map(block_function, jaxpr.equations)
    return [function for function in functions if function is not None]
