"""Plans: a small jaxpr made ready to be run often.

On the host, when all of it is tier 0, it becomes a straight line of NumPy calls; under any other
trace its equations are processed one by one, with the avals known beforehand.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ..compiler.common_subexpressions import without_repetition
from ..config import thread
from ..core.array import Array
from ..core.checking import check_jaxpr
from ..core.jaxpr import Jaxpr, Var, run
from ..core.trace import current
from .eager_tiers import host_kernel
from .evaluate import quietly
from .stage import Score, StageTrace

_COMPILE_AFTER = 12  # runs before a Python function is generated: that takes 0.1 ms


class Plan:
    """Runs a jaxpr: `plan.run(args, trace)` gives the list of outputs."""

    __slots__ = ("epoch", "fixed", "function", "jaxpr", "outputs", "runs", "score", "steps")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = without_repetition(jaxpr)
        if thread.enable_checks:
            check_jaxpr(jaxpr)
        self.steps: Any = None
        self.function: Any = None
        self.epoch: Any = None
        self.score: Score | None = None
        self.runs = 0

    def run(self, args: Sequence[Any], trace: Any) -> list[Any]:
        """The outputs for values under a trace."""
        if trace is not current.base:
            if trace.__class__ is StageTrace:
                score = self.score
                if score is None:
                    score = self.score = Score(self.jaxpr)
                return trace.replay(score, args)
            return run(self.jaxpr, args, trace)
        if self.epoch is not thread.key:
            self.prepare()
        if self.steps is None:
            return run(self.jaxpr, args, trace)
        hosts = []
        for a in args:
            if a.__class__ is not Array:
                return run(self.jaxpr, args, trace)
            host = a._host
            hosts.append(trace.fetch(a) if host is None else host)
        if self.function is not None:
            results = quietly()(self.function, *hosts)
        else:
            self.runs += 1
            if self.runs > _COMPILE_AFTER:
                self.generate()
            results = quietly()(self.interpret, hosts)
        return [
            args[place] if is_input else Array(results[place], known)
            for is_input, place, known in self.outputs
        ]

    def prepare(self) -> None:
        """Finds the NumPy kernels of all equations; none of them if any needs tier 1.

        Every value has a slot: first the inputs, then constants and literals, then the results.
        """
        self.epoch = thread.key
        self.steps = self.function = None
        jaxpr = self.jaxpr
        slots: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
        count = len(slots)
        fixed: list[Any] = []

        def slot(atom: Any) -> int:
            return slots[atom if type(atom) is Var else id(atom)]

        def fix(key: Any, value: Any) -> None:
            if key not in slots:
                slots[key] = count + len(fixed)
                fixed.append(value.host())

        for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            if c.__class__ is not Array:
                return
            fix(v, c)
        for atom in [v for e in jaxpr.equations for v in e.inputs] + jaxpr.outvars:
            if type(atom) is not Var:
                fix(id(atom), atom)
        steps = []
        width = count + len(fixed)
        for e in jaxpr.equations:
            outs = tuple(v.aval for v in e.outvars)
            kernel = host_kernel(
                e.primitive,
                e.params,
                [v.aval for v in e.inputs],
                outs if e.primitive.multiple else outs[0],
            )
            if kernel is None:
                return
            steps.append(
                (kernel, tuple(map(slot, e.inputs)), e.primitive.multiple, width, len(outs))
            )
            for v in e.outvars:
                slots[v] = width
                width += 1
        results: list[int] = []
        self.outputs: list[tuple[bool, int, Any]] = []
        for v in jaxpr.outvars:
            at = slot(v)
            if at < count:
                self.outputs.append((True, at, None))
            else:
                if at not in results:
                    results.append(at)
                self.outputs.append((False, results.index(at), v.aval))
        self.fixed = (count, fixed)
        self.steps = (steps, results)

    def interpret(self, hosts: list[Any]) -> list[Any]:
        """Runs the kernels one after the other on NumPy arrays."""
        env = hosts + self.fixed[1]
        for kernel, ins, multiple, _, _ in self.steps[0]:
            result = kernel(*[env[i] for i in ins])
            if multiple:
                env.extend(result)
            else:
                env.append(result)
        return [env[i] for i in self.steps[1]]

    def generate(self) -> None:
        """Writes the kernels' calls as one Python function."""
        steps, results = self.steps
        count, fixed = self.fixed
        scope: dict[str, Any] = {f"v{count + i}": value for i, value in enumerate(fixed)}
        lines = [f"def plan({', '.join(f'v{i}' for i in range(count))}):"]
        for n, (kernel, ins, multiple, first, outs) in enumerate(steps):
            given = [f"v{i}" for i in ins]
            if isinstance(kernel, functools.partial):
                for word, value in kernel.keywords.items():
                    scope[f"k{n}_{word}"] = value
                    given.append(f"{word}=k{n}_{word}")
                kernel = kernel.func
            scope[f"k{n}"] = kernel
            left = ", ".join(f"v{first + i}" for i in range(outs)) + ("," if multiple else "")
            lines.append(f"  {left} = k{n}({', '.join(given)})")
        lines.append(f"  return [{', '.join(f'v{i}' for i in results)}]")
        exec(compile("\n".join(lines), "<weft plan>", "exec"), scope)
        self.function = scope["plan"]
