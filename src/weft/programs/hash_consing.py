"""Hash consing: equal programs become one object, so that they share everything derived from them.

Everything derived from a program is kept on it, including its executable. Control flow outside
`jit` traces its functions at every call, and finds the earlier program here by its content. So a
function may read any state: if the state changes, the program changes. The programs used last
outside `jit` are kept alive; others live as long as the programs that contain them. A program that
contains a user's derivative rules is not kept alive longer than the rules, because it refers to
them, and they refer to everything that they close over.
"""

import itertools
import threading
import weakref
from typing import Any

from ..core.array import Array
from ..core.caching import cached_on_program
from ..core.jaxpr import Atom, Jaxpr, Var, subjaxprs
from ..core.trace import Trace, current
from ..dtypes import is_inexact
from ..interpreters.stage import StageTrace

MAX_PROGRAMS = 256  # the number of programs that a table keeps alive, the most recently used ones
_lock = threading.RLock()  # reentrant: comparing parameters may run users' code


class ProgramTable:
    """Programs by content. The table finds all living programs, and keeps the last ones used
    alive."""

    __slots__ = ("alive", "used")

    def __init__(self) -> None:
        self.alive: weakref.WeakValueDictionary[Any, Jaxpr] = weakref.WeakValueDictionary()
        self.used: dict[Jaxpr, None] = {}  # in order of use

    def find(self, jaxpr: Jaxpr, keep: bool) -> Jaxpr:
        """The first living program that equals this one except for the names of its variables.

        Args:
          keep: whether the table keeps it alive, until `MAX_PROGRAMS` others were used.
        """
        content = content_of(jaxpr)
        with _lock:
            first = self.alive.setdefault(content, jaxpr)
            if keep:
                self.used.pop(first, None)
                self.used[first] = None
                if len(self.used) > MAX_PROGRAMS:
                    del self.used[next(iter(self.used))]
        return first


class ProgramOwner:
    """A user's derivative rules. Programs that contain them do not outlive them."""

    __slots__ = ("number", "programs")

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.programs = ProgramTable()


_numbers = itertools.count()
_programs = ProgramTable()


def hash_consed(jaxpr: Jaxpr) -> Jaxpr:
    """The first program that equals this one except for the names of its variables.

    Args:
      jaxpr: without constants.
    """
    rules = latest_rules(jaxpr)
    table = _programs if rules is None else rules.programs
    return table.find(jaxpr, is_eager(current.trace))


def consed_with(owner: ProgramOwner, jaxpr: Jaxpr) -> Jaxpr:
    """The first program that equals this one among those in the owner's table, which keeps it
    alive."""
    return owner.programs.find(jaxpr, True)


def content_of(jaxpr: Jaxpr) -> Any:
    """A key that is equal for programs that differ only in the names of variables."""
    numbers: dict[Var, int] = {v: i for i, v in enumerate(jaxpr.invars)}

    def atom(v: Atom) -> Any:
        return numbers[v] if isinstance(v, Var) else (v.aval, v.host().tobytes())

    equations = []
    for e in jaxpr.equations:
        equations.append((e.primitive, e.params, e.source, *map(atom, e.inputs)))
        for v in e.outvars:
            numbers[v] = len(numbers)
    return jaxpr.name, *jaxpr.in_avals, None, *equations, None, *map(atom, jaxpr.outvars)


def numbers_as_inputs(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Array]]:
    """The program with its float and complex literals turned into leading inputs, and their
    values. Programs inside its equations keep their literals.

    So a function outside `jit` that closes over a different learning rate at each call has one
    program. It is compiled once, and rounding is the same for every rate.
    """
    lifted: dict[Any, tuple[Var, Array]] = {}

    def atom(v: Atom) -> Atom:
        if isinstance(v, Var) or not is_inexact(v.dtype):
            return v
        key = v.aval, v.host().tobytes()
        if key not in lifted:
            lifted[key] = Var(v.aval), v
        return lifted[key][0]

    equations = [e.replace(list(map(atom, e.inputs)), e.outvars) for e in jaxpr.equations]
    outvars = list(map(atom, jaxpr.outvars))
    inputs = [v for v, _ in lifted.values()]
    program = Jaxpr([], [], [*inputs, *jaxpr.invars], equations, outvars, jaxpr.name)
    return program, [number for _, number in lifted.values()]


def latest_rules(jaxpr: Jaxpr) -> ProgramOwner | None:
    """The derivative rules inside a program. If there are several, the latest, which is unlikely to
    outlive the others."""
    latest: ProgramOwner | None = None
    for e in jaxpr.equations:
        if e.primitive.effects is not None:
            inside = [v for _, v in e.params if isinstance(v, ProgramOwner)]
            inside += [r for r in map(latest_rules_inside, subjaxprs(e.params)) if r is not None]
            for rules in inside:
                if latest is None or rules.number > latest.number:
                    latest = rules
    return latest


# the programs that equations refer to; they are kept
latest_rules_inside = cached_on_program(latest_rules)


def is_eager(trace: Trace) -> bool:
    """True if operations under a trace are computed, and no surrounding trace records them."""
    while not isinstance(trace, StageTrace):
        if trace.outside is None:
            return True
        trace = trace.outside
    return False
