"""flat_scopes lists the equations of a program with calls inlined, and the makers and users of
values.

A scope is a list of equations that run together: the program, or the body of a loop or branch
inside it. Calls belong to the scope that contains them.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..compiler.optimized import UNKNOWN, Line
from ..core.jaxpr import Equation, Jaxpr, Var, subjaxprs
from .source_lines import line_of

LOOPS = ("scan", "while", "while_loop", "cond", "fori_loop")


@dataclass(eq=False)
class Step:
    """An equation of a scope, with the variables of the scope.

    Attributes:
      inputs: variables and literals; `outs`: variables.
      line: the user's line.
      operation: the primitive that the user's line applied; `name` differs if a rule replaced it.
    """

    name: str
    inputs: list[Any]
    outs: list[Var]
    params: dict[str, Any]
    line: Line
    operation: str
    backward: bool


@dataclass(eq=False)
class Scope:
    """The equations of a program, or of the body of a loop, in order.

    Attributes:
      inputs: the variables of its arguments and constants; `constants`: of its constants.
      results: its results.
      owner: the loop or branch whose body it is.
      maker: the step that makes a variable; `users`: the steps that use it.
    """

    inputs: list[Var]
    constants: list[Var]
    owner: Step | None = None
    steps: list[Step] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    maker: dict[Var, Step] = field(default_factory=dict)
    users: defaultdict[Var, list[Step]] = field(default_factory=lambda: defaultdict(list))

    def origin(self, x: Any, through: tuple[str, ...]) -> Step | None:
        """The step that made a value; looks through the operations named in `through`."""
        step = self.maker.get(x) if isinstance(x, Var) else None
        while step is not None and step.name in through and step.inputs:
            x = step.inputs[0]
            step = self.maker.get(x) if isinstance(x, Var) else None
        return step

    def known(self) -> set[Var]:
        """The variables that depend on constants alone: XLA may compute them when it compiles."""
        known: set[Var] = {*self.constants}
        for step in self.steps:
            if all(v in known for v in step.inputs if isinstance(v, Var)):
                known.update(step.outs)
        return known


def flat_scopes(jaxpr: Jaxpr) -> list[Scope]:
    """The scopes of a program, the outermost first."""
    scopes: list[Scope] = []
    _fill(jaxpr, None, scopes)
    return scopes


def _fill(jaxpr: Jaxpr, owner: Step | None, scopes: list[Scope]) -> None:
    scope = Scope([*jaxpr.constvars, *jaxpr.invars], [*jaxpr.constvars], owner)
    scopes.append(scope)
    names: dict[Any, Any] = {v: v for v in scope.inputs}
    inner: list[tuple[Jaxpr, Step]] = []
    _add(jaxpr, names, scope, inner, UNKNOWN)
    scope.results = [names.get(v, v) if isinstance(v, Var) else v for v in jaxpr.outvars]
    for body, step in inner:
        _fill(body, step, scopes)


def _add(
    jaxpr: Jaxpr,
    names: dict[Any, Any],
    scope: Scope,
    inner: list[tuple[Jaxpr, Step]],
    line: Line,
) -> None:
    """Adds the equations of a program to a scope, with calls inlined."""
    for e in jaxpr.equations:
        inputs = [names.get(v, v) if isinstance(v, Var) else v for v in e.inputs]
        own = line_of(e.source)
        own = line if own is UNKNOWN else own
        called = inlined(e)
        if called is not None:
            inside = dict(zip(called.invars, inputs, strict=True))
            inside |= {v: v for v in called.constvars}
            _add(called, inside, scope, inner, own)
            for out, v in zip(e.outvars, called.outvars, strict=True):
                names[out] = inside.get(v, v) if isinstance(v, Var) else v
            continue
        operation = e.source.operation if e.source is not None else e.primitive.name
        backward = e.source is not None and e.source.backward
        step = Step(
            e.primitive.name, inputs, [*e.outvars], dict(e.params), own, operation, backward
        )
        scope.steps.append(step)
        for v in e.outvars:
            names[v] = v
            scope.maker[v] = step
        for v in {v for v in inputs if isinstance(v, Var)}:
            scope.users[v].append(step)
        inner += [(body, step) for body in subjaxprs(e.params)]


def inlined(e: Equation) -> Jaxpr | None:
    """The program of an equation that is a call; `None` for loops and plain operations."""
    bodies = [*subjaxprs(e.params)]
    if len(bodies) != 1 or e.primitive.name in LOOPS:
        return None
    (body,) = bodies
    same = len(body.invars) == len(e.inputs) and len(body.outvars) == len(e.outvars)
    return body if same and not body.consts else None


def all_steps(jaxpr: Jaxpr) -> Iterator[tuple[Scope, Step]]:
    """All equations with their scopes."""
    for scope in flat_scopes(jaxpr):
        for step in scope.steps:
            yield scope, step
