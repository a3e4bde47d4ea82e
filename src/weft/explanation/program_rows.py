"""program_rows writes a program as rows, one per equation, with calls inlined; rows_of_text reads
rows from text.

Variables are numbered in order, so that equal programs have equal rows. The body of a loop is
indented below its equation, between a row with its inputs and a row with its results.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..compiler.flops import operation_flops
from ..compiler.optimized import UNKNOWN, Line
from ..core.array import Array
from ..core.jaxpr import Jaxpr, subjaxprs
from ..core.printing import aval_text
from .equations import Scope, Step, flat_scopes

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_ROW = re.compile(r"( *)(?:(\S.*?) = )?([\w-]+)\((.*?)\)(?: (.*))?$")

INPUTS, RESULTS = "inputs", "results"
"""The operations of the rows before and after a body."""


class Row(NamedTuple):
    """An equation of a program.

    Attributes:
      depth: the number of loops and branches around it.
      outs: the names of its results; `types`: their types, as `f32[3]`.
      operation: the name of the primitive.
      inputs: names, and literals as text.
      params: the other parameters, as text.
      line: the user's line; unknown in rows that were read from a file.
      flops: its floating-point operations, in all iterations of the loops around it.
    """

    depth: int
    outs: tuple[str, ...]
    types: tuple[str, ...]
    operation: str
    inputs: tuple[str, ...]
    params: str
    line: Line = UNKNOWN
    flops: float = 0.0

    def __str__(self) -> str:
        outs = ", ".join(f"{o}:{t}" for o, t in zip(self.outs, self.types, strict=True))
        left = f"{outs} = " if outs else ""
        right = f" {self.params}" if self.params else ""
        return f"{'  ' * self.depth}{left}{self.operation}({', '.join(self.inputs)}){right}"

    @property
    def kind(self) -> tuple[Any, ...]:
        """Everything except the names of variables."""
        literals = tuple("" if x.startswith("%") else x for x in self.inputs)
        return self.depth, self.operation, self.params, self.types, literals

    @property
    def is_equation(self) -> bool:
        """False for the rows before and after a body."""
        return self.operation not in (INPUTS, RESULTS)


def program_rows(jaxpr: Jaxpr) -> list[Row]:
    """The rows of a program."""
    scopes = flat_scopes(jaxpr)
    bodies: dict[int, list[Scope]] = {}
    for scope in scopes[1:]:
        bodies.setdefault(id(scope.owner), []).append(scope)
    writer = _Writer(bodies)
    writer.write(scopes[0], 0, 1.0)
    return writer.rows


class _Writer:
    """Writes scopes, and numbers their variables."""

    def __init__(self, bodies: dict[int, list[Scope]]) -> None:
        self.bodies = bodies
        self.rows: list[Row] = []
        self.names: dict[Any, str] = {}

    def write(self, scope: Scope, depth: int, rounds: float) -> None:
        """Adds the rows of a scope, and of the bodies inside it."""
        line = UNKNOWN if scope.owner is None else scope.owner.line
        types = tuple(aval_text(v.aval) for v in scope.inputs)
        outs = tuple(map(self.name, scope.inputs))
        self.rows.append(Row(depth, outs, types, INPUTS, (), "", line))
        for step in scope.steps:
            inputs = tuple(map(self.name, step.inputs))
            avals = [x.aval for x in step.inputs], [v.aval for v in step.outs]
            self.rows.append(
                Row(
                    depth,
                    tuple(map(self.name, step.outs)),
                    tuple(map(aval_text, avals[1])),
                    step.name,
                    inputs,
                    params_text(step),
                    step.line,
                    operation_flops(step.name, *avals, step.params) * rounds,
                )
            )
            for body in self.bodies.get(id(step), ()):
                self.write(body, depth + 1, rounds * step.params.get("length", 1))
        results = tuple(map(self.name, scope.results))
        self.rows.append(Row(depth, (), (), RESULTS, results, "", line))

    def name(self, x: Any) -> str:
        """The name of a variable, or a literal as text."""
        if isinstance(x, Array):
            return f"{str(x.host()).strip('()')}:{aval_text(x.aval)}"
        return self.names.setdefault(x, f"%{len(self.names)}")


def params_text(step: Step) -> str:
    """The parameters of an equation, except programs and those that are `None`."""
    return " ".join(
        f"{name}={value_text(value)}"
        for name, value in step.params.items()
        if value is not None and not any(True for _ in subjaxprs(((name, value),)))
    )


def value_text(value: Any) -> str:
    """A parameter on one line, the same in every process."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return _ADDRESS.sub("", " ".join(str(value).split()))


def rows_of_text(lines: Iterable[str]) -> list[Row]:
    """The rows in lines of text, as `str(row)` writes them. Lines that begin with # are comments.

    Raises: ValueError: a line is not a row.
    """
    rows = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        match = _ROW.match(line.rstrip())
        if match is None:
            raise ValueError(f"expected an equation in line {number}; got {line.strip()[:60]!r}")
        indent, left, operation, inside, params = match.groups()
        pairs = [x.partition(":") for x in left.split(", ")] if left else []
        rows.append(
            Row(
                len(indent) // 2,
                tuple(name for name, _, _ in pairs),
                tuple(kind for _, _, kind in pairs),
                operation,
                tuple(inside.split(", ")) if inside else (),
                params or "",
            )
        )
    return rows
