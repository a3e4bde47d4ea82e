"""The uses of random keys, counted: each typed key may be used once, under `debug_key_reuse`.

What is followed is not a key's words but the key as it was made: a new one has a mark for each of
its elements, and what moves elements moves the marks. An operation that is called eagerly is
followed on its arrays; a program is followed equation by equation before it runs, and a loop for
two steps.
"""

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.aval import Aval
from ...core.jaxpr import Jaxpr, Var
from ...core.primitive import Primitive
from ...core.source import noted
from ...core.source_location import SourceLocation, at_location, location_of
from ...core.trace import Params
from ...core.value import Value
from ...errors import KeyReuseError
from ...extended_dtypes import is_extended
from ...primitives.keys import random_clone, random_use

_numbers = itertools.count(1)


class KeyMark:
    """A key that was made. `used` says by what, and where."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: SourceLocation | None = None


class Marks:
    """The marks of an array of keys.

    Attributes:
      numbers: a number for each element, as the host stores a key: whatever moves keys moves it.
      known: the marks by number.
    """

    __slots__ = ("known", "numbers")

    def __init__(self, numbers: np.ndarray[Any, Any], known: Mapping[int, KeyMark]) -> None:
        self.numbers, self.known = numbers, known

    def at(self, i: int) -> "Marks":
        """The marks of one slice along the first axis."""
        return Marks(self.numbers[i], self.known)

    def each(self) -> set[int]:
        """The numbers of all elements."""
        flat = np.ascontiguousarray(self.numbers).reshape(-1)
        return set(flat.view(np.uint64)[:: flat.itemsize // 8].tolist())


def fresh(a: Aval) -> Marks:
    """The marks of keys that are new."""
    numbers = [next(_numbers) for _ in range(a.size)]
    bits = np.zeros((a.size, a.dtype.itemsize // 8), np.uint64)
    bits[:, 0] = numbers
    stored = bits.reshape(-1).view(a.dtype.host).reshape(a.shape)  # type: ignore[attr-defined]
    return Marks(stored, {n: KeyMark() for n in numbers})


# The marks of arrays that are alive, by the array's id; an entry goes with its array.
_arrays: dict[int, tuple[Any, Marks]] = {}


def marks_of(x: Any) -> Marks | None:
    """The marks of an array of keys, made if it is met for the first time; `None` for others."""
    if not is_extended(x.aval.dtype):
        return None
    found = _arrays.get(id(x))
    if found is not None:
        return found[1]
    marks = fresh(x.aval)
    _mark(x, marks)
    return marks


def _mark(x: object, marks: Marks) -> None:
    number = id(x)
    _arrays[number] = weakref.ref(x, lambda _: _arrays.pop(number, None)), marks


# --- following ---


class Uses:
    """Follows operations, with the programs inside them, and notes uses."""

    def __init__(self, counted: bool = True) -> None:
        """
        Args:
          counted: False for what is computed again: it uses no key a second time.
        """
        self.counted = counted

    def again(self) -> "Uses":
        """The same, where nothing is counted."""
        return Uses(counted=False)

    def use(self, marks: Marks, operation: str) -> None:
        """Notes that keys are used; KeyReuseError if one of them was."""
        if not self.counted:
            return
        here = location_of(operation)._replace(operation=operation)
        for number in marks.each():
            mark = marks.known.get(number)
            if mark is None:  # out of bounds, or filled in
                continue
            if mark.used is not None:
                raise _reused(here, mark.used)
            mark.used = here

    def program(self, jaxpr: Jaxpr, ins: Sequence[Marks | None]) -> list[Marks | None]:
        """The marks of a program's results, for those of its inputs."""
        env: dict[Var, Marks | None] = dict(zip(jaxpr.invars, ins, strict=True))
        env.update(zip(jaxpr.constvars, map(marks_of, jaxpr.consts), strict=True))
        for e in jaxpr.equations:
            inputs = [env.get(v) if isinstance(v, Var) else marks_of(v) for v in e.inputs]
            values = [None if isinstance(v, Var) else v for v in e.inputs]
            with at_location(e.source):
                avals = [v.aval for v in e.outvars]
                outs = self.operation(e.primitive, inputs, values, e.params, avals)
            env.update(zip(e.outvars, outs, strict=True))
        return [env.get(v) if isinstance(v, Var) else marks_of(v) for v in jaxpr.outvars]

    def branches(self, jaxprs: Sequence[Jaxpr], ins: Sequence[Marks | None]) -> list[Marks | None]:
        """The marks of the results of one of several programs, for those of the inputs; the keys
        that are used are those that any of them uses."""
        own = [x for x in ins if x is not None]
        marks = [m for x in own for n in x.each() if (m := x.known.get(n))]
        before = [m.used for m in marks]
        after = list(before)
        for jaxpr in jaxprs:
            for m, was in zip(marks, before, strict=True):
                m.used = was
            outs = self.program(jaxpr, ins)
            after = [m.used or a for m, a in zip(marks, after, strict=True)]
        for m, a in zip(marks, after, strict=True):
            m.used = a
        return outs if len(jaxprs) == 1 else [None] * len(outs)

    def operation(
        self,
        primitive: Primitive,
        ins: Sequence[Marks | None],
        values: Sequence[Value | None],
        params: Params,
        outs: Sequence[Aval],
    ) -> list[Marks | None]:
        """The marks of an operation's results. `values` are the arguments that are known."""
        keys = any(x is not None for x in ins) and any(is_extended(a.dtype) for a in outs)
        inside = primitive.inside
        rule = rules.get(primitive) if inside is None else inside.follow_keys
        if rule is not None:
            found = list(rule(ins, self, **dict(params)))
        elif keys and primitive.takes_keys and primitive.evaluate_rule is not None:
            found = _moved(primitive, ins, values, params)
        else:
            found = []
        found += [None] * (len(outs) - len(found))
        return [
            None if not is_extended(a.dtype) else fresh(a) if x is None else x
            for x, a in zip(found, outs, strict=True)
        ]


