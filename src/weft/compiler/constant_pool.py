"""Makes the blocks of an unrolled loop equal by turning numbers that differ between them into
arguments.

The equations of `for i in range(n): x = f(x * (1 + 0.01 * i), xs[i])` repeat, except for a literal
and the start of a slice. XLA would compile a kernel for each. If these numbers are arguments of the
program, the blocks are equal, and share one function (`outline.py`) and its kernels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.array import Array, literal, literal_key
from ..core.jaxpr import Equation, Jaxpr, Var
from ..primitives.arithmetic import div, mul, sub
from ..primitives.comparison import eq, ge, gt, le, lt, ne
from ..primitives.dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..primitives.slicing import pad, slice_
from ..primitives.structural import add, broadcast_in_dim
from .lower import operation_numbers

ELEMENTWISE = [add, sub, mul, div, eq, ne, lt, le, gt, ge]
LITERALS = frozenset([*ELEMENTWISE, broadcast_in_dim, dynamic_slice, dynamic_update_slice])
"""The primitives whose literals may be arguments, because they lower both in the same way."""

INDEX = np.dtype(np.int32)


class Number(NamedTuple):
    """Stands for a literal in the key of an equation."""

    aval: Any


def loose_numbers(jaxpr: Jaxpr) -> list[int]:
    """A number for each equation; equal for equations that differ only in literals and start
    indices."""
    exact = operation_numbers(jaxpr)
    first = dict(zip(reversed(exact), reversed(jaxpr.equations), strict=True))
    number_of: dict[Any, int] = {}
    loose = [number_of.setdefault(loose_key(first[n]), len(number_of)) for n in range(len(first))]
    return [loose[n] for n in exact]


def loose_key(e: Equation) -> tuple[Any, ...]:
    """An equation's operation and types, without the numbers that may become arguments."""
    is_loose = e.primitive in LITERALS
    shape = e.params if starts_of(e) is None else e.outvars[0].aval
    key: list[Any] = [e.primitive, len(e.outvars), shape]
    for v in e.inputs:
        if v.__class__ is Var:
            key.append(v.aval)
        else:
            key.append(Number(v.aval) if is_loose else literal_key(v))
    return tuple(key)


def starts_of(e: Equation) -> tuple[int, ...] | None:
    """The start indices of a window that a `slice` reads or a `pad` writes; None for other
    operations."""
    window = WINDOWS.get(e.primitive)
    if window is None:
        return None
    shapes = e.inputs[0].aval.shape, e.outvars[0].aval.shape
    return None if max([n for shape in shapes for n in shape], default=0) >= 2**31 else window[0](e)


def starts_of_slice(e: Equation) -> tuple[int, ...] | None:
    params = dict(e.params)
    is_plain = e.inputs[0].__class__ is Var and set(params["strides"]) <= {1}
    return tuple(params["start"]) if is_plain else None


def starts_of_pad(e: Equation) -> tuple[int, ...] | None:
    padding = dict(e.params)["padding"]
    is_plain = all(low >= 0 and high >= 0 and not between for low, high, between in padding)
    return tuple([low for low, _, _ in padding]) if is_plain else None


def dynamic_slices(e: Equation, starts: list[Any]) -> list[Equation]:
    (out,) = e.outvars
    params = (("sizes", out.aval.shape),)
    return [Equation(dynamic_slice, [e.inputs[0], *starts], params, [out], e.source)]


def dynamic_updates(e: Equation, starts: list[Any]) -> list[Equation]:
    (out,), (x, value) = e.outvars, e.inputs
    padding = Var(out.aval)
    shape = (("shape", out.aval.shape), ("dims", ()))
    return [
        Equation(broadcast_in_dim, [value], shape, [padding], e.source),
        Equation(dynamic_update_slice, [padding, x, *starts], (), [out], e.source),
    ]


WINDOWS = {slice_: (starts_of_slice, dynamic_slices), pad: (starts_of_pad, dynamic_updates)}
"""For primitives with start indices in their parameters: a function that returns the indices, and
one that makes equations with run-time start indices."""


class Pool:
    """The numbers that become arguments, each once."""

    def __init__(self) -> None:
        self.variables: dict[Any, Var] = {}
        self.values: list[Array] = []

    def variable(self, number: Array) -> Var:
        """The input of the program for a literal."""
        key = literal_key(number)
        var = self.variables.get(key)
        if var is None:
            var = self.variables[key] = Var(number.aval)
            self.values.append(number)
        return var


def pooled(jaxpr: Jaxpr, runs: Sequence[tuple[int, int, int, int]]) -> tuple[Jaxpr, list[Array]]:
    """The program with further inputs in place of the numbers that differ between its blocks.

    Args:
      jaxpr: a program without constants.
      runs: (start, period, length, …) of equations that repeat, by their `loose_numbers`.
    Returns: the program, and the values of its last inputs; the same program and [] if no numbers
      differ.
    """
    pool = Pool()
    equations = [[e] for e in jaxpr.equations]
    for start, period, length, _ in runs:
        for first in range(start, start + period):
            at = range(first, start + length, period)
            for i, lifted in zip(at, lift([jaxpr.equations[i] for i in at], pool), strict=True):
                equations[i] = lifted
    if not pool.values:
        return jaxpr, []
    written = [e for lifted in equations for e in lifted]
    inputs = [*jaxpr.invars, *pool.variables.values()]
    return jaxpr.replace(equations=written, invars=inputs), pool.values


def lift(equations: Sequence[Equation], pool: Pool) -> list[list[Equation]]:
    """For equations at the same position of several blocks, the equations that replace each, with
    variables for the numbers that differ."""
    first = equations[0]
    if starts_of(first) is not None:
        starts = [starts_of(e) or () for e in equations]
        differ = [len(set(column)) > 1 for column in zip(*starts, strict=True)]
        if any(differ):
            _, at_run_time = WINDOWS[first.primitive]
            return [
                at_run_time(e, [variable_start(n, d, pool) for n, d in zip(s, differ, strict=True)])
                for e, s in zip(equations, starts, strict=True)
            ]
    elif first.primitive in LITERALS:
        columns = zip(*[e.inputs for e in equations], strict=True)
        differ = [
            column[0].__class__ is not Var and len(set(map(literal_key, column))) > 1
            for column in columns
        ]
        if any(differ):
            return [[with_variables(e, differ, pool)] for e in equations]
    return [[e] for e in equations]


def with_variables(e: Equation, differ: Sequence[bool], pool: Pool) -> Equation:
    """An equation with variables for the literals in `differ`."""
    inputs = [pool.variable(v) if d else v for v, d in zip(e.inputs, differ, strict=True)]
    return e.replace(inputs, e.outvars)


def variable_start(start: int, differs: bool, pool: Pool) -> Any:
    """A start index as a literal, or as a variable if it differs between blocks."""
    number = literal(start, INDEX)
    return pool.variable(number) if differs else number
