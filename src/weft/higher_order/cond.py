"""The cond primitive (cond, switch, platform_dependent): applies one of several jaxprs by an index.

The branches have the same inputs and outputs. `platform_dependent` has an option, which everything
derived from it keeps: `platforms`, the platform of each branch, or `None` for all other platforms.
Lowering then writes only the branch for its platform and ignores the index.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import dtypes
from ..compiler.lower import lower_jaxpr
from ..compiler.placing import platform_of_types
from ..compiler.simplify import jaxpr_calls_host, live_inputs, live_part
from ..core.array import Array, as_value
from ..core.aval import Aval
from ..core.caching import cached_on_program, latest
from ..core.jaxpr import Atom, Equation, Jaxpr, Var, named_axes, run
from ..core.masks import Mask, active, groups_of, scatter_list
from ..core.primitive import Axis, HigherOrder, Shared
from ..core.program_inside import ProgramInside
from ..core.trace import current
from ..core.value import Value
from ..errors import MissingRuleError
from ..interpreters.derivative import Derivative
from ..interpreters.stage import stage
from ..primitives.callbacks import TOKEN, token_of
from ..primitives.comparison import eq
from ..primitives.creation import zeros
from ..primitives.selection import guard, select_n
from ..primitives.structural import broadcast_in_dim
from ..programs.partial_eval import EquationParts, JaxprParts, Policy, partial_eval_jaxpr
from ..programs.transform import (
    batch_partly,
    depends,
    either,
    instantiate_zeros,
    jvp_jaxpr,
    linearize_jaxpr,
    nonzero,
    not_linear,
    run_now,
    transpose_jaxpr,
)
from ..programs.uniformity import Divergence, VaryingAxes, with_jaxprs
from ..runtime.client import platform_names
from ..stablehlo import Block, Operand
from .applying import InnerRuns, with_shared
from .call import as_call, call_jaxpr
from .scan import element_program, must_be_sequential, run_sequentially

Platforms = tuple[str | None, ...]
"""The platform of each branch; `None` for all others."""


def apply_cond(
    branches: Sequence[Jaxpr], index: Value, operands: Sequence[Value], **options: Any
) -> list[Value]:
    """Applies branches to operands under the current trace; their constants become operands."""
    consts: list[Value] = [c for b in branches for c in b.consts]
    if consts:
        branches = with_common_inputs(branches)
    params = (("branches", tuple(branches)), *options.items())
    return current.trace.bind(cond, [index, *consts, *operands], params)


def with_common_inputs(branches: Sequence[Jaxpr]) -> list[Jaxpr]:
    """The branches with the constants of all branches as their first inputs."""
    results = []
    for n, b in enumerate(branches):  # by number, because two branches may be the same program
        consts = [
            v if m == n else Var(v.aval)
            for m, other in enumerate(branches)
            for v in other.constvars
        ]
        results.append(Jaxpr([], [], [*consts, *b.invars], b.equations, b.outvars, b.name))
    return results


class CondRules(ProgramInside):
    """Several branches; an index selects one."""

    def type(
        self, index: Aval, *avals: Aval, branches: tuple[Jaxpr, ...], **options: Any
    ) -> list[Aval]:
        return [
            outs[0].update(weak_type=all(o.weak_type for o in outs))
            for outs in zip(*[b.out_avals for b in branches], strict=True)
        ]

    def execute(
        self, args: Sequence[Array], *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> list[Array]:
        return run_now(branches[index_now(args, **options)], args[1:])

    def inner_runs(
        self, args: Sequence[Array], *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> InnerRuns:
        index = index_now(args, **options)
        yield branches[index], args[1:], range(1, len(args)), f"branch {index} of cond"

    def lower(
        self,
        block: Block,
        index: Operand,
        *operands: Operand,
        out: Any,
        branches: tuple[Jaxpr, ...],
        platforms: Platforms | None = None,
    ) -> list[Operand]:
        if platforms is not None:
            chosen = branches[for_platform(platforms, block.module.platform)]
            return lower_jaxpr(block, chosen, operands)
        calls = any(map(jaxpr_calls_host, branches))
        token = token_of(block) if calls else None

        def write(branch: Jaxpr, inner: Block, _: Sequence[Operand]) -> list[Operand]:
            inner.token = token
            outs = lower_jaxpr(inner, branch, operands)
            return [*outs, token_of(inner)] if calls else outs

        regions = [block.region((), functools.partial(write, b)) for b in branches]
        if not calls:
            return block.op("case", index, out=out, regions=regions)
        *outs, block.token = block.op("case", index, out=[*out, TOKEN], regions=regions)
        return outs

    def depends(
        self, mask: Mask, inexact: bool, *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> Mask:
        if mask[0]:
            return (True,) * len(branches[0].outvars)
        return union(depends(b, mask[1:], inexact) for b in branches)

    def pushforward(
        self, mask: Mask, avals: Sequence[Aval], *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> tuple[Jaxpr, Mask]:
        inner = mask[1:]
        out_mask = union(jvp_jaxpr(b, inner)[1] for b in branches)
        pushed = [jvp_jaxpr(b, inner, out_mask)[0] for b in branches]
        tangents = [a.strong() for a in active(avals, mask)]
        program = stage(
            lambda *args: apply_cond(pushed, args[0], args[1:], **options),
            [*avals, *tangents],
            name="cond_jvp",
        )
        return program, out_mask

    def linearize(
        self, mask: Mask, avals: Sequence[Aval], *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> Derivative | None:
        if not options and any(map(named_axes, branches)):
            return linearize_all(mask, avals, branches)
        parts = [linearize_jaxpr(b, mask[1:]) for b in branches]
        out_mask = union(branch_mask for _, _, branch_mask in parts)
        if not any(out_mask):
            return None
        n_outs = len(out_mask)
        slots = Slots()
        sources = [
            slots.sources(forward, forward.outvars[n_outs:], outputs_reached(linear, branch_mask))
            for forward, linear, branch_mask in parts
        ]
        forwards = [
            slots.filling(forward, avals[1:], n_outs, range(n_outs, len(forward.outvars)), where)
            for (forward, _, _), where in zip(parts, sources, strict=True)
        ]

        def forward(index: Value, *operands: Value) -> list[Value]:
            outs = apply_cond(forwards, index, operands, **options)
            return [*outs, index, *[operands[i] for i in slots.operands]]

        operand_avals = [avals[1 + i] for i in slots.operands]
        tangents = [a.strong() for a in active(avals, mask)]
        out_avals = branches[0].out_avals
        linears = [
            slots.reading(
                instantiate_zeros(linear, 0, branch_mask, out_mask, out_avals)[0],
                [*slots.avals, *operand_avals, *tangents],
                where,
            )
            for (_, linear, branch_mask), where in zip(parts, sources, strict=True)
        ]

        def push(*args: Value) -> list[Value]:
            values, (index, *others) = groups_of(args, len(slots.avals))
            return apply_cond(linears, index, [*values, *others], **options)

        linear_avals = [*slots.avals, avals[0], *operand_avals, *tangents]
        return Derivative(
            mask,
            stage(forward, avals, name="cond"),
            n_outs,
            out_mask,
            stage(push, linear_avals, name="cond_linear"),
        )

    def partial_eval(self, e: Equation, used_outs: Mask, policy: Policy | None) -> EquationParts:
        branches: tuple[Jaxpr, ...] = dict(e.params)["branches"]
        in_avals, n_outs = branches[0].in_avals, len(e.outvars)
        parts = [partial_eval_jaxpr(b, used_outs, policy) for b in branches]
        slots = Slots()
        sources = [
            slots.sources(b, [p.known.outvars[i] for i in p.residuals])
            for b, p in zip(branches, parts, strict=True)
        ]
        residuals = [Var(a) for a in slots.avals]
        first = e
        if residuals:
            inner = tuple(
                slots.filling(p.known, in_avals, n_outs, p.residuals, where)
                for p, where in zip(parts, sources, strict=True)
            )
            first = e.replace(e.inputs, [*e.outvars, *residuals], branches=inner)
        inner = tuple(
            remat_branch(p, in_avals, slots.avals, where)
            for p, where in zip(parts, sources, strict=True)
        )
        inputs = [*e.inputs, *residuals]
        return EquationParts(
            first, residuals, e.replace(inputs, active(e.outvars, used_outs), branches=inner)
        )

    def live_equation(self, e: Equation, used_outs: Mask) -> Equation:
        branches: tuple[Jaxpr, ...] = dict(e.params)["branches"]
        used = union(live_inputs(b, used_outs) for b in branches)
        inner = tuple(live_part(b, used, used_outs) for b in branches)
        if all(a is b for a, b in zip(inner, branches, strict=True)):
            return e
        inputs = [e.inputs[0], *active(e.inputs[1:], used)]
        return e.replace(inputs, active(e.outvars, used_outs), branches=inner)

    def vary(
        self,
        ins: Sequence[VaryingAxes],
        context: Divergence,
        *,
        branches: tuple[Jaxpr, ...],
        **options: Any,
    ) -> list[VaryingAxes]:
        outs = [context.vary(b, ins[1:]) for b in branches]
        return [ins[0].union(*each) for each in zip(*outs, strict=True)]

    def keep_uniform(
        self, e: Equation, ins: Sequence[VaryingAxes], context: Divergence
    ) -> Equation:
        branches: tuple[Jaxpr, ...] = dict(e.params)["branches"]
        new = tuple(context.keep_uniform(b, ins[1:]) for b in branches)
        if context.diverging(e, ins[0], branches):
            return as_call(e, lambda index, *xs: all_branches(new, index, xs))
        return e if new == branches else with_jaxprs(e, branches=new)

    def transpose(
        self,
        cts: Sequence[Value | None],
        index: Value,
        *args: Value | Aval,
        branches: tuple[Jaxpr, ...],
        **options: Any,
    ) -> list[Value | None]:
        linear = tuple(type(a) is Aval for a in args)
        ct_mask = tuple(ct is not None for ct in cts)
        out_mask = union(transpose_jaxpr(b, linear, ct_mask)[1] for b in branches)
        transposed = [transpose_jaxpr(b, linear, ct_mask, out_mask)[0] for b in branches]
        results = apply_cond(transposed, index, [*not_linear(args), *nonzero(cts)], **options)
        return [None, *scatter_list(results, out_mask)]

    def batch(
        self,
        args: Sequence[Value],
        batched: Mask,
        axis: Axis,
        *,
        branches: tuple[Jaxpr, ...],
        **options: Any,
    ) -> Sequence[Value | Shared]:
        index, *operands = args
        index_batched, *inner = batched
        if index_batched and must_be_sequential("cond", branches, axis):
            avals = tuple(x.aval for x in args)
            element = element_of_cond(latest(branches), branches, tuple(batched), avals)
            return run_sequentially(element, args, batched, axis.size)
        if index_batched:
            return batch_all(branches, index, operands, inner, axis)
        out_mask = union(batch_partly(b, inner, axis)[1] for b in branches)
        mapped = [batch_partly(b, inner, axis, out_mask)[0] for b in branches]
        return with_shared(apply_cond(mapped, index, operands, **options), out_mask)

    def follow_keys(
        self, marks: Any, uses: Any, *, branches: tuple[Jaxpr, ...], **options: Any
    ) -> Any:
        return uses.branches(branches, marks[1:])


cond = HigherOrder(
    "cond", "Applies the branch that its first operand, an index in range, selects.", CondRules()
)


def for_platform(platforms: Platforms, platform: str) -> int:
    """The number of the branch for a platform."""
    for name in (*platform_names(platform), None):
        if name in platforms:
            return platforms.index(name)
    raise MissingRuleError(
        f"platform_dependent: no function fits the platform {platform!r}; got some for "
        f"{', '.join(repr(name) for name in platforms)}\n"
        f"  fix: pass {platform}=…, or default=…"
    )


def index_now(args: Sequence[Array], platforms: Platforms | None = None) -> int:
    """The number of the branch to run now."""
    if platforms is None:
        return int(args[0].host())
    return for_platform(platforms, platform_of_types("platform_dependent", [x.type for x in args]))


def union(masks: Iterable[Mask]) -> Mask:
    """A mask that is true where any of the masks is true."""
    result, *others = masks
    for mask in others:
        result = either(result, mask)
    return tuple(result)


class Source(NamedTuple):
    """The position at which the linear branch finds a residual: an operand, or a slot."""

    is_operand: bool
    number: int


class Slots:
    """The residuals of all branches, in slots; branches share slots of equal types.

    Only one branch runs, so a slot holds a residual of that branch, or zeros. A residual that is an
    operand does not get a slot. Residuals of the same outputs share slots first, so the slots of
    unused outputs are empty in every branch.
    """

    def __init__(self) -> None:
        self.operands: list[int] = []
        self.avals: list[Aval] = []
        self.reached: list[int] = []

    def sources(
        self, branch: Jaxpr, atoms: Sequence[Atom], reached: Sequence[int] | None = None
    ) -> list[Source | Array]:
        """The source of each residual of a branch; a literal is its own source.

        Args:
          reached: the outputs that need each residual, as the bits of a number.
        """
        inputs: dict[Atom, int] = {v: i for i, v in enumerate(branch.invars)}
        reached = reached or [0] * len(atoms)
        new = [i for i, v in enumerate(atoms) if isinstance(v, Var) and v not in inputs]
        numbers = self.numbers([(atoms[i].aval.strong(), reached[i]) for i in new])
        slots = dict(zip(new, numbers, strict=True))
        sources: list[Source | Array] = []
        for i, atom in enumerate(atoms):
            if not isinstance(atom, Var):
                sources.append(atom)
            elif i in slots:
                sources.append(Source(False, slots[i]))
            else:
                operand = inputs[atom]
                if operand not in self.operands:
                    self.operands.append(operand)
                sources.append(Source(True, self.operands.index(operand)))
        return sources

    def numbers(self, residuals: Sequence[tuple[Aval, int]]) -> list[int]:
        """A free or new slot for each residual with this type and these outputs."""
        free = list(range(len(self.avals)))
        numbers: dict[int, int] = {}
        for exact in (True, False):
            for i, (aval, reached) in enumerate(residuals):
                if i in numbers:
                    continue
                for n in free:
                    if self.avals[n] is aval and (not exact or self.reached[n] == reached):
                        numbers[i] = n
                        free.remove(n)
                        break
        for i, (aval, reached) in enumerate(residuals):
            if i not in numbers:
                numbers[i] = len(self.avals)
                self.avals.append(aval)
                self.reached.append(reached)
        return [numbers[i] for i in range(len(residuals))]

    def filling(
        self,
        forward: Jaxpr,
        avals: Sequence[Aval],
        n_outs: int,
        residuals: Sequence[int],
        sources: Sequence[Source | Array],
    ) -> Jaxpr:
        """A branch that returns its first `n_outs` outputs, and the slots with its residuals.

        Args:
          residuals: the numbers of the outputs that are residuals.
          sources: the slots of the residuals.
        """

        def branch(*xs: Value) -> list[Value]:
            outs = run(forward, xs, current.trace)
            slots: list[Value | None] = [None] * len(self.avals)
            for i, source in zip(residuals, sources, strict=True):
                if isinstance(source, Source) and not source.is_operand:
                    slots[source.number] = outs[i]
            full = [zeros(a) if s is None else s for s, a in zip(slots, self.avals, strict=True)]
            return [*outs[:n_outs], *full]

        return stage(branch, avals, name=forward.name)

    def reading(
        self, linear: Jaxpr, avals: Sequence[Aval], sources: Sequence[Source | Array]
    ) -> Jaxpr:
        """A linear branch that takes its residuals from its first inputs, slots and operands."""

        def branch(*xs: Value) -> list[Value]:
            slots, operands, tangents = groups_of(xs, len(self.avals), len(self.operands))
            residuals = [
                (operands if s.is_operand else slots)[s.number] if isinstance(s, Source) else s
                for s in sources
            ]
            return run(linear, [*residuals, *tangents], current.trace)

        return stage(branch, avals, name=linear.name)


def outputs_reached(linear: Jaxpr, out_mask: Mask) -> list[int]:
    """The outputs that depend on each input of a linear branch, as the bits of a number.

    Args:
      out_mask: a mask of the cond's outputs that the branch returns.
    """
    reached: dict[Var, int] = {}
    numbers = [i for i, t in enumerate(out_mask) if t]
    for v, i in zip(linear.outvars, numbers, strict=True):
        if isinstance(v, Var):
            reached[v] = reached.get(v, 0) | 1 << i
    for e in reversed(linear.equations):
        through = 0
        for v in e.outvars:
            through |= reached.get(v, 0)
        for a in e.inputs:
            if isinstance(a, Var):
                reached[a] = reached.get(a, 0) | through
    return [reached.get(v, 0) for v in linear.invars]


def all_branches(branches: Sequence[Jaxpr], index: Value, operands: Sequence[Value]) -> list[Value]:
    """The results of the branch that `index` selects, after computing all branches.

    If elements of a batch, or devices, take different branches, collectives inside a branch need
    the values of all elements, including the elements that take another branch.
    """
    cases = [run(b, operands, current.trace) for b in branches]
    return [select_n(index, *each) for each in zip(*cases, strict=True)]


def linearize_all(
    mask: Mask, avals: Sequence[Aval], branches: Sequence[Jaxpr]
) -> Derivative | None:
    """The derivative if branches contain collectives. Each element takes part in the derivative of
    all branches: see `all_branches`."""
    program = stage(lambda index, *xs: all_branches(branches, index, xs), avals, name="cond")
    forward, linear, out_mask = linearize_jaxpr(program, mask)
    if not any(out_mask):
        return None
    return Derivative(mask, forward, len(program.outvars), out_mask, linear)


def remat_branch(
    parts: JaxprParts,
    in_avals: Sequence[Aval],
    slots: Sequence[Aval],
    sources: Sequence[Source | Array],
) -> Jaxpr:
    """A rematerialised branch that takes its residuals from the slots, its last inputs."""

    def branch(*xs: Value) -> list[Value]:
        operands, values = groups_of(xs, len(in_avals))
        residuals = [values[s.number] for s in sources if isinstance(s, Source)]
        return run(parts.remat, [*[operands[i] for i in parts.used], *residuals], current.trace)

    return stage(branch, [*in_avals, *slots], name=parts.remat.name)


@cached_on_program
def element_of_cond(
    owner: Jaxpr, branches: tuple[Jaxpr, ...], batched: Mask, avals: tuple[Aval, ...]
) -> Jaxpr:
    """The program of one element of a batch."""
    return element_program(lambda index, *xs: apply_cond(branches, index, xs), batched, avals)


def batch_all(
    branches: Sequence[Jaxpr],
    index: Value,
    operands: list[Value],
    batched: list[bool],
    axis: Axis,
) -> list[Value | Shared]:
    """Computes all branches, and selects the result of one branch for each element."""
    for k, x in enumerate(operands):  # also guards scalars; arrays would use too much memory
        if not batched[k] and not x.ndim and may_have_derivative(x):
            operands[k] = broadcast_in_dim(x, shape=(axis.size,), dims=())
            batched[k] = True
    out_mask = union(batch_partly(b, batched, axis)[1] for b in branches)
    mapped = [batch_partly(b, batched, axis, out_mask)[0] for b in branches]
    results = []
    for i, b in enumerate(mapped):
        communicates = axis.name in named_axes(branches[i])  # see `all_branches`
        xs = [
            guarded_operand(x, index, i) if is_batched and not communicates else x
            for x, is_batched in zip(operands, batched, strict=True)
        ]
        inline = len(b.equations) <= MAX_INLINED_EQUATIONS
        results.append(run(b, xs, current.trace) if inline else call_jaxpr(b, xs))
    return [selected(index, cases, b) for *cases, b in zip(*results, out_mask, strict=True)]


# Longer branches become calls when all branches are computed: inlined, a nested branch would be
# copied at every level.
MAX_INLINED_EQUATIONS = 16


def may_have_derivative(x: Value) -> bool:
    """True if a value may have a tangent: it is not a constant."""
    return dtypes.is_inexact(x.dtype) and x.__class__ is not Array


def guarded_operand(x: Value, index: Value, i: int) -> Value:
    """A branch's operand, with zero derivative for elements that take another branch. The
    derivative there may be NaN, and NaN times a zero cotangent is NaN."""
    if not may_have_derivative(x):
        return x
    taken = broadcast_in_dim(eq(index, as_value(index.dtype.type(i))), shape=x.shape, dims=(0,))
    return guard(taken, x)


def selected(index: Value, cases: Sequence[Value], batched: bool) -> Value:
    """The case that `index` selects, for each element of the batch."""
    if not batched:
        cases = [
            broadcast_in_dim(c, shape=(index.shape[0], *c.shape), dims=tuple(range(1, c.ndim + 1)))
            for c in cases
        ]
    shape = cases[0].shape
    return select_n(broadcast_in_dim(index, shape=shape, dims=(0,)), *cases)
