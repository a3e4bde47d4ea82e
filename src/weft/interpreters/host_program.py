"""Plans: a small jaxpr made ready to be run often.

On the host, when all of it is tier 0, it becomes a straight line of NumPy calls; under any other
trace its equations are processed one by one, with the avals known beforehand.
"""

import functools
from collections.abc import Sequence
from typing import Any

from ..compiler.loaded import run_program
from ..compiler.program import Program, program_of
from ..compiler.simplify import without_repetition
from ..config import thread
from ..core.array import Array
from ..core.aval import type_of
from ..core.caching import remember
from ..core.checking import check_jaxpr
from ..core.jaxpr import Jaxpr, Var, run
from ..core.quiet import interrupting, quietly
from ..core.trace import Trace, current
from ..switch_state import SwitchState
from .eager_tiers import host_kernel
from .stage import InlineTemplate, StageTrace

_MOST_OTHERS = 8
_COMPILE_AFTER = 100  # runs before a Python function is generated: 0.15 ms, to save 1 µs a run


class PreparedJaxpr:
    """Runs a jaxpr: `plan.run(args, trace)` returns the list of outputs."""

    __slots__ = ("jaxpr", "kernels", "others", "template")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = without_repetition(jaxpr)
        if thread.enable_checks:
            check_jaxpr(jaxpr)
        self.kernels: HostProgram | None = (
            None  # of the state of the switches that it ran under last
        )
        self.others: dict[SwitchState, HostProgram] = {}  # of the states before that
        self.template: InlineTemplate | None = None

    def run(self, args: Sequence[Any], trace: Trace) -> list[Any]:
        """The outputs for values under a trace."""
        if trace is not current.base:
            if trace.__class__ is StageTrace:
                template = self.template
                if template is None:
                    template = self.template = InlineTemplate(self.jaxpr)
                return trace.inline(template, args)
            return run(self.jaxpr, args, trace)
        kernels = self.kernels
        if kernels is None or kernels.state is not thread.switches:
            kernels = self.prepared()
        if kernels.function is not None:
            try:
                results = (current.quiet or quietly())(kernels.function, args)
            except RuntimeError as error:
                results = interrupting(error, kernels.function, args)
            if results is not None:
                return results
        elif kernels.steps is not None and all([a.type is a.aval for a in args]):
            kernels.runs += 1
            if kernels.runs > _COMPILE_AFTER:
                kernels.function = kernels.generate()
            hosts = [trace.fetch(a) if a._host is None else a._host for a in args]
            try:
                results = quietly()(kernels.interpret, hosts)
            except RuntimeError as error:
                results = interrupting(error, kernels.interpret, hosts)
            return [
                args[place] if is_input else Array(results[place], known)
                for is_input, place, known in kernels.outputs
            ]
        elif kernels.called is not None and not thread.debug and None not in map(type_of, args):
            return run_program(kernels.called, args)  # a tracer has no type, and is refused below
        return run(self.jaxpr, args, trace)

    def prepared(self) -> "HostProgram":
        """The kernels under this thread's switches."""
        state = thread.switches
        kernels = self.kernels
        if kernels is None or kernels.state is not state:
            kernels = self.others.pop(state, None) or HostProgram(self.jaxpr)
            last, self.kernels = self.kernels, kernels
            if last is not None:
                remember(self.others, last.state, last, _MOST_OTHERS)
        return kernels


class HostProgram:
    """The NumPy kernels of all equations; none of them, `steps` is `None`, if any needs tier 1.

    Of a jaxpr that does nothing but call another one, `called` is that one's compiled program.

    Every value has a slot: first the inputs, then constants and literals, then the results. It
    is what it is for one state of the switches: threads with other switches make others.
    """

    __slots__ = ("called", "fixed", "function", "outputs", "runs", "state", "steps")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.state = thread.switches
        self.steps: Any = None
        self.function: Any = None
        self.runs = 0
        self.called = called_program(jaxpr)
        if self.called is not None:
            return
        slots: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
        count = len(slots)
        fixed: list[Any] = []

        def slot(atom: object) -> int:
            return slots[atom if type(atom) is Var else id(atom)]

        def fix(key: object, value: Any) -> None:
            if key not in slots:
                slots[key] = count + len(fixed)
                fixed.append(value.host())

        for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            if c.type is not c.aval:
                return
            fix(v, c)
        for atom in (*[v for e in jaxpr.equations for v in e.inputs], *jaxpr.outvars):
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
            if len(ins) == 2:
                i, j = ins
                result = kernel(env[i], env[j])
            else:
                result = kernel(*[env[i] for i in ins])
            if multiple:
                env.extend(result)
            else:
                env.append(result)
        return [env[i] for i in self.steps[1]]

    def generate(self, of_arrays: bool = True) -> Any:
        """The kernels' calls as one Python function.

        Args:
          of_arrays: from a list of arrays to a list of arrays, or to `None` if an argument is
            something else than an uncommitted array; otherwise from NumPy's, given one by one.
        """
        steps, results = self.steps
        count, fixed = self.fixed
        scope: dict[str, Any] = {f"v{count + i}": value for i, value in enumerate(fixed)}
        scope["Array"] = Array
        if of_arrays:
            lines = ["def plan(args):", *self.unpacking(scope)]
        else:
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
        outputs = [f"v{i}" for i in results]
        if of_arrays:
            outputs = []
            for n, (is_input, place, known) in enumerate(self.outputs):
                scope[f"t{n}"] = known
                outputs.append(f"a{place}" if is_input else f"Array(v{results[place]}, t{n})")
        lines.append(f"  return [{', '.join(outputs)}]")
        exec(compile("\n".join(lines), "<weft plan>", "exec"), scope)
        return scope["plan"]

    def unpacking(self, scope: dict[str, Any]) -> list[str]:
        """The lines that take the host arrays v… out of the arrays a… in `args`."""
        count = self.fixed[0]
        if not count:
            return []
        scope["fetch"] = current.base.fetch
        names = [f"a{i}" for i in range(count)]
        strangers = " or ".join(f"{a}.type is not {a}.aval" for a in names)
        lines = [f"  {', '.join(names)}, = args", f"  if {strangers}: return None"]
        for i in sorted({i for step in self.steps[0] for i in step[1] if i < count}):
            lines += [f"  v{i} = a{i}._host", f"  if v{i} is None: v{i} = fetch(a{i})"]
        return lines


def called_program(jaxpr: Jaxpr) -> Program | None:
    """The program that a jaxpr calls, with its inputs and for its outputs, if it does no more."""
    if len(jaxpr.equations) != 1:
        return None
    (e,) = jaxpr.equations
    if e.primitive.inside is None or not e.primitive.inside.inlinable:
        return None
    params = dict(e.params)
    straight = [*map(id, jaxpr.invars)] == [*map(id, e.inputs)]
    straight &= [*map(id, jaxpr.outvars)] == [*map(id, e.outvars)]
    if not straight or jaxpr.constvars or params.get("device") is not None:
        return None
    return program_of(params["jaxpr"], (), False)
