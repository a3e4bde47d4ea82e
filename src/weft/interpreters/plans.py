"""A plan is the way to run eager calls of one signature. The first call chooses it; every call runs
it.

It is for one operation, or for a program of several operations. Its `kernel` is a function of NumPy
arrays if NumPy is faster for all of it, and `None` if XLA runs it: as one program, or operation by
operation so that products of arrays with several axes become products of matrices
(`matrix_products.py`). Since the first call also runs the plan, all calls of a signature give the
same bits.

`EvaluateTrace.run` runs plans. Under another trace a plan applies its operations.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from ..compiler.compiled import run_program
from ..compiler.lowered import LoweredProgram, one_operation, program_of
from ..compiler.simplify import without_repetition
from ..config import thread
from ..core.array import Array, Tracer
from ..core.aval import Aval, type_of
from ..core.checking import check_jaxpr
from ..core.host_policy import passed_on
from ..core.jaxpr import Jaxpr, Var, run
from ..core.primitive import Primitive
from ..core.source import log_warning
from ..core.trace import Params, Trace, current
from .eager_tiers import host_function, host_share, runs_by_products
from .matrix_products import matrix_product
from .stage import InlineTemplate, StageTrace, leaked

Kernel = Callable[..., Any]


class OperationPlan:
    """The plan of one operation.

    Attributes:
      out: the output's aval; `None` if there are several outputs, which `arrays` makes.
      kernel: the NumPy function, or `None`.
      product: how a product is computed that XLA would compile with transpositions; otherwise
        `None`.
    """

    __slots__ = ("kernel", "out", "outs", "params", "primitive", "product")

    def __init__(
        self, primitive: Primitive, params: Params, avals: Sequence[Aval], out: Any
    ) -> None:
        self.primitive, self.params = primitive, params
        self.outs = outs = out if primitive.multiple else (out,)
        self.out = None if primitive.multiple else out
        fast = host_share(primitive, params, avals, outs) <= 1
        self.kernel: Kernel | None = host_function(primitive, params, avals) if fast else None
        self.product = None if fast else matrix_product(primitive, params, avals)
        if "tier" in thread.debug:
            tell_tier(str(primitive), avals, "XLA" if self.kernel is None else "NumPy")

    def arrays(self, results: Sequence[Any], args: Sequence[Array]) -> list[Array]:
        """The outputs, from the results of the kernel."""
        return list(map(Array, results, self.outs))

    def execute(self, args: Sequence[Array]) -> Any:
        """The output by a compiled program."""
        primitive = self.primitive
        refuse_tracers(primitive.name, args)
        if primitive.lower_rule is None:
            raise errors.MissingRuleError(f"{primitive}: can't be compiled: it has no lower rule")
        avals = [a.aval for a in args]
        product = self.product
        if product is not None and all([a.type is a.aval for a in args]):
            return run_program(product.program, product.operands(args))[0]
        out = self.outs if primitive.multiple else self.out
        outs = run_program(one_operation(primitive, self.params, avals, out), args)
        return outs if primitive.multiple else outs[0]

    def under(self, trace: Trace, args: Sequence[Any]) -> Any:
        """The output under another trace."""
        return trace.bind(self.primitive, args, self.params, self.out or self.outs)


class PlanTrace(StageTrace):
    """Records the operations of an eager call. A function with its own derivative rule is
    inlined."""

    __slots__ = ()

    def bind_custom(self, primitive: Any, function: Any, rules: Any, args: Any) -> Any:
        return function(*args)


class ProgramPlan:
    """The plan of a program under one state of the switches.

    Args:
      template: the program for `StageTrace.inline`; the kernel numbers values in the same way.
      single: True if the program returns one output that is not in a list.

    Attributes:
      kernel: the NumPy function, or `None`. It returns its results, in a list unless there is one.
      outputs: for each output its aval, and its number among the inputs, or `~k` for the kernel's
        k-th result.
      out: the aval of the output if it is the only one and new; otherwise `arrays` makes the
        outputs.
      operands: the inputs of the only operation, if XLA runs it; `None` for other programs. Its
        executable is the one of eager calls, so a gradient does not compile it again.
    """

    __slots__ = (
        "jaxpr", "kernel", "one", "operands", "out", "outputs", "program", "single", "state",
        "template",
    )  # fmt: skip

    def __init__(self, jaxpr: Jaxpr, template: InlineTemplate, single: bool = False) -> None:
        self.jaxpr, self.template, self.single = jaxpr, template, single
        self.state = thread.switches
        self.program: LoweredProgram | None = None
        self.kernel: Kernel | None = None
        count = len(jaxpr.invars)
        new = list(dict.fromkeys(i for i in template.outputs if i >= count))
        self.one = len(new) == 1
        self.outputs = [
            (place if place < count else ~new.index(place), v.aval)
            for place, v in zip(template.outputs, jaxpr.outvars, strict=True)
        ]
        self.out: Aval | None = jaxpr.outvars[0].aval if single and self.one else None
        self.operands: list[int] | None = None
        steps = host_steps(jaxpr, template, new)
        if steps is None and is_one_operation(jaxpr) and not runs_by_products(jaxpr):
            (e,) = jaxpr.equations
            self.operands = [jaxpr.invars.index(v) for v in e.inputs]
            avals = [v.aval for v in e.inputs]
            self.program = one_operation(e.primitive, e.params, avals, e.outvars[0].aval)
        elif steps is None:
            self.program = program_to_compile(jaxpr)
        else:
            self.kernel = straight_line(*steps, [c.host() for c in template.fixed], count)
        if "tier" in thread.debug:
            tell_tier(jaxpr.name, jaxpr.in_avals, "XLA" if self.kernel is None else "NumPy")

    def arrays(self, results: Sequence[Any], args: Sequence[Array]) -> Any:
        """The outputs: passed-on arguments, and new arrays for the kernel's results."""
        new = (results,) if self.one else results
        outs = []
        for place, out in self.outputs:
            outs.append(args[place] if place >= 0 else Array(new[~place], out))
        return outs[0] if self.single else outs

    def execute(self, args: Sequence[Array]) -> Any:
        """The outputs by a compiled program. Products, and all programs under `disable_jit`, run
        operation by operation."""
        if self.program is None or thread.disable_jit or None in map(type_of, args):
            outs = run(self.jaxpr, args, current.base)  # raises for a tracer: it lacks a type
        elif self.operands is not None:
            (result,) = run_program(self.program, [args[i] for i in self.operands])
            outs = [args[place] if place >= 0 else result for place, _ in self.outputs]
        else:
            outs = run_program(self.program, args)
        return outs[0] if self.single else outs

    def under(self, trace: Trace, args: Sequence[Any]) -> Any:
        """The outputs under another trace."""
        outs = run(self.jaxpr, args, trace)
        return outs[0] if self.single else outs


