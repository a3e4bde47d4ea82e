"""Hash consing: equal programs are one. Knows jaxprs; knows no primitive.

Everything derived from a program is kept on it, its executable too. Control flow outside `jit`
traces its functions anew at every call; here it finds the program that it had before. So programs
are kept, and for no longer than they can be found again:

- A program that is a part of another (control flow inside `jit`) lives as long as that one.
- Outside `jit` it lives as long as the code of the function that it was traced from: a lambda in a
  loop is a new function each time, and its code is the same.
- A program with derivative rules inside lives as long as the rules: it refers to them, and they to
  all that they close over.
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from ..core.array import Array
from ..core.caching import derived
from ..core.jaxpr import Atom, Jaxpr, Var, subjaxprs
from ..core.source import unwrapped
from ..core.trace import Trace, current
from ..interpreters.stage import StageTrace

MOST_KINDS = 64  # of programs in a table: traced from one function, or with one rule inside
_MOST_VARIANTS = 2  # of one kind, before numbers that differ become inputs
_lock = threading.RLock()  # reentrant: comparing parameters may run users' code


class Variants:
    """Programs that are equal but for the numbers written into them."""

    __slots__ = ("exact", "lifted", "positions")

    def __init__(self) -> None:
        self.exact: dict[Any, Jaxpr] = {}  # the numbers -> the program
        self.positions: list[int] = []  # of the numbers that vary
        self.lifted: dict[Any, Jaxpr] = {}  # the other numbers -> the program of those that vary

    def find(
        self, jaxpr: Jaxpr, values: tuple[bytes, ...], literals: Sequence[Array], lift: bool
    ) -> tuple[Jaxpr, list[Array]]:
        """The program, and the numbers that it takes as inputs in front; see `hash_consed`."""
        found = self.exact.get(values)
        if found is not None:
            return found, []
        if not lift or len(self.exact) < _MOST_VARIANTS:
            keep_latest(self.exact, values, jaxpr)
            return jaxpr, []
        varying = {i for known in self.exact for i, v in enumerate(known) if v != values[i]}
        if not varying.issubset(self.positions):
            self.positions = sorted(varying.union(self.positions))
            self.lifted.clear()
        rest = tuple([v for i, v in enumerate(values) if i not in self.positions])
        if rest not in self.lifted:
            keep_latest(self.lifted, rest, lifting(jaxpr, self.positions))
        return self.lifted[rest], [literals[i] for i in self.positions]


class ProgramTable:
    """A table of programs that live as long as it; of too many kinds those longest unused go."""

    __slots__ = ("kinds",)

    def __init__(self) -> None:
        self.kinds: dict[Any, Variants] = {}

    def variants(self, structure: object) -> Variants:
        """The programs of a structure."""
        found = self.kinds.pop(structure, None) or Variants()
        keep_latest(self.kinds, structure, found)
        return found


def keep_latest(table: dict[Any, Any], key: object, value: object) -> None:
    """Puts an entry behind all others in a table; of too many the first goes."""
    if len(table) >= MOST_KINDS:
        del table[next(iter(table))]
    table[key] = value


class ProgramOwner:
    """Derivative rules of the user's: programs with them inside live no longer than they do."""

    __slots__ = ("number", "programs")

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.programs = ProgramTable()


_numbers = itertools.count()
_within_programs: weakref.WeakValueDictionary[Any, Jaxpr] = weakref.WeakValueDictionary()
_of_code: dict[int, tuple[weakref.ref[CodeType], ProgramTable]] = {}
_without_code = ProgramTable()


