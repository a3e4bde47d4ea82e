"""Counts the uses of random keys: under `debug_key_reuse` each typed key may be used once.

The count follows the key object, not its bits: each element of a new array of keys gets a mark,
and operations that move elements move the marks. Un-jitted operations are followed on their arrays.
A program is followed equation by equation before it runs, and a loop for two steps.
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
from ...core.source_location import SourceLocation, at_location, location_of
from ...core.trace import Params
from ...core.value import Value
from ...errors import KeyReuseError
from ...extended_dtypes import is_extended
from ...primitives.prng_keys import random_clone, random_use
from ...user_lines import noted

_numbers = itertools.count(1)


class KeyMark:
    """A key. `used` records which operation used it, and where."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: SourceLocation | None = None


class Marks:
    """The marks of an array of keys.

    Attributes:
      numbers: a number for each element. They are stored like keys on the host, so operations that
        move keys move the numbers.
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
    """The marks of new keys."""
    numbers = [next(_numbers) for _ in range(a.size)]
    bits = np.zeros((a.size, a.dtype.itemsize // 8), np.uint64)
    bits[:, 0] = numbers
    stored = bits.reshape(-1).view(a.dtype.host).reshape(a.shape)  # type: ignore[attr-defined]
    return Marks(stored, {n: KeyMark() for n in numbers})


# The marks of arrays that are alive, by the array's id; an entry is removed with its array.
_arrays: dict[int, tuple[Any, Marks]] = {}


def marks_of(x: Any) -> Marks | None:
    """The marks of an array of keys, made at its first use; `None` for other arrays."""
    if not is_extended(x.aval.dtype):
        return None
    entry = _arrays.get(id(x))
    if entry is not None:
        return entry[1]
    marks = fresh(x.aval)
    _mark(x, marks)
    return marks


def _mark(x: object, marks: Marks) -> None:
    number = id(x)
    _arrays[number] = weakref.ref(x, lambda _: _arrays.pop(number, None)), marks


# --- following ---


class Uses:
    """Follows operations and the programs inside them, and records uses of keys."""

    def __init__(self, counted: bool = True) -> None:
        """Args: counted: False for recomputed values, because they do not use a key a second
        time."""
        self.counted = counted

    def again(self) -> "Uses":
        """A follower that does not count uses."""
        return Uses(counted=False)

    def use(self, marks: Marks, operation: str) -> None:
        """Records that keys are used; raises KeyReuseError if one of them was used before."""
        if not self.counted:
            return
        here = location_of(operation)._replace(operation=operation)
        for number in marks.each():
            mark = marks.known.get(number)
            if mark is None:  # out of bounds, or a fill value
                continue
            if mark.used is not None:
                raise _reused(here, mark.used)
            mark.used = here

    def program(self, jaxpr: Jaxpr, ins: Sequence[Marks | None]) -> list[Marks | None]:
        """The marks of a program's results, from the marks of its inputs."""
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
        """The marks of the results when one of several programs runs. A key counts as used if any
        of the programs uses it."""
        inputs = [x for x in ins if x is not None]
        marks = [m for x in inputs for n in x.each() if (m := x.known.get(n))]
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
            marks = list(rule(ins, self, **dict(params)))
        elif keys and primitive.takes_keys and primitive.evaluate_rule is not None:
            marks = _moved(primitive, ins, values, params)
        else:
            marks = []
        marks += [None] * (len(outs) - len(marks))
        return [
            None if not is_extended(a.dtype) else fresh(a) if x is None else x
            for x, a in zip(marks, outs, strict=True)
        ]


def used_up(marks: Sequence[Any], uses: Uses, *, by: str) -> list[None]:
    """Records the use of the key, without following the operations inside the sampler."""
    uses.use(marks[0], by)
    return [None]


def made_new(marks: Sequence[Any], uses: Uses) -> list[None]:
    """The results are new keys."""
    return [None]


# (marks of the operands, uses, **params) -> the marks of the results; `None` for new keys
rules: dict[Primitive, Callable[..., list[None]]] = {
    random_use: used_up,
    random_clone: made_new,
}


def _moved(
    primitive: Primitive, ins: Sequence[Marks | None], values: Sequence[Any], params: Params
) -> list[Marks | None]:
    """The marks after an operation moved the keys; an empty list if the new positions are
    unknown."""
    if any(m is None and not isinstance(x, Array) for m, x in zip(ins, values, strict=True)):
        return []
    hosts = [x.host() if m is None else m.numbers for m, x in zip(ins, values, strict=True)]
    assert primitive.evaluate_rule is not None
    outs = primitive.evaluate_rule(*hosts, **dict(params))
    marks: dict[int, KeyMark] = {}
    for m in ins:
        if m is not None:
            marks.update(m.known)
    results = outs if primitive.multiple else [outs]
    results_of_call = [Marks(np.asarray(x), marks) for x in results]
    return [_own(m) if m.numbers.dtype.kind == "V" else None for m in results_of_call]


def _own(marks: Marks) -> Marks:
    """Marks that do not keep other marks alive."""
    return Marks(marks.numbers, {n: marks.known[n] for n in marks.each() if n in marks.known})


def _reused(now: SourceLocation, before: SourceLocation) -> KeyReuseError:
    where = f" at {before.line}" if before.line else ""
    error = KeyReuseError(
        f"{now.operation}: a key is used a second time: {before.operation}{where} used it before\n"
        "  fix: key, subkey = random.split(key), and use each once; random.fold_in(key, i) in a "
        "loop; random.clone(key) to draw the same numbers on purpose"
    )
    if now.line:  # in a program: the traced line, and not the line that runs the program
        error.add_note(f"  at {now.line}")
    return noted(error)


def follow(primitive: Primitive, args: Sequence[Value], params: Params) -> list[Marks | None]:
    """Follows an operation on arrays before it runs; returns the marks of its results."""
    out = primitive.out(args, params)
    outs = out if primitive.multiple else [out]
    ins = [marks_of(x) for x in args]
    if primitive.inside is None and all(x is None for x in ins):
        return []
    return Uses().operation(primitive, ins, args, params, outs)


def mark_results(outs: Sequence[Value], marks: Sequence[Marks | None]) -> None:
    """Stores the marks of results."""
    for x, m in zip(outs, marks, strict=bool(marks)):
        if m is not None and isinstance(x, Array):
            _mark(x, m)