def host_steps(
    jaxpr: Jaxpr, template: InlineTemplate, results: Sequence[int]
) -> tuple[list[Any], list[int]] | None:
    """The program as NumPy functions; `None` if XLA is faster for the whole program, or must run
    part of it.

    Values are numbered: the inputs, the fixed values, one `None` for values that are never read,
    and then the results. A step is (function, the numbers of its operands, whether it has several
    results). The second list has the numbers of the template's values in `results`.
    """
    if any(e.primitive.evaluate_rule is None for e in jaxpr.equations):
        return None
    if any(c.type is not c.aval for c in template.fixed):
        return None
    read = {v for v in jaxpr.outvars if type(v) is Var}
    live = set()
    for e in reversed(jaxpr.equations):
        if not read.isdisjoint(e.outvars):
            live.add(e)
            unread = e.primitive.host.unread
            read.update(v for i, v in enumerate(e.inputs) if type(v) is Var and i not in unread)
    share = 0.0
    for e in live:
        outs = [v.aval for v in e.outvars]
        share += host_share(e.primitive, e.params, [v.aval for v in e.inputs], outs)
        if share > 1:
            return None
    nothing = len(jaxpr.invars) + len(template.fixed)
    places, n_results = (
        [*range(nothing)],
        nothing + 1,
    )  # numbers of the template's values; the next result's number
    steps: list[Any] = []
    for e, (primitive, _, ins, outs) in zip(jaxpr.equations, template.steps, strict=True):
        if e not in live:
            places.extend([nothing] * len(outs))
            continue
        function = host_function(primitive, e.params, [v.aval for v in e.inputs])
        if function is passed_on:
            places.append(places[ins[0]])
        else:
            steps.append((function, [places[i] for i in ins], primitive.multiple))
            places.extend(range(n_results, n_results + len(outs)))
            n_results += len(outs)
    return steps, [places[i] for i in results]


