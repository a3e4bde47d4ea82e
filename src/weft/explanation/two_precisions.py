"""Runs a program twice, equation by equation: as it is, and with float64 numbers.

The second run uses the integers, the booleans and the control flow of the first, so that both apply
the same operations. After an operation that rounds on purpose, or that has no float64 form, the
second run continues with the value of the first.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.array import Array, as_value
from ..core.jaxpr import Equation, Jaxpr, Var
from ..core.primitive import Primitive
from ..core.source_location import SourceLocation
from ..core.trace import current
from ..errors import WeftError
from ..interpreters.debugging.nonfinite import float_of, inner_runs_of

DISCRETE = {
    *("floor", "ceil", "round", "sign", "rem", "nextafter"),
    *("bitcast_convert_type", "reduce_precision"),
}
"""Operations that are discontinuous, or that round on purpose. Both runs continue with one
number."""


class Pair(NamedTuple):
    """A value in both runs.

    Attributes:
      error: the relative error of the first run, from 0 to 1; infinite if only the value in the
        second run is finite.
      causes: the numbers of the losses that cause the error.
      vanished: the numbers of the underflows that make the value too small.
    """

    low: Array
    high: Array
    error: float = 0.0
    causes: frozenset[int] = frozenset()
    vanished: frozenset[int] = frozenset()


class Applied(NamedTuple):
    """An operation with its inputs and one of its outputs."""

    primitive: Primitive
    place: SourceLocation
    inputs: Sequence[Pair]
    out: Pair
    inside: tuple[str, ...]  # "step 3 of scan", the innermost last

    @property
    def before(self) -> float:
        """The largest error of the inputs."""
        return max([p.error for p in self.inputs if p.low.aval.inexact], default=0.0)


Watcher = Callable[[Applied], Pair]
"""Returns the output of an operation with its error and causes."""


def high_value(x: Any) -> Array:
    """A floating-point or complex value in float64 or complex128; other values unchanged."""
    if not isinstance(x, Array) or not x.aval.inexact:
        return x  # type: ignore[no-any-return]
    host = np.asarray(x.host())
    wide = np.complex128 if host.dtype.kind == "c" else np.float64
    value: Array = as_value(host.astype(wide))
    return value


def high_dtype(dtype: Any) -> Any:
    """float64 for a floating-point dtype, complex128 for a complex one."""
    if not dtypes.is_inexact(dtype):
        return dtype
    return np.dtype(np.complex128 if dtypes.is_complex(dtype) else np.float64)


class Widening:
    """Makes the float64 forms of programs, and caches them."""

    def __init__(self) -> None:
        self.programs: dict[Jaxpr, Jaxpr] = {}

    def program(self, jaxpr: Jaxpr) -> Jaxpr:
        """The same equations, with float64 variables, literals and parameters."""
        if jaxpr not in self.programs:
            variables: dict[Var, Var] = {}

            def atom(v: Any) -> Any:
                if not isinstance(v, Var):
                    return high_value(v)
                if v not in variables:
                    variables[v] = Var(v.aval.update(dtype=high_dtype(v.aval.dtype)))
                return variables[v]

            equations = [
                Equation(
                    e.primitive,
                    [*map(atom, e.inputs)],
                    tuple((name, self.parameter(x)) for name, x in e.params),
                    [*map(atom, e.outvars)],
                    e.source,
                )
                for e in jaxpr.equations
            ]
            self.programs[jaxpr] = jaxpr.replace(
                constvars=[*map(atom, jaxpr.constvars)],
                consts=[*map(high_value, jaxpr.consts)],
                invars=[*map(atom, jaxpr.invars)],
                equations=equations,
                outvars=[*map(atom, jaxpr.outvars)],
            )
        return self.programs[jaxpr]

    def parameter(self, x: Any) -> Any:
        """A parameter with float64 dtypes and programs."""
        if isinstance(x, Jaxpr):
            return self.program(x)
        if isinstance(x, np.dtype):
            return high_dtype(x)
        if type(x) is tuple:
            return tuple(map(self.parameter, x))
        return x


class TwoRuns:
    """Both runs of a program.

    Args:
      watcher: called with each equation's outputs; returns them with their errors.
    """

    def __init__(self, watcher: Watcher) -> None:
        self.watcher, self.widening = watcher, Widening()

    def run(self, jaxpr: Jaxpr, args: Sequence[Pair], inside: tuple[str, ...] = ()) -> list[Pair]:
        """The results of a program."""
        wide = self.widening.program(jaxpr)
        env: dict[Any, Pair] = {}
        for v, low, high in zip(jaxpr.constvars, jaxpr.consts, wide.consts, strict=True):
            env[v] = Pair(low, high)
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(v: Any, w: Any) -> Pair:
            return env[v] if isinstance(v, Var) else Pair(v, w)

        for e, w in zip(jaxpr.equations, wide.equations, strict=True):
            pairs = [*map(read, e.inputs, w.inputs)]
            place = e.source or SourceLocation("", e.primitive.name)
            if inner_runs_of(e.primitive) is not None:
                outs = self.inner(e, w, pairs, inside)
            else:
                outs = [
                    self.watcher(Applied(e.primitive, place, pairs, out, inside))
                    if out.low.aval.inexact
                    else out
                    for out in self.apply(e, w, pairs)
                ]
            env.update(zip(e.outvars, outs, strict=True))
        return [*map(read, jaxpr.outvars, wide.outvars)]

    def apply(self, e: Equation, w: Equation, pairs: Sequence[Pair]) -> list[Pair]:
        """The results of one operation."""
        lows = bound(e, [p.low for p in pairs])
        highs = [*map(high_value, lows)]
        if e.primitive.name not in DISCRETE:
            try:
                results = bound(w, [p.high for p in pairs])
            except (WeftError, TypeError, ValueError, NotImplementedError):
                results = highs  # the operation has no float64 form
            both = zip(lows, highs, results, strict=True)
            highs = [r if fits(low, r) else high for low, high, r in both]
        return [*map(Pair, lows, highs)]

    def inner(
        self, e: Equation, w: Equation, pairs: Sequence[Pair], inside: tuple[str, ...]
    ) -> list[Pair]:
        """The results of an operation with programs inside: the results of its last run, or the
        stacked results of all runs."""
        inner_runs = inner_runs_of(e.primitive)
        assert inner_runs is not None
        low_runs = inner_runs([p.low for p in pairs], **dict(e.params))
        high_runs = inner_runs([p.high for p in pairs], **dict(w.params))
        steps: list[list[Pair]] = []
        outs: list[Pair] = []
        try:
            while True:
                sent = [p.low for p in outs] if steps else None
                jaxpr, lows, origins, step = low_runs.send(sent)
                _, highs, _, _ = high_runs.send([p.high for p in outs] if steps else None)
                before = {id(p.low): p for p in outs}
                args = [
                    before.get(id(low)) or pairs[i]._replace(low=low, high=high)
                    for low, high, i in zip(lows, highs, origins, strict=True)
                ]
                outs = self.run(jaxpr, args, (*inside, step) if step else inside)
                steps.append(outs)
        except StopIteration:
            pass
        return self.gathered(e, pairs, steps)

    def gathered(
        self, e: Equation, pairs: Sequence[Pair], steps: Sequence[Sequence[Pair]]
    ) -> list[Pair]:
        """The results of an operation, from the results of its runs."""
        avals = [v.aval for v in e.outvars]
        if not steps or len(steps[-1]) != len(avals):
            return self.apply(e, e, pairs)
        if dict(e.params).get("reverse"):
            steps = steps[::-1]
        last = steps[0] if dict(e.params).get("reverse") else steps[-1]
        results = []
        for i, a in enumerate(avals):
            if last[i].low.aval.shape == a.shape:
                results.append(last[i])
                continue
            parts = [outs[i] for outs in steps]
            results.append(
                Pair(
                    as_value(np.stack([np.asarray(p.low.host()) for p in parts])),
                    as_value(np.stack([np.asarray(p.high.host()) for p in parts])),
                    max(p.error for p in parts),
                    frozenset().union(*(p.causes for p in parts)),
                    frozenset().union(*(p.vanished for p in parts)),
                )
            )
        return results


def bound(e: Equation, inputs: Sequence[Array]) -> list[Any]:
    """The results of an equation."""
    outs = current.base.bind(e.primitive, inputs, e.params)
    return outs if e.primitive.multiple else [outs]


def fits(low: Any, high: Any) -> bool:
    """True if `high` is a float64 form of `low`."""
    same = isinstance(high, Array) and isinstance(low, Array) and high.aval.shape == low.aval.shape
    return same and low.aval.inexact and high.aval.dtype == high_dtype(low.aval.dtype)


def relative_error(low: Any, high: Any, dtype: Any) -> float:
    """The relative error of an array: the largest difference relative to the largest element, or
    the 90th percentile of the elements' relative errors if that is more.

    Numbers below the dtype's smallest normal number count as that number.
    """
    a, b = float_of(low), float_of(high)
    if not a.size:
        return 0.0
    finite = np.isfinite(b)
    if not np.isfinite(a[finite]).all():
        return np.inf
    tiny = float(dtypes.finfo(dtype).tiny)
    with np.errstate(all="ignore"):
        difference = np.where(finite, abs(a.astype(b.dtype) - b), 0.0)
        size = np.where(finite, abs(b), 0.0)
    whole = difference.max() / max(size.max(), tiny)
    each = np.quantile(difference / np.maximum(size, tiny), 0.9)
    return min(1.0, float(max(whole, each)))
