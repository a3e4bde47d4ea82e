"""Equal programs are one. Knows jaxprs; knows no primitive.

Whatever is derived from a program is kept on it, its executable too. Control flow outside `jit`
traces its functions anew at every call; here it finds the program that it had before.
"""

import threading
from collections.abc import Sequence
from typing import Any

from ..core.bounded import remember
from ..core.jaxpr import Jaxpr, Var
from ..interpreters.stage import StageTrace


class Likes:
    """Programs that are equal but for the numbers written into them."""

    __slots__ = ("exact", "open", "places", "used")

    def __init__(self) -> None:
        self.used = 0  # when a program was last asked for
        self.exact: dict[Any, Jaxpr] = {}  # the numbers -> the program
        self.places: list[int] = []  # of the numbers that vary
        self.open: dict[
            Any, Jaxpr
        ] = {}  # the other numbers -> the program, those that vary as inputs


_likes: dict[Any, Likes] = {}
_lock = threading.RLock()  # reentrant: comparing parameters may run users' code
_clock = 0
_MOST_VARIANTS = 2
MOST_KINDS = 512  # a program may keep a derivative rule alive, and an executable of some 300 kB


def interned(
    jaxpr: Jaxpr, eager: bool = False, table: dict[Any, Likes] = _likes
) -> tuple[Jaxpr, list[Any]]:
    """The first program that was equal to this one in all but the names of its variables.

    It costs 1 µs an equation.

    Args:
      eager: whether it will be compiled just for this call. Then a number that is another each time
        (a closure over a learning rate) becomes an input at the third time, so as not to compile
        a program for each.
      table: among which programs; by default those of all functions.
    Returns: the program without constants, and the numbers that it takes as inputs in front.
    """
    numbers: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    literals: list[Any] = []

    def atom(v: Any) -> Any:
        if type(v) is Var:
            return numbers[v]
        literals.append(v)
        return v.aval

    equations = []
    for e in jaxpr.equations:
        equations.append((e.primitive, e.params, e.source, *map(atom, e.inputs)))
        for v in e.outvars:
            numbers[v] = len(numbers)
    avals = [v.aval for v in jaxpr.invars]
    key = (jaxpr.name, *avals, None, *equations, None, *map(atom, jaxpr.outvars))
    values = tuple([v.host().tobytes() for v in literals])
    with _lock:
        return _found(likes_of(key, table), jaxpr, values, literals, eager)


def likes_of(key: Any, table: dict[Any, Likes]) -> Likes:
    """The programs of a kind. If there are too many kinds, those longest unused are forgotten."""
    global _clock
    likes = table.get(key)
    if likes is None:
        if len(table) >= MOST_KINDS:
            for old in sorted(table, key=lambda k: table[k].used)[: MOST_KINDS // 2]:
                del table[old]
        likes = table[key] = Likes()
    likes.used = _clock = _clock + 1
    return likes


def _found(
    likes: Likes, jaxpr: Jaxpr, values: Any, literals: Sequence[Any], eager: bool
) -> tuple[Jaxpr, list[Any]]:
    found = likes.exact.get(values)
    if found is not None:
        return found, []
    if not eager or len(likes.exact) < _MOST_VARIANTS:
        return remember(likes.exact, values, jaxpr), []
    varying = {i for known in likes.exact for i, v in enumerate(known) if v != values[i]}
    if not varying.issubset(likes.places):
        likes.places = sorted(varying.union(likes.places))
        likes.open.clear()
    rest = tuple([v for i, v in enumerate(values) if i not in likes.places])
    if rest not in likes.open:
        remember(likes.open, rest, with_inputs(jaxpr, likes.places))
    return likes.open[rest], [literals[i] for i in likes.places]


def with_inputs(jaxpr: Jaxpr, places: Sequence[int]) -> Jaxpr:
    """The program with some of its literals, by number, as inputs in front."""
    made: dict[int, Var] = {}
    count = 0

    def atom(v: Any) -> Any:
        nonlocal count
        if type(v) is Var:
            return v
        count += 1
        if count - 1 not in places:
            return v
        return made.setdefault(count - 1, Var(v.aval))

    equations = [e.replace(list(map(atom, e.inputs)), e.outvars) for e in jaxpr.equations]
    outvars = list(map(atom, jaxpr.outvars))
    invars = [*[made[i] for i in places], *jaxpr.invars]
    return Jaxpr([], [], invars, equations, outvars, jaxpr.name)


def is_eager(trace: Any) -> bool:
    """Whether operations under a trace are done in the end, none of them written down."""
    while not trace.computes:
        if isinstance(trace, StageTrace):
            return False
        trace = trace.outside
    return True