def used_up(marks: Sequence[Any], uses: Uses, *, by: str) -> list[None]:
    """A key is used, and what the sampler makes of it inside is its own affair."""
    uses.use(marks[0], by)
    return [None]


def made_new(marks: Sequence[Any], uses: Uses) -> list[None]:
    """The results are other keys."""
    return [None]


# (marks of the operands, uses, **params) -> the marks of the results; of new keys, `None`
rules: dict[Primitive, Callable[..., list[None]]] = {
    random_use: used_up,
    random_clone: made_new,
}


def _moved(
    primitive: Primitive, ins: Sequence[Marks | None], values: Sequence[Any], params: Params
) -> list[Marks | None]:
    """The marks where an operation moved them; nothing if it isn't known where to."""
    if any(m is None and not isinstance(x, Array) for m, x in zip(ins, values, strict=True)):
        return []
    hosts = [x.host() if m is None else m.numbers for m, x in zip(ins, values, strict=True)]
    assert primitive.evaluate_rule is not None
    outs = primitive.evaluate_rule(*hosts, **dict(params))
    known: dict[int, KeyMark] = {}
    for m in ins:
        if m is not None:
            known.update(m.known)
    results = outs if primitive.multiple else [outs]
    made = [Marks(np.asarray(x), known) for x in results]
    return [_own(m) if m.numbers.dtype.kind == "V" else None for m in made]


def _own(marks: Marks) -> Marks:
    """Marks that keep no others alive."""
    return Marks(marks.numbers, {n: marks.known[n] for n in marks.each() if n in marks.known})


def _reused(now: SourceLocation, before: SourceLocation) -> KeyReuseError:
    where = f" at {before.line}" if before.line else ""
    error = KeyReuseError(
        f"{now.operation}: a key is used a second time: {before.operation}{where} used it before\n"
        "  fix: key, subkey = random.split(key), and use each once; random.fold_in(key, i) in a "
        "loop; random.clone(key) where the same numbers are meant"
    )
    if now.line:  # in a program: the line that was traced, not the one that runs it
        error.add_note(f"  at {now.line}")
    return noted(error)


def follow(primitive: Primitive, args: Sequence[Value], params: Params) -> list[Marks | None]:
    """Follows an operation on arrays, before it runs; the marks of its results."""
    out = primitive.out(args, params)
    outs = out if primitive.multiple else [out]
    ins = [marks_of(x) for x in args]
    if primitive.inside is None and all(x is None for x in ins):
        return []
    return Uses().operation(primitive, ins, args, params, outs)


def mark_results(outs: Sequence[Value], marks: Sequence[Marks | None]) -> None:
    """Gives results their marks."""
    for x, m in zip(outs, marks, strict=bool(marks)):
        if m is not None and isinstance(x, Array):
            _mark(x, m)