def hash_consed(
    jaxpr: Jaxpr, function: Callable[..., Any] | None, lift_numbers: bool = False
) -> tuple[Jaxpr, list[Array]]:
    """The first program that was equal to this one in all but the names of its variables.

    It costs 1 µs an equation.

    Args:
      jaxpr: without constants.
      function: the user's, from which it was traced.
      lift_numbers: whether the caller can pass further inputs. Then outside `jit` a number that is
        another each time (a closure over a learning rate) becomes an input at the third time, so as
        not to compile a program for each.
    Returns: the program, and the numbers that it takes as inputs in front.
    """
    structure, literals, values = content_of(jaxpr)
    if not is_eager(current.trace):
        with _lock:
            return _within_programs.setdefault((structure, values), jaxpr), []
    owner = latest_rules(jaxpr)
    programs = table_of(function) if owner is None else owner.programs
    with _lock:
        return programs.variants(structure).find(jaxpr, values, literals, lift_numbers)


def consed_with(owner: ProgramOwner, jaxpr: Jaxpr) -> Jaxpr:
    """The first program that was equal to this one, of those that live as long as the owner."""
    structure, literals, values = content_of(jaxpr)
    with _lock:
        return owner.programs.variants(structure).find(jaxpr, values, literals, False)[0]


def content_of(jaxpr: Jaxpr) -> tuple[Any, list[Array], tuple[bytes, ...]]:
    """A key that is equal for programs that differ in the names of variables and in literals only,
    the literals, and the bytes of each."""
    numbers: dict[Var, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    literals: list[Array] = []

    def atom(v: Atom) -> Any:
        if isinstance(v, Var):
            return numbers[v]
        literals.append(v)
        return v.aval

    equations = []
    for e in jaxpr.equations:
        equations.append((e.primitive, e.params, e.source, *map(atom, e.inputs)))
        for v in e.outvars:
            numbers[v] = len(numbers)
    structure = (jaxpr.name, *jaxpr.in_avals, None, *equations, None, *map(atom, jaxpr.outvars))
    return structure, literals, tuple([v.host().tobytes() for v in literals])


def lifting(jaxpr: Jaxpr, positions: Sequence[int]) -> Jaxpr:
    """The program with some of its literals, by number, as inputs in front."""
    lifted: dict[int, Var] = {}
    count = itertools.count()

    def atom(v: Atom) -> Atom:
        if isinstance(v, Var):
            return v
        number = next(count)
        return lifted.setdefault(number, Var(v.aval)) if number in positions else v

    equations = [e.replace(list(map(atom, e.inputs)), e.outvars) for e in jaxpr.equations]
    outvars = list(map(atom, jaxpr.outvars))
    invars = [*[lifted[i] for i in positions], *jaxpr.invars]
    return Jaxpr([], [], invars, equations, outvars, jaxpr.name)


# --- what keeps a program ---


def table_of(function: Callable[..., Any] | None) -> ProgramTable:
    """The table of the programs that were traced from a function: it lives as long as its code."""
    code = defining_code(function)
    if code is None:
        return _without_code
    with _lock:
        key = id(code)
        found = _of_code.get(key)
        if found is None:
            found = weakref.ref(code, lambda _: _of_code.pop(key, None)), ProgramTable()
            _of_code[key] = found
        return found[1]


def defining_code(function: object) -> CodeType | None:
    """The code of a function, a method, a partial, or an object that can be called."""
    if function.__class__ is FunctionType and not function.__dict__:
        return function.__code__
    for _ in range(8):  # objects that can be called, around it
        function = unwrapped(function)
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            return code
        function = vars(type(function)).get("__call__")
    return None


def latest_rules(jaxpr: Jaxpr) -> ProgramOwner | None:
    """The derivative rules inside a program; of several the latest, which will hardly live longer
    than the others."""
    found: ProgramOwner | None = None
    for e in jaxpr.equations:
        if e.primitive.effects is not None:
            inside = [v for _, v in e.params if isinstance(v, ProgramOwner)]
            inside += [r for r in map(latest_rules_inside, subjaxprs(e.params)) if r is not None]
            for rules in inside:
                if found is None or rules.number > found.number:
                    found = rules
    return found


latest_rules_inside = derived(latest_rules)  # of programs that equations refer to: they are kept


def is_eager(trace: Trace) -> bool:
    """True if operations under a trace are computed in the end, none of them written down."""
    while not isinstance(trace, StageTrace):
        if trace.outside is None:
            return True
        trace = trace.outside
    return False