def straight_line(
    steps: Sequence[Any], places: Sequence[int], fixed: Sequence[Any], count: int
) -> Kernel:
    """A function of `count` NumPy arrays that runs the steps; it returns the value in `places`, or
    a list if there are several."""
    fixed = [*fixed, None]
    place = places[0] if len(places) == 1 else None
    if len(steps) == 1 and place == count + len(fixed):
        ((kernel, ins, several),) = steps
        if ins == [*range(count)] and not several:
            return kernel

    def run(*hosts: Any) -> Any:
        env = [*hosts, *fixed]
        for kernel, ins, several in steps:
            if several:
                env.extend(kernel(*[env[i] for i in ins]))
            elif len(ins) == 2:
                env.append(kernel(env[ins[0]], env[ins[1]]))
            elif len(ins) == 1:
                env.append(kernel(env[ins[0]]))
            else:
                env.append(kernel(*[env[i] for i in ins]))
        return [env[i] for i in places] if place is None else env[place]

    return run


def is_one_operation(jaxpr: Jaxpr) -> bool:
    """True if a program applies one operation to some of its inputs, and returns the one result,
    inputs, or both."""
    if len(jaxpr.equations) != 1:
        return False
    (e,) = jaxpr.equations
    primitive = e.primitive
    plain = primitive.inside is None and primitive.host.execute_rule is None
    if not plain or primitive.multiple or jaxpr.constvars:
        return False
    return all(type(v) is Var for v in (*e.inputs, *jaxpr.outvars))


def program_to_compile(jaxpr: Jaxpr) -> LoweredProgram | None:
    """The program that XLA compiles; `None` if an operation runs differently outside `jit`.

    A program that only calls another program is replaced by that one.
    """
    e = jaxpr.equations[0] if len(jaxpr.equations) == 1 else None
    if e is not None and e.primitive.inside is not None and e.primitive.inside.inlinable:
        params = dict(e.params)
        straight = [*map(id, jaxpr.invars)] == [*map(id, e.inputs)]
        straight &= [*map(id, jaxpr.outvars)] == [*map(id, e.outvars)]
        if straight and not jaxpr.constvars and params.get("device") is None:
            return program_of(params["jaxpr"])
    if any(e.primitive.host.execute_rule is not None for e in jaxpr.equations):
        return None
    if runs_by_products(jaxpr):  # each product has a plan, which all programs share
        return None
    return program_of(jaxpr) if jaxpr.equations else None


class PreparedProgram:
    """A program to run often, under any trace: `run(args, trace)` returns its outputs."""

    __slots__ = ("jaxpr", "plan", "template")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = without_repetition(jaxpr)
        if thread.enable_checks:
            check_jaxpr(jaxpr)
        self.template: InlineTemplate | None = None
        self.plan: ProgramPlan | None = None  # the plan for the switches of the last run

    def run(self, args: Sequence[Any], trace: Trace) -> list[Any]:
        """The outputs for values under a trace."""
        if trace is current.base:
            plan = self.plan  # tested here, which saves a call for each operation of a gradient
            if plan is None or plan.state is not thread.switches:
                plan = self.planned()
            outs = plan.execute(args) if plan.kernel is None else trace.run(plan, args)
            return [outs] if plan.single else outs
        if trace.__class__ is not StageTrace:
            return run(self.jaxpr, args, trace)
        if self.template is None:
            self.template = InlineTemplate(self.jaxpr)
        return trace.inline(self.template, args)

    def planned(self) -> ProgramPlan:
        """The plan under this thread's switches."""
        plan = self.plan
        if plan is None or plan.state is not thread.switches:
            if self.template is None:
                self.template = InlineTemplate(self.jaxpr)
            single = len(self.jaxpr.outvars) == 1
            plan = self.plan = ProgramPlan(self.jaxpr, self.template, single)
        return plan


def refuse_tracers(operation: str, args: Sequence[Any]) -> None:
    """Raises UnexpectedTracerError for a tracer, since plans compute at once."""
    for a in args:
        if isinstance(a, Tracer):
            raise leaked(a._trace, operation, a)


def tell_tier(name: str, avals: Sequence[Aval], tier: str) -> None:
    """Logs which tier runs an operation or a program."""
    log_warning(f"{name} on {', '.join(map(str, avals))}: {tier}")
